"""Random groups, filters and files, given to the JVM and to us."""

import random
import secrets

import pytest

from tests.golden.assignment_cases import jvm_shares, random_case
from tests.golden.jvm import no_compiler_because
from tests.golden.text_cases import (
    java_filter_results,
    java_properties,
    our_filter_result,
    our_properties,
    random_filter,
    random_properties,
)
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox
TOPICS = ["a", "ab", "aab", "B", "a-b", "a.1", "_z", "0", "topic-10", "Topic.web", "ABC", "abab"]


@pytest.fixture
def seed() -> int:
    """A new seed for each run; a failing test shows it."""
    reason = no_compiler_because()
    if reason is not None:
        pytest.skip(reason)
    return secrets.randbits(32)


def test_assignments_of_40_random_groups_agree_with_the_jvm(zookeeper: Sandbox, seed: int) -> None:
    """The original's assignors read the groups that we wrote to a real ZooKeeper."""
    rng = random.Random(seed)
    cases = [random_case(rng) for _ in range(40)]
    responses = jvm_shares(zookeeper.zookeeper_connect.partition("/")[0], cases)
    wrong = [
        (number, consumer_id)
        for number, (case, by_member) in enumerate(zip(cases, responses, strict=True))
        for consumer_id, response in by_member.items()
        if not case.agrees(consumer_id, response)
    ]
    assert wrong == [], f"with seed {seed}"


def test_random_filters_agree_with_java_or_are_refused(seed: int) -> None:
    """There are 2,000 expressions, most of them unusual."""
    rng = random.Random(seed)
    filters = [random_filter(rng) for _ in range(2000)]
    wrong = {
        text: (java, ours)
        for text, java in zip(filters, java_filter_results(filters, TOPICS), strict=True)
        if (ours := our_filter_result(text, TOPICS)) not in (java, None)
    }
    assert wrong == {}, f"with seed {seed}"


def test_random_properties_files_are_read_as_in_java(seed: int) -> None:
    """There are 2,000 files of separators, escapes, comments and line ends."""
    rng = random.Random(seed)
    texts = [random_properties(rng) for _ in range(2000)]
    wrong = {
        text: java
        for text, java in zip(texts, java_properties(texts), strict=True)
        if our_properties(text) != java
    }
    assert wrong == {}, f"with seed {seed}"
