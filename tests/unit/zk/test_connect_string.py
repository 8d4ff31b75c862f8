"""Parsing of ``zookeeper.connect``."""

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.zk.connect_string import ConnectString, parse_connect_string


@pytest.mark.parametrize(
    ("text", "hosts", "chroot"),
    [
        ("h1:2181", "h1:2181", ""),
        ("h1", "h1:2181", ""),
        ("h1:2181/", "h1:2181", ""),
        ("h1:1,h2:2/kafka", "h1:1,h2:2", "/kafka"),
        (" h1:1 , h2:2/kafka/test ", "h1:1,h2:2", "/kafka/test"),
        ("[::1]:2181,10.0.0.1:2182/k", "[::1]:2181,10.0.0.1:2182", "/k"),
        ("zk-1.example.org:65535/a.b", "zk-1.example.org:65535", "/a.b"),
    ],
)
def test_servers_and_chroot_are_parsed(text: str, hosts: str, chroot: str) -> None:
    """The default port is 2181, and a trailing slash is ignored."""
    parsed = parse_connect_string(text)
    assert (parsed.hosts, parsed.chroot) == (hosts, chroot)


def test_a_server_has_a_host_and_a_port() -> None:
    """Hosts have no brackets, and ports are numbers."""
    assert parse_connect_string("[::1],h:7") == ConnectString((("::1", 2181), ("h", 7)), "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a server"),
        ("/kafka", "is not a server"),
        ("h1:2181,", "is not a server"),
        ("h1:port", "is not a server"),
        ("h1:2181:2182", "is not a server"),
        ("http://h1:2181", "is not a server"),
        ("h1:0", "0 is not a port"),
        ("h1:65536", "65536 is not a port"),
        ("h1:2181/a//b", "is not a ZooKeeper path"),
        ("h1:2181/..", "is not a ZooKeeper path"),
        ("h1:1/kafka,h2:2/kafka", "the chroot is given once"),
        ("h1:1/kafka,h2", "the chroot is given once"),
    ],
)
def test_a_malformed_text_says_what_is_wrong(text: str, reason: str) -> None:
    """A malformed value is refused with the setting's name and the reason."""
    with pytest.raises(ConfigError, match=reason) as caught:
        parse_connect_string(text)
    assert "zookeeper.connect" in str(caught.value)
