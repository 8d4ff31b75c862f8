"""Responds to programs: the endpoints for JSON, metrics, and health."""

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from zkconsumer.digits import is_decimal
from zkconsumer.metrics.cluster import ClusterMeasures, cluster_families
from zkconsumer.metrics.text import CONTENT_TYPE, exposition
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind
from zkconsumer.web import api
from zkconsumer.web.health import health_of
from zkconsumer.web.site import Site

HOUR_MS: Final = 3_600_000
POINTS: Final = 300
POINTS_MAX: Final = 2_000
PAST_REBALANCES_MS: Final = 7 * 24 * HOUR_MS


class AsciiJson(JSONResponse):
    """A response of JSON in ASCII: ZooKeeper may hold lone surrogates, which can't be encoded."""

    def render(self, content: Any) -> bytes:
        """See ``JSONResponse``."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


class ApiResponses:
    """The endpoints for programs. Thread: any."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def state(self, _request: Request) -> Response:
        """Respond to ``/api/state``."""
        now_ms = self._site.clock.wall_ms()
        return AsciiJson(api.state_json(self._site.source.current, now_ms))

    def groups(self, _request: Request) -> Response:
        """Respond to ``/api/groups``."""
        return AsciiJson(api.groups_json(self._site.source.current))

    def lag(self, request: Request) -> Response:
        """Respond to ``/api/groups/{kind}/{id}/lag?since=&until=&points=``."""
        key, now_ms = key_of(request), self._site.clock.wall_ms()
        until_ms = _number(request, "until", now_ms)
        since_ms = _number(request, "since", until_ms - HOUR_MS)
        points = min(max(2, _number(request, "points", POINTS, unit="")), POINTS_MAX)
        if since_ms > until_ms:
            raise HTTPException(400, "since is after until")
        series = self._site.past.lag_series(key, since_ms, until_ms, points)
        return AsciiJson(api.lag_json(key, since_ms, until_ms, series))

    def rebalances(self, request: Request) -> Response:
        """Respond to ``/api/groups/{kind}/{id}/rebalances?since=``."""
        key, now_ms = key_of(request), self._site.clock.wall_ms()
        since_ms = _number(request, "since", now_ms - PAST_REBALANCES_MS)
        return AsciiJson(api.rebalances_json(key, self._site.past.rebalances(key, since_ms)))

    def metrics(self, _request: Request) -> Response:
        """Respond to ``/metrics``, for Prometheus."""
        state = self._site.source.current
        measures = ClusterMeasures(
            snapshot=state.snapshot if state.ready else None,
            lag=state.judgements.lag,
            verdict=state.judgements.outcome,
            now_ms=self._site.clock.wall_ms(),
            problem=state.problem or _absence(state.snapshot),
            read_ms=state.read_duration_ms if state.ready else None,
        )
        return Response(
            exposition(cluster_families(measures)), headers={"Content-Type": CONTENT_TYPE}
        )

    def healthz(self, request: Request) -> Response:
        """Respond to ``/healthz``: 200 if healthy, else 503; the reason only with the token."""
        now_ms = self._site.clock.wall_ms()
        health = health_of(self._site.source.current, now_ms)
        reported = {"healthy": health.well, "age_ms": health.age_ms, "reason": health.reason}
        if health.well or self._site.tokens.admits(dict(request.headers), now_ms):
            return AsciiJson(reported, 200 if health.well else 503)
        return AsciiJson({**reported, "reason": "shown only with the token"}, 503)


def clusters_health(sites: Mapping[str, Site], request: Request) -> Response:
    """Respond to ``/healthz`` of several clusters: 503 if none is healthy.

    If one is healthy, a restart of the server would make the pages of that one unavailable, too.
    """
    some_are_well, reasons = False, {}
    for name, site in sites.items():
        now_ms = site.clock.wall_ms()
        health = health_of(site.source.current, now_ms)
        some_are_well = some_are_well or health.well
        if site.tokens.admits(dict(request.headers), now_ms):
            reasons[name] = health.reason
    status = 200 if some_are_well else 503
    return AsciiJson({"healthy": some_are_well, "reasons": reasons}, status)


def _absence(snapshot: ClusterSnapshot) -> str | None:
    """Return why no broker is registered, for an "up" gauge of 0; None if some are."""
    return None if snapshot.no_brokers is None else str(snapshot.no_brokers)


def key_of(request: Request) -> GroupKey:
    """Return the group that a path names.

    Raises:
        HTTPException: there is no such kind of group.
    """
    try:
        return GroupKey(GroupKind(request.path_params["kind"]), request.path_params["id"])
    except ValueError:
        raise HTTPException(404, "The kind of a group is zookeeper or coordinator.") from None


def _number(
    request: Request, name: str, usual: int, *, unit: str = " of ms since the epoch"
) -> int:
    text = request.query_params.get(name)
    if text is None:
        return usual
    if not is_decimal(text, 15):
        raise HTTPException(400, f"{name} must be a number{unit}, not {text!r}")
    return int(text)
