// The button that goes round: the system's colours, light, dark.
const ROUND = ["system", "light", "dark"];

export function startTheme() {
  const button = document.getElementById("theme");
  const name = document.getElementById("theme-name");
  if (!button) return;
  const root = document.documentElement;
  const show = () => {
    name.textContent = root.dataset.theme ?? "system";
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    const next = ROUND[(ROUND.indexOf(root.dataset.theme ?? "system") + 1) % ROUND.length];
    if (next === "system") delete root.dataset.theme;
    else root.dataset.theme = next;
    try {
      localStorage.setItem("theme", next);
    } catch {
      // It holds for this page, then.
    }
    show();
    document.dispatchEvent(new Event("colours"));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.dispatchEvent(new Event("colours"));
  });
  show();
}
