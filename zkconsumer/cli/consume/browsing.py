"""Implements ``consume --tail`` and ``--from-time``, which browse messages without a group."""

import argparse
import logging
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Final

from zkconsumer.browse.decoding import DecodedBytes
from zkconsumer.browse.filters import parse_filters
from zkconsumer.browse.instants import parse_instant
from zkconsumer.browse.message import BrowseResult, SeenMessage, ndjson_line
from zkconsumer.browse.query import BrowseLimits, MessageQuery
from zkconsumer.cli.browsing import CommandBrowser
from zkconsumer.cli.cluster_arguments import DEFAULT_TIMEOUT_MS
from zkconsumer.cli.consume.format import TextFormat
from zkconsumer.cli.live import pause
from zkconsumer.cli.output import Output, OutputClosed, discard_standard_output, note
from zkconsumer.cli.pipes import stop_ourselves, watching_reader
from zkconsumer.cli.signals import StopRequested, stop_signals
from zkconsumer.cli.tables import instant, table
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConfigError
from zkconsumer.printable import printable
from zkconsumer.status.doctor.diagnosis import counted

log = logging.getLogger(__name__)

_LIMIT: Final = 1_000
_LIMITS: Final = BrowseLimits(max_bytes=1 << 30, max_ms=60_000)
_LEAST_VALUE: Final = 12
_KEY_MOST: Final = 24
_OFFSET_WIDTH: Final = 8
_PAUSE_MS: Final = 500
"""The pause between two queries of ``--follow``."""


def is_browsing(args: argparse.Namespace) -> bool:
    """Return whether messages are browsed, without joining a group."""
    return args.tail is not None or args.from_time is not None or args.follow


def browse(args: argparse.Namespace) -> int:
    """Print messages; return the exit status, 1 if not all were read.

    Raises:
        ConfigError: the options contradict each other.
        ZkConsumerError: no broker responds.
    """
    query = browse_query(args)
    if args.timeout_ms is not None and args.timeout_ms < 0:
        args.timeout_ms = None  # no limit, as in a group
    if args.follow:
        return _follow(args, query)
    result = CommandBrowser(_cluster_arguments(args), limits=_LIMITS)(query)
    messages = result.messages[: args.max_messages]
    output = Output()
    try:
        output.write(_printed(args, messages))
    except OutputClosed:
        discard_standard_output()
    finally:
        output.close()
    for text in result.notes:
        note(text)
    found = f"{len(messages)} of {counted(result.scanned, 'message')} read"
    print(found, file=sys.stderr)
    if result.notes:
        note("not everything requested was read")
        return 1
    return 0


def _follow(args: argparse.Namespace, query: MessageQuery) -> int:
    """Print messages as they come, until stopped; return 0.

    Raises:
        ZkConsumerError: the first query failed.
    """
    arguments = _cluster_arguments(argparse.Namespace(**{**vars(args), "timeout_ms": None}))
    browser = CommandBrowser(arguments)
    output = Output()
    following = Following(args, output)
    try:
        with (
            stop_signals() as stop,
            watching_reader(output.descriptor, stop_ourselves),
            closing(browser.follow(query)) as results,
        ):
            stop.pending = following.pending
            for result in results:
                if not following.show(result):
                    break
                pause(_PAUSE_MS)
    except StopRequested:
        log.debug("stopped by a signal")
    except OutputClosed:
        discard_standard_output()
    finally:
        output.close()
    print(f"{following.count} of {following.scanned} messages read", file=sys.stderr)
    return 0


class Following:
    """Prints the results of successive queries. Thread: one.

    Args:
        args: the arguments of the command.
        output: the output to print to.

    Attributes:
        count: the number of printed messages.
        scanned: the number of messages that were read.
    """

    def __init__(self, args: argparse.Namespace, output: Output) -> None:
        self._args = args
        self._output = output
        self._clock = SystemClock()
        self._last_ms = self._clock.now_ms()
        self._notes: tuple[str, ...] = ()
        self._head = b""
        self._writing: int | None = None
        self.count = 0
        self.scanned = 0

    def pending(self) -> object:
        """Return the number of the first message being written; None if nothing is."""
        return self._writing

    def show(self, result: BrowseResult) -> bool:
        """Print a query's result; return whether another query is wanted.

        Raises:
            OutputClosed: the reader of our output has gone.
        """
        most = self._args.max_messages
        left = len(result.messages) if most is None else most - self.count
        messages = result.messages[:left]
        if messages:
            self._write(_printed(self._args, messages))
            self._last_ms = self._clock.now_ms()
        self.count += len(messages)
        self.scanned += result.scanned
        for text in result.notes:
            if text not in self._notes:  # a lasting problem is reported once
                note(text)
        self._notes = result.notes
        idle_ms, limit_ms = self._clock.now_ms() - self._last_ms, self._args.timeout_ms
        return (most is None or self.count < most) and (limit_ms is None or idle_ms < limit_ms)

    def _write(self, data: bytes) -> None:
        """Write; omit the titles of a table if they are the same as those of the last table."""
        if _is_table(self._args):
            head, end, rows = data.partition(b"\n")
            data = rows if head == self._head else head + end + rows
            self._head = head
        self._writing = self.count
        self._output.write(data)
        self._writing = None


