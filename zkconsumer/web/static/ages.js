// Ages count on between two updates, by the server's clock; what is old turns grey.
const UNITS = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "min"],
];

let offset = 0;
let oldAfter = Infinity;

// The server's time, as far as we know it.
export function now() {
  return Date.now() - offset;
}

// In the same words as the server's.
export function age(ms) {
  if (ms < 1_000) return "now";
  for (const [unit, name] of UNITS) if (ms >= unit) return `${Math.floor(ms / unit)} ${name}`;
  return `${Math.floor(ms / 1_000)} s`;
}

// Take over the server's clock from a page that has just come.
export function setClock(body) {
  if (!body.dataset.now) return;
  offset = Date.now() - Number(body.dataset.now);
  oldAfter = Number(body.dataset.oldAfter);
}

// Update the text of all ages.
export function tick(root = document) {
  const at = now();
  for (const element of root.querySelectorAll("[data-at]")) {
    const ms = at - Number(element.dataset.at);
    if (element.classList.contains("age")) {
      const text = "ago" in element.dataset && ms >= 1_000 ? `${age(ms)} ago` : age(ms);
      if (element.textContent !== text) element.textContent = text;
    }
    if (!("ageless" in element.dataset) && !element.dataset.kind) {
      element.classList.toggle("old", ms > oldAfter);
    }
  }
  showLinkState();
}

let lost = false;

// Show the state: "Live" describes what is shown, not the connection alone.
export function showLinkState(isLost = lost) {
  lost = isLost;
  const fresh = document.getElementById("fresh");
  const link = document.getElementById("link");
  if (!link) return;
  const stale = "problem" in fresh.dataset || fresh.querySelector("time.old") !== null;
  const text = lost ? "Connection lost, trying again" : stale ? "Out of date" : "Live";
  if (link.textContent !== text) link.textContent = text;
  fresh.classList.toggle("lost", lost);
  fresh.classList.toggle("stale", stale && !lost);
}

export function startAges() {
  setClock(document.body);
  tick();
  setInterval(tick, 1_000);
}
