"""The local engine runs without Spark: nothing that it loads imports it."""

import subprocess
import sys

BLOCKED = """
import sys
sys.modules.update(pyspark=None, py4j=None)
from zkconsumer.cli.main import main
import zkconsumer.drain.cluster, zkconsumer.drain.landing_delta, zkconsumer.drain.local.launch
import zkconsumer.drain.opening, zkconsumer.drain.proving.verify, zkconsumer.drain.runner
from zkconsumer.drain import DrainSettings, drain_locally, verify_locally
sys.exit(main(["drain", "verify", sys.argv[1]]))
"""


def test_nothing_of_spark_is_imported(tmp_path: object) -> None:
    """Even the verification of a missing drain gets as far as saying that there is none."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": ""},
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith(f"zkconsumer: there is no drain at {tmp_path}")
