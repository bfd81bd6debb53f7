// The screen on which a rater sees whole lists side by side: flags, the one to choose, and which list is better.
import { $, NOT_UNDONE, Outbox, Past, Refused, STOPPED, Watch, ask, byTouch, element, encodeId, fieldsOf, finder, forgetScreens, icon, inField, inTurn, keepScreen, keptScreen, marked, number, say, showNewGuideline, unwarn, uuid, valueText, visible, warn, warnOfBlocked, wholeText, wordsOf } from "./judge-core.js";

const SAVE = "/judge/save.json", PREFER = "/judge/preference.json", NEAR = 2;
const CUT = { text: 600, fields: 4, links: 2 }; // so much of a doc is shown, and of the text four lines, before somebody asks for more
const DEGREES = [-2, -1, 0, 1, 2];
let known, items, at = 0, view = null, cursor = { list: 0, place: 0 }, pair = 0, isFinished = false;
const whole = new Set(); // the docs of this query that are shown whole, by where they stand
const views = new Map(), loading = new Map(), past = new Past();
const watch = new Watch();
const outbox = new Outbox(document.body.dataset.rater, { taken, changed: showSaved });

const idOf = ({ query, again }) => JSON.stringify([query, Boolean(again)]);
const isAnswered = ({ value, cannot_tell }) => value !== null || cannot_tell;
// What was passed over does not come a second time before it was judged the first time.
const isOpen = (item) => !item.done && !(item.again && items.some((one) => one.query === item.query && !one.again && !one.done));
const docOf = (shown, id) => shown.docs.find((doc) => doc.doc === id);
const nameOf = (place) => (view.lists.length === 2 ? ["left", "right"][place] : `list ${place + 1}`);
const capital = (words) => words[0].toUpperCase() + words.slice(1);

// What is said

function put(path, body) {
  unwarn(NOT_UNDONE); // it was about an earlier press
  outbox.add(path, { ...body, seconds: watch.seconds, at: new Date().toISOString() });
}

// What can be undone: where it is held, by `key` among others of its kind, and what brings the one before back.
const KINDS = {
  doc: { held: (shown, key) => docOf(shown, key)?.state, set: (shown, item, key, { flag, note }) => setDoc(shown, item, docOf(shown, key), flag, note) },
  choice: { held: (shown) => shown.choice, set: (shown, item, key, { doc }) => setChoice(shown, item, doc) },
  preference: { held: (shown, key) => shown.preferences[key], set: (shown, item, key, { value, cannot_tell }) => setPreference(shown, item, key, value, cannot_tell) },
};

function remember(shown, item, kind, key, before) {
  past.add({ id: idOf(item), kind, key, before, made: KINDS[kind].held(shown, key).uuid });
}

function setDoc(shown, item, doc, flag, note) {
  const before = doc.state, state = { uuid: uuid(), grade: before.grade, flag, note, cannot_tell: before.cannot_tell };
  const withdrawn = !flag && !note && state.grade === null && !state.cannot_tell;
  put(SAVE, { uuid: state.uuid, query: item.query, doc: doc.doc, again: Boolean(item.again), replaces: before.uuid, grade: state.grade, flag, note, cannot_tell: state.cannot_tell, withdrawn });
  doc.state = state;
  return before;
}

// One doc of a query is chosen, whichever time it is shown: the second time nothing is marked at first, and as long as
// nothing is chosen there, what was chosen the first time holds.
function setChoice(shown, item, doc) {
  const before = shown.choice, held = doc ?? (item.again ? shown.chosenBefore : null);
  const made = uuid();
  put(SAVE, { uuid: made, query: item.query, doc: held ?? before.doc, choice: held !== null, replaces: before.uuid });
  shown.choice = { uuid: made, doc };
  const other = views.get(idOf({ query: item.query, again: !item.again }));
  if (other) other.choice = { uuid: made, doc: item.again ? held : other.choice.doc };
  if (other && !item.again) other.chosenBefore = doc;
  return before;
}

