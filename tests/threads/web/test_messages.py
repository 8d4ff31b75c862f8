"""Messages on the page: who may see them, which are read, and how they are shown."""

import json
import logging
import threading
from dataclasses import replace

import pytest

from tests.support.asgi_client import Answered, ManualStates, NoPast, request
from tests.support.manual_clock import ManualClock
from tests.support.page_world import NOW_MS, STEPS, snapshot_at
from tests.support.waiting import wait_until
from zkconsumer.browse.decoding import BytesDecoder
from zkconsumer.browse.message import BrowseResult, SeenMessage
from zkconsumer.browse.query import MessageQuery
from zkconsumer.errors import TransportError
from zkconsumer.scope import ThreadScope
from zkconsumer.web.app import build_app, build_clusters_app
from zkconsumer.web.events import EventHub
from zkconsumer.web.security import Hosts, Tokens
from zkconsumer.web.site import Site

TOKEN = "0123456789abcdef-secret"
SECRET = "4111-1111"
HOSTILE = f"</code><script>alert('{SECRET}')</script>".encode()
PATH = "/topics/orders/messages"


def message(offset: int, value: bytes, timestamp: int = NOW_MS) -> SeenMessage:
    """A message with one header."""
    decode = BytesDecoder().decode
    return SeenMessage(
        topic="orders",
        partition=1,
        offset=offset,
        timestamp=timestamp,
        raw_key=None,
        raw_value=value,
        key=decode(None),
        value=decode(value),
        headers=(("<b>", decode(b"\x1b[31m")),),
    )


class MessagesPage:
    """An application that may show messages."""

    def __init__(self, token: str | None = TOKEN, *, shown: bool = True) -> None:
        self.queries: list[MessageQuery] = []
        self.result = BrowseResult(messages=(message(7, HOSTILE),), scanned=9, notes=("a note",))
        self.blocking = threading.Event()
        self.blocking.set()
        states = ManualStates(snapshot_at(STEPS), ready=True)
        self.site = Site(
            source=states,
            past=NoPast(),
            store=lambda: None,
            tokens=Tokens(token),
            hosts=Hosts(any_name=False),
            events=EventHub(states),
            clock=ManualClock(wall_ms=NOW_MS),
            messages=self.read if shown else None,
        )
        self.app = build_app(self.site)

    def read(self, query: MessageQuery) -> BrowseResult:
        """Record the query and return the prepared result; partition 2 has no broker."""
        self.queries.append(query)
        self.blocking.wait(10)
        if query.partition == 2:
            raise TransportError("no broker answers")
        return self.result

    def get(self, address: str, token: str = TOKEN) -> Answered:
        """Send a GET request as a browser does."""
        return request(
            self.app, address, {"accept": "text/html", "authorization": f"Bearer {token}"}
        )


def test_hostile_bytes_are_harmless(caplog: pytest.LogCaptureFixture) -> None:
    """They are escaped; the audit log names the reader and the query, but no contents."""
    served = MessagesPage()
    with caplog.at_level(logging.INFO, "zkconsumer.web.audit"):
        page = served.get(f"{PATH}?filter={SECRET}&partition=1")
    assert page.status == 200
    assert "<script>alert" not in page.text
    assert "&lt;script&gt;alert(&#39;4111-1111&#39;)" in page.text
    assert "&lt;b&gt;" in page.text
    assert "1b 5b 33 31 6d" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    link = f'href="{PATH}?partition=1&amp;start=offset&amp;at=7&amp;n=1'
    assert f'{link}"' in page.text
    assert f'{link}&amp;as=text"' in served.get(f"{PATH}?as=text").text
    assert 'value="text" selected' in served.get(f"{PATH}?as=text").text
    assert "a note" in page.text
    [line] = [record.getMessage() for record in caplog.records]
    assert line == (
        "messages were read by 127.0.0.1: orders-1: the last ones, at most 50, filtered"
    )


