"""Who keeps what: claims, generations, two-phase revocation."""

from zkconsumer.assignment.coordinated import cooperative, sticky
from zkconsumer.assignment.coordinated.view import CoordinatedView, MemberView
from zkconsumer.model import TopicPartition

PARTITIONS = {"t": (0, 1, 2, 3)}


def member(owned: str = "", generation: int = 1, topics: str = "t") -> MemberView:
    """A member by the numbers of its partitions of ``t``."""
    return MemberView(
        topics=frozenset(topics),
        owned=frozenset(TopicPartition("t", int(partition)) for partition in owned),
        generation=generation,
    )


def numbers(shares: dict[str, tuple[TopicPartition, ...]]) -> dict[str, str]:
    """The shares by the numbers of their partitions."""
    return {
        partitions: "".join(str(tp.partition) for tp in share)
        for partitions, share in shares.items()
    }


def assigned(**members: MemberView) -> dict[str, str]:
    """By the sticky assignor."""
    return numbers(sticky.assign(CoordinatedView(members, PARTITIONS)))


def cooperated(**members: MemberView) -> dict[str, str]:
    """By the cooperative one."""
    return numbers(cooperative.assign(CoordinatedView(members, PARTITIONS)))


def test_a_new_group_is_dealt_out_one_by_one() -> None:
    """As round-robin does."""
    assert assigned(a=member(), b=member()) == {"a": "02", "b": "13"}


def test_a_newcomer_gets_its_share_and_nothing_else_moves() -> None:
    """Of the fuller one, as much as evenness needs."""
    assert assigned(a=member("012"), b=member("3"), c=member()) == {"a": "01", "b": "3", "c": "2"}


def test_the_later_generation_has_it() -> None:
    """Of two that claim a partition."""
    assert assigned(a=member("01", 1), b=member("12", 2)) == {"a": "03", "b": "12"}


def test_claims_of_what_is_gone_or_unread_are_void() -> None:
    """A deleted partition, and a topic no longer subscribed."""
    gone = MemberView(topics=frozenset("t"), owned=frozenset({TopicPartition("t", 9)}))
    unread = MemberView(
        topics=frozenset("s"), owned=frozenset({TopicPartition("t", 0)}), generation=5
    )
    assert assigned(a=gone, b=unread) == {"a": "0123", "b": ""}


def test_what_changes_hands_is_nobody_s_for_a_generation() -> None:
    """KIP-429: then, given up by its old owner, it goes to the new one."""
    assert cooperated(a=member("0123"), b=member()) == {"a": "01", "b": ""}
    assert cooperated(a=member("01"), b=member()) == {"a": "01", "b": "23"}


def test_what_an_old_generation_claims_is_withheld_as_well() -> None:
    """It may still be read: the claim says so."""
    unread = MemberView(
        topics=frozenset("s"), owned=frozenset({TopicPartition("t", 3)}), generation=0
    )
    assert cooperated(a=member("012"), b=unread) == {"a": "012", "b": ""}


def test_of_two_that_claim_it_the_rightful_one_goes_on() -> None:
    """It is being read twice already; one of them is told to stop."""
    assert cooperated(a=member("01", 2), b=member("12", 3)) == {"a": "03", "b": "12"}


def test_who_can_give_only_some_topics_gives_those() -> None:
    """A partition goes only to who subscribes to it."""
    members = {
        "a": MemberView(
            topics=frozenset("st"), owned=frozenset(TopicPartition("t", n) for n in range(4))
        ),
        "b": MemberView(topics=frozenset("s")),
    }
    shares = sticky.assign(CoordinatedView(members, {"t": (0, 1, 2, 3), "s": (0, 1)}))
    assert {partitions: len(share) for partitions, share in shares.items()} == {"a": 4, "b": 2}
