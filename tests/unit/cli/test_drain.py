"""``zkconsumer drain`` and ``drain verify``: what needs no Spark."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.drain_world import IDENTITY
from zkconsumer.cli import drain_verify
from zkconsumer.cli.main import main
from zkconsumer.cli.parsing import build_parser
from zkconsumer.drain import layout
from zkconsumer.drain.proving.proof import DrainProof
from zkconsumer.drain.proving.report import as_text


def test_a_fault_of_ours_says_nothing_of_the_drain(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not what "not proven" means."""

    def fail(_args: object) -> tuple[int, str]:
        raise KeyError("oops")

    monkeypatch.setattr(drain_verify, "_verify", fail)
    assert main(["drain", "verify", "x"]) == 2
    assert "unexpected KeyError('oops')" in capsys.readouterr().err


def test_what_a_path_holds_can_not_drive_a_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Neither in a refusal nor in a report: files there may be anybody's."""
    assert main(["drain", "verify", f"{tmp_path}/\x1b[31m", "--engine", "local"]) == 2
    assert "\\x1b[31m: _zkconsumer/drain.json is not there" in capsys.readouterr().err
    proof = DrainProof(
        path="/lake",
        format="parquet",
        batches=0,
        partitions=(),
        file_problems=("\x1b[2J is foreign",),
    )
    assert "wrong: \\x1b[2J is foreign\n" in as_text(proof)


def test_the_cluster_may_be_named_before_the_word_verify() -> None:
    """Otherwise it would be left out without a word, and less proven than was asked for."""
    before = ["drain", "--zookeeper", "zk:1", "--bootstrap-servers", "b:1", "--master", "local"]
    args = build_parser().parse_args([*before, "verify", "x"])
    assert (args.zookeeper, args.bootstrap_servers, args.master) == ("zk:1", "b:1", "local")
    args = build_parser().parse_args([*before, "verify", "x", "--zookeeper", "zk:2"])
    assert args.zookeeper == "zk:2"
    args = build_parser().parse_args(["drain", "verify", "x"])
    assert (args.zookeeper, args.bootstrap_servers, args.master) == (None, None, None)


def test_a_file_says_how_to_get_into_the_cluster(tmp_path: Path) -> None:
    """Wherever it is named; by itself it is no cluster to compare with."""
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\n")
    named = ["--command-config", str(file)]
    wanted = {"kafka.security.protocol": "SSL", "kafka.bootstrap.servers": "b:1"}
    for words in (
        ["drain", *named, "verify", "x", "--bootstrap-servers", "b:1"],
        ["drain", "verify", "x", *named, "--option", "kafka.bootstrap.servers=b:1"],
    ):
        assert drain_verify._cluster(build_parser().parse_args(words)) == wanted
    assert (
        drain_verify._cluster(build_parser().parse_args(["drain", *named, "verify", "x"])) is None
    )


def test_the_format_of_a_drain_is_looked_up_below_a_uri_too(tmp_path: Path) -> None:
    """A mirror's state would go to the engine that can't read it."""
    place = tmp_path / "a state" / layout.IDENTITY
    place.parent.mkdir(parents=True)
    place.write_bytes(replace(IDENTITY, format="kafka").to_bytes())
    state = tmp_path / "a state"
    for path in (str(state), state.as_uri(), f"file:{tmp_path}/a%20state", f"FILE:{state}"):
        assert drain_verify._format_at(path) == "kafka"
    assert drain_verify._format_at(f"file:{tmp_path}") is None
