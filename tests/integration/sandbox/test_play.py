"""``serve --play``: a page with something to see, from one command, and nothing left behind."""

import json
import re
import signal
import subprocess
import sys
import urllib.request

import pytest

from tests.support.waiting import wait_until
from zkconsumer.cli.main import main
from zkconsumer.demo.play import TOPICS

pytestmark = pytest.mark.sandbox


def test_a_page_with_groups_of_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """They are read and written to; Ctrl-C ends members, servers and page in order."""
    words = [sys.executable, "-m", "zkconsumer", "serve", "--play", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            line = next(line for line in process.stdout if line.startswith("the page of"))
            found = re.fullmatch(r"the page of (\S+) is at (\S+)\n", line)
            assert found is not None
            zookeeper, page = found.groups()

            def groups() -> dict[str, dict[str, object]]:
                main(["lag", "--zookeeper", zookeeper, "--no-seconds", "--json"])
                listed = json.loads(capsys.readouterr().out)["groups"]
                return {one["group"]: one for one in listed}

            def all_play() -> bool:
                now = groups()
                names = {"archive", "billing", "dashboard", "reports", "settlement"}
                behind = int(str(now.get("settlement", {}).get("total_lag") or 0))
                return now.keys() >= names and behind > 100

            wait_until(all_play, timeout_s=60, what="all groups")
            now = groups()
            assert now["archive"]["state"] != "stable"
            assert len(now["billing"]["partitions"]) == TOPICS["orders"]  # type: ignore[arg-type]
            with urllib.request.urlopen(page, timeout=10) as answer:
                assert answer.status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(40) == 130
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()
