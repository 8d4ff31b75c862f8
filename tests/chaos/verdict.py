"""The history of a chaos run, as the judge reads it, and what its members left behind."""

from collections.abc import Mapping

from tests.chaos.cast import LeftBehind, Operation, OurActor
from tests.chaos.read_logs import Logs
from tests.chaos.stage import GROUP, SESSION_MS, Stage
from tests.histories.registry import group_operations
from tests.histories.rules import PROMISES, Verdict
from tests.histories.zookeeper_log import read_history

_ORIGINAL_SLACK_MS = 5_000


def history_of(stage: Stage, logs: Logs | None) -> list[Operation]:
    """Gather the history so far.

    Args:
        stage: with all that was written down on it.
        logs: the partitions' logs, when all is over.
    """
    writes = read_history(stage.folder / "cluster" / "zookeeper" / "data")
    return [
        *_members(stage),
        *stage.recorder.operations(),
        *stage.read,
        *group_operations(writes, f"{stage.tree.chroot}/consumers/{GROUP}"),
        *(_end(stage, logs) if logs is not None else ()),
    ]


def _members(stage: Stage) -> list[Operation]:
    """What each promises: the original only begins at what was committed about when it claimed."""
    ours = {"promises": sorted(PROMISES), "late_ms": SESSION_MS // 2}
    original = {"promises": ["starts"], "load_slack_ms": _ORIGINAL_SLACK_MS}
    return [
        {
            "process": actor.consumer_id,
            "type": "info",
            "f": "member",
            "time": 0,
            "member": actor.consumer_id,
            **(original if actor.original else ours),
        }
        for actor in stage.everybody
    ]


def _end(stage: Stage, logs: Logs) -> list[Operation]:
    now_ms = stage.clock.wall_ms()
    messages: dict[object, list[tuple[int, str]]] = {tp: [] for tp in logs.ends}
    for value, (tp, offset) in logs.where.items():
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


def left_by(stage: Stage) -> dict[str, LeftBehind | None]:
    """What members of ours reported when they had been told to end; None: nothing."""
    return {
        our_actor.consumer_id: our_actor.left_behind
        for our_actor in stage.everybody
        if isinstance(our_actor, OurActor) and our_actor.poll() == 0
    }


def judge_ends(left_behind: Mapping[str, LeftBehind | None], verdict: Verdict) -> None:
    """Complain about members that did not end when told, or left threads or descriptors."""
    silent = [name for name, left in left_behind.items() if left is None]
    leaky = [
        f"{name}: {left}"
        for name, left in left_behind.items()
        if left is not None and (left.stuck or left.threads or left.descriptors)
    ]
    verdict.counts["clean ends of ours"] = len(left_behind) - len(silent) - len(leaky)
    verdict.complain("members that did not end when told", silent)
    verdict.complain("left threads or descriptors behind", leaky)
