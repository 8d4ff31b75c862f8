"""Cuts what a catalog's properties say out of messages: they are addresses, passwords and tokens.

What pyiceberg and its libraries raise may have any of them in it.
"""

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from pyiceberg.utils.config import Config

_CUT = "***"
_PLAIN = frozenset({"type", "py-catalog-impl", "py-io-impl"})
"""Properties that say which library is used; their values are in many messages."""
_USER = re.compile(r"(?<=://)[^\s'\"]*@")
_SHORT = 4


def configured(catalog: str | None) -> dict[str, str]:
    """What pyiceberg's configuration says of a catalog; nothing where that can't be read."""
    try:
        found = None if catalog is None else Config().get_catalog_config(catalog)
        return {name: str(value) for name, value in (found or {}).items()}
    except Exception:  # noqa: BLE001 - a file of others, read for a message alone
        return {}


def without_secrets(message: str, properties: Mapping[str, str]) -> str:
    """The message without values of properties, their parts, and users of URIs.

    Args:
        message: of an error.
        properties: of the catalog.
    """
    message = _USER.sub(f"{_CUT}@", message)
    values = (str(value) for name, value in properties.items() if name not in _PLAIN)
    found = {form for value in values for part in _parts(value) for form in _forms(part)}
    for text in sorted(found, key=len, reverse=True):
        # A short one may be a part of any word.
        pattern = rf"(?<!\w){re.escape(text)}(?!\w)" if len(text) < _SHORT else re.escape(text)
        message = re.sub(pattern, _CUT, message)
    return message


def _parts(value: str) -> Iterator[str]:
    """A value, and what a library may take out of it: user, password, what is asked for."""
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
        # An id and its secret.
        yield from value.split(":")


def _forms(text: str) -> Iterator[str]:
    """As it is, decoded, without space around, and as it is shown between quotes."""
    for one in (text, unquote(text)):
        for form in (one, one.strip(), repr(one)[1:-1], repr(one.encode())[2:-1]):
            if form.strip():
                yield form
