"""Commands for several clusters of the configuration file."""

import argparse
from pathlib import Path

import pytest

from zkconsumer.cli.main import main
from zkconsumer.cli.named_clusters import clusters_of
from zkconsumer.cli.notifying import origin_of
from zkconsumer.errors import ConfigError
from zkconsumer.notify.settings import NotifySettings

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
    """Return the arguments of each cluster that a command line names."""
    return clusters_of(
        argparse.Namespace(clusters=names, zookeeper=None, bootstrap_servers=None, listen=":1")
    )


def test_each_cluster_has_its_own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster's address replaces the file's; the rest of the command line applies to all."""
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
    for names, reported in (
        ("nwe", "no .clusters.nwe"),
        ("all", "can't be part"),
        (",", "names no"),
    ):
        with pytest.raises(ConfigError, match=reported):
            named(names)
    path.write_text(FILE.partition('[clusters."a b"]')[0])
    assert list(named("all")) == ["plant", "new"]
    monkeypatch.setenv("ZKCONSUMER_CONFIG", "")
    with pytest.raises(ConfigError, match="no configuration file"):
        named("all")


@pytest.mark.parametrize("flag", ["--zookeeper", "--bootstrap-servers"])
def test_an_address_beside_named_clusters_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flag: str,
) -> None:
    """It would be ignored silently; an address in the file is only a default."""
    path = tmp_path / "config.toml"
    path.write_text(FILE)
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(path))
    assert main(["serve", "--clusters", "plant,new", flag, "zk:2181"]) == 2
    assert capsys.readouterr().err == (
        f"zkconsumer: {flag} is one cluster, and --clusters names several: give only one of them\n"
    )
    assert main(["serve", "--clusters", "nwe"]) == 2
    assert "no [clusters.nwe]" in capsys.readouterr().err


def test_clusters_of_the_file_override_its_address_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the wrong name is reported, not two addresses."""
    path = tmp_path / "config.toml"
    path.write_text(FILE + '[serve]\nclusters = "nwe"\n')
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(path))
    for zookeeper in ("", "environment:2181"):
        monkeypatch.setenv("ZKCONSUMER_ZOOKEEPER", zookeeper)
        assert main(["serve"]) == 2
        assert "no [clusters.nwe]" in capsys.readouterr().err


def test_an_invalid_time_out_of_a_cluster_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the file and the cluster."""
    path = tmp_path / "config.toml"
    path.write_text('[clusters.plant]\nzookeeper = "plant:2181"\ntimeout-ms = "soon"\n')
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(path))
    with pytest.raises(ConfigError, match=r"config.toml: timeout-ms of plant: 'soon'"):
        named("all")


def test_notifications_link_to_the_pages_of_their_cluster() -> None:
    """With several clusters there is no /groups page at the top level."""
    settings = NotifySettings(page="https://kafka.example.org/")
    plant = argparse.Namespace(clusters="all", cluster_name="plant", address="plant:2181")
    assert origin_of(plant, settings).page == "https://kafka.example.org/clusters/plant"
    alone = argparse.Namespace(clusters=None, cluster_name="plant", address="plant:2181")
    assert origin_of(alone, settings).page == "https://kafka.example.org/"
