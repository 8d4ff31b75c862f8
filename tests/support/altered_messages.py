"""Messages that differ from another one in some fields."""

from typing import Any, TypeVar

from zkconsumer.wire.schema import ApiMessage

M = TypeVar("M", bound=ApiMessage)


def altered(message: M, **changes: Any) -> M:
    """Return a copy of a message with some fields changed."""
    same = {name: getattr(message, name) for name in message.FIELDS}
    return type(message)(**same | changes)
