"""A process's own catalog is as bounded as a drain's, and says so in the same way."""

from tests.support.schemas import USER, avro, avro_value
from zkconsumer.schemas.decoding import MAX_SCHEMAS, ValueDecoding
from zkconsumer.schemas.memory_catalog import MemoryCatalog, OneSchema


def test_values_of_too_many_schemas_are_rejects() -> None:
    """Those that were taken in are decoded as before; nothing is raised."""
    decoding = ValueDecoding("avro", MemoryCatalog(OneSchema(avro(USER))))
    values = [avro_value(key, USER, {"id": 7, "name": None}) for key in range(MAX_SCHEMAS + 1)]
    found = decoding.decode([*values, values[0]])
    assert found.rejects == {
        MAX_SCHEMAS: f"schema {MAX_SCHEMAS} is not taken in: there are values of too many others"
    }
    assert found.column is not None
    assert found.column[MAX_SCHEMAS + 1].as_py() == {"id": 7, "name": None}
