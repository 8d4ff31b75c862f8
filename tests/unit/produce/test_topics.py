"""Topics are created when they are needed, or the error says why not."""

from collections.abc import Iterator

import pytest

from tests.fakes.fake_script import ScriptedReply
from tests.support.altered_messages import altered
from tests.support.fake_net import LONG_MS, FakeNet, fake_net
from tests.support.scripted_broker import Answer, ScriptedAction, ScriptedBroker, ScriptedResponse
from tests.support.scripted_cluster import ScriptedCluster
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import BrokerError, ConfigError, RequestTimedOut
from zkconsumer.model import TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.produce.topics import ensure_topic
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.metadata import MetadataResponse
from zkconsumer.wire.messages.topic_admin import (
    CreatedTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from zkconsumer.wire.versions import VersionRange

CREATED = (0, 1, 2)


class CreatingCluster:
    """A cluster whose second broker is the controller, and creates topics.

    Attributes:
        codes: error codes of the first CreateTopics responses, without creating anything.
        leaderless: whether created partitions get no leader.
    """

    def __init__(self) -> None:
        self.cluster = ScriptedCluster()
        self.codes: list[ErrorCode] = []
        self.leaderless = False
        for broker in self.cluster.brokers:
            broker.response = self._respond(broker, broker.response)

    @property
    def requested(self) -> list[tuple[int, CreateTopicsRequest]]:
        """Return the broker ids and the CreateTopics requests, in order of the brokers."""
        return [
            (broker.address.id, request.request)
            for broker in self.cluster.brokers
            for request in broker.requested(ApiKey.CREATE_TOPICS)
            if isinstance(request.request, CreateTopicsRequest)
        ]

    def ensure(
        self,
        topic: str = "new",
        replication_factor: int | None = None,
        timeout_ms: int = LONG_MS,
    ) -> tuple[int, ...]:
        """Ensure that a topic exists, by default one that does not; it is to have 3 partitions."""
        dialer, client = self.cluster.dialer(), self.cluster.client()
        try:
            return ensure_topic(
                client,
                dialer,
                topic,
                3,
                timeout_ms=timeout_ms,
                replication_factor=replication_factor,
            )
        finally:
            client.stop()
            dialer.stop()

    def _respond(self, broker: ScriptedBroker, former_response: Answer) -> Answer:
        def response(frame: RequestFrame) -> ScriptedResponse | None:
            if isinstance(frame.request, CreateTopicsRequest):
                return self._create(broker, frame.request)
            message = former_response(frame)
            if isinstance(message, MetadataResponse):
                return altered(message, controller_id=1 if frame.version else -1)
            return message

        return response

    def _create(self, broker: ScriptedBroker, request: CreateTopicsRequest) -> ScriptedResponse:
        code = self.codes.pop(0) if self.codes else ErrorCode.NONE
        if broker.address.id != 1:
            code = ErrorCode.NOT_CONTROLLER
        if code is ErrorCode.NETWORK_EXCEPTION:
            return ScriptedAction.CLOSE
        for topic in request.topics if code is ErrorCode.NONE else ():
            for number in range(topic.num_partitions):
                leader = -1 if self.leaderless else number % 2
                self.cluster.leaders[TopicPartition(topic.name, number)] = leader
        return CreateTopicsResponse(
            topics=tuple(
                CreatedTopic(name=new_topic.name, error_code=code, error_message="so it is")
                for new_topic in request.topics
            )
        )


@pytest.fixture
def world() -> CreatingCluster:
    """A cluster with one topic."""
    world = CreatingCluster()
    world.cluster.leaders[TopicPartition("old", 0)] = 0
    return world


def test_an_existing_topic_is_left_alone(world: CreatingCluster) -> None:
    """Even if it has another number of partitions, which is returned."""
    assert world.ensure("old") == (0,)
    assert world.requested == []


def test_the_controller_creates_a_missing_topic(world: CreatingCluster) -> None:
    """It has the cluster's default replication factor."""
    assert world.ensure() == CREATED
    [(broker, request)] = world.requested
    [topic] = request.topics
    assert (broker, topic.name, topic.num_partitions, topic.replication_factor) == (1, "new", 3, -1)
    assert world.cluster.created == []


@pytest.mark.parametrize(("wanted", "sent"), [(None, 2), (1, 1)])
def test_the_replication_factor_is_sent_if_brokers_have_no_default(
    world: CreatingCluster, wanted: int | None, sent: int
) -> None:
    """Before 2.4 it is the number of brokers, at most three, or the configured one."""
    for broker in world.cluster.brokers:
        broker.serves = {**broker.serves, ApiKey.CREATE_TOPICS: VersionRange(0, 2)}
    assert world.ensure(replication_factor=wanted) == CREATED
    [(_, request)] = world.requested
    assert request.topics[0].replication_factor == sent


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.NETWORK_EXCEPTION,
    ],
)
def test_a_retriable_failure_is_retried(world: CreatingCluster, code: ErrorCode) -> None:
    """A controller moved, a quota was exceeded, or a connection broke."""
    world.codes = [code]
    assert world.ensure() == CREATED
    assert len(world.requested) == 2


