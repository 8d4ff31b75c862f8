"""Which decoder runs, and who says so."""

import os
import subprocess
import sys

import pytest

from tests.support.engines import IS_BUILT, needs_native
from zkconsumer.records import checksum, engine

ASK = (
    "from zkconsumer.records import engine;"
    "print(engine.ENGINE, engine.WHY, engine.decode_fetched.__module__)"
)


def requested(**environment: str) -> str:
    """Ask a fresh process."""
    names = {key: value for key, value in os.environ.items() if key != engine.SWITCH}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**names, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@needs_native
def test_the_native_one_runs_where_it_is_there() -> None:
    """Built and not forbidden: it runs, and tells how."""
    expected = "native CRC-32 by "
    assert requested().startswith(expected)
    assert requested(ZKCONSUMER_PURE="0").startswith(expected)
    assert requested().endswith("native_fetched")


def test_the_pure_one_can_be_forced() -> None:
    """One variable in the environment does it, and is named as the reason."""
    message = requested(ZKCONSUMER_PURE="1")
    assert message.startswith("pure ZKCONSUMER_PURE is set; CRC-32 by ")
    assert message.endswith(" zkconsumer.records.pure_fetched")


def test_why_the_pure_one_runs_is_said_with_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The switch, and the library that computes checksums: half of its speed is there."""
    monkeypatch.setenv(engine.SWITCH, "1")
    why = f"{engine.SWITCH} is set; CRC-32 by {checksum.NAME}"
    assert engine._choose() == (engine.Engine.PURE, checksum.NAME, why)


def test_without_the_core_the_pure_one_runs() -> None:
    """Where nothing was built the consumer works all the same, and says what is missing."""
    block = "import sys; sys.modules['zkconsumer.native._core'] = None; "
    done = subprocess.run(
        [sys.executable, "-c", block + ASK], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pure ")
    assert "_core" in done.stdout or engine.SWITCH in done.stdout


def test_this_process_runs_what_it_says() -> None:
    """The choice of the test run itself."""
    is_native = IS_BUILT and os.environ.get(engine.SWITCH, "0") in ("", "0")
    assert engine.ENGINE is (engine.Engine.NATIVE if is_native else engine.Engine.PURE)
