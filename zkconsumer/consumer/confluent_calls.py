"""Tells programs written for confluent-kafka what to write instead; see its page."""

import functools
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, cast

from zkconsumer.consumer.settings.confluent_names import (
    METHODS,
    advice_on_seconds,
    is_probably_seconds,
)
from zkconsumer.errors import IllegalArgumentError

F = TypeVar("F", bound=Callable[..., Any])


def in_milliseconds(poll: F) -> F:
    """Refuse a time-out in seconds: ``poll(1.0)``, ``poll(timeout=1.0)``.

    Only positional ones: ``timeout_ms=1.0`` names the unit.

    Raises:
        IllegalArgumentError: says what to write.
    """

    @functools.wraps(poll)
    def checked(self: object, *args: Any, **named: Any) -> Any:
        if args and is_probably_seconds(args[0]):
            raise IllegalArgumentError(advice_on_seconds(args[0]))
        if "timeout" in named:
            raise IllegalArgumentError("poll() has no timeout: write timeout_ms, in milliseconds")
        return poll(self, *args, **named)

    return cast("F", checked)


def refuse_method(kind: str, name: str) -> NoReturn:
    """Raise the usual error of a missing attribute, with what to call instead.

    Args:
        kind: the name of the class without it.
        name: the name of the attribute.
    """
    hint = f" (confluent-kafka's): write {METHODS[name]}" if name in METHODS else ""
    raise AttributeError(f"{kind!r} object has no attribute {name!r}{hint}")
