"""The names of ``kafka.serializer`` of kafka-python that read: deserialisers as objects.

A function of bytes does as well; what a consumer calls is ``deserialize`` alone. Serialisers are a
producer's, so they have the same names here only where one class is both there.
"""

import json
from abc import ABC, abstractmethod
from typing import Any

Headers = list[tuple[str, bytes | None]]


class Deserializer(ABC):
    """What makes keys or values of bytes, with the topic and the headers at hand.

    Example:
        >>> class Hex(Deserializer):
        ...     def deserialize(self, topic, headers, data):
        ...         return None if data is None else data.hex()
        >>> Hex().deserialize("t", [], b"abc")
        '616263'
    """

    @abstractmethod
    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Make it.

        Args:
            topic: where the record is from.
            headers: the record's.
            data: None is null.
        """

    def close(self) -> None:  # noqa: B027 - nothing to do is the rule
        """Do nothing: it holds no resources."""


class Serializer(ABC):
    """The other way round, for producers.

    Example:
        >>> class Utf8(Serializer):
        ...     def serialize(self, topic, headers, data):
        ...         return None if data is None else data.encode()
        >>> Utf8().serialize("t", [], "abc")
        b'abc'
    """

    @abstractmethod
    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Make bytes.

        Args:
            topic: where the record goes.
            headers: the record's.
            data: what to write; None is null.

        Returns:
            Bytes; None for null.
        """

    def close(self) -> None:  # noqa: B027 - nothing to do is the rule
        """Do nothing: it holds no resources."""


class DefaultSerializer(Serializer, Deserializer):
    """Text in an encoding; null stays None.

    Args:
        encoding: of the bytes.

    Example:
        >>> DefaultSerializer().deserialize("t", [], b"abc")
        'abc'
    """

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Encode text; bytes and None go through.

        Args:
            topic: where the record goes.
            headers: the record's.
            data: what to write; None is null.

        Raises:
            UnicodeEncodeError: the encoding has no such character.
        """
        del topic, headers
        if data is None or isinstance(data, bytes | bytearray | memoryview):
            return data  # type: ignore[return-value]
        made: bytes = data.encode(self.encoding)
        return made

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Decode bytes.

        Args:
            topic: where the record is from.
            headers: the record's.
            data: None is null.

        Returns:
            Text; None for null.

        Raises:
            UnicodeDecodeError: the bytes are not text in this encoding.
        """
        del topic, headers
        return None if data is None else data.decode(self.encoding)


class JsonSerializer(DefaultSerializer):
    """Values of JSON; null stays None.

    Example:
        >>> JsonSerializer().deserialize("t", [], b'{"a": 1}')
        {'a': 1}
    """

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Write JSON.

        Args:
            topic: where the record goes.
            headers: the record's.
            data: what to write; None is null.

        Raises:
            TypeError: JSON has no such value.
        """
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Read JSON.

        Args:
            topic: where the record is from.
            headers: the record's.
            data: None is null.

        Returns:
            What the JSON stands for; None for null.

        Raises:
            ValueError: the bytes are no JSON.
        """
        text = super().deserialize(topic, headers, data)
        return None if text is None else json.loads(text)


__all__ = ["DefaultSerializer", "Deserializer", "JsonSerializer", "Serializer"]
