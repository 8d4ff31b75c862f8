"""Reads a drain's JSON files, and reports errors with file and field. Pure."""

import json
from collections.abc import Mapping

from zkconsumer.errors import ConfigError, DrainError
from zkconsumer.model import OffsetRange, TopicPartition, numbers_by_topic
from zkconsumer.spark.offset_json import from_json, to_json

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

VERSION = 1
"""The version of all files of a drain; others are refused."""


class Fields:
    """Reads an object of a JSON file field by field.

    Every method raises ``DrainError``, naming file and field, if a field is missing or of another
    type.
    """

    def __init__(self, file: str, value: JsonValue, path: str = "") -> None:
        if not isinstance(value, dict):
            raise damaged(file, f"{path or 'its content'} is not an object")
        self.file = file
        self._values = value
        self._path = path

    @classmethod
    def parse(cls, file: str, data: bytes) -> "Fields":
        """Parse a whole file, whose version must be the supported one."""
        try:
            value: JsonValue = json.loads(data)
        except ValueError as error:
            raise damaged(file, f"it is not JSON ({error})") from error
        fields = cls(file, value)
        version = fields.integer("version")
        if version != VERSION:
            raise DrainError(
                f"{file} is of version {version}, and this zkconsumer knows version {VERSION}: "
                "go on with the zkconsumer that wrote it, or a newer one"
            )
        return fields

    def integer(self, name: str) -> int:
        """Return an integer; a boolean is refused."""
        value = self._value(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._wrong(name, value, "a whole number")
        return value

    def optional_integer(self, name: str) -> int | None:
        """Return an integer, or None for null."""
        return None if self._value(name) is None else self.integer(name)

    def text(self, name: str) -> str:
        """Return a string."""
        value = self._value(name)
        if not isinstance(value, str):
            raise self._wrong(name, value, "a text")
        return value

    def optional_text(self, name: str) -> str | None:
        """Return a string, or None for null."""
        return None if self._value(name) is None else self.text(name)

    def mapping(self, name: str) -> dict[str, JsonValue]:
        """Return an object, as parsed."""
        value = self._value(name)
        if not isinstance(value, dict):
            raise self._wrong(name, value, "an object")
        return value

    def texts(self, name: str) -> dict[str, str]:
        """Return strings by name; empty if missing, as in files of earlier releases."""
        found = self.mapping(name) if name in self._values else {}
        for key, value in found.items():
            if not isinstance(value, str):
                raise self._wrong(f"{name}.{key}", value, "a text")
        return {key: str(value) for key, value in found.items()}

    def items(self, name: str) -> list["Fields"]:
        """Return a list of objects."""
        value = self._value(name)
        if not isinstance(value, list):
            raise self._wrong(name, value, "a list")
        return [
            Fields(self.file, item, f"{self._path}{name}[{number}].")
            for number, item in enumerate(value)
        ]

    def added_items(self, name: str) -> list["Fields"]:
        """Return a list of objects; empty if missing, as in files of earlier releases."""
        return self.items(name) if name in self._values else []

    def added_integer(self, name: str) -> int:
        """Return an integer; 0 if missing, as in files of earlier releases."""
        return self.integer(name) if name in self._values else 0

    def added_text(self, name: str) -> str | None:
        """Return a string or None; None if missing, as in files of earlier releases."""
        return self.optional_text(name) if name in self._values else None

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a list of integers."""
        value = self._value(name)
        if not isinstance(value, list):
            raise self._wrong(name, value, "a list")
        numbers = [item for item in value if isinstance(item, int) and not isinstance(item, bool)]
        if len(numbers) != len(value):
            raise self._wrong(name, value, "a list of whole numbers")
        return tuple(numbers)

    def offsets(self, name: str) -> dict[TopicPartition, int]:
        """Return offsets by topic and partition: ``{"weblog": {"0": 12}}``."""
        try:
            return from_json(self.mapping(name), what=f"its field {self._path}{name}")
        except ConfigError as error:
            raise damaged(self.file, str(error)) from error

    def topic_partition(self) -> TopicPartition:
        """Return the topic-partition in the fields ``topic`` and ``partition``."""
        return TopicPartition(self.text("topic"), self.integer("partition"))

    def range(self) -> OffsetRange:
        """Return the range in ``topic``, ``partition``, ``from`` and ``until``."""
        wanted = self.topic_partition()
        begin, end = self.integer("from"), self.integer("until")
        try:
            return OffsetRange(wanted, begin, end)
        except ValueError as error:
            raise damaged(self.file, f"{self._path.rstrip('.') or 'it'}: {error}") from error

    def _value(self, name: str) -> JsonValue:
        try:
            return self._values[name]
        except KeyError:
            raise damaged(self.file, f"it has no field {self._path}{name}") from None

    def _wrong(self, name: str, value: JsonValue, wanted: str) -> DrainError:
        return damaged(self.file, f"its field {self._path}{name} is {value!r}, not {wanted}")


def damaged(file: str, what: str) -> DrainError:
    """Return the error for a damaged file."""
    return DrainError(
        f"{file} is damaged: {what}. Restore it from a backup; without it nobody knows what was "
        "landed, so nothing was changed"
    )


def to_bytes(fields: Mapping[str, JsonValue]) -> bytes:
    """Serialize a file: the version, then the fields in order, as indented JSON."""
    return (json.dumps({"version": VERSION, **fields}, indent=1) + "\n").encode()


def offsets_value(offsets: Mapping[TopicPartition, int]) -> dict[str, JsonValue]:
    """Return the JSON that ``Fields.offsets`` reads, sorted."""
    return {topic: {**partitions} for topic, partitions in to_json(offsets).items()}


def range_options(ranges: Mapping[TopicPartition, tuple[int, int]]) -> dict[str, str]:
    """Return the options with which a Spark source reads exactly these ranges, without their ends.

    A range is the first offset of a partition to read, and the offset after the last one.
    """
    return {
        "assign": json.dumps(numbers_by_topic(sorted(ranges))),
        "startingOffsets": json.dumps(to_json({tp: run[0] for tp, run in ranges.items()})),
        "endingOffsets": json.dumps(to_json({tp: run[1] for tp, run in ranges.items()})),
    }


def range_value(offsets: OffsetRange) -> dict[str, JsonValue]:
    """Return the JSON that ``Fields.range`` reads."""
    topic, partition = offsets.topic_partition
    return {
        "topic": topic,
        "partition": partition,
        "from": offsets.from_offset,
        "until": offsets.until_offset,
    }
