"""Whatever a port sends to a dialer, it ends with a working connection or an error of ours."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.memory_transport import MemoryNetwork
from tests.support.scripted_broker import (
    MODERN,
    ScriptedAction,
    ScriptedBroker,
    ScriptedResponse,
    old,
)
from tests.support.shares import examples
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse
from zkconsumer.wire.versions import BrokerGeneration

ADDRESS = Broker(-1, "b", 9092)
LONG_MS = 10_000
EMPTY_RESPONSE = MetadataResponse(brokers=(), topics=())

framed = st.binary(max_size=40).map(lambda body: len(body).to_bytes(4, "big") + body)
answers_of_id = st.binary(max_size=30).map(
    lambda body: (len(body) + 4).to_bytes(4, "big") + b"\0\0\0\1" + body
)
# Silence would only wait for the time-out, which has tests of its own.
unsupported = st.one_of(
    st.just(ScriptedAction.CLOSE), st.binary(min_size=5, max_size=40), framed, answers_of_id
)
plans = st.lists(st.one_of(st.none(), st.none(), unsupported), max_size=8)


def broker_of(
    generation: BrokerGeneration | None, plan: list[ScriptedResponse | None]
) -> ScriptedBroker:
    """A broker that follows a plan, and then behaves as one of this generation."""
    left = list(plan)

    def response(frame: RequestFrame) -> ScriptedResponse | None:
        message = left.pop(0) if left else None
        if message is None and frame.api_key is ApiKey.METADATA:
            return EMPTY_RESPONSE
        if isinstance(message, bytes):
            # Nothing follows it: otherwise a client that reads on would wait.
            broker.conversations[-1].is_over = True
        return message

    serves = MODERN if generation is None else old(generation)
    broker = ScriptedBroker(ADDRESS, serves=serves, generation=generation, response=response)
    return broker


@settings(max_examples=examples(400), deadline=None)
@given(st.sampled_from([None, *BrokerGeneration]), plans)
def test_dialling_any_port_ends(
    generation: BrokerGeneration | None, plan: list[ScriptedResponse | None]
) -> None:
    """Once the plan is used up, the broker's true versions are negotiated."""
    broker = broker_of(generation, plan)
    network = MemoryNetwork()
    broker.listen(network)
    dialer = BrokerDialer(
        network, client_id="test", connect_timeout_ms=LONG_MS, request_timeout_ms=LONG_MS
    )
    for _ in range(len(plan) + 1):
        try:
            connection = dialer.dial(ADDRESS)
            assert connection.call(MetadataRequest(topics=()), timeout_ms=LONG_MS) == EMPTY_RESPONSE
            connection.close()
        except ZkConsumerError:
            continue
    # By now the plan is used up: what it claimed in between must not be believed for ever.
    connection = dialer.dial(ADDRESS)
    assert connection.versions.generation is generation
    assert connection.call(MetadataRequest(topics=()), timeout_ms=LONG_MS) == EMPTY_RESPONSE
    connection.close()
