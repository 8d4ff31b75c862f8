"""What pages show of a cluster that is read through its brokers only, without ZooKeeper."""

from dataclasses import replace

import pytest

from tests.support.page_world import NOW_MS, state_at
from zkconsumer.clock import SystemClock
from zkconsumer.status.model import BrokersAlone, GroupKey, GroupKind
from zkconsumer.web.api import state_json
from zkconsumer.web.judgements import Judgements, Memory
from zkconsumer.web.pages.cluster import cluster_page
from zkconsumer.web.pages.group import group_page
from zkconsumer.web.pages.groups import groups_page
from zkconsumer.web.pages.topic import topic_page
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.publishing import Publisher
from zkconsumer.web.rendering import render
from zkconsumer.web.state import ClusterState

REQUEST = PageRequest(path="/", query={}, now_ms=NOW_MS)


def alone_state(*, no_zookeeper: bool) -> ClusterState:
    """Return the tale's cluster as read from brokers: no ZooKeeper groups, configs, controller."""
    state = state_at()
    before = state.snapshot
    snapshot = replace(
        before,
        zookeeper_connect=None,
        brokers_alone=BrokersAlone(bootstrap_servers="b1:9092", no_zookeeper=no_zookeeper),
        brokers=tuple(
            replace(broker, is_controller=None, created_ms=None, registered_ms=None)
            for broker in before.brokers
        ),
        topics=tuple(replace(topic, config=None, deleting=None) for topic in before.topics),
        groups={
            key: group for key, group in before.groups.items() if key.kind is GroupKind.COORDINATOR
        },
        live_sessions=None,
    )
    return replace(state, snapshot=snapshot, judgements=Judgements(snapshot, None, Memory()))


def html(view: View, state: ClusterState) -> str:
    """Return the page's HTML."""
    return render(view, REQUEST, state)


@pytest.mark.parametrize(
    ("no_zookeeper", "head", "groups", "why"),
    [
        (True, "no ZooKeeper", "it has none", "the cluster has none"),
        (False, "ZooKeeper unknown", "unknown", "no ZooKeeper was given"),
    ],
)
def test_every_page_says_what_is_unknown(
    no_zookeeper: bool, head: str, groups: str, why: str
) -> None:
    """Every page says what is unknown and why: neither as a fault nor as none."""
    state = alone_state(no_zookeeper=no_zookeeper)
    first = html(cluster_page(state, REQUEST), state)
    assert f">{head}</span>" in first
    assert "<code>b1:9092</code>" in first
    assert f"in a ZooKeeper: {groups}" in first
    assert "no controller" not in first
    assert "controller unknown" in first
    listed = html(groups_page(state, REQUEST), state)
    assert f"Groups in ZooKeeper: unknown, since {why}." in listed
    assert "<option>zookeeper</option>" not in listed
    [name, *_] = [topic.name for topic in state.snapshot.topics]
    assert f"Unknown: {why}" in html(topic_page(state, REQUEST, name), state)
    absent = group_page(state, REQUEST, GroupKey(GroupKind.ZOOKEEPER, "g"))
    assert absent.status == 404
    assert f"is unknown, since {why}" in html(absent, state)


def test_the_json_says_what_is_unknown() -> None:
    """The JSON has null for what is unknown, too."""
    reported = state_json(alone_state(no_zookeeper=False), NOW_MS)
    assert (
        reported["zookeeper_connect"],
        reported["bootstrap_servers"],
        reported["zookeeper"],
    ) == (
        *(None, "b1:9092"),
        "unknown",
    )
    reported = state_json(state_at(), NOW_MS)
    assert (reported["bootstrap_servers"], reported["zookeeper"]) == (None, "read")


def test_before_the_first_reading_its_address_is_shown() -> None:
    """Before the first reading the brokers' address is shown, and no fault of a ZooKeeper."""
    alone = BrokersAlone(bootstrap_servers="b1:9092")
    publisher = Publisher(alone, 5_000, lambda _state, _rebalances: None, SystemClock())
    first = html(cluster_page(publisher.current, REQUEST), publisher.current)
    assert "<code>b1:9092</code>" in first
    assert "ZooKeeper unknown" in first
