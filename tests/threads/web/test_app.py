"""The response of each address, and who may get it."""

import asyncio
from dataclasses import replace

import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.support.asgi_client import Answered, ManualStates, NoPast, request, scope_of
from tests.support.group_tree import GroupTree
from tests.support.manual_clock import ManualClock
from tests.support.page_world import BILLING, CHECKOUT, NOW_MS, STEPS, snapshot_at
from zkconsumer.errors import RegistryError
from zkconsumer.model import Broker
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, PartFailure
from zkconsumer.web import app as app_module
from zkconsumer.web.api_responses import HOUR_MS, POINTS_MAX
from zkconsumer.web.app import build_app
from zkconsumer.web.events import EventHub
from zkconsumer.web.guarding import Guard
from zkconsumer.web.security import HEADERS, Hosts, Tokens
from zkconsumer.web.site import Site
from zkconsumer.web.znodes import ZnodeView
from zkconsumer.zk.store import ZkStore

TOKEN = "0123456789abcdef-secret"
HTML = {"accept": "text/html,*/*"}
FORM = {"content-type": "application/x-www-form-urlencoded", "origin": "http://localhost:8380"}
PAGES = (
    "/",
    "/topics",
    "/topics/orders",
    "/groups",
    "/groups/zookeeper/billing",
    "/groups/coordinator/checkout",
    "/groups/zookeeper/billing/znodes",
)


class Served:
    """The application, on a cluster that is made up."""

    def __init__(
        self, *, token: str | None = None, snapshot: ClusterSnapshot | None = None
    ) -> None:
        self.clock = ManualClock(wall_ms=NOW_MS)
        self.states = ManualStates(snapshot or snapshot_at(STEPS), ready=snapshot is None)
        self.past = NoPast()
        self.store: ZkStore | None = None
        self.tokens = Tokens(token)
        self.app = build_app(
            Site(
                source=self.states,
                past=self.past,
                store=lambda: self.store,
                tokens=self.tokens,
                hosts=Hosts(any_name=False),
                events=EventHub(self.states),
                clock=self.clock,
            )
        )

    def get(self, address: str, **headers: str) -> Answered:
        """Send a GET request."""
        return request(self.app, address, headers)


@pytest.fixture(scope="module")
def open_site() -> Served:
    """A site that needs no token."""
    return Served()


@pytest.fixture
def locked() -> Served:
    """A site that needs a token."""
    return Served(token=TOKEN)


@pytest.mark.parametrize("address", PAGES)
def test_every_page_is_shown(open_site: Served, address: str) -> None:
    """Each is HTML that no cache may keep."""
    response = open_site.get(address, accept="text/html")
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/html")
    assert response.headers["cache-control"] == "no-store"
    assert "<script>" not in response.text
    assert request(open_site.app, address, HTML, method="HEAD").status == 200


@pytest.mark.parametrize("address", PAGES)
def test_pages_are_shown_before_anything_was_read(address: str) -> None:
    """A page may be missing until the first snapshot; only the health check fails."""
    nothing = ClusterSnapshot(taken_ms=NOW_MS, zookeeper_connect="zk:2181")
    served = Served(snapshot=nothing)
    assert served.get(address, accept="text/html").status in {200, 404}
    assert served.get("/metrics").status == 200
    assert served.get("/healthz").status == 503


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/nothing", 404),
        ("/topics/nothing", 404),
        ("/groups/zookeeper/nothing", 404),
        ("/groups/zookeeper/nothing/znodes", 404),
        ("/groups/other/billing", 404),
        ("/api/groups/other/billing/lag", 404),
        ("/api/groups/zookeeper/billing/lag?since=x", 400),
        ("/api/groups/zookeeper/billing/lag?since=-1", 400),
        ("/api/groups/zookeeper/billing/lag?since=" + "9" * 30, 400),
        ("/api/groups/zookeeper/billing/lag?since=5&until=4", 400),
        ("/api/groups/zookeeper/billing/lag?points=x", 400),
        ("/events?group=other/billing", 400),
        ("/events?group=billing", 400),
        ("/events?group=zookeeper/", 400),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
        ("/static/nothing.js", 404),
    ],
)
def test_what_does_not_exist_is_reported_as_html_or_json(
    open_site: Served, address: str, status: int
) -> None:
    """People get a page, programs get JSON; both have the security headers."""
    for accept in ("text/html", "application/json"):
        response = open_site.get(address, accept=accept)
        assert response.status == status
        assert all(name.decode() in response.headers for name, _ in HEADERS)
    assert "<!doctype" in open_site.get("/nothing", accept="text/html").text.lower()
    assert set(open_site.get("/nothing").json) == {"error"}