// What the server says of a choice, for a view of it
function takeChoice(shown, choice, again) {
  if (again) shown.chosenBefore = choice.doc;
  shown.choice = again ? { ...choice, doc: null } : choice;
}

function setPreference(shown, item, index, value, cannotTell) {
  const before = shown.preferences[index];
  const now = { ...before, uuid: uuid(), value, cannot_tell: cannotTell };
  shown.preferences[index] = now;
  put(PREFER, {
    uuid: now.uuid, query: item.query, again: Boolean(item.again), left: now.left, right: now.right, replaces: before.uuid,
    value, cannot_tell: cannotTell, withdrawn: !isAnswered(now), note: now.note,
  });
  settle(item, shown);
  return before;
}

function settle(item, shown) {
  const done = shown.preferences.length > 0 && shown.preferences.every(isAnswered);
  if (done && !item.done) item.doneAt = Math.max(0, ...items.map((one) => one.doneAt ?? 0)) + 1;
  item.done = done;
}

// Where a query stands: those that are done in the order in which they were, then the others; as after a reload.
function placeOf(item) {
  const before = items.filter((one) => one.done && (!item.done || one.doneAt < item.doneAt)).length;
  return before + (item.done ? 0 : items.slice(0, items.indexOf(item)).filter((one) => !one.done).length) + 1;
}

function prefer(value, cannotTell = false) {
  if (isFinished || !view) return;
  const [shown, item, index] = [view, items[at], pair];
  const before = setPreference(shown, item, index, value, cannotTell);
  remember(shown, item, "preference", index, before);
  say(`${cannotTell ? "Cannot tell" : capital(wordsOfDegree(value))} · u to undo`);
  const open_ = shown.preferences.findIndex((one) => !isAnswered(one));
  if (open_ >= 0) pair = open_;
  show();
}

// Of more than two lists, every two are asked about.
function nextPair() {
  pair = (pair + 1) % Math.max(1, view.preferences.length);
  showPairs();
}

function wordsOfDegree(value) {
  const { left, right } = view.preferences[pair];
  if (value === 0) return "no difference";
  return `${nameOf(value < 0 ? left : right)}, ${Math.abs(value) === 2 ? "clearly" : "slightly"}`;
}

function toggleChoice(id) {
  const [shown, item] = [view, items[at]], isChosen = shown.choice.doc === id;
  const before = setChoice(shown, item, isChosen ? null : id);
  remember(shown, item, "choice", null, before);
  say(isChosen ? "No longer chosen · u to undo" : "Chosen for this query · u to undo");
  show();
}

const undo = inTurn(async () => {
  unwarn(NOT_UNDONE);
  past.drop(({ id }) => !items.some((item) => idOf(item) === id)); // it has gone to another rater
  const last = past.take();
  if (!last) return say("There is nothing to undo");
  const item = items.find((one) => idOf(one) === last.id);
  const shown = views.get(last.id) ?? await load(item).catch(() => null);
  if (!shown) {
    past.add(last);
    return say("Offline: this can be undone with the connection");
  }
  const { held, set } = KINDS[last.kind];
  if (held(shown, last.key)?.uuid === last.made) { // only what was said here is taken back
    set(shown, item, last.key, last.before);
    past.renew(last.before.uuid, held(shown, last.key).uuid);
    say("Undone");
  } else {
    warn(NOT_UNDONE);
    say("Not undone");
  }
  open(items.indexOf(item));
});

