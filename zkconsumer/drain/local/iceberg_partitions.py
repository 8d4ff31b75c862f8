"""Which partition of its Iceberg table a drain's file is in, by whichever of the table's specs.

Others may give a table another spec. Files that were written by a former one stay right, and new
ones may be written by it: readers plan by the spec of each file. Pure.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, StringType
from pyiceberg.utils.datetime import date_str_to_days

from zkconsumer.drain.local.table_columns import PLACE

_KINDS = {"topic": StringType(), "date": DateType()}


def spec_of(metadata: TableMetadata) -> PartitionSpec | None:
    """The spec by which a drain's files are partitioned: by topic and date as they are.

    Args:
        metadata: the table's.

    Returns:
        The current one if it is that; None where the table has none.
    """
    ids = _ids(metadata)
    if len(ids) < len(PLACE.names):
        return None
    known = metadata.specs()
    for spec in (known[metadata.default_spec_id], *known.values()):
        plain = all(isinstance(field.transform, IdentityTransform) for field in spec.fields)
        if plain and sorted(field.source_id for field in spec.fields) == sorted(ids.values()):
            return spec
    return None


def partition_of(spec: PartitionSpec, ids: Mapping[str, int], where: Mapping[str, str]) -> Record:
    """The partition of a file by a spec that ``spec_of`` found.

    Args:
        spec: of the file.
        ids: the table's numbers of its columns.
        where: topic, and date as ``2014-05-13``.
    """
    values = {ids[name]: value for name, value in _values(where).items()}
    return Record(*(values[field.source_id] for field in spec.fields))


def is_elsewhere(metadata: TableMetadata, file: DataFile, path: str) -> bool:
    """Whether a table says another topic or date of a file than the file's folders.

    Readers who filter by these would miss it.

    Args:
        metadata: the table's.
        file: as the table has it.
        path: the file's, ``topic=T/date=D`` in it; others say nothing.
    """
    steps = (step.partition("=") for step in path.split("/")[:-1])
    where = {name: unquote(value) for name, _, value in steps if name in _KINDS}
    try:
        said = _values(where)
    except ValueError:
        return True
    names = {number: name for name, number in _ids(metadata).items()}
    spec = metadata.specs()[file.spec_id]
    for field, value in zip(spec.fields, _listed(file.partition), strict=True):
        name = names.get(field.source_id)
        if name in said and field.transform.transform(_KINDS[name])(said[name]) != value:
            return True
    return False


def _ids(metadata: TableMetadata) -> dict[str, int]:
    """Numbers of topic and date, where the table has them."""
    return {
        field.name: field.field_id for field in metadata.schema().fields if field.name in _KINDS
    }


def _values(where: Mapping[str, str]) -> dict[str, Any]:
    """As a table has them: days since the epoch."""
    return {
        name: date_str_to_days(value) if name == "date" else value
        for name, value in where.items()
        if name in _KINDS
    }


def _listed(partition: Record) -> list[Any]:
    return [partition[at] for at in range(len(partition))]
