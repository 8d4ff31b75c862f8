"""Invalid settings and calls: each ends in an error that says what to do."""

import socket
from collections.abc import Iterator

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, settings_for
from tests.support.traffic import write
from tests.support.waiting import PROMPT_MS, wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import (
    ConfigError,
    ConsumerClosed,
    MessageStreamsExist,
    RebalanceFailed,
    RegistryError,
    Whitelist,
    ZookeeperConsumerConnector,
)
from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope

pytestmark = pytest.mark.sandbox

CLOCK = SystemClock()


@pytest.fixture
def connector(cluster: Sandbox) -> Iterator[ZookeeperConsumerConnector]:
    """Open a connector of a fresh group."""
    with ZookeeperConsumerConnector(settings_for(cluster, fresh_name("group"))) as opened:
        yield opened


def test_an_unknown_topic_is_waited_for_and_the_others_are_read(
    cluster: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """The missing topic is logged once, and nothing creates it."""
    topic, unknown, group = fresh_name("known"), fresh_name("unknown"), fresh_name("group")
    cluster.create_topic(topic)
    with Member(cluster, group, {unknown: 1, topic: 1}) as member:
        write(cluster, TopicPartition(topic, 0), [b"value"])
        wait_until(lambda: member.deliveries, what="the other topic")
        # Another rebalance does not log it again.
        with Member(cluster, group, {topic: 1}):
            pass
        wait_until(lambda: len(member.claims()) == 1, what="the end of the rebalance")
    assert caplog.text.count(f"topic {unknown} does not exist or has no partitions") == 1
    assert ZkTree(cluster).get(f"/brokers/topics/{unknown}") is None


@pytest.mark.parametrize("group", ["", "a/b", "a b", "..", "gr\u00fcppe"])
def test_an_illegal_group_id_is_refused(cluster: Sandbox, group: str) -> None:
    """It is refused before anything is connected; the error names the key and what is allowed."""
    with pytest.raises(ConfigError, match=r"group\.id is .*: it must be letters, digits"):
        settings_for(cluster, group)


@pytest.mark.parametrize(
    "connect",
    ["", "host:port", "host:0", "host:99999", "a,,b", "h1:2181/a,h2:2181/b", "h:2181//x", "h:1 2"],
)
def test_a_malformed_connect_string_is_refused(connect: str) -> None:
    """The error quotes it and shows the right form."""
    with pytest.raises(ConfigError, match=r"zookeeper\.connect"):
        ZookeeperConsumerConnector(settings_for(connect, "group"))


@pytest.mark.parametrize("listening", [False, True])
def test_an_unreachable_zookeeper_is_an_error_within_the_timeout(listening: bool) -> None:
    """It does not matter whether nothing listens on the port, or a server that never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        if not listening:
            server.close()
        config = settings_for(f"127.0.0.1:{port}", "group", zookeeper_connection_timeout_ms=500)
        started_ms = CLOCK.now_ms()
        with pytest.raises(RegistryError, match=r"within 500 ms .*is one running there") as caught:
            ZookeeperConsumerConnector(config)
        took_ms = CLOCK.now_ms() - started_ms
    assert f"127.0.0.1:{port}" in str(caught.value)
    assert 500 <= took_ms < PROMPT_MS


def test_an_unknown_host_is_an_error_within_the_timeout() -> None:
    """The error has the host's name."""
    config = settings_for("no-such-host.invalid:2181", "group", zookeeper_connection_timeout_ms=500)
    started_ms = CLOCK.now_ms()
    with pytest.raises(RegistryError, match=r"no-such-host\.invalid"):
        ZookeeperConsumerConnector(config)
    assert CLOCK.now_ms() - started_ms < PROMPT_MS


def test_a_missing_chroot_is_named(cluster: Sandbox) -> None:
    """Consumers never create a chroot: it is misspelled, or no broker has run yet."""
    tree = ZkTree(cluster, "/misspelled")
    with pytest.raises(RegistryError, match=r"chroot /misspelled .* does not exist"):
        ZookeeperConsumerConnector(settings_for(tree.connect, "group"))
    assert tree.get("") is None


def test_streams_are_created_once(cluster: Sandbox) -> None:
    """A second call is refused, static or by filter; the first call's streams go on."""
    topic = fresh_name("once")
    cluster.create_topic(topic)
    with Member(cluster, fresh_name("group"), {topic: 1}) as member:
        with pytest.raises(MessageStreamsExist, match="create another connector"):
            member.connector.create_message_streams({topic: 1})
        with pytest.raises(MessageStreamsExist, match="create another connector"):
            member.connector.create_message_streams_by_filter(Whitelist(topic))
        write(cluster, TopicPartition(topic, 0), [b"value"])
        wait_until(lambda: member.deliveries, what="a message")


@pytest.mark.parametrize("counts", [{"topic": 0}, {"topic": -1}, {"": 1}, {"a/b": 1}, {"..": 1}])
def test_invalid_topics_and_counts_are_refused(
    connector: ZookeeperConsumerConnector, counts: dict[str, int]
) -> None:
    """Nothing is written: a registration that Scala members can't read would stop the group."""
    with pytest.raises(ConfigError, match="topic"):
        connector.create_message_streams(counts)
    assert connector.create_message_streams({}) == {}


def test_a_filter_without_streams_is_refused(connector: ZookeeperConsumerConnector) -> None:
    """A filter needs at least one stream, as a topic does."""
    with pytest.raises(ConfigError, match="number of streams must be 1 or more, not 0"):
        connector.create_message_streams_by_filter(Whitelist("topic"), 0)


@pytest.mark.parametrize("pattern", ["a{1,2}", "[", "(?<name>x"])
def test_a_filter_that_is_no_regex_is_refused(pattern: str) -> None:
    """Commas become alternatives first, as in the original, so ``a{1,2}`` is invalid."""
    with pytest.raises(ConfigError, match="filter"):
        Whitelist(pattern)


def test_calls_of_a_closed_connector_are_errors(connector: ZookeeperConsumerConnector) -> None:
    """Committing and creating streams after the shutdown do not hang."""
    connector.shutdown()
    with pytest.raises(ConsumerClosed, match="shut down"):
        connector.commit_offsets()
    with pytest.raises(ConsumerClosed, match="shut down"):
        connector.create_message_streams_by_filter(Whitelist("topic"))


def test_a_commit_before_joining_writes_nothing(connector: ZookeeperConsumerConnector) -> None:
    """There is nothing to commit yet, and that is no error."""
    assert connector.commit_offsets() == 0


def test_a_second_member_with_the_same_consumer_id_is_refused(cluster: Sandbox) -> None:
    """After its tries the second one fails with the reason; the first one is not disturbed."""
    topic, group = fresh_name("twins"), fresh_name("group")
    cluster.create_topic(topic)
    tree, tp = ZkTree(cluster), TopicPartition(topic, 0)
    with Member(cluster, group, {topic: 1}, consumer_id="same") as first:
        claims, session = first.claims(), f"0x{first.session_id:x}"
        hasty = {
            "rebalance_max_retries": 3,
            "rebalance_backoff_ms": 100,
            "zookeeper_session_timeout_ms": 1000,  # the tries outlast it
        }
        with pytest.raises(RebalanceFailed, match="after 3 tries") as caught:
            Member(cluster, group, {topic: 1}, consumer_id="same", **hasty)
        assert f"consumer id {group}_same is registered by session {session}" in str(caught.value)
        write(cluster, tp, [b"value"])
        wait_until(lambda: first.got(tp), what="a message")
        assert first.claims() == claims
        assert tree.members(group) == [f"{group}_same"]
        assert tree.owners(group, topic)[0] == (f"{group}_same-0", first.session_id)


def test_a_member_joins_as_soon_as_its_consumer_id_is_free(cluster: Sandbox) -> None:
    """It watches the registration, and does not wait for its next try a minute later."""
    topic, group = fresh_name("successor"), fresh_name("group")
    cluster.create_topic(topic)
    first = Member(cluster, group, {topic: 1}, consumer_id="same")
    config = settings_for(cluster, group, consumer_id="same", rebalance_backoff_ms=60_000)
    with ZookeeperConsumerConnector(config) as second:
        core = second._parts.member.control._core
        control = second._parts.member.control
        scope = ThreadScope("joining")
        scope.spawn("join", lambda: join(second, topic), stop=lambda: None)
        wait_until(lambda: core.state.name == "BACKING_OFF", what="its first refusal")
        first.close()
        wait_until(lambda: len(control._claims.claims()) == 1, timeout_s=10, what="its share")
        assert scope.close(5000) == []
        assert scope.first_error() is None


def join(connector: ZookeeperConsumerConnector, topic: str) -> None:
    """Create one stream of a topic."""
    connector.create_message_streams({topic: 1})
