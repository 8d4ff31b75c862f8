"""Reports of single passes: medians, ratios within a round, outcomes of goals, tables, chart."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.benchmarks import chart, goals, table
from tests.benchmarks.clients.job import Job
from tests.benchmarks.clients.stamps import LAST, Delays, stamped
from tests.benchmarks.contestants import catalog
from tests.benchmarks.contestants.contestant import Pass, checked
from tests.benchmarks.contestants.programs import Program
from tests.benchmarks.figures import Run, ratio, rows
from tests.benchmarks.latency import LatencyRun
from tests.benchmarks.processes import ClientFailed, ClientSkipped, last_response
from tests.benchmarks.results import Results

TOPIC = "100-none-p4"
LABELS = {"raw": "raw fetch", "one-by-one": "zkconsumer, one by one"}


def a_run(contestant: str, number: int, seconds: float, **changes: object) -> Run:
    """Return a pass over a million records."""
    result = Pass(
        records=1_000_000, seconds=seconds, cpu_seconds=1.0, peak_kb=2048, first_record_ms=20.0
    )
    run = Run(
        topic=TOPIC,
        contestant=contestant,
        round=number,
        result=result,
        value_bytes=100,
        broker_cpu_seconds=0.5,
        foreign_cpu_seconds=0.0,
        wall_seconds=seconds,
    )
    return replace(run, **changes)  # type: ignore[arg-type] # fields of Run


# The whole machine is half as fast in the second round, which must not change the ratios.
RUNS = [
    a_run("raw", 0, 0.1),
    a_run("one-by-one", 0, 0.2),
    a_run("one-by-one", 1, 0.4),
    a_run("raw", 1, 0.2),
    a_run("one-by-one", 2, 0.1),
]
LATENCY = [
    LatencyRun(
        partitions=1, contestant=name, round=0, messages=9, p50_us=p99, p99_us=p99, max_us=p99
    )
    for name, p99 in (("scala-warm", 2000), ("one-by-one", 3000))
]


def test_ratios_are_taken_within_a_round() -> None:
    """A round that lacks one of the two contestants does not count."""
    found = ratio(RUNS, TOPIC, "one-by-one", "raw")
    assert found is not None
    assert (found.median, found.lowest, found.highest) == (0.5, 0.5, 0.5)
    assert ratio(RUNS, TOPIC, "one-by-one", "scala") is None


def test_a_row_holds_medians_of_its_rounds() -> None:
    """It also has the slowest and the fastest round; CPU time is per million records."""
    row = rows(RUNS)[TOPIC]["one-by-one"]
    assert (row.lowest, row.rate, row.highest) == (2_500_000, 5_000_000, 10_000_000)
    assert (row.megabytes, row.cpu_seconds, row.broker_cpu_seconds) == (500, 1.0, 0.5)
    assert row.rounds == 3


def test_a_pass_is_disturbed_by_what_others_use() -> None:
    """The limit is 50 ms of CPU time plus a tenth of the pass's wall time."""
    assert not a_run("raw", 0, 1.0, foreign_cpu_seconds=0.14).disturbed
    assert a_run("raw", 0, 1.0, foreign_cpu_seconds=0.16).disturbed


def test_the_row_of_the_defaults_has_no_settings() -> None:
    """A buffer or fetch size, if set, would switch off its growth; only Arrow has a fetch size."""
    ours = {
        contestant.name: contestant
        for contestant in catalog.everybody()
        if isinstance(contestant, Program)
    }
    assert ours[catalog.OURS].settings == ours[catalog.BATCHES].settings == {}
    for name, megabytes in ((catalog.ARROW, 1), (catalog.ARROW_4MB, 4)):
        assert ours[name].settings == {"fetch.message.max.bytes": str(megabytes << 20)}


