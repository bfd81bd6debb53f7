// Lets a rater open the screen again without a connection. It keeps the page of the last invitation and the files that
// this page loads, and nothing else: what is judged is kept by the page itself, by rater (judge-core.js).
const KEPT = "rankscope-judge-@VERSION@", SCREENS = "rankscope-judged";
const PAGES = ["/judge/task", "/judge/lists"];
const START = "/judge/start";

const pathOf = (address) => new URL(address, location.origin).pathname;
const isFile = (address) => pathOf(address).startsWith("/static/");
const isOurs = (address) => new URL(address, location.origin).origin === location.origin;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil((async () => {
  const old = (await caches.keys()).filter((name) => name.startsWith("rankscope-judge-") && name !== KEPT);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.clients.claim();
})()));

async function keep(key, reply) {
  if (reply.ok && reply.type === "basic" && !reply.redirected) await (await caches.open(KEPT)).put(key, reply.clone());
}

const kept = async (key) => (await caches.open(KEPT)).match(key);

// The page comes from the server, where that can be reached; a rater who is not let in any more leaves nothing behind.
async function page(request) {
  const key = pathOf(request.url);
  try {
    const reply = await fetch(request);
    if (reply.status === 401 || reply.status === 403) await Promise.all([KEPT, SCREENS].map((name) => caches.delete(name)));
    if (reply.status < 500) {
      await keep(key, reply);
      return reply;
    }
    return (await kept(key)) ?? reply;
  } catch {
    return (await kept(key)) ?? Response.error();
  }
}

// Somebody else may be coming.
async function start(request) {
  const reply = await fetch(request);
  await caches.delete(KEPT);
  return reply;
}

// A file whose address holds its hash never changes; of others there may be a newer one.
async function file(request) {
  const hasHash = new URL(request.url).searchParams.has("v");
  const known = await kept(request.url);
  if (hasHash && known) return known;
  try {
    const reply = await fetch(request);
    await keep(request.url, reply);
    return reply;
  } catch {
    return known ?? Response.error();
  }
}

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !isOurs(request.url)) return;
  if (request.mode === "navigate") {
    if (pathOf(request.url) === START) event.respondWith(start(request));
    else if (PAGES.includes(pathOf(request.url))) event.respondWith(page(request));
  } else if (isFile(request.url)) event.respondWith(file(request));
});

// The first page was loaded before there was a worker: it says what it is made of.
self.addEventListener("message", (event) => {
  const wanted = event.data?.keep;
  if (!Array.isArray(wanted)) return;
  event.waitUntil(Promise.all(wanted.filter(isOurs).filter((one) => isFile(one) || PAGES.includes(pathOf(one))).map(async (one) => {
    const key = isFile(one) ? one : pathOf(one);
    if (!(await kept(key))) await fetch(one).then((reply) => keep(key, reply)).catch(() => {});
  })));
});
