"""Run the tests of one kafka-python on one broker, in a process of their own."""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.kafka_python.imports import rewrite
from tests.kafka_python.left_out import left_out
from tests.kafka_python.sources import Source, fetch

REPOSITORY = Path(__file__).parents[2]
LIMIT_S = 120
"""For a test, as kafka-python's own limit is 300."""
RAN = {0, 1, 2}
"""How pytest ends: none failed, some did, or not even their imports worked."""


@dataclass(frozen=True, slots=True)
class Result:
    """What came of the tests of one kafka-python on one broker.

    Attributes:
        source: kafka-python's version.
        broker: Kafka's.
        passed: the names of the tests that passed.
        failed: those that failed, with the last line of why.
        skipped: those that say themselves that they don't hold for this broker.
        left_out: those that were not run, with the reasons.
    """

    source: str
    broker: str
    passed: tuple[str, ...]
    failed: dict[str, str]
    skipped: tuple[str, ...]
    left_out: dict[str, str]

    def report(self) -> str:
        """A line, and one more for each that failed."""
        head = (
            f"kafka-python {self.source} on {self.broker}: {len(self.passed)} passed, "
            f"{len(self.failed)} failed, {len(self.skipped)} not for this broker, "
            f"{len(self.left_out)} left out"
        )
        return "\n".join([head, *(f"  FAILED {name}: {why}" for name, why in self.failed.items())])


def prepare(source: Source, folder: Path) -> Path:
    """Fetch a kafka-python, change the imports of its consumer tests; gives where they are."""
    root = fetch(source, folder)
    for own in root.glob("test/**/conftest.py"):
        own.unlink()  # its fixtures, in place of which are ours
    for part in (root / "test", *(root / test for test in source.tests)):
        home = part if part.is_dir() else part.parent
        (home / "__init__.py").touch()  # not the package of that name in Python's own library
    for test in source.tests:
        program = root / test
        program.write_text(rewrite(program.read_text("utf-8")), "utf-8")
    (root / "pytest.ini").write_text("[pytest]\n", "utf-8")
    return root


def run(source: Source, root: Path, broker: str, bootstrap: str) -> Result:
    """Run what was prepared on a broker.

    Raises:
        RuntimeError: pytest could not run the tests at all; with what it said.
    """
    without = left_out(source.version, broker)
    with tempfile.TemporaryDirectory() as folder:
        reported = Path(folder) / "results.xml"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "--tb=short"),
                *("-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist"),
                *("-p", "tests.kafka_python.fixtures", "-c", "pytest.ini"),
                *(f"--timeout={LIMIT_S}", f"--junit-xml={reported}"),
                *(f"--deselect={name}" for name in without),
                *source.tests,
            ],
            cwd=root,
            env={
                **os.environ,
                "BOOTSTRAP": bootstrap,
                "KAFKA_VERSION": broker,
                "PYTHONPATH": f"{root}{os.pathsep}{REPOSITORY}",
                "ZKCONSUMER_CONFIG": "",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in RAN or not reported.exists():
            raise RuntimeError(f"{done.stdout}\n{done.stderr}")
        return _read(source.version, broker, reported, without)


def _read(version: str, broker: str, reported: Path, without: dict[str, str]) -> Result:
    passed, skipped, failed = [], [], {}
    for case in ET.parse(reported).iter("testcase"):  # written by the pytest that was started here
        name = f"{case.get('classname')}::{case.get('name')}"
        trouble = [element for element in case if element.tag in {"failure", "error"}]
        if trouble:
            failed[name] = (trouble[0].get("message") or "").strip().replace("\n", " | ")[:300]
        elif case.find("skipped") is not None:
            skipped.append(name)
        else:
            passed.append(name)
    return Result(version, broker, tuple(passed), failed, tuple(skipped), without)
