"""Commits and committed offsets through the codec: nothing changes, in any version."""

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import zkconsumer
from tests.support.all_requests import decode_request
from tests.support.shares import examples
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator_requests import (
    ALL_AT_ONCE_SINCE,
    IN_KAFKA_SINCE,
    NOBODY,
    STABLE_SINCE,
    STATIC_MEMBERS_SINCE,
    Signature,
    bounds,
    commit_codes,
    commit_request,
    fetch_request,
    positions,
)
from zkconsumer.wire.codec import decode_response, encode_request, encode_response
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of

COMMITS = pytest.mark.parametrize("version", range(oc.OFFSET_COMMIT.last + 1))
FETCHES = pytest.mark.parametrize("version", range(of.OFFSET_FETCH.last + 1))
EXAMPLES = settings(max_examples=examples(40), deadline=None)

PARTITIONS = some.builds(
    TopicPartition, some.sampled_from(["t", "u", "v"]), some.integers(0, 2**31 - 1)
)
TEXTS = some.text(max_size=20)
OFFSETS = some.dictionaries(
    PARTITIONS,
    some.builds(
        OffsetAndMetadata, some.integers(-1, 2**63 - 1), TEXTS, some.integers(-1, 2**31 - 1)
    ),
    max_size=8,
)
SIGNATURES = some.just(NOBODY) | some.builds(
    Signature, some.text(min_size=1, max_size=9), some.integers(0, 2**31 - 1), some.none()
)
CODES = some.sampled_from(ErrorCode) | some.integers(-(2**15), 2**15 - 1)


def by_name(topics: tuple[oc.OffsetCommitTopic, ...]) -> dict[TopicPartition, OffsetAndMetadata]:
    """Return what a commit would store."""
    return {
        TopicPartition(topic.topic, partition.partition): OffsetAndMetadata(
            partition.offset, partition.metadata, partition.leader_epoch
        )
        for topic in topics
        for partition in topic.partitions
    }


@COMMITS
@EXAMPLES
@given(offsets=OFFSETS, who=SIGNATURES)
def test_a_broker_decodes_a_commit(
    version: int,
    offsets: dict[TopicPartition, OffsetAndMetadata],
    who: Signature,
) -> None:
    """It gets all fields of the version; a member that the version can't name is refused."""
    request = commit_request("g", offsets, who)

    def sent() -> bytes:
        return encode_request(request, version=version, correlation_id=1, client_id="c")

    if version < IN_KAFKA_SINCE and who != NOBODY:
        with pytest.raises(LocalProtocolError):
            sent()
        return
    read = decode_request(sent()[4:]).request
    assert isinstance(read, oc.OffsetCommitRequest)
    assert read.group_id == "g"
    assert (read.member_id, read.generation_id) == (who.member_id, who.generation)
    assert read.retention_time_ms == -1
    # Topics are in the order of their first partitions.
    assert by_name(read.topics) == {
        tp: it if version >= 6 else it._replace(leader_epoch=-1) for tp, it in offsets.items()
    }
    firsts = list(dict.fromkeys(tp.topic for tp in offsets))
    assert [topic.topic for topic in read.topics] == firsts


@COMMITS
def test_a_static_member_commits_with_its_instance_id_or_not_at_all(version: int) -> None:
    """Older versions could not fence it, and refuse to encode it."""
    one = {TopicPartition("t", 0): OffsetAndMetadata(1)}
    request = commit_request("g", one, Signature("m", 3, "static"))
    if version < STATIC_MEMBERS_SINCE:
        with pytest.raises(LocalProtocolError):
            encode_request(request, version=version, correlation_id=1, client_id="c")
        return
    data = encode_request(request, version=version, correlation_id=1, client_id="c")
    assert decode_request(data[4:]).request == request


@COMMITS
@EXAMPLES
@given(codes=some.dictionaries(PARTITIONS, CODES, max_size=8))
def test_each_partition_of_a_commit_has_its_own_code(
    version: int, codes: dict[TopicPartition, int]
) -> None:
    """The codes are the same after encoding and decoding."""
    response = oc.OffsetCommitResponse(
        topics=tuple(
            oc.CommittedTopic(
                topic=tp.topic,
                partitions=(oc.CommittedPartition(partition=tp.partition, error_code=code),),
            )
            for tp, code in codes.items()
        )
    )
    data = encode_response(response, version=version, correlation_id=1)
    _, read = decode_response(oc.OffsetCommitRequest, version, data[4:])
    assert commit_codes(read) == codes


