// The screen on which a rater judges one doc at a time. Keys first; every press is kept at once, and sent when it can be.
import { $, NOT_UNDONE, Outbox, Past, Refused, STOPPED, Watch, ask, byTouch, element, encodeId, fieldsOf, finder, forgetScreens, icon, inField, inTurn, keepScreen, keptScreen, marked, number, say, showNewGuideline, unwarn, uuid, valueText, visible, warn, warnOfBlocked, wholeText, wordsOf } from "./judge-core.js";

const SAVE = "/judge/save.json";
const NEAR = 3; // so many queries further on are loaded before they are needed, also for who loses the connection
let known, items, at = 0, words = new Set(), isFinished = false;
const views = new Map(), loading = new Map(), choices = new Map(), past = new Past(), paces = [];
const watch = new Watch();
const outbox = new Outbox(document.body.dataset.rater, { taken, changed: showSaved });

const idOf = ({ query, doc, again }) => JSON.stringify([query, doc, Boolean(again)]);
const itemOf = (body) => items.find((item) => idOf(item) === idOf(body));
const isDone = ({ grade, cannot_tell }) => grade !== null || cannot_tell !== null;
// What was passed over does not come a second time before it was judged the first time.
const comesLater = (item) => {
  const first = item.again && itemOf({ ...item, again: false });
  return Boolean(first) && !isDone(first.state) && !isDone(item.state);
};
const isOpen = (item) => !isDone(item.state) && !comesLater(item);
const NOTHING = { uuid: null, grade: null, flag: false, note: "", cannot_tell: null };
const scale = () => known.guideline.scale;
const labelOf = (step) => scale()[step] && visible(scale()[step].label);
const stepOf = (grade) => scale().findIndex((step) => step.grade === grade);
const levelOf = (grade) => Math.round((stepOf(grade) / Math.max(1, scale().length - 1)) * 3);
const gradeKeys = [...document.querySelectorAll(".gb kbd")].map((key) => key.textContent);

// What is said

function put(path, body) {
  unwarn(NOT_UNDONE); // it was about an earlier press
  outbox.add(path, { ...body, seconds: watch.seconds, at: new Date().toISOString() });
}

// A doc is judged when it is before the rater, and not while it is still on its way.
function isHere() {
  if (isFinished || !items.length) return false;
  if (shown === idOf(items[at])) return true;
  say("This doc is not here yet: it can be judged when it is");
  return false;
}

// Keep a new state of a doc; `undo` is what brings the one before back.
function change(item, now, { undoing = false } = {}) {
  const before = item.state;
  const state = { ...now, uuid: uuid() };
  if (!undoing) past.add({ id: idOf(item), before, made: state.uuid });
  const isEmpty = !isDone(state) && !state.flag && !state.note;
  const { query, doc, again } = item;
  put(SAVE, {
    uuid: state.uuid, query, doc, again, replaces: before.uuid, withdrawn: isEmpty,
    grade: state.grade, flag: state.flag, note: state.note, cannot_tell: state.cannot_tell,
  });
  if (isDone(state) && !isDone(before)) paces.push(watch.seconds);
  item.state = state;
  isOlder = true;
  nChanges += 1;
}

function choose(item, doc, { undoing = false } = {}) {
  const before = choices.get(item.query) ?? { uuid: null, doc: null };
  const made = uuid();
  if (!undoing) past.add({ id: idOf(item), choice: before, made });
  put(SAVE, { uuid: made, query: item.query, doc: doc ?? before.doc, choice: doc !== null, replaces: before.uuid });
  choices.set(item.query, { uuid: made, doc });
}

function grade(step) {
  if (!scale()[step] || !isHere()) return;
  const item = items[at], { grade: value } = scale()[step];
  change(item, { ...item.state, grade: value, cannot_tell: null });
  say(`${labelOf(step)} · u to undo`);
  onward();
}

// A doc that comes a second time is judged as if it were new: its earlier choice is not shown, and stays.
const chosenAgain = new Map(); // by its id: what was chosen for the query before
const isChosen = (item) => (item.again ? chosenAgain.has(idOf(item)) : choices.get(item.query)?.doc === item.doc);