def test_a_number_of_points_is_refused_as_a_number(open_site: Served) -> None:
    """It is no time; the instants are."""
    lag = "/api/groups/zookeeper/billing/lag"
    points = open_site.get(f"{lag}?points=many").json
    assert points == {"error": "points must be a number, not 'many'"}
    since = open_site.get(f"{lag}?since=now").json
    assert since == {"error": "since must be a number of ms since the epoch, not 'now'"}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_no_method_changes_anything(open_site: Served, method: str) -> None:
    """Our own pages' requests get 405; those of other sites are refused before that."""
    for address in (*PAGES, "/api/groups", "/metrics", "/events"):
        assert request(open_site.app, address, FORM, method=method).status == 405
        assert request(open_site.app, address, method=method).status == 403
        evil = {"origin": "http://evil.example"}
        assert request(open_site.app, address, evil, method=method).status == 403


def test_an_unknown_host_name_is_refused(open_site: Served) -> None:
    """Otherwise a web site could read the page through a visitor's browser (DNS rebinding)."""
    for host in ("evil.example", "evil.example:8380", ""):
        response = open_site.get("/api/groups", host=host)
        assert response.status == 421
        assert "billing" not in response.text


def test_the_api_summarizes_groups_of_both_kinds(open_site: Served) -> None:
    """Each has its state, members and lag; the cluster's state counts them."""
    reported = {
        (group["kind"], group["group_id"]): group
        for group in open_site.get("/api/groups").json["groups"]
    }
    billing = reported["zookeeper", "billing"]
    assert billing["state"] == "stable"
    assert billing["members"] == 3
    assert billing["lag"] == open_site.states.current.judgements.lag(BILLING).total
    assert ("coordinator", "checkout") in reported
    state = open_site.get("/api/state").json
    assert state["groups"] == len(reported)
    assert state["healthy"] is True


def test_charts_request_a_time_range(open_site: Served) -> None:
    """It defaults to the last hour; group ids may hold slashes; points are limited."""
    open_site.past.requested.clear()
    open_site.get("/api/groups/zookeeper/billing/lag")
    open_site.get("/api/groups/coordinator/a%2Fb%3F/lag?since=5&until=9&points=1000000")
    assert open_site.past.requested == [
        (BILLING, NOW_MS - HOUR_MS, NOW_MS, 300),
        (GroupKey(GroupKind.COORDINATOR, "a/b?"), 5, 9, POINTS_MAX),
    ]
    assert open_site.get("/api/groups/zookeeper/billing/rebalances").json["rebalances"] == []


def test_metrics_have_the_exporters_names(open_site: Served) -> None:
    """Each group's lag has the name and labels of the Kafka exporter."""
    response = open_site.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "kafka_consumergroup_lag{" in response.text
    assert f'consumergroup="{CHECKOUT.group_id}"' in response.text


def test_a_snapshot_that_is_too_old_is_unhealthy(open_site: Served) -> None:
    """Once it is a minute old, the health check fails and says why."""
    assert open_site.get("/healthz").status == 200
    open_site.clock.advance(60_000)
    try:
        response = open_site.get("/healthz")
        assert response.status == 503
        assert "60 s old" in response.json["reason"]
    finally:
        open_site.clock.advance(-60_000)


