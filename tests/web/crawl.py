"""Every page that can be reached by links, in a few states each."""

from html.parser import HTMLParser
from urllib.parse import urldefrag, urlsplit

from rankscope.web.exporting import FORMS
from rankscope.web.pages import PAGES


class Links(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        target = dict(attrs).get("href")
        if tag == "a" and target:
            self.found.append(urldefrag(target)[0])


def json_twin(path):
    return "/index.json" if path == "/" else f"{path}.json"


def crawl(get, *, starts=(), most_per_path=4):
    """Yield addresses with what `get` returns for them: all pages and what they link to, some addresses of each path."""
    waiting = [*starts, *(route.path for route in PAGES), *(json_twin(route.path) for route in PAGES)]
    known = {route.path for route in PAGES} | {json_twin(route.path) for route in PAGES}
    known |= {f"{path.removesuffix('.json')}.{form}" for path in known for form in FORMS if path.endswith(".json")}
    known |= {urlsplit(start).path for start in starts}
    seen, n_of_path = set(), {}
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        if address in seen or parts.netloc or parts.path not in known:
            continue
        if n_of_path.get(parts.path, 0) >= most_per_path:
            continue
        seen.add(address)
        n_of_path[parts.path] = n_of_path.get(parts.path, 0) + 1
        answer = get(address)
        yield address, answer
        if "text/html" in answer.headers.get("content-type", ""):
            waiting += Links(answer.data.decode("utf-8")).found
