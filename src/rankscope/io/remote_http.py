"""Files of web servers, by urllib3: read in parts where the server sends them, else copied to a temporary file.

A user and password in the address are sent as such, to that server alone. Where a server sends the reader elsewhere,
it must be another https address, and not one of this machine or its network, unless the first one was, too.
"""

from __future__ import annotations

import base64
import ipaddress
import re
import shutil
import socket
import tempfile
import urllib.parse
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import IO

import urllib3

from rankscope.errors import InputError, RankscopeError, UnfinishedError
from rankscope.io import remote
from rankscope.io.addresses import shown_url
from rankscope.io.connections import is_loopback, new_manager, proxy_for
from rankscope.io.limits import cannot_write, in_words
from rankscope.io.remote import RemoteFile, TransientError, has_changed, no_such_file

_CONNECT_S = 10.0
_READ_S = 60.0
_MOST_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}
_CHUNK_BYTES = 1 << 20
_RANGE = re.compile(r"bytes (?:([0-9]{1,18})-([0-9]{1,18})|\*)/([0-9]{1,18})")
"""What the header Content-Range says: the first and the last byte that are sent, and how many there are."""
_NO_PERMISSION = {401, 403, 407}


class WebFiles:
    """Files of web servers."""

    def first(self, url: str) -> RemoteFile:
        with asked(url, {"Range": f"bytes=0-{remote.HEAD_BYTES - 1}"}) as answer:
            if answer.status == 416 and size_in(answer) == 0:
                return RemoteFile(url, 0, None, b"")
            check_status(url, answer)
            if answer.status == 200:
                return downloaded(url, answer)
            size, version = size_in(answer), version_of(answer)
            if size is not None:
                check_range(url, answer, 0, min(size, remote.HEAD_BYTES))
                head = body(answer, min(size, remote.HEAD_BYTES))
        if size is None or (version is None and len(head) < size):  # parts might be of different versions
            with asked(url, {}) as whole:
                check_status(url, whole)
                if whole.status != 200:
                    raise wrong_part(url, "sends a part of it", "all of it")
                return downloaded(url, whole)
        return RemoteFile(url, size, version, head)

    def read(self, file: RemoteFile, start: int, end: int) -> bytes:
        headers = {"Range": f"bytes={start}-{end - 1}"}
        if file.etag and file.etag.startswith('"'):
            headers["If-Match"] = file.etag
        with asked(file.url, headers) as answer:
            if answer.status in {412, 416}:
                raise has_changed(file.url)
            check_status(file.url, answer)
            if answer.status != 206 or size_in(answer) != file.size or version_of(answer) != file.etag:
                raise has_changed(file.url)
            check_range(file.url, answer, start, end)
            return body(answer, end - start)

    def files_below(self, url: str) -> Iterator[RemoteFile]:
        raise InputError(
            f"{shown_url(url)}: a web server does not list its files", hint="give each file by its address"
        )


@contextmanager
def asked(url: str, headers: dict[str, str]) -> Iterator[urllib3.BaseHTTPResponse]:
    """Ask for an address, and for those that its server sends the reader to."""
    check_url(url)
    target, own = url, urllib.parse.urlsplit(url)
    for _ in range(_MOST_REDIRECTS + 1):
        parts = urllib.parse.urlsplit(target)
        is_own = (parts.scheme, parts.hostname, parts.port) == (own.scheme, own.hostname, own.port)
        plain = parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment="").geturl()
        with errors_of_web(url):
            answer = manager_for(proxy_for(plain)).urlopen(
                "GET",
                plain,
                headers={"Accept-Encoding": "identity", **headers, **(login_of(own) if is_own else {})},
                redirect=False,
                retries=False,
                preload_content=False,
                timeout=urllib3.Timeout(connect=_CONNECT_S, read=_READ_S),
            )
        if answer.status not in _REDIRECTS or "Location" not in answer.headers:
            try:
                with errors_of_web(url):
                    yield answer
            finally:
                answer.close()  # what is left of it may be long
            return
        answer.close()
        target = urllib.parse.urljoin(plain, answer.headers["Location"])
        check_redirect(url, target)
    raise InputError(f"{shown_url(url)} sends its readers on and on", hint="give the address where the file is")


@lru_cache(maxsize=4)
def manager_for(proxy: str | None) -> urllib3.PoolManager:
    return new_manager(proxy, n_connections=8)


def login_of(parts: urllib.parse.SplitResult) -> dict[str, str]:
    """Return the header for a user and password that stand in an address."""
    login, at, _ = parts.netloc.rpartition("@")
    if not at:
        return {}
    return {"Authorization": f"Basic {base64.b64encode(urllib.parse.unquote(login).encode()).decode()}"}


def check_url(url: str) -> None:
    """Refuse what is no address, and http to other machines: what comes could be read and changed on its way."""
    hint = "e.g. https://example.org/runs/bm25.run"
    try:
        parts = urllib.parse.urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0 and not re.search(r"[\x00-\x20\x7f]", url)
    except ValueError:
        is_whole = False
    if not is_whole:
        raise InputError(f"{shown_url(url)} is no address", hint=f"{hint}; in a password, / is written %2F")
    if parts.scheme.lower() == "http" and not is_loopback(str(parts.hostname)):
        raise InputError(f"{shown_url(url)} is not encrypted: what comes from it could be changed", hint="use https://")


