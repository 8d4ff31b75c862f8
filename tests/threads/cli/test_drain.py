"""``zkconsumer drain`` and ``drain verify`` without Spark, in processes of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from zkconsumer.drain.__main__ import main as run_module

WITHOUT_SPARK = (
    "import sys; sys.modules.update(pyspark=None, pyarrow=None); "
    "from zkconsumer.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--group", "a", "--group", "b"], "--group is given twice, a and b: give it once"),
        (["--to", "x", "--to", "y"], "--to is given twice, x and y: give it once"),
    ],
)
def test_a_spark_job_refuses_a_repeated_option(
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """``python -m zkconsumer.drain`` does as the command does: one value would be ignored."""
    monkeypatch.setattr(sys, "argv", ["drain", *words])
    with pytest.raises(SystemExit) as ended:
        run_module()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["--version"], 0, ""),
        (["drain", "--help"], 0, ""),
        (
            ["drain", "--zookeeper", "zk:1", "--topics", "t", "--to", "x", "--master", "local[2]"],
            2,
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
            2,
            "zkconsumer: the local engine needs pyarrow: pip install 'zkconsumer[local]'\n",
        ),
        (
            ["drain", "verify", "x"],
            2,
            "zkconsumer: the local engine needs pyarrow: pip install 'zkconsumer[local]'\n",
        ),
    ],
)
def test_without_an_engine_its_absence_is_one_line(
    arguments: list[str], status: int, error: str
) -> None:
    """Version and help work; a drain names the package to install."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, error)


def test_without_pyiceberg_a_drain_into_iceberg_is_refused(tmp_path: Path) -> None:
    """It is before it begins, and names the package to install."""
    blocked = WITHOUT_SPARK.replace("pyarrow", "pyiceberg")
    drain = ("drain", "--zookeeper", "127.0.0.1:1", "--topics", "t", "--to", str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", blocked, *drain, "--format", "iceberg", "--engine", "local"],
        capture_output=True,
        text=True,
        check=False,
    )
    message = "zkconsumer: an Iceberg table needs pyiceberg: pip install 'zkconsumer[local]'\n"
    assert (done.returncode, done.stderr) == (2, message)


VERIFIED = (
    "import sys; from zkconsumer.cli import drain_verify; "
    "drain_verify._verify = lambda _args: (1, 'NOT PROVEN' * 100_000); "
    "from zkconsumer.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


def test_a_closed_pipe_does_not_change_the_verdict() -> None:
    """Behind ``| head -1`` with ``pipefail`` the exit status still says NOT PROVEN."""
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
