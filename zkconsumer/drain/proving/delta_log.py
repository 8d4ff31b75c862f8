"""List a Delta table's current files."""

from collections.abc import Mapping
from urllib.parse import unquote

from zkconsumer.drain.storage import Storage
from zkconsumer.errors import DrainError


def active_files(storage: Storage, options: Mapping[str, str]) -> set[str]:
    """Return the active files of the table's log.

    Args:
        storage: where the drain and its table are.
        options: of the storage, as ``deltalake`` takes them.

    Returns:
        Paths below the table's own; nothing where there is no table yet.

    Raises:
        DrainError: the package ``deltalake`` is not installed, the log can't be read, or it tells
            readers more than which files there are.
    """
    from zkconsumer.drain.landing_delta import delta_uri  # noqa: PLC0415 - optional

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
    except TableNotFoundError:
        return set()
    except (DeltaError, OSError) as error:
        raise DrainError(f"the Delta table at {storage.uri('')} can't be read: {error}") from error
    if protocol.min_reader_version > 1:
        uses = ", ".join(protocol.reader_features or ["columnMapping"])
        raise DrainError(
            f"the Delta table at {storage.uri('')} has been given features by somebody else "
            f"({uses}) with which its files alone do not tell what readers see: drain verify "
            "can't tell whether everything is there"
        )
    return found
