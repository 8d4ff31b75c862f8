"""Print docs/spark-options.md from the tables of options."""

from zkconsumer.spark.kafka_options import REFUSED
from zkconsumer.spark.option_table import SECTIONS, Option

_HEAD = """# Options of the Spark source

<!-- Printed by `make generated`; a test fails when it is stale. -->

`spark.read.format("zkconsumer")` and `spark.readStream.format("zkconsumer")` take the options of
Spark's own Kafka source (that of Spark 4.2), with its defaults; in most cases a job that reads a
modern cluster needs only another format to read an old one. *(ours)* marks options that Spark's
source lacks. Case does not matter in names. An invalid value, or options that contradict each
other, are an error on the driver that names the option, before any task starts. An unknown option
is logged as a warning, with a similar name if there is one, and ignored, since Spark accepts any
name.
"""

_TIMES = """## Times

Brokers from 0.10.1 on store a timestamp with each message. A time means the first message whose
timestamp is at least as new, as in Spark's source, or the end of the log if there is none.

Older brokers, and logs in the format of 0.9 and before, have no timestamps. They only know when a
*segment* of a log was last written to: the modification time of its file, which holds up to
`log.segment.bytes` (1 GB by default). There a time is resolved by segment, on the safe side: no
message in the range is left out.

- A query that **starts** at a time starts at the newest segment that was last written to by then,
  up to one segment too early; if all segments are newer, at the earliest offset. It reads all
  messages that were written at that time or later, and perhaps some older ones.
- A query that **ends** at a time ends after the first segment that was written to after it. It
  reads all messages that were written before that time, and perhaps some newer ones. If a log has
  one segment, the query ends at the end of the log.
- `startingOffsetsByTimestampStrategy` applies to a time in the future by the broker's clock, and to
  a partition without messages. A partition whose messages are all older than the time starts in
  its last segment; Spark's source fails there by default.

For exact bounds there, also filter on a time inside the messages. The files of a copied or restored
log are newer than its messages, so that starts move back and ends move forward, never the other way
round.
"""

_DIFFERENCES = """## Differences from Spark's source

- `zookeeper.connect` may replace `kafka.bootstrap.servers`.
- `startingOffsets=group` starts at the committed offsets of a group of the 0.8 consumer;
  `commitOffsetsTo` commits a stream's progress where the 0.8 tools show it. In Spark's source
  `kafka.group.id` names the group that its consumers join; here no group is joined, and the option
  has no effect without one of the other two.
- The offsets of a batch are fixed on the driver, when it is planned. Spark's source lets the tasks
  of a batch query resolve `earliest` and `latest`, so a retried task may read other messages than
  the first attempt.
- A given offset after the end of the log is an error when the query is planned.
- `endingTimestamp` is an error in streaming queries (Spark's source ignores it), and so are
  negative times, duplicate topics or partitions in JSON, and invalid topic names.
- With Trigger.AvailableNow `minOffsetsPerTrigger` delays nothing; Spark's source may leave a rest
  below the minimum unread.
- There is no continuous mode, and there are no consumer caches; the settings of both are ignored.
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
        "effect.\n\n## Refused options\n\n| option | reason |\n|---|---|\n" + refused + "\n"
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