function toggleChoice() {
  if (!isHere()) return;
  const item = items[at], was = isChosen(item), held = choices.get(item.query) ?? { uuid: null, doc: null };
  const wanted = !was ? item.doc : item.again ? chosenAgain.get(idOf(item)) : null;
  if (wanted !== held.doc) choose(item, wanted);
  else past.add({ id: idOf(item), choice: held, made: held.uuid }); // nothing to send, and yet to be undone
  if (item.again) turnChoice(item, held.doc);
  say(was ? "No longer chosen · u to undo" : "Chosen for this query · u to undo");
  show();
}

function turnChoice(item, before) {
  if (!chosenAgain.delete(idOf(item))) chosenAgain.set(idOf(item), before);
}

const undo = inTurn(async () => {
  unwarn(NOT_UNDONE);
  const isThere = ({ id }) => items.some((item) => idOf(item) === id); // else it has gone to another rater
  past.drop((step) => !isThere(step));
  const last = past.take();
  if (!last) return say("There is nothing to undo");
  const item = items.find((one) => idOf(one) === last.id);
  if (last.choice && !choices.has(item.query)) await load(item.query).catch(() => {});
  if (last.choice && !choices.has(item.query)) {
    past.add(last);
    return say("Offline: this can be undone with the connection");
  }
  const before = last.choice ?? last.before, now = () => (last.choice ? choices.get(item.query) : item.state)?.uuid;
  const isOurs = now() === last.made; // only what was said here is taken back
  if (isOurs && last.choice && item.again) turnChoice(item, choices.get(item.query).doc);
  if (isOurs && last.choice) choose(item, before.doc, { undoing: true });
  else if (isOurs) change(item, before, { undoing: true });
  if (isOurs) {
    past.renew(before.uuid, now());
    say("Undone");
  } else {
    warn(NOT_UNDONE);
    say("Not undone");
  }
  open(items.indexOf(item));
});

// What the server said to an answer, of this tab or of another one
// What another window has sent may still stand in the storage of this one: that it was removed is heard of later.
function taken({ body, answer, own }) {
  if (!items || !("doc" in body)) return;
  const item = itemOf(body);
  if (body.choice !== undefined && body.choice !== null) {
    const now = choices.get(body.query);
    if (answer.choice && (answer.status !== "ok" || !own) && !waits((one) => one.query === body.query && one.choice !== undefined && one.uuid !== body.uuid)) choices.set(body.query, answer.choice);
    if (answer.status === "conflict" && now?.doc !== answer.choice?.doc) warn("Your choice for this query was changed in another window meanwhile. What is shown now is what is kept.");
  } else if (item && answer.doc && (answer.status !== "ok" || !own) && !waits((one) => idOf(one) === idOf(body) && one.uuid !== body.uuid)) {
    const differs = answer.doc.grade !== item.state.grade || answer.doc.cannot_tell !== item.state.cannot_tell || answer.doc.flag !== item.state.flag;
    item.state = answer.doc;
    if (answer.status === "conflict" && differs) warn(`This was judged in another window meanwhile, and that is what is kept: ${wordsOfState(answer.doc)}. Judge it again if it is wrong.`);
    if (answer.status === "conflict") forget(item);
  }
  if (answer.status === "ok") unwarn(STOPPED);
  if (answer.status === "refused") {
    warn(`Not saved: ${answer.reason}`);
    restore(body.query);
  }
  askSettling();
  show();
}

// What was refused does not hold: the screen shows again what is stored.
async function restore(query) {
  const stored = await ask("/judge/state.json").catch(() => null);
  if (!stored) return;
  const states = new Map(stored.items.map((item) => [idOf(item), item.state]));
  for (const item of items) item.state = states.get(idOf(item)) ?? item.state;
  past.drop(() => true);
  views.delete(query);
  overlay();
  const first = items.findIndex(isOpen);
  open(isFinished && first >= 0 ? first : at);
}

const waits = (wanted) => outbox.entries().some(([, { body }]) => wanted(body));
const forget = (item) => past.drop(({ id }) => id === idOf(item));

function wordsOfState({ grade: value, cannot_tell, flag, note }) {
  const said = [];
  if (value !== null) said.push(labelOf(stepOf(value)) ?? `grade ${value}`);
  if (cannot_tell) said.push(`cannot tell, ${cannot_tell}`);
  if (flag) said.push(note ? `flagged: ${visible(note)}` : "flagged");
  return said.join(", ") || "nothing";
}

