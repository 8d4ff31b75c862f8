"""The original's property files become our settings; mirrors that would feed themselves."""

from pathlib import Path

import pytest

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.consumer.config import PollConfig
from zkconsumer.errors import ConfigError
from zkconsumer.mirror.cycles import cycle_of
from zkconsumer.mirror.settings import (
    MirrorSettings,
    TargetSettings,
    consumer_settings,
    target_settings,
)
from zkconsumer.mirror.target import _tries
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.records.codecs import Codec

CLIENT = ClientSettings(client_id="mirror", timeout_ms=1_000)

OLD_CONSUMER = {
    "zookeeper.connect": "zk:2181/kafka",
    "group.id": "mirror",
    "zookeeper.session.timeout.ms": "4000",
    "auto.offset.reset": "largest",
    "auto.commit.enable": "true",
    "auto.commit.interval.ms": "5000",
    "fetch.message.max.bytes": "2000000",
    "socket.timeout.ms": "20000",
    "num.consumer.fetchers": "2",
    "poison.policy": "skip",
    "mirror.magic": "1",
}


def test_a_property_file_of_the_original_consumer_is_understood(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What a mirror decides itself is left out, and unknown settings are logged."""
    found = consumer_settings(OLD_CONSUMER)
    config = PollConfig(found.settings)
    assert (config.group_id, config.zookeeper_connect) == ("mirror", "zk:2181/kafka")
    assert (config.max_partition_fetch_bytes, config.request_timeout_ms) == (2_000_000, 20_000)
    assert config.auto_offset_reset == "latest"
    assert not config.enable_auto_commit
    assert config.zookeeper["zookeeper.session.timeout.ms"] == "4000"
    assert found.commit_interval_ms == 5_000
    reported = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert reported == [
        f"setting {key} of the consumer has no effect on a mirror"
        for key in ("poison.policy", "mirror.magic")
    ]


def test_security_of_a_source_is_read_in_either_spelling(tmp_path: Path) -> None:
    """A file that works for Kafka's own tools works for a mirror; no secret appears in a repr."""
    authority = tmp_path / "ca.pem"
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    file = {
        "bootstrap.servers": "h:1",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{module} required username="u" password="hidden";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
    }
    found = consumer_settings(file)
    config = PollConfig(found.settings)
    assert (config.sasl_plain_username, config.sasl_plain_password) == ("u", "hidden")
    assert config.ssl_cafile == str(authority)
    mirrored = MirrorSettings(
        topics=Whitelist("t"), consumers=(found.settings,), target=target_settings(file, None)
    )
    assert "hidden" not in f"{found} {mirrored}"


def test_an_unknown_security_setting_is_refused() -> None:
    """It may be meant to protect something."""
    with pytest.raises(ConfigError, match=r"ssl\.truststore\.file: did you mean ssl\.trust"):
        PollConfig(consumer_settings({"ssl.truststore.file": "ca.pem"}).settings)


def test_a_new_group_begins_with_the_oldest_messages() -> None:
    """A mirror that began at the end would leave out what is there; the file may override this."""
    assert PollConfig(consumer_settings({}).settings).auto_offset_reset == "earliest"


def test_a_setting_that_is_no_number_is_refused() -> None:
    """The error names the key."""
    with pytest.raises(ConfigError, match=r"auto.commit.interval.ms is 'soon'"):
        consumer_settings({"auto.commit.interval.ms": "soon"})
    with pytest.raises(ConfigError, match=r"retries is 'x'"):
        target_settings({"retries": "x"}, "h:1")


@pytest.mark.parametrize("new", [False, True])
def test_property_files_of_both_producers_are_understood(new: bool) -> None:
    """This covers servers, compression, retries, pauses, client id and security."""
    file = {
        "bootstrap.servers" if new else "metadata.broker.list": "a:1,b:2",
        "compression.type" if new else "compression.codec": "gzip" if new else "2",
        "retries" if new else "message.send.max.retries": "7",
        "retry.backoff.ms": "50",
        "request.timeout.ms": "4000",
        "client.id": "me",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.plain.username": "u",
        "sasl.plain.password": "p",
        "linger.ms": "5",
        "acks": "all",
    }
    target = target_settings(file, None)
    assert [(broker.host, broker.port) for broker in target.client.bootstrap] == [
        ("a", 1),
        ("b", 2),
    ]
    assert target.batches.codec is (Codec.GZIP if new else Codec.SNAPPY)
    assert (target.retries, target.batches.backoff_ms, target.client.timeout_ms) == (7, 50, 4_000)
    assert target.client.client_id == "me"
    assert target.client.security.protocol == "SASL_PLAINTEXT"


def test_the_command_line_wins_and_acks_are_always_all(caplog: pytest.LogCaptureFixture) -> None:
    """A setting that would lose messages is replaced, and logged."""
    target = target_settings(
        {"metadata.broker.list": "a:1", "request.required.acks": "1", "odd": "1"}, "c:3"
    )
    assert [(broker.host, broker.port) for broker in target.client.bootstrap] == [("c", 3)]
    assert [record.getMessage() for record in caplog.records] == [
        "request.required.acks=1: a mirror always waits for all replicas (-1)",
        "setting odd of the producer has no effect on a mirror",
    ]


def test_a_missing_target_and_unknown_codecs_are_refused() -> None:
    """The error says what to do."""
    with pytest.raises(ConfigError, match="give --target-bootstrap-servers"):
        target_settings({}, None)
    with pytest.raises(ConfigError, match=r"compression.codec is brotli"):
        target_settings({"compression.codec": "brotli"}, "h:1")


@pytest.mark.parametrize(
    ("topics", "prefix", "cycle"),
    [
        (Whitelist("a|b"), "", ("a", "a")),
        (Whitelist(".*"), "copy-", ("a", "copy-a")),
        (Whitelist("a|b"), "copy-", None),
        (Blacklist("copy-.*"), "copy-", None),
        (Blacklist("c"), "copy-", ("a", "copy-a")),
        (Whitelist("z"), "", None),
    ],
)
def test_a_mirror_within_one_cluster_must_not_be_circular(
    topics: Whitelist | Blacklist, prefix: str, cycle: tuple[str, str] | None
) -> None:
    """No target topic may be one that is mirrored, too."""
    settings = MirrorSettings(
        topics=topics, consumers=(), target=target_settings({}, "h:1"), topic_prefix=prefix
    )
    assert cycle_of(settings, ["b", "a", "c"]) == cycle


def test_the_idempotent_producer_can_be_disabled() -> None:
    """It is the default; a value that is neither true nor false is refused."""
    assert target_settings({}, "h:1").batches.idempotent
    assert not target_settings({"enable.idempotence": "False"}, "h:1").batches.idempotent
    with pytest.raises(ConfigError, match=r"enable\.idempotence is maybe"):
        target_settings({"enable.idempotence": "maybe"}, "h:1")


def test_an_idempotent_producer_retries_for_longer_than_an_election() -> None:
    """Giving up would mean a new producer id, and copies; a configured limit is obeyed."""
    assert _tries(TargetSettings(client=CLIENT)) * 200 >= 120_000
    assert _tries(TargetSettings(client=CLIENT, batches=BatchSettings())) == 5
    assert _tries(TargetSettings(client=CLIENT, retries=3)) == 3