function taken({ body, answer, own }) {
  const waits = outbox.entries().some(([, one]) => one.body.query === body.query && one.body.uuid !== body.uuid);
  const shown = views.get(idOf(body)) ?? (body.choice === undefined ? undefined : views.get(idOf({ query: body.query, again: true })));
  if (items && shown && !waits && (answer.status !== "ok" || !own)) {
    if (answer.choice) for (const again of [false, true]) {
      const one = views.get(idOf({ query: body.query, again }));
      if (one) takeChoice(one, answer.choice, again);
    }
    if (answer.doc && docOf(shown, body.doc)) docOf(shown, body.doc).state = answer.doc;
    const index = answer.preference ? shown.preferences.findIndex(({ left, right }) => left === body.left && right === body.right) : -1;
    if (index >= 0) {
      shown.preferences[index] = answer.preference;
      const item = items.find((one) => idOf(one) === idOf(body));
      if (item) settle(item, shown);
    }
    if (answer.status === "conflict") {
      past.drop(() => true);
      warn("This query was judged in another window meanwhile. What is shown now is what is kept; judge it again if it is wrong.");
    }
  }
  if (answer.status === "ok") unwarn(STOPPED);
  if (answer.status === "refused") {
    warn(`Not saved: ${answer.reason}`);
    if (items) restore(body);
  }
  if (items) show();
}

// What was refused does not hold: the screen shows again what is stored.
async function restore(body) {
  const item = items.find((one) => idOf(one) === idOf(body)) ?? items[at];
  views.delete(idOf(item));
  past.drop(() => true);
  const shown = await load(item).catch(() => null);
  if (!shown) return;
  settle(item, shown);
  if (items[at] === item) { view = shown; isFinished = false; }
  show();
}

// Where we are

function load(item) {
  const id = idOf(item);
  if (views.has(id)) return Promise.resolve(views.get(id));
  if (!loading.has(id)) {
    loading.set(id, ask(`/judge/query.json?query=${encodeId(item.query)}${item.again ? "&again=1" : ""}`).then((got) => {
      got.docs = got.docs.map((doc) => ({ ...doc, wasFlagged: doc.state.flag }));
      got.preferences = [...got.preferences];
      takeChoice(got, got.choice, Boolean(item.again));
      overlay(got, item);
      views.set(id, got);
      return got;
    }).finally(() => loading.delete(id)));
  }
  return loading.get(id);
}

// Above what is stored comes what this browser has not sent yet.
function overlay(got, item) {
  for (const [, { path, body }] of outbox.entries()) {
    if (body.query !== item.query) continue;
    if (path === PREFER) {
      const index = got.preferences.findIndex(({ left, right }) => left === body.left && right === body.right);
      if (index >= 0 && Boolean(body.again) === Boolean(item.again)) got.preferences[index] = { ...got.preferences[index], uuid: body.uuid, value: body.value, cannot_tell: body.cannot_tell };
    } else if (body.choice !== undefined && body.choice !== null) takeChoice(got, { uuid: body.uuid, doc: body.choice ? body.doc : null }, Boolean(item.again));
    else if (docOf(got, body.doc) && Boolean(body.again) === Boolean(item.again)) docOf(got, body.doc).state = { uuid: body.uuid, grade: body.grade, flag: body.flag, note: body.note, cannot_tell: body.cannot_tell };
  }
}

let retry;
async function open(index) {
  const isNew = index !== at || !view;
  at = index;
  isFinished = false;
  clearTimeout(retry);
  const item = items[at];
  if (isNew) { cursor = { list: 0, place: 0 }; pair = 0; view = null; whole.clear(); watch.start(); }
  try {
    const got = await load(item);
    if (items[at] !== item) return;
    view = got;
  } catch (error) {
    if (items[at] !== item) return;
    $("query").textContent = error instanceof Refused ? error.message : "Offline: this query comes with the connection.";
    $("lists").replaceChildren();
    $("bar").hidden = true;
    showSaved();
    if (!(error instanceof Refused)) retry = setTimeout(() => open(at), 2000);
    return;
  }
  const open_ = view.preferences.findIndex((one) => !isAnswered(one));
  if (isNew && open_ >= 0) pair = open_;
  if (isNew) cursor = { list: Math.max(0, view.lists.findIndex(({ docs }) => docs.length)), place: 0 };
  if (isNew) watch.start();
  show();
  if (isNew) {
    scrollTo(0, 0);
    $("told").textContent = `${$("place").textContent}: ${$("query").textContent}`;
  }
  for (const next of items.slice(at + 1).filter((one) => !one.done).slice(0, NEAR)) await load(next).catch(() => {});
  keepSoon();
}

