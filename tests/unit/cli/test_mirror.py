"""``zkconsumer mirror``: the flags of the original and ours, and what is printed."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import pytest

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.cli.main import main
from zkconsumer.cli.mirror import command as mirror
from zkconsumer.cli.mirror.metrics import mirror_families
from zkconsumer.cli.mirror.report import json_of, summary_table
from zkconsumer.cli.mirror.verify import json_of as json_of_proof
from zkconsumer.cli.mirror.verify import text_of
from zkconsumer.errors import ConfigError
from zkconsumer.mirror.mirror import MirrorProgress
from zkconsumer.mirror.partition_totals import PartitionAccount
from zkconsumer.mirror.proof import MirroredPartition
from zkconsumer.mirror.routing import Partitioning
from zkconsumer.mirror.settings import MirrorSettings
from zkconsumer.mirror.verify import MirrorProof
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SHORT = ["--zookeeper", "zk:2181", "--group", "g", "--whitelist", "t"]
TARGET = ["--target-bootstrap-servers", "new:9092"]


def settings(*words: str) -> MirrorSettings:
    """Return the settings of these arguments."""
    parser = argparse.ArgumentParser()
    mirror.add_arguments(parser)
    return mirror.settings_of(parser.parse_args(list(words)))


def test_the_flags_of_the_original_are_understood(tmp_path: Path) -> None:
    """Two source clusters and one target, as in the original's manual."""
    files = []
    for number in range(2):
        file = tmp_path / f"consumer-{number}"
        file.write_text(
            f"zookeeper.connect=zk{number}:2181\ngroup.id=g{number}\n"
            f"auto.commit.interval.ms={3000 + number}\n"
        )
        files += ["--consumer.config", str(file)]
    producer = tmp_path / "producer"
    producer.write_text("metadata.broker.list=new:9092\ncompression.codec=gzip\n")
    found = settings(
        *files,
        *("--producer.config", str(producer), "--num.streams", "4", "--num.producers", "2"),
        *("--queue.size", "500", "--new.producer", "--blacklist", "x,y"),
    )
    assert [consumer["zookeeper.connect"] for consumer in found.consumers] == [
        "zk0:2181",
        "zk1:2181",
    ]
    assert found.topics == Blacklist("x,y")
    assert (found.streams, found.batch_records, found.commit_interval_ms) == (4, 500, 3_000)
    assert found.abort_on_send_failure
    assert found.partitioning is Partitioning.SAME


def test_our_own_flags_override_the_files() -> None:
    """Flags of the original of 0.9 are understood as well."""
    found = settings(
        *(*SHORT, *TARGET, "--partitions", "key", "--topic-prefix", "copy-", "--create-topics"),
        *("--offset.commit.interval.ms", "700", "--abort.on.send.failure", "false"),
        *("--max-messages", "9", "--stop-at-end", "--offsets-file", "o", "--max-in-flight", "99"),
    )
    (consumer,) = found.consumers
    assert consumer["zookeeper.connect"] == "zk:2181"
    assert consumer["fetch.max.bytes"] == 99
    assert found.topics == Whitelist("t")
    assert (found.commit_interval_ms, found.max_messages) == (700, 9)
    assert found.stop_at_end
    assert not found.abort_on_send_failure


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ([*SHORT[:4], *TARGET], "exactly one of --whitelist and --blacklist"),
        ([*SHORT, "--blacklist", "x", *TARGET], "exactly one of"),
        (SHORT, "no target is given"),
        ([*SHORT[2:], *TARGET], "no source is given"),
        (["--zookeeper", "zk:1", "--whitelist", "t", *TARGET], "no group is given"),
        ([*SHORT, *TARGET, "--source-bootstrap-servers", "b:1"], "the group is kept there"),
    ],
)
def test_missing_or_contradictory_flags_are_refused(words: Sequence[str], reported: str) -> None:
    """Nothing is mirrored, and the error says what to give."""
    with pytest.raises(ConfigError, match=reported):
        settings(*words)


