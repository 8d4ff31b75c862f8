"""``zkconsumer drain`` and ``drain verify``, without Spark."""

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


def test_an_internal_error_is_not_a_failed_proof(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status of an internal error differs from that of "not proven"."""

    def fail(_args: object) -> tuple[int, str]:
        raise KeyError("oops")

    monkeypatch.setattr(drain_verify, "_verify", fail)
    assert main(["drain", "verify", "x"]) == 2
    assert "unexpected KeyError('oops')" in capsys.readouterr().err


def test_control_characters_in_paths_are_escaped(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Anybody may create files there, so errors and reports escape their names."""
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


def test_the_cluster_may_be_named_before_verify() -> None:
    """Options in front of ``verify`` apply; otherwise less would be proven without a warning."""
    before = ["drain", "--zookeeper", "zk:1", "--bootstrap-servers", "b:1", "--master", "local"]
    args = build_parser().parse_args([*before, "verify", "x"])
    assert (args.zookeeper, args.bootstrap_servers, args.master) == ("zk:1", "b:1", "local")
    args = build_parser().parse_args([*before, "verify", "x", "--zookeeper", "zk:2"])
    assert args.zookeeper == "zk:2"
    args = build_parser().parse_args(["drain", "verify", "x"])
    assert (args.zookeeper, args.bootstrap_servers, args.master) == (None, None, None)


def test_a_command_config_is_used_to_connect(tmp_path: Path) -> None:
    """The file may be named before or after ``verify``; alone it names no cluster."""
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


def test_the_format_of_a_drain_is_read_below_a_uri_too(tmp_path: Path) -> None:
    """A mirror's state must not be verified by an engine that cannot read it."""
    identity_file = tmp_path / "a state" / layout.IDENTITY
    identity_file.parent.mkdir(parents=True)
    identity_file.write_bytes(replace(IDENTITY, format="kafka").to_bytes())
    state = tmp_path / "a state"
    for path in (str(state), state.as_uri(), f"file:{tmp_path}/a%20state", f"FILE:{state}"):
        assert drain_verify._format_at(path) == "kafka"
    assert drain_verify._format_at(f"file:{tmp_path}") is None