function onward() {
  if (!view) return;
  if (view.preferences.some((one) => !isAnswered(one))) say(byTouch() ? "Left open: Find leads back to it" : "Left open: you can come back with k or /");
  let next = items.findIndex((item, i) => i > at && isOpen(item));
  if (next < 0) next = items.findIndex((item, i) => i !== at && isOpen(item));
  if (next >= 0) return open(next);
  if (!items[at].done) return say("This is the last one that is open");
  isFinished = true;
  show();
}

function back() {
  let before = (isFinished ? items.length : at) - 1;
  while (items[before] && !items[before].done && !isOpen(items[before])) before -= 1;
  if (items[before]) open(before);
}

function move(step) {
  const { docs } = view.lists[cursor.list], place = cursor.place + step;
  if (place < 0) return back();
  cursor.place = Math.max(0, Math.min(docs.length - 1, place));
  showCursor();
}

function aside(step) {
  let list = cursor.list + step;
  while (view.lists[list] && !view.lists[list].docs.length) list += step; // where nothing was found, nothing can be flagged
  if (!view.lists[list]) return;
  cursor = { list, place: Math.min(view.lists[list].docs.length - 1, cursor.place) };
  showCursor();
}

// What is seen

function show() {
  keepSoon();
  const done = items.filter((item) => item.done).length;
  const flags = known.flags + [...views.values()].filter((one) => !one.again).flatMap((one) => one.docs).filter((doc) => doc.state.flag !== doc.wasFlagged).reduce((sum, doc) => sum + (doc.state.flag ? 1 : -1), 0);
  $("counts").textContent = `${number(done)} of ${number(items.length)} done · ${number(flags)} ${flags === 1 ? "flag" : "flags"}`;
  $("progress").value = items.length ? done / items.length : 1;
  $("bar").hidden = isFinished || !view;
  if (isFinished || !items.length) return showEnd();
  if (!view) return;
  const item = items[at], words = wordsOf(view.text);
  $("place").textContent = `Query ${number(placeOf(item))} of ${number(items.length)}${known.blind ? ` · blind, ${view.lists.length === 2 ? "sides" : "order"} drawn at random` : ""}`;
  $("query").textContent = visible(view.text || view.query);
  $("attributes").replaceChildren(...Object.entries(view.attributes).filter(([, value]) => value !== null && value !== "").map(([name, value]) => element("span", `${visible(name)}: ${visible(typeof value === "object" ? JSON.stringify(value) : value)}`, { class: "tag", dir: "auto" })));
  $("talk").hidden = !view.conversation.length;
  $("conversation").replaceChildren(...view.conversation.map((line) => element("p", visible(line), { dir: "auto" })));
  const focused = document.activeElement?.dataset?.act;
  $("lists").replaceChildren(...view.lists.map((list, place) => board(list, place, words)));
  showMores();
  if (focused) document.querySelector(`[data-act="${CSS.escape(focused)}"]`)?.focus();
  showPairs();
  showCursor();
}

function board(list, place, words) {
  const head = element("header", element("h2", list.system ? visible(list.system) : capital(`${nameOf(place)}${view.lists.length === 2 ? " list" : ""}`)));
  const rows = list.docs.map((id, rank) => row(id, place, rank, words));
  const none = element("p", "Nothing was found.", { class: "dim" });
  return element("section", [head, rows.length ? element("ol", rows) : none], { class: "board2", "aria-label": capital(nameOf(place)) });
}

