"""Several clusters of the configuration file."""

import argparse
from pathlib import Path

import pytest

from zkconsumer.cli.named_clusters import clusters_of
from zkconsumer.errors import ConfigError

FILE = """
zookeeper = "other:2181"
timeout-ms = 3000
[clusters.plant]
zookeeper = "plant:2181"
command-config = "plant.properties"
[clusters.new]
bootstrap-server = "kafka1:9092"
timeout-ms = 500
[clusters."a b"]
zookeeper = "ab:2181"
"""


def named(names: str) -> dict[str, argparse.Namespace]:
    """The clusters of a command line."""
    return clusters_of(
        argparse.Namespace(clusters=names, zookeeper=None, bootstrap_servers=None, listen=":1")
    )


def test_each_has_its_own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address replaces the file's; the rest of the command line is for all."""
    path = tmp_path / "config.toml"
    path.write_text(FILE)
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(path))
    found = named("plant, new")
    assert list(found) == ["plant", "new"]
    plant, new = found.values()
    assert (plant.zookeeper, plant.bootstrap_servers) == ("plant:2181", None)
    assert (plant.command_config, plant.timeout_ms, plant.listen) == (
        "plant.properties",
        3000,
        ":1",
    )
    assert (new.zookeeper, new.bootstrap_servers, new.timeout_ms) == (None, "kafka1:9092", 500)
    for names, said in (("nwe", "no .clusters.nwe"), ("all", "can't be part"), (",", "names no")):
        with pytest.raises(ConfigError, match=said):
            named(names)
    path.write_text(FILE.partition('[clusters."a b"]')[0])
    assert list(named("all")) == ["plant", "new"]
    monkeypatch.setenv("ZKCONSUMER_CONFIG", "")
    with pytest.raises(ConfigError, match="no configuration file"):
        named("all")
