"""``zkconsumer verify``: verifies that every partition of a group is owned correctly."""

import argparse
from collections.abc import Sequence

from zkconsumer.assignment.strategy import Strategy
from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.cluster_responses import (
    find_group,
    print_failures,
    print_unknown,
    print_unseen,
    settled,
)
from zkconsumer.cli.exit_status import COULD_NOT, NOT_WELL
from zkconsumer.cli.formats.scala_lines import verified_text
from zkconsumer.cli.group_arguments import add_groups_argument, add_kind_argument
from zkconsumer.cli.output import show
from zkconsumer.cli.tables import (
    Cell,
    Colour,
    Painted,
    add_format_arguments,
    instant,
    json_text,
    paint,
    sentence,
    shows_colour,
    table,
)
from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.status.model import ClusterSnapshot, GroupKind, GroupStatus
from zkconsumer.status.verify import STRATEGIES, OwnershipFault, Verification, verify

DESCRIPTION = """\
Check that a group reads everything that it should: every partition of every subscribed topic has an
owner, which is a stream of a registered member, in that member's own session. Beyond that, compare
the owners with the results of the assignors range and roundrobin: members that use different ones
never settle. Nothing is changed.

  zkconsumer verify --zookeeper zk1:2181 --group billing
  zkconsumer verify --zookeeper zk1:2181            (every group that has members)
  zkconsumer verify --bootstrap-server kafka1:9092  (without a ZooKeeper)

The original, VerifyConsumerRebalance, reports a failure for every healthy group. With --format
scala, its two sentences are printed as they were meant, and the exit status is always 0, like its
own.
"""
EPILOG = """\
exit status: 0 everything is owned correctly; 1 it could not be read; 2 wrong usage, or no such
group; 3 some partitions are not owned correctly, or not assigned as by --strategy, or the --group
has no members"""

_FAULTS = ("PARTITION", "FAULT", "OWNER")
_GROUPS = ("GROUP", "KIND", ">PARTITIONS", ">FAULTS", "ASSIGNED BY", "VERDICT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_cluster_arguments(parser)
    add_groups_argument(parser, "only this group, even without members")
    add_kind_argument(parser)
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help="the assignor of the members: require exactly its assignment",
    )
    add_format_arguments(parser, scala="kafka.tools.VerifyConsumerRebalance, as it was meant to be")


def run(args: argparse.Namespace) -> int:
    """Verify and print the faults; return the exit status."""
    if args.format == "scala" and len(args.group) != 1:
        raise ConfigError("--format scala needs one --group")
    with open_cluster(args) as access:
        snapshot = access.snapshot(args.group)
    print_failures(snapshot)
    if not args.group:
        print_unknown(snapshot, args.kind)
    groups = _groups(snapshot, args.group, args.kind)
    ids = snapshot.partition_ids()
    found = [(group, verify(group, ids, snapshot.live_sessions)) for group in groups]
    if args.format == "scala":
        every = all(_is_read(group, verification) for group, verification in found)
        show(verified_text(every_partition_owned=every))
        return settled(0, snapshot)
    if args.format == "json":
        reported = [_as_json(group, verification, args.strategy) for group, verification in found]
        show(json_text({"groups": reported}))
    elif not args.group:
        show(_overview(found, args.strategy))
    else:
        for group, verification in found:
            show(_as_text(group, verification, args.strategy))
    if not all(
        _is_well(verification, args.strategy) and group.members for group, verification in found
    ):
        return NOT_WELL
    unseen = not args.group and print_unseen(snapshot, args.kind)
    return settled(COULD_NOT if unseen else 0, snapshot)


def _is_read(group: GroupStatus, found: Verification) -> bool:
    """Return the result of the original's check: every partition of the read topics is owned well.

    The original ignores wrong owners of other partitions.
    """
    read = group.topics_read
    return not found.malformed and not any(
        fault.topic_partition.topic in read and fault.fault is not OwnershipFault.NO_PARTITION
        for fault in found.faults
    )


