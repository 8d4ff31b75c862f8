"""A group's claims and commits as operations, taken from ZooKeeper's transaction log.

Times are the server's, in milliseconds since the epoch.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from tests.histories.zookeeper_log import Write

PROCESS = "zookeeper"


def group_operations(writes: Iterable[Write], base: str) -> Iterator[dict[str, Any]]:
    """Yield the operations of one group.

    Args:
        writes: all writes of the transaction log.
        base: the group's node, including the chroot: ``/kafka/consumers/g``.
    """
    members: dict[int, str] = {}
    owners: dict[str, int] = {}
    for write in writes:
        if not write.path.startswith(f"{base}/"):
            continue
        kind, *names = write.path.removeprefix(f"{base}/").split("/")
        if kind == "ids" and names and write.data is not None:
            members[write.session] = names[0]
        elif kind == "owners" and len(names) == 2:
            yield from _owner(write, owners, names)
        elif kind == "offsets" and len(names) == 2 and write.data:
            place = [names[0], int(names[1]), int(write.data)]
            yield _fact(write, "ok", "commit", member=members.get(write.session), offsets=[place])


def _owner(write: Write, owners: dict[str, int], names: list[str]) -> Iterator[dict[str, Any]]:
    place = {"topic": names[0], "partition": int(names[1])}
    session = owners.pop(write.path, None)
    if session is not None:
        how = "released" if write.session == session else "stranger"
        how = "session" if write.by_session_end else how
        yield _fact(write, "info", "release", **place, how=how)
    if write.data is not None:
        owners[write.path] = write.session
        member = write.data.decode().rpartition("-")[0]
        yield _fact(write, "info", "claim", **place, member=member)


def _fact(write: Write, kind: str, f: str, **fields: object) -> dict[str, Any]:
    return {"process": PROCESS, "type": kind, "f": f, "time": write.time_ms, **fields}
