"""The file for undoing a change of offsets: the offsets before, and those written. Pure.

It is written before any offset, so that it exists whatever happens. It is JSON, of version 1 for
one storage of one group, and of version 2 for several.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import Offset, OffsetStorage

FORMAT: Final = "zkconsumer offsets roll-back"
VERSION: Final = 1
VERSION_OF_SEVERAL: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBack:
    """The content of a roll-back file for one storage of one group.

    Attributes:
        group_id: the group.
        target: the storage that was written to.
        zookeeper: the cluster's ``zookeeper.connect``; "" if it was accessed through brokers alone.
        made_ms: when it was created, in milliseconds since the epoch.
        written: each partition's offset before, and the one to be written.
    """

    group_id: str
    target: OffsetStorage
    zookeeper: str
    made_ms: int
    written: Mapping[TopicPartition, tuple[Offset, Offset]]


def encode_roll_backs(parts: Sequence[RollBack]) -> str:
    """Return the text of a file for one or more roll-backs of the same cluster and time.

    A partition has a line of its own.
    """
    first, is_one = parts[0], len(parts) == 1
    head = {
        "format": FORMAT,
        "version": VERSION if is_one else VERSION_OF_SEVERAL,
        **({"group": first.group_id, "target": first.target.value} if is_one else {}),
        "zookeeper": first.zookeeper,
        "made_ms": first.made_ms,
    }
    start = json.dumps(head, indent=1).removesuffix("\n}")
    if is_one:
        return f'{start},\n "partitions": {_entries(first, " ")}\n}}\n'
    reported = [
        f'{{"group": {json.dumps(part.group_id)}, "target": {json.dumps(part.target.value)}, '
        f'"partitions": {_entries(part, "  ")}}}'
        for part in parts
    ]
    return f'{start},\n "parts": [\n  {f",{chr(10)}  ".join(reported)}\n ]\n}}\n'


def decode_roll_back(text: str, name: str) -> RollBack:
    """Read a file with one roll-back.

    Raises:
        ConfigError: as ``decode_roll_backs``, or the file has several.
    """
    parts = decode_roll_backs(text, name)
    if len(parts) != 1:
        raise ConfigError(
            f"{name} is of several places or groups: 'zkconsumer offsets set --roll-back' undoes it"
        )
    return parts[0]


def decode_roll_backs(text: str, name: str) -> tuple[RollBack, ...]:
    """Read a roll-back file.

    Raises:
        ConfigError: it is not a roll-back file, has a later version, or is damaged.
    """
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name} is no roll-back file: {error}") from error
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise ConfigError(f"{name} is no roll-back file: its format is not {FORMAT!r}")
    version = parsed.get("version")
    if version not in (VERSION, VERSION_OF_SEVERAL):
        raise ConfigError(
            f"{name} has version {version!r}, and this program reads up to {VERSION_OF_SEVERAL}: "
            "take the program that wrote it, or a later one"
        )
    try:
        parts = [parsed] if version == VERSION else parsed["parts"]
        return tuple(
            RollBack(
                group_id=_text(part["group"]),
                target=OffsetStorage(part["target"]),
                zookeeper=_text(parsed["zookeeper"]),
                made_ms=_whole(parsed["made_ms"]),
                written=dict(map(_entry, part["partitions"])),
            )
            for part in parts
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{name} is damaged: {error!r}") from error


def _entries(roll_back: RollBack, indent: str) -> str:
    """Return the partitions, one per line."""
    lines = [
        json.dumps(
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "before": _encoded(before),
                "after": _encoded(after),
            }
        )
        for tp, (before, after) in sorted(roll_back.written.items())
    ]
    between = f",\n{indent} "
    return f"[\n{indent} {between.join(lines)}\n{indent}]"


def _encoded(offset: Offset) -> dict[str, object] | None:
    return None if offset is None else {"offset": offset.offset, "metadata": offset.metadata}


def _entry(entry: dict[str, object]) -> tuple[TopicPartition, tuple[Offset, Offset]]:
    tp = TopicPartition(_text(entry["topic"]), _whole(entry["partition"]))
    return tp, (_decoded(entry["before"]), _decoded(entry["after"]))


def _decoded(value: object) -> Offset:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is no offset")
    return OffsetAndMetadata(_whole(value["offset"]), _text(value["metadata"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{value!r} is no number of 0 or more")
    return value
