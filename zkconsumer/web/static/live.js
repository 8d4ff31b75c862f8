// Fetches the page again whenever the server says that there is something new, and shows what changed.
import { showLinkState, setClock, tick } from "./ages.js";
import { morph } from "./morph.js";

const EVERY_MS = 10_000;

let under = null;
let again = false;

function owners(root) {
  const found = new Map();
  for (const row of root.querySelectorAll("tr[data-owner]")) found.set(row.dataset.key, row.dataset.owner);
  return found;
}

function light(row) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const colour = getComputedStyle(row).getPropertyValue("--lit");
  row.animate([{ backgroundColor: colour }, { backgroundColor: "transparent" }], {
    duration: 4_000,
    easing: "ease-out",
  });
}

// Rows whose partition has changed hands light up for a moment.
function markMoved(root, before) {
  for (const row of root.querySelectorAll("tr[data-owner]")) {
    const was = before.get(row.dataset.key);
    if (was !== undefined && was !== row.dataset.owner) {
      light(row);
    }
  }
}

function newsIn(root) {
  return root.querySelector("[data-news]")?.textContent.replace(/\s+/g, " ").trim() ?? "";
}

function announce(before, root) {
  const after = newsIn(root);
  if (after && after !== before) document.getElementById("news").textContent = after;
  return after;
}

function lacksScripts(page) {
  const here = new Set([...document.scripts].map((script) => script.getAttribute("src")));
  return [...page.scripts].some((script) => !here.has(script.getAttribute("src")));
}

let news = "";

function show(page) {
  const root = document.getElementById("live");
  const come = page.getElementById("live");
  if (!come) {
    return;
  }
  if (lacksScripts(page)) {
    location.reload(); // what stood here was not there yet, so its scripts are not
    return;
  }
  const before = owners(root);
  morph(root, come);
  markMoved(root, before);
  setClock(page.body);
  document.title = page.title;
  const icon = page.querySelector("link[rel=icon]")?.getAttribute("href");
  const shown = document.querySelector("link[rel=icon]");
  if (icon && shown.getAttribute("href") !== icon) shown.setAttribute("href", icon);
  document.getElementById("fresh")?.toggleAttribute("data-problem", page.querySelector("#fresh[data-problem]") !== null);
  const fresh = page.querySelector("#fresh time");
  const time = document.querySelector("#fresh time");
  if (fresh && time) morph(time, fresh);
  tick();
  news = announce(news, root);
  document.dispatchEvent(new Event("updated"));
}

async function load(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" }, cache: "no-store" });
  const text = await answer.text();
  if (answer.status === 401 || new URL(answer.url).pathname === "/login") location.reload(); // to log in
  // A fault of the server must not wipe out what is known.
  if (answer.redirected || ![200, 404].includes(answer.status)) throw new Error(`the server responded with ${answer.status}`);
  return new DOMParser().parseFromString(text, "text/html");
}

// Fetch and show this page; of calls during a fetch only the last counts.
export async function refresh() {
  if (under) {
    again = true;
    return;
  }
  do {
    again = false;
    const address = location.href;
    under = load(address);
    try {
      const page = await under;
      if (address === location.href) show(page);
      else again = true;
      showLinkState(false);
    } catch {
      showLinkState(true);
    } finally {
      under = null;
    }
  } while (again);
}

// Listens while somebody looks. A hidden page asks now and then, for its title and icon: browsers open
// six connections to a host at most, and listening takes one.
function listen(address, refused) {
  const source = new EventSource(address);
  source.addEventListener("open", () => showLinkState(false));
  source.addEventListener("error", () => {
    showLinkState(true);
    // A refusal, such as of too many listeners, ends it for good.
    if (source.readyState === EventSource.CLOSED) refused();
  });
  source.addEventListener("state", () => void refresh());
  return source;
}

export function startLive() {
  news = newsIn(document);
  const { events: address, every } = document.body.dataset;
  if (every) setInterval(() => void refresh(), Number(every));
  if (!address) return;
  let source = null;
  let polling = 0;
  let waiting = 0;
  const attend = () => {
    source?.close();
    clearInterval(polling);
    source = document.hidden ? null : listen(address, again);
    if (document.hidden) polling = setInterval(() => void refresh(), EVERY_MS);
  };
  const again = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      void refresh();
      attend();
    }, EVERY_MS);
  };
  document.addEventListener("visibilitychange", attend);
  addEventListener("pagehide", () => source?.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) attend(); // back by the browser's own memory
  });
  attend();
}
