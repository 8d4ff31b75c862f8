"""Find the known name most similar to a misspelt one, for errors with "did you mean". Pure."""

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], *, limit: int = 1) -> list[str]:
    """Return the known names most like ``word``, the most similar first.

    Args:
        word: the name as it was written.
        known: all known names.
        limit: the maximum number to return.
    """
    import difflib  # noqa: PLC0415 - needed only after a misspelling

    return difflib.get_close_matches(word, sorted(known), n=limit)


def did_you_mean(word: str, known: Iterable[str], *, limit: int = 1) -> str:
    """Return ``: did you mean X?`` (or ``X, Y?``) as the end of a sentence; empty if none is."""
    found = nearest(word, known, limit=limit)
    return f": did you mean {', '.join(found)}?" if found else ""
