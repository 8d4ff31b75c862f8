"""The web application: routes and endpoints.

Pages are functions of ``zkconsumer.web.pages``; here they get the latest state, the history and the
request, and are rendered. Blocking work runs on threads of a pool, so that it delays no events.
"""

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from importlib.resources import files
from typing import Final
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from zkconsumer.digits import is_decimal
from zkconsumer.errors import ZkConsumerError
from zkconsumer.inbound.table import address_key
from zkconsumer.status.model import GroupKey, GroupKind
from zkconsumer.web.api_responses import (
    HOUR_MS,
    PAST_REBALANCES_MS,
    ApiResponses,
    AsciiJson,
    clusters_health,
    key_of,
)
from zkconsumer.web.files import PageFiles
from zkconsumer.web.guarding import (
    TOO_MANY_GUESSES,
    Guard,
    client_host,
    note_wrong_token,
    retry_after,
)
from zkconsumer.web.messages import MessageEndpoints
from zkconsumer.web.pages.cluster import cluster_page
from zkconsumer.web.pages.clusters import clusters_page
from zkconsumer.web.pages.group import absent_text, group_page
from zkconsumer.web.pages.groups import TREND_POINTS, groups_page
from zkconsumer.web.pages.manual import manual_page
from zkconsumer.web.pages.plain import login_page, sorry_page
from zkconsumer.web.pages.topic import topic_page
from zkconsumer.web.pages.topics import topics_page
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.pages.znodes import znodes_page
from zkconsumer.web.rendering import render
from zkconsumer.web.security import SESSION_MS, safe_onward
from zkconsumer.web.site import Site
from zkconsumer.web.state import ClusterState
from zkconsumer.web.throttling import GuessThrottle
from zkconsumer.web.znodes import ZnodeView, read_nodes
from zkconsumer.zk.paths import GroupPaths

_FORM_MAX: Final = 10_000
MAX_ZOOKEEPER_REQUESTS: Final = 4
"""How many requests may wait for ZooKeeper: if it hangs, they must not use up the pool."""


def build_app(site: Site) -> ASGIApp:
    """Return the application of one cluster, in a ``Guard``."""
    pages = _Pages(site)
    healthz = _at_once(ApiResponses(site).healthz)
    app = _application([*_cluster_routes(site, pages), *_common_routes(pages, healthz)], pages)
    return Guard(app, site.tokens, site.hosts, site.clock)


def build_clusters_app(sites: Mapping[str, Site]) -> ASGIApp:
    """Return the application of several clusters, in a ``Guard``.

    Args:
        sites: at least one, by the name of its cluster; all share tokens and hosts.
    """
    first = next(iter(sites.values()))
    pages = _Pages(first, framed=False)

    def overview(request: Request) -> Response:
        states = {name: site.source.current for name, site in sites.items()}
        delivery_problem = next(
            filter(None, (site.delivery_problem() for site in sites.values())), None
        )
        page_request = replace(pages.requested(request), delivery_problem=delivery_problem)
        return _html(clusters_page(states, page_request.now_ms), page_request, None)

    def health(request: Request) -> Response:
        return clusters_health(sites, request)

    mounted = []
    for name, site in sites.items():
        own = _Pages(site)
        routes = [*_cluster_routes(site, own), Route("/healthz", ApiResponses(site).healthz)]
        mounted.append(Mount(f"/clusters/{name}", _application(routes, own)))
    routes = [Route("/", overview), *_common_routes(pages, _at_once(health)), *mounted]
    return Guard(_application(routes, pages), first.tokens, first.hosts, first.clock)


def _application(routes: Sequence[BaseRoute], pages: "_Pages") -> Starlette:
    return Starlette(
        routes=routes,
        exception_handlers={
            HTTPException: pages.refused,
            ZkConsumerError: pages.away,
            Exception: pages.broken,
        },
    )


def _common_routes(
    pages: "_Pages", healthz: Callable[[Request], Awaitable[Response]]
) -> list[BaseRoute]:
    """Return the routes that exist once, for all clusters together."""
    return [
        Route("/healthz", healthz),
        Route("/login", pages.login, methods=["GET", "POST"]),
        Route("/logout", pages.logout, methods=["POST"]),
        Mount("/static", PageFiles()),
    ]


