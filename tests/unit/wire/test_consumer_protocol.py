"""The consumer protocol: subscriptions and assignments, across versions and clients."""

import pytest

from zkconsumer.errors import DecodeError, LocalProtocolError
from zkconsumer.wire.consumer_protocol import (
    ConsumerAssignment,
    ConsumerSubscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

OWNED = (TopicPartitions(topic="a", partitions=(0, 2)),)
TOPICS = "00000001 0001 61"
OWNED_BYTES = "00000001 0001 61 00000002 00000000 00000002"


@pytest.mark.parametrize(
    ("subscription", "version", "hexa"),
    [
        (ConsumerSubscription(topics=("a",)), 0, f"0000 {TOPICS} ffffffff"),
        (ConsumerSubscription(topics=("a",), user_data=b""), 0, f"0000 {TOPICS} 00000000"),
        (
            ConsumerSubscription(topics=("a",), user_data=b"x", owned_partitions=OWNED),
            1,
            f"0001 {TOPICS} 00000001 78 {OWNED_BYTES}",
        ),
        (
            ConsumerSubscription(topics=("a",), owned_partitions=OWNED, generation_id=7),
            2,
            f"0002 {TOPICS} ffffffff {OWNED_BYTES} 00000007",
        ),
        (
            ConsumerSubscription(topics=("a",), rack_id="r"),
            3,
            f"0003 {TOPICS} ffffffff 00000000 ffffffff 0001 72",
        ),
    ],
)
def test_a_subscription_is_encoded_in_the_oldest_version_that_has_all_fields(
    subscription: ConsumerSubscription, version: int, hexa: str
) -> None:
    """The oldest version that has all fields is chosen, and decoded unchanged."""
    data = encode_subscription(subscription)
    assert data.hex() == bytes.fromhex(hexa).hex()
    assert decode_subscription(data) == (version, subscription)
    for newer in range(version, 4):
        read = decode_subscription(encode_subscription(subscription, version=newer))
        assert read == (newer, subscription)


def test_older_versions_leave_out_what_they_lack() -> None:
    """An older version, if requested, is encoded without the fields that it lacks."""
    whole = ConsumerSubscription(
        topics=("a",), owned_partitions=OWNED, generation_id=7, rack_id="r"
    )
    _, read = decode_subscription(encode_subscription(whole, version=0))
    assert read == ConsumerSubscription(topics=("a",))


def test_an_unknown_version_is_decoded_as_the_newest_known() -> None:
    """An unknown version is decoded as the newest known one, and the rest is skipped."""
    data = bytes.fromhex(f"0009 {TOPICS} ffffffff {OWNED_BYTES} 00000007 0001 72 abcdef")
    version, read = decode_subscription(data)
    assert version == 9
    assert (read.owned_partitions, read.generation_id, read.rack_id) == (OWNED, 7, "r")
    data = bytes.fromhex(f"0009 {OWNED_BYTES} 00000002 6869 ff")
    assert decode_assignment(data) == (
        9,
        ConsumerAssignment(assigned_partitions=OWNED, user_data=b"hi"),
    )


@pytest.mark.parametrize("version", range(4))
def test_all_versions_of_an_assignment_have_the_same_bytes(version: int) -> None:
    """All versions of an assignment have the same bytes after the version number."""
    assignment = ConsumerAssignment(assigned_partitions=OWNED)
    data = encode_assignment(assignment, version=version)
    assert data == bytes.fromhex(f"{version:04x} {OWNED_BYTES} ffffffff")
    assert decode_assignment(memoryview(data)) == (version, assignment)


def test_an_empty_assignment_has_no_partitions() -> None:
    """An empty assignment, as of a member that the leader did not name, has no partitions."""
    assert decode_assignment(b"") == (0, ConsumerAssignment(assigned_partitions=()))


@pytest.mark.parametrize(
    ("hexa", "field", "position"),
    [
        ("", "version", 0),
        ("00", "version", 0),
        ("ffff", "version", 0),
        ("0000 00000001", "topics", 2),
        ("0000 00000001 0009 61", "topics[0]", 6),
        (f"0001 {TOPICS} ffffffff 00000001 0001 61 00000002", "owned_partitions[0].partitions", 20),
    ],
)
def test_a_broken_subscription_is_an_error_with_the_place(
    hexa: str, field: str, position: int
) -> None:
    """A broken subscription is an error with the field and the position."""
    with pytest.raises(DecodeError) as caught:
        decode_subscription(bytes.fromhex(hexa))
    assert caught.value.message.startswith("ConsumerSubscription")
    assert (caught.value.field, caught.value.position) == (field, position)


def test_what_can_not_be_encoded_is_refused() -> None:
    """Values and versions that can't be encoded are our error."""
    with pytest.raises(LocalProtocolError, match=r"Subscription v0: .*\(field topics\[0\]\)"):
        encode_subscription(ConsumerSubscription(topics=("t" * 40000,)))
    for version in (-1, 4):
        with pytest.raises(LocalProtocolError, match=f"no version {version}, only 0 to 3"):
            encode_assignment(ConsumerAssignment(assigned_partitions=()), version=version)
