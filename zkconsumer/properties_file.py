r"""Parse Java ``.properties`` text as ``java.util.Properties.load`` does.

Files are latin-1; other characters are written as ``\uXXXX``. The last value of a repeated key
wins.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from zkconsumer.errors import ConfigError

_BLANKS = " \t\f"
_NATURAL_LINE = re.compile(r"\r\n|\r|\n")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_HEX4 = re.compile(r"[0-9A-Fa-f]{4}")


def load_properties(path: str | os.PathLike[str]) -> dict[str, str]:
    r"""Read a ``.properties`` file.

    Raises:
        ConfigError: the file can't be read, or holds a malformed ``\u`` escape.
    """
    try:
        text = Path(path).read_bytes().decode("latin-1")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"cannot read the properties file {os.fspath(path)}: {reason}") from error
    try:
        return parse_properties(text)
    except ConfigError as error:
        raise ConfigError(f"{os.fspath(path)}: {error}") from error


def parse_properties(text: str) -> dict[str, str]:
    r"""Return the keys and values in the text of a ``.properties`` file, in the order written.

    Raises:
        ConfigError: a ``\u`` is not followed by four hexadecimal digits.
    """
    properties: dict[str, str] = {}
    for line in _logical_lines(text):
        key, value = _split(line)
        name = _unescape(key, "a key")
        properties.pop(name, None)
        properties[name] = _unescape(value, f"the value of {name!r}")
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines with their continuations joined, without blank lines and comments."""
    logical = ""
    for natural in _NATURAL_LINE.split(text):
        stripped = natural.lstrip(_BLANKS)
        if not logical and (not stripped or stripped[0] in "#!"):
            # Only the first of several joined lines can be blank or a comment.
            continue
        if _ends_in_open_backslash(stripped):
            logical += stripped[:-1]
            continue
        yield logical + stripped
        logical = ""
    if logical:
        yield logical


def _ends_in_open_backslash(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    """Split a line at its first unescaped ``=``, ``:`` or blank; unescape neither part."""
    end = 0
    while end < len(line) and line[end] not in "=:" + _BLANKS:
        end += 2 if line[end] == "\\" else 1
    value = line[end:].lstrip(_BLANKS)
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(_BLANKS)
    return line[:end], value


def _unescape(text: str, where: str) -> str:
    out: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        position += 1
        if char != "\\":
            out.append(char)
            continue
        escaped = text[position : position + 1]
        position += 1
        if escaped == "u":
            digits = _HEX4.match(text, position)
            if digits is None:
                # The message does not show the text, which may be a password.
                raise ConfigError(
                    f"malformed \\u escape in {where}: four hex digits must follow; a backslash is "
                    "written twice"
                )
            out.append(chr(int(digits.group(), 16)))
            position += 4
        else:
            out.append(_ESCAPES.get(escaped, escaped))
    # Java text is UTF-16: two escapes may spell one character.
    return "".join(out).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
