// Applies filters while the user types: the address changes, and the page is fetched from it.
import { refresh } from "./live.js";

const TYPING_MS = 150;

function queryOf(form) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value) query.set(name, value);
  return query;
}

function go(form) {
  const text = queryOf(form).toString();
  history.replaceState(null, "", text ? `${form.action}?${text}` : form.action);
  void refresh();
}

// Whether the address differs from the fields: the user typed before this script was loaded.
function ahead(form) {
  const current = new URLSearchParams(location.search);
  const fields = [...new FormData(form)];
  return fields.some(([name, value]) => (current.get(name) ?? "") !== value);
}

export function startForms() {
  let waiting = 0;
  const later = (event) => {
    const form = event.target.closest?.("form[data-live-form]");
    if (!form) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => go(form), event.type === "input" ? TYPING_MS : 0);
  };
  for (const form of document.querySelectorAll("form[data-live-form]")) if (ahead(form)) go(form);
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
