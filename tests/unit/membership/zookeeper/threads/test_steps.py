"""The steps of a rebalance when another client has changed our own nodes."""

import pytest

from tests.support.control_bench import GROUP, Group
from zkconsumer.assignment.filters import Whitelist

OURS = '{"version":1,"subscription":{%s},"pattern":"%s","timestamp":"1"}'


@pytest.mark.parametrize(
    "edited",
    [
        OURS % ('"t":3', "static"),
        OURS % ('"other":1', "static"),
        OURS % ('"t":1,"other":1', "static"),
        OURS % ('"t|other":1', "white_list"),
    ],
)
def test_an_edited_registration_is_restored(edited: str) -> None:
    """It would assign partitions to threads without a queue here, and kill the member."""
    group = Group()
    group.set_topic("other", 2)
    member = group.joined("a")
    path = f"/consumers/{GROUP}/ids/{member.consumer_id}"
    group.write(path, edited.encode())
    group.fire_watch("/brokers/topics/t")
    group.settle()
    assert '"subscription":{"t":1},"pattern":"static"' in (group.text(path) or "")
    assert group.owners() == {0: f"{member.consumer_id}-0", 1: f"{member.consumer_id}-0"}
    assert group.owners("other") == {}
    assert not member.control.done


def test_a_registration_with_a_filter_of_special_characters_is_recognized() -> None:
    """Decoding the node's escapes gives what was written."""
    group = Group()
    member = group.member("a")
    request = member.join(Whitelist(r'[^"/]|t\d*\t?'))
    group.settle()
    assert request.reply.wait(0) == (None, True)
    assert len(member.owned()) == 2