def _cluster_routes(site: Site, pages: "_Pages") -> list[BaseRoute]:
    """Return the routes of one cluster."""
    programs = ApiResponses(site)
    return [
        Route("/", pages.page(lambda page_request, state, _: cluster_page(state, page_request))),
        Route(
            "/topics", pages.page(lambda page_request, state, _: topics_page(state, page_request))
        ),
        Route("/topics/{name}", pages.page(pages.topic)),
        *_message_routes(site, pages),
        Route("/groups", pages.page(pages.all_groups)),
        Route("/groups/zookeeper/{id}/znodes", pages.page(pages.znodes)),
        Route("/groups/{kind}/{id:path}", pages.page(pages.group)),
        Route("/manual/doctor", pages.page(_manual)),
        Route("/api/state", programs.state),
        Route("/api/groups", programs.groups),
        Route("/api/groups/{kind}/{id:path}/lag", programs.lag),
        Route("/api/groups/{kind}/{id:path}/rebalances", programs.rebalances),
        Route("/events", _Events(site)),
        Route("/metrics", programs.metrics),
    ]


def _at_once(response: Callable[[Request], Response]) -> Callable[[Request], Awaitable[Response]]:
    """Return an endpoint that runs on the event loop, so that a busy pool does not delay it."""

    async def endpoint(request: Request) -> Response:
        return response(request)

    return endpoint


def _message_routes(site: Site, pages: "_Pages") -> list[Route]:
    """Return the routes of messages; none if messages may not be shown."""
    if site.messages is None or not site.tokens.wanted:
        return []
    endpoints = MessageEndpoints(site.messages, lambda: site.source.current, site.clock)
    return [
        Route("/topics/{name}/messages", pages.page(endpoints.page)),
        Route("/topics/{name}/messages.ndjson", endpoints.download),
    ]


def _manual(_page_request: PageRequest, _state: ClusterState, _request: Request) -> View:
    page = files("zkconsumer.web") / "manual" / "doctor.md"
    return manual_page(page.read_text(encoding="utf-8"))


