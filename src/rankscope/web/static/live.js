// Asks all systems at once; each answer takes its place as it comes, and at the end all of them are put side by side.
const form = document.getElementById("ask");
const answers = document.getElementById("answers");
let asking;

function wait(names) {
  const place = document.createElement("div");
  place.className = "vs";
  for (const name of names) {
    const column = document.getElementById("waiting").content.cloneNode(true).firstElementChild;
    column.dataset.system = name;
    column.querySelector("h2").textContent = name;
    place.append(column);
  }
  answers.replaceChildren(place);
}

function take(line) {
  const said = JSON.parse(line);
  if (said.systems) wait(said.systems);
  else if (said.system) {
    for (const column of answers.querySelectorAll(".vc")) if (column.dataset.system === said.system) column.outerHTML = said.html;
  } else answers.innerHTML = said.html;
}

async function ask() {
  asking?.abort();
  asking = new AbortController();
  const body = new URLSearchParams(new FormData(form));
  body.append("secret", document.querySelector("input[name=secret][form=secret]").value);
  answers.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(form.dataset.ask, { method: "POST", body, signal: asking.signal });
    if (!reply.ok) {
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const note = document.createElement("p");
      note.className = "note caution";
      note.textContent = page.querySelector("main")?.textContent.trim() || "The server did not answer.";
      answers.replaceChildren(note);
      return;
    }
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", part; !(part = await reader.read()).done; ) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      lines.filter(Boolean).forEach(take);
    }
  } catch (error) {
    if (error.name !== "AbortError") answers.textContent = "The server is not there. Is it running?";
  } finally {
    answers.removeAttribute("aria-busy");
  }
}

// A form whose fields must not be lost where the server refuses them: what is wrong stands at the form.
async function sendHere(sent) {
  const problem = sent.querySelector("[data-problem]");
  problem.hidden = true;
  try {
    const reply = await fetch(sent.action, { method: "POST", body: new URLSearchParams(new FormData(sent)) });
    if (reply.ok) return location.assign(reply.url);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    problem.textContent = page.querySelector(".answer")?.textContent.trim().replace(/\s+/g, " ") || "It could not be saved.";
  } catch {
    problem.textContent = "The server is not there. Is it running?";
  }
  problem.hidden = false;
  problem.scrollIntoView({ block: "nearest" });
}

addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-here]")) return;
  event.preventDefault();
  sendHere(event.target);
});

if (form) {
  // Back and forward lead through the questions; the server fills the form in for each.
  addEventListener("popstate", () => location.reload());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const state = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    const where = `/live?${state}`;
    if (where !== location.pathname + location.search) history.pushState(null, "", where);
    ask();
  });
  // A link from elsewhere only fills the form in: whom it would ask, and what that costs, is for you to say.
  const kind = performance.getEntriesByType("navigation")[0]?.type;
  const ours = document.referrer.startsWith(`${location.origin}/`) || kind === "reload" || kind === "back_forward";
  if (form.dataset.go && ours) ask();
}
