"""The names of ``kafka.serializer`` of kafka-python that read: deserialisers as objects.

A function of bytes does as well; what a consumer calls is ``deserialize`` alone. Serialisers are a
producer's, so they have the same names here only where one class is both there.
"""

import json
from abc import ABC, abstractmethod
from typing import Any

Headers = list[tuple[str, bytes | None]]


class Deserializer(ABC):
    """What makes keys or values of bytes, with the topic and the headers at hand."""

    @abstractmethod
    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Make it.

        Args:
            topic: where the record is from.
            headers: the record's.
            data: None is null.
        """

    def close(self) -> None:  # noqa: B027 - nothing to do is the rule
        """Called when the consumer is closed."""


class Serializer(ABC):
    """The other way round, for producers."""

    @abstractmethod
    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Make bytes; arguments as of ``Deserializer.deserialize``."""

    def close(self) -> None:  # noqa: B027 - nothing to do is the rule
        """Called when the producer is closed."""


class DefaultSerializer(Serializer, Deserializer):
    """Text in an encoding; null stays None.

    Args:
        encoding: of the bytes.
    """

    def __init__(self, encoding: str = "utf-8") -> None:
        self.encoding = encoding

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Encode text; bytes and None go through."""
        del topic, headers
        if data is None or isinstance(data, bytes | bytearray | memoryview):
            return data  # type: ignore[return-value]
        made: bytes = data.encode(self.encoding)
        return made

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Decode bytes."""
        del topic, headers
        return None if data is None else data.decode(self.encoding)

    def close(self) -> None:
        """Nothing is held."""


class JsonSerializer(DefaultSerializer):
    """Values of JSON; null stays None."""

    def serialize(self, topic: str, headers: Headers, data: Any) -> bytes | None:
        """Write JSON."""
        return None if data is None else super().serialize(topic, headers, json.dumps(data))

    def deserialize(self, topic: str, headers: Headers, data: bytes | None) -> Any:
        """Read JSON."""
        text = super().deserialize(topic, headers, data)
        return None if text is None else json.loads(text)


__all__ = ["DefaultSerializer", "Deserializer", "JsonSerializer", "Serializer"]
