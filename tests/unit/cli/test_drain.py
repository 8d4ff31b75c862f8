"""``zkconsumer drain`` and ``drain verify``: what needs no Spark."""

import os
import subprocess
import sys
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

WITHOUT_SPARK = (
    "import sys; sys.modules.update(pyspark=None, pyarrow=None); "
    "from zkconsumer.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["--version"], 0, ""),
        (["drain", "--help"], 0, ""),
        (
            ["drain", "--zookeeper", "zk:1", "--topics", "t", "--to", "x", "--master", "local[2]"],
            1,
            "zkconsumer: zkconsumer.spark needs pyspark and pyarrow: "
            "pip install 'zkconsumer[spark]'\n",
        ),
        (
            ["drain", "verify", "x", "--engine", "spark"],
            2,
            "zkconsumer: zkconsumer.spark needs pyspark and pyarrow: "
            "pip install 'zkconsumer[spark]'\n",
        ),
        (
            ["drain", "--zookeeper", "zk:1", "--topics", "t", "--to", "x"],
            1,
            "zkconsumer: the local engine needs pyarrow: pip install 'zkconsumer[local]'\n",
        ),
        (
            ["drain", "verify", "x"],
            2,
            "zkconsumer: the local engine needs pyarrow: pip install 'zkconsumer[local]'\n",
        ),
    ],
)
def test_where_no_engine_is_installed(arguments: list[str], status: int, error: str) -> None:
    """Everything else works, and what needs it says so in one line."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, error)


def test_where_pyiceberg_is_not_installed(tmp_path: Path) -> None:
    """A drain into Iceberg says so before it begins; others do without."""
    blocked = WITHOUT_SPARK.replace("pyarrow", "pyiceberg")
    drain = ("drain", "--zookeeper", "127.0.0.1:1", "--topics", "t", "--to", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", blocked, *drain, "--format", "iceberg", "--engine", "local"],
        capture_output=True,
        text=True,
        check=False,
    )
    said = "zkconsumer: an Iceberg table needs pyiceberg: pip install 'zkconsumer[local]'\n"
    assert (done.returncode, done.stderr) == (1, said)


VERIFIED = (
    "import sys; from zkconsumer.cli import drain_verify; "
    "drain_verify._verify = lambda _args: (1, 'NOT PROVEN' * 100_000); "
    "from zkconsumer.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


def test_a_reader_that_has_had_enough_does_not_make_it_proven() -> None:
    """As ``| head -1`` with ``pipefail``: the status is that of the verdict."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-c", VERIFIED, "drain", "verify", "x"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


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
