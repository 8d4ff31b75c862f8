"""``python -m tests.histories FILE``: check a recorded history.

Exit status 0: every promise was kept; 1: at least one was broken; 2: the file is not a history.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.histories.assembly import assemble
from tests.histories.checker import check_history
from tests.histories.operations import BadHistory, read_file


def main(arguments: Sequence[str]) -> int:
    """Check the file, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__)
    parser.add_argument("file", type=Path, help="newline-delimited JSON, see docs/testing.md")
    options = parser.parse_args(arguments)
    try:
        outcome = check_history(assemble(read_file(options.file)))
    except (BadHistory, OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{options.file}: {error}\n")
        return 2
    sys.stdout.write("\n".join([*outcome.lines(), ""]))
    return 0 if outcome.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
