// Filters work while one types: the address changes, and the page is fetched by it.
import { refresh } from "./live.js";

const TYPING_MS = 150;

function go(form) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value) query.set(name, value);
  const text = query.toString();
  history.replaceState(null, "", text ? `${form.action}?${text}` : form.action);
  void refresh();
}

export function startForms() {
  let waiting = 0;
  const later = (event) => {
    const form = event.target.closest?.("form[data-live-form]");
    if (!form) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => go(form), event.type === "input" ? TYPING_MS : 0);
  };
  document.addEventListener("input", later);
  document.addEventListener("change", later);
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-live-form]");
    if (!form) return;
    event.preventDefault();
    clearTimeout(waiting);
    go(form);
  });
}
