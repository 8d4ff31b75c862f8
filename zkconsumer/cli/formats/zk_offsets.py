"""The file of ``kafka.tools.ExportZkOffsets`` and ``ImportZkOffsets`` of Kafka 0.8.2.2.

A line a node: its path, a colon, and what it holds.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.zk.nodes import Malformed, parse_offset
from zkconsumer.zk.paths import GroupPaths, is_segment, is_topic_name

_LINE_END = re.compile(r"\r\n|\r|\n")
_NODE = re.compile(r"/consumers/([^/]+)/offsets/([^/]+)/([0-9]{1,10})")
_MAX_PARTITION = 2**31 - 1


ParsedLine: TypeAlias = tuple[str, TopicPartition, int] | str
"""Group, partition and offset; or why the line is invalid."""


class OffsetNode(NamedTuple):
    """A node of the file: its path, and the text that it holds."""

    path: str
    text: str


class InvalidOffset(NamedTuple):
    """A line that can't be imported: its number from 1 on, and why."""

    number: int
    reason: str


class Imported(NamedTuple):
    """What a file asks for: offsets by group, and the lines that are invalid."""

    offsets: Mapping[str, Mapping[TopicPartition, int]]
    bad: tuple[InvalidOffset, ...]


def export_text(nodes: Iterable[OffsetNode]) -> str:
    """Return the text of the file, in the given order; the original has the order of ZooKeeper."""
    return "".join(f"{path}:{text}\n" for path, text in nodes)


def offset_node(group_id: str, tp: TopicPartition, offset: int) -> OffsetNode:
    """Return one entry of the file.

    Raises:
        ConfigError: the group id can't be part of a path.
    """
    return OffsetNode(GroupPaths(group_id).offset(tp), str(offset))


def read_as_original(text: str, name: str) -> dict[str, str]:
    """Return what the original writes to ZooKeeper for such a file: any text to any path.

    It stops at the first empty line, cuts a line off at its second colon, and of lines with the
    same path takes the last.

    Raises:
        ConfigError: a line has no colon, or nothing after it, on which the original dies.
    """
    nodes: dict[str, str] = {}
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if not line:
            break
        fields = _java_fields(line)
        if len(fields) < 2:
            raise ConfigError(f"{name}:{number}: {line!r} is no path, colon and value")
        nodes[fields[0]] = fields[1]
    return nodes


def _java_fields(line: str) -> list[str]:
    """Split as Java's ``split`` does: empty fields at the end are dropped."""
    fields = line.split(":")
    while fields and not fields[-1]:
        fields.pop()
    return fields


def parse_export(text: str) -> Imported:
    """Read such a file with care: nothing but offsets of partitions counts.

    Empty lines are ignored, blanks around a line, too. That a partition comes twice is no error
    as long as it says the same.
    """
    return collected(
        (number, _parse_line(line.strip()))
        for number, line in enumerate(_LINE_END.split(text), start=1)
        if line.strip()
    )


def collected(lines: Iterable[tuple[int, ParsedLine]]) -> Imported:
    """Return what the lines of a file say, each with its number; a contradiction is invalid."""
    offsets: dict[str, dict[TopicPartition, int]] = {}
    bad = []
    for number, found in lines:
        if isinstance(found, str):
            bad.append(InvalidOffset(number, found))
            continue
        group_id, tp, offset = found
        before = offsets.setdefault(group_id, {}).setdefault(tp, offset)
        if before != offset:
            bad.append(InvalidOffset(number, f"{tp} of group {group_id} was {before} further up"))
    return Imported(offsets, tuple(bad))


def _parse_line(line: str) -> ParsedLine:
    path, colon, value = line.rpartition(":")
    node = _NODE.fullmatch(path)
    if not colon or node is None:
        return f"{line!r} is not /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET"
    group_id, topic, partition = node[1], node[2], int(node[3])
    if not is_segment(group_id) or not is_topic_name(topic) or partition > _MAX_PARTITION:
        return f"{path!r} is no path of a group's offset"
    offset = parse_offset(value.encode())
    if isinstance(offset, Malformed):
        return offset.reason
    if offset < 0:
        return f"{offset} is no offset"
    return group_id, TopicPartition(topic, partition), offset