// Where we are

function onward() {
  let next = items.findIndex((item, i) => i > at && isOpen(item));
  if (next < 0) next = items.findIndex(isOpen);
  if (next >= 0) return open(next);
  isFinished = true;
  show();
}

function move(step) {
  unwarn(NOT_UNDONE);
  let next = (isFinished && step < 0 ? items.length : at) + step;
  while (items[next] && comesLater(items[next])) next += step;
  if (items[next]) open(next);
  else say(step > 0 ? "This is the last doc" : "This is the first doc");
}

function load(query) {
  if (views.has(query)) return Promise.resolve(views.get(query));
  if (!loading.has(query)) {
    loading.set(query, ask(`/judge/query.json?query=${encodeId(query)}`).then((view) => {
      if (!waits((one) => one.query === query && one.choice !== undefined && one.choice !== null)) choices.set(query, view.choice);
      views.set(query, view);
      return view;
    }).finally(() => loading.delete(query)));
  }
  return loading.get(query);
}

let retry;
async function open(index) {
  at = index;
  isFinished = false;
  watch.start();
  clearTimeout(retry);
  const { query } = items[at];
  if (views.has(query)) show();
  else {
    $("doc").setAttribute("aria-busy", "true");
    shown = "";
    try {
      await load(query);
    } catch (error) {
      if (items[at].query !== query) return;
      showNothing(error instanceof Refused ? error.message : "Offline: this doc comes with the connection.");
      showSaved();
      if (!(error instanceof Refused)) retry = setTimeout(() => open(at), 2000);
      return;
    }
    if (items[at].query === query) { watch.start(); show(); }
  }
  const ahead = new Set(items.slice(at).filter((item) => !isDone(item.state)).map((item) => item.query));
  for (const next of [...ahead].slice(0, NEAR + 1)) await load(next).catch(() => {});
  keepSoon();
}

// What is seen

let shown = "";
function show() {
  showCounts();
  keepSoon();
  if (!items?.length || isFinished) return showEnd();
  const item = items[at], view = views.get(item.query);
  $("desk").classList.remove("finished");
  $("bar").hidden = false;
  if (!view) return;
  const { state } = item, chosen = isChosen(item);
  const doc = view.docs.find((one) => one.doc === item.doc && Boolean(one.again) === Boolean(item.again)) ?? view.docs.find((one) => one.doc === item.doc);
  if (!doc) return showNothing("This doc has gone to another rater. Go on to the next one.");
  if (shown !== idOf(item)) showDoc(item, view, doc);
  showDots(item);
  document.querySelectorAll(".gb").forEach((button, step) => button.setAttribute("aria-pressed", String(stepOf(state.grade) === step)));
  $("to-flag").setAttribute("aria-pressed", String(state.flag));
  $("to-choose").setAttribute("aria-pressed", String(chosen));
  $("to-unclear").setAttribute("aria-pressed", String(state.cannot_tell !== null));
  const said = [];
  if (state.flag) said.push(element("span", [icon("i-flag"), state.note ? `Flagged: ${visible(state.note)}` : "Flagged"]));
  if (chosen) said.push(element("span", [icon("i-star"), "You would choose this one"]));
  if (state.cannot_tell) said.push(element("span", `Cannot tell: ${state.cannot_tell}`));
  $("said").replaceChildren(...said);
}

function showNothing(why) {
  shown = "";
  $("doc").removeAttribute("aria-busy");
  $("title").textContent = why;
  for (const part of ["fields", "text", "links", "ranks", "said"]) $(part).replaceChildren();
}

