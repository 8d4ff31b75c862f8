"""A forgotten chroot, and a cluster whose brokers are all down, are never reported as healthy."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.members import settings_for
from tests.support.served_page import ServedPage, served
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, ZookeeperConsumerConnector
from zkconsumer.cli.main import main
from zkconsumer.errors import ConnectFailed, RegistryError
from zkconsumer.sandbox import Sandbox
from zkconsumer.spark.address import ClusterAddress
from zkconsumer.spark.broker_finder import BrokerFinder

pytestmark = pytest.mark.sandbox

TARGET = "the cluster itself"
COMMANDS = (
    ("lag", "--max-lag", "100"),
    ("groups",),
    ("groups", "--list", "--format", "scala"),
    ("topics",),
    ("topics", "--describe", "--under-replicated"),
    ("verify",),
    ("offsets", "export", "--output-file", "-"),
    ("offsets", "export", "--output-file", "-", "--storage", "zookeeper"),
    ("get-offset", "--topic", "t"),
    ("consume", "--topic", "t", "--timeout-ms", "500"),
    ("consume", "--topic", "t", "--group", "g", "--timeout-ms", "500"),
    ("perf", "--topic", "t", "--messages", "1"),
    ("assign", "plan", "--group", "g"),
    ("replay", "--topic", "t"),
    ("mirror", "--group", "g", "--whitelist", "t", "--target-bootstrap-servers", TARGET),
    ("drain", "--topics", "t", "--to", "nowhere", "--engine", "local"),
    ("produce", "--topic", "t", "/dev/null"),
    ("offsets", "set", "--group", "g", "--to-earliest"),
    ("offsets", "set", "--group", "g", "--to-earliest", "--execute"),
    ("offsets", "migrate", "--group", "g", "--from", "zookeeper", "--to", "kafka"),
    ("groups", "watch"),
    ("groups", "--delete", "--group", "g"),
    ("topics", "--create", "--topic", "n", "--partitions", "1"),
    ("topics", "--delete", "--topic", "t"),
)


@pytest.fixture(scope="module")
def chrooted() -> Iterator[Sandbox]:
    """Run a cluster under the chroot /kafka."""
    with Sandbox(kafka="0.8.2.2", brokers=1, chroot="/kafka") as sandbox:
        sandbox.create_topic("t", partitions=1)
        yield sandbox


def call(words: tuple[str, ...], zookeeper: str) -> int:
    """Run a command; return the exit status."""
    return main([*words, "--zookeeper", zookeeper])


def reason(page: ServedPage) -> str:
    """Return why the page is not healthy."""
    return str(page.get("/healthz").json["reason"])


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_without_the_chroot_exits_with_1(
    chrooted: Sandbox, words: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    """It suggests the right chroot, and prints nothing that could be taken for a result."""
    servers = chrooted.zookeeper_connect.removesuffix("/kafka")
    known = tuple(chrooted.bootstrap_servers if word is TARGET else word for word in words)
    assert call(known, servers) == 1
    reported = capfd.readouterr()
    assert reported.out == ""
    lines = reported.err.splitlines()
    assert all(f"Did you mean {chrooted.zookeeper_connect} (" in line for line in lines)
    assert len(lines) == (5 if words[0] == "drain" else 1)  # a drain tries again


def test_the_doctor_finds_the_missing_chroot(
    chrooted: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is the only finding, with the same suggestion, and the exit status of an error."""
    assert call(("doctor", "--json"), chrooted.zookeeper_connect.removesuffix("/kafka")) == 3
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["code"], found["severity"]) == ("no-brokers", "error")
    assert chrooted.zookeeper_connect in found["repair"]


def test_a_missing_chroot_is_an_error_in_programs_too(chrooted: Sandbox) -> None:
    """Both consumers and the Spark reader suggest the right chroot."""
    servers = chrooted.zookeeper_connect.removesuffix("/kafka")
    with pytest.raises(RegistryError, match="Did you mean"):
        ZookeeperConsumerConnector(settings_for(chrooted, "g", zookeeper_connect=servers))
    with pytest.raises(RegistryError, match="Did you mean"):
        KafkaConsumer("t", zookeeper_connect=servers, group_id="g")
    with pytest.raises(ConnectFailed, match="Did you mean"):
        BrokerFinder(ClusterAddress(zookeeper_connect=servers)).brokers()


def test_the_page_is_not_healthy(chrooted: Sandbox, tmp_path: Path) -> None:
    """Its health check, metrics and start page report the missing brokers; it keeps polling."""
    servers = chrooted.zookeeper_connect.removesuffix("/kafka")
    with served(servers, tmp_path / "log", "--interval-ms", "500") as page:
        wait_until(lambda: "registered" in reason(page), what="the reason is told")
        health = page.get("/healthz")
        assert health.status == 503
        assert chrooted.zookeeper_connect in health.json["reason"]
        assert "\nzkconsumer_up 0\n" in page.get("/metrics").text
        assert "no-brokers" in page.get("/").text


def test_a_watcher_is_notified(chrooted: Sandbox, tmp_path: Path) -> None:
    """``watch`` notifies of the doctor's finding, and keeps running: brokers may still register."""
    got, file = tmp_path / "got", tmp_path / "config.toml"
    program = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read())"
    argv = [sys.executable, "-c", program, str(got)]
    file.write_text(
        f'[notify]\nafter-ms = 0\n[notify.to.script]\ntype = "command"\nargv = {json.dumps(argv)}'
    )
    servers = chrooted.zookeeper_connect.removesuffix("/kafka")
    words = ["watch", "--zookeeper", servers, "--interval-ms", "500"]
    with warm.Popen(
        [sys.executable, "-m", "zkconsumer", *words],
        env={**os.environ, "ZKCONSUMER_CONFIG": str(file)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            text = wait_until(lambda: got.exists() and got.read_text(), what="a message")
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            printed, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    message = json.loads(str(text))
    assert (message["code"], message["group"]) == ("no-brokers", None)
    assert chrooted.zookeeper_connect in message["repair"]
    assert chrooted.zookeeper_connect in printed


def test_all_brokers_down_has_a_message_of_its_own(
    chrooted: Sandbox, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What ZooKeeper knows is shown, but neither exit status nor health check report success."""
    chrooted.stop_broker(0)
    try:
        for words in (("topics",), ("groups",), ("lag",), ("verify",)):
            assert call(words, chrooted.zookeeper_connect) == 1
            assert "all of its brokers are down" in capsys.readouterr().err
        assert call(("topics", "--json"), chrooted.zookeeper_connect) == 1
        topics = json.loads(capsys.readouterr().out)["topics"]
        assert [topic["topic"] for topic in topics] == ["t"]
        assert call(("get-offset", "--topic", "t"), chrooted.zookeeper_connect) == 1
        assert "all of its brokers are down" in capsys.readouterr().err
        with served(chrooted.zookeeper_connect, tmp_path / "log", "--interval-ms", "500") as page:
            wait_until(lambda: "down" in reason(page), what="the reason is told")
            assert page.get("/healthz").status == 503
    finally:
        chrooted.start_broker(0)
    assert call(("lag",), chrooted.zookeeper_connect) == 0
