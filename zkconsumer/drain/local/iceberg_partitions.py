"""Computes the Iceberg partition of a drain's file, by any of the table's specs.

Other programs may change a table's spec. Files of a former spec stay valid, and new files may
use it: readers plan by the spec of each file. Pure.
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

from zkconsumer.drain.local.columns import PLACE

_KINDS = {"topic": StringType(), "date": DateType()}


def spec_of(metadata: TableMetadata) -> PartitionSpec | None:
    """Return the spec that partitions by topic and date, untransformed, as a drain does.

    Returns:
        The current spec if it does; None if the table has no such spec.
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


def partition_of(spec: PartitionSpec, metadata: TableMetadata, where: Mapping[str, str]) -> Record:
    """Return the partition of a file by a spec that ``spec_of`` found.

    Args:
        spec: the spec of the file.
        metadata: the table's metadata.
        where: the topic, and the date as ``2014-05-13``.
    """
    ids = _ids(metadata)
    values = {ids[name]: value for name, value in _values(where).items()}
    return Record(*(values[field.source_id] for field in spec.fields))


def is_elsewhere(metadata: TableMetadata, file: DataFile, path: str) -> bool:
    """Return whether a file's topic or date in the table differs from that of its folders.

    Readers that filter by these would miss the file.

    Args:
        metadata: the table's metadata.
        file: the table's entry of the file.
        path: the file's path; a file without ``topic=T/date=D`` in it is never misplaced.
    """
    steps = (step.partition("=") for step in path.split("/")[:-1])
    where = {name: unquote(value) for name, _, value in steps if name in _KINDS}
    try:
        values = _values(where)
    except ValueError:
        return True
    names = {number: name for name, number in _ids(metadata).items()}
    spec = metadata.specs()[file.spec_id]
    for field, value in zip(spec.fields, _listed(file.partition), strict=True):
        name = names.get(field.source_id)
        if name in values and field.transform.transform(_KINDS[name])(values[name]) != value:
            return True
    return False


def _ids(metadata: TableMetadata) -> dict[str, int]:
    """Return the field ids of topic and date, as far as the table has them."""
    return {
        field.name: field.field_id for field in metadata.schema().fields if field.name in _KINDS
    }


def _values(where: Mapping[str, str]) -> dict[str, Any]:
    """Return partition values as a table has them: dates are days since the epoch."""
    return {
        name: date_str_to_days(value) if name == "date" else value
        for name, value in where.items()
        if name in _KINDS
    }


def _listed(partition: Record) -> list[Any]:
    return [partition[at] for at in range(len(partition))]