def check_redirect(url: str, target: str) -> None:
    """Refuse to be sent from a public server to a file, to an address that is not encrypted, or into this network."""
    parts, first = urllib.parse.urlsplit(target), urllib.parse.urlsplit(url)
    may_be_plain = first.scheme.lower() == "http" and is_loopback(parts.hostname or "")
    to = f"{parts.scheme}://{parts.hostname or ''}"
    if parts.scheme != "https" and not (parts.scheme == "http" and may_be_plain):
        raise InputError(
            f"{shown_url(url)} sends its readers to {to}, which is not followed", hint="use https:// addresses"
        )
    if is_public(str(first.hostname)) and not is_public(str(parts.hostname)):
        raise InputError(
            f"{shown_url(url)} sends its readers to {to}, which lies in this network: that is not followed",
            hint="give that address itself, if it is meant",
        )


def is_public(host: str) -> bool:
    """Tell whether all addresses of a host are public ones."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return True  # nobody is there to be reached
    return all(ipaddress.ip_address(str(address).partition("%")[0]).is_global for address in found)


def check_status(url: str, answer: urllib3.BaseHTTPResponse) -> None:
    """Raise what a status means that is no success."""
    status, name = answer.status, shown_url(url)
    if status in {200, 206}:
        return
    if status in {404, 410}:
        if url.endswith("/") or "*" in url:
            hint = "a web server does not list its files: give each by its address"
            raise InputError(f"{name} does not exist", hint=hint)
        raise no_such_file(url, [])
    if status in _NO_PERMISSION:
        raise InputError(f"{name}: there is no permission to read it (HTTP {status})", hint="does it need a password?")
    if status == 429 or status >= 500:
        raise TransientError(f"the server is busy or fails (HTTP {status})")
    raise InputError(f"{name} cannot be read: the server answers HTTP {status}", hint="check the address")


def size_in(answer: urllib3.BaseHTTPResponse) -> int | None:
    """Return how many bytes the whole file has, of which a part was sent."""
    found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    return int(found[3]) if found else None


def check_range(url: str, answer: urllib3.BaseHTTPResponse, start: int, end: int) -> None:
    """Refuse another part of a file than was asked for."""
    found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
    sent = found and found[1] and (int(found[1]), int(found[2]) + 1)
    if sent != (start, end):
        said = "sends bytes {:,} to {:,}".format(*sent) if sent else "does not say which it sends"
        raise wrong_part(url, said, f"bytes {start:,} to {end:,}")


def wrong_part(url: str, sent: str, asked_for: str) -> InputError:
    return InputError(
        f"{shown_url(url)} cannot be read: the server {sent}, but was asked for {asked_for}",
        hint="copy the file to this machine, and give that file",
    )


def version_of(answer: urllib3.BaseHTTPResponse) -> str | None:
    """Return what the server calls this version of a file: its ETag, else when it was changed last."""
    return answer.headers.get("ETag") or answer.headers.get("Last-Modified")


def body(answer: urllib3.BaseHTTPResponse, n_bytes: int) -> bytes:
    """Return what was sent, which must be as much as was asked for."""
    data = answer.read(n_bytes, decode_content=False)
    if len(data) != n_bytes:
        raise TransientError(f"the answer has {len(data):,} of {n_bytes:,} bytes")
    if answer.read(1, decode_content=False):
        raise TransientError(f"the answer has more than the {n_bytes:,} bytes that were asked for")
    return data


def downloaded(url: str, answer: urllib3.BaseHTTPResponse) -> RemoteFile:
    """Copy a file that comes as a whole to a temporary one, which is gone as soon as nobody needs it."""
    copy = tempfile.TemporaryFile(prefix="rankscope-")  # noqa: SIM115 (it is open as long as the record is there)
    most = shutil.disk_usage(tempfile.gettempdir()).free // 2
    n_bytes = 0
    try:
        while chunk := answer.read(_CHUNK_BYTES, decode_content=False):
            n_bytes += len(chunk)
            check_room_on_disk(url, n_bytes, most)
            copy.write(chunk)
        copy.flush()
    except BaseException as error:
        copy.close()
        if isinstance(error, OSError) and error.errno is not None:
            raise cannot_write(f"a temporary copy of {shown_url(url)}", error) from None
        raise
    return RemoteFile(url, n_bytes, version_of(answer), None, TemporaryCopy(copy))


class TemporaryCopy:
    """A temporary file that is closed, and so removed, with the last record that needs it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.fileno = file.fileno
        weakref.finalize(self, file.close)


def check_room_on_disk(url: str, n_bytes: int, most: int) -> None:
    """Refuse a file that fills the disk, as one without end does."""
    if n_bytes > most:
        raise InputError(
            f"{shown_url(url)} does not end: {in_words(n_bytes)} have come, half of what the disk has left",
            hint="copy it to a place with more room, and give that file",
        )


@contextmanager
def errors_of_web(url: str) -> Iterator[None]:
    """Say in words of ours what keeps a server from answering; what urllib3 says holds the whole address."""
    name = shown_url(url)
    errors = urllib3.exceptions
    try:
        yield
    except RankscopeError:
        raise
    except (errors.SSLError, errors.ProxyError) as error:
        what = "proxy" if isinstance(error, errors.ProxyError) else "certificate or encryption"
        words = next(iter(re.findall(r"certificate verify failed: ([\w ,'-]+)", str(error))), "")
        raise InputError(
            f"{name}: the {what} of the server is not valid{f': {words.strip()}' if words else ''}",
            hint="check the address; certificates of one's own are made known by SSL_CERT_FILE",
        ) from None
    except (errors.NameResolutionError, errors.NewConnectionError, errors.ConnectTimeoutError) as error:
        who = (
            "there is no such server"
            if isinstance(error, errors.NameResolutionError)
            else "its server cannot be reached"
        )
        raise UnfinishedError(f"{name} could not be read: {who}", hint="check the address and the network") from None
    except (errors.TimeoutError, TimeoutError):
        raise TransientError("the answer took too long") from None
    except (errors.HTTPError, ConnectionError):
        raise TransientError("the answer is cut off or damaged") from None
