"""Names and values of others in a text for people: they can't drive a terminal, or begin a line."""

from collections.abc import Iterable


def printable(text: str) -> str:
    """Escape what does not print: ids of groups and names of hosts may be anything.

    Args:
        text: one line, or what is to become one: line ends are escaped, too.

    Returns:
        The same where all of it prints; else each other character as Python writes it.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def shown(value: object, limit: int = 100) -> str:
    """Return a value as error messages show it: not at any length.

    Args:
        value: as a program, a file or a peer gave it.
        limit: how many characters it may take.
    """
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def fault_text(error: Exception) -> str:
    """Return the class of an unexpected error, and at most 200 characters of its message."""
    return f"{type(error).__name__}: {str(error)[:200]}"


def shortlist(names: Iterable[object], *, limit: int = 5) -> str:
    """Return the first of some names, sorted, for a text that must stay short.

    Args:
        names: any number of them.
        limit: how many to show at most.

    Returns:
        The names with commas between them, and how many more there are.
    """
    texts = sorted(printable(str(name)) for name in names)
    more = [f"{len(texts) - limit} more"] if len(texts) > limit else []
    return ", ".join([*texts[:limit], *more])


def listed(items: Iterable[object], *, limit: int = 10, separator: str = ", ") -> str:
    """Return the first of some items, in their order, and how many more there are.

    Args:
        items: any number of them, each as an f-string has it.
        limit: how many to show at most.
        separator: between two of them.
    """
    texts = [f"{item}" for item in items]
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return separator.join(texts[:limit]) + more
