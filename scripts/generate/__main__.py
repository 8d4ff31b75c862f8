"""Write all generated files again: ``make generated``. With ``--check``, name the stale ones."""

import sys

from scripts.generate.files import FILES, ROOT, current

if __name__ == "__main__":
    stale = [path for path in FILES if (ROOT / path).read_text("utf-8") != current(path)]
    if "--check" in sys.argv:
        sys.exit(f"stale, run make generated: {', '.join(stale)}" if stale else 0)
    for path in stale:
        (ROOT / path).write_text(current(path), "utf-8")