@FETCHES
@EXAMPLES
@given(partitions=some.none() | some.lists(PARTITIONS, max_size=8), stable=some.booleans())
def test_a_broker_decodes_an_offset_fetch(
    version: int, partitions: list[TopicPartition] | None, *, stable: bool
) -> None:
    """Partitions keep their order, each once; "all" is refused in versions without it."""
    request = fetch_request("g", partitions, version=version, stable=stable)

    def sent() -> bytes:
        return encode_request(request, version=version, correlation_id=1, client_id="c")

    if partitions is None and version < ALL_AT_ONCE_SINCE:
        with pytest.raises(LocalProtocolError):
            sent()
        return
    read = decode_request(sent()[4:]).request
    assert isinstance(read, of.OffsetFetchRequest)
    assert (read.group_id, read.require_stable) == ("g", stable and version >= STABLE_SINCE)
    if partitions is None:
        assert read.topics is None
        return
    assert read.topics is not None
    requested = [
        TopicPartition(offset_fetch_topic.topic, number)
        for offset_fetch_topic in read.topics
        for number in offset_fetch_topic.partitions
    ]
    assert len(requested) == len(set(requested))
    assert set(requested) == set(partitions)
    for topic in {tp.topic for tp in partitions}:
        wanted = list(dict.fromkeys(tp for tp in partitions if tp.topic == topic))
        assert [tp for tp in requested if tp.topic == topic] == wanted


@FETCHES
@EXAMPLES
@given(
    responses=some.dictionaries(
        PARTITIONS,
        some.tuples(some.integers(-(2**63), 2**63 - 1), CODES, TEXTS, some.integers(-1, 2**31 - 1)),
        max_size=8,
    ),
    code=CODES,
    unknown_is_none=some.booleans(),
)
def test_offsets_of_a_response_are_decoded(
    version: int,
    responses: dict[TopicPartition, tuple[int, int, str, int]],
    code: int,
    *,
    unknown_is_none: bool,
) -> None:
    """Each partition has an offset, None, or the reason why it is not known."""
    response = of.OffsetFetchResponse(
        topics=tuple(
            of.OffsetFetchedTopic(
                topic=tp.topic,
                partitions=(
                    of.OffsetFetchedPartition(
                        partition=tp.partition,
                        offset=offset,
                        metadata=metadata,
                        error_code=error,
                        leader_epoch=epoch if version >= 5 else -1,
                    ),
                ),
            )
            for tp, (offset, error, metadata, epoch) in responses.items()
        ),
        error_code=code if version >= 2 else 0,
    )
    data = encode_response(response, version=version, correlation_id=1)
    _, decoded = decode_response(of.OffsetFetchRequest, version, data[4:])
    read = positions(decoded, unknown_is_none=unknown_is_none)
    assert read.code == (code if version >= 2 else 0)
    assert read.found.keys() | read.codes.keys() == responses.keys()
    assert not read.found.keys() & read.codes.keys()
    assert read.absurd.keys() <= read.codes.keys()
    assert read.all_codes == ({read.code} | set(read.codes.values())) - {0}
    for tp, it in read.found.items():
        offset, error, metadata, epoch = responses[tp]
        if it is None:
            assert offset == -1 or (unknown_is_none and error == 3)
        else:
            assert it == OffsetAndMetadata(offset, metadata, epoch if version >= 5 else -1)
            assert (it.offset >= 0, error) == (True, 0)
        assert (read.reason(tp) is None) == (not read.code)
    for tp, number in read.codes.items():
        offset, error, *_ = responses[tp]
        assert number == error or (error == 0 and offset < -1 and number == ErrorCode.UNKNOWN)
        assert read.reason(tp)
    assert read.reason(TopicPartition("w", 0)) is not None


def test_versions_for_kafka_and_zookeeper_are_disjoint() -> None:
    """Offsets for one storage are never sent to the other."""
    (first, newest), (oldest, last) = bounds(in_kafka=True), bounds(in_kafka=False)
    assert (first, newest, oldest, last) == (1, None, 0, 0)


def test_only_one_module_creates_these_requests() -> None:
    """Nothing else does, but for the request that tells old brokers apart."""
    root = Path(zkconsumer.__file__).parent
    requests = {"OffsetFetchRequest", "OffsetCommitRequest"}
    sources = {
        str(path.relative_to(root)): path.read_text()
        for path in root.rglob("*.py")
        if not path.is_relative_to(root / "testing")
    }
    makers = {
        path
        for path, source in sources.items()
        if any(request in source for request in requests)  # to parse all takes two seconds
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and getattr(node.func, "attr", getattr(node.func, "id", "")) in requests
    }
    assert makers == {"offsets/coordinator_requests.py", "wire/old_probes.py"}