function showDoc(item, view, doc) {
  shown = idOf(item);
  words = wordsOf(view.text);
  const queries = known.queries.map(({ query }) => query);
  $("place").textContent = `Query ${number(queries.indexOf(item.query) + 1)} of ${number(queries.length)}`;
  $("query").textContent = visible(view.text || item.query);
  $("attributes").replaceChildren(...pairs(view.attributes, null));
  $("talk").hidden = !view.conversation.length;
  $("conversation").replaceChildren(...view.conversation.map((line) => element("p", visible(line), { dir: "auto" })));
  $("title").replaceChildren(...marked(doc.title || item.doc, words));
  $("links").replaceChildren(...doc.links.map((link) => element("a", [icon("i-link"), element("span", hostOf(link))], { class: "btn plain", href: link, target: "_blank", rel: "noopener noreferrer", title: visible(link) })));
  $("ranks").replaceChildren(...Object.entries(doc.ranks).map(([system, rank]) => element("span", `${visible(system)}: ${rank}`, { class: "tag" })));
  $("fields").replaceChildren(...pairs(Object.fromEntries(fieldsOf(doc)), words));
  $("text").replaceChildren(...(doc.text ? wholeText(doc.text, words) : [element("p", "This doc has no text here.", { class: "dim" })]));
  $("doc").removeAttribute("aria-busy");
  $("told").textContent = `Doc ${items.indexOf(item) + 1} of ${items.length}: ${visible(doc.title || item.doc)}`;
  $("doc").scrollTop = 0;
  const top = $("doc").getBoundingClientRect().top; // of a page that was scrolled the next doc's beginning is shown, too
  if (top < document.querySelector(".top").offsetHeight || matchMedia("(max-width: 48rem)").matches) scrollTo(0, 0);
}

function pairs(values, marking) {
  return Object.entries(values).filter(([, value]) => value !== null && value !== "").map(([name, value]) => {
    const text = valueText(value);
    const label = visible(name).split(/(?<=[._])/).flatMap((part, i) => (i ? [element("wbr"), part] : [part])); // it wraps at dots
    return element("div", [element("dt", label, { dir: "auto" }), element("dd", marking ? marked(text, marking) : visible(text), { dir: "auto" })]);
  });
}

function hostOf(link) {
  try { return new URL(link).host.replace(/^www[.]/, ""); } catch { return "open"; }
}

function showDots(item) {
  const mates = items.filter((one) => one.query === item.query && !comesLater(one));
  $("dots").hidden = mates.length < 2;
  $("dots").replaceChildren(...mates.map((one, i) => {
    const { grade: value, cannot_tell } = one.state;
    const dot = element("button", value !== null ? String(value) : cannot_tell ? "?" : "", {
      type: "button",
      class: `grade ${value !== null ? `g${levelOf(value)}` : "gx"}`,
      "aria-label": `Doc ${i + 1} of this query: ${wordsOfState(one.state) === "nothing" ? "not judged" : wordsOfState(one.state)}`,
    });
    if (one === item) dot.setAttribute("aria-current", "true");
    dot.addEventListener("click", () => open(items.indexOf(one)));
    return dot;
  }));
}

function showCounts() {
  const done = items.filter((item) => isDone(item.state));
  $("done").textContent = number(done.length);
  $("n").textContent = number(items.length);
  $("progress").value = items.length ? done.length / items.length : 1;
  const pace = paces.length > 2 ? [...paces].sort((a, b) => a - b)[paces.length >> 1] : known.pace_s;
  $("pace").textContent = pace === null ? "–" : `${pace < 10 ? pace.toFixed(1) : Math.round(pace)} s a doc`;
  const first = items.filter((item) => !item.again);
  $("flags").textContent = number(first.filter((item) => item.state.flag).length);
  $("unclear").textContent = number(first.filter((item) => item.state.cannot_tell).length);
  const twice = done.filter((item) => item.again);
  // who could not tell at one of the times has given nothing to compare
  const grades = twice.map((item) => [itemOf({ ...item, again: false })?.state.grade ?? null, item.state.grade]);
  const compared = grades.filter((both) => !both.includes(null));
  $("twice").textContent = compared.length ? `${compared.filter(([first, second]) => first === second).length} of ${compared.length} alike` : "–";
}

function showEnd() {
  shown = "";
  $("bar").hidden = true;
  $("desk").classList.add("finished");
  for (const part of ["fields", "links", "ranks", "dots", "said"]) $(part).replaceChildren();
  $("title").textContent = items.length ? "All done. Thank you." : "There is nothing to judge yet.";
  const left = outbox.entries().length;
  const next = items.length
    ? left ? "Keep this page open until it says Saved." : `Everything is saved. You can close this page, or look at your answers again${byTouch() ? "" : " with k"}.`
    : "Who invited you can add docs; then this link shows them.";
  $("text").replaceChildren(element("p", next), ...(items.length ? [backButton()] : []));
  $("told").textContent = $("title").textContent;
  showSettling();
}

