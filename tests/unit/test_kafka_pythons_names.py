"""What a program for kafka-python imports, after only the package's name was changed."""

import re

import pytest

import zkconsumer
from zkconsumer import serializer, structs

OF_KAFKA = (
    "KafkaConsumer ConsumerRebalanceListener DefaultSerializer JsonSerializer Serializer "
    "Deserializer ConsumerGroupMetadata OffsetAndMetadata TopicPartition TopicPartitionReplica "
    "IsolationLevel"
)
ABSENT = ("AsyncConsumerRebalanceListener", "KafkaAdminClient", "OffsetSpec")


@pytest.mark.parametrize("name", OF_KAFKA.split())
def test_what_a_consumers_program_imports_is_there(name: str) -> None:
    """By the same name."""
    assert name in zkconsumer.__all__
    assert getattr(zkconsumer, name).__name__ == name


def test_structs_are_those_of_the_package() -> None:
    """Not others of the same name."""
    assert len(structs.__all__) == 6
    for name in set(structs.__all__) - {"MemberState"}:
        assert getattr(structs, name) is getattr(zkconsumer, name)
    assert structs.TopicPartitionReplica("t", 1, 2).broker_id == 2
    assert structs.MemberState.STABLE == "<stable>"


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_not_there_says_what_to_do(name: str) -> None:
    """Instead of that it can't be imported."""
    with pytest.raises(ImportError, match=re.escape(f"zkconsumer has no {name}: ")):
        exec(f"from zkconsumer import {name}")
    with pytest.raises(ImportError, match="cannot import name 'KafkaConsumers'"):
        exec("from zkconsumer import KafkaConsumers")


def test_deserialisers_as_objects() -> None:
    """Text and JSON, both ways; null stays null."""
    text, as_json = serializer.DefaultSerializer(), serializer.JsonSerializer()
    assert text.deserialize("t", [], "\u00e4".encode()) == "\u00e4"
    assert text.serialize("t", [], "\u00e4") == "\u00e4".encode()
    assert text.serialize("t", [], b"\x00") == b"\x00"
    assert as_json.deserialize("t", [], b'{"a": 1}') == {"a": 1}
    assert as_json.serialize("t", [], {"a": 1}) == b'{"a": 1}'
    for default_serializer in (text, as_json):
        assert default_serializer.deserialize("t", [], None) is None
        assert default_serializer.serialize("t", [], None) is None
        default_serializer.close()
    with pytest.raises(TypeError):
        serializer.Deserializer()  # type: ignore[abstract]
