"""Asks before something is done that can't be undone."""

import sys

from zkconsumer.printable import printable


def confirm(prompt: str, expected: str, yes: bool) -> bool:  # noqa: FBT001 - as it is given
    """Return whether to go on.

    The question goes to standard error, so that standard output holds the result alone. Where
    nobody can be asked, the answer is no, and it is said how to go on.

    Args:
        prompt: what would be done, as a sentence.
        expected: what the user has to type, such as the group's name.
        yes: whether ``--yes`` was given: then nobody is asked.
    """
    if yes:
        return True
    for line in prompt.split("\n"):
        print(printable(line), file=sys.stderr)
    if sys.stdin is None or not sys.stdin.isatty():
        print(
            "zkconsumer: nothing was done: nobody can be asked here, so give --yes to go on",
            file=sys.stderr,
        )
        return False
    print(f"Type {printable(expected)} to go on: ", end="", file=sys.stderr, flush=True)
    typed = sys.stdin.readline()
    # An empty line is no answer, whatever a group is called.
    if typed.strip() and typed.strip() == expected.strip():
        return True
    print("zkconsumer: nothing was done", file=sys.stderr)
    return False
