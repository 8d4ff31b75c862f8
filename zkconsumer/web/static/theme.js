// Before the first paint, so that nothing flashes: the colours that were chosen here last time.
(() => {
  document.documentElement.classList.add("scripted");
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // Storage may be forbidden: the system's choice, then.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
