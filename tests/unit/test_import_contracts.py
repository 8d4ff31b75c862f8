"""Each import contract detects what it forbids: violations are planted into the import graph.

A contract must hold for future modules too, so most are planted into modules that don't exist yet.
"""

import pkgutil
from copy import deepcopy
from pathlib import Path

import pytest

pytest.importorskip("importlinter")

import grimp
from importlinter import Contract
from importlinter.application.use_cases import read_user_options
from importlinter.configuration import configure
from importlinter.domain.contract import registry

from scripts.import_contracts import declared_in

ROOT = Path(__file__).parents[2]
NEW = "zkconsumer.newcomer"
BUILT_IN = (
    "forbidden: importlinter.contracts.forbidden.ForbiddenContract",
    "layers: importlinter.contracts.layers.LayersContract",
    "protected: importlinter.contracts.protected.ProtectedContract",
)

PLANTS = [
    ("layers", "zkconsumer.wire.primitives", "zkconsumer.streams.stream"),
    ("layers", "zkconsumer.fetch.claim", "zkconsumer.produce.writing"),
    ("layers", NEW, "zkconsumer.errors"),
    ("cores", "zkconsumer.web.throttling", "socket"),
    ("cores", "zkconsumer.records.newcomer", "threading"),
    ("cores", "zkconsumer.assignment.range", "zkconsumer.clock"),
    ("cores", "zkconsumer.membership.zookeeper.core.plan", "zkconsumer.net.tcp"),
    ("layers", "zkconsumer.connector.connector", "zkconsumer.consumer.parts"),
    ("layers", "zkconsumer.consumer.assembly", "zkconsumer.connector.assembly"),
    ("members", *(f"zkconsumer.membership.{name}" for name in ("zookeeper", "coordinator"))),
    ("members", *(f"zkconsumer.membership.{name}" for name in ("protocol", "no_group"))),
    *(
        ("member-shape", *(f"zkconsumer.membership.{name}" for name in names))
        for names in (
            ("zookeeper.core.plan", "zookeeper.threads.control"),
            ("coordinator.threads.member_session", "coordinator.polled.member"),
            ("coordinator.newcomer", "coordinator.core.states"),
        )
    ),
    ("kazoo", NEW, "kazoo"),
    ("kazoo", "zkconsumer.zk.registry", "kazoo"),
    *(("codecs", NEW, name) for name in ("snappy", "lz4", "zstandard", "cramjam", "isal")),
    ("codecs", "zkconsumer.streams.stream", "crc32c"),
    ("arrow", NEW, "pyarrow"),
    ("arrow", "zkconsumer.streams.reader", "pyarrow"),
    ("arrow", "zkconsumer.drain.runner", "pyarrow"),
    ("telemetry", NEW, "opentelemetry"),
    ("telemetry", "zkconsumer.metrics.cluster", "prometheus_client"),
    ("pyspark", NEW, "pyspark"),
    ("pyspark", "zkconsumer.drain.runner", "py4j"),
    ("no-groups-in-spark", "zkconsumer.spark.task", "zkconsumer.connector.connector"),
    ("no-groups-in-spark", "zkconsumer.drain.runner", "zkconsumer.membership.zookeeper.core.plan"),
    ("no-groups-in-spark", "zkconsumer.drain.runner", "zkconsumer.consumer.kafka_consumer"),
    *(
        ("connections", NEW, f"zkconsumer.net.{name}")
        for name in ("connection", "sasl", "version_search")
    ),
    ("fetch-core", "zkconsumer.fetch.core.planning", "zkconsumer.fetch.polled.engine"),
    ("fetch-core", "zkconsumer.fetch.core.newcomer", "zkconsumer.fetch.range_reader"),
    ("fetch-core", "zkconsumer.fetch.core.planning", "zkconsumer.fetch.newcomer"),
    ("fakes", NEW, "tests"),
    ("fakes", "zkconsumer.cli.main", "scripts"),
]


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """All imports of the product."""
    return grimp.build_graph("zkconsumer", include_external_packages=True, cache_dir=None)


@pytest.fixture(scope="module")
def contracts() -> dict[str, Contract]:
    """The contracts of setup.cfg by their ids."""
    configure()
    options = read_user_options(str(ROOT / "setup.cfg"))
    for line in (*BUILT_IN, *options.session_options["contract_types"]):
        name, _, place = line.partition(": ")
        registry.register(pkgutil.resolve_name(place), name)
    return {
        given["id"]: registry.get_contract_class(given["type"])(
            name=given["name"], session_options=options.session_options, contract_options=given
        )
        for given in options.contracts_options
    }


def is_kept(contract: Contract, graph: grimp.ImportGraph) -> bool:
    """Return whether a contract holds for these imports, which are not modified."""
    return contract.check(deepcopy(graph), verbose=False).kept


@pytest.mark.parametrize(("contract", "importer", "imported"), PLANTS)
def test_a_planted_violation_breaks_the_contract(
    graph: grimp.ImportGraph,
    contracts: dict[str, Contract],
    contract: str,
    importer: str,
    imported: str,
) -> None:
    """Without the planted import the contract is kept, as the next test checks."""
    planted = deepcopy(graph)
    if not imported.startswith("zkconsumer"):
        planted.add_module(imported, is_squashed=True)
    planted.add_import(importer=importer, imported=imported)
    assert not is_kept(contracts[contract], planted)


def test_every_contract_is_kept_and_has_planted_violations(
    graph: grimp.ImportGraph, contracts: dict[str, Contract]
) -> None:
    """A contract that no planted violation breaks proves nothing."""
    assert {contract for contract, _, _ in PLANTS} == contracts.keys()
    assert [name for name in contracts if not is_kept(contracts[name], graph)] == []


def test_a_module_declares_itself_pure_in_its_docstring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the word in the docstring counts, not a name elsewhere in the module."""
    package = tmp_path / "declaring"
    (package / "inner").mkdir(parents=True)
    texts = {
        "__init__.py": "",
        "core.py": '"""Decides. Pure."""\n',
        "shell.py": '"""Does."""\nPure = 1\n',
        "inner/__init__.py": '"""Pure values."""\n',
    }
    for name, text in texts.items():
        (package / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert declared_in("declaring") == {"declaring.core", "declaring.inner"}
