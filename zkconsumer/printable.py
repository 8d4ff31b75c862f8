"""Names of others in a text for people: nothing in them can drive a terminal, or begin a line."""


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
