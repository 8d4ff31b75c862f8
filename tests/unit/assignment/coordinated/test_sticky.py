"""Sticky assignment: which partitions members keep, by owned partitions and generations."""

from zkconsumer.assignment.coordinated import cooperative, sticky
from zkconsumer.assignment.coordinated.view import CoordinatedView, MemberView
from zkconsumer.model import TopicPartition

PARTITIONS = {"t": (0, 1, 2, 3)}


def member(owned: str = "", generation: int = 1, topics: str = "t") -> MemberView:
    """Build a member; each digit of ``owned`` is a partition of ``t``."""
    return MemberView(
        topics=frozenset(topics),
        owned=frozenset(TopicPartition("t", int(partition)) for partition in owned),
        generation=generation,
    )


def numbers(shares: dict[str, tuple[TopicPartition, ...]]) -> dict[str, str]:
    """Return each member's share as the digits of its partitions."""
    return {
        partitions: "".join(str(tp.partition) for tp in share)
        for partitions, share in shares.items()
    }


def assigned(**members: MemberView) -> dict[str, str]:
    """Return the shares that the sticky assignor gives."""
    return numbers(sticky.assign(CoordinatedView(members, PARTITIONS)))


def assigned_cooperatively(**members: MemberView) -> dict[str, str]:
    """Return the shares that the cooperative sticky assignor gives."""
    return numbers(cooperative.assign(CoordinatedView(members, PARTITIONS)))


def test_a_new_group_is_assigned_round_robin() -> None:
    """Where no member owns anything, partitions are dealt out in turn."""
    assert assigned(a=member(), b=member()) == {"a": "02", "b": "13"}


def test_a_newcomer_gets_its_share_and_nothing_else_moves() -> None:
    """A new member takes only as much from the fullest one as balance needs."""
    assert assigned(a=member("012"), b=member("3"), c=member()) == {"a": "01", "b": "3", "c": "2"}


def test_of_two_claims_the_one_of_the_later_generation_wins() -> None:
    """A partition that two members claim stays with the claim of the later generation."""
    assert assigned(a=member("01", 1), b=member("12", 2)) == {"a": "03", "b": "12"}


def test_claims_of_deleted_or_unsubscribed_partitions_are_ignored() -> None:
    """A claim of a deleted partition, or of a topic no longer subscribed, counts for nothing."""
    gone = MemberView(topics=frozenset("t"), owned=frozenset({TopicPartition("t", 9)}))
    unread = MemberView(
        topics=frozenset("s"), owned=frozenset({TopicPartition("t", 0)}), generation=5
    )
    assert assigned(a=gone, b=unread) == {"a": "0123", "b": ""}


def test_a_partition_that_moves_is_unassigned_for_one_generation() -> None:
    """A partition is first revoked from its old owner; the next generation assigns it (KIP-429)."""
    assert assigned_cooperatively(a=member("0123"), b=member()) == {"a": "01", "b": ""}
    assert assigned_cooperatively(a=member("01"), b=member()) == {"a": "01", "b": "23"}


def test_a_partition_claimed_by_an_old_generation_is_withheld() -> None:
    """A claim of an old generation means that its member may still be reading the partition."""
    unread = MemberView(
        topics=frozenset("s"), owned=frozenset({TopicPartition("t", 3)}), generation=0
    )
    assert assigned_cooperatively(a=member("012"), b=unread) == {"a": "012", "b": ""}


def test_of_two_cooperative_claims_the_later_one_continues() -> None:
    """Both members read the partition already, so it is not withheld; the older claim must stop."""
    assert assigned_cooperatively(a=member("01", 2), b=member("12", 3)) == {"a": "03", "b": "12"}


def test_partitions_go_only_to_members_that_subscribe_to_their_topic() -> None:
    """A fuller member keeps partitions that the emptier one does not subscribe to."""
    members = {
        "a": MemberView(
            topics=frozenset("st"), owned=frozenset(TopicPartition("t", n) for n in range(4))
        ),
        "b": MemberView(topics=frozenset("s")),
    }
    shares = sticky.assign(CoordinatedView(members, {"t": (0, 1, 2, 3), "s": (0, 1)}))
    assert {partitions: len(share) for partitions, share in shares.items()} == {"a": 4, "b": 2}
