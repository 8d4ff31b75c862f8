"""The web application: addresses, and what answers them.

Pages are functions of ``zkconsumer.web.pages``; here they get the latest state, the past and the
request, and become HTML. What takes time runs on threads of a pool, so that events go on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import RegistryError
from zkconsumer.metrics.cluster import ClusterMeasures, cluster_families
from zkconsumer.metrics.prometheus import CONTENT_TYPE, exposition
from zkconsumer.status.model import GroupKey, GroupKind
from zkconsumer.web import api
from zkconsumer.web.events import EventHub
from zkconsumer.web.files import PageFiles
from zkconsumer.web.guarding import Guard
from zkconsumer.web.health import health_of
from zkconsumer.web.pages.cluster import cluster_page
from zkconsumer.web.pages.group import group_page
from zkconsumer.web.pages.groups import TREND_POINTS, groups_page
from zkconsumer.web.pages.plain import login_page, sorry_page
from zkconsumer.web.pages.topic import topic_page
from zkconsumer.web.pages.topics import topics_page
from zkconsumer.web.pages.view import Asked, View
from zkconsumer.web.pages.znodes import znodes_page
from zkconsumer.web.rendering import render
from zkconsumer.web.security import SESSION_MS, Hosts, Tokens, safe_onward
from zkconsumer.web.state import ClusterState, Past, StateSource
from zkconsumer.web.znodes import ZnodeView, look_at
from zkconsumer.zk.paths import GroupPaths
from zkconsumer.zk.store import ZkStore

HOUR_MS: Final = 3_600_000
POINTS: Final = 300
POINTS_MAX: Final = 2_000
PAST_REBALANCES_MS: Final = 7 * 24 * HOUR_MS
_FORM_MAX: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What the application shows, and to whom.

    Attributes:
        source: of states.
        past: what was.
        store: ZooKeeper, for the view of its nodes; None while it is not connected to.
        tokens: who may see it.
        hosts: under which names.
        events: who listens.
        clock: for ages.
    """

    source: StateSource
    past: Past
    store: Callable[[], ZkStore | None]
    tokens: Tokens
    hosts: Hosts
    events: EventHub
    clock: Clock = field(default_factory=SystemClock)


def build_app(site: Site) -> ASGIApp:
    """The application, guarded."""
    answers = _Answers(site)
    app = Starlette(
        routes=[
            Route("/", answers.page(lambda asked, state, _: cluster_page(state, asked))),
            Route("/topics", answers.page(lambda asked, state, _: topics_page(state, asked))),
            Route("/topics/{name}", answers.page(_topic)),
            Route("/groups", answers.page(answers.all_groups)),
            Route("/groups/zookeeper/{id}/znodes", answers.page(answers.znodes)),
            Route("/groups/{kind}/{id:path}", answers.page(answers.group)),
            Route("/api/state", answers.state),
            Route("/api/groups", answers.groups),
            Route("/api/groups/{kind}/{id:path}/lag", answers.lag),
            Route("/api/groups/{kind}/{id:path}/rebalances", answers.rebalances),
            Route("/events", _Events(site)),
            Route("/metrics", answers.metrics),
            Route("/healthz", answers.healthz),
            Route("/login", answers.login, methods=["GET", "POST"]),
            Route("/logout", answers.logout, methods=["POST"]),
            Mount("/static", PageFiles()),
        ],
        exception_handlers={HTTPException: answers.refused, Exception: answers.broken},
    )
    return Guard(app, site.tokens, site.hosts, site.clock)


def _topic(asked: Asked, state: ClusterState, request: Request) -> View:
    return topic_page(state, asked, request.path_params["name"])


