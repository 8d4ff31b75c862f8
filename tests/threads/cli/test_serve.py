"""``zkconsumer serve``: its arguments, and what it refuses before it listens."""

import argparse
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.support.asgi_client import ManualStates
from tests.support.opened_cluster import opening
from tests.support.status_world import StatusWorld
from tests.support.waiting import wait_until
from zkconsumer.cli import serving as command
from zkconsumer.cli.cluster_access import CommandCluster
from zkconsumer.cli.main import main
from zkconsumer.cli.serve import TOKEN_VARIABLE
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.status.model import ClusterSnapshot
from zkconsumer.web.history.recorder import Recorder
from zkconsumer.web.serving import Address, PageServer
from zkconsumer.web.watching import ClusterWatch

TOKEN = "0123456789abcdef-secret"


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the environment and files of the user who runs the tests out of them."""
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def call(*flags: str) -> int:
    """Run the command, and return its exit status."""
    return main(["serve", "--zookeeper", "zk:2181/chroot", *flags])


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--listen", "0.0.0.0:1"), "--no-token"),
        (("--listen", "[::]:1"), "--no-token"),
        (("--listen", "here"), "host:port"),
        (("--token-file", "/nowhere/token"), "can't be read"),
        (("--history", "/nowhere/file"), "no directory /nowhere"),
        (("--history", __file__), "not a history of zkconsumer"),
        (("--command-config", "/nowhere/file"), "/nowhere/file"),
        (("--max-connections", "999999999"), "LimitNOFILE="),
    ],
)
def test_unusable_arguments_are_refused(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
    message: str,
) -> None:
    """One line says why, before the server listens."""
    listen_nowhere(monkeypatch)
    assert call(*flags) in {1, 2}
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error


@pytest.mark.parametrize(
    "flags",
    [
        ("--interval-ms", "100"),
        ("--interval-ms", "x"),
        ("--keep-days", "0"),
        ("--history-mb", "-1"),
        ("--groups", "("),
        ("--history", "x", "--no-history"),
        ("--client-timeout-ms", "50"),
        ("--trusted-proxy", "proxy.example"),
        ("--trusted-proxy", "10.0.0.1/8"),
    ],
)
def test_wrong_usage_ends_with_2(flags: tuple[str, ...]) -> None:
    """Every command does so."""
    with pytest.raises(SystemExit) as ended:
        call(*flags)
    assert ended.value.code == 2


def test_two_clusters_never_share_a_history(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Groups of the same name would be mixed up; another chroot is another cluster."""
    listen_nowhere(monkeypatch)
    file = tmp_path / "config.toml"
    ensemble = ",".join(f"zookeeper-{number}.example.org:2181" for number in range(9))
    file.write_text(
        f'[clusters.a]\nzookeeper = "{ensemble}/kafka"\n'
        f'[clusters.b]\nzookeeper = "{ensemble}/new"\n'
        f'[clusters.c]\nzookeeper = "{ensemble}/new"\n'
    )
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(file))
    monkeypatch.setattr(command, "_serve", lambda *_: 0)
    assert main(["serve", "--clusters", "a,b"]) == 0
    assert main(["serve", "--clusters", "a,b,c"]) == 2
    assert "b and c would share one history" in capsys.readouterr().err
    assert main(["serve", "--clusters", "all", "--no-history"]) == 0


