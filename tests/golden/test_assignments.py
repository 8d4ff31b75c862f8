"""The shares of each member of 500 groups, by the JVM's assignors and by ours.

``python -m tests.golden.capture_assignments`` captures them again.
"""

import gzip
import json
from collections import Counter

import pytest

from tests.golden.assignment_cases import ERROR, GroupCase, Share
from tests.golden.capture_assignments import ASSIGNMENTS, ORDERS
from zkconsumer.assignment.java_order import immutable_map_order, mutable_map_order


@pytest.fixture(scope="module")
def groups() -> list[tuple[GroupCase, dict[str, Share]]]:
    """Return the captured groups with the JVM's shares by member."""
    found = json.loads(gzip.decompress(ASSIGNMENTS.read_bytes()))
    return [(GroupCase.from_json(item["case"]), item["answers"]) for item in found]


def test_every_member_of_500_groups_gets_what_the_jvm_gives_it(
    groups: list[tuple[GroupCase, dict[str, Share]]],
) -> None:
    """Range and round-robin agree with the original, including errors and hash ties."""
    assert len(groups) == 500
    wrong = [
        (number, consumer_id)
        for number, (case, responses) in enumerate(groups)
        for consumer_id, response in responses.items()
        if not case.agrees(consumer_id, response)
    ]
    assert wrong == []


def test_the_captured_groups_cover_the_cases_in_which_assignors_differ(
    groups: list[tuple[GroupCase, dict[str, Share]]],
) -> None:
    """There are wildcards, threads beyond 10, errors, and partitions with two owners by ties."""
    seen: Counter[str] = Counter()
    for case, responses in groups:
        seen[case.strategy] += 1
        seen["wildcard"] += any(member.pattern != "static" for member in case.members)
        seen["thread 10"] += any(
            max(member.subscription.values(), default=0) > 10 for member in case.members
        )
        seen["refused"] += ERROR in responses.values()
        taken = Counter(
            (topic, partition)
            for share in responses.values()
            for topics in share.values()
            for topic, partitions in topics.items()
            for partition in partitions
        )
        seen["tie"] += max(taken.values(), default=0) > 1
    assert all(seen[kind] > 150 for kind in ("range", "roundrobin", "wildcard", "thread 10"))
    assert seen["refused"] >= 15
    assert seen["tie"] >= 5


def test_scala_maps_are_iterated_in_scalas_order() -> None:
    """Immutable and mutable maps of any size agree, including equal hashes."""
    lists = json.loads(ORDERS.read_text())
    for found in lists:
        assert immutable_map_order(found["keys"]) == found["immutable"]
        assert mutable_map_order(found["keys"]) == found["mutable"]
    assert max(len(found["keys"]) for found in lists) > 48