class _Answers:
    """What answers each address."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def page(
        self, make: Callable[[Asked, ClusterState, Request], View]
    ) -> Callable[[Request], Response]:
        """An endpoint that shows a page; it runs on a thread of the pool."""

        def answer(request: Request) -> Response:
            asked, state = self._asked(request), self._site.source.current
            return _html(make(asked, state, request), asked, state)

        return answer

    def all_groups(self, asked: Asked, state: ClusterState, request: Request) -> View:
        """The list of groups, with how each got on in the last hour."""
        del request

        def trends(keys: Sequence[GroupKey]) -> Mapping[GroupKey, tuple[int | None, ...]]:
            since_ms = asked.now_ms - HOUR_MS
            return self._site.past.trends(keys, since_ms, asked.now_ms, TREND_POINTS)

        return groups_page(state, asked, trends)

    def group(self, asked: Asked, state: ClusterState, request: Request) -> View:
        """The page of a group."""
        key = _key_of(request)
        past = self._site.past.rebalances(key, asked.now_ms - PAST_REBALANCES_MS)
        return group_page(state, asked, key, past)

    def znodes(self, asked: Asked, state: ClusterState, request: Request) -> View:
        """The nodes of a ZooKeeper group."""
        group_id = request.path_params["id"]
        key = GroupKey(GroupKind.ZOOKEEPER, group_id)
        if state.group(key) is None:
            return sorry_page(404, f"There is no ZooKeeper group {group_id}.")
        path = asked.query.get("path") or GroupPaths(group_id).root
        store = self._site.store()
        if store is None:
            nodes: tuple[ZnodeView, ...] = (
                ZnodeView(path=path, problem=state.problem or "ZooKeeper does not answer"),
            )
        else:
            nodes = look_at(store, group_id, path)
        return znodes_page(asked, key, nodes)

    def state(self, request: Request) -> Response:
        """``/api/state``."""
        del request
        now_ms = self._site.clock.wall_ms()
        return JSONResponse(api.state_json(self._site.source.current, now_ms))

    def groups(self, request: Request) -> Response:
        """``/api/groups``."""
        del request
        return JSONResponse(api.groups_json(self._site.source.current))

    def lag(self, request: Request) -> Response:
        """``/api/groups/{kind}/{id}/lag?since=&until=&points=``."""
        key, now_ms = _key_of(request), self._site.clock.wall_ms()
        until_ms = _number(request, "until", now_ms)
        since_ms = _number(request, "since", until_ms - HOUR_MS)
        points = min(max(2, _number(request, "points", POINTS)), POINTS_MAX)
        if since_ms > until_ms:
            raise HTTPException(400, "since is after until")
        series = self._site.past.lag_series(key, since_ms, until_ms, points)
        return JSONResponse(api.lag_json(key, since_ms, until_ms, series))

    def rebalances(self, request: Request) -> Response:
        """``/api/groups/{kind}/{id}/rebalances?since=``."""
        key, now_ms = _key_of(request), self._site.clock.wall_ms()
        since_ms = _number(request, "since", now_ms - PAST_REBALANCES_MS)
        return JSONResponse(api.rebalances_json(key, self._site.past.rebalances(key, since_ms)))

    def metrics(self, request: Request) -> Response:
        """``/metrics``, for Prometheus."""
        del request
        state = self._site.source.current
        measures = ClusterMeasures(
            snapshot=state.snapshot if state.ready else None,
            lag=state.lag,
            verdict=state.verdict,
            now_ms=self._site.clock.wall_ms(),
            problem=state.problem,
            read_ms=state.read_duration_ms if state.ready else None,
        )
        return Response(
            exposition(cluster_families(measures)), headers={"Content-Type": CONTENT_TYPE}
        )

    def healthz(self, request: Request) -> Response:
        """``/healthz``: 200 where what is shown is young, else 503; the reason to who may know."""
        now_ms = self._site.clock.wall_ms()
        health = health_of(self._site.source.current, now_ms)
        told = {"healthy": health.well, "age_ms": health.age_ms, "reason": health.reason}
        if health.well or self._site.tokens.admits(dict(request.headers), now_ms):
            return JSONResponse(told, 200 if health.well else 503)
        return JSONResponse({**told, "reason": "not told without the token"}, 503)

    async def login(self, request: Request) -> Response:
        """The form that asks for the token, and what it sends."""
        asked = self._asked(request)
        onward = safe_onward(request.query_params.get("next", "/"))
        tokens = self._site.tokens
        if not tokens.wanted:
            return RedirectResponse("/", 303)
        if request.method != "POST":
            return await run_in_threadpool(_html, login_page(onward=onward), asked, None)
        form = await _form(request)
        onward = safe_onward(form.get("next", onward))
        if not tokens.accepts(form.get("token", "").strip()):
            view = login_page(refused="That is not the token.", onward=onward)
            return await run_in_threadpool(_html, view, asked, None)
        response = RedirectResponse(onward, 303)
        response.set_cookie(
            tokens.cookie_name,
            tokens.cookie(asked.now_ms),
            max_age=SESSION_MS // 1000,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    async def logout(self, request: Request) -> Response:
        """Forget the login."""
        del request
        response = RedirectResponse("/login", 303)
        response.delete_cookie(self._site.tokens.cookie_name, httponly=True, samesite="strict")
        return response

    async def refused(self, request: Request, error: Exception) -> Response:
        """What can't be answered, told to people as a page, to programs as JSON."""
        status, said = 500, str(error)
        headers: Mapping[str, str] | None = None
        if isinstance(error, HTTPException):
            status, said, headers = error.status_code, error.detail, error.headers
        if said == HTTPStatus(status).phrase and status == 404:
            said = "There is nothing at this address."
        return await self._sorry(request, status, said, headers)

    async def broken(self, request: Request, error: Exception) -> Response:
        """A fault of ours; the log has it all."""
        if isinstance(error, RegistryError):
            return await self._sorry(request, 503, str(error), None)
        said = f"Something went wrong here: {type(error).__name__}. The server's log says more."
        return await self._sorry(request, 500, said, None)

    async def _sorry(
        self, request: Request, status: int, said: str, headers: Mapping[str, str] | None
    ) -> Response:
        if "text/html" not in request.headers.get("accept", ""):
            return JSONResponse({"error": said}, status, headers=dict(headers or {}))
        asked, state = self._asked(request), self._site.source.current
        admitted = self._site.tokens.admits(dict(request.headers), asked.now_ms)
        response = await run_in_threadpool(
            _html, sorry_page(status, said), asked, state if admitted else None
        )
        response.headers.update(headers or {})
        return response

    def _asked(self, request: Request) -> Asked:
        raw: bytes = request.scope.get("raw_path", request.scope["path"].encode())
        return Asked(
            path=raw.decode("latin-1"),
            query=dict(request.query_params.multi_items()),
            now_ms=self._site.clock.wall_ms(),
            token_in_use=bool(request.scope.get("signed_in")),
        )


