// What both screens of a rater share: asking the server, keeping answers until it has them, and small things of the page.

export const $ = (id) => document.getElementById(id);

export function element(name, content = "", attributes = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...[content].flat());
  return made;
}

export function icon(name) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("class", "i");
  made.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#${name}`);
  made.append(use);
  return made;
}

// `crypto.randomUUID` exists only where there is https; raters often come without.
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

// An id in an address. Ids may hold halves of characters, which `encodeURIComponent` refuses.
export function encodeId(id) {
  return [...id].map((sign) => {
    const code = sign.codePointAt(0);
    if (code < 0xd800 || code > 0xdfff) return encodeURIComponent(sign);
    return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)].map((byte) => `%${byte.toString(16)}`).join("");
  }).join("");
}

// Texts of others: controls and marks that turn the writing are shown as signs, and not obeyed.
export const visible = (text) => String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]/gu, (sign) => `\\u${sign.codePointAt(0).toString(16).padStart(4, "0")}`);

const plain = (word) => word.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/(?<=..)s$/, "");
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const COMMON = new Set("about also been from have into more near need only over some such than that their them then there these they this want were what when where which will with would your".split(" "));

// The words of a query that are worth marking: not the short ones that every text has.
export function wordsOf(query) {
  const words = query.match(WORD) ?? [];
  return new Set(words.filter((word) => !COMMON.has(word.toLowerCase())).filter((word) => word.length > 3 || /[\p{N}\p{Script=Han}]/u.test(word) || (word.length > 1 && /\p{Lu}/u.test(word))).map(plain));
}

// A text as nodes, in which the words of the query are marked.
export function marked(text, words) {
  const shown = visible(text), nodes = [];
  let from = 0;
  for (const found of shown.matchAll(WORD)) {
    if (!words.has(plain(found[0]))) continue;
    nodes.push(shown.slice(from, found.index), element("mark", found[0]));
    from = found.index + found[0].length;
  }
  nodes.push(shown.slice(from));
  return nodes;
}

// The whole text of a doc as nodes; the server sends the first 20,000 characters.
export function wholeText(text, words) {
  const rest = text.length >= 20_000 ? [element("p", "The text is longer; what comes after is not shown.", { class: "dim small" })] : [];
  return [...marked(text, words), ...rest];
}

// The fields of a doc that say something; its links are shown as links.
export const fieldsOf = (doc) => Object.entries(doc.fields).filter(([, value]) => value !== null && value !== "" && !doc.links.includes(value));

// A value of a field or attribute in words
export function valueText(value) {
  if (Array.isArray(value)) return value.map((one) => (typeof one === "object" ? JSON.stringify(one) : one)).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export class Refused extends Error {}

// Asks the server; `Refused` says why it does not want to, anything else that it could not be reached.
export async function ask(path, body) {
  const headers = { accept: "application/json" };
  if (body !== undefined) Object.assign(headers, { "content-type": "application/json", "x-form-secret": document.body.dataset.secret });
  const reply = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
    cache: "no-store",
  });
  if (reply.ok) return reply.json();
  if (reply.status >= 500 || reply.status === 429 || reply.status === 408) throw new Error(`status ${reply.status}`);
  const said = await reply.json().catch(() => ({}));
  throw new Refused([said.error, said.hint].filter(Boolean).map((words) => words.replace(/[.]?$/, ".")).join(" ") || `The server refused it (${reply.status}).`);
}

