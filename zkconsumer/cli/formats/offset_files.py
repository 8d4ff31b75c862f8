"""Parses and formats offset files: the original's, and those of ``kafka-consumer-groups``."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Final

from zkconsumer.cli.formats.zk_offsets import (
    Offsets,
    ParsedLine,
    collected,
    parse_export,
)
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.topic_name import is_topic_name
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import parse_offset

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
"""A cell that a spreadsheet treats as a formula, with any leading apostrophes."""

_LISTED: Final = 5
"""The maximum number of bad lines that are listed; further ones are counted."""


def csv_text(offsets: Offsets) -> str:
    """Return the CSV of ``kafka-consumer-groups --reset-offsets --export`` for one or more groups.

    Each line is ``topic,partition,offset``, after the group if there are several.

    Source: Kafka 2.8 ``ConsumerGroupCommand``, which also quotes names that its reader accepts
        without quotes; here only ids with commas, quotes or line ends, which coordinators allow,
        are quoted. A name that a spreadsheet would treat as a formula gets a leading apostrophe,
        which ``parse_offset_file`` removes; numbers stay numbers.
    """
    several = len(offsets) != 1
    return "".join(
        _line(*([_text_cell(group_id)] if several else ()), _text_cell(tp.topic), *places)
        for group_id, of_group in sorted(offsets.items())
        for tp, offset in sorted(of_group.items())
        for places in [(tp.partition, offset)]
    )


def _line(*cells: str | int) -> str:
    r"""Return a line of CSV; ``csv`` quotes ``\r`` and ``\n`` only if its terminator has both."""
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().removesuffix("\r\n") + "\n"


def parse_offset_file(text: str, name: str, group_id: str | None = None) -> Offsets:
    """Return the offsets of a file of either kind; the first line shows which.

    Args:
        text: the content of the file.
        name: the name of the file, for messages.
        group_id: the group of lines without a group id.

    Raises:
        ConfigError: the file is empty, or a line is invalid.
    """
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise ConfigError(f"{name} is empty")
    of_nodes = text.lstrip().startswith("/")
    found = parse_export(text) if of_nodes else collected(_parsed_rows(text, group_id))
    if found.bad:
        more = f"; and {len(found.bad) - _LISTED} more" if len(found.bad) > _LISTED else ""
        raise ConfigError(f"{name} is invalid: {'; '.join(found.bad[:_LISTED])}{more}")
    return found.offsets


def offsets_of_group(
    groups: Offsets, name: str, group_id: str, *, rename: bool = False
) -> Mapping[TopicPartition, int]:
    """Return the offsets of one group in a file, or (``rename``) of the only group in it.

    Args:
        groups: the offsets in the file.
        name: the name of the file, for messages.
        group_id: the group to set.
        rename: whether to return the offsets of the only group in the file, whatever its id.

    Raises:
        ConfigError: the file lacks the group, or has several groups with ``rename``.
    """
    if rename and len(groups) == 1:
        return next(iter(groups.values()))
    if group_id in groups:
        return groups[group_id]
    raise ConfigError(
        f"{name} has no offsets of group {group_id}, but of {', '.join(sorted(groups))}"
    )


def _parsed_rows(text: str, group_id: str | None) -> Iterator[tuple[int, ParsedLine]]:
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if any(cells):
                yield reader.line_num, _parse_row(cells, group_id)
    except csv.Error as error:
        yield reader.line_num, str(error)


def _text_cell(name: str) -> str:
    """Return a name as a cell that every spreadsheet treats as text."""
    return f"'{name}" if _FORMULA.match(name) else name


def _name_in(cell: str) -> str:
    """Return the name in a cell that ``_text_cell`` returned."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _parse_row(cells: list[str], group_id: str | None) -> ParsedLine:
    if len(cells) == 3 and group_id is not None:
        cells = [group_id, *cells]
    if len(cells) != 4:
        return f"{','.join(cells)!r} is not GROUP,TOPIC,PARTITION,OFFSET"
    whose, topic, partition, value = *map(_name_in, cells[:2]), *cells[2:]
    number = parse_offset(partition.encode())
    offset = parse_offset(value.encode())
    if isinstance(number, Malformed) or not 0 <= number < 2**31 or not is_topic_name(topic):
        return f"{topic!r}, {partition!r} is not a partition"
    if isinstance(offset, Malformed):
        return offset.reason
    if offset < 0:
        return f"{offset} is not an offset"
    return whose, TopicPartition(topic, number), offset
