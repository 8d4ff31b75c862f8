"""Several clusters in one application: an overview, and each cluster below its own address."""

from dataclasses import replace

import pytest

from tests.support.asgi_client import Answered, ManualStates, NoPast, request
from tests.support.manual_clock import ManualClock
from tests.support.page_world import NOW_MS, STEPS, snapshot_at
from zkconsumer.status.model import ClusterSnapshot
from zkconsumer.web.app import build_clusters_app
from zkconsumer.web.events import EventHub
from zkconsumer.web.security import Hosts, Tokens
from zkconsumer.web.site import Site

TOKEN = "0123456789abcdef-secret"


def site(snapshot: ClusterSnapshot, token: str | None, *, ready: bool = True) -> Site:
    """Return the site of one cluster."""
    states = ManualStates(snapshot, ready=ready)
    return Site(
        source=states,
        past=NoPast(),
        store=lambda: None,
        tokens=Tokens(token),
        hosts=Hosts(any_name=False),
        events=EventHub(states),
        clock=ManualClock(wall_ms=NOW_MS),
    )


class Clusters:
    """The application on two clusters: "shop" has problems, "plant" has none."""

    def __init__(self, token: str | None = None) -> None:
        shop = snapshot_at(STEPS)
        plant = replace(shop, groups={}, topics=(), zookeeper_connect="plant:2181")
        self.sites = {"plant": site(plant, token), "shop": site(shop, token)}
        self.app = build_clusters_app(self.sites)

    def get(self, address: str, **headers: str) -> Answered:
        """Send a GET request as a browser does."""
        return request(self.app, address, {"accept": "text/html", **headers})


@pytest.fixture(scope="module")
def clusters() -> Clusters:
    """The application without a token."""
    return Clusters()


def test_the_overview_shows_the_worst_first(clusters: Clusters) -> None:
    """Each cluster has its summary, and a link to its pages."""
    page = clusters.get("/").text
    assert page.index('href="/clusters/shop/"') < page.index('href="/clusters/plant/"')
    assert "<title>shop: " in page
    assert "All is well" in page
    assert "plant:2181" in page
    assert 'data-every="5000"' in page


@pytest.mark.parametrize(
    "path",
    ["/", "/groups", "/topics", "/topics/orders", "/groups/zookeeper/billing", "/manual/doctor"],
)
def test_links_stay_below_the_cluster_s_address(clusters: Clusters, path: str) -> None:
    """Others lead to the overview, or to files that all clusters share."""
    page = clusters.get(f"/clusters/shop{path}")
    assert page.status == 200
    for part in page.text.split('href="')[1:]:
        address = part.partition('"')[0]
        shared = address.startswith(("/static/", "#")) or address in {"/", "/healthz"}
        assert shared or address.startswith("/clusters/shop/"), address
    for name in ("data-events", "data-address"):
        if name in page.text:
            assert f'{name}="/clusters/shop/' in page.text


def test_programs_can_query_each_cluster(clusters: Clusters) -> None:
    """Each has its own JSON, metrics and health; there is one health check of all."""
    groups = clusters.get("/clusters/shop/api/groups").json["groups"]
    assert "billing" in {group["group_id"] for group in groups}
    assert clusters.get("/clusters/plant/api/groups").json["groups"] == []
    assert "zkconsumer" in clusters.get("/clusters/shop/metrics").text
    assert clusters.get("/clusters/other/").status == 404
    assert clusters.get("/groups").status == 404
    health = clusters.get("/healthz")
    assert (health.status, health.json) == (
        200,
        {"healthy": True, "reasons": {"plant": None, "shop": None}},
    )


def test_without_the_token_no_cluster_is_shown() -> None:
    """Neither names nor states are; the health check has no reasons."""
    locked = Clusters(TOKEN)
    for path in ("/", "/clusters/shop/", "/clusters/shop/healthz", "/clusters/shop/login"):
        response = locked.get(path)
        assert response.status in {303, 401}
        assert "plant" not in response.text
    health = locked.get("/healthz")
    assert health.json == {"healthy": True, "reasons": {}}
    admitted = locked.get("/", authorization=f"Bearer {TOKEN}")
    assert admitted.status == 200
    assert 'href="/clusters/shop/"' in admitted.text


def test_a_failed_notification_is_shown_after_a_login() -> None:
    """It is on the overview and on each page of that cluster, but not on the login page."""
    clusters = Clusters(TOKEN)
    sites = dict(clusters.sites)
    sites["shop"] = replace(sites["shop"], delivery_problem=lambda: "notifying ops: <away>")
    app = build_clusters_app(sites)
    for path, is_shown in (
        ("/", True),
        ("/clusters/shop/groups", True),
        ("/clusters/plant/", False),
    ):
        headers = {"accept": "text/html", "authorization": f"Bearer {TOKEN}"}
        assert ("notifying ops: &lt;away&gt;" in request(app, path, headers).text) == is_shown
    assert "notifying ops" not in request(app, "/login", {"accept": "text/html"}).text


def test_a_cluster_that_was_not_read_so_far_is_unhealthy() -> None:
    """The overview says so; the health check of all fails only if no cluster is healthy."""
    clusters = Clusters()
    nothing = ClusterSnapshot(taken_ms=NOW_MS, zookeeper_connect="far:2181")
    app = build_clusters_app({**clusters.sites, "far": site(nothing, None, ready=False)})
    page = request(app, "/", {"accept": "text/html"})
    assert "<title>far: it is being read for the first time" in page.text
    assert page.text.index("/clusters/far/") < page.text.index("/clusters/shop/")
    health = request(app, "/healthz", {})
    assert health.status == 200
    assert [name for name, reason in health.json["reasons"].items() if reason] == ["far"]
    assert request(app, "/clusters/far/healthz", {}).status == 503
    assert request(app, "/clusters/shop/healthz", {}).status == 200
    alone = build_clusters_app({"far": site(nothing, None, ready=False)})
    assert request(alone, "/healthz", {}).status == 503
