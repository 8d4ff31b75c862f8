"""``watch`` and ``serve`` notify the targets of the configuration file."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.waiting import wait_until

CONFIGURATION = """
[notify]
after-ms = 0
[notify.to.script]
type = "command"
argv = {argv}
"""
PROGRAM = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"
NOWHERE = ("--zookeeper", "127.0.0.1:1", "--timeout-ms", "500", "--interval-ms", "500")


@pytest.mark.parametrize(
    "words", [("watch",), ("serve", "--listen", "127.0.0.1:0", "--no-history")], ids=lambda w: w[0]
)
def test_an_unreadable_cluster_is_notified_of_once(words: tuple[str, ...], tmp_path: Path) -> None:
    """Both commands do so, and exit cleanly at SIGTERM."""
    got, file = tmp_path / "got", tmp_path / "config.toml"
    argv = [sys.executable, "-c", PROGRAM, str(got)]
    file.write_text(CONFIGURATION.format(argv=json.dumps(argv)))
    with warm.Popen(
        [sys.executable, "-m", "zkconsumer", *words, *NOWHERE],
        env={**os.environ, "ZKCONSUMER_CONFIG": str(file)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            text = wait_until(lambda: got.exists() and got.read_text(), what="a message")
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()
    message = json.loads(str(text))
    assert message["code"] == "cluster-unreadable"
    assert message["group"] is None


def test_a_test_message_reports_which_targets_accepted_it(tmp_path: Path) -> None:
    """The exit status is 1 if a target failed."""
    file = tmp_path / "config.toml"
    for argv, status, expected in (
        ([sys.executable, "-c", "pass"], 0, "script: accepted"),
        (["/nowhere/program"], 1, "script: /nowhere/program"),
    ):
        file.write_text(CONFIGURATION.format(argv=json.dumps(argv)))
        done = warm.run(
            [sys.executable, "-m", "zkconsumer", "watch", "--test", "--zookeeper", "127.0.0.1:1"],
            env={**os.environ, "ZKCONSUMER_CONFIG": str(file)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status
        assert expected in done.stdout + done.stderr


def test_a_test_message_has_a_group_of_its_own(tmp_path: Path) -> None:
    """Otherwise its end would resolve a pager's real incident of the cluster."""
    got, file = tmp_path / "got", tmp_path / "config.toml"
    file.write_text(
        CONFIGURATION.format(argv=json.dumps([sys.executable, "-c", PROGRAM, str(got)]))
    )
    warm.run(
        [sys.executable, "-m", "zkconsumer", "watch", "--test", "--zookeeper", "127.0.0.1:1"],
        env={**os.environ, "ZKCONSUMER_CONFIG": str(file)},
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(got.read_text().splitlines()[0])["group"] == "zkconsumer-test"
