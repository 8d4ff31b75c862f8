"""Every program docs/examples/poll_*.py on a real broker: killed at bad moments, then counted."""

import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.topics import produce
from tests.golden.jvm import no_compiler_because, run_oracle
from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.raw_connections import raw_connection
from tests.support.recipe import (
    AFTER_COMMIT,
    AFTER_WORK,
    BEFORE_WORK,
    EXAMPLES,
    STATEMENT,
    Recipe,
    load,
)
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.model import Record, TimestampType
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.records.build import build_message_set
from zkconsumer.records.consumer_record import RecordOrigin, consumer_record
from zkconsumer.sandbox import Sandbox, jars

pytestmark = pytest.mark.sandbox
PAGE = (EXAMPLES.parent / "delivery-recipes.md").read_text("utf-8")
ROOT = EXAMPLES.parents[1]
KAFKA = "3.9.1"
PARTITIONS, EACH = 2, 300
AT_ONCE = 100  # the most records that a poll of these programs returns
WAIT_S = 30


@pytest.fixture
def broker(broker_of: BrokerOf) -> Sandbox:
    """Give a broker with all features that the recipes need."""
    return broker_of(KAFKA)


@pytest.fixture
def topic(broker: Sandbox) -> str:
    """Create a topic with ``EACH`` records in each of its partitions."""
    return filled(broker, EACH)


def filled(broker: Sandbox, each: int) -> str:
    """Create a topic with ``each`` records in each of its two partitions."""
    name = fresh_name("recipe")
    broker.create_topic(name, partitions=PARTITIONS)
    with closing(BatchProducer(broker.brokers)) as producer:
        producer.write(
            {
                TopicPartition(name, number): [
                    Record(0, None, f"record {at} of {number}".encode()) for at in range(each)
                ]
                for number in range(PARTITIONS)
            }
        )
    return name


def expected(each: int = EACH) -> set[str]:
    """Return the line that a program writes for each record."""
    return {
        f"{number} {at} record {at} of {number}"
        for number in range(PARTITIONS)
        for at in range(each)
    }


