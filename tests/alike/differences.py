"""Cases that come out differently because that was decided, each with its reason.

``python -m tests.alike.differences`` prints the table of docs/migrating-from-kafka-python.md.
"""

import sys
from typing import Final, NamedTuple


class Decision(NamedTuple):
    """Why something is not as in kafka-python.

    Attributes:
        cases: the names of the cases that show it.
        what: what one does.
        theirs: what comes of it there.
        ours: what comes of it here.
        why: the reason.
    """

    cases: tuple[str, ...]
    what: str
    theirs: str
    ours: str
    why: str


DECISIONS: Final[tuple[Decision, ...]] = ()
BY_DECISION: Final[frozenset[str]] = frozenset(
    name for decision in DECISIONS for name in decision.cases
)


def table() -> str:
    """The decisions, as the documentation has them."""
    head = ["| what | kafka-python | here | why |", "|---|---|---|---|"]
    return "\n".join(
        head + [f"| {one.what} | {one.theirs} | {one.ours} | {one.why} |" for one in DECISIONS]
    )


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
