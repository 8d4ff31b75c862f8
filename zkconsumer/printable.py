"""Escape and shorten foreign names and values, so that they can't control a terminal or a log."""

from collections.abc import Iterable


def printable(text: str) -> str:
    """Escape characters that do not print: group ids and host names may contain anything.

    Args:
        text: any text; line ends are escaped, too.

    Returns:
        The text, with Python's escape for each character that does not print.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def shown(value: object, limit: int = 100) -> str:
    """Return the ``repr`` of a value for an error message, shortened to ``limit`` characters.

    Args:
        value: any value from a program, a file or a peer.
        limit: the maximum number of characters.
    """
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def fault_text(error: Exception) -> str:
    """Return the class of an unexpected error, and at most 200 characters of its message."""
    return f"{type(error).__name__}: {str(error)[:200]}"


def shortlist(names: Iterable[object], *, limit: int = 5) -> str:
    """Return the first names in sorted order, for a text that must stay short.

    Args:
        names: any number of names.
        limit: the maximum number to show.

    Returns:
        The names separated by commas, and how many more there are.
    """
    texts = sorted(printable(str(name)) for name in names)
    more = [f"{len(texts) - limit} more"] if len(texts) > limit else []
    return ", ".join([*texts[:limit], *more])


def listed(items: Iterable[object], *, limit: int = 10, separator: str = ", ") -> str:
    """Return the first items, in the given order, and how many more there are.

    Args:
        items: any number of items, formatted as in an f-string.
        limit: the maximum number to show.
        separator: the text between two items.
    """
    texts = [f"{item}" for item in items]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return separator.join(texts[:limit]) + more
