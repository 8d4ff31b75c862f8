"""Serialisers and deserialisers as objects, under the names of kafka-python's ``kafka.serializer``.

Plain functions do as well: a consumer calls only ``deserialize``, a producer only ``serialize``.
"""

import json
from abc import ABC, abstractmethod
from typing import Any

Headers = list[tuple[str, bytes | None]]


class Deserializer(ABC):
    """Base class of objects that decode a key's or value's bytes.

    Thread: the one that reads a record's key or value.
    Source: kafka-python ``kafka.serializer.Deserializer``.

    Example:
        >>> class Hex(Deserializer):
        ...     def deserialize(self, topic, headers, data):
        ...         return None if data is None else data.hex()
        >>> Hex().deserialize("t", [], b"abc")
        '616263'
    """

    @abstractmethod
    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Return the object that the bytes encode.

        Args:
            topic: the topic of the record.
            headers: the headers of the record, names with values.
            data: the bytes; None is null.

        Returns:
            Any object; None for null, as a rule.

        Raises:
            Exception: the bytes can't be decoded; the caller that reads the key or value gets it.
        """

    def close(self) -> None:  # noqa: B027 - nothing to do is the rule
        """Release resources; does nothing by default."""


class Serializer(ABC):
    """Base class of objects that encode a key or a value as bytes.

    Thread: the one that sends.
    Source: kafka-python ``kafka.serializer.Serializer``.

    Example:
        >>> class Utf8(Serializer):
        ...     def serialize(self, topic, headers, data):
        ...         return None if data is None else data.encode()
        >>> Utf8().serialize("t", [], "abc")
        b'abc'
    """

    @abstractmethod
    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Return the bytes that encode an object.

        Args:
            topic: the topic of the record.
            headers: the headers of the record, names with values.
            data: the object to write; None is null.

        Returns:
            Bytes; None for null.

        Raises:
            Exception: the object can't be written; the caller of ``send`` gets it.
        """

    def close(self) -> None:  # noqa: B027 - nothing to do is the rule
        """Release resources; does nothing by default."""


class DefaultSerializer(Serializer, Deserializer):
    """Writes and reads text in an encoding; null stays None.

    Args:
        encoding: a character set that Python knows.

    Thread: any.
    Source: kafka-python ``kafka.serializer.DefaultSerializer``.

    Example:
        >>> DefaultSerializer().deserialize("t", [], b"abc")
        'abc'
    """

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Encode text; return bytes and None unchanged.

        Args:
            topic: the topic of the record.
            headers: the headers of the record, names with values.
            data: the object to write; None is null.

        Returns:
            Bytes; None for null.

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
            topic: the topic of the record.
            headers: the headers of the record, names with values.
            data: the bytes; None is null.

        Returns:
            Text; None for null.

        Raises:
            UnicodeDecodeError: the bytes are not text in this encoding.
        """
        del topic, headers
        return None if data is None else data.decode(self.encoding)


class JsonSerializer(DefaultSerializer):
    """Writes and reads JSON; null stays None.

    Args:
        encoding: a character set that Python knows.

    Thread: any.
    Source: kafka-python ``kafka.serializer.JsonSerializer``.

    Example:
        >>> JsonSerializer().deserialize("t", [], b'{"a": 1}')
        {'a': 1}
    """

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Encode an object as JSON.

        Args:
            topic: the topic of the record.
            headers: the headers of the record, names with values.
            data: the object to write; None is null.

        Returns:
            Bytes; None for null.

        Raises:
            TypeError: JSON has no such value.
        """
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Decode JSON.

        Args:
            topic: the topic of the record.
            headers: the headers of the record, names with values.
            data: the bytes; None is null.

        Returns:
            The object; None for null.

        Raises:
            ValueError: the bytes are not JSON.
        """
        text = super().deserialize(topic, headers, data)
        return None if text is None else json.loads(text)


__all__ = ["DefaultSerializer", "Deserializer", "JsonSerializer", "Serializer"]
