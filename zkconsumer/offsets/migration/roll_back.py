"""The file that undoes a migration: what the target held before, and what was to be written. Pure.

It is written before anything else is, so that it is there whatever happens. JSON, with a version.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import Offset, Place, Plan

FORMAT: Final = "zkconsumer offsets roll-back"
VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBack:
    """All that is needed to go back.

    Attributes:
        group_id: the group.
        target: where the migration wrote.
        zookeeper: the cluster, as ``zookeeper.connect`` names it.
        made_ms: when, in milliseconds since the epoch.
        written: what each partition held before, and what was to be written.
    """

    group_id: str
    target: Place
    zookeeper: str
    made_ms: int
    written: Mapping[TopicPartition, tuple[Offset, Offset]]

    @classmethod
    def of(
        cls, plan: Plan, *, group_id: str, target: Place, zookeeper: str, made_ms: int
    ) -> "RollBack":
        """What undoes this plan."""
        return cls(
            group_id=group_id,
            target=target,
            zookeeper=zookeeper,
            made_ms=made_ms,
            written={tp: (one.before, one.wanted) for tp, one in plan.writes.items()},
        )


def encode_roll_back(roll_back: RollBack) -> str:
    """The text of the file, one partition a line."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "group": roll_back.group_id,
        "target": roll_back.target.value,
        "zookeeper": roll_back.zookeeper,
        "made_ms": roll_back.made_ms,
    }
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
    start = json.dumps(head, indent=1).removesuffix("\n}")
    entries = ",\n  ".join(lines)
    return f'{start},\n "partitions": [\n  {entries}\n ]\n}}\n'


def decode_roll_back(text: str, name: str) -> RollBack:
    """Read the file.

    Args:
        text: what it holds.
        name: its name, for messages.

    Raises:
        ConfigError: it is no such file, or one of a later version.
    """
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name} is no roll-back file: {error}") from error
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise ConfigError(f"{name} is no roll-back file: its format is not {FORMAT!r}")
    version = parsed.get("version")
    if version != VERSION:
        raise ConfigError(
            f"{name} has version {version!r}, and this program reads {VERSION}: take the program "
            "that wrote it, or a later one"
        )
    try:
        return RollBack(
            group_id=_text(parsed["group"]),
            target=Place(parsed["target"]),
            zookeeper=_text(parsed["zookeeper"]),
            made_ms=_whole(parsed["made_ms"]),
            written=dict(map(_entry, parsed["partitions"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{name} is damaged: {error!r}") from error


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
