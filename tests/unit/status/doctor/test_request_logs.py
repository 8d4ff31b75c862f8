"""Request logs of brokers of all releases, and hostile lines in them."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.status.doctor.request_logs import read_request_log

OTHERS = (
    "[2026-11-24 03:40:18,626] INFO [Kafka Server 0], started (kafka.server.KafkaServer)",
    "2026-11-24 03:40:18,626 DEBUG Completed request:Name: TopicMetadataRequest; Version: 0; "
    "CorrelationId: 1; ClientId: app from client /127.0.0.1:50942;totalTime:79 "
    "(kafka.request.logger)",
    "Completed request:Name: FetchRequest; Version: 0; CorrelationId: 7; ClientId: "
    "ReplicaFetcherThread-0-1; ReplicaId: 1; MaxWait: 500 ms; MinBytes: 1 bytes from client "
    "/127.0.0.1:50942;totalTime:79",
    "Completed request:RequestHeader(apiKey=FETCH, apiVersion=11, clientId=new, correlationId=4) "
    "-- {replica_id=-1} from connection 127.0.0.1:9092-127.0.0.1:4-1;totalTime:1.2",
)
LINES = {
    "0.8": (
        "2026-11-24 03:40:18,754 DEBUG Completed request:Name: FetchRequest; Version: 0; "
        "CorrelationId: 5; ClientId: billing; ReplicaId: -1; MaxWait: 100 ms; MinBytes: 1 bytes "
        "from client /10.0.0.7:56508;totalTime:141 (kafka.request.logger)",
        "FetchConsumer version 0, 2 times, by client 'billing' at 10.0.0.7",
    ),
    "0.10": (
        "DEBUG Completed request:{api_key=8,api_version=1,correlation_id=2,client_id=} -- "
        "{group_id=g} from connection 10.0.0.1:9092-10.0.0.7:4711;totalTime:1",
        "OffsetCommit version 1, 2 times, by a client without an id at 10.0.0.7",
    ),
    "1.1": (
        "DEBUG Completed request:RequestHeader(apiKey=PRODUCE, apiVersion=2, clientId=p, 1, "
        "correlationId=6) -- {acks=-1},response:{} from connection "
        "10.0.0.1:9094-10.0.0.7:61040-0;totalTime:2.42",
        "Produce version 2, 2 times, by client 'p, 1' at 10.0.0.7",
    ),
    "2.8": (
        'DEBUG Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":2,'
        '"requestApiVersion":0,"correlationId":3,"clientId":"old","requestApiKeyName":'
        '"LIST_OFFSETS"},"request":{"replicaId":-1},"response":{},"connection":'
        '"10.0.0.1:9092-10.0.0.7:50812-3","totalTimeMs":1.2,"clientInformation":'
        '{"softwareName":"apache-kafka-java","softwareVersion":"1.1.1"}}',
        "ListOffsets version 0, 2 times, by client 'old' at 10.0.0.7 (apache-kafka-java 1.1.1)",
    ),
    "3.9": (
        'DEBUG Completed request:{"isForwarded":false,"requestHeader":{"requestApiKey":1,'
        '"requestApiVersion":3,"correlationId":2147483647,"clientId":null},"connection":'
        '"10.0.0.1:9092-10.0.0.7:50812-3","clientInformation":{"softwareName":"unknown",'
        '"softwareVersion":"unknown"}}',
        "FetchConsumer version 3, 2 times, by a client without an id at 10.0.0.7",
    ),
}


@pytest.mark.parametrize("release", LINES)
def test_clients_of_old_versions_are_named(release: str) -> None:
    """Clients of old request versions are named once with a count; followers don't count."""
    line, expected = LINES[release]
    log = read_request_log("log", [*OTHERS, line, line])
    assert [str(count) for count in log.refused] == [expected]
    assert log.total == len(OTHERS) - 1 + 2


@pytest.mark.parametrize("client_id", ["replicaId=1", "a, replica_id=1", 'x\\"replicaId":1,'])
@pytest.mark.parametrize("release", LINES)
def test_a_client_whose_id_looks_like_a_follower_counts(release: str, client_id: str) -> None:
    """A client whose id looks like a follower's request counts as a client."""
    line = {
        "0.8": LINES["0.8"][0].replace("billing", client_id),
        "0.10": "Completed request:{api_key=1,api_version=1,correlation_id=2,client_id="
        + client_id
        + "} -- {replica_id=-1,max_wait_time=1}",
        "1.1": "Completed request:RequestHeader(apiKey=FETCH, apiVersion=2, clientId="
        + client_id
        + ", correlationId=6) -- {replica_id=-1,max_wait_time=1}",
        "2.8": 'Completed request:{"requestHeader":{"requestApiKey":1,"requestApiVersion":0,'
        '"correlationId":3,"clientId":"' + client_id + '"},"request":{"replicaId":-1}}',
        "3.9": LINES["3.9"][0].replace("null", f'"{client_id}"'),
    }[release]
    (refused,) = read_request_log("log", [line]).refused
    assert refused.request == "FetchConsumer"
    follower = line.replace('"replicaId":-1', '"replicaId":2').replace(
        "replica_id=-1", "replica_id=2"
    )
    if follower != line:
        assert read_request_log("log", [follower]).refused == ()


@given(st.lists(st.text(max_size=200) | st.sampled_from([*OTHERS, *map(str, LINES.values())])))
def test_hostile_lines_are_harmless(lines: list[str]) -> None:
    """Whatever a log contains, a count is short and printable."""
    log = read_request_log("log", (f"Completed request:{line}" for line in lines))
    assert log.total <= len(lines)
    for count in log.refused:
        assert str(count).isprintable()
        assert len(str(count)) < 200


@pytest.mark.parametrize(
    "line",
    [
        "Name:a;Version:1;" * 110 + "ClientId:" * 110 + "x" * 1_200,
        "{api_key=1,api_version=1,correlation_id=1,client_id=" * 90,
        LINES["1.1"][0].partition(" from ")[0] + '"connection":"1:1-' * 220,
        LINES["1.1"][0].partition(" from ")[0] + "from connection " * 50 + "1:1-" * 650,
    ],
)
def test_a_client_can_not_make_a_line_slow_to_parse(line: str) -> None:
    """A hostile client id can't make a line slow to parse."""
    begin = time.process_time()
    read_request_log("log", [f"Completed request:{line}"] * 5)
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("head", "rest"),
    [
        ("Name: FetchRequest; Version: 0; CorrelationId: 1; ClientId: ", "; "),
        ("{api_key=1,api_version=0,correlation_id=2,client_id=", "} -- "),
        ("RequestHeader(apiKey=FETCH, apiVersion=0, clientId=", ", correlationId=6) -- "),
        ('{"requestApiKey":1,"requestApiVersion":0,"correlationId":3,"clientId":"', '"}'),
    ],
)
def test_a_request_whose_client_id_is_too_long_to_be_read_to_its_end_counts(
    head: str, rest: str
) -> None:
    """A request counts even if its client id is too long to be read to its end."""
    for filling in ("x", "\\"):
        line = f"Completed request:{head}{filling * 9_000}{rest}"
        (refused,) = read_request_log("log", [line]).refused
        assert (refused.request, refused.version) == ("FetchConsumer", 0)