def _groups(
    snapshot: ClusterSnapshot, group_ids: Sequence[str], kind: GroupKind | None
) -> Sequence[GroupStatus]:
    if not group_ids:
        return [
            group
            for _, group in sorted(snapshot.groups.items())
            if group.members and kind in {None, group.kind} and group.is_complete
        ]
    groups = [find_group(snapshot, group_id, kind) for group_id in group_ids]
    for group in groups:
        if not group.is_complete:
            raise RegistryError(
                f"group {group.group_id} can't be verified, since not all of it could be read: "
                f"{'; '.join(group.problems)}"
            )
    return groups


def _is_well(found: Verification, strategy: Strategy | None) -> bool:
    if strategy is None or not found.expectations:
        return found.sound
    return found.sound and found.expectations[strategy].met


def _overview(found: Sequence[tuple[GroupStatus, Verification]], strategy: Strategy | None) -> str:
    rows: list[list[Cell]] = [
        [
            group.group_id,
            group.kind,
            verification.checked,
            len(verification.faults) + len(verification.malformed),
            " ".join(verification.strategies) or None,
            _outcome(group, verification, strategy),
        ]
        for group, verification in found
    ]
    return table(_GROUPS, rows)


def _outcome(group: GroupStatus, found: Verification, strategy: Strategy | None) -> Painted:
    if not found.sound:
        return Painted("failed", Colour.BAD)
    if not group.members:
        reported = "it has no members, so there is nothing to verify"
        return Painted(reported, Colour.BAD)
    if not _is_well(found, strategy):
        return Painted(f"not as by {strategy}", Colour.BAD)
    return Painted("successful", Colour.GOOD)


def _as_text(group: GroupStatus, found: Verification, strategy: Strategy | None) -> str:
    """Return the faults, then a summary."""
    text = ""
    if found.faults:
        rows: list[list[Cell]] = [
            [f"{fault.topic_partition}", Painted(fault.fault.value, Colour.BAD), fault.owner]
            for fault in found.faults
        ]
        text = table(_FAULTS, rows)
    lines = [
        *(f"the registration of member {member_id} can't be used" for member_id in found.malformed),
        *(f"topic {topic} is subscribed, but does not exist" for topic in found.missing_topics),
        *_sharing(found),
    ]
    outcome = _outcome(group, found, strategy)
    reported = paint(outcome.text, outcome.colour, coloured=shows_colour())
    lines = [paint(line, None, coloured=False) for line in lines]
    counts = (
        f": {counted(found.checked, 'partition')}, {counted(len(found.faults), 'fault')}, "
        f"{counted(len(group.members), 'member')}"
    )
    lines.append(
        f"{group.kind} group {paint(group.group_id, None, coloured=False)}: {reported}"
        f"{counts if group.members or not found.sound else ''}"
    )
    return text + "".join(map(sentence, lines))


def _sharing(found: Verification) -> list[str]:
    lines = []
    for strategy, expectation in found.expectations.items():
        if expectation.reason is not None:
            lines.append(f"{strategy} can't be applied: {expectation.reason}")
        elif expectation.met:
            lines.append(f"it is assigned as by {strategy}")
        else:
            some = ", ".join(map(format, expectation.differing[:5]))
            more = ", ..." if len(expectation.differing) > 5 else ""
            count = len(expectation.differing)
            lines.append(f"{strategy} would assign it differently: {count} differ: {some}{more}")
    return lines


def _as_json(
    group: GroupStatus, found: Verification, strategy: Strategy | None
) -> dict[str, object]:
    return {
        "group": group.group_id,
        "kind": group.kind,
        "state": group.state,
        "seen_at": instant(group.seen_ms),
        "sound": found.sound,
        "well": bool(group.members) and _is_well(found, strategy),
        "partitions_checked": found.checked,
        "faults": [
            {
                **fault.topic_partition._asdict(),
                "fault": fault.fault.name.lower(),
                "meaning": fault.fault.value,
                "owner": fault.owner,
                "owner_session": fault.owner_session,
                "member_session": fault.member_session,
            }
            for fault in found.faults
        ],
        "malformed_members": list(found.malformed),
        "missing_topics": list(found.missing_topics),
        "strategies": {
            strategy: {
                "met": expectation.met,
                "reason": expectation.reason,
                "differing": [tp._asdict() for tp in expectation.differing],
            }
            for strategy, expectation in found.expectations.items()
        },
        "partitions_by_owner": dict(found.counts),
    }
