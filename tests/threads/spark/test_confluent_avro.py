"""Columns of Avro with schema ids, decoded by several threads of one process."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from tests.support.schemas import USER, avro, avro_value
from zkconsumer.schemas.definition import SchemaDefinition
from zkconsumer.schemas.wire_format import SchemaKey
from zkconsumer.spark import confluent_avro
from zkconsumer.spark.confluent_avro import _ColumnDecoder

URL = "http://registry"


def test_a_thread_does_not_wait_for_the_schema_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that does not respond stops only values with the id that it is asked for."""
    asked, goes_on, fetched = Event(), Event(), list[SchemaKey]()

    class Registry:
        """A registry whose response about schema 1 takes long."""

        def __init__(self, *_arguments: object) -> None:
            pass

        def find(self, key: SchemaKey) -> SchemaDefinition:
            """See ``SchemaSource``."""
            fetched.append(key)
            if key == 1:
                asked.set()
                assert goes_on.wait(30)
            return avro(USER)

    monkeypatch.setattr(confluent_avro, "RegistryClient", Registry)
    decoder = _ColumnDecoder(reader=avro(USER), registry=URL, options={}, is_strict=True)

    def decode(schema_id: int) -> Any:
        return decoder.decode([avro_value(schema_id, USER, {"id": 7})]).to_pylist()

    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(decode, 1)
        assert asked.wait(30)
        try:
            assert pool.submit(decode, 2).result(5) == [{"id": 7, "name": None}]
        finally:
            goes_on.set()
        assert slow.result(30) == [{"id": 7, "name": None}]
    assert decode(1) == decode(1) == [{"id": 7, "name": None}]
    assert fetched == [1, 2]