def test_goals_are_judged() -> None:
    """Each goal that was measured has a line with its outcome."""
    lines = list(goals.of_topic(RUNS, TOPIC, rows(RUNS)[TOPIC]))
    assert "- one-by-one to raw: 0.50 (0.50 - 0.50), at least 0.65: MISSED" in lines
    assert "- peak memory of one-by-one: 2 MB, at most 108: reached" in lines
    assert "- first record of one-by-one after 20 ms, at most 100: reached" in lines
    assert list(goals.of_latency(LATENCY)) == [
        "- p99 of one-by-one to scala-warm, 1 partitions: 1.50, at most 1: MISSED"
    ]


def test_results_are_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    """Tables can be made again from the file."""
    results = Results({"processors": 2}, LABELS, RUNS, LATENCY, {(TOPIC, "arrow"): "not here"})
    results.save(tmp_path / "new" / "results.json")
    assert Results.load(tmp_path / "new" / "results.json") == results


def test_the_table_shows_who_is_missing() -> None:
    """It has a row with the reason, besides the rows of those that ran."""
    text = table.throughput(RUNS, {(TOPIC, "arrow"): "not here"}, LABELS)
    assert "| arrow | not here |" in text
    assert "zkconsumer, one by one | **5** | 2.5 - 10 |" in text


def test_the_overview_has_a_column_for_each_topic() -> None:
    """A cell also has the ratio to the original's tool, if that has read the topic."""
    other = [a_run("scala", 0, 0.5), a_run("one-by-one", 0, 0.2)]
    runs = [*RUNS, *(replace(run, topic="100-gzip-p1") for run in other)]
    lines = table.overview(runs, LABELS).splitlines()
    assert lines[2] == "| what | 100-none-p4 | 100-gzip-p1 |"
    assert lines[4:] == [
        "| raw fetch | 7.5 |  |",
        "| zkconsumer, one by one | 5 | 5 (2.5 x) |",
        "| scala |  | 2 |",
    ]


def test_the_chart_is_well_formed_and_in_proportion() -> None:
    """The longest bar is the fastest contestant's, and the others are in proportion to it."""
    drawn = chart.draw(Results({}, LABELS, RUNS), [(TOPIC, "100 bytes & more"), ("none", "none")])
    bars = [
        (element.get("class"), float(element.get("width", "0")))
        for element in ElementTree.fromstring(drawn).iter()
        if element.tag.endswith("rect")
    ]
    [(first, longest), (second, shorter)] = bars
    assert (first, second) == ("raw", "ours")
    assert shorter == pytest.approx(longest * 5 / 7.5, abs=1)  # raw: 10 and 5 M/s
    assert "100 bytes &amp; more" in drawn


JOB = Job(
    bootstrap="h:1",
    zookeeper="h:2",
    topic=TOPIC,
    partitions=4,
    records=10,
    value_bytes=100,
    fetch_bytes=1,
    group="g",
)


@pytest.mark.parametrize(
    ("records", "value_bytes"), [(9, 900), (10, 999), (11, 1000)], ids=["few", "short", "more"]
)
def test_a_pass_that_did_not_read_everything_is_refused(records: int, value_bytes: int) -> None:
    """Too few records, or a wrong sum of lengths, is an error instead of a figure."""
    response: dict[str, object] = {"records": records, "value_bytes": value_bytes, "seconds": 1.0}
    with pytest.raises(ClientFailed):
        checked(JOB, response, cpu_seconds=1, peak_kb=1)


def test_what_a_client_says_last_counts() -> None:
    """It may have printed other lines before; the last one may also report a skipped job."""
    assert last_response('warning\n{"records": 1}\n') == {"records": 1}
    with pytest.raises(ClientSkipped, match="not in this build"):
        last_response('{"skipped": "not in this build"}')
    with pytest.raises(ClientFailed):
        last_response("Traceback")


def test_a_stamp_tells_how_late_its_message_came() -> None:
    """It also marks the last message."""
    delays = Delays()
    assert delays.take(stamped(7, bytes(100)))
    assert not delays.take(stamped(LAST, bytes(100)))
    assert all(0 <= late_ns < 10**10 for late_ns in delays.found_ns)
    assert len(stamped(7, bytes(100))) == 100
