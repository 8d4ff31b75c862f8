"""Summarizes a diagnosis in one line: the group, its state, the cause, the member. Pure.

``settlement is stuck: settlement_host7 is registered but gone``
"""

import re
import shlex
from collections.abc import Mapping
from typing import Final, NamedTuple

from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity, counted
from zkconsumer.status.model import ClusterSnapshot, GroupKey

_GENERATED_SUFFIX: Final = re.compile(
    r"[-:](?:[0-9]{13}-[0-9a-f]{1,8}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-[0-9]+)?$"
)
"""The generated end of a consumer's id: a time and random digits, or a UUID; a stream's number."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_STUCK: Final = "is stuck"
_BLOCKED: Final = "can't rebalance"


class Headline(NamedTuple):
    """A diagnosis in one line, without the group.

    Attributes:
        state: the state of the group, such as ``is stuck``; "" if the cause says it all.
        cause: the cause, with the member if there is one.
    """

    state: str
    cause: str


_HEADLINES: Final[Mapping[Code, Headline]] = {
    Code.NOT_LOOKED_AT: Headline("", "parts of the cluster could not be read"),
    Code.ZOOKEEPER_UNKNOWN: Headline("", "its ZooKeeper was not examined"),
    Code.NO_BROKERS: Headline("", "no broker is registered at this address"),
    Code.BROKER_UNUSABLE: Headline("", "consumers can't reach every broker"),
    Code.NO_CONTROLLER: Headline("", "the cluster has no controller"),
    Code.CLOCK_SKEW: Headline("", "the clocks of its hosts differ"),
    Code.TOPIC_UNREADABLE: Headline("", "topics can't be read"),
    Code.TOPIC_WITHOUT_PARTITIONS: Headline("", "topics lack partitions"),
    Code.LEADER_MISSING: Headline("", "{partitions} offline"),
    Code.UNDER_REPLICATED: Headline("", "{partitions} under-replicated"),
    Code.MEMBER_STALE: Headline(_STUCK, "{who} registered but gone"),
    Code.MEMBER_UNREADABLE: Headline(_BLOCKED, "{who} registered in a format that nobody can read"),
    Code.MEMBER_FOREIGN: Headline(_BLOCKED, "{who} another kind of client"),
    Code.MEMBER_NOT_UNDERSTOOD: Headline(
        "", "{who} subscribed by a filter that can't be expanded here"
    ),
    Code.MEMBER_UNREADABLE_BY_SCALA: Headline(_BLOCKED, "{who} unreadable to Scala members"),
    Code.MEMBER_TIME_FAR_OFF: Headline("", "{who} on a host whose clock is far off"),
    Code.MEMBER_IDLE: Headline(_STUCK, "{who} without partitions, and some have no owner"),
    Code.OWNER_PERSISTENT: Headline(_STUCK, "{who} named by owner nodes that never disappear"),
    Code.OWNER_OF_DEAD_SESSION: Headline(_STUCK, "{who} gone, but its owner nodes remain"),
    Code.OWNER_OF_OTHER_SESSION: Headline(
        "may read twice", "{who} registered in another session than its owner nodes"
    ),
    Code.OWNER_NO_MEMBER: Headline(_STUCK, "{who} an owner, but not registered"),
    Code.OWNER_NO_THREAD: Headline("", "{who} an owner, but no member's stream"),
    Code.OWNER_NOT_SUBSCRIBED: Headline("", "{who} still the owner of unsubscribed partitions"),
    Code.OWNER_MISSING: Headline(_STUCK, "partitions have no owner"),
    Code.SUBSCRIPTIONS_UNEQUAL: Headline(_BLOCKED, "its subscriptions are unequal"),
    Code.ASSIGNORS_DIFFER: Headline(
        "may leave partitions unread", "its members use different assignment strategies"
    ),
    Code.TOO_FEW_PARTITIONS: Headline("", "it has more readers than partitions"),
    Code.SUBSCRIBED_TOPIC_MISSING: Headline("", "it subscribes to topics that don't exist"),
    Code.OFFSET_BELOW_LOG: Headline(
        "loses records", "the log has deleted records that it had not read"
    ),
    Code.OFFSET_BEYOND_END: Headline("will jump", "it committed beyond the end of the log"),
    Code.OFFSETS_SPLIT: Headline(
        "will jump", "its offsets are partly in ZooKeeper, partly in Kafka"
    ),
    Code.OFFSETS_DIFFER: Headline(
        "may jump", "it has offsets in two storages, and one of them is outdated"
    ),
    Code.OFFSETS_OF_DELETED_TOPICS: Headline("", "it has offsets of topics that are gone"),
    Code.COMMITS_PAUSED: Headline(_STUCK, "{who} no longer committing"),
    Code.READING_STALLED: Headline(_STUCK, "{who} committing the same offset again and again"),
    Code.GROUP_PROBLEM: Headline("", "it is only partly known"),
    Code.PARTITION_PROBLEM: Headline("", "some of its partitions have malformed data"),
    Code.GROUP_OLD_AND_NEW: Headline(
        "reads twice", "it exists both in ZooKeeper and at a coordinator"
    ),
    Code.GROUP_STOPPED: Headline("has stopped", "it has no members, and records wait"),
    Code.GROUP_ABANDONED: Headline("", "nobody uses it any more"),
    Code.COORDINATOR_MISSING: Headline(_STUCK, "no broker coordinates it"),
    Code.REBALANCE_ENDLESS: Headline(_STUCK, "it keeps rebalancing"),
    Code.READY_ZOOKEEPER_GROUPS: Headline("", "groups depend on ZooKeeper"),
    Code.READY_ABANDONED_GROUPS: Headline("", "abandoned groups need no migration"),
    Code.READY_BROKERS: Headline("", "brokers are too far behind to be upgraded in place"),
    Code.READY_MESSAGE_FORMATS: Headline("", "topics are in old message formats"),
    Code.READY_SETTINGS: Headline("", "settings are in use that will be removed"),
    Code.READY_CLIENTS: Headline("", "clients are too old"),
    Code.READY_NOT_SEEN: Headline("", "not everything could be examined"),
}
"""The headline of each kind of diagnosis, at its worst severity."""
_MILDER: Final[Mapping[tuple[Code, Severity], Headline]] = {
    (Code.MEMBER_UNREADABLE, Severity.WARNING): Headline(
        "", "its members register in a format that others can't read"
    ),
    (Code.MEMBER_FOREIGN, Severity.WARNING): Headline("", "other kinds of clients use it"),
    (Code.MEMBER_UNREADABLE_BY_SCALA, Severity.WARNING): Headline(
        "", "{who} unreadable to Scala members"
    ),
    (Code.OWNER_NO_MEMBER, Severity.WARNING): Headline("", "{who} an owner, but not registered"),
    (Code.OWNER_MISSING, Severity.WARNING): Headline("may be stuck", "partitions have no owner"),
    (Code.SUBSCRIPTIONS_UNEQUAL, Severity.WARNING): Headline("", "its subscriptions are unequal"),
    (Code.OFFSET_BELOW_LOG, Severity.WARNING): Headline(
        "may have lost records", "the log has deleted its last committed position"
    ),
    (Code.READY_BROKERS, Severity.WARNING): Headline("", "not every broker's release is known"),
    (Code.READY_BROKERS, Severity.NOTE): Headline("", "brokers can be upgraded in place"),
    (Code.READY_CLIENTS, Severity.WARNING): Headline("", "the versions of clients are unknown"),
    (Code.READY_CLIENTS, Severity.NOTE): Headline("", "clients are new enough, as far as counted"),
}
"""The headlines of kinds with another meaning at a lower severity."""


def headline_of(diagnosis: Diagnosis) -> Headline:
    """Return the headline of a diagnosis.

    It is the first sentence of the diagnosis only if it should name a member and none is known.
    """
    found = _MILDER.get((diagnosis.code, diagnosis.severity), _HEADLINES[diagnosis.code])
    if "{who}" in found.cause and not diagnosis.culprits:
        return Headline("", _first_sentence(diagnosis.what))
    state = found.state if diagnosis.severity is not Severity.NOTE else ""
    cause = found.cause.replace("{partitions}", _partitions(len(diagnosis.about)))
    return Headline(state, cause.replace("{who}", _subject(diagnosis.culprits)))


def headline_text(diagnosis: Diagnosis) -> str:
    """Return the headline as one sentence, with the group."""
    state, cause = headline_of(diagnosis)
    if diagnosis.group is None:
        return cause
    return f"{diagnosis.group.group_id}{f' {state}' if state else ''}: {cause}"


def short_name(member_id: str) -> str:
    """Return the id of a member or stream without the suffix that makes it unique."""
    return _GENERATED_SUFFIX.sub("", member_id) or member_id


def doctor_command(diagnosis: Diagnosis, snapshot: ClusterSnapshot) -> str:
    """Return the command that shows a diagnosis in detail, and offers its repair, if any."""
    is_fixable = any(found.fix is not None for found in (diagnosis, *diagnosis.consequences))
    return group_command(diagnosis.group, snapshot, fix=is_fixable)


def group_command(key: GroupKey | None, snapshot: ClusterSnapshot, *, fix: bool = False) -> str:
    """Return the command that examines a group, or (None) the cluster.

    A terminal obeys control characters even within quotes, so users must not paste any: if the
    group's id contains one, the command is that for all groups, without a repair.
    """
    words = ["zkconsumer", "doctor"]
    group_id = "" if key is None else key.group_id
    if _CONTROL.search(group_id) is None:
        if snapshot.zookeeper_connect and fix:
            words.append("--fix")
        if key is not None:
            words += ["--group", group_id]
    return shlex.join([*words, *cluster_option(snapshot)])


def cluster_option(snapshot: ClusterSnapshot) -> tuple[str, str]:
    """Return the option of commands that names the cluster, and its value."""
    flag = "--zookeeper" if snapshot.brokers_alone is None else "--bootstrap-server"
    return flag, snapshot.address


def _subject(member_ids: tuple[str, ...]) -> str:
    """Return members as the subject of a sentence, with its verb."""
    names = list(dict.fromkeys(map(short_name, member_ids)))
    if len(names) < 2:
        return "".join(f"{name} is" for name in names)
    others = names[1] if len(names) == 2 else f"{len(names) - 1} more"
    return f"{names[0]} and {others} are"


def _partitions(number: int) -> str:
    """Return a number of partitions as the subject of a sentence, with its verb."""
    return f"{counted(number, 'partition')} {'is' if number == 1 else 'are'}"


def _first_sentence(what: str) -> str:
    return re.split(r"(?<=[^.])\.\s|: |; ", what, maxsplit=1)[0].rstrip(".")
