"""The file that undoes what a command does to offsets: on the disk before anything is written."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from zkconsumer.cli.files import sync_folder, write_synced
from zkconsumer.cli.output import note
from zkconsumer.offsets.migration.plan import MigrationRefused
from zkconsumer.offsets.migration.roll_back import RollBack, encode_roll_backs


@contextmanager
def roll_back_file(name: str | None, parts: Sequence[RollBack]) -> Iterator[str | None]:
    """Have the file on the disk, under a new name, before anything else is written.

    It goes again where nothing was written after all. Gives its name; None where there is nothing
    to undo, and no file.

    Args:
        name: as the user wants it; None: one that says whose offsets, where and when.
        parts: what each place held; those of which nothing is to be written count for nothing.

    Raises:
        OSError: it can't be written, or there is a file of that name.
    """
    changed = [part for part in parts if part.written]
    if not changed:
        yield None
        return
    name = name or _default_name(changed)
    path = Path(name)
    with path.open("x", encoding="utf-8") as file:
        try:
            write_synced(file, encode_roll_backs(changed))
            sync_folder(path)
        except BaseException:
            # An incomplete file is useless, and blocks the next try.
            path.unlink()
            raise
    note(f"--roll-back {name} undoes what follows")
    try:
        yield name
    except MigrationRefused:
        path.unlink()
        raise


def _default_name(parts: Sequence[RollBack]) -> str:
    groups = {part.group_id for part in parts}
    storages = {part.target.value for part in parts}
    time = datetime.fromtimestamp(parts[0].made_ms / 1000, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    # Short enough for any file system, however long the group's name is.
    whose = quote(min(groups), safe="")[:150] if len(groups) == 1 else f"{len(groups)}-groups"
    return f"offsets-{whose}-{'-and-'.join(sorted(storages))}-{time}.json"
