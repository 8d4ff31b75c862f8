"""The settings that are functions or objects, not texts, numbers or booleans."""

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeGuard

from zkconsumer.errors import IllegalArgumentError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.printable import shown
from zkconsumer.records.consumer_record import Deserializer, RecordOrigin

if TYPE_CHECKING:
    import ssl

CommitCallback = Callable[[Mapping[TopicPartition, OffsetAndMetadata], Exception | None], object]
"""Called after a commit with the offsets and the error, which is None on success."""


class DeserializerObject(Protocol):
    """An object that deserialises; has the methods of kafka-python's ``Deserializer``."""

    @property
    def deserialize(self) -> Callable[..., Any]:
        """Called with the topic and the bytes, or with topic, headers and bytes."""


class TokenProvider(Protocol):
    """An object that returns tokens for OAUTHBEARER: kafka-python's ``AbstractTokenProvider``."""

    def token(self) -> str:
        """Return a token that is valid now."""


AnyDeserializer: TypeAlias = Callable[..., Any] | DeserializerObject
"""The allowed types of ``key_deserializer`` and ``value_deserializer``."""

_DESERIALIZER = "AnyDeserializer | None"


class ObjectKey(NamedTuple):
    """Describes one of these settings, in Markdown.

    Attributes:
        allowed: the allowed values, in words.
        doc: the effect of the setting.
        accepts: the allowed values, as a Python type.
    """

    allowed: str
    doc: str
    accepts: str


OBJECTS: Mapping[str, ObjectKey] = {
    "key.deserializer": ObjectKey(
        "a function of bytes, or an object with `deserialize(topic, bytes)` or "
        "`deserialize(topic, headers, bytes)`",
        "Computes `record.key`; called at each access. Null is passed to it as None, and "
        "stays None if the function can't take that (`TypeError`, `AttributeError`).",
        _DESERIALIZER,
    ),
    "value.deserializer": ObjectKey(
        "as `key_deserializer`", "Computes `record.value`.", _DESERIALIZER
    ),
    "ssl.context": ObjectKey(
        "`ssl.SSLContext`",
        "Replaces all other settings that begin with `ssl_`.",
        "SSLContext | None",
    ),
    "sasl.oauth.token.provider": ObjectKey(
        "a function that returns a token, or an object with `token()`",
        "With `OAUTHBEARER`: called at each connection, and whenever a broker requires "
        "re-authentication; several threads may call it at a time.",
        "Callable[[], str] | TokenProvider | None",
    ),
    "default.offset.commit.callback": ObjectKey(
        "a function of the offsets and of an error or None",
        "Called with the result of automatic commits, and of `commit_async()` without a callback.",
        "CommitCallback | None",
    ),
}
"""These settings, by their keys with dots."""


class GivenObjects(NamedTuple):
    """Holds the objects that were given, checked."""

    key_deserializer: Any = None
    value_deserializer: Any = None
    ssl_context: "ssl.SSLContext | None" = None
    sasl_oauth_token_provider: Any = None
    default_offset_commit_callback: CommitCallback | None = None

    def origin_of(self, tp: TopicPartition) -> RecordOrigin:
        """Return the data that the records of a partition share."""
        return RecordOrigin(
            tp,
            _function_of(self.key_deserializer, tp.topic),
            _function_of(self.value_deserializer, tp.topic),
        )

    def close(self) -> None:
        """Close the deserialisers that can be closed, as kafka-python does."""
        for deserializer in (self.key_deserializer, self.value_deserializer):
            close = getattr(deserializer, "close", None)
            if callable(close):
                close()


def read_objects(given: Mapping[str, object]) -> GivenObjects:
    """Return the objects among the given settings, whose keys have dots.

    Raises:
        ConfigError: an object has the wrong type.
    """
    for key in ("key.deserializer", "value.deserializer"):
        deserializer = given.get(key)
        is_function = callable(deserializer) or callable(_method_of(deserializer))
        if deserializer is not None and not is_function:
            raise _refused(key, deserializer)
    callback = given.get("default.offset.commit.callback")
    if callback is not None and not callable(callback):
        raise _refused("default.offset.commit.callback", callback)
    context = given.get("ssl.context")
    if context is not None and not _is_tls_context(context):
        raise _refused("ssl.context", context)
    provider = given.get("sasl.oauth.token.provider")
    if provider is not None and not callable(getattr(provider, "token", provider)):
        raise _refused("sasl.oauth.token.provider", provider)
    return GivenObjects(
        sasl_oauth_token_provider=provider,
        key_deserializer=given.get("key.deserializer"),
        value_deserializer=given.get("value.deserializer"),
        ssl_context=context,
        default_offset_commit_callback=callback,
    )


def _refused(key: str, value: object) -> IllegalArgumentError:
    name = key.replace(".", "_")
    return IllegalArgumentError(
        f"{name} is {shown(value)}: give {OBJECTS[key].allowed.replace('`', '')}"
    )


def _method_of(deserializer: object) -> Callable[..., Any] | None:
    found: Callable[..., Any] | None = getattr(deserializer, "deserialize", None)
    return found


def _function_of(deserializer: Any, topic: str) -> Deserializer | None:
    """Return the function that records call; see ``records.consumer_record.deserialized``."""
    if deserializer is None:
        return None
    method = _method_of(deserializer)
    if method is None:
        function: Deserializer = deserializer
        return function
    if _takes_headers(method):
        return _WithHeaders(method, topic)
    return lambda data: method(topic, data)


class _WithHeaders:
    """Calls a deserialiser that also takes the record's headers; see ``deserialized``."""

    __slots__ = ("_method", "_topic")
    takes_headers = True

    def __init__(self, method: Callable[..., Any], topic: str) -> None:
        self._method = method
        self._topic = topic

    def __call__(self, headers: object, data: bytes | None) -> object:
        return self._method(self._topic, headers, data)


def _takes_headers(method: Callable[..., Any]) -> bool:
    """Return whether three arguments are required: kafka-python 3 inserted the headers."""
    try:
        parameters = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [
        parameter
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.default is parameter.empty
    ]
    return len(needed) >= 3


def _is_tls_context(given: object) -> "TypeGuard[ssl.SSLContext]":
    import ssl  # noqa: PLC0415 - slow to import, and rarely needed

    return isinstance(given, ssl.SSLContext)
