"""The base classes of all errors, and the classes of brokers' error codes.

Names, bases and attributes are those of kafka-python's ``kafka.errors``: programs that were written
for it catch the same errors here. The codes themselves are in ``zkconsumer.error_codes``.
"""

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, ClassVar, Self, TypeVar

from zkconsumer.error_codes import ErrorCode

E = TypeVar("E", bound="KafkaError")


class KafkaError(RuntimeError):
    """The base of all errors: ``except KafkaError`` catches everything this package raises.

    It is a ``RuntimeError`` as that of kafka-python is up to 2.2. All errors can be pickled.

    Attributes:
        retriable: whether the same call may succeed later.
        invalid_metadata: whether the call needs new metadata to succeed.

    Example:
        >>> consumer.close()
        >>> try:
        ...     records = consumer.poll(timeout_ms=1000)
        ... except KafkaError as error:
        ...     print(type(error).__name__)
        ConsumerClosed
    """

    retriable: ClassVar[bool] = False
    invalid_metadata: ClassVar[bool] = False
    _sentence: str = ""
    """The message, if ``args`` are values instead of a message, as in kafka-python."""
    _recipe: ClassVar["tuple[type[KafkaError], int] | None"] = None
    """How to create a generated class again: from its base class, and an error code."""

    def __str__(self) -> str:
        return self._sentence or super().__str__()

    def __reduce__(self) -> tuple[Callable[..., "KafkaError"], tuple[Any, ...], dict[str, Any]]:
        """Pickle the state: the constructors of most errors take other arguments than ``args``."""
        kind = type(self)
        base, code = kind.__dict__.get("_recipe") or (kind, None)
        return _made_again, (base, code, self.args), self.__dict__


class RetriableError(KafkaError):
    """The same call may succeed later."""

    retriable = True


class InvalidMetadataError(RetriableError):
    """The same call may succeed later, with new metadata."""

    invalid_metadata = True


_BY_CODE: "dict[int, type[BrokerResponseError]]" = {}


class BrokerResponseError(KafkaError):
    """A broker responded with an error code; each code has a class of its own.

    Attributes:
        errno: the number of the code; None in this class itself.
        message: the code's name.
        description: the meaning of the code, in a few words.
    """

    errno: ClassVar[int | None] = None
    message: ClassVar[str | None] = None
    description: ClassVar[str | None] = None

    def __init_subclass__(
        cls, *, code: ErrorCode | None = None, message: str | None = None, **others: object
    ) -> None:
        """Set number, name and description from the table of error codes.

        Args:
            code: the error code of the class; None: it is that of the base.
            message: the code's name in kafka-python, if it differs.
            **others: keyword arguments for other bases.
        """
        super().__init_subclass__(**others)
        if code is not None:
            cls.errno = int(code)
            cls.message = message or code.name
            cls.description = code.text
            cls.__doc__ = cls.__doc__ or f"{cls.message} ({int(code)}): {code.text}."
            _BY_CODE[int(code)] = cls


class AuthorizationError(BrokerResponseError):
    """The brokers deny access."""


_MOST_KEPT = 512
"""The maximum number of generated classes to keep, since peers choose the error codes."""


def for_code(code: int) -> type[BrokerResponseError]:
    """Return the class of an error code; for an unknown code, a subclass of ``UnknownError``.

    Args:
        code: the number in a broker's response.
    """
    return _BY_CODE.get(code) or _later(code)


@lru_cache(_MOST_KEPT)
def _later(code: int) -> type[BrokerResponseError]:
    unknown = _BY_CODE[int(ErrorCode.UNKNOWN)]
    recipe = {"errno": code, "_recipe": (BrokerResponseError, code), "__module__": __name__}
    return type("UnrecognizedBrokerError", (unknown,), recipe)


def with_code(kind: type[E], code: int | None) -> type[E]:
    """Return a subclass of an error class that is also a subclass of an error code's class.

    Args:
        kind: one of our classes.
        code: a broker's error code; None: return ``kind`` itself.
    """
    if code is None or kind.__dict__.get("_recipe") is not None:
        return kind
    base: Any = kind
    join = _joined if code in _BY_CODE else _joined_later
    joined: type[E] = join(base, int(code))
    return joined


@cache
def _joined(kind: type[Any], code: int) -> type[Any]:
    of_code = for_code(code)
    if issubclass(of_code, kind):
        return of_code
    made = {"__module__": kind.__module__, "__doc__": kind.__doc__, "_recipe": (kind, code)}
    return type(of_code.__name__, (kind, of_code), made)


_joined_later = lru_cache(_MOST_KEPT)(_joined.__wrapped__)


class Coded(KafkaError):
    """An error that may have a broker's error code, and then is also an instance of its class.

    Attributes:
        code: the number of the error code; None if no broker sent one.
    """

    code: int | None

    def __new__(cls, *_args: object, code: int | None = None, **_named: object) -> Self:
        """Create an object that is also an instance of the error code's class."""
        return BaseException.__new__(with_code(cls, code))

    def __init__(self, text: str, *, code: int | None = None) -> None:
        # Not by ``super``: the constructor of an error code's class may take other arguments.
        KafkaError.__init__(self, text)
        self.code = code


def _made_again(kind: type[KafkaError], code: int | None, args: tuple[Any, ...]) -> KafkaError:
    """Restore from a pickle, without ``__init__``, whose arguments are not kept."""
    return BaseException.__new__(with_code(kind, code), *args)
