"""Invalid settings of decoding are refused with a sentence."""

from typing import Any

import pytest

from zkconsumer.drain import DecodeSettings, DrainSettings
from zkconsumer.errors import ConfigError

AVRO: dict[str, Any] = {"format": "avro", "registry": "http://r"}


@pytest.mark.parametrize(
    ("decode", "drain", "reason"),
    [
        ({"format": "xml", "registry": "http://r"}, {}, "must be one of avro, json, protobuf"),
        (
            {"format": "avro"},
            {},
            "requires exactly one of --schema-registry URL and --schemas FOLDER",
        ),
        ({**AVRO, "schemas": "/s"}, {}, "exactly one of"),
        (
            {"format": "avro", "schemas": "/s", "registry_options": {"a": "b"}},
            {},
            "--schema-registry-config requires --schema-registry",
        ),
        ({**AVRO, "bare": True, "schema_id": "strip"}, {}, "such values have no schema id"),
        ({**AVRO, "schema_id": "drop"}, {}, "must be column or strip"),
        ({"registry": "http://r"}, {}, "require --decode"),
        (AVRO, {"topics": ("a", "b")}, "lands one topic per path"),
        (AVRO, {"topics": (), "topics_pattern": "a.*"}, "lands one topic per path"),
        (AVRO, {"format": "json"}, "--format json has no typed columns"),
        (
            AVRO,
            {"format": "kafka", "target_bootstrap_servers": "b:9092"},
            "--to kafka has no typed columns",
        ),
    ],
)
def test_invalid_decode_settings_are_refused(
    decode: dict[str, Any], drain: dict[str, Any], reason: str
) -> None:
    """They are refused before any request."""
    given: dict[str, Any] = {"path": "/p", "zookeeper": "z", "topics": ("t",), **drain}
    with pytest.raises(ConfigError, match=reason):
        DrainSettings(**given, decode=DecodeSettings(**decode)).checked()


def test_the_identity_of_a_drain_includes_its_decoding() -> None:
    """The registry's address and password are not part of it."""
    settings = DrainSettings(
        path="/p",
        zookeeper="z",
        topics=("t",),
        decode=DecodeSettings(
            **AVRO, registry_options={"basic.auth.user.info": "a:secret"}, schema_id="strip"
        ),
    )
    settings.checked()
    assert settings.identity("id", 0).decode == "avro strip"
    assert b"secret" not in settings.identity("id", 0).to_bytes()
    assert "secret" not in repr(settings)
    only_ids = DecodeSettings(schema_id="column")
    only_ids.check("parquet", ())
    assert only_ids.text() == "ids column"