def test_a_history_begins_when_the_address_is_known(
    world: StatusWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cluster whose settings file comes later has no address until then, and no history."""
    file, brokers = tmp_path / "config.toml", tmp_path / "brokers.properties"
    file.write_text(f'[clusters.torn]\ncommand-config = "{brokers}"\n')
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(file))

    def open_it(
        args: argparse.Namespace, **options: bool
    ) -> AbstractContextManager[CommandCluster]:
        found = argparse.Namespace(**{**vars(args), "zookeeper": "zk:2181/chroot"})
        return opening(world)(found, **options)

    monkeypatch.setattr(command, "open_cluster", open_it)
    watches: list[ClusterWatch] = []
    make = ClusterWatch.__init__

    def noting(self: ClusterWatch, *given: object, **named: object) -> None:
        make(self, *given, **named)  # type: ignore[arg-type]
        watches.append(self)
        alone = self.current.snapshot.brokers_alone
        assert alone is not None
        assert alone.bootstrap_servers == ""

    def run(self: PageServer, sockets: object) -> None:
        del self, sockets
        wait_until(lambda: watches[0].current.ready, what="the reading")

    monkeypatch.setattr(ClusterWatch, "__init__", noting)
    monkeypatch.setattr(PageServer, "run", run)
    folder = tmp_path / "state" / "zkconsumer"
    assert main(["serve", "--clusters", "torn"]) == 0
    assert [path.name for path in folder.iterdir()] == ["zk_2181_chroot.history"]


def test_clusters_are_closed_concurrently(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Otherwise shutdown would take the sum of all hanging clusters' time-outs."""
    listen_nowhere(monkeypatch)
    file = tmp_path / "config.toml"
    file.write_text("".join(f'[clusters.{name}]\nzookeeper = "{name}:1"\n' for name in "abc"))
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(file))
    together = threading.Barrier(3)

    def close(self: ClusterWatch) -> None:
        del self
        together.wait(10)

    monkeypatch.setattr(ClusterWatch, "start", lambda _: None)
    monkeypatch.setattr(ClusterWatch, "close", close)
    monkeypatch.setattr(PageServer, "run", lambda *_, **__: None)
    assert main(["serve", "--clusters", "all"]) == 0
    assert not together.broken


def test_a_short_token_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It could be guessed."""
    listen_nowhere(monkeypatch)
    monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    assert call() == 2
    assert "openssl rand" in capsys.readouterr().err


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "zkconsumer.web.serving", None)
    assert call() == 2
    assert "pip install 'zkconsumer[web]'" in capsys.readouterr().err


def listen_nowhere(monkeypatch: pytest.MonkeyPatch) -> list[Address]:
    """Replace listening; return the addresses at which the command would have listened."""
    requested: list[Address] = []

    @contextmanager
    def listening(address: Address) -> Iterator[tuple[None, Address]]:
        requested.append(address)
        yield None, Address(address.host, 1234)

    monkeypatch.setattr(command, "listening", listening)
    return requested


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatusWorld]:
    """A cluster in memory, whose page listens nowhere."""
    made = StatusWorld()
    monkeypatch.setattr(command, "open_cluster", opening(made))
    listen_nowhere(monkeypatch)
    yield made
    made.close()


def serve_until(monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]) -> tuple[int, list[str]]:
    """Serve until the cluster was read; return the exit status and the groups that are shown."""
    shown: list[str] = []
    watches: list[ClusterWatch] = []
    make = ClusterWatch.__init__

    def noting(self: ClusterWatch, *given: object, **named: object) -> None:
        make(self, *given, **named)  # type: ignore[arg-type]
        watches.append(self)

    def run(self: PageServer, sockets: object) -> None:
        del self, sockets
        wait_until(lambda: watches[0].current.ready or watches[0].error(), what="the reading")
        shown.extend(key.group_id for key in watches[0].current.snapshot.groups)

    monkeypatch.setattr(ClusterWatch, "__init__", noting)
    monkeypatch.setattr(PageServer, "run", run)
    return call(*flags), shown


def test_the_page_s_address_is_printed_and_its_history_kept(
    world: StatusWorld,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Each cluster has a history file of its own; only matching groups are shown."""
    for name in ("g", "other"):
        world.zookeeper_group(name)
    assert serve_until(monkeypatch, ("--groups", "^g")) == (0, ["g"])
    assert capsys.readouterr().out == ("the page of zk:2181/chroot is at http://127.0.0.1:1234/\n")
    assert (tmp_path / "state" / "zkconsumer" / "zk_2181_chroot.history").exists()


