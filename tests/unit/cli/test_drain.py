"""``zkconsumer drain`` and ``drain verify``: what needs no Spark."""

import subprocess
import sys

import pytest

from zkconsumer.cli.main import build_parser

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
            ["drain", "--zookeeper", "zk:1", "--topics", "t", "--to", "x"],
            1,
            "zkconsumer: zkconsumer.spark needs pyspark and pyarrow: "
            "pip install 'zkconsumer[spark]'\n",
        ),
        (
            ["drain", "verify", "x"],
            2,
            "zkconsumer: zkconsumer.spark needs pyspark and pyarrow: "
            "pip install 'zkconsumer[spark]'\n",
        ),
    ],
)
def test_where_spark_is_not_installed(arguments: list[str], status: int, error: str) -> None:
    """Everything else works, and what needs it says so in one line."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (status, error)


def test_the_cluster_may_be_named_before_the_word_verify() -> None:
    """Otherwise it would be left out without a word, and less proven than was asked for."""
    before = ["drain", "--zookeeper", "zk:1", "--bootstrap-servers", "b:1", "--master", "local"]
    args = build_parser().parse_args([*before, "verify", "x"])
    assert (args.zookeeper, args.bootstrap_servers, args.master) == ("zk:1", "b:1", "local")
    args = build_parser().parse_args([*before, "verify", "x", "--zookeeper", "zk:2"])
    assert args.zookeeper == "zk:2"
    args = build_parser().parse_args(["drain", "verify", "x"])
    assert (args.zookeeper, args.bootstrap_servers, args.master) == (None, None, None)
