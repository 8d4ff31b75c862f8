"""Asks for confirmation of irreversible operations."""

import sys

from zkconsumer.printable import printable


def confirm(prompt: str, expected: str, yes: bool) -> bool:  # noqa: FBT001 - as it is given
    """Ask for confirmation; return whether to go on.

    The question is printed to standard error, so that standard output holds only the result.
    Without a terminal the result is False, and a hint to ``--yes`` is printed.

    Args:
        prompt: the operation, as a sentence.
        expected: the text that the user has to type, such as the group's name.
        yes: whether ``--yes`` was given, so that no question is asked.
    """
    if yes:
        return True
    for line in prompt.split("\n"):
        print(printable(line), file=sys.stderr)
    if sys.stdin is None or not sys.stdin.isatty():
        print(
            "zkconsumer: nothing was done: there is no terminal to ask for confirmation, so give "
            "--yes to go on",
            file=sys.stderr,
        )
        return False
    print(f"Type {printable(expected)} to go on: ", end="", file=sys.stderr, flush=True)
    typed = sys.stdin.readline()
    # An empty line does not confirm anything, even for a group with an empty name.
    if typed.strip() and typed.strip() == expected.strip():
        return True
    print("zkconsumer: nothing was done", file=sys.stderr)
    return False
