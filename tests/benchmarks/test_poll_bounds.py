"""A short version of ``make bench-poll``: fails if something is many times slower."""

import pytest

from tests.benchmarks.bounds import Bound, bounds
from tests.benchmarks.poll.catalog import everybody
from tests.benchmarks.session import Session
from tests.benchmarks.topics import TopicSpec
from tests.support.clusters import BrokerOf
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import ENGINE, Engine

pytestmark = [pytest.mark.sandbox, pytest.mark.alone]

TOPIC = TopicSpec(value_bytes=100, codec=Codec.NONE, partitions=4, records=300_000)
ROUNDS = 2


def _holds(bound: Bound) -> bool:
    """Return whether a bound applies here: without the native core only the pure one does."""
    return ENGINE is Engine.NATIVE or bound.contestant == "pure"


def test_polling_stays_above_its_floors(broker_of: BrokerOf) -> None:
    """Medians of alternating runs, as ratios to a raw fetch, stay above what bounds.json says."""
    floors = [floor for floor in bounds("poll_floors") if _holds(floor)]
    names = {name for floor in floors for name in (floor.contestant, floor.baseline)}
    taking_part = [program for program in everybody() if program.name in names]
    session = Session(broker_of("3.9.1"), taking_part, retries=0)
    session.measure(TOPIC, ROUNDS)
    found = {floor: floor.found(session.runs, TOPIC.name) for floor in floors}
    missed = [
        f"{floor.contestant} to {floor.baseline}: {ratio}, at least {floor.at_least} is wanted"
        for floor, ratio in found.items()
        if ratio is None or ratio.median < floor.at_least
    ]
    assert session.skipped == {}
    assert missed == []
