"""A short version of the suite: gives no figures, but fails if something is many times slower."""

import pytest

from tests.benchmarks.bounds import Bound, bounds
from tests.benchmarks.contestants.catalog import everybody
from tests.benchmarks.session import Session
from tests.benchmarks.topics import TopicSpec
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.alone]

TOPIC = TopicSpec(value_bytes=100, codec=Codec.NONE, partitions=4, records=1_000_000)
ROUNDS = 3


def _holds(bound: Bound) -> bool:
    """Return whether a bound applies here: without the native core only the pure one does."""
    return ENGINE is Engine.NATIVE or bound.contestant == "pure"


def test_speed_stays_above_its_floors(cluster: Sandbox) -> None:
    """Medians of alternating runs, as ratios to a raw fetch, stay above what bounds.json says."""
    floors = [floor for floor in bounds("floors") if _holds(floor)]
    names = {name for floor in floors for name in (floor.contestant, floor.baseline)}
    session = Session(
        cluster, [contestant for contestant in everybody() if contestant.name in names], retries=0
    )
    session.measure(TOPIC, ROUNDS)
    found = {floor: floor.found(session.runs, TOPIC.name) for floor in floors}
    missed = [
        f"{floor.contestant} to {floor.baseline}: {ratio}, at least {floor.at_least} is wanted"
        for floor, ratio in found.items()
        if ratio is None or ratio.median < floor.at_least
    ]
    assert session.skipped == {}
    assert missed == []
