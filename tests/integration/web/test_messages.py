"""Messages of real brokers, on the page and on the command line."""

import json
import threading
from base64 import b64encode
from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.registry_server import registry_server
from tests.support.served_page import Answer, ServedPage, served, until_read
from tests.support.traffic import write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

TOKEN = "0123456789abcdef-secret"
VALUES = [b'{"user": {"id": %d}, "note": "needle-%d"}' % (number, number) for number in range(40)]
HOSTILE = b"</code><script>alert(1)</script>"


def _hang(_: object) -> None:
    threading.Event().wait(2)


@pytest.fixture(scope="module", params=["0.8.2.2", "2.8.2"])
def brokers(request: pytest.FixtureRequest, broker_of: BrokerOf, cluster: Sandbox) -> Sandbox:
    """Give a broker without timestamps, and one with them."""
    return cluster if request.param == "0.8.2.2" else broker_of(request.param)


@pytest.fixture(scope="module")
def topic(brokers: Sandbox) -> str:
    """Create a topic with forty orders in a partition, a hostile message and bytes in another."""
    name = fresh_name("consume")
    brokers.create_topic(name, partitions=2)
    for start in (0, 20):
        values = VALUES[start : start + 20]
        write(brokers, TopicPartition(name, 0), values, codec=Codec.GZIP)
    write(brokers, TopicPartition(name, 1), [HOSTILE, b"\xff\x00\x1b[31m"])
    return name


def get_page(page: ServedPage, path: str) -> Answer:
    """Request a path as a browser that has logged in."""
    return page.get(path, Authorization=f"Bearer {TOKEN}", Accept="text/html")


def test_the_page_shows_messages(brokers: Sandbox, topic: str, tmp_path: Path) -> None:
    """The last ones, from an offset, filtered, and as lines; none of their content is logged."""
    log = tmp_path / "log"
    arguments = ("--messages", "--interval-ms", "1000")
    environment = {"ZKCONSUMER_TOKEN": TOKEN}
    with served(brokers.zookeeper_connect, log, *arguments, **environment) as page:
        until_read(page)
        path = f"/topics/{topic}/messages"
        wait_until(lambda: get_page(page, path).status == 200, what="the topic to be known")
        assert page.get(path).status == 401
        found = get_page(page, path)
        assert "needle-39" in found.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in found.text
        assert "<script>alert" not in found.text
        assert "ff 00 1b 5b 33 31 6d" in found.text
        one = get_page(page, f"{path}?partition=0&start=offset&at=17&n=1").text
        assert ("needle-17" in one, "needle-18" in one) == (True, False)
        lines = get_page(page, f"{path}.ndjson?filter=.user.id+>=+38").text.splitlines()
        orders = [json.loads(line) for line in lines]
        assert [order["value"]["user"]["id"] for order in orders] == [38, 39]
        assert [order["offset"] for order in orders] == [38, 39]
        in_hex = get_page(page, f"{path}?filter=.user.id+%3D%3D+17&as=hex").text
        assert VALUES[17].hex(" ") in in_hex
        assert "needle" not in in_hex.partition('class="message"')[2]
        young = get_page(page, f"{path}.ndjson?start=time&at=2100-01-01").text
        assert young == ""
    logged = log.read_text()
    assert f"messages were read by 127.0.0.1: {topic}-0: from offset 17, at most 1" in logged
    assert "needle" not in logged
    assert "script" not in logged
    assert "user.id" not in logged


def test_avro_is_shown_by_its_schema(brokers: Sandbox, tmp_path: Path) -> None:
    """Each schema is requested once; without one, or if the registry hangs, values are hex."""
    name = fresh_name("avro")
    brokers.create_topic(name, partitions=1)
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    framed = [b"\0\0\0\0\x07\x54", b"\0\0\0\0\x07\xff\xff", b"\0\0\0\0\x09\x54"]
    write(brokers, TopicPartition(name, 0), [*framed, b"plain", b"\0\1"])
    config = tmp_path / "registry.properties"
    config.write_text("basic.auth.user.info=me:registry-secret\nrequest.timeout.ms=300\n")
    log = tmp_path / "log"
    with registry_server() as registry:
        registry.by_id[7] = {"schema": json.dumps(schema)}
        registry.authorization = "Basic " + b64encode(b"me:registry-secret").decode()
        given = ("--schema-registry", registry.url, "--schema-registry-config", str(config))
        arguments = ("--messages", "--interval-ms", "1000", *given)
        path = f"/topics/{name}/messages"
        with served(brokers.zookeeper_connect, log, *arguments, ZKCONSUMER_TOKEN=TOKEN) as page:
            wait_until(lambda: get_page(page, path).status == 200, what="the topic to be known")
            shown = [
                json.loads(line) for line in get_page(page, f"{path}.ndjson").text.splitlines()
            ]
            assert shown[0]["value"] == {"id": 42}
            text = get_page(page, path).text
            assert "{&#34;id&#34;:42}" in text
            assert "(schema 7: " in text
            assert "(there is no schema 9)" in text
            assert "plain" in text
            assert registry.requests.count("/schemas/ids/7") == 1
            registry.responder = _hang
            write(brokers, TopicPartition(name, 0), [b"\0\0\0\0\x0c\x54"])
            text = get_page(page, path).text  # has a timeout of 10 s
            assert "00 00 00 00 0c 54" in text
            assert "can&#39;t be reached" in text
            assert "{&#34;id&#34;:42}" in text
    assert "registry-secret" not in log.read_text()


def test_messages_need_a_token(brokers: Sandbox, capfd: pytest.CaptureFixture[str]) -> None:
    """Without a token nothing is served."""
    status = main(
        ["serve", "--zookeeper", brokers.zookeeper_connect, "--listen", "127.0.0.1:0", "--messages"]
    )
    assert status == 2
    assert "needs a token" in capfd.readouterr().err


def test_the_command_line_shows_messages(
    brokers: Sandbox, topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The last ones, since a time, and filtered; no group is left behind."""

    def consume(*arguments: str) -> list[str]:
        zookeeper = ("--zookeeper", brokers.zookeeper_connect)
        assert main(["consume", *zookeeper, "--topic", topic, *arguments]) == 0
        return capfd.readouterr().out.splitlines()

    groups = ZkTree(brokers).children("/consumers")
    assert consume("--tail", "1", "--filter", "needle") == [VALUES[-1].decode()]
    assert consume("--tail", "99", "--filter", ".user.id == 3") == [VALUES[3].decode()]
    since = consume("--from-time", "2000-01-01", "--max-messages", "5", "--filter", "value:needle")
    assert since == [value.decode() for value in VALUES[:5]]
    [line] = consume("--tail", "50", "--filter", "alert", "--output", "json")
    assert json.loads(line)["value"] == HOSTILE.decode()
    needle = ("--tail", "1", "--filter", ".user.id == 3", "--show-as", "hex")
    assert consume(*needle) == [VALUES[3].hex(" ")]
    head, *rows = consume("--tail", "50", "--output", "table")
    assert head.split() == ["TIME", "PARTITION", "OFFSET", "KEY", "VALUE"]
    assert len(rows) == 42
    assert max(map(len, rows)) <= 80
    assert any("ff 00 1b" in row for row in rows)
    assert ZkTree(brokers).children("/consumers") == groups
    assert main(["consume", "--topic", topic, "--tail", "1", "--group", "g"]) == 2
    assert "join no group" in capfd.readouterr().err
