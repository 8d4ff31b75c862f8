"""Asks before something is done that can't be undone."""

import sys


def confirm(question: str, expected: str, yes: bool) -> bool:  # noqa: FBT001 - as it is given
    """Whether to go on.

    The question goes to standard error, so that standard output holds the result alone. Where
    nobody can be asked, the answer is no, and it is said how to go on.

    Args:
        question: what would be done, as a sentence.
        expected: what the user has to type, such as the group's name.
        yes: whether ``--yes`` was given: then nobody is asked.
    """
    if yes:
        return True
    print(question, file=sys.stderr)
    if sys.stdin is None or not sys.stdin.isatty():
        print(
            "zkconsumer: nothing was done: nobody can be asked here, so give --yes to go on",
            file=sys.stderr,
        )
        return False
    print(f"Type {expected} to go on: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() == expected.strip():
        return True
    print("zkconsumer: nothing was done", file=sys.stderr)
    return False
