"""The page of a topic's messages. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.browse.decoding import FORMS, DecodedBytes, Form
from zkconsumer.browse.filters import parse_filters
from zkconsumer.browse.instants import parse_instant
from zkconsumer.browse.message import BrowseResult, SeenMessage
from zkconsumer.browse.query import MessageQuery
from zkconsumer.digits import is_decimal
from zkconsumer.errors import ConfigError
from zkconsumer.status.model import TopicStatus
from zkconsumer.web.pages.table import number_in
from zkconsumer.web.pages.view import PageRequest, View, topic_address

LIMIT: Final = 50
LIMITS: Final = (20, 50, 200)
DOWNLOADED: Final = 5_000
_SHOWN_CHARS: Final = 2_000
_ALONE_CHARS: Final = 200_000
_NAME_CHARS: Final = 200
_SHOWN_HEADERS: Final = 20
_ALONE_HEADERS: Final = 1_000
_OFFSET_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownText:
    """A key, a value or a header as the page shows it.

    Attributes:
        kind: as in ``DecodedBytes``.
        text: its beginning.
        more: how many characters were left out.
        note: as in ``DecodedBytes``.
    """

    kind: str
    text: str
    more: int
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """A message as the page shows it.

    Attributes:
        message: as it was read.
        key: its key.
        value: its value.
        headers: its first headers.
        more_headers: how many were left out.
        address: the URL of this message alone.
    """

    message: SeenMessage
    key: ShownText
    value: ShownText
    headers: tuple[tuple[str, ShownText], ...]
    more_headers: int
    address: str


def query_of(
    topic: str, query: Mapping[str, str], now_ms: int, *, limit_max: int = LIMITS[-1]
) -> MessageQuery:
    """Return the query that a page's parameters describe.

    Args:
        topic: the topic.
        query: ``partition``, ``start`` (last, offset, time), ``at``, ``n``, ``filter``, ``as``
            (auto, text, hex).
        now_ms: the current time.
        limit_max: the maximum number of messages.

    Raises:
        ConfigError: an offset, a time or the filter is malformed.
    """
    start, at = query.get("start", "last"), query.get("at", "").strip()
    partition = query.get("partition", "")
    common = {
        "topic": topic,
        "partition": number_in(query, "partition", 0) if partition.strip() else None,
        "limit": min(max(1, number_in(query, "n", LIMIT)), limit_max),
        "passes": parse_filters([query.get("filter", "")]),
        "form": _form(query),
    }
    if start == "offset":
        if not (is_decimal(at, 19) and int(at) <= _OFFSET_MAX):
            raise ConfigError(f"{at!r} is not an offset")
        return MessageQuery(**common, start="offset", at=int(at))  # type: ignore[arg-type]
    if start == "time":
        return MessageQuery(**common, start="time", at=parse_instant(at, now_ms))  # type: ignore[arg-type]
    return MessageQuery(**common)  # type: ignore[arg-type]


def _form(query: Mapping[str, str]) -> Form:
    return next((form for form in FORMS if form == query.get("as")), "auto")


def messages_page(
    page_request: PageRequest,
    topic: TopicStatus,
    result: BrowseResult,
    problem: str | None = None,
) -> View:
    """Return the page of a topic's messages.

    Args:
        page_request: with the parameters of ``query_of``, and ``follow=1`` for a live page.
        topic: the topic.
        result: the messages that were found.
        problem: why nothing could be read; None if it could.
    """
    query = page_request.query
    wants_following = query.get("follow") == "1"
    follows = wants_following and query.get("start", "last") == "last"
    alone = query.get("n") == "1"
    most = (_ALONE_CHARS, _ALONE_HEADERS) if alone else (_SHOWN_CHARS, _SHOWN_HEADERS)
    address = f"{page_request.root}{topic_address(topic.name)}/messages"
    form = "" if _form(query) == "auto" else f"&as={_form(query)}"
    found = [_shown(message, address, form, *most) for message in result.messages]
    if query.get("start", "last") == "last":
        found.reverse()
    at = page_request.at(follow=None, n=1 if alone else DOWNLOADED)
    return View(
        template="messages.html",
        title=f"Messages of {topic.name}",
        context={
            "topic": topic,
            "shown": found,
            "result": result,
            "problem": problem,
            "follows": follows,
            "stands_still": wants_following and not follows,
            "download_most": 1 if alone else DOWNLOADED,
            "limits": LIMITS,
            "download": f"{address}.ndjson{at.removeprefix(page_request.path)}",
            "partitions": [tp.topic_partition.partition for tp in topic.partitions],
        },
        live=follows,
    )


def _shown(
    message: SeenMessage, address: str, form: str, most: int, most_headers: int
) -> ShownMessage:
    place = f"partition={message.partition}&start=offset&at={message.offset}&n=1"
    return ShownMessage(
        message=message,
        key=_text(message.key, most),
        value=_text(message.value, most),
        headers=tuple(
            (name[:_NAME_CHARS], _text(value, most))
            for name, value in message.headers[:most_headers]
        ),
        more_headers=max(0, len(message.headers) - most_headers),
        address=f"{address}?{place}{form}",
    )


def _text(decoded: DecodedBytes, most: int) -> ShownText:
    return ShownText(
        kind=decoded.kind,
        text=decoded.text[:most],
        more=max(0, len(decoded.text) - most),
        note=decoded.note,
    )