function backButton() {
  const button = element("button", "Look again", { type: "button", class: "btn" });
  button.addEventListener("click", () => move(-1));
  return element("p", button);
}

function showSaved() {
  const place = $("saved");
  const said = outbox.words("press", "presses");
  if (place.textContent !== said) place.textContent = said;
  place.classList.toggle("troubled", outbox.isTroubled);
  warnOfBlocked(outbox);
  if (isFinished) showEnd();
}

// How far the answer is; it is worked out beside, so the line may be a few docs old: then it says so, and is asked for
// again until it knows the newest judgment.
const LONGEST_WAIT = 10_000;
let settling, due = Infinity, settled = { line: "", newer: false, left: false }, nChanges = 0, isOlder = false;
function askSettling(wait = isFinished ? 300 : 1500) {
  if (due <= Date.now() + wait) return; // who judges without a pause hears of it, too
  clearTimeout(settling);
  due = Date.now() + wait;
  settling = setTimeout(async () => {
    due = Infinity;
    const before = nChanges;
    const found = await ask("/judge/settling.json").catch(() => null);
    if (!found) return;
    settled = found;
    isOlder = found.newer || nChanges !== before || outbox.entries().length > 0;
    if (found.newer) askSettling(Math.min(2 * wait, LONGEST_WAIT));
    showSettling();
  }, wait);
}

function showSettling() {
  const { line, newer, left } = settled, isOld = newer || (isFinished && isOlder);
  // who is done cannot do what is left: it is for others
  const isDone_ = isFinished && items.length > 0;
  const mine = isDone_ && !isOld && left ? " Nothing of that is left for you." : "";
  const old = isDone_ ? "Nothing is left for you. What is left for others is being worked out." : `${line} (being worked out again)`;
  $("settle-line").textContent = line && (isOld ? old : `${line}${mine}`);
  $("settle").hidden = !line;
}

// Hands

const openDialog = (name) => document.querySelector("dialog[open]") || $(name).showModal();

function openFlag() {
  if (!isHere()) return;
  const { state } = items[at];
  $("note").value = state.note;
  $("unflag").hidden = !state.flag;
  openDialog("flag");
  $("note").select();
}

$("flag").addEventListener("close", () => {
  const { returnValue } = $("flag"), item = items[at];
  $("flag").returnValue = "";
  if (returnValue === "flag") change(item, { ...item.state, flag: true, note: $("note").value.trim() });
  else if (returnValue === "unflag") change(item, { ...item.state, flag: false, note: "" });
  else return;
  say(`${returnValue === "flag" ? "Flagged" : "Flag removed"} · u to undo`);
  show();
});
$("reasons")?.addEventListener("click", (event) => {
  if (event.target.closest("button")) { $("note").value = event.target.closest("button").value; $("note").focus(); }
});
$("why").addEventListener("close", () => {
  const why = $("why").returnValue, item = items[at];
  $("why").returnValue = "";
  if (!why) return;
  change(item, { ...item.state, grade: null, cannot_tell: why });
  say("Cannot tell · u to undo");
  onward();
});
$("why").addEventListener("keydown", (event) => {
  const why = { q: "query unclear", d: "doc unclear" }[event.key];
  if (!why) return;
  event.preventDefault();
  event.stopPropagation();
  $("why").close(why);
});
document.querySelectorAll(".gb").forEach((button, step) => button.addEventListener("click", () => grade(step)));
$("to-flag").addEventListener("click", openFlag);
$("to-choose").addEventListener("click", toggleChoice);
$("to-unclear").addEventListener("click", () => isHere() && openDialog("why"));
$("to-undo").addEventListener("click", undo);
$("to-help").addEventListener("click", () => openDialog("help"));
$("warning-close").addEventListener("click", () => { $("warning").hidden = true; });

const find = finder(
  () => known.queries.map(({ query, text }) => {
    const own = items.filter((item) => item.query === query);
    return { query, text, total: own.length, done: own.filter((item) => isDone(item.state)).length };
  }),
  (query) => {
    const own = items.map((item, i) => [item, i]).filter(([item]) => item.query === query);
    open((own.find(([item]) => isOpen(item)) ?? own[0])[1]);
  },
);
$("to-find").addEventListener("click", () => items && find());

