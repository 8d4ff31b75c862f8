"""A topic of Avro values as typed columns, and what could not be decoded.

python decoded_drain.py zk1:2181/kafka users http://registry:8081 /data/users
"""

import sys

import pyarrow.dataset as ds

from zkconsumer.drain import DecodeSettings, DrainSettings, drain_locally

COLUMNS = ["partition", "offset", "reason"]


def main(zookeeper: str, topic: str, registry: str, path: str) -> None:
    """Land it, then read both tables."""
    report = drain_locally(
        DrainSettings(
            path=path,
            zookeeper=zookeeper,
            topics=(topic,),
            decode=DecodeSettings(format="avro", registry=registry),
        )
    )
    landed = ds.dataset(path, partitioning="hive")
    # A file has the columns that were known when it was begun; the widest has all.
    schemas = [fragment.physical_schema for fragment in landed.get_fragments()]
    kinds = [it.field("value_decoded").type for it in schemas if "value_decoded" in it.names]
    kind = max(kinds, key=lambda one: one.num_fields, default="not there")
    say(f"landed {landed.count_rows()} of {report.rows} messages: value_decoded is {kind}")
    if report.dead_lettered:
        # ``_`` keeps readers away, so it is named here.
        below = f"{path}/_dead_letters"
        letters = ds.dataset(below, partitioning="hive", ignore_prefixes=["."])
        found = letters.to_table(columns=COLUMNS).sort_by([(name, "ascending") for name in COLUMNS])
        for row in found.to_pylist():
            place = f"{topic}-{row['partition']} offset {row['offset']}"
            say(f"dead letter at {place}: {row['reason']}")


def say(line: str) -> None:
    """Write a line."""
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