class _Pages:
    """The endpoints of pages.

    Args:
        site: the cluster's part of the application.
        framed: whether errors are shown within the frame of that cluster.
    """

    def __init__(self, site: Site, *, framed: bool = True) -> None:
        self._site = site
        self._framed = framed
        self._asking = threading.BoundedSemaphore(MAX_ZOOKEEPER_REQUESTS)
        self._throttle = GuessThrottle()

    def page(
        self, make: Callable[[PageRequest, ClusterState, Request], View]
    ) -> Callable[[Request], Response]:
        """Return an endpoint that renders a page on a thread of the pool."""

        def response(request: Request) -> Response:
            state = self._site.source.current
            page_request = replace(
                self.requested(request), delivery_problem=self._site.delivery_problem()
            )
            return _html(make(page_request, state, request), page_request, state)

        return response

    def all_groups(self, page_request: PageRequest, state: ClusterState, _: Request) -> View:
        """Return the list of groups, with each group's lag in the last hour."""

        def trends(keys: Sequence[GroupKey]) -> Mapping[GroupKey, tuple[int | None, ...]]:
            since_ms = page_request.now_ms - HOUR_MS
            return self._site.past.trends(keys, since_ms, page_request.now_ms, TREND_POINTS)

        return groups_page(state, page_request, trends)

    def topic(self, page_request: PageRequest, state: ClusterState, request: Request) -> View:
        """Return the page of a topic."""
        shows_messages = self._site.messages is not None and self._site.tokens.wanted
        name = request.path_params["name"]
        return topic_page(state, page_request, name, shows_messages=shows_messages)

    def group(self, page_request: PageRequest, state: ClusterState, request: Request) -> View:
        """Return the page of a group."""
        key = key_of(request)
        past = self._site.past.rebalances(key, page_request.now_ms - PAST_REBALANCES_MS)
        return group_page(state, page_request, key, past)

    def znodes(self, page_request: PageRequest, state: ClusterState, request: Request) -> View:
        """Return the nodes of a ZooKeeper group."""
        group_id = request.path_params["id"]
        key = GroupKey(GroupKind.ZOOKEEPER, group_id)
        if key not in state.snapshot.groups:
            return sorry_page(404, absent_text(state, key))
        path = page_request.query.get("path") or GroupPaths(group_id).root
        store = self._site.store()
        if store is None:
            nodes: tuple[ZnodeView, ...] = (
                ZnodeView(path=path, problem=state.problem or "ZooKeeper does not respond"),
            )
        elif self._asking.acquire(blocking=False):
            try:
                nodes = read_nodes(store, group_id, path)
            finally:
                self._asking.release()
        else:
            nodes = (
                ZnodeView(path=path, problem="too many requests for nodes at present: try again"),
            )
        return znodes_page(page_request, key, nodes)

    async def login(self, request: Request) -> Response:
        """Show the login form, and handle its submission."""
        page_request = self.requested(request)
        onward = safe_onward(request.query_params.get("next", "/"))
        tokens = self._site.tokens
        if not tokens.wanted:
            return RedirectResponse("/", 303)
        if request.method != "POST":
            return await run_in_threadpool(_html, login_page(onward=onward), page_request, None)
        form = await _form(request)
        onward = safe_onward(form.get("next", onward))
        host, now_ms = client_host(request.scope), self._site.clock.now_ms()
        wait_ms = self._throttle.wait_ms(host, now_ms)
        if wait_ms:
            view = login_page(refused=TOO_MANY_GUESSES, onward=onward)
            response = await run_in_threadpool(_html, view, page_request, None)
            response.status_code = 429
            response.headers.update(retry_after(wait_ms))
            return response
        if not tokens.accepts(form.get("token", "").strip()):
            note_wrong_token(self._throttle, host, now_ms)
            view = login_page(refused="The token is wrong.", onward=onward)
            return await run_in_threadpool(_html, view, page_request, None)
        response = RedirectResponse(onward, 303)
        response.set_cookie(
            tokens.cookie_name,
            tokens.cookie(page_request.now_ms),
            max_age=SESSION_MS // 1000,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    async def logout(self, _request: Request) -> Response:
        """Log out."""
        response = RedirectResponse("/login", 303)
        response.delete_cookie(self._site.tokens.cookie_name, httponly=True, samesite="strict")
        return response

    async def refused(self, request: Request, error: Exception) -> Response:
        """Respond to an HTTP error: people get a page, programs JSON."""
        status, message = 500, str(error)
        headers: Mapping[str, str] | None = None
        if isinstance(error, HTTPException):
            status, message, headers = error.status_code, error.detail, error.headers
        if message == HTTPStatus(status).phrase and status == 404:
            message = "There is nothing at this address."
        return await self._sorry(request, status, message, headers)

    async def away(self, request: Request, error: Exception) -> Response:
        """Respond to an error in reading the cluster, such as a silent server."""
        return await self._sorry(request, 503, str(error), None)

    async def broken(self, request: Request, error: Exception) -> Response:
        """Respond to an internal error, which is logged."""
        message = f"Something went wrong here: {type(error).__name__}. The server's log says more."
        return await self._sorry(request, 500, message, None)

    async def _sorry(
        self, request: Request, status: int, message: str, headers: Mapping[str, str] | None
    ) -> Response:
        if "text/html" not in request.headers.get("accept", ""):
            return AsciiJson({"error": message}, status, headers=dict(headers or {}))
        page_request, state = self.requested(request), self._site.source.current
        admitted = self._site.tokens.admits(dict(request.headers), page_request.now_ms)
        response = await run_in_threadpool(
            _html,
            sorry_page(status, message),
            page_request,
            state if admitted and self._framed else None,
        )
        response.headers.update(headers or {})
        return response

    def requested(self, request: Request) -> PageRequest:
        """Return a request as pages see it."""
        raw: bytes = request.scope.get("raw_path", request.scope["path"].encode())
        return PageRequest(
            path=raw.decode("latin-1"),
            query=dict(request.query_params.multi_items()),
            now_ms=self._site.clock.wall_ms(),
            token_in_use=bool(request.scope.get("signed_in")),
            root=request.scope.get("root_path", ""),
        )


class _Events:
    """Serves ``/events?group=<kind>/<id>``; ``Last-Event-ID``: the number of the client's state."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method != "GET":
            await PlainTextResponse("GET only\n", 405)(scope, receive, send)
            return
        group = request.query_params.get("group", "")
        kind, _, group_id = group.partition("/")
        key = GroupKey(GroupKind(kind), group_id) if group_id and kind in set(GroupKind) else None
        if group and key is None:
            wrong = "group must be zookeeper/ or coordinator/, followed by the group's id\n"
            await PlainTextResponse(wrong, 400)(scope, receive, send)
            return
        seen = request.headers.get("last-event-id", request.query_params.get("seen", ""))
        last_seen = int(seen) if is_decimal(seen, 15) else None
        address = address_key(client_host(scope))
        events = self._site.events
        if not await events.serve(key, last_seen, receive, send, address=address):
            full = PlainTextResponse(
                "Too many event streams are open already.\n", 503, {"Retry-After": "10"}
            )
            await full(scope, receive, send)


def _html(view: View, page_request: PageRequest, state: ClusterState | None) -> Response:
    # JSON of members and brokers can hold lone surrogates, which can't be encoded.
    page = render(view, page_request, state).encode(errors="backslashreplace")
    return HTMLResponse(page, view.status)


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a small form."""
    body = b""
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > _FORM_MAX:
                raise HTTPException(413, "The form is too long.")
    except ClientDisconnect:
        return {}
    try:
        fields = parse_qs(body.decode(errors="replace"), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        raise HTTPException(400, "The form is malformed.") from None
    return {name: values[-1] for name, values in fields.items()}