def test_the_audit_log_names_the_cluster_if_there_are_several(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Several clusters may have topics of the same name."""
    app = build_clusters_app({"plant": MessagesPage().site, "shop": MessagesPage().site})
    headers = {"accept": "text/html", "authorization": f"Bearer {TOKEN}"}
    with caplog.at_level(logging.INFO, "zkconsumer.web.audit"):
        assert request(app, f"/clusters/shop{PATH}", headers).status == 200
    assert [record.getMessage() for record in caplog.records] == [
        "messages of cluster shop were read by 127.0.0.1: orders: the last ones, at most 50"
    ]


@pytest.mark.parametrize("address", [PATH, f"{PATH}.ndjson"])
def test_no_messages_are_shown_without_a_token(address: str) -> None:
    """Nor are they if the option is off, or on a site that needs no token."""
    served = MessagesPage()
    assert served.get(address, token="another-wrong-token").status != 200
    assert served.queries == []
    assert MessagesPage(shown=False).get(address).status == 404
    bare = MessagesPage(token=None)
    assert bare.get(address).status == 404
    assert "/messages" not in bare.get("/topics/orders").text
    assert f'href="{PATH}"' in served.get("/topics/orders").text


def test_the_address_is_parsed_into_a_query() -> None:
    """Offsets, UTC times and limited counts are understood; an invalid value is named."""
    served = MessagesPage()
    served.get(f"{PATH}?start=offset&at=5&n=1&partition=3")
    served.get(f"{PATH}?start=time&at=2026-11-20T09:41&n=9999999")
    served.get(PATH)
    served.get(f"{PATH}?as=hex")
    offset, time, last, in_hex = served.queries
    assert (last.form, in_hex.form) == ("auto", "hex")
    assert (offset.start, offset.at, offset.limit, offset.partition) == ("offset", 5, 1, 3)
    assert (time.start, time.at, time.limit, time.partition) == ("time", NOW_MS, 200, None)
    assert (last.start, last.limit, last.passes) == ("last", 50, None)
    for query, problem in (
        ("start=offset&at=x", "is not an offset"),
        ("start=time&at=x", "is not a time"),
        ("start=time&at=99999w+ago", "before 1970"),
        ("start=time&at=1969-12-31T23:59:59.999", "before 1970"),
        ("filter=.a+%3F", "is not a path"),
        ("partition=99", "has no partition 99"),
        ("partition=2", "no broker answers"),
    ):
        page = served.get(f"{PATH}?{query}")
        assert page.status == 200
        assert problem in page.text
    assert served.get("/topics/nothing/messages").status == 404
    assert served.get("/topics/nothing/messages.ndjson").status == 404
    assert served.get(f"{PATH}.ndjson?start=offset&at=x").status == 400


def test_a_time_may_be_relative() -> None:
    """A time such as "15m ago" works on the page and in the download."""
    served = MessagesPage()
    for path in (PATH, f"{PATH}.ndjson"):
        assert served.get(f"{path}?start=time&at=15m+ago").status == 200
    assert [(query.start, query.at) for query in served.queries] == [
        ("time", NOW_MS - 15 * 60_000)
    ] * 2


def test_a_timestamp_outside_the_calendar_is_shown_as_none() -> None:
    """A record's timestamp is whatever its producer wrote."""
    served = MessagesPage()
    served.result = BrowseResult(messages=(message(1, b"x", 2**62), message(2, b"y", -1)))
    page = served.get(PATH)
    assert page.status == 200
    assert "no timestamp" in page.text


def test_download() -> None:
    """The download is a file of JSON lines."""
    served = MessagesPage()
    response = served.get(f"{PATH}.ndjson?n=5000&filter=x")
    assert response.headers["content-type"] == "application/x-ndjson"
    assert "attachment" in response.headers["content-disposition"]
    [line] = response.text.splitlines()
    fields = json.loads(line)
    assert (fields["offset"], fields["value"]) == (7, HOSTILE.decode())
    assert served.queries[0].limit == 5_000
    assert response.headers["zkconsumer-notes"] == "a note"


def test_a_download_has_its_notes_in_a_header() -> None:
    """No text of a note can break the header or add another one."""
    served = MessagesPage()
    served.result = BrowseResult(notes=("t-0: \r\nX: caf\u00e9", "n" * 9_000))
    response = served.get(f"{PATH}.ndjson")
    assert response.status == 200
    assert len(response.headers["zkconsumer-notes"]) == 1_000
    assert "x" not in response.headers
    served.result = BrowseResult()
    assert "zkconsumer-notes" not in served.get(f"{PATH}.ndjson").headers


def test_the_page_links_to_the_download_however_its_address_is_encoded() -> None:
    """Browsers and people percent-encode more than they must."""
    page = MessagesPage().get("/topics/%6frders/messages?n=20&filter=x&follow=1")
    assert f'href="{PATH}.ndjson?filter=x&amp;n=5000">Download up to 5,000 as' in page.text
    alone = MessagesPage().get(f"{PATH}?partition=1&start=offset&at=7&n=1")
    assert '.ndjson?partition=1&amp;start=offset&amp;at=7&amp;n=1">Download it' in alone.text


def test_many_headers_with_long_names_are_cut() -> None:
    """A record can hold hundreds of thousands of headers."""
    decode = BytesDecoder().decode
    served = MessagesPage()
    many = replace(message(1, b"x"), headers=((f"name{'n' * 10_000}", decode(None)),) * 5_000)
    served.result = BrowseResult(messages=(many,))
    page = served.get(PATH)
    assert len(page.text) < 50_000
    assert "and 4,980 more headers" in page.text


def test_a_live_page_follows_the_last_messages() -> None:
    """It is updated after each read of the cluster; a page of an offset or a time never is."""
    served = MessagesPage()
    assert "data-events" in served.get(f"{PATH}?follow=1").text
    assert "data-events" not in served.get(PATH).text
    for start in ("offset&at=5", "time&at=2026-11-20"):
        still = served.get(f"{PATH}?start={start}&follow=1").text
        assert "data-events" not in still
        assert "this page does not update itself" in still
    assert "this page does not update itself" not in served.get(f"{PATH}?start=offset&at=5").text
    assert "data-events" not in served.get(f"{PATH}?follow=1&start=offset&at=0").text


def test_concurrent_reads_of_messages_are_limited() -> None:
    """Requests that wait for a broker must not use up all threads."""
    served = MessagesPage()
    served.blocking.clear()

    def get_page() -> None:
        served.get(PATH)

    scope = ThreadScope("looks")
    for name in "ab":
        scope.spawn(name, get_page, stop=served.blocking.set)
    try:
        wait_until(lambda: len(served.queries) == 2, what="both to read")
        busy = served.get(PATH)
        assert busy.status == 503
        assert busy.headers["retry-after"] == "2"
    finally:
        assert not scope.close(5_000)
