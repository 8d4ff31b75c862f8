"""The roll-back file of changed offsets, which is on disk before any offset is written."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from zkconsumer.cli.files import sync_folder
from zkconsumer.cli.output import note
from zkconsumer.errors import ZkConsumerError
from zkconsumer.offsets.migration.roll_back import RollBack, encode_roll_backs


@contextmanager
def roll_back_file(name: str | None, parts: Sequence[RollBack]) -> Iterator[str | None]:
    """Write the file, under a new name, before the block changes offsets; yield its name.

    It is deleted if the block raises ``ZkConsumerError``, which ``write_all`` and ``carry_out``
    raise only if nothing was written. If there is nothing to undo, there is no file, and the name
    is None.

    Args:
        name: the user's name for the file; None: one made of group, storages and time.
        parts: the former content of each storage; storages without planned writes are ignored.

    Raises:
        OSError: the file can't be written, or exists already.
    """
    changed = [part for part in parts if part.written]
    if not changed:
        yield None
        return
    name = name or _default_name(changed)
    path = Path(name)
    with path.open("x", encoding="utf-8") as file:
        try:
            file.write(encode_roll_backs(changed))
            file.flush()
            os.fsync(file.fileno())
            sync_folder(path)
        except BaseException:
            # An incomplete file is useless, and would block the next attempt.
            path.unlink()
            raise
    note(f"--roll-back {name} undoes what follows")
    try:
        yield name
    except ZkConsumerError:
        path.unlink()
        raise


def _default_name(parts: Sequence[RollBack]) -> str:
    groups = {part.group_id for part in parts}
    storages = {part.target.value for part in parts}
    time = datetime.fromtimestamp(parts[0].made_ms / 1000, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    # Short enough for any file system, however long the group's name is.
    whose = quote(min(groups), safe="")[:150] if len(groups) == 1 else f"{len(groups)}-groups"
    return f"offsets-{whose}-{'-and-'.join(sorted(storages))}-{time}.json"