class _Events:
    """``/events?group=<kind>/<id>``; ``Last-Event-ID`` says what the client has seen."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method != "GET":
            await PlainTextResponse("GET only\n", 405)(scope, receive, send)
            return
        kind, _, group_id = request.query_params.get("group", "").partition("/")
        key = GroupKey(GroupKind(kind), group_id) if kind in set(GroupKind) else None
        seen = request.headers.get("last-event-id", request.query_params.get("seen", ""))
        last_seen = int(seen) if seen.isascii() and seen.isdigit() and len(seen) < 16 else None
        if not await self._site.events.serve(key, last_seen, receive, send):
            full = PlainTextResponse("Too many listen already.\n", 503, {"Retry-After": "10"})
            await full(scope, receive, send)


def _html(view: View, asked: Asked, state: ClusterState | None) -> Response:
    return HTMLResponse(render(view, asked, state), view.status)


def _key_of(request: Request) -> GroupKey:
    try:
        return GroupKey(GroupKind(request.path_params["kind"]), request.path_params["id"])
    except ValueError:
        raise HTTPException(404, "Groups are of the kinds zookeeper and coordinator.") from None


def _number(request: Request, name: str, usual: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return usual
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise HTTPException(400, f"{name} is to be a number (of ms since the epoch), not {text!r}")
    return int(text)


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form."""
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _FORM_MAX:
                raise HTTPException(413, "That is too long for a token.")
    except ClientDisconnect:
        return {}
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=10)
    return {name: values[-1] for name, values in fields.items()}
