"""Captures how Spark's Kafka source divides work: ``python -m tests.golden.capture_spark_ranges``.

Needs a JDK, PySpark, and the jars of Spark's Kafka source. Writes data/spark_ranges.json.
"""

import json
import random
from pathlib import Path

import pyspark

from tests.golden.jvm import DATA, run_oracle
from tests.support.spark_connector import connector_jars

RANGES = DATA / "spark_ranges.json"
ORACLE = "SparkRangesOracle.java"

Pair = list[int]


def divide_cases(random_source: random.Random) -> list[tuple[int | None, int | None, list[Pair]]]:
    """Return the least number of pieces, the largest piece, and ranges."""
    # Pieces of one partition, of which only one would be split again by its size.
    cases: list[tuple[int | None, int | None, list[Pair]]] = [(3, 2, [[0, 3]])]
    cases += [(3, 5 + more, [[7, 16 + more]]) for more in range(8)]
    for _ in range(250):
        ranges = []
        for _ in range(random_source.randint(1, 6)):
            begin = random_source.choice([0, random_source.randint(0, 10**12)])
            most = random_source.choice([0, 1, 3, 20, 1000, 10**6])
            ranges.append([begin, begin + random_source.randint(most // 2, most)])
        total = sum(until - begin for begin, until in ranges)
        least = random_source.choice([None, None, random_source.randint(1, 30)])
        most = total // random_source.randint(1, 20)
        cases.append((least, random_source.choice([None, max(1, most)]), ranges))
    return cases


def limit_cases(random_source: random.Random) -> list[tuple[int, list[Pair]]]:
    """Return limits with each partition's position and end; a few ends are lower."""
    cases: list[tuple[int, list[Pair]]] = []
    for _ in range(250):
        pairs = []
        for _ in range(random_source.randint(1, 6)):
            start = random_source.randint(0, 10**10)
            more = random_source.choice([0, 1, 2, 10, 1000, 10**7, -50])
            end = start + more if more < 3 else start + random_source.randint(0, more)
            pairs.append([start, max(0, end)])
        limit = random_source.choice([1, 2, 3, random_source.randint(1, 5000), 10**6])
        cases.append((limit, pairs))
    return cases


def _lines(
    divides: list[tuple[int | None, int | None, list[Pair]]], limits: list[tuple[int, list[Pair]]]
) -> list[str]:
    def shown(pairs: list[Pair]) -> str:
        return " ".join(f"{number}:{other}" for number, other in pairs)

    return [
        *(f"divide {least or '-'} {most or '-'} {shown(pairs)}" for least, most, pairs in divides),
        *(f"limit {limit} {shown(pairs)}" for limit, pairs in limits),
    ]


def main() -> None:
    """Write the file again."""
    random_source = random.Random(8)
    divides, limits = divide_cases(random_source), limit_cases(random_source)
    home = Path(pyspark.__file__).parent / "jars"
    responses = run_oracle(
        ORACLE, [], _lines(divides, limits), class_path=[*home.glob("*.jar"), *connector_jars()]
    )
    rows: list[object] = []
    for (least, most, pairs), response in zip(divides, responses, strict=False):
        pieces = [[int(part) for part in text.split(":")] for text in response.split()]
        rows.append(["divide", least, most, pairs, pieces])
    for (limit, pairs), response in zip(limits, responses[len(divides) :], strict=True):
        rows.append(["limit", limit, pairs, [int(end) for end in response.split()]])
    RANGES.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
