"""What importing loads: no more than is used, counted in modules, as times vary."""

import subprocess
import sys

import pytest

from zkconsumer.records.engine import ENGINE, Engine

ERRORS_AND_VALUES = 40
"""Modules of errors and values, and those of Python that they need."""
A_CONSUMER = 250
"""It was 374 with TLS, filters and what a checksum library imports, 292 with groups and SASL."""
A_MEMBER = 296
"""The same with the member of a coordinator's group, which the constructor loads."""
NEVER = (
    "ssl",
    "email",
    "http.client",
    "kazoo",
    "argparse",
    "importlib.metadata",
    "pyarrow",
    "asyncio",
    "snappy",
    "zkconsumer.assignment.coordinated.assignors",
    "zkconsumer.assignment.filters",
    "zkconsumer.jaas_config",
    "zkconsumer.net.sasl",
    "zkconsumer.wire.old_probes",
    "zkconsumer.zk.paths",
)
OF_GROUPS = ("zkconsumer.membership.coordinator", "zkconsumer.wire.messages.group_members")


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
    assert found.isdisjoint((*NEVER, *OF_GROUPS))
    assert len(found) <= A_CONSUMER


@pytest.mark.skipif(ENGINE is Engine.PURE, reason="the pure engine loads libraries for checksums")
def test_no_poll_waits_for_the_modules_of_a_group() -> None:
    """They are loaded by the constructor, and a poll of an unreachable cluster loads no module."""
    making = "from zkconsumer import KafkaConsumer; "
    making += "consumer = KafkaConsumer('t', group_id='g', bootstrap_timeout_ms=0)"
    member = loaded_by(making)
    assert member.issuperset(OF_GROUPS)
    assert len(member) <= A_MEMBER
    polling = "before = set(sys.modules); consumer.poll(timeout_ms=100)"
    polled = loaded_by(f"{making}; {polling}")
    assert not {name for name in polled if name.startswith("zkconsumer")}
