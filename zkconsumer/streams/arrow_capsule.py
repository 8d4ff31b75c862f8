"""Exports Arrow batches as a C stream, which any Arrow library can read, and selects columns.

pyarrow does the exporting. docs/decisions/0061 describes such a stream of a topic.

Source: Arrow's C stream interface and PyCapsule interface.
"""

from collections.abc import Callable, Collection, Iterator

import pyarrow as pa

from zkconsumer.printable import shown


class _RequestedSchema:
    """A schema capsule in the form that pyarrow accepts."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_schema__(self) -> object:
        return self._capsule


def chosen(schema: pa.Schema, columns: object) -> pa.Schema:
    """Return the schema of the named columns, in the order given; None: all.

    Raises:
        ValueError: a name is unknown or repeated, or there is none.
    """
    if columns is None:
        return schema
    names = schema.names
    if isinstance(columns, str | bytes) or not isinstance(columns, Collection) or not columns:
        raise ValueError(f"columns {shown(columns)}: give a list of some of {', '.join(names)}")
    wanted = list(columns)
    for name in wanted:
        if name not in names:
            raise ValueError(f"no column {shown(name)}: there are {', '.join(names)}")
        if wanted.count(name) > 1:
            raise ValueError(f"column {shown(name)} is named twice")
    return pa.schema([schema.field(name) for name in wanted])


def capsule_of(
    schema: pa.Schema,
    read: Callable[[pa.Schema], Iterator[pa.RecordBatch]],
    requested_schema: object,
) -> object:
    """Make the capsule that ``__arrow_c_stream__`` returns; read nothing yet.

    Args:
        schema: the schema of all columns.
        read: returns an iterator over batches of the schema that it is called with.
        requested_schema: the capsule of a schema, whose columns alone are made, in its order;
            pyarrow casts them to its types. None: all columns, uncast.

    Raises:
        ValueError: a column is unknown or repeated, or there is none.
        pyarrow.ArrowException: a column can't be cast to the requested type.
    """
    requested = None
    if requested_schema is not None:
        wanted = pa.schema(_RequestedSchema(requested_schema))
        schema = chosen(schema, wanted.names)
        # The capsule that was passed in is used up.
        requested = wanted.__arrow_c_schema__()
    reader = pa.RecordBatchReader.from_batches(schema, read(schema))
    return reader.__arrow_c_stream__(requested)