function row(id, place, rank, words) {
  const doc = docOf(view, id) ?? { doc: id, title: "", text: "", fields: {}, links: [], state: { flag: false, note: "" } };
  const inLists = view.lists.filter(({ docs }) => docs.includes(id)).length;
  const chosen = view.choice.doc === id, title = visible(doc.title || id), isWhole = whole.has(`${place}.${rank}`);
  const about = [element("b", marked(doc.title || id, words), { class: "title", dir: "auto" })];
  if (inLists > 1) about.push(" ", element("span", view.lists.length === 2 ? "in both" : `in ${inLists} lists`, { class: "tag" }));
  const every = fieldsOf(doc), fields = isWhole ? every : every.filter(([, value]) => typeof value !== "object").slice(0, CUT.fields);
  if (fields.length) about.push(element("p", fields.map(([name, value]) => `${visible(name)}: ${visible(valueText(value))}`).join(" · "), { class: "small dim", dir: "auto" }));
  if (!doc.text) about.push(element("p", "This doc has no text here.", { class: "small dim" }));
  else if (isWhole) about.push(element("div", wholeText(doc.text, words), { class: "small mid whole", dir: "auto" }));
  else about.push(element("p", marked(doc.text.slice(0, CUT.text), words), { class: "small mid cut", dir: "auto" }));
  for (const link of isWhole ? doc.links : doc.links.slice(0, CUT.links)) about.push(element("a", [icon("i-link"), " ", visible(link).slice(0, 60)], { class: "small", href: link, target: "_blank", rel: "noopener noreferrer" }));
  const isMore = isWhole || doc.text.length > CUT.text || fields.length < every.length || doc.links.length > CUT.links;
  const more = element("button", isWhole ? "Less" : "More", { type: "button", class: "btn plain more-of", "aria-expanded": String(isWhole), title: `${isWhole ? "Less" : "More"} (e)`, "aria-label": `${isWhole ? "Less" : "More"} of ${title}`, "data-act": `e${place}.${rank}`, ...(isMore && { "data-hides": "" }) });
  more.hidden = !isMore;
  more.addEventListener("click", () => { cursor = { list: place, place: rank }; toggleWhole(); });
  about.push(more);
  if (doc.state.flag) about.push(element("p", [element("span", icon("i-flag"), { class: "worse" }), ` ${doc.state.note ? visible(doc.state.note) : "Flagged"}`], { class: "small", dir: "auto" }));
  if (chosen) about.push(element("p", element("b", [icon("i-star"), " You would choose this one"]), { class: "small" }));
  const flag = element("button", icon("i-flag"), { type: "button", class: "btn", "aria-pressed": String(doc.state.flag), title: "Flag (x)", "aria-label": `Flag ${title}`, "data-act": `f${place}.${rank}` });
  const choose = element("button", icon("i-star"), { type: "button", class: "btn", "aria-pressed": String(chosen), title: "Would choose (b)", "aria-label": `Would choose ${title}`, "data-act": `c${place}.${rank}` });
  flag.addEventListener("click", () => { cursor = { list: place, place: rank }; openFlag(); });
  choose.addEventListener("click", () => { cursor = { list: place, place: rank }; toggleChoice(id); });
  return element("li", [element("span", String(rank + 1), { class: "num dim" }), element("div", about), element("span", [flag, choose], { class: "act" })], { class: `li${doc.state.flag ? " fl" : ""}` });
}

// Where the lines of a text end is known when it stands on the page.
function showMores() {
  const cut = [...document.querySelectorAll(".li .cut")].map((text) => [text.parentElement.querySelector(".more-of"), text.scrollHeight > text.clientHeight + 1]);
  for (const [more, isCut] of cut) more.hidden = !isCut && !("hides" in more.dataset);
}

// All of the doc at the mark, or its first lines again
function toggleWhole() {
  const doc = here(), at_ = `${cursor.list}.${cursor.place}`;
  if (!doc) return say("There is no doc here to read: nothing was found");
  if (document.querySelector(`[data-act="e${at_}"]`).hidden) return say("This is all of the doc");
  if (!whole.delete(at_)) whole.add(at_);
  show();
  document.querySelector(".li.cur").scrollIntoView({ block: "nearest" });
  $("told").textContent = `${whole.has(at_) ? "All" : "The first lines"} of ${visible(doc.title || doc.doc)}`;
}

