"""How the decoding tasks of one process share a schema registry."""

import json

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.registry_server import registry_server
from tests.support.schemas import USER, avro_value
from tests.unit.drain.on_spark.test_decoding import batch
from zkconsumer.drain.decode_settings import DecodeSettings
from zkconsumer.drain.on_spark.decoding import Findings, TaskDecoding
from zkconsumer.schemas import remembered
from zkconsumer.schemas.wire_format import SchemaKey


def test_tasks_of_a_process_share_schemas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each schema is requested once; a missing one is requested again after seconds."""
    clock = ManualClock()
    monkeypatch.setattr(remembered, "SystemClock", lambda: clock)
    late, known = (avro_value(key, USER, {"id": 1, "name": None}) for key in (2, 1))
    with registry_server() as registry:
        registry.by_id[1] = {"schema": json.dumps(USER)}
        tasks = TaskDecoding(DecodeSettings(format="avro", registry=registry.url), "t0", (), None)

        def schemas_used() -> list[SchemaKey]:
            findings = Findings()
            assert len(list(tasks.decoded([batch([known, late])], findings))) == 2
            return [use.schema for use in findings.schemas]

        assert [schemas_used(), schemas_used()] == [[1], [1]]
        assert registry.requests == ["/schemas/ids/1", "/schemas/ids/2"]
        registry.by_id[2] = {"schema": json.dumps(USER)}
        clock.advance(5_000)
        assert [schemas_used(), schemas_used()] == [[1, 2], [1, 2]]
        assert registry.requests[2:] == ["/schemas/ids/2"]
