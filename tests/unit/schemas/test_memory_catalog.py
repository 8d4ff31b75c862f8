"""Catalogs of adopted schemas: one in memory is bounded, and a fixed one adopts nothing."""

from tests.support.schemas import USER, avro, avro_value
from zkconsumer.schemas.decoding import MAX_SCHEMAS, AdoptedSchema, SchemaUse, ValueDecoding
from zkconsumer.schemas.memory_catalog import FixedCatalog, MemoryCatalog, OneSchema


def test_values_of_too_many_schemas_are_rejects() -> None:
    """Values of schemas beyond the limit are rejected; those of adopted schemas are decoded."""
    decoding = ValueDecoding("avro", MemoryCatalog(OneSchema(avro(USER))))
    values = [avro_value(key, USER, {"id": 7, "name": None}) for key in range(MAX_SCHEMAS + 1)]
    found = decoding.decode([*values, values[0]])
    assert found.rejects == {
        MAX_SCHEMAS: f"schema {MAX_SCHEMAS} is not adopted: the column has too many schemas already"
    }
    assert found.column is not None
    assert found.column[MAX_SCHEMAS + 1].as_py() == {"id": 7, "name": None}


def test_a_fixed_catalog_keeps_the_column_and_remembers_other_schemas() -> None:
    """A fixed catalog rejects values of other schemas, and remembers which they were.

    A value that can't be decoded adds none.
    """
    old = AdoptedSchema(SchemaUse(1), avro(USER))
    catalog = FixedCatalog(OneSchema(avro({**USER, "name": "Other"})), [old])
    decoding = ValueDecoding("avro", catalog)
    values = [avro_value(key, USER, {"id": 7, "name": None}) for key in (1, 2, 2)]
    found = decoding.decode([*values, b"\0\0\0\0\3\xff\xff"])
    assert sorted(found.rejects) == [1, 2, 3]
    assert list(catalog.met) == [SchemaUse(2)]
    grown = ValueDecoding("avro", FixedCatalog(OneSchema(avro(USER)), [old, *catalog.met.values()]))
    assert not grown.decode(values).rejects
