"""Recognize decimal numbers in text that others wrote. Pure."""


def is_decimal(text: str, most_digits: int) -> bool:
    """Return whether a text is one to ``most_digits`` ASCII digits, which ``int`` reads.

    ``str.isdigit`` alone also takes superscripts, for which ``int`` raises; and it raises for
    thousands of digits.
    """
    return text.isascii() and text.isdigit() and len(text) <= most_digits
