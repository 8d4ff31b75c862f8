"""What is made of single passes: medians, ratios within a round, verdicts, tables, the chart."""

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
    """A pass over a million records."""
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


# The whole machine is half as fast in the second round, which no ratio may show.
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
    """A round that lacks one of the two does not count."""
    found = ratio(RUNS, TOPIC, "one-by-one", "raw")
    assert found is not None
    assert (found.median, found.lowest, found.highest) == (0.5, 0.5, 0.5)
    assert ratio(RUNS, TOPIC, "one-by-one", "scala") is None


def test_a_row_holds_medians_of_its_rounds() -> None:
    """And its extremes, per million records."""
    row = rows(RUNS)[TOPIC]["one-by-one"]
    assert (row.lowest, row.rate, row.highest) == (2_500_000, 5_000_000, 10_000_000)
    assert (row.megabytes, row.cpu_seconds, row.broker_cpu_seconds) == (500, 1.0, 0.5)
    assert row.rounds == 3


def test_a_pass_is_disturbed_by_what_others_use() -> None:
    """A tenth of its time, and more than a moment."""
    assert not a_run("raw", 0, 1.0, foreign_cpu_seconds=0.14).disturbed
    assert a_run("raw", 0, 1.0, foreign_cpu_seconds=0.16).disturbed


def test_the_row_of_the_defaults_has_no_settings() -> None:
    """Neither a buffer nor a size of fetches, which would switch their growth off."""
    ours = {
        contestant.name: contestant
        for contestant in catalog.everybody()
        if isinstance(contestant, Program)
    }
    assert ours[catalog.OURS].settings == ours[catalog.BATCHES].settings == {}
    for name, megabytes in ((catalog.ARROW, 1), (catalog.ARROW_4MB, 4)):
        assert ours[name].settings == {"fetch.message.max.bytes": str(megabytes << 20)}


def test_goals_are_judged() -> None:
    """Each one that was measured says whether it was reached."""
    lines = list(goals.of_topic(RUNS, TOPIC, rows(RUNS)[TOPIC]))
    assert "- one-by-one to raw: 0.50 (0.50 - 0.50), at least 0.65: MISSED" in lines
    assert "- peak memory of one-by-one: 2 MB, at most 108: reached" in lines
    assert "- first record of one-by-one after 20 ms, at most 100: reached" in lines
    assert list(goals.of_latency(LATENCY)) == [
        "- p99 of one-by-one to scala-warm, 1 partitions: 1.50, at most 1: MISSED"
    ]


def test_results_are_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    """So that tables can be made again."""
    results = Results({"processors": 2}, LABELS, RUNS, LATENCY, {(TOPIC, "arrow"): "not here"})
    results.save(tmp_path / "new" / "results.json")
    assert Results.load(tmp_path / "new" / "results.json") == results


def test_the_table_shows_who_is_missing() -> None:
    """With the reason, beside those that ran."""
    text = table.throughput(RUNS, {(TOPIC, "arrow"): "not here"}, LABELS)
    assert "| arrow | not here |" in text
    assert "zkconsumer, one by one | **5** | 2.5 - 10 |" in text


def test_the_overview_has_a_column_for_each_topic() -> None:
    """And how many times faster than the original's tool everybody was there."""
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
    """The fastest bar is the longest."""
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
    """Too few records, or lengths that don't add up, give no figure."""
    response: dict[str, object] = {"records": records, "value_bytes": value_bytes, "seconds": 1.0}
    with pytest.raises(ClientFailed):
        checked(JOB, response, cpu_seconds=1, peak_kb=1)


def test_what_a_client_says_last_counts() -> None:
    """It may have said other things before; or that it can't do it here."""
    assert last_response('warning\n{"records": 1}\n') == {"records": 1}
    with pytest.raises(ClientSkipped, match="not in this build"):
        last_response('{"skipped": "not in this build"}')
    with pytest.raises(ClientFailed):
        last_response("Traceback")


def test_a_stamp_tells_how_late_its_message_came() -> None:
    """And whether it was the last one."""
    delays = Delays()
    assert delays.take(stamped(7, bytes(100)))
    assert not delays.take(stamped(LAST, bytes(100)))
    assert all(0 <= late_ns < 10**10 for late_ns in delays.found_ns)
    assert len(stamped(7, bytes(100))) == 100
