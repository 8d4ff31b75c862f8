"""Nodes that brokers and tools of all versions write about the cluster, and malformed ones."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.zk.cluster_nodes import (
    BrokerFacts,
    PartitionStateNode,
    parse_broker_facts,
    parse_controller,
    parse_partition_state,
    parse_replicas,
    parse_topic_config,
)
from zkconsumer.zk.json_dialect import Malformed

STATE_0_8_2 = b'{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":5,"isr":[2,0]}'


def test_the_state_of_a_partition_is_read() -> None:
    """The state of a partition is read as the controller of 0.8.2 writes it."""
    assert parse_partition_state(STATE_0_8_2) == PartitionStateNode(2, (2, 0))


@pytest.mark.parametrize("leader", [b"-1", b"-2"])
def test_a_partition_without_a_leader_is_read(leader: bytes) -> None:
    """A leader of -1 is none, and one of -2 is of a topic that is being deleted."""
    data = STATE_0_8_2.replace(b'"leader":2', b'"leader":' + leader)
    assert parse_partition_state(data) == PartitionStateNode(None, (2, 0))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"isr":[1]}',
        b'{"leader":"1","isr":[1]}',
        b'{"leader":true,"isr":[1]}',
        b'{"leader":1}',
        b'{"leader":1,"isr":["1"]}',
        b'{"leader":1,"isr":[true]}',
    ],
)
def test_an_invalid_partition_state_is_malformed(data: bytes) -> None:
    """An invalid partition state has a reason."""
    found = parse_partition_state(data)
    assert isinstance(found, Malformed)
    assert found.reason


def test_the_replicas_of_a_topic_are_read() -> None:
    """Replicas are sorted by partition number, and keep their order within a partition."""
    data = b'{"version":1,"partitions":{"10":[1,2],"2":[2,1],"0":[]}}'
    found = parse_replicas(data)
    assert not isinstance(found, Malformed)
    assert list(found.items()) == [(0, ()), (2, (2, 1)), (10, (1, 2))]


@pytest.mark.parametrize(
    "data", [b"x", b'{"partitions":[]}', b'{"partitions":{"a":[1]}}', b'{"partitions":{"0":1}}']
)
def test_invalid_replicas_are_malformed(data: bytes) -> None:
    """Invalid replicas are malformed as a whole."""
    assert isinstance(parse_replicas(data), Malformed)


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (b'{"jmx_port":9999,"timestamp":"1400000000000"}', BrokerFacts(9999, 1_400_000_000_000)),
        (b'{"jmx_port":-1,"timestamp":"x"}', BrokerFacts(None, None)),
        (b'{"jmx_port":"9999","timestamp":7}', BrokerFacts(None, 7)),
        (b"garbage", BrokerFacts(None, None)),
    ],
)
def test_the_facts_of_a_broker_are_read(data: bytes, facts: BrokerFacts) -> None:
    """A broker's JMX port and start time are read where they are valid, and None elsewhere."""
    assert parse_broker_facts(data) == facts


def test_the_controllers_id_is_read() -> None:
    """The controller's id is read from JSON, or from the bare number of 0.8.0."""
    assert parse_controller(b'{"version":1,"brokerid":3,"timestamp":"1"}') == 3
    assert parse_controller(b"3") == 3
    assert isinstance(parse_controller(b'{"brokerid":"3"}'), Malformed)
    assert isinstance(parse_controller(b"-"), Malformed)


def test_the_config_of_a_topic_is_read() -> None:
    """Topic configs are text, and a number that a tool wrote is converted."""
    data = b'{"version":1,"config":{"retention.ms":"1000","x":5}}'
    assert parse_topic_config(data) == {"retention.ms": "1000", "x": "5"}
    assert isinstance(parse_topic_config(b'{"version":1}'), Malformed)
    assert isinstance(parse_topic_config(b""), Malformed)


LONG = b"[" + b"7," * 50_000 + b"null]"


@pytest.mark.parametrize(
    ("parse", "data", "reason"),
    [
        (parse_partition_state, b'{"leader":%b}', "its field 'leader' is not a number: [7, 7, "),
        (
            parse_partition_state,
            b'{"leader":1,"isr":%b}',
            "its field 'isr' is not a list of broker ids: [7, 7, ",
        ),
        (parse_replicas, b'{"partitions":%b}', "its field 'partitions' is not an object: [7, 7, "),
        (
            parse_replicas,
            b'{"partitions":{"0":%b}}',
            "partition '0' has no list of broker ids: [7, 7, ",
        ),
        (parse_controller, b'{"brokerid":%b}', "its field 'brokerid' is not a number: [7, 7, "),
        (parse_topic_config, b'{"config":%b}', "its field 'config' is not an object: [7, 7, "),
    ],
)
def test_a_reason_shows_the_value_shortened(
    parse: Callable[[bytes], object], data: bytes, reason: str
) -> None:
    """A reason shows the node's value, shortened: a node may hold a megabyte, and it is logged."""
    found = parse(data % LONG)
    assert isinstance(found, Malformed)
    assert found.reason.startswith(reason)
    assert found.reason.endswith("...")
    assert len(found.reason) < 200


@given(st.binary(max_size=60) | st.from_regex(rb'\{"[a-z]+":(\{|\[|"|[0-9])[^\x00]{0,20}\}'))
def test_nothing_raises(data: bytes) -> None:
    """Whatever the bytes are, no parser raises."""
    parse_partition_state(data)
    parse_replicas(data)
    parse_broker_facts(data)
    parse_controller(data)
    parse_topic_config(data)
