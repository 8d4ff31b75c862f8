"""``zkconsumer get-offset`` with brokers in memory."""

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from tests.support.scripted_cluster import ScriptedCluster
from zkconsumer.cli import get_offset
from zkconsumer.cli.main import main
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import TopicPartition
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import VersionRange

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> ScriptedCluster:
    """Two brokers that lead a partition each; a third partition has no leader."""
    brokers = ScriptedCluster(leaders={T0: 0, T1: 1, T2: -1})

    @contextmanager
    def open_it(_args: argparse.Namespace) -> Iterator[SimpleNamespace]:
        client = brokers.client()
        yield SimpleNamespace(client=client)
        client.stop()

    monkeypatch.setattr(get_offset, "open_cluster", open_it)
    return brokers


def run(*flags: str) -> int:
    """Run the command and return its exit status."""
    return main(["get-offset", "--broker-list", "b0:9092", "--topic", "t", *flags])


@pytest.mark.usefixtures("brokers")
def test_the_table_lists_all_partitions(capsys: pytest.CaptureFixture[str]) -> None:
    """A partition without a leader is listed with its error, without waiting for one."""
    assert run("--time", "-1") == 1
    assert capsys.readouterr().out.splitlines() == [
        "TOPIC  PARTITION  OFFSET  NOTE",
        "t              0     100",
        "t              1     100",
        "t              2       -  LEADER_NOT_AVAILABLE (5)",
    ]
    assert run("--partitions", "1,0", "--json") == 0
    reported = json.loads(capsys.readouterr().out)
    assert [partition["partition"] for partition in reported["partitions"]] == [1, 0]
    assert reported["partitions"][0]["offsets"] == [100]


@pytest.mark.usefixtures("brokers")
def test_the_output_equals_the_original_s(capsys: pytest.CaptureFixture[str]) -> None:
    """Offsets go to standard output, errors to standard error."""
    assert run("--time", "-2", "--partitions", "2,0,9", "--format", "scala") == 0
    printed = capsys.readouterr()
    assert printed.out == "t:0:0\n"
    assert printed.err.splitlines() == [
        "Error: partition 2 does not have a leader. Skip getting offsets",
        "Error: partition 9 does not exist",
    ]


def test_other_errors_are_reported(
    brokers: ScriptedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Even in the original's format, where the original itself crashes."""
    brokers.fails[T1] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert run("--format", "scala", "--partitions", "0,1") == 1
    printed = capsys.readouterr()
    assert printed.out == "t:0:100\n"
    assert "t-1: TOPIC_AUTHORIZATION_FAILED" in printed.err


@pytest.mark.usefixtures("brokers")
def test_invalid_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown partition or topic and an invalid time are errors."""
    assert run("--partitions", "3") == 2
    assert "it has 0, 1, 2" in capsys.readouterr().err
    assert run("--time", "yesterday") == 2
    assert main(["get-offset", "--broker-list", "b", "--topic", "gone"]) == 2
    assert "there is no topic gone" in capsys.readouterr().err


def test_old_leaders_return_offsets_of_segments(
    brokers: ScriptedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """An offset that is only that of a segment is marked with "~"."""
    for broker in brokers.brokers:
        broker.serves = {**broker.serves, ApiKey.LIST_OFFSETS: VersionRange(0, 0)}
    assert run("--time", "2026-11-21T08:00:00Z", "--partitions", "0") == 0
    assert capsys.readouterr().out.splitlines()[1] == "t              0  ~1795248000000"


def test_several_offsets_are_refused_by_new_leaders(
    brokers: ScriptedCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says to leave out ``--offsets``."""
    for broker in brokers.brokers:
        broker.serves = {**broker.serves, ApiKey.LIST_OFFSETS: VersionRange(1, 7)}
    assert run("--partitions", "0") == 0
    assert run("--offsets", "2") == 2
    assert "leave out --offsets" in capsys.readouterr().err


def test_a_cluster_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    """Without brokers or ZooKeeper the error names the flag."""
    assert main(["get-offset", "--topic", "t"]) == 2
    assert "--bootstrap-server" in capsys.readouterr().err