def test_nodes_are_shown_as_they_are_now(open_site: Served) -> None:
    """They are read on request, of the requested group alone, while ZooKeeper is there."""
    tree = GroupTree()
    tree.join("billing", "billing_h-1400000000000-1a2b3c4d", {"orders": 1})
    address = "/groups/zookeeper/billing/znodes"
    open_site.store = tree.store
    try:
        shown = open_site.get(f"{address}?path=/consumers/billing/ids", accept="text/html")
        assert shown.status == 200
        assert "billing_h-1400000000000-1a2b3c4d" in shown.text
        outside = open_site.get(f"{address}?path=/brokers/ids", accept="text/html")
        assert "not a node of group billing" in outside.text
        gone = open_site.get(f"{address}?path=/consumers/billing/nothing", accept="text/html")
        assert gone.status == 404
    finally:
        open_site.store = None
    assert open_site.get(address, accept="text/html").status == 200


def test_requests_that_wait_for_zookeeper_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a ZooKeeper that hangs would take all threads, and no page would be served."""
    monkeypatch.setattr(app_module, "MAX_ZOOKEEPER_REQUESTS", 1)
    served = Served()
    served.store = GroupTree().store
    address = "/groups/zookeeper/billing/znodes"
    second: list[str] = []

    def slow(*_: object) -> tuple[ZnodeView, ...]:
        second.append(served.get(address, accept="text/html").text)
        return (ZnodeView(path="/consumers/billing", problem="it came late"),)

    monkeypatch.setattr(app_module, "read_nodes", slow)
    for _ in range(2):
        assert "it came late" in served.get(address, accept="text/html").text
    assert ["too many requests for nodes" in name for name in second] == [True, True]


def test_a_request_that_is_cancelled_at_shutdown_gets_503() -> None:
    """The server cancels it; the log must not call that a fault."""

    async def hang(scope: Scope, receive: Receive, send: Send) -> None:
        del scope, receive, send
        await asyncio.Event().wait()

    async def run() -> list[Message]:
        reported: list[Message] = []

        async def send(message: Message) -> None:
            reported.append(message)

        async def receive() -> Message:
            return {"type": "http.request"}

        guard = Guard(hang, Tokens(None), Hosts(any_name=True), ManualClock())
        task = asyncio.ensure_future(guard(scope_of("GET", "/", {}), receive, send))
        await asyncio.sleep(0)
        task.cancel()
        await task
        return reported

    assert asyncio.run(run())[0]["status"] == 503


def test_an_internal_error_is_reported_without_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log has the message; the response has the type alone, and the security headers."""
    served = Served()

    def fail(*_: object) -> None:
        raise LookupError("the inside")

    monkeypatch.setattr(served.past, "lag_series", fail)
    address = "/api/groups/zookeeper/billing/lag"
    for accept in ("text/html", "application/json"):
        response = request(served.app, address, {"accept": accept}, faulty=LookupError)
        assert response.status == 500
        assert "LookupError" in response.text
        assert "inside" not in response.text
        assert all(name.decode() in response.headers for name, _ in HEADERS)
    monkeypatch.setattr(served.past, "lag_series", refuse)
    response = request(served.app, address)
    assert (response.status, response.json) == (503, {"error": "zk1 does not answer"})


def refuse(*_: object) -> None:
    """Fail as ZooKeeper does while it is away."""
    raise RegistryError("zk1 does not answer")


@pytest.mark.parametrize("address", [*PAGES, "/nothing", "/api/groups", "/metrics", "/events"])
def test_without_the_token_nothing_is_shown(locked: Served, address: str) -> None:
    """People are redirected to the login; programs get 401 and the scheme to use."""
    people = locked.get(address, accept="text/html")
    assert people.status == 303
    assert people.headers["location"].startswith("/login?next=%2F")
    program = locked.get(address)
    assert program.status == 401
    assert "Bearer" in program.headers["www-authenticate"]
    for response in (people, program):
        assert "billing" not in response.text
    if address != "/events":
        status = locked.get(address, authorization=f"Bearer {TOKEN}").status
        assert status == (404 if address == "/nothing" else 200)