function showCursor() {
  document.querySelectorAll(".board2").forEach((list, place) => {
    list.querySelectorAll(".li").forEach((line, rank) => {
      const isHere = place === cursor.list && rank === cursor.place;
      line.classList.toggle("cur", isHere);
      if (isHere && cursor.place) line.scrollIntoView({ block: "nearest" });
    });
  });
}

function showPairs() {
  const now = view.preferences[pair];
  if (!now) return $("pairs").replaceChildren();
  const legend = element("legend", view.lists.length === 2 ? "Which list is better for this person?" : `Which is better, ${nameOf(now.left)} or ${nameOf(now.right)}?`);
  const options = DEGREES.map((value, i) => {
    const input = element("input", "", { type: "radio", name: "preference", value: String(value) });
    input.checked = now.value === value;
    input.addEventListener("change", () => prefer(value));
    return element("label", [input, element("span", [element("kbd", String(i + 1)), wordsOfDegree(value)])]);
  });
  const parts = [element("fieldset", [legend, ...options], { class: "pref" })];
  if (view.preferences.length > 1) {
    parts.unshift(element("div", view.preferences.map((one, i) => {
      const button = element("button", `${nameOf(one.left)} or ${nameOf(one.right)}${isAnswered(one) ? " ✓" : ""}`, { type: "button", class: "pill", "aria-pressed": String(i === pair) });
      button.addEventListener("click", () => { pair = i; showPairs(); });
      return button;
    }), { class: "which" }));
  }
  $("pairs").replaceChildren(...parts);
  $("to-unclear").setAttribute("aria-pressed", String(now.cannot_tell));
}

function showEnd() {
  $("query").textContent = items.length ? "All done. Thank you." : "There is nothing to judge yet.";
  const left = outbox.entries().length;
  $("place").textContent = items.length ? (left ? "Keep this page open until it says Saved." : `Everything is saved. You can close this page, or look at your answers again${byTouch() ? "" : " with k"}.`) : "Who invited you can add queries; then this link shows them.";
  $("attributes").replaceChildren();
  $("talk").hidden = true;
  const again = element("button", "Look again", { type: "button", class: "btn" });
  again.addEventListener("click", back);
  $("lists").replaceChildren(...(items.length ? [element("p", again)] : []));
  $("told").textContent = $("query").textContent;
}

function showSaved() {
  const said = outbox.words("press", "presses");
  if ($("saved").textContent !== said) $("saved").textContent = said;
  $("saved").classList.toggle("troubled", outbox.isTroubled);
  warnOfBlocked(outbox);
  if (isFinished) showEnd();
}

// Hands

const here = () => docOf(view, view.lists[cursor.list].docs[cursor.place]);

function openFlag() {
  const doc = here();
  if (!doc) return say("There is no doc here to flag: nothing was found");
  showCursor();
  $("note").value = doc.state.note;
  $("unflag").hidden = !doc.state.flag;
  $("flag").showModal();
  $("note").select();
}

$("flag").addEventListener("close", () => {
  const { returnValue } = $("flag"), [shown, item, doc] = [view, items[at], here()];
  $("flag").returnValue = "";
  if (!returnValue) return;
  const isFlag = returnValue === "flag";
  const before = setDoc(shown, item, doc, isFlag, isFlag ? $("note").value.trim() : "");
  remember(shown, item, "doc", doc.doc, before);
  say(`${isFlag ? "Flagged" : "Flag removed"} · u to undo`);
  show();
});
$("reasons")?.addEventListener("click", (event) => {
  if (event.target.closest("button")) { $("note").value = event.target.closest("button").value; $("note").focus(); }
});
$("to-unclear").addEventListener("click", () => prefer(null, true));
$("to-undo").addEventListener("click", undo);
$("to-next").addEventListener("click", onward);
$("to-help").addEventListener("click", () => $("help").showModal());
$("warning-close").addEventListener("click", () => { $("warning").hidden = true; });

