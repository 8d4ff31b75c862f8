// Buttons that put a command on the clipboard; where there is none, the command is selected.
function select(code) {
  const range = document.createRange();
  range.selectNodeContents(code);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
}

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    select(button.previousElementSibling);
    button.textContent = "Selected";
  }
  setTimeout(() => {
    button.textContent = "Copy";
  }, 2_000);
}

export function startCopying() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button.copy");
    if (button) void copy(button);
  });
}
