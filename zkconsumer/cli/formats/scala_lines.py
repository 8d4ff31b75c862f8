"""The output of the small tools of Kafka 0.8.2.2."""

from collections.abc import Iterable, Mapping, Sequence

UPDATE_USAGE = (
    "USAGE: kafka.tools.UpdateOffsetsInZK$ [earliest | latest] consumer.properties topic\n"
)
"""The usage of the original, which is printed with exit status 1."""


def updated_text(offsets: Mapping[int, int]) -> str:
    """Return the output of ``UpdateOffsetsInZK``: the new offsets of a topic's partitions."""
    lines = [
        f"updating partition {partition} with new offset: {offset}\n"
        for partition, offset in sorted(offsets.items())
    ]
    return "".join(lines) + f"updated the offset for {len(offsets)} partitions\n"


def verified_text(*, every_partition_owned: bool) -> str:
    """Return the intended output of ``VerifyConsumerRebalance``, which itself fails all groups."""
    outcome = "successful" if every_partition_owned else "failed"
    return f"Rebalance operation {outcome} !\n"


def offset_shell_text(
    topic: str, offsets: Mapping[int, Sequence[int] | None], requested: Iterable[int]
) -> tuple[str, str]:
    """Return the output of ``GetOffsetShell``, and its standard error.

    Args:
        topic: the topic.
        offsets: each partition's offsets from its leader, descending; None without a leader. The
            partitions are in the order of the brokers' response.
        requested: the partitions to print.
    """
    output, errors = [], []
    for partition in requested:
        if partition not in offsets:
            errors.append(f"Error: partition {partition} does not exist\n")
            continue
        found = offsets[partition]
        if found is None:
            errors.append(
                f"Error: partition {partition} does not have a leader. Skip getting offsets\n"
            )
        else:
            output.append(f"{topic}:{partition}:{','.join(map(str, found))}\n")
    return "".join(output), "".join(errors)
