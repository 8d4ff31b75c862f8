"""The share of ``make fuzz-native`` that CI runs: as many seconds of it, always of one seed."""

import re
from pathlib import Path

import pytest

from tests.fuzz.__main__ import SOURCES, build, run, write_seeds
from tests.support.engines import needs_native

pytestmark = [needs_native, pytest.mark.long]

SECONDS, SEED = 8, 1


def test_the_sanitizers_find_nothing(tmp_path: Path) -> None:
    """And something was fed into every part of the core."""
    program = build(SOURCES, tmp_path / "sound")
    done = run(program, SEED, SECONDS, write_seeds(tmp_path / "seeds"))
    assert (done.returncode, done.stderr) == (0, "")
    counts = [int(count) for count in re.findall(r"(\d+) [a-z]", done.stdout)]
    assert len(counts) == 18
    assert min(counts) > 0