addEventListener("keydown", (event) => {
  if (!items?.length || inField(event) || document.querySelector("dialog[open]")) return;
  const step = gradeKeys.indexOf(event.key);
  const act = step >= 0 && !event.repeat ? () => grade(step) : {
    x: openFlag, b: toggleChoice, "?": () => isHere() && openDialog("why"), u: undo, m: () => openDialog("help"), "/": find,
    j: () => move(1), k: () => move(-1),
  }[event.key];
  if (!act) return scrollDoc(event);
  event.preventDefault();
  act();
});

// The keys that scroll a page scroll the doc where it is longer than its place; at its end, else, and beside another text,
// they do as always.
const LINE = 40;
function scrollDoc(event) {
  const doc = $("doc"), page = doc.clientHeight - LINE, { key, target } = event;
  const down = {
    ArrowDown: LINE, ArrowUp: -LINE, PageDown: page, PageUp: -page, " ": event.shiftKey ? -page : page,
    Home: -doc.scrollHeight, End: doc.scrollHeight,
  }[key];
  const isPressed = key === " " && target.matches("button, a, summary");
  if (!down || isPressed || !target.matches("body, #doc, button, a, summary") || doc.scrollHeight <= doc.clientHeight) return;
  const before = doc.scrollTop;
  doc.scrollBy(0, down);
  if (doc.scrollTop !== before) event.preventDefault();
}

// A finger that wipes over the doc goes to the next one, or back.
let touch = null;
$("doc").addEventListener("touchstart", (event) => { touch = event.touches.length === 1 ? event.touches[0] : null; }, { passive: true });
$("doc").addEventListener("touchend", (event) => {
  if (!touch) return;
  const { clientX, clientY } = event.changedTouches[0], x = clientX - touch.clientX, y = clientY - touch.clientY;
  if (Math.abs(x) > 80 && Math.abs(x) > 3 * Math.abs(y) && !getSelection().toString()) move(x < 0 ? 1 : -1);
}, { passive: true });

// What is needed after a reload without a connection: all answers, and the texts of what comes next.
let keeping;
function keepSoon() {
  clearTimeout(keeping);
  keeping = setTimeout(() => {
    const open_ = items.filter((item, i) => i === at || !isDone(item.state)).map(({ query }) => query);
    const near = [...new Set(open_)].filter((query) => views.has(query)).slice(0, 20);
    keepScreen({ known, items, views: near.map((query) => [query, views.get(query), choices.get(query)]) });
  }, 300);
}

function useKept({ views: texts }) {
  for (const [query, view, choice] of texts) { views.set(query, view); choices.set(query, choice); }
}

// After a start without a connection: what the server has is read as soon as it answers.
async function catchUp(tries = 0) {
  const stored = await ask("/judge/state.json").catch((error) => (error instanceof Refused ? error : null));
  if (stored instanceof Refused) return refuse(stored);
  if (!stored) return setTimeout(() => catchUp(tries + 1), Math.min(10_000, 500 * 2 ** tries));
  const states = new Map(stored.items.map((item) => [idOf(item), item.state]));
  for (const item of items) item.state = states.get(idOf(item)) ?? item.state;
  overlay();
  outbox.send();
  show();
}

function refuse(error) {
  warn(error.message);
  forgetScreens({ own: true });
}

// What is stored, and above it what this browser has not sent yet
function overlay() {
  for (const [, { body }] of outbox.entries()) {
    if (body.choice !== undefined && body.choice !== null) choices.set(body.query, { uuid: body.uuid, doc: body.choice ? body.doc : null });
    else if (itemOf(body)) {
      const { uuid: id, grade: value, flag, note, cannot_tell } = body;
      itemOf(body).state = body.withdrawn ? { ...NOTHING, uuid: id } : { uuid: id, grade: value, flag, note, cannot_tell };
    }
  }
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
    useKept(kept);
    catchUp();
  }
  items = (kept ?? known).items.map((item) => ({ ...item }));
  overlay();
  $("waiting").hidden = true;
  $("desk").hidden = false;
  if (known.state === "stopped") warn(STOPPED);
  showNewGuideline();
  showSaved();
  outbox.send();
  askSettling();
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