def test_usage_errors_do_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is 2."""
    for words in (["--num.streams", "0"], ["--partitions", "any"], ["verify"]):
        with pytest.raises(SystemExit) as ended:
            main(["mirror", *SHORT, *TARGET, *words])
        assert ended.value.code == 2
    assert "usage" not in capsys.readouterr().out


def test_the_summary_adds_up() -> None:
    """There is a row per partition and a total; an unknown value is a dash, or null in JSON."""
    progress = MirrorProgress(
        1_500,
        {
            "zk:2181": {
                T0: PartitionAccount(read=12, acknowledged=10, again=2, position=10, committed=8),
                T1: PartitionAccount(read=3, acknowledged=2, dropped=1, gap=4),
            }
        },
    )
    lines = summary_table(progress).splitlines()
    assert lines[1].split() == ["t", "0", "12", "10", "2", "0", "0", "10", "8"]
    assert lines[2].split() == ["t", "1", "3", "2", "0", "1", "4", "-", "-"]
    assert lines[3].split() == ["(all)", "15", "12", "2", "1", "4"]
    reported = json_of(progress, ended=True)
    assert (reported["ended"], reported["running_ms"], reported["read"], reported["again"]) == (
        True,
        1_500,
        15,
        2,
    )
    partitions = reported["partitions"]
    assert isinstance(partitions, list)
    assert partitions[1]["committed"] is None


def test_several_sources_are_distinguished(tmp_path: Path) -> None:
    """Table and JSON name the source; a flag about a single source is refused."""
    account = PartitionAccount(read=1)
    progress = MirrorProgress(1, {"zk0:1": {T0: account}, "zk1:1": {T0: account}})
    lines = summary_table(progress).splitlines()
    assert lines[0].split()[:3] == ["SOURCE", "TOPIC", "PARTITION"]
    assert [line.split()[0] for line in lines[1:3]] == ["zk0:1", "zk1:1"]
    assert lines[3].split()[:2] == ["(all)", "2"]
    files = []
    for number in range(2):
        file = tmp_path / f"{number}"
        file.write_text(f"zookeeper.connect=zk{number}:1\ngroup.id=g\n")
        files += ["--consumer.config", str(file)]
    for words in (["--offsets-file", "o"], ["--max-messages", "3"]):
        with pytest.raises(ConfigError, match="run a mirror for each"):
            settings(*files, *TARGET, "--whitelist", "t", *words)


def test_each_partition_has_metrics() -> None:
    """An unknown value has no sample."""
    account = PartitionAccount(read=12, acknowledged=10, again=2, dropped=1, gap=4, position=9)
    families = {
        family.name: {sample.labels: sample.value for sample in family.samples}
        for family in mirror_families(MirrorProgress(1, {"zk:1/k": {T0: account}}))
    }
    labels = ("zk:1/k", "t", "0")
    assert families == {
        "zkconsumer_mirror_read_total": {labels: 12},
        "zkconsumer_mirror_acknowledged_total": {labels: 10},
        "zkconsumer_mirror_again_total": {labels: 2},
        "zkconsumer_mirror_dropped_total": {labels: 1},
        "zkconsumer_mirror_gap_total": {labels: 4},
        "zkconsumer_mirror_position_offset": {labels: 9},
        "zkconsumer_mirror_committed_offset": {},
    }


def test_the_proof_is_printed_with_its_faults() -> None:
    """A proof says whether every committed message is in the target, and where one is missing."""
    good = MirroredPartition(T0, 0, 9, messages=9, mirrored=9, copies=1)
    bad = MirroredPartition(T1, 0, 5, messages=5, mirrored=4, missing=1, examples=["offset 3 ..."])
    text = text_of(MirrorProof((good,), {T0: 2}))
    assert "every committed message is in the target" in text
    assert "2 offsets of the target are in no line" in text
    faulty = MirrorProof((good, bad), {})
    text = text_of(faulty)
    assert "t-1: offset 3 ..." in text
    assert "NOT every committed message" in text
    reported = json_of_proof(faulty)
    assert reported["proven"] is False
