"""The known name that a misspelt one is nearest to: one way to ask "did you mean". Pure."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, limit: int = 1) -> list[str]:
    """Return the known names most like ``word``, the most similar first.

    Args:
        word: as it was written.
        known: the names that there are.
        limit: how many to return at most.
    """
    import difflib  # noqa: PLC0415 - only who misspelt something needs it

    return difflib.get_close_matches(word, sorted(known), n=limit)


def did_you_mean(word: str, known: Iterable[str], *, limit: int = 1) -> str:
    """Return ``: did you mean X?`` (or ``X, Y?``) to end a sentence with, or no text at all."""
    found = nearest(word, known, limit=limit)
    return f": did you mean {', '.join(found)}?" if found else ""
