"""``demo --migrate``: the migration from 0.8.2.2 to Kafka 4.1 of docs/leaving.md."""

import re
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.sandbox, pytest.mark.long]


def test_nothing_is_lost_on_the_way() -> None:
    """Both clusters get traffic, each line is delivered, and the proof finds every message."""
    done = subprocess.run(
        [sys.executable, "-m", "zkconsumer", "demo", "--migrate", "--rate", "100"],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [
        int(count)
        for words in ("acknowledged by the old cluster", "acknowledged by the new cluster")
        for count in re.findall(rf"{words}: +(\d+)", done.stdout)
    ]
    assert len(counts) == 2
    assert all(counts)
    assert f"{sum(counts)} of {sum(counts)}\n" in done.stdout
    assert re.search(r"the mirror's proof: +every message", done.stdout)
    assert "Traceback" not in done.stderr
