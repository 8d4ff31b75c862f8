"""Redacts a catalog's properties in messages: they hold addresses, passwords and tokens.

Exceptions of pyiceberg and its libraries may contain any of them.
"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from pyiceberg.utils.config import Config

_CUT = "***"
_PLAIN = frozenset({"type", "py-catalog-impl", "py-io-impl"})
"""Properties that name a library; their values occur in many messages."""
_USER = re.compile(r"(?<=://)[^\s'\"]*@")
_SHORT = 4


def configured(catalog: str | None) -> dict[str, str]:
    """Return pyiceberg's configuration of a catalog; empty if unreadable."""
    try:
        found = None if catalog is None else Config().get_catalog_config(catalog)
        return {name: str(value) for name, value in (found or {}).items()}
    except Exception:  # noqa: BLE001 - a file of others, read for a message alone
        return {}


def without_secrets(message: str, properties: Mapping[str, str]) -> str:
    """Remove the values of properties, their parts, and the users in URIs from a message."""
    message = _USER.sub(f"{_CUT}@", message)
    values = (str(value) for name, value in properties.items() if name not in _PLAIN)
    found = {form for value in values for part in _parts(value) for form in _forms(part)}
    for text in sorted(found, key=len, reverse=True):
        # A short value may be part of any word.
        pattern = rf"(?<!\w){re.escape(text)}(?!\w)" if len(text) < _SHORT else re.escape(text)
        message = re.sub(pattern, _CUT, message)
    return message


def _parts(value: str) -> Iterator[str]:
    """Yield a value and those parts of it that a library may show: user, password, query."""
    yield value
    try:
        address = urlsplit(value)
        user, password = address.username, address.password
    except ValueError:
        return
    if "://" in value:
        yield from (part for part in (user, password) if part)
        yield from (part.partition("=")[2] for part in address.query.split("&"))
    else:
        # An id with its secret.
        yield from value.split(":")


def _forms(text: str) -> Iterator[str]:
    """Yield a text unchanged, URL-decoded, stripped, and escaped as in quotes."""
    for spelling in (text, unquote(text)):
        for form in (
            spelling,
            spelling.strip(),
            repr(spelling)[1:-1],
            repr(spelling.encode())[2:-1],
        ):
            if form.strip():
                yield form
