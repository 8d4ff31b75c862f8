"""What importing loads: no more than is used. Bounds on modules, for times are the machine's."""

import subprocess
import sys

import pytest

from zkconsumer.records.engine import ENGINE, Engine

ERRORS_AND_VALUES = 40
"""Names of errors and values, and what Python itself needs for them."""
A_CONSUMER = 310
"""It was 374 when TLS, what a library of checksums brings along, and filters came with it."""
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
    """The modules that a statement loads in a fresh interpreter, beyond what starting it does."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_the_package_loads_errors_and_values() -> None:
    """All else is loaded when it is first asked for."""
    found = loaded_by("import zkconsumer")
    assert len(found) <= ERRORS_AND_VALUES
    assert not {
        name for name in found if name.startswith(("zkconsumer.consumer", "zkconsumer.net"))
    }


@pytest.mark.skipif(ENGINE is Engine.PURE, reason="the pure engine loads libraries for checksums")
def test_a_consumer_loads_what_it_uses() -> None:
    """Neither TLS, ZooKeeper's client nor filters, nor what libraries bring along unasked."""
    found = loaded_by("from zkconsumer import KafkaConsumer")
    assert found.isdisjoint(NEVER)
    assert len(found) <= A_CONSUMER
