"""The layout of every message in every version, compared with Kafka's own classes."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.golden.capture_layouts import PATH
from tests.support.all_requests import REQUESTS
from tests.support.wire_values import REQUEST_VERSIONS
from zkconsumer.wire.consumer_protocol import (
    ASSIGNMENT_VERSION,
    SUBSCRIPTION_VERSION,
    ConsumerAssignment,
    ConsumerSubscription,
)
from zkconsumer.wire.schema import (
    Array,
    Blob,
    Field,
    FixedBytes,
    FixedInt,
    OnNull,
    SingleField,
    Struct,
    Text,
    WireType,
    fields_of,
)

KAFKA: dict[str, dict[str, Any]] = json.loads(PATH.read_text())
INTEGERS = {"b": "int8", "h": "int16", "i": "int32", "q": "int64", "?": "bool"}

# Kafka's field names and ours, where they differ by more than the spelling.
OURS = {
    "api_keys": {"api_versions"},
    "base_offset": {"base_offset"},
    "cluster_authorized_operations": {"authorized_operations"},
    "commit_timestamp": {"timestamp"},
    "committed_leader_epoch": {"leader_epoch"},
    "committed_metadata": {"metadata"},
    "committed_offset": {"offset"},
    "forgotten_topics_data": {"forgotten_topics"},
    "generation_id_or_member_epoch": {"generation_id"},
    "group_state": {"state"},
    "group_type": {"type"},
    "index": {"partition"},
    "isr_nodes": {"isr"},
    "key": {"group_id"},
    "leader_id": {"leader", "leader_id"},
    "max_num_offsets": {"max_offsets"},
    "member_assignment": {"assignment"},
    "member_metadata": {"metadata"},
    "name": {"name", "topic"},
    "node_id": {"id", "coordinator_id"},
    "old_style_offsets": {"offsets"},
    "partition_data": {"partitions"},
    "partition_index": {"partition"},
    "partition_indexes": {"partitions"},
    "partition_max_bytes": {"max_bytes"},
    "partition_responses": {"partitions"},
    "protocol_data": {"protocol"},
    "replica_nodes": {"replicas"},
    "responses": {"topics", "resources"},
    "topic_authorized_operations": {"authorized_operations"},
    "topic_data": {"topics"},
}


def messages() -> Iterator[tuple[str, type[Any], int]]:
    """Yield Kafka's name, our class, and each version that we support."""
    for request, version in REQUEST_VERSIONS:
        for kind in (request, request.RESPONSE):
            yield kind.__name__, kind, version
    for version in range(SUBSCRIPTION_VERSION + 1):
        yield "ConsumerProtocolSubscription", ConsumerSubscription, version
    for version in range(ASSIGNMENT_VERSION + 1):
        yield "ConsumerProtocolAssignment", ConsumerAssignment, version


@pytest.mark.parametrize(
    ("name", "kind", "version"), [*messages()], ids=lambda value: str(value).rpartition(".")[2]
)
def test_layout(name: str, kind: type[Any], version: int) -> None:
    """The fields have the same order, types, nullability and tags."""
    check_struct(KAFKA[name]["versions"][str(version)], kind, version, name)


@pytest.mark.parametrize("request_type", REQUESTS.values(), ids=lambda kind: kind.__name__)
def test_keys_and_flexible_versions(request_type: type[Any]) -> None:
    """The API has Kafka's key, and the same versions are flexible."""
    api = request_type.API
    for kind in (request_type, request_type.RESPONSE):
        kafka = KAFKA[kind.__name__]
        assert kafka["api_key"] == api.key
        flexible = [int(version) >= kafka["flexible"] for version in kafka["versions"]]
        ours = [api.is_flexible(int(version)) for version in kafka["versions"]]
        assert flexible[: api.last + 1] == ours[: api.last + 1]


def check_struct(kafka: Sequence[Any], kind: type[Any], version: int, path: str) -> None:
    """Compare the fields of a struct in one version."""
    fields = [field for field in fields_of(kind) if field.in_version(version)]
    plain = [field for field in fields if field.tag is None]
    tagged = {field.tag: field for field in fields if field.tag is not None}
    plain_of_kafka = [field for field in kafka if field[3] is None]
    assert len(plain) == len(plain_of_kafka), path
    for each, field in zip(plain_of_kafka, plain, strict=True):
        check_field(each, field, version, path)
    tagged_of_kafka = [field for field in kafka if field[3] is not None]
    assert len(tagged) == len(tagged_of_kafka), path
    for field in tagged_of_kafka:
        check_field(field, tagged[field[3]], version, path)


def check_field(kafka: Sequence[Any], field: Field, version: int, path: str) -> None:
    """Compare one field: its name, its type, and whether it may be null."""
    name, kind, nullable, _ = kafka
    path = f"{path}.{field.name}"
    snake = re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
    assert field.name in OURS.get(snake, {snake}), path
    check_type(kind, field.type, version, path)
    sends_null, reads_null = nulls(field.type, version)
    assert reads_null or not nullable, path
    assert nullable or not sends_null or isinstance(field.type, Text), path


def check_type(kafka: Any, ours: WireType, version: int, path: str) -> None:
    """Compare types; structs and arrays by their contents."""
    match ours:
        case FixedInt(code):
            assert kafka == INTEGERS[code], path
        case FixedBytes(count):
            assert (kafka, count) == ("uuid", 16), path
        case Text():
            assert kafka == "string", path
        case Blob():
            assert kafka in ("bytes", "records"), path
        case Array(element):
            inner = kafka["array"]
            if isinstance(element, SingleField) and not isinstance(inner, str):
                check_struct(inner, element.message, version, path)
            else:
                check_type(inner, element, version, path)
        case Struct(message) | SingleField(message):
            check_struct(kafka, message, version, path)


def nulls(wire_type: WireType, version: int) -> tuple[bool, bool]:
    """Return whether we may send null, and whether we accept it."""
    match wire_type:
        case Text(on_null):
            return on_null is OnNull.KEEP, on_null is not OnNull.REFUSE
        case Blob(on_null):
            return on_null is OnNull.KEEP, True
        case Array(_, null_since):
            null = null_since is not None and version >= null_since
            return null, null
        case _:
            return False, False
