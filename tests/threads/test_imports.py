"""What importing loads: no more than is used, counted in modules, as times vary."""

import subprocess
import sys

import pytest

from zkconsumer.records.engine import ENGINE, Engine

ERRORS_AND_VALUES = 40
"""Modules of errors and values, and those of Python that they need."""
A_CONSUMER = 310
"""It was 374 with TLS, filters, and the imports of a checksum library."""
NEVER = (
    "ssl",
    "email",
    "http.client",
    "kazoo",
    "argparse",
    "importlib.metadata",
    "pyarrow",
    "asyncio",
    "zkconsumer.assignment.filters",
)


def loaded_by(statement: str) -> set[str]:
    """Return the modules that a statement loads in a fresh interpreter."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_the_package_loads_errors_and_values() -> None:
    """All other modules are loaded when they are first used."""
    found = loaded_by("import zkconsumer")
    assert len(found) <= ERRORS_AND_VALUES
    assert not {
        name for name in found if name.startswith(("zkconsumer.consumer", "zkconsumer.net"))
    }


@pytest.mark.skipif(ENGINE is Engine.PURE, reason="the pure engine loads libraries for checksums")
def test_a_consumer_loads_what_it_uses() -> None:
    """It does not load TLS, ZooKeeper's client, filters, or needless imports of libraries."""
    found = loaded_by("from zkconsumer import KafkaConsumer")
    assert found.isdisjoint(NEVER)
    assert len(found) <= A_CONSUMER