def test_a_topic_that_another_client_creates_is_accepted(world: CreatingCluster) -> None:
    """The topic exists, which is all that is wanted."""
    world.codes = [ErrorCode.NETWORK_EXCEPTION, ErrorCode.TOPIC_ALREADY_EXISTS]

    def appear(frame: RequestFrame) -> ScriptedResponse | None:
        if len(world.requested) == 2:
            world.cluster.leaders[TopicPartition("new", 0)] = 0
        return before(frame)

    before = world.cluster.brokers[0].response
    world.cluster.brokers[0].response = appear
    assert world.ensure() == (0,)


def test_a_refusal_is_raised(world: CreatingCluster) -> None:
    """The error has the topic, the code and the broker's text; the request is not repeated."""
    world.codes = [ErrorCode.POLICY_VIOLATION]
    with pytest.raises(
        BrokerError, match=r"topic new could not be created: POLICY_VIOLATION \(44\): so it is"
    ):
        world.ensure()
    assert len(world.requested) == 1


def test_an_unauthorized_topic_is_an_error(world: CreatingCluster) -> None:
    """Waiting would not help."""
    response = world.cluster.brokers[0].response

    def forbidden(frame: RequestFrame) -> ScriptedResponse | None:
        message = response(frame)
        if isinstance(message, MetadataResponse):
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            topics = tuple(altered(topic, error_code=code) for topic in message.topics)
            return altered(message, topics=topics)
        return message

    world.cluster.brokers[0].response = forbidden
    with pytest.raises(BrokerError, match="topic new: TOPIC_AUTHORIZATION_FAILED"):
        world.ensure()


def test_missing_leaders_are_a_timeout(world: CreatingCluster) -> None:
    """The topic exists, but can't be written to: the call fails after its time-out."""
    world.leaderless = True
    with pytest.raises(
        RequestTimedOut, match="topic new: not every partition has a leader in time"
    ):
        world.ensure(timeout_ms=300)


def test_a_controller_that_timed_out_is_not_asked_again(world: CreatingCluster) -> None:
    """The topic may still be created; if it is not, the call fails after its time-out."""
    world.codes = [ErrorCode.REQUEST_TIMED_OUT]
    with pytest.raises(RequestTimedOut, match="topic new: not every partition has a leader"):
        world.ensure(timeout_ms=400)
    assert len(world.requested) == 1


@pytest.fixture
def old() -> FakeNet:
    """A broker 0.8.2.2 without a topic."""
    return fake_net(1)


@pytest.fixture
def client(old: FakeNet) -> Iterator[tuple[ClusterClient, BrokerDialer]]:
    """A client of that broker."""
    dialer = BrokerDialer(
        old.network, client_id="test", connect_timeout_ms=LONG_MS, request_timeout_ms=LONG_MS
    )
    client = ClusterClient(
        dialer,
        old.brokers.addresses,
        request_timeout_ms=LONG_MS,
        retry_backoff_ms=10,
        shuffle=lambda _brokers: None,
    )
    yield client, dialer
    client.stop()
    dialer.stop()


@pytest.mark.parametrize("nameless", [False, True], ids=["", "without a topic"])
def test_an_old_broker_creates_topics_on_demand(
    old: FakeNet, client: tuple[ClusterClient, BrokerDialer], *, nameless: bool
) -> None:
    """It has the broker's default of partitions; the broker's first response may be empty."""
    old.cluster.auto_create = True
    if nameless:
        empty = ScriptedReply(MetadataResponse(brokers=(), topics=()))
        old.brokers[0].script(ApiKey.METADATA, empty)
    assert ensure_topic(*client, "new", 3, timeout_ms=LONG_MS) == (0,)


def test_an_old_broker_that_creates_nothing_is_an_error(
    client: tuple[ClusterClient, BrokerDialer],
) -> None:
    """The error says what to do."""
    with pytest.raises(ConfigError, match=r"topic new missing, .*create with Kafka's own"):
        ensure_topic(*client, "new", 3, timeout_ms=LONG_MS)