// Answers that the server does not have yet. Each is kept in this browser under a key of its own, so that two tabs do not
// overwrite one another; they are sent in order, one at a time, again and again until the server has said what it did.
// An answer has a uuid: sent twice, it counts once.
export class Outbox {
  constructor(name, { taken, changed }) {
    this.prefix = `rankscope.judge.${name}.`;
    this.heard = { taken, changed };
    this.memory = new Map();
    this.last = 0;
    this.failures = 0;
    this.blocked = "";
    this.channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(this.prefix);
    this.channel?.addEventListener("message", ({ data }) => this.hear(data, false));
    addEventListener("online", () => this.send());
    addEventListener("storage", (event) => event.key?.startsWith(this.prefix) && this.heard.changed());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.send());
    addEventListener("beforeunload", (event) => this.memory.size && event.preventDefault());
  }

  // [key, {path, body}] of all that waits, in order
  entries() {
    const found = new Map(this.memory);
    try {
      for (let i = 0; i < localStorage.length; i++) {
        const key = localStorage.key(i);
        if (key.startsWith(this.prefix)) found.set(key, JSON.parse(localStorage.getItem(key)));
      }
    } catch { /* a browser that keeps nothing: what is in memory is all */ }
    return [...found].sort(([one], [other]) => (one < other ? -1 : 1));
  }

  add(path, said) {
    const body = { ...said, guideline: document.body.dataset.guideline };
    this.last = Math.max(Date.now(), this.last + 1);
    const key = `${this.prefix}${String(this.last).padStart(15, "0")}.${body.uuid}`;
    try {
      localStorage.setItem(key, JSON.stringify({ path, body }));
    } catch {
      this.memory.set(key, { path, body });
    }
    this.heard.changed();
    this.send();
  }

  remove(key) {
    this.memory.delete(key);
    try { localStorage.removeItem(key); } catch { /* as above */ }
  }

  async send() {
    if (this.sending) { this.again = true; return; }
    this.sending = true;
    clearTimeout(this.timer);
    const turn = () => this.sendAll();
    try {
      // one tab at a time, where the browser can say so; without, an answer may be sent twice, and counts once
      await (navigator.locks ? navigator.locks.request(this.prefix, turn) : turn());
    } finally {
      this.sending = false;
      this.heard.changed();
      if (this.again && !this.failures) { this.again = false; this.send(); }
    }
  }

  async sendAll() {
    for (let next; (next = this.entries()[0]); ) {
      const [key, { path, body }] = next;
      try {
        const answer = await ask(path, body);
        if (answer.later) throw new Refused(`${answer.reason} What you judge is kept in this browser, and saved when you may go on.`);
        this.failures = 0;
        this.blocked = "";
        this.remove(key);
        const news = { path, body, answer };
        this.channel?.postMessage(news);
        this.hear(news, true);
      } catch (error) {
        if (error instanceof Refused) this.blocked = error.message;
        this.failures += 1;
        this.timer = setTimeout(() => this.send(), Math.min(15_000, 500 * 2 ** Math.min(this.failures, 5)));
        return;
      }
      this.heard.changed();
    }
    this.failures = 0;
    this.blocked = "";
  }

  hear({ path, body, answer }, own) {
    tellOfGuideline(answer.guideline);
    this.heard.taken({ path, body, answer, own });
    this.heard.changed();
  }

  // what is so, in words
  words(one, several) {
    const n = this.entries().length;
    const kept = `${number(n)} ${n === 1 ? one : several} kept in this browser`;
    if (this.memory.size) return `${this.memory.size} not saved yet: do not close this page`;
    if (this.blocked && n) return `Not saved: ${kept}`;
    if (n && (this.failures || !navigator.onLine)) return `Offline: ${kept}`;
    return n ? "Saving" : "Saved";
  }

  get isTroubled() {
    return this.memory.size > 0 || (this.entries().length > 0 && (this.failures > 0 || !navigator.onLine));
  }
}

// How long the page was looked at since something was shown.
export class Watch {
  constructor() {
    this.start();
    document.addEventListener("visibilitychange", () => this.turn());
  }
  start() { this.past = 0; this.since = document.visibilityState === "visible" ? performance.now() : null; }
  turn() {
    if (this.since !== null) this.past += performance.now() - this.since;
    this.since = document.visibilityState === "visible" ? performance.now() : null;
  }
  get seconds() { return Math.round((this.past + (this.since === null ? 0 : performance.now() - this.since)) / 100) / 10; }
}

// What can be undone in this tab, the last step at the end; a reload keeps it.
const UNDO = "rankscope.undo.", MOST_STEPS = 500;
const undoKey = () => UNDO + document.body.dataset.rater;

export class Past {
  constructor() {
    try { this.steps = JSON.parse(sessionStorage.getItem(undoKey())) ?? []; } catch { this.steps = []; }
  }
  keep() {
    try { sessionStorage.setItem(undoKey(), JSON.stringify(this.steps.slice(-MOST_STEPS))); } catch { /* a reload forgets it */ }
  }
  add(step) { this.steps.push(step); this.keep(); }
  take() {
    const last = this.steps.pop();
    this.keep();
    return last;
  }
  drop(wanted) { this.steps = this.steps.filter((step) => !wanted(step)); this.keep(); }
  // What held before a step that is undone holds again, under a new uuid.
  renew(old, now) {
    for (const step of this.steps) if (old && step.made === old) step.made = now;
    this.keep();
  }
}

function forgetSteps({ own }) {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(UNDO) && (own || key !== undoKey())) sessionStorage.removeItem(key);
  } catch { /* a browser that keeps nothing */ }
}

// One after another: a step may have to wait for what it takes back.
export function inTurn(act) {
  let last = Promise.resolve();
  return () => { last = last.catch(() => {}).then(act); };
}

// What a rater sees, kept in this browser for a reload without a connection; that of no other rater is left there.
// Browsers allow it on https and on this machine alone: elsewhere a reload needs the connection.
const KEPT = "rankscope-judged";
const keptKey = () => `/judge/kept/${document.body.dataset.rater}`;

export async function keptScreen() {
  if (typeof caches === "undefined") return null;
  try {
    return (await (await (await caches.open(KEPT)).match(keptKey()))?.json()) ?? null;
  } catch { return null; }
}

export async function keepScreen(content) {
  if (typeof caches === "undefined") return;
  try {
    await (await caches.open(KEPT)).put(keptKey(), new Response(JSON.stringify(content), { headers: { "content-type": "application/json" } }));
  } catch { /* no room: a reload without a connection shows less */ }
}

