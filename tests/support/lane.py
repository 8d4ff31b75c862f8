"""Runs a lane of tests, and repeats failed tests alone, without parallel load.

``python -m tests.support.lane LANE PYTEST-OPTION...``; without arguments prints what was repeated.

Source: none; Kafka's own build repeats failed tests too, and reports them (its ``maxTestRetries``).
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

LANES: Final = Path("build/lanes")
MAX_REPEATED: Final = 3
"""With more failures nothing is repeated: so many are no coincidence."""

_TESTS_FAILED: Final = 1
"""The exit status of pytest if all tests ran, and some failed."""


def run_lane(
    name: str,
    options: Sequence[str],
    *,
    run_pytest: Callable[[Sequence[str]], int],
    folder: Path = LANES,
    report: Callable[[str], None] = print,
) -> int:
    """Run the tests; if only a few fail, run those once more, one after the other.

    Tests that failed first and passed alone are recorded in ``folder``, for ``report_repeated``.

    Args:
        name: the lane's name.
        options: pytest's options for the first run.
        run_pytest: takes pytest's arguments, and returns its exit status.
        folder: where each lane's result is recorded.
        report: receives a line of output.

    Returns:
        The exit status of the lane: that of pytest's last run.
    """
    cache = folder / name
    shutil.rmtree(cache, ignore_errors=True)
    status = run_pytest([*options, "-o", f"cache_dir={cache}"])
    if status != _TESTS_FAILED:
        return status
    failed = _failed_tests(cache)
    if not 0 < len(failed) <= MAX_REPEATED:
        return status
    report(f"{name}: repeated with nothing beside them: {', '.join(failed)}")
    junit_report = cache / "repeated.xml"
    again = run_pytest(["-q", *failed, "-p", "no:cacheprovider", f"--junitxml={junit_report}"])
    if again == 0 and _any_skipped(junit_report):
        return status  # a skipped test has not passed
    status = again
    if status == 0:
        (cache / "repeated").write_text("".join(f"{test}\n" for test in failed), encoding="utf-8")
    return status


def report_repeated(folder: Path = LANES, report: Callable[[str], None] = print) -> None:
    """Print which tests of all lanes failed beside others, and passed alone."""
    for path in sorted(folder.glob("*/repeated")):
        for test in path.read_text(encoding="utf-8").splitlines():
            report(f"{path.parent.name}: failed beside others and passed alone: {test}")


def _failed_tests(cache: Path) -> list[str]:
    try:
        return list(json.loads((cache / "v/cache/lastfailed").read_text(encoding="utf-8")))
    except FileNotFoundError:
        return []


def _any_skipped(report: Path) -> bool:
    return any(True for _ in ElementTree.parse(report).iter("skipped"))


def _run_pytest(arguments: Sequence[str]) -> int:
    return subprocess.run([sys.executable, "-m", "pytest", *arguments], check=False).returncode


def _main(arguments: Sequence[str]) -> int:
    """Run ``LANE PYTEST-OPTION...``; without arguments print what was repeated."""
    if arguments:
        return run_lane(arguments[0], arguments[1:], run_pytest=_run_pytest)
    report_repeated()
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
