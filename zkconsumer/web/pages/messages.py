"""The page of a topic's messages. Pure."""

from collections.abc import Mapping
from typing import Final

from zkconsumer.browse.decoding import FORMS, Form
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
    is_last_first = query.get("start", "last") == "last"
    follows = wants_following and is_last_first
    alone = query.get("n") == "1"
    address = f"{page_request.root}{topic_address(topic.name)}/messages"
    form = "" if _form(query) == "auto" else f"&as={_form(query)}"

    def address_of(message: SeenMessage) -> str:
        place = f"partition={message.partition}&start=offset&at={message.offset}&n=1"
        return f"{address}?{place}{form}"

    at = page_request.at(follow=None, n=1 if alone else DOWNLOADED)
    return View(
        template="messages.html",
        title=f"Messages of {topic.name}",
        context={
            "topic": topic,
            "shown": result.messages[::-1] if is_last_first else result.messages,
            "most": _ALONE_CHARS if alone else _SHOWN_CHARS,
            "most_headers": _ALONE_HEADERS if alone else _SHOWN_HEADERS,
            "most_of_name": _NAME_CHARS,
            "address_of": address_of,
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
