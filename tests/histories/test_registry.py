"""The writes of ZooKeeper's transaction log as operations of a group's history."""

from typing import Any

from tests.histories.registry import group_operations
from tests.histories.zookeeper_log import Write


def writes(*reported: tuple[int, str, str | None], ended: int = 0) -> list[Write]:
    """Return writes, given by session, path below the group, and data."""
    return [
        Write(
            zxid=number,
            time_ms=number * 10,
            session=session,
            path=f"/kafka/consumers/g/{path}",
            data=None if data is None else data.encode(),
            by_session_end=data is None and session == ended,
        )
        for number, (session, path, data) in enumerate(reported)
    ]


def reported(operations: list[Write]) -> list[dict[str, Any]]:
    """Return the group's operations without the process, which is always ZooKeeper."""
    group_facts = list(group_operations(operations, "/kafka/consumers/g"))
    assert all(finding.pop("process") == "zookeeper" for finding in group_facts)
    return group_facts


def test_claims_end_by_release_by_session_or_by_another_client() -> None:
    """The session that deletes an owner node decides how the claim ended."""
    place = {"topic": "t-1", "partition": 4}
    life = writes(
        (1, "owners/t-1/4", "g_a-0"),
        (1, "owners/t-1/4", None),
        (2, "owners/t-1/4", "g_b-0"),
        (9, "owners/t-1/4", None),
        (2, "owners/t-1/4", "g_b-1"),
        (2, "owners/t-1/4", None),
    )
    life[-1:] = writes((2, "owners/t-1/4", None), ended=2)
    assert [
        (finding["f"], finding.get("member"), finding.get("how")) for finding in reported(life)
    ] == [
        ("claim", "g_a", None),
        ("release", None, "released"),
        ("claim", "g_b", None),
        ("release", None, "stranger"),
        ("claim", "g_b", None),
        ("release", None, "session"),
    ]
    assert all(finding.items() >= place.items() for finding in reported(life))


def test_an_offset_is_committed_by_the_member_of_the_session_or_by_nobody() -> None:
    """A session's member is known by the registration that it wrote."""
    life = writes(
        (7, "offsets/t/0", "3"),
        (1, "ids/g_a", "{}"),
        (1, "offsets/t/0", "5"),
        (1, "offsets/t", ""),
        (1, "owners/t", ""),
    )
    assert reported(life) == [
        {"type": "ok", "f": "commit", "time": 0, "member": None, "offsets": [["t", 0, 3]]},
        {"type": "ok", "f": "commit", "time": 20, "member": "g_a", "offsets": [["t", 0, 5]]},
    ]


def test_other_groups_are_left_out() -> None:
    """A group whose name begins with this group's name is left out as well."""
    [one] = writes((1, "ids/x", "{}"))
    other = Write(zxid=1, time_ms=1, session=1, path="/kafka/consumers/g2/offsets/t/0", data=b"1")
    assert reported([one, other]) == []
