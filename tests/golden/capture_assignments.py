"""Captures the results of the JVM's assignors: ``python -m tests.golden.capture_assignments``.

Needs a JDK. Starts a ZooKeeper of its own, and writes data/assignments.json.gz and
data/scala_orders.json.
"""

import gzip
import json
import random

from tests.golden.assignment_cases import jvm_shares, random_case
from tests.golden.jvm import DATA, run_oracle
from zkconsumer.sandbox.cluster import Sandbox

ASSIGNMENTS = DATA / "assignments.json.gz"
ORDERS = DATA / "scala_orders.json"
GROUP_COUNT = 500
ORDER_COUNT = 60


def main() -> None:
    """Write both files again."""
    DATA.mkdir(exist_ok=True)
    rng = random.Random(822)
    ORDERS.write_text(json.dumps(_orders(rng)) + "\n")
    cases = [random_case(rng) for _ in range(GROUP_COUNT)]
    with Sandbox(kafka="0.8.2.2", brokers=0) as sandbox:
        responses = jvm_shares(sandbox.zookeeper_connect.partition("/")[0], cases)
    groups = [
        {"case": case.to_json(), "answers": response}
        for case, response in zip(cases, responses, strict=True)
    ]
    text = json.dumps(groups, separators=(",", ":"))
    ASSIGNMENTS.write_bytes(gzip.compress(text.encode(), mtime=0))


def _orders(rng: random.Random) -> list[dict[str, list[str]]]:
    """Return lists of keys, with the iteration orders of Scala's immutable and mutable maps."""
    keys = [_keys(rng) for _ in range(ORDER_COUNT)]
    lines = run_oracle("AssignorOracle.java", ["orders"], [",".join(key) for key in keys])
    found = []
    for given, line in zip(keys, lines, strict=True):
        immutable, mutable = line.split("\t")
        found.append(
            {"keys": given, "immutable": immutable.split(","), "mutable": mutable.split(",")}
        )
    return found


def _keys(rng: random.Random) -> list[str]:
    """Return up to 60 names, some of which have equal hashes."""
    count = rng.choice((1, 3, 4, 5, 12, 13, 24, 25, 49, 60))
    names = {
        "".join(rng.choice(("Aa", "BB", "x", "7", "-", "log")) for _ in range(4))
        + (str(rng.randrange(1000)) if rng.random() < 0.5 else "")
        for _ in range(count)
    }
    return sorted(names, key=lambda _: rng.random())


if __name__ == "__main__":
    main()
