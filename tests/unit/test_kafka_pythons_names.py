"""What a program for kafka-python imports when only the package's name was changed."""

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
def test_names_that_a_consumer_imports_exist(name: str) -> None:
    """Each name of kafka-python's consumer API can be imported from our package."""
    assert name in zkconsumer.__all__
    assert getattr(zkconsumer, name).__name__ == name


def test_structs_are_the_classes_of_the_package() -> None:
    """``structs`` exports the same classes as the package, not copies of them."""
    assert len(structs.__all__) == 6
    for name in set(structs.__all__) - {"MemberState"}:
        assert getattr(structs, name) is getattr(zkconsumer, name)
    assert structs.TopicPartitionReplica("t", 1, 2).broker_id == 2
    assert structs.MemberState.STABLE == "<stable>"


@pytest.mark.parametrize("name", ABSENT)
def test_a_missing_name_says_what_to_use_instead(name: str) -> None:
    """The ``ImportError`` of a known missing name names the alternative."""
    with pytest.raises(ImportError, match=re.escape(f"zkconsumer has no {name}: ")):
        exec(f"from zkconsumer import {name}")
    with pytest.raises(ImportError, match="cannot import name 'KafkaConsumers'"):
        exec("from zkconsumer import KafkaConsumers")


def test_serializer_objects_convert_text_and_json() -> None:
    """Text and JSON are converted both ways; null stays null."""
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
