"""Reads a Delta table's current files, and the drain's commits, from its log."""

import json
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from zkconsumer.drain.proving.table_commits import DRAIN, TableState, commit_of
from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError

SUMMARY = "userMetadata"
"""The field of a commit's information that holds a program's own data."""


def read_log(storage: Storage, options: Mapping[str, str], drain: str) -> TableState:
    """Read a table's log.

    Args:
        storage: the storage of the drain and its table.
        options: the storage options of ``deltalake``.
        drain: the id of the drain whose commits are wanted.

    Returns:
        The table's state; empty, and not whole, if there is no table yet.

    Raises:
        DrainError: the package ``deltalake`` is not installed, the log can't be read, or the table
            has features by which its files alone do not determine its rows.
    """
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 - optional
        from deltalake.exceptions import DeltaError, TableNotFoundError  # noqa: PLC0415
    except ImportError as error:
        raise DrainError(
            "a Delta table is read with deltalake: pip install 'zkconsumer[delta]'"
        ) from error
    try:
        table = DeltaTable(delta_uri(storage.uri("")), storage_options=dict(options))
        protocol = table.protocol()
        paths = table.get_add_actions().column("path")
        found = {unquote(str(path)) for path in paths.to_pylist()}
        summaries = list(_summaries(table.history()))
    except TableNotFoundError:
        return TableState(is_whole=False)
    except (DeltaError, OSError) as error:
        raise DrainError(f"the Delta table at {storage.uri('')} can't be read: {error}") from error
    if protocol.min_reader_version > 1:
        uses = ", ".join(protocol.reader_features or ["columnMapping"])
        raise DrainError(
            f"the Delta table at {storage.uri('')} has features that another program enabled "
            f"({uses}), so its files alone do not determine what readers see: drain verify can't "
            "verify it"
        )
    commits = (commit_of(summary, drain) for summary in summaries)
    return TableState(
        files=tuple(sorted(found)),
        commits=tuple(commit for commit in commits if commit is not None),
        is_whole={DRAIN: drain} in summaries,
    )


def delta_uri(uri: str) -> str:
    """Convert a Hadoop path to a URI for ``deltalake``."""
    for ours, theirs in (("s3a://", "s3://"), ("file:", "")):
        if uri.startswith(ours):
            return theirs + uri.removeprefix(ours)
    return uri


def _summaries(history: Iterable[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    """Yield the ``userMetadata`` of each commit in which it is a JSON object."""
    for commit in history:
        text = commit.get(SUMMARY)
        try:
            summary = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            continue
        if isinstance(summary, dict):
            yield summary
