"""Which decoder runs, and why."""

import os
import subprocess
import sys

import pytest

from tests.support.engines import IS_BUILT, needs_native
from zkconsumer.records import checksum, engine

PRINT_ENGINE = (
    "from zkconsumer.records import engine;"
    "print(engine.ENGINE, engine.WHY, engine.decode_fetched.__module__)"
)


def printed(**environment: str) -> str:
    """Return what a fresh process prints."""
    names = {key: value for key, value in os.environ.items() if key != engine.SWITCH}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_ENGINE],
        env={**names, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@needs_native
def test_the_native_engine_runs_if_it_was_built() -> None:
    """It does unless it is switched off, and says how it computes checksums."""
    expected = "native CRC-32 by "
    assert printed().startswith(expected)
    assert printed(ZKCONSUMER_PURE="0").startswith(expected)
    assert printed().endswith("native_fetched")


def test_the_pure_engine_can_be_forced() -> None:
    """An environment variable does so, and is named as the reason."""
    message = printed(ZKCONSUMER_PURE="1")
    assert message.startswith("pure ZKCONSUMER_PURE is set; CRC-32 by ")
    assert message.endswith(" zkconsumer.records.pure_fetched")


def test_the_reason_for_the_pure_engine_names_its_checksum_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That library decides half of the pure engine's speed."""
    monkeypatch.setenv(engine.SWITCH, "1")
    why = f"{engine.SWITCH} is set; CRC-32 by {checksum.NAME}"
    assert engine._choose() == (engine.Engine.PURE, checksum.NAME, why)


def test_without_the_core_the_pure_engine_runs() -> None:
    """A consumer without a built core works nevertheless, and names what is missing."""
    block = "import sys; sys.modules['zkconsumer.native._core'] = None; "
    done = subprocess.run(
        [sys.executable, "-c", block + PRINT_ENGINE], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("pure ")
    assert "_core" in done.stdout or engine.SWITCH in done.stdout


def test_this_process_runs_the_configured_engine() -> None:
    """It is native if it was built and the switch is off."""
    is_native = IS_BUILT and os.environ.get(engine.SWITCH, "0") in ("", "0")
    assert engine.ENGINE is (engine.Engine.NATIVE if is_native else engine.Engine.PURE)