export async function forgetScreens({ own }) {
  forgetSteps({ own });
  if (typeof caches === "undefined") return;
  try {
    const cache = await caches.open(KEPT);
    for (const request of await cache.keys()) if (own || new URL(request.url).pathname !== keptKey()) await cache.delete(request);
  } catch { /* a browser that keeps nothing */ }
}

// The worker gives the page itself without a connection. What was loaded before it was there, it is told of.
function startWorker() {
  const workers = navigator.serviceWorker;
  if (!workers) return;
  const tell = () => workers.controller?.postMessage({ keep: [location.href, ...performance.getEntriesByType("resource").map(({ name }) => name)] });
  workers.addEventListener("controllerchange", () => { tell(); setTimeout(tell, 3000); });
  workers.register("/judge/worker.js", { scope: "/judge/", updateViaCache: "none" }).catch(() => {});
}
startWorker();

export const byTouch = () => matchMedia("(pointer: coarse)").matches;
export const number = (n) => n.toLocaleString("en");

let toastTimer;
// A word on what was done, for the eye and for who listens.
export function say(words) {
  const toast = $("toast");
  toast.textContent = byTouch() ? words.replace(" · u to undo", "") : words;
  toast.classList.remove("gone");
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => toast.classList.add("gone"), 2500);
}

// What must not be missed stays until it is closed.
export function warn(words) {
  const place = $("warning");
  place.querySelector("span").textContent = words;
  place.hidden = false;
}

// What was so for a while goes away by itself, where nothing else was said meanwhile.
export function unwarn(words) {
  if ($("warning").querySelector("span").textContent === words) $("warning").hidden = true;
}

export const STOPPED = "The task is stopped: you can look at your answers, and new ones are not taken.";
export const NOT_UNDONE = "Not undone: this was judged again in another window meanwhile, and that is what is kept.";
let blockedBefore = "";
// Says why nothing is taken, and takes it back when something is.
export function warnOfBlocked({ blocked }) {
  if (blocked && blocked !== blockedBefore) warn(blocked);
  if (!blocked) unwarn(blockedBefore);
  blockedBefore = blocked;
}

// A page goes on with the text that it shows until the rater has the new one before them, on a page that is loaded anew.
const SHOW_IT = "rankscope.guideline";
function tellOfGuideline(now) {
  if (now && now !== document.body.dataset.guideline) $("changed").hidden = false;
}
$("changed-show")?.addEventListener("click", () => {
  try { sessionStorage.setItem(SHOW_IT, "1"); } catch { /* then it is behind Help */ }
  location.reload();
});
export function showNewGuideline() {
  try {
    if (!sessionStorage.getItem(SHOW_IT)) return;
    sessionStorage.removeItem(SHOW_IT);
  } catch { return; }
  $("guideline").open = true;
  $("help").showModal();
}

// Keys are for the page, except in a field; a dialog that is closed by now has none.
export function inField(event) {
  const field = event.target.closest?.("input, textarea, select, [contenteditable]");
  return (field && !field.closest("dialog:not([open])")) || event.ctrlKey || event.metaKey || event.altKey || event.isComposing;
}

// The dialog in which a query is looked for: `queries` are {query, text, done, total}.
export function finder(queries, go) {
  const dialog = $("find"), field = $("find-words"), list = $("find-list");
  const fill = () => {
    const wanted = field.value.trim().toLowerCase();
    const found = queries().filter(({ text, query }) => `${text} ${query}`.toLowerCase().includes(wanted)).slice(0, 100);
    list.replaceChildren(...found.map((one) => {
      const button = element("button", [element("span", visible(one.text || one.query), { dir: "auto" }), element("small", `${number(one.done)} of ${number(one.total)}`, { class: "num" })], { type: "button", class: "hit" });
      button.addEventListener("click", () => { dialog.close(); go(one.query); });
      return element("li", button);
    }));
    if (!found.length) list.replaceChildren(element("li", "No query has these words.", { class: "dim" }));
  };
  field.addEventListener("input", fill);
  dialog.addEventListener("keydown", (event) => {
    const hits = [...list.querySelectorAll("button")];
    const at = hits.indexOf(document.activeElement);
    if (event.key === "ArrowDown") (hits[at + 1] ?? hits[0])?.focus();
    else if (event.key === "ArrowUp") (at > 0 ? hits[at - 1] : field).focus();
    else if (event.key === "Enter" && document.activeElement === field) hits[0]?.click();
    else return;
    event.preventDefault();
  });
  return () => { field.value = ""; fill(); dialog.showModal(); field.focus(); };
}

// A button that a mouse or finger presses does not take the focus: Space would press it again, on a doc that nobody has read.
addEventListener("mousedown", (event) => {
  if (event.target.closest?.("button") && !event.target.closest("dialog")) event.preventDefault();
});
