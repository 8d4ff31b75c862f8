"""The options of a sandbox: their defaults, and which are refused."""

from pathlib import Path

import pytest

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.settings import SandboxOptions, check_settings, make_work_dir


def test_the_defaults_are_a_chroot_and_free_ports() -> None:
    """Without options ports are free ones, the chroot is ``/kafka``, and no folder is kept."""
    settings = check_settings("0.8.2.2", 3)
    assert settings.chroot == "/kafka"
    assert settings.zookeeper_port is None
    assert settings.broker_ports == ()
    assert settings.work_dir is None
    assert not settings.auto_create_topics


@pytest.mark.parametrize("chroot", ["", "/a", "/a/b.c-d_e"])
def test_any_plain_path_is_a_chroot(chroot: str) -> None:
    """A chroot may be empty, or have several levels."""
    assert check_settings("0.8.2.2", 1, chroot=chroot).chroot == chroot


@pytest.mark.parametrize(
    ("brokers", "options", "reason"),
    [
        (-1, {}, "brokers=-1"),
        (101, {}, "brokers=101"),
        (1, {"chroot": "kafka"}, "chroot='kafka'"),
        (1, {"chroot": "/"}, "chroot='/'"),
        (1, {"zookeeper_tick_ms": 1}, "zookeeper_tick_ms=1"),
        (2, {"broker_ports": [9092]}, "1 ports for 2 brokers"),
        (2, {"broker_ports": [9092, 9092]}, "a port of its own"),
        (1, {"broker_ports": [2181], "zookeeper_port": 2181}, "a port of its own"),
        (1, {"zookeeper_port": 0}, "between 1 and 65535, not 0"),
        (1, {"broker_ports": [65536]}, "between 1 and 65535, not 65536"),
        (1, {"heap_mb": 10}, "heap_mb=10"),
        (1, {"listen_host": "example.org"}, "listen_host='example.org'"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(
    brokers: int, options: SandboxOptions, reason: str
) -> None:
    """An option out of range is refused with an error that names it."""
    with pytest.raises(SandboxError, match=reason):
        check_settings("0.8.2.2", brokers, **options)


def test_0_8_0_listens_only_where_it_registers() -> None:
    """0.8.0 registers the address that it listens on, so it can't listen on all of them."""
    with pytest.raises(SandboxError, match=r"Kafka 0\.8\.0 can't tell clients another address"):
        check_settings("0.8.0", 1, listen_host="0.0.0.0")


def test_an_option_that_is_misspelt_is_refused() -> None:
    """A misspelt option is refused with the nearest name, before a server starts without it."""
    with pytest.raises(SandboxError, match=r"no option broker_port: did you mean broker_ports\?"):
        Sandbox(broker_port=9092)  # type: ignore[call-arg]


def test_a_work_folder_of_ones_own_is_made_and_kept(tmp_path: Path) -> None:
    """A work folder that the caller names is created, and not removed as temporary."""
    settings = check_settings("0.8.2.2", 1, work_dir=tmp_path / "a" / "b")
    folder, temporary = make_work_dir(settings)
    assert folder == tmp_path / "a" / "b"
    assert folder.is_dir()
    assert not temporary


def test_a_work_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    """A work folder that can't be created is reported with its path and the reason."""
    (tmp_path / "file").touch()
    settings = check_settings("0.8.2.2", 1, work_dir=tmp_path / "file" / "below")
    with pytest.raises(SandboxError, match="can't make the sandbox's folder"):
        make_work_dir(settings)
