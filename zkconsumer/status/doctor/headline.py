"""Says a diagnosis in one line: the group, its state, the cause, the member. Pure.

``settlement is stuck: settlement_host7 is registered but gone``
"""

import re
import shlex
from collections.abc import Mapping
from typing import Final, NamedTuple

from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.model import ClusterSnapshot, GroupKey

_MADE_UP: Final = re.compile(
    r"[-:](?:[0-9]{13}-[0-9a-f]{1,8}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-[0-9]+)?$"
)
"""What consumers add to their names: time and random digits, or a UUID; the number of a stream."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STUCK: Final = "is stuck"
_BLOCKED: Final = "can't rebalance"


class Headline(NamedTuple):
    """A diagnosis in short.

    Attributes:
        state: of the group, such as ``is stuck``; "" if the cause says all.
        cause: with the member, if there is one.
    """

    state: str
    cause: str


_HEADLINES: Final[Mapping[Code, Headline]] = {
    Code.MEMBER_STALE: Headline(_STUCK, "{who} registered but gone"),
    Code.MEMBER_UNREADABLE: Headline(_BLOCKED, "{who} registered under what nobody can read"),
    Code.MEMBER_FOREIGN: Headline(_BLOCKED, "{who} another kind of client"),
    Code.MEMBER_UNREADABLE_BY_SCALA: Headline(_BLOCKED, "{who} unreadable to Scala members"),
    Code.MEMBER_IDLE: Headline(_STUCK, "{who} without partitions, and some have no owner"),
    Code.OWNER_PERSISTENT: Headline(_STUCK, "{who} named by owner nodes that never go"),
    Code.OWNER_OF_DEAD_SESSION: Headline(_STUCK, "{who} gone, and its owner nodes are not"),
    Code.OWNER_OF_OTHER_SESSION: Headline(
        "may read twice", "{who} back in another session than the one that owns"
    ),
    Code.OWNER_NO_MEMBER: Headline(_STUCK, "{who} an owner, but not registered"),
    Code.OWNER_MISSING: Headline(_STUCK, "partitions have no owner"),
    Code.COMMITS_PAUSED: Headline(_STUCK, "{who} no longer committing"),
    Code.READING_STALLED: Headline(_STUCK, "{who} committing the same offset again and again"),
    Code.OFFSET_BELOW_LOG: Headline("loses records", "the log has deleted what it was to read"),
    Code.OFFSET_BEYOND_END: Headline("will jump", "it committed beyond the end of the log"),
    Code.OFFSETS_SPLIT: Headline("will jump", "its offsets are half in ZooKeeper, half in Kafka"),
    Code.GROUP_OLD_AND_NEW: Headline("reads twice", "ZooKeeper and a coordinator both have it"),
    Code.GROUP_STOPPED: Headline("has stopped", "nobody is in it, and records wait"),
    Code.COORDINATOR_MISSING: Headline(_STUCK, "no broker coordinates it"),
    Code.REBALANCE_ENDLESS: Headline(_STUCK, "it rebalances without end"),
}


def headline_of(diagnosis: Diagnosis) -> Headline:
    """Return a diagnosis in short; of most others the first sentence is short."""
    found = _HEADLINES.get(diagnosis.code)
    if found is None or ("{who}" in found.cause and not diagnosis.culprits):
        return Headline("", _first_sentence(diagnosis.what))
    state = found.state if diagnosis.severity is not Severity.NOTE else ""
    return Headline(state, found.cause.replace("{who}", _subject(diagnosis.culprits)))


def headline_text(diagnosis: Diagnosis) -> str:
    """Return the headline as one sentence, with the group."""
    state, cause = headline_of(diagnosis)
    if diagnosis.group is None:
        return cause
    return f"{diagnosis.group.group_id}{f' {state}' if state else ''}: {cause}"


def short_name(member_id: str) -> str:
    """Return the id of a member or of its stream without what was added to make it unique."""
    return _MADE_UP.sub("", member_id) or member_id


def doctor_command(diagnosis: Diagnosis, snapshot: ClusterSnapshot) -> str:
    """Return the command that looks closer, and offers the repair if there is one."""
    is_fixable = any(found.fix is not None for found in (diagnosis, *diagnosis.consequences))
    return group_command(diagnosis.group, snapshot, fix=is_fixable)


def group_command(key: GroupKey | None, snapshot: ClusterSnapshot, *, fix: bool = False) -> str:
    """Return the command that looks closer at a group, or (None) at the cluster.

    A terminal obeys control characters even within quotes, so none is ever to be pasted: of a group
    that has some in its id it is the command for all groups, without a repair.
    """
    words = ["zkconsumer", "doctor"]
    group_id = "" if key is None else key.group_id
    if _CONTROL.search(group_id) is None:
        if snapshot.zookeeper_connect and fix:
            words.append("--fix")
        if key is not None:
            words += ["--group", group_id]
    if snapshot.zookeeper_connect:
        words += ["--zookeeper", snapshot.zookeeper_connect]
    else:
        words += ["--bootstrap-server", snapshot.address]
    return shlex.join(words)


def _subject(member_ids: tuple[str, ...]) -> str:
    """Return the subject of a sentence, with its verb."""
    names = list(dict.fromkeys(map(short_name, member_ids)))
    if len(names) < 2:
        return "".join(f"{name} is" for name in names)
    others = names[1] if len(names) == 2 else f"{len(names) - 1} more"
    return f"{names[0]} and {others} are"


def _first_sentence(what: str) -> str:
    return re.split(r"(?<=[^.])\.\s|: |; ", what, maxsplit=1)[0].rstrip(".")
