"""Print docs/spark-options.md from the tables of options."""

from zkconsumer.spark.kafka_options import REFUSED
from zkconsumer.spark.option_table import SECTIONS, Option

_HEAD = """# Options of the Spark source

<!-- Printed by `make generated`; a test fails when it is stale. -->

`spark.read.format("zkconsumer")` and `spark.readStream.format("zkconsumer")` take the options of
Spark's own Kafka source (that of Spark 4.2), with its defaults; a job that reads a modern cluster
reads an old one with another format, and mostly nothing else. *(ours)* marks what Spark's source
does not have. Case does not matter in names. A value that is not allowed is an error on the driver,
before any task starts, that names the option; so are options that contradict each other. A name
that nothing knows is logged as a warning, with the name that may have been meant, and ignored:
Spark takes any.
"""

_TIMES = """## Times

Brokers from 0.10.1 on know when a message was written. A time stands for the first message with a
timestamp as new, as in Spark's source, or for the end of the log where there is none.

Older brokers, and logs in the format of 0.9 and before, do not: they know when a *segment* of a
partition's log was written to last (it is the time of its file; a segment is a file of up to
`log.segment.bytes`, 1 GB by default). There a time is as exact as the segments are, and always on
the safe side: nothing is left out.

- What **starts** at a time starts with the newest segment that was last written to by then, which
  is up to one segment earlier than need be; where all are newer, with the earliest offset. All
  messages that were written at that time or later are read, and some older ones may be.
- What **ends** at a time ends with the first segment that was written to after it. All messages
  that were written before that time are read, and some newer ones may be. For a partition whose log
  has one segment, that is its end.
- `startingOffsetsByTimestampStrategy` is for a time that has not come yet by the broker's clock,
  and for a partition without messages. A partition to which nothing was written since the time, but
  before, starts in its last segment; Spark's source fails there by default.

To be exact there, filter on a time inside the messages as well. A copied or restored log has the
times of its files, not of its messages: a copy is newer than its messages, which moves starts to
the front and ends to the back, never the other way round.
"""

_DIFFERENCES = """## Where it differs from Spark's source

- `zookeeper.connect` may stand in the place of `kafka.bootstrap.servers`.
- `startingOffsets=group` starts where a group of the 0.8 consumer stands; `commitOffsetsTo` leaves
  a stream's progress where the 0.8 tools show it. In Spark's source `kafka.group.id` names the
  group that its consumers join; here nobody joins, and the option does nothing without those two.
- A batch is read between offsets that are fixed when it is planned, on the driver. Spark's source
  leaves `earliest` and `latest` of batch queries to the tasks, so a task that is retried may read
  other messages than the first time.
- Offsets that are given and lie behind the end of the log are an error when the query is planned.
- `endingTimestamp` is an error in streaming queries (Spark's source ignores it), and so are
  negative times, the same topic or partition twice in JSON, and a name that can't be a topic's.
- With Trigger.AvailableNow `minOffsetsPerTrigger` puts off nothing: Spark's source may leave a
  rest that is smaller.
- There is no continuous mode, and there are no consumer caches: the settings of both are ignored.
"""


def markdown() -> str:
    """Return the documentation of all options, as docs/spark-options.md has it."""
    parts = [_HEAD]
    for heading, options in SECTIONS.items():
        rows = "\n".join(_row(option) for option in options)
        parts.append(f"## {heading}\n\n| option | default | allowed | meaning |\n|---|---|---|---|")
        parts[-1] += f"\n{rows}\n"
    refused = "\n".join(f"| `{name}` | {reason}. |" for name, reason in REFUSED.items())
    parts.append(
        "Other names that start with `kafka.` are accepted, as in Spark, logged, and have no "
        "effect.\n\n## What is refused\n\n| option | why |\n|---|---|\n" + refused + "\n"
    )
    return "\n".join([*parts, _TIMES, _DIFFERENCES])


def _row(option: Option) -> str:
    marks = {"batch": "Batch queries only. ", "streaming": "Streaming queries only. ", "both": ""}
    ours = " *(ours)*" if option.ours else ""
    allowed = option.allowed.replace("|", "\\|")
    doc = f"{marks[option.queries]}{option.doc}"
    return f"| `{option.name}`{ours} | {_default(option)} | {allowed} | {doc} |"


def _default(option: Option) -> str:
    if option.default_text:
        return option.default_text
    return "none" if option.default is None else f"`{option.default}`"
