"""The file of ``kafka.tools.ExportZkOffsets`` and ``ImportZkOffsets`` of Kafka 0.8.2.2.

Each line is a node: its path, a colon, and its content.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.topic_name import is_topic_name
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import parse_offset
from zkconsumer.zk.paths import GroupPaths, is_segment

_LINE_END = re.compile(r"\r\n|\r|\n")
_NODE = re.compile(r"/consumers/([^/]+)/offsets/([^/]+)/([0-9]{1,10})")
_MAX_PARTITION = 2**31 - 1


ParsedLine: TypeAlias = tuple[str, TopicPartition, int] | str
"""The group, partition and offset of a line; or why the line is invalid."""


Offsets: TypeAlias = Mapping[str, Mapping[TopicPartition, int]]
"""The offsets of a file, by group."""


class Imported(NamedTuple):
    """The content of a file: offsets by group, and why lines are invalid."""

    offsets: Offsets
    bad: list[str]


def export_text(offsets: Offsets) -> str:
    """Return the text of the file for one or more groups; the original uses ZooKeeper's order.

    Raises:
        ConfigError: a group id can't be part of a path.
    """
    return "".join(
        f"{GroupPaths(group_id).offset(tp)}:{offset}\n"
        for group_id, of_group in sorted(offsets.items())
        for tp, offset in sorted(of_group.items())
    )


def read_as_original(text: str, name: str) -> dict[str, str]:
    """Return what the original writes to ZooKeeper for such a file: any text to any path.

    The original stops at the first empty line, ignores the rest of a line after its second colon,
    and uses the last of several lines with the same path.

    Raises:
        ConfigError: a line has no colon, or nothing after it, at which the original fails.
    """
    nodes: dict[str, str] = {}
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if not line:
            break
        fields = _java_fields(line)
        if len(fields) < 2:
            raise ConfigError(f"{name}:{number}: {line!r} is not a path, a colon and a value")
        nodes[fields[0]] = fields[1]
    return nodes


def _java_fields(line: str) -> list[str]:
    """Split as Java's ``split`` does, dropping empty fields at the end."""
    fields = line.split(":")
    while fields and not fields[-1]:
        fields.pop()
    return fields


def parse_export(text: str) -> Imported:
    """Parse such a file; accept only nodes of partitions' offsets.

    Empty lines and blanks around a line are ignored. A partition may be repeated with the same
    offset.
    """
    return collected(
        (number, _parse_line(line.strip()))
        for number, line in enumerate(_LINE_END.split(text), start=1)
        if line.strip()
    )


def collected(lines: Iterable[tuple[int, ParsedLine]]) -> Imported:
    """Collect the numbered lines of a file; a line that contradicts an earlier one is invalid."""
    offsets: dict[str, dict[TopicPartition, int]] = {}
    bad = []
    for number, found in lines:
        if isinstance(found, str):
            bad.append(f"line {number}: {found}")
            continue
        group_id, tp, offset = found
        before = offsets.setdefault(group_id, {}).setdefault(tp, offset)
        if before != offset:
            bad.append(f"line {number}: {tp} of group {group_id} is {before} in an earlier line")
    return Imported(offsets, bad)


def _parse_line(line: str) -> ParsedLine:
    path, colon, value = line.rpartition(":")
    node = _NODE.fullmatch(path)
    if not colon or node is None:
        return f"{line!r} is not /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET"
    group_id, topic, partition = node[1], node[2], int(node[3])
    if not is_segment(group_id) or not is_topic_name(topic) or partition > _MAX_PARTITION:
        return f"{path!r} is not the path of a group's offset"
    offset = parse_offset(value.encode())
    if isinstance(offset, Malformed):
        return offset.reason
    if offset < 0:
        return f"{offset} is not an offset"
    return group_id, TopicPartition(topic, partition), offset
