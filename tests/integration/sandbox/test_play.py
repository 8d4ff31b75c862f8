"""``serve --play``: a page with something to see, from one command, and nothing left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from zkconsumer.cli.main import main
from zkconsumer.demo.play import TOPICS

pytestmark = pytest.mark.sandbox


def test_a_page_with_groups_of_every_kind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """They are read and written to, and shown; Ctrl-C ends members, servers and page in order."""
    words = [sys.executable, "-m", "zkconsumer", "serve", "--play", "--listen", "127.0.0.1:0"]
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(
        f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n'
        "exec sleep 60 >/dev/null 2>&1\n"
    )
    browser.chmod(0o755)
    terminal, stdout = os.openpty()
    with (
        open(terminal, encoding="utf-8") as shown,
        subprocess.Popen(
            words,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"BROWSER": str(browser)},
        ) as process,
    ):
        os.close(stdout)
        try:
            line = next(line for line in shown if line.startswith("the page of"))
            found = re.fullmatch(r"the page of (\S+) is at (\S+)\n", line)
            assert found is not None
            zookeeper, page = found.groups()
            wait_until(opened.exists, what="the browser")
            assert opened.read_text() == f"{page}\n"

            def groups() -> dict[str, dict[str, object]]:
                main(["lag", "--zookeeper", zookeeper, "--no-seconds", "--json"])
                listed = json.loads(capsys.readouterr().out)["groups"]
                return {group["group"]: group for group in listed}

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
