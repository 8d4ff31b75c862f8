"""``serve --play``: one command runs a page with something to see, and leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import wait_until
from zkconsumer.cli.exit_status import NOT_WELL
from zkconsumer.cli.main import main
from zkconsumer.clock import SystemClock
from zkconsumer.demo.play import TOPICS

FIRST_MINUTE_MS = 60_000
BANNER = "settlement is stuck: settlement_host7 is registered but gone"
GROUPS = {"archive", "billing", "dashboard", "reports", "settlement"}

pytestmark = pytest.mark.sandbox


@dataclass
class Newcomer:
    """A user who has just started it, and watches it with the page and two commands."""

    capsys: pytest.CaptureFixture[str]
    zookeeper: str = ""
    page: str = ""
    began_ms: int = field(default_factory=lambda: SystemClock().now_ms())

    def sees(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for a condition within the first minute."""
        left_ms = self.began_ms + FIRST_MINUTE_MS - SystemClock().now_ms()
        wait_until(condition, timeout_s=left_ms / 1_000, what=f"{what} in the first minute")

    def groups(self) -> dict[str, dict[str, Any]]:
        """Return the groups of ``lag``."""
        main(["lag", "--zookeeper", self.zookeeper, "--no-seconds", "--json"])
        listed = json.loads(self.capsys.readouterr().out)["groups"]
        return {group["group"]: group for group in listed}

    def all_groups_run(self) -> bool:
        """Return whether every group exists, and one has fallen behind."""
        now = self.groups()
        behind = int(now.get("settlement", {}).get("total_lag") or 0)
        return now.keys() >= GROUPS and behind > 100

    def has_banner(self) -> bool:
        """Return whether the page shows what is wrong."""
        with urllib.request.urlopen(self.page, timeout=10) as answer:
            assert answer.status == 200
            return BANNER in answer.read().decode()

    def doctor(self, *flags: str) -> tuple[int, str]:
        """Return the doctor's exit status, and its output about the stuck group."""
        words = ["doctor", *flags, "--group", "settlement", "--zookeeper", self.zookeeper]
        status = main([*words, "--quick"])
        return status, self.capsys.readouterr().out

    def doctor_finds_it(self) -> bool:
        """Return whether the doctor explains what is wrong."""
        status, printed = self.doctor()
        head = f"ERROR  {BANNER}\n  member-stale, zookeeper group settlement\n"
        return status == NOT_WELL and printed.startswith(head)

    def is_well(self) -> bool:
        """Return whether the group is no longer stuck."""
        return self.doctor()[0] == 0 and self.groups()["settlement"]["state"] == "stable"


def test_a_page_with_groups_of_every_kind(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Groups are read and written to, and shown; Ctrl-C ends members, servers and page cleanly.

    Within a minute the page and the doctor show what is wrong, and the doctor's fix helps.
    """
    words = [sys.executable, "-m", "zkconsumer", "serve", "--play", "--listen", "127.0.0.1:0"]
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(
        f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n'
        "exec sleep 60 >/dev/null 2>&1\n"
    )
    browser.chmod(0o755)
    terminal, stdout = os.openpty()
    newcomer = Newcomer(capsys)
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
            newcomer.zookeeper, newcomer.page = found.groups()
            wait_until(opened.exists, what="the browser")
            assert opened.read_text() == f"{newcomer.page}\n"

            newcomer.sees(newcomer.all_groups_run, "all groups")
            newcomer.sees(newcomer.has_banner, "the finding on the page")
            newcomer.sees(newcomer.doctor_finds_it, "the finding of the doctor")
            now = newcomer.groups()
            assert now["archive"]["state"] != "stable"
            assert len(now["billing"]["partitions"]) == TOPICS["orders"]
            assert_half_is_unread(now["settlement"])

            status, _ = newcomer.doctor("--fix", "--yes", "--undo-file", str(tmp_path / "undo"))
            assert status == 0
            wait_until(newcomer.is_well, timeout_s=60, what="the group to go on")

            process.send_signal(signal.SIGINT)
            assert process.wait(40) == 130
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


def assert_half_is_unread(group: dict[str, Any]) -> None:
    """Check that the lost member's partition has a lag that grows."""
    (unread,) = (partition for partition in group["partitions"] if partition["owner"] is None)
    assert unread["lag"] > 0
    assert group["total_lag"] >= unread["lag"]
