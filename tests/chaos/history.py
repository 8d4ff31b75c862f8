"""The history of a chaos run, in the form that the checks take, and what its members left."""

from collections.abc import Mapping

from tests.chaos.cast import Leftovers, Operation, OurMember
from tests.chaos.cluster import GROUP, SESSION_MS, ChaosCluster
from tests.chaos.read_logs import Logs
from tests.histories.registry import group_operations
from tests.histories.rules import PROMISES, CheckResult
from tests.histories.zookeeper_log import read_history

_ORIGINAL_SLACK_MS = 5_000


def history_of(cluster: ChaosCluster, logs: Logs | None) -> list[Operation]:
    """Return the history so far.

    Args:
        cluster: has all recorded operations.
        logs: the partitions' logs at the end of a run.
    """
    writes = read_history(cluster.folder / "cluster" / "zookeeper" / "data")
    return [
        *_members(cluster),
        *cluster.recorder.operations(),
        *cluster.read,
        *group_operations(writes, f"{cluster.tree.chroot}/consumers/{GROUP}"),
        *(_end(cluster, logs) if logs is not None else ()),
    ]


def _members(cluster: ChaosCluster) -> list[Operation]:
    """Return what each member promises.

    The original promises only to start at an offset that was committed about when it claimed.
    """
    ours = {"promises": sorted(PROMISES), "late_ms": SESSION_MS // 2}
    original = {"promises": ["starts"], "load_slack_ms": _ORIGINAL_SLACK_MS}
    return [
        {
            "process": member.consumer_id,
            "type": "info",
            "f": "member",
            "time": 0,
            "member": member.consumer_id,
            **(original if member.original else ours),
        }
        for member in cluster.all_members
    ]


def _end(cluster: ChaosCluster, logs: Logs) -> list[Operation]:
    now_ms = cluster.clock.wall_ms()
    messages: dict[object, list[tuple[int, str]]] = {tp: [] for tp in logs.ends}
    for value, (tp, offset) in logs.positions.items():
        messages[tp].append((offset, value))
    head = {"process": "judge", "time": now_ms}
    return [
        *(
            {
                **head,
                "type": "ok",
                "f": "log",
                "topic": tp.topic,
                "partition": tp.partition,
                "end": end,
                "messages": messages[tp],
            }
            for tp, end in logs.ends.items()
        ),
        {**head, "type": "info", "f": "end", "drained": True, "committed": True},
    ]


def leftovers_of(cluster: ChaosCluster) -> dict[str, Leftovers | None]:
    """Return what members of ours recorded at their end, or None if one recorded nothing."""
    return {
        member.consumer_id: member.leftovers
        for member in cluster.all_members
        if isinstance(member, OurMember) and member.poll() == 0
    }


def check_ends(leftovers: Mapping[str, Leftovers | None], result: CheckResult) -> None:
    """Complain about members that did not end when told, or left threads or descriptors."""
    silent = [name for name, left in leftovers.items() if left is None]
    leaky = [
        f"{name}: {left}"
        for name, left in leftovers.items()
        if left is not None and (left.stuck or left.threads or left.descriptors)
    ]
    result.counts["clean ends of ours"] = len(leftovers) - len(silent) - len(leaky)
    result.complain("members that did not end when told", silent)
    result.complain("left threads or descriptors behind", leaky)
