"""Several clusters in one application: an overview, and each below an address of its own."""

from dataclasses import replace

import pytest

from tests.support.asgi_client import Answered, NoPast, StatesByHand, request
from tests.support.manual_clock import ManualClock
from tests.support.page_world import NOW_MS, STEPS, snapshot_at
from zkconsumer.status.model import ClusterSnapshot
from zkconsumer.web.app import Site, build_clusters_app
from zkconsumer.web.events import EventHub
from zkconsumer.web.security import Hosts, Tokens

TOKEN = "0123456789abcdef-secret"


def site(snapshot: ClusterSnapshot, token: str | None, *, ready: bool = True) -> Site:
    """One cluster."""
    states = StatesByHand(snapshot, ready=ready)
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
    """A shop in trouble, and a plant that is well."""

    def __init__(self, token: str | None = None) -> None:
        shop = snapshot_at(STEPS)
        plant = replace(shop, groups={}, topics=(), zookeeper_connect="plant:2181")
        self.sites = {"plant": site(plant, token), "shop": site(shop, token)}
        self.app = build_clusters_app(self.sites)

    def get(self, address: str, **headers: str) -> Answered:
        """Ask as a browser."""
        return request(self.app, address, {"accept": "text/html", **headers})


@pytest.fixture(scope="module")
def clusters() -> Clusters:
    """Without a token."""
    return Clusters()


def test_the_overview_shows_the_worst_first(clusters: Clusters) -> None:
    """With the sentence of each, and a link to it."""
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
def test_each_cluster_stays_below_its_address(clusters: Clusters, path: str) -> None:
    """All links of its pages lead to itself, to the overview, or to what all share."""
    page = clusters.get(f"/clusters/shop{path}")
    assert page.status == 200
    for part in page.text.split('href="')[1:]:
        address = part.partition('"')[0]
        shared = address.startswith(("/static/", "#")) or address in {"/", "/healthz"}
        assert shared or address.startswith("/clusters/shop/"), address
    for name in ("data-events", "data-address"):
        if name in page.text:
            assert f'{name}="/clusters/shop/' in page.text


def test_programs_ask_each_cluster(clusters: Clusters) -> None:
    """JSON, metrics and health of each; the health of all."""
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


def test_nothing_of_any_without_the_token() -> None:
    """Neither names nor states; health says no more than that."""
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


def test_who_is_not_told_is_said_to_those_who_may_know() -> None:
    """On each page and on the overview; not before a login."""
    clusters = Clusters(TOKEN)
    sites = dict(clusters.sites)
    sites["shop"] = replace(sites["shop"], untold=lambda: "notifying ops: <away>")
    app = build_clusters_app(sites)
    for path, is_said in (
        ("/", True),
        ("/clusters/shop/groups", True),
        ("/clusters/plant/", False),
    ):
        headers = {"accept": "text/html", "authorization": f"Bearer {TOKEN}"}
        assert ("notifying ops: &lt;away&gt;" in request(app, path, headers).text) == is_said
    assert "notifying ops" not in request(app, "/login", {"accept": "text/html"}).text


def test_one_that_is_not_read_is_not_well() -> None:
    """The overview says so, and its own health; that of all only where none is well."""
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