const find = finder(
  () => known.queries.map(({ query, text }) => {
    const own = items.filter((item) => item.query === query);
    return { query, text, total: own.length, done: own.filter((item) => item.done).length };
  }),
  (query) => open(items.findIndex((item) => item.query === query)),
);
$("to-find").addEventListener("click", () => items && find());
addEventListener("resize", () => view && !isFinished && showMores());

addEventListener("keydown", (event) => {
  if (!items?.length || document.querySelector("dialog[open]")) return;
  const isRadio = event.target.matches?.("input[type=radio]");
  if (!isRadio && inField(event)) return;
  if (event.key === "Enter" && event.target.closest?.("button, a, summary")) return;
  if (isFinished || !view) {
    if (event.key === "k") back();
    else if (event.key === "u") undo();
    else if (event.key === "m") $("help").showModal();
    else if (event.key === "/") { event.preventDefault(); find(); }
    else if (!isFinished && "12345?xb".includes(event.key)) say("This query is not here yet: it can be judged when it is");
    return;
  }
  const act = "12345".includes(event.key) ? () => !event.repeat && prefer(DEGREES[event.key - 1]) : {
    "?": () => prefer(null, true), Enter: onward, p: nextPair, j: () => move(1), k: () => move(-1), h: () => aside(-1), l: () => aside(1),
    e: toggleWhole, x: openFlag, b: () => (here() ? toggleChoice(here().doc) : say("There is no doc here to choose: nothing was found")), u: undo, "/": find, m: () => $("help").showModal(),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// What is needed after a reload without a connection: what is done, and the lists that come next.
let keeping;
function keepSoon() {
  clearTimeout(keeping);
  keeping = setTimeout(() => {
    const near = items.filter((item, i) => (i === at || !item.done) && views.has(idOf(item))).slice(0, 10);
    keepScreen({ known, items, views: near.map((item) => [idOf(item), views.get(idOf(item))]) });
  }, 300);
}

async function begin(tries = 0) {
  let kept = null;
  try {
    known = await ask("/judge/state.json");
    forgetScreens({ own: false });
  } catch (error) {
    if (error instanceof Refused) forgetScreens({ own: true });
    else kept = await keptScreen();
    if (!kept) return wait(error, tries);
    ({ known } = kept);
  }
  items = (kept ?? known).items.map((item, i) => ({ ...item, doneAt: item.done ? item.doneAt ?? i : null }));
  for (const [id, shown] of kept?.views ?? []) {
    const item = items.find((one) => idOf(one) === id);
    if (item) { overlay(shown, item); views.set(id, shown); }
  }
  for (const [, { path, body }] of outbox.entries()) {
    const item = path === PREFER && items.find((one) => idOf(one) === idOf(body));
    if (item && views.has(idOf(item))) settle(item, views.get(idOf(item)));
    else if (item && isAnswered(body) && !item.done) Object.assign(item, { done: true, doneAt: items.length });
  }
  $("waiting").hidden = true;
  $("desk").hidden = false;
  if (known.state === "stopped") warn(STOPPED);
  showNewGuideline();
  showSaved();
  outbox.send();
  const first = items.findIndex(isOpen);
  if (first >= 0) open(first);
  else { at = Math.max(0, items.length - 1); isFinished = true; show(); }
}

function wait(error, tries) {
  const said = error instanceof Refused ? error.message : "The server cannot be reached. This page tries again by itself.";
  $("waiting").querySelector("p").textContent = outbox.entries().length ? `${said} ${outbox.words("press", "presses")}.` : said;
  if (!(error instanceof Refused)) setTimeout(() => begin(tries + 1), Math.min(10_000, 500 * 2 ** tries));
  else $("waiting").classList.add("over");
}
begin();
