"""How a sandbox starts, fails to start, and ends."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.process_table import processes_with
from tests.support.waiting import wait_until
from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.ports import pick_free
from zkconsumer.sandbox.zookeeper_client import ZooKeeperClient

pytestmark = pytest.mark.sandbox


@contextmanager
def up(*arguments: str, before: Sequence[str] = ()) -> Iterator["subprocess.Popen[str]"]:
    """Run ``zkconsumer sandbox up`` as a process; kill it at the end."""
    command = [*before, sys.executable, "-m", "zkconsumer", "sandbox", "up", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_until_up(process: "subprocess.Popen[str]") -> list[str]:
    """Return the lines that it prints until the cluster is up."""
    assert process.stdout is not None
    return [process.stdout.readline().rstrip("\n") for _ in range(3)]


def test_a_sandbox_may_have_no_brokers(zookeeper: Sandbox) -> None:
    """It is a ZooKeeper server with the chroot created."""
    assert zookeeper.brokers == ()
    assert zookeeper.bootstrap_servers == ""
    address, _, chroot = zookeeper.zookeeper_connect.partition("/")
    with ZooKeeperClient("127.0.0.1", int(address.rpartition(":")[2])) as client:
        assert client.get(f"/{chroot}") is not None
    with pytest.raises(SandboxError, match="replication=1: 0 brokers are running"):
        zookeeper.create_topic("t")


def test_a_temporary_folder_is_gone_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All processes have ended, too."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Sandbox(brokers=0):
        (folder,) = tmp_path.iterdir()
        assert processes_with(str(folder))
    assert not folder.exists()
    assert processes_with(str(folder)) == []


def test_fixed_ports_and_an_empty_chroot_are_used() -> None:
    """The cluster is at the given ports."""
    taken: set[int] = set()
    zookeeper_port, broker_port = pick_free(taken), pick_free(taken)
    with Sandbox(zookeeper_port=zookeeper_port, broker_ports=[broker_port], chroot="") as sandbox:
        assert sandbox.zookeeper_connect == f"127.0.0.1:{zookeeper_port}"
        assert sandbox.bootstrap_servers == f"127.0.0.1:{broker_port}"
        sandbox.create_topic("t")


@pytest.mark.parametrize("what", ["zookeeper_port", "broker_ports"])
def test_a_port_in_use_is_a_one_line_error(what: str) -> None:
    """It names the port, and nothing was started."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        sandbox = (
            Sandbox(zookeeper_port=port)
            if what == "zookeeper_port"
            else Sandbox(broker_ports=[port])
        )
        with pytest.raises(SandboxError, match=f"port {port} for .* is taken: .*another port$"):
            sandbox.start()


def test_a_broker_that_does_not_start_shows_its_reason(tmp_path: Path) -> None:
    """The error has the last lines of its log, and everything else is stopped."""
    wrong = {"log.retention.bytes": "many"}
    with pytest.raises(SandboxError, match=r"broker 0 did not start: .*many") as caught:
        Sandbox(brokers=1, broker_properties=wrong, work_dir=tmp_path).start()
    assert "\n" not in str(caught.value)
    assert processes_with(str(tmp_path)) == []


def test_no_java_and_no_jars_are_reported_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty cache without a network is a one-line error."""
    port = pick_free(set())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("ZKCONSUMER_MAVEN_REPOSITORY", f"http://127.0.0.1:{port}")
    with pytest.raises(SandboxError, match=r"can't download org\.apache\.kafka:kafka_2\.10"):
        Sandbox().start()


def test_cached_jars_need_neither_network_nor_resolver(cluster: Sandbox) -> None:
    """A version that was started once starts without either."""
    code = (
        "import sys; from zkconsumer.sandbox import jars; "
        f"print(len(jars.class_path({cluster.kafka!r})), 'jgo' in sys.modules)"
    )
    environ = {**os.environ, "ZKCONSUMER_MAVEN_REPOSITORY": "http://127.0.0.1:1"}
    reported = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert reported.stdout == "15 False\n"


def test_the_command_reports_an_error_in_one_line() -> None:
    """It is on standard error, with status 1 and nothing on standard output."""
    command = [sys.executable, "-m", "zkconsumer", "sandbox", "up", "--kafka", "0.7.2"]
    reported = subprocess.run(command, capture_output=True, text=True, check=False)
    assert reported.returncode == 1
    assert reported.stdout == ""
    assert "the sandbox has no Kafka 0.7.2: choose one of" in reported.stderr
    assert reported.stderr.count("\n") == 1


def test_the_command_prints_the_clusters_addresses() -> None:
    """They are two lines for a properties file; the topics are created."""
    taken: set[int] = set()
    zookeeper_port, first = pick_free(taken), pick_free(taken)
    options = ["--zookeeper-port", str(zookeeper_port), "--broker-port", str(first)]
    with up(*options, "--topic", "logs:4") as process:
        connect, brokers, last = lines_until_up(process)
        assert connect == f"zookeeper.connect=127.0.0.1:{zookeeper_port}/kafka"
        assert brokers == f"metadata.broker.list=127.0.0.1:{first}"
        assert "Ctrl-C" in last
        with ZooKeeperClient("127.0.0.1", zookeeper_port) as client:
            topic = client.get("/kafka/brokers/topics/logs")
        assert topic is not None
        assert topic.data == b'{"version":1,"partitions":{"0":[0],"1":[0],"2":[0],"3":[0]}}'


def test_an_ignored_sigint_stays_ignored() -> None:
    """In a script's background Ctrl-C is meant for other processes; SIGTERM ends it."""
    deaf = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    with up("--brokers", "0", before=deaf) as process:
        assert process.stdout is not None
        while "Ctrl-C" not in (line := process.stdout.readline()):
            assert line, "it ended"
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_command_leaves_nothing_behind(number: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C and SIGTERM are clean ends with status 0; even a kill leaves no orphan."""
    with up("--brokers", "2", "--work-dir", str(tmp_path)) as process:
        lines_until_up(process)
        assert len(processes_with(str(tmp_path / "broker-"))) == 2
        process.send_signal(number)
        status = process.wait(timeout=20)
        assert status == (-signal.SIGKILL if number == signal.SIGKILL else 0)
        wait_until(
            lambda: not [pid for pid in processes_with(str(tmp_path)) if pid != os.getpid()],
            timeout_s=10,
            what="the end of all servers",
        )