def test_without_a_history_no_file_is_left(
    world: StatusWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """There is none in the state folder or in a temporary one."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    assert serve_until(monkeypatch, ("--no-history",)) == (0, [])
    assert os.listdir(temporary) == []
    assert not (tmp_path / "state").exists()
    del world


@pytest.mark.parametrize("way", ["file", "variable", "none"])
def test_other_addresses_need_a_token_or_an_explicit_none(
    world: StatusWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: str
) -> None:
    """The token comes from a file or the environment."""
    path = tmp_path / "token"
    path.write_text(f"{TOKEN}\n")
    flags = {"file": ("--token-file", str(path)), "variable": (), "none": ("--no-token",)}[way]
    if way == "variable":
        monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    everywhere = ("--listen", "0.0.0.0:1", "--no-history")
    assert serve_until(monkeypatch, (*everywhere, *flags))[0] == 0
    del world


def test_invalid_settings_end_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The thread that reads the cluster finds them."""
    listen_nowhere(monkeypatch)

    def open_it(args: argparse.Namespace, **_options: object) -> CommandCluster:
        raise ConfigError(f"no chroot in {args.zookeeper}")

    monkeypatch.setattr(command, "open_cluster", open_it)
    assert serve_until(monkeypatch, ("--no-history",))[0] == 2
    assert "no chroot in zk:2181/chroot" in capsys.readouterr().err


def test_a_port_in_use_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The arguments were right, but the command could not do it."""

    def listening(address: Address) -> None:
        raise ZkConsumerError(f"can't listen on {address}: Address already in use")

    monkeypatch.setattr(command, "listening", listening)
    assert call("--no-history") == 1
    assert "can't listen on 127.0.0.1:8380" in capsys.readouterr().err


class SandboxDouble:
    """A sandbox that is an address only."""

    zookeeper_connect = "played:2181/kafka"

    def __enter__(self) -> "SandboxDouble":
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: nothing was started."""


def test_a_demo_sends_no_notifications(
    world: StatusWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nor does it use the file's settings of another cluster, since its groups are stuck."""
    marker = tmp_path / "marker"
    file = tmp_path / "config.toml"
    file.write_text(
        'zookeeper = "zk:2181"\ncommand-config = "/nowhere/secrets.properties"\n'
        f'[notify]\nafter-ms = 0\n[notify.to.script]\ncommand = ["touch", "{marker}"]\n'
    )
    monkeypatch.setenv("ZKCONSUMER_CONFIG", str(file))
    monkeypatch.setattr("zkconsumer.sandbox.Sandbox", SandboxDouble)
    monkeypatch.setattr("zkconsumer.cli.sandbox.playing", nullcontext)
    notified: list[object] = []

    @contextmanager
    def notifying(*given: object) -> Iterator[None]:
        notified.append(given)
        yield None

    monkeypatch.setattr(command, "notifying", notifying)
    assert serve_until(monkeypatch, ("--play",)) == (0, [])
    assert notified == []
    del world


@pytest.mark.parametrize("flags", [(), ("--no-browser",)])
def test_a_demo_is_opened_in_the_user_s_browser(
    world: StatusWorld,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    flags: tuple[str, ...],
) -> None:
    """It is after the address was printed; with --no-browser it is only printed."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf "$1" > {opened}.new\nmv {opened}.new {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    monkeypatch.setattr("webbrowser._tryorder", None)  # else cached for the whole process
    monkeypatch.setattr("zkconsumer.sandbox.Sandbox", SandboxDouble)
    monkeypatch.setattr("zkconsumer.cli.sandbox.playing", nullcontext)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert serve_until(monkeypatch, ("--play", *flags))[0] == 0
    assert "is at http://127.0.0.1:1234/\n" in capsys.readouterr().out
    if not flags:
        wait_until(opened.exists, what="the browser")
        assert opened.read_text() == "http://127.0.0.1:1234/"
    assert opened.exists() is not bool(flags)
    del world


def test_a_demo_excludes_other_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    """The configuration file's clusters can't be shown with it."""
    assert call("--play", "--clusters", "all") == 2
    assert "leave out --clusters" in capsys.readouterr().err


def test_two_clusters_that_learn_the_same_address_at_once_get_one_history(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The second learns it while the first takes the file: it keeps no history."""
    files: dict[Path, str] = {}
    recorders = {name: Recorder(tmp_path / name) for name in "ab"}
    taking = {
        name: command.recording(
            name,
            argparse.Namespace(address="", no_history=False, history=None),
            recorder,
            files,
        )
        for name, recorder in recorders.items()
    }
    state = ManualStates(ClusterSnapshot(taken_ms=1, zookeeper_connect="zk:2181")).current
    move = recorders["a"].move

    def move_meanwhile(path: Path) -> None:
        taking["b"](state, ())
        move(path)

    recorders["a"].move = move_meanwhile  # type: ignore[method-assign]
    taking["a"](state, ())
    assert recorders["a"].path.name == "zk_2181.history"
    assert recorders["b"].path == tmp_path / "b"
    assert "the history of b is not kept: a and b would share one history" in caplog.text