def test_a_login_sets_a_cookie_and_redirects(locked: Served) -> None:
    """Only this site and no script gets the cookie; a logout deletes it."""
    form = locked.get("/login?next=%2Fgroups", accept="text/html")
    assert form.status == 200
    assert "billing" not in form.text
    body = f"token={TOKEN}&next=%2Fgroups".encode()
    response = request(locked.app, "/login", FORM, method="POST", body=body)
    assert (response.status, response.headers["location"]) == (303, "/groups")
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert TOKEN not in cookie
    pair = cookie.partition(";")[0]
    assert locked.get("/groups", cookie=pair, accept="text/html").status == 200
    out = request(locked.app, "/logout", {**FORM, "cookie": pair}, method="POST")
    assert out.status == 303
    assert "Max-Age=0" in out.headers["set-cookie"]
    assert locked.get("/logout", cookie=pair).status == 405


@pytest.mark.parametrize(
    "body", [b"", b"token=", b"token=wrong", b"\xff\xfe=%ff", b"token=" + b"x" * 9_000]
)
def test_a_wrong_token_is_refused(locked: Served, body: bytes) -> None:
    """The response says so, and sets no cookie."""
    response = request(locked.app, "/login", {**FORM, **HTML}, method="POST", body=body)
    assert response.status == 403
    assert "set-cookie" not in response.headers


def test_a_login_from_another_site_or_too_long_is_refused(locked: Served) -> None:
    """No token is that long; a redirect to another site is replaced by the front page."""
    evil = {**FORM, "origin": "http://evil.example"}
    body = f"token={TOKEN}".encode()
    assert request(locked.app, "/login", evil, method="POST", body=body).status == 403
    assert request(locked.app, "/login", FORM, method="POST", body=b"x" * 20_000).status == 413
    sent = request(locked.app, "/login", FORM, method="POST", body=body + b"&next=//evil")
    assert sent.headers["location"] == "/"


def test_without_the_token_health_is_shown_but_not_the_reason(locked: Served) -> None:
    """A health check needs no token, but a reason names hosts."""
    assert locked.get("/healthz").status == 200
    locked.states.publish(problem="zk1:2181 does not answer")
    assert locked.get("/healthz").status == 503
    assert "zk1" not in locked.get("/healthz").text
    assert "zk1" in locked.get("/healthz", authorization=f"Bearer {TOKEN}").text


def test_files_of_the_page_need_no_token(locked: Served) -> None:
    """The login page is shown with its style; a missing file reveals nothing."""
    response = locked.get("/static/chart.js")
    assert response.status == 200
    assert "javascript" in response.headers["content-type"]
    missing = locked.get("/static/nothing.css", accept="text/html")
    assert missing.status == 404
    assert "zk1" not in missing.text
    assert "zk1" in Served().get("/static/nothing.css", accept="text/html").text


def test_a_name_that_can_not_be_encoded_breaks_no_page() -> None:
    """A lone surrogate, as a broker's JSON may hold it, is escaped; the rest is shown."""
    snapshot = snapshot_at(STEPS)
    [first, *others] = snapshot.brokers
    unsupported = replace(first, broker=Broker(1, "h\ud800", 9092), problem="\ud800 is nowhere")
    failure = PartFailure(part="log ends of broker 1", reason="\ud800 is nowhere", since_ms=NOW_MS)
    served = Served()
    served.states.publish(replace(snapshot, brokers=(unsupported, *others), failures=(failure,)))
    for address in PAGES[:-1]:
        response = served.get(address, accept="text/html")
        assert response.status == 200
        assert "\\ud800 is nowhere" in response.text
    assert served.get("/api/state").json["failures"][0]["reason"] == "\ud800 is nowhere"
    assert served.get("/metrics").status == 200


def test_malformed_requests_get_a_response(locked: Served) -> None:
    """A form of a thousand fields gets 400, a target that is no path gets 404."""
    many = "&".join(f"a{number}=1" for number in range(1_000)).encode()
    assert request(locked.app, "/login", {**HTML, **FORM}, method="POST", body=many).status == 400
    assert Served().get("nothing", accept="text/html").status == 404
