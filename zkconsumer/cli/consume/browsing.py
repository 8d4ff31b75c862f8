"""``consume --tail`` and ``--from-time``: a look at messages, without a group."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from zkconsumer.browse.filters import parse_filters
from zkconsumer.browse.instants import parse_instant
from zkconsumer.browse.message import BrowseResult, SeenMessage, ndjson_line
from zkconsumer.browse.query import BrowseLimits, MessageQuery
from zkconsumer.cli.browsing import Looks
from zkconsumer.cli.cluster_arguments import DEFAULT_TIMEOUT_MS
from zkconsumer.cli.consume.format import TextFormat
from zkconsumer.cli.output import Output, OutputClosed, discard_standard_output, note
from zkconsumer.cli.tables import instant, table
from zkconsumer.errors import ConfigError
from zkconsumer.printable import printable

_LIMIT: Final = 1_000
_LIMITS: Final = BrowseLimits(max_bytes=1 << 30, max_ms=60_000)
_LEAST_VALUE: Final = 12
_KEY_MOST: Final = 24


def is_look(args: argparse.Namespace) -> bool:
    """Return whether messages are only looked at."""
    return args.tail is not None or args.from_time is not None


def look(args: argparse.Namespace) -> int:
    """Print messages; return the exit status, 1 if not all were read.

    Raises:
        ConfigError: the options contradict each other.
        ZkConsumerError: no broker responds.
    """
    query = look_query(args)
    result = Looks(_cluster_arguments(args), limits=_LIMITS)(query)
    output = Output()
    try:
        output.write(_printed(args, result))
    except OutputClosed:
        discard_standard_output()
    finally:
        output.close()
    for text in result.notes:
        note(text)
    found = f"{len(result.messages)} messages of {result.scanned} that were looked at"
    print(found, file=sys.stderr)
    if result.notes:
        note("not all was read that was asked for")
        return 1
    return 0


def look_query(args: argparse.Namespace) -> MessageQuery:
    """Return what the options ask for.

    Raises:
        ConfigError: they contradict each other.
    """
    if args.topic is None:
        raise ConfigError("--tail and --from-time look at one topic: name it with --topic")
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
        at=parse_instant(args.from_time),
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


def _printed(args: argparse.Namespace, result: BrowseResult) -> bytes:
    if args.output == "json":
        return b"".join(map(ndjson_line, result.messages))
    if args.output == "table" or (args.output is None and sys.stdout.isatty()):
        columns = shutil.get_terminal_size().columns
        return table_of(result.messages, columns).encode(errors="replace")
    formatter = TextFormat.from_properties(dict(args.property))
    if args.show_as == "auto":
        return b"".join(map(formatter, result.messages))
    return b"".join(formatter(_as_shown(message)) for message in result.messages)


def _as_shown(message: SeenMessage) -> SeenMessage:
    """Return a message whose bytes are those of the text that it is shown as."""
    return replace(
        message, raw_key=message.key.text.encode(), raw_value=message.value.text.encode()
    )


def table_of(messages: Sequence[SeenMessage], width: int) -> str:
    """Return messages as a table that fits a terminal of ``width`` columns."""
    fixed = [
        (
            (instant(message.timestamp) if message.timestamp >= 0 else None) or "-",
            f"{message.partition}",
            f"{message.offset}",
            _cut(printable(message.key.text), _KEY_MOST),
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