def browse_query(args: argparse.Namespace) -> MessageQuery:
    """Return the query that the options describe.

    Raises:
        ConfigError: the options contradict each other.
    """
    if args.follow and args.tail is None:
        raise ConfigError("--follow shows the messages after the last ones: it needs --tail")
    if args.topic is None:
        raise ConfigError("--tail and --from-time read one topic: name it with --topic")
    given = [
        name
        for name in ("group", "from_beginning", "delete_consumer_offsets")
        if getattr(args, name)
    ]
    if given:
        raise ConfigError(
            f"--tail and --from-time join no group: leave out --{given[0].replace('_', '-')}"
        )
    passes = parse_filters(args.filter)
    if args.tail is not None:
        return MessageQuery(topic=args.topic, limit=args.tail, passes=passes, form=args.show_as)
    return MessageQuery(
        topic=args.topic,
        start="time",
        at=parse_instant(args.from_time, SystemClock().wall_ms()),
        limit=_LIMIT if args.max_messages is None else max(1, args.max_messages),
        passes=passes,
        form=args.show_as,
    )


def _cluster_arguments(args: argparse.Namespace) -> argparse.Namespace:
    renamed = {
        "bootstrap_servers": args.bootstrap_server,
        "command_config": args.consumer_config,
        "timeout_ms": args.timeout_ms or DEFAULT_TIMEOUT_MS,
    }
    return argparse.Namespace(**{**vars(args), **renamed})


def _is_table(args: argparse.Namespace) -> bool:
    return args.output == "table" or (args.output is None and sys.stdout.isatty())


def _printed(args: argparse.Namespace, messages: Sequence[SeenMessage]) -> bytes:
    if args.output == "json":
        return b"".join(map(ndjson_line, messages))
    if _is_table(args):
        columns = shutil.get_terminal_size().columns
        return table_of(messages, columns, is_steady=args.follow).encode(errors="replace")
    formatter = TextFormat.from_properties(dict(args.property))
    if args.show_as == "auto":
        return b"".join(map(formatter, messages))
    return b"".join(formatter(_as_shown(message)) for message in messages)


def _as_shown(message: SeenMessage) -> SeenMessage:
    """Return a message whose bytes are those of its displayed text."""
    return replace(
        message,
        raw_key=_whole(message.raw_key, message.key),
        raw_value=_whole(message.raw_value, message.value),
    )


def _whole(data: bytes | None, shown: DecodedBytes) -> bytes:
    return (shown.text if data is None or shown.kind != "hex" else data.hex(" ")).encode()


def table_of(messages: Sequence[SeenMessage], width: int, *, is_steady: bool = False) -> str:
    """Return messages as a table that fits a terminal of ``width`` columns.

    Args:
        messages: the rows.
        width: the width of the terminal.
        is_steady: whether column widths are fixed, so that the tables of several queries align.
    """
    offset_width, key_width = (_OFFSET_WIDTH, _KEY_MOST) if is_steady else (0, 0)
    fixed = [
        (
            (instant(message.timestamp) if message.timestamp >= 0 else None) or "-",
            f"{message.partition}",
            f"{message.offset:{offset_width}}" if is_steady else f"{message.offset}",
            _cut(printable(message.key.text), _KEY_MOST).ljust(key_width),
        )
        for message in messages
    ]
    heads = ("TIME", "PARTITION", "OFFSET", "KEY")
    taken = sum(
        max([len(head), *(len(cells[place]) for cells in fixed)]) + 2
        for place, head in enumerate(heads)
    )
    left = max(_LEAST_VALUE, width - taken)
    rows = [
        (*cells, _cut(printable(message.value.text), left))
        for cells, message in zip(fixed, messages, strict=True)
    ]
    return table(("TIME", ">PARTITION", ">OFFSET", "KEY", "VALUE"), rows)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
