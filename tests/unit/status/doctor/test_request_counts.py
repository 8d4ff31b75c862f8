"""What brokers have counted of requests, in the three forms in which it is read."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.status.doctor.request_counts import (
    RequestCount,
    RequestMetrics,
    counts_of_mbeans,
    counts_of_samples,
)

BEAN = "kafka.network:type=RequestMetrics,name="
OF_3_9 = [
    (
        BEAN + "DeprecatedRequestsPerSec,request=FetchConsumer,version=3,clientSoftwareName=sarama,"
        "clientSoftwareVersion=1.2.3",
        4,
    ),
    (
        BEAN + "DeprecatedRequestsPerSec,request=Fetch,version=3,clientSoftwareName=sarama,"
        "clientSoftwareVersion=1.2.3",
        "4",
    ),
    (
        BEAN + "DeprecatedRequestsPerSec,request=ListOffsets,version=0,clientSoftwareName=unknown,"
        "clientSoftwareVersion=unknown",
        1,
    ),
    (BEAN + "RequestsPerSec,request=FetchConsumer,version=3", 4),
    (BEAN + "RequestsPerSec,request=ListOffsets,version=0", 1),
    (BEAN + "RequestsPerSec,request=Metadata,version=0", 19),
    (BEAN + "RequestsPerSec,request=Produce,version=2", 0),
]
UNRULED = """\
# TYPE kafka_network_RequestMetrics_Count untyped
kafka_network_RequestMetrics_Count{name="RequestsPerSec",request="FetchConsumer",version="3",} 4.0
kafka_network_RequestMetrics_OneMinuteRate{name="RequestsPerSec",request="Fetch",version="3",} 0.2
kafka_network_RequestMetrics_Count{name="DeprecatedRequestsPerSec",request="FetchConsumer",\
version="3",clientSoftwareName="sarama",clientSoftwareVersion="1.2.3",} 4.0
"""
RULED = """\
kafka_network_requestmetrics_deprecatedrequests_total{clientSoftwareVersion="1.2.3",\
request_FetchConsumer_version_3_clientSoftwareName="sarama"} 4.0
kafka_network_requestmetrics_requests_total{request="FetchConsumer",version="3"} 4.0
kafka_server_brokertopicmetrics_totalfetchrequests_total{topic="t"} 2.0
"""


def lines(counts: tuple[RequestCount, ...]) -> list[str]:
    """What is said of those that are refused."""
    return [str(count) for count in RequestMetrics(source="b", counts=counts).refused()]


def test_mbeans_of_3_9_name_the_library() -> None:
    """Each request once: what is counted as refused is counted by version, too."""
    assert lines(counts_of_mbeans(OF_3_9)) == [
        "FetchConsumer version 3, 4 times, by sarama 1.2.3",
        "ListOffsets version 0, 1 time, by an unnamed client library",
    ]


def test_mbeans_of_2_0_tell_versions_alone() -> None:
    """What Kafka 4 takes is known; followers' requests are none of a client."""
    older = [bean for bean in OF_3_9 if "Deprecated" not in bean[0]]
    older += [(BEAN + "RequestsPerSec,request=FetchFollower,version=2", 9)]
    assert lines(counts_of_mbeans(older)) == [
        "FetchConsumer version 3, 4 times, by an unnamed client library",
        "ListOffsets version 0, 1 time, by an unnamed client library",
    ]


def test_mbeans_of_1_1_tell_no_versions() -> None:
    """So nothing can be concluded of them."""
    read = RequestMetrics(
        source="b", counts=counts_of_mbeans([(BEAN + "RequestsPerSec,request=Fetch", 9)])
    )
    assert read.counts
    assert not read.tells_versions
    assert read.refused() == []


@pytest.mark.parametrize(("text", "library"), [(UNRULED, "sarama 1.2.3"), (RULED, "")])
def test_samples_of_an_exporter(text: str, library: str) -> None:
    """As its own names are, and as the usual rules make them, which lose the library."""
    by = library or "an unnamed client library"
    assert lines(counts_of_samples(text)) == [f"FetchConsumer version 3, 4 times, by {by}"]


@given(st.text(), st.one_of(st.none(), st.text(), st.floats(), st.integers()))
def test_whatever_comes_harms_nobody(text: str, count: object) -> None:
    """It is a count of a printable request, or nothing."""
    hostile = [(BEAN + f"RequestsPerSec,request={text},version={text}", count)]
    sample = f'requestmetrics_count{{name="RequestsPerSec",request="{text}"}} {count}'
    for found in (*counts_of_mbeans(hostile), *counts_of_samples(sample)):
        assert str(found).isprintable()
        assert len(found.request) <= 60


def test_long_words_are_read_once() -> None:
    """Not once for each of their letters: an answer has room for thousands of such lines."""
    began = time.process_time()
    for _ in range(20):
        assert counts_of_samples("requestmetrics_count{" + "a" * 4_000 + "} 1\n") == ()
        assert counts_of_mbeans([("a" * 4_096, 1)]) == ()
    assert time.process_time() - began < 2