@contextmanager
def running(recipe: Recipe, errors: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program; kill it at the end of the block, if it still runs."""
    with (
        errors.open("ab") as complaints,
        warm.Popen[bytes](recipe.command(), cwd=ROOT, stderr=complaints) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


class DyingProgram:
    """A program that is killed again and again, and the lines that it wrote."""

    def __init__(self, program: str, broker: Sandbox, topic: str, folder: Path) -> None:
        self.program = program
        self.group = fresh_name("recipe")
        self.target = folder / "target"
        self.errors = folder / "errors"
        self._arguments = (broker.bootstrap_servers, topic, self.group, str(self.target))

    def recipe(self, dies: str = "", at: int = 0, **changes: Any) -> Recipe:
        """Return how to run it."""
        return Recipe(program=self.program, arguments=self._arguments, dies=dies, at=at, **changes)

    def die(self, *deaths: tuple[str, int]) -> None:
        """Let it die once at each of these moments."""
        for dies, at in deaths:
            with running(self.recipe(dies, at), self.errors) as process:
                assert process.wait(WAIT_S) == -signal.SIGKILL, self.complaints()

    def finish(self, lines: set[str]) -> Counter[str]:
        """Run it until these lines are written; return how often each line is."""
        with running(self.recipe(), self.errors) as process:
            wait_until(
                lambda: process.poll() is not None or lines <= self.done().keys(),
                timeout_s=WAIT_S,
                what=f"the end of {self.program}",
            )
            assert process.poll() is None, self.complaints()
        return self.done()

    def done(self) -> Counter[str]:
        """Return how often each line was written."""
        text = self.target.read_text() if self.target.exists() else ""
        return Counter(text.splitlines())

    def complaints(self) -> str:
        """Return the end of its log and of its traceback."""
        return self.errors.read_text(errors="replace")[-3000:]


@pytest.fixture
def trial(
    request: pytest.FixtureRequest, broker: Sandbox, topic: str, tmp_path: Path
) -> DyingProgram:
    """Give the program that the test names as ``test_<program>_...``."""
    name = next(
        program for program in PROGRAMS if program.removeprefix("poll_") in request.node.name
    )
    return DyingProgram(name, broker, topic, tmp_path)


PROGRAMS = sorted(file.stem for file in EXAMPLES.glob("poll_*.py"))


def test_every_program_is_described() -> None:
    """docs/delivery-recipes.md names exactly these programs, and each has a test here."""
    named = set(re.findall(r"\]\(examples/(\w+)\.py\)", PAGE))
    assert named == set(PROGRAMS)
    tests = Path(__file__).read_text("utf-8")
    assert [program for program in PROGRAMS if program.removeprefix("poll_") not in tests] == []


def test_at_most_once_loses_unfinished_work_and_repeats_nothing(trial: DyingProgram) -> None:
    """Killed before a record is processed, and after a commit, before any of its records."""
    trial.die((BEFORE_WORK, 50), (AFTER_COMMIT, 1))
    last = {f"{number} {EACH - 1} record {EACH - 1} of {number}" for number in range(PARTITIONS)}
    done = trial.finish(last)
    assert max(done.values()) == 1
    assert done.keys() < expected()
    assert len(done) >= PARTITIONS * EACH - 2 * AT_ONCE


@pytest.mark.parametrize(
    ("program", "at_once"),
    [("poll_at_least_once", AT_ONCE), ("poll_async_commits", 2 * AT_ONCE)],
)
def test_at_least_once_and_async_commits_lose_nothing(
    broker: Sandbox, topic: str, tmp_path: Path, program: str, at_once: int
) -> None:
    """Records that were being processed at the kill come again, and no more."""
    trial = DyingProgram(program, broker, topic, tmp_path)
    deaths = [(BEFORE_WORK, 150), (AFTER_WORK, 130)]
    trial.die(*deaths)
    done = trial.finish(expected())
    assert done.keys() == expected()
    assert 0 < done.total() - len(done) <= len(deaths) * at_once


def test_commit_each_repeats_one_record_a_kill(trial: DyingProgram) -> None:
    """Killed between processing and commit, that record comes again, and no other."""
    trial.die((AFTER_WORK, 40), (BEFORE_WORK, 30), (AFTER_COMMIT, 20))
    done = trial.finish(expected())
    assert done.keys() == expected()
    assert done.total() - len(done) == 1


def stored(target: Path) -> list[tuple[int, int, str]]:
    """Return what is in the database: partition, offset and value."""
    if not target.exists():
        return []
    with closing(sqlite3.connect(target)) as database:
        try:
            return database.execute("select part, at, value from lines").fetchall()
        except sqlite3.OperationalError:  # it has no tables yet
            return []


def test_exactly_once_stores_each_record_once(trial: DyingProgram) -> None:
    """Killed before the offset is written, before the database's commit, and after it."""
    first = 2 + 2 + EACH  # two offset lookups; BEGIN and another lookup; the partition's records
    trial.die((STATEMENT, first + 1), (STATEMENT, first + 2), (STATEMENT, first + 3))
    with running(trial.recipe(), trial.errors) as process:
        wait_until(
            lambda: process.poll() is not None or len(stored(trial.target)) >= PARTITIONS * EACH,
            what="all records",
        )
        assert process.poll() is None, trial.complaints()
    assert Counter(f"{part} {at} {value}" for part, at, value in stored(trial.target)) == Counter(
        expected()
    )


def test_exactly_once_ignores_late_writes_of_a_former_owner(tmp_path: Path) -> None:
    """A member that was frozen stores its records late: rows that are there stay as they are."""
    recipe = load("poll_exactly_once")
    origin = RecordOrigin(TopicPartition("t", 3), value_deserializer=bytes.decode)
    records = [consumer_record(origin, (at, None, b"%d" % at, -1, -1), (), -1) for at in range(6)]
    with closing(recipe.open_database(str(tmp_path / "target"))) as database:
        recipe.store(database, records[:4])
        recipe.store(database, records[2:6])
        recipe.store(database, records[1:3])
        assert recipe.next_offset(database, TopicPartition("t", 3)) == 6
    assert stored(tmp_path / "target") == [(3, at, str(at)) for at in range(6)]


JAVA_SCRIPT = [
    "a begin",
    'a send {"account":"ann","euro":"10"} {"account":"bo","euro":"2.50"}',
    "b begin",
    'b send {"account":"ann","euro":"999"}',
    "a commit",
    "b abort",
    "a begin",
    'a send {"account":"ann","euro":"0.5"}',
    "a commit",
    "b begin",
    'b send {"account":"bo","euro":"777"}',
]


@pytest.mark.skipif(no_compiler_because() is not None, reason=str(no_compiler_because()))
def test_read_committed_skips_aborted_and_open_payments(broker: Sandbox, tmp_path: Path) -> None:
    """A real Java producer aborts two payments or leaves them open; the program is killed once."""
    topic = fresh_name("recipe")
    broker.create_topic(topic)
    run_oracle(
        "TransactionOracle.java",
        [broker.bootstrap_servers, topic, "none"],
        JAVA_SCRIPT,
        class_path=jars.class_path(KAFKA),
    )
    trial = DyingProgram("poll_read_committed", broker, topic, tmp_path)
    trial.die((STATEMENT, 5))
    with running(trial.recipe(), trial.errors) as process:
        wait_until(
            lambda: process.poll() is not None or balances(trial.target).get("ann") == 1050,
            what="the last committed payment",
        )
        assert process.poll() is None, trial.complaints()
    assert balances(trial.target) == {"ann": 1050, "bo": 250}


def balances(target: Path) -> dict[str, int]:
    """Return the balances of the ledger."""
    if not target.exists():
        return {}
    with closing(sqlite3.connect(target)) as database:
        try:
            return dict(database.execute("select account, cents from balances"))
        except sqlite3.OperationalError:  # it has no tables yet
            return {}


def at_hour(hour: int) -> int:
    """Return the time of that hour of a fixed day, in ms."""
    return round(datetime(2026, 11, 20, hour, tzinfo=UTC).timestamp() * 1000)


def test_from_time_reads_records_from_that_time_on(broker: Sandbox) -> None:
    """Each partition is read from its first record of that time; one with older records is not."""
    topic = fresh_name("recipe")
    broker.create_topic(topic, partitions=3)
    with closing(raw_connection(broker.brokers[0])) as connection:
        for partition, hours in ((0, (5, 6, 7, 8)), (1, (3, 4)), (2, (7,))):
            records = [
                Record(at, None, f"at {hour}".encode(), at_hour(hour), TimestampType.CREATE_TIME)
                for at, hour in enumerate(hours)
            ]
            produce(connection, topic, partition, build_message_set(records, magic=1))
    program = EXAMPLES / "poll_from_time.py"
    arguments = (broker.bootstrap_servers, topic, "2026-11-20T07:30:00+01:00")
    ended = subprocess.run(
        [sys.executable, program, *arguments], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    found = sorted(line.split("\t")[1:] for line in ended.stdout.splitlines())
    assert found == [["0", "2", "at 7"], ["0", "3", "at 8"], ["2", "0", "at 7"]]


def test_slow_handler_stays_in_its_group(broker: Sandbox, tmp_path: Path) -> None:
    """Each record takes three times max.poll.interval.ms, and is processed once."""
    topic = filled(broker, 3)
    trial = DyingProgram("poll_slow_handler", broker, topic, tmp_path)
    slow = trial.recipe(settings={"max_poll_interval_ms": 1200})
    with running(slow, trial.errors) as process:
        wait_until(
            lambda: process.poll() is not None or trial.done().keys() == expected(3),
            what="all work",
        )
        assert process.poll() is None, trial.complaints()
        assert max(trial.done().values()) == 1
        with KafkaConsumer(
            bootstrap_servers=broker.bootstrap_servers, group_id=trial.group
        ) as watcher:
            wait_until(
                lambda: (
                    [
                        watcher.committed(TopicPartition(topic, number))
                        for number in range(PARTITIONS)
                    ]
                    == [3, 3]
                ),
                what="the commits",
            )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_graceful_stop_commits_and_leaves_at_once(
    trial: DyingProgram, broker: Sandbox, topic: str, number: signal.Signals
) -> None:
    """Everything is committed, and the next member need not wait for the session to end."""
    with running(trial.recipe(), trial.errors) as process:
        wait_until(lambda: trial.done().keys() == expected(), what="all records")
        process.send_signal(number)
        assert process.wait(WAIT_S) == 0, trial.complaints()
    with KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=trial.group) as watcher:
        found = [
            watcher.committed(TopicPartition(topic, partition)) for partition in range(PARTITIONS)
        ]
    assert found == [EACH, EACH]
    assert max(trial.done().values()) == 1
