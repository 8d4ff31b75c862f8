"""Random coordinator groups, as lines for the Java oracle and as objects for our assignors.

``python -m tests.golden.coordinated_cases`` captures the results again; it needs a JDK.
"""

import gzip
import json
import random

from tests.golden.jvm import DATA, run_oracle
from zkconsumer.assignment.coordinated.view import CoordinatedView, MemberView
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import jars

COORDINATED = DATA / "coordinated.json.gz"
KAFKA = "3.9.1"
COUNT = 300
STRATEGIES = ("range", "roundrobin", "sticky")


def main() -> None:
    """Write the file again."""
    rng = random.Random(391)
    lines = [_line(rng, STRATEGIES[number % 3]) for number in range(COUNT)]
    clients = [
        path for path in jars.class_path(KAFKA) if path.name.startswith(("kafka-cl", "slf4j-api"))
    ]
    responses = run_oracle("CoordinatedOracle.java", [], lines, class_path=clients)
    text = json.dumps(list(zip(lines, responses, strict=True)), separators=(",", ":"))
    COORDINATED.write_bytes(gzip.compress(text.encode(), mtime=0))


def _line(rng: random.Random, strategy: str) -> str:
    topics = [f"t{number}" for number in range(rng.randint(1, 5))]
    counts = {topic: rng.randint(1, 12) for topic in topics}
    free = [f"{topic}-{number}" for topic in topics for number in range(counts[topic])]
    rng.shuffle(free)
    same = rng.random() < 0.5
    members = []
    for number in range(rng.randint(1, 8)):
        read = topics if same else rng.sample(topics, rng.randint(1, len(topics)))
        claims = [free.pop() for _ in range(rng.randint(0, 9)) if free]
        instance = f"i{rng.randrange(1000)}x{number}" if rng.random() < 0.3 else ""
        claims = [claim for claim in claims if claim.partition("-")[0] in read]
        name = f"m{rng.randrange(1000)}y{number}"
        members.append(f"{name}/{instance}/{'+'.join(read)}/3/{'+'.join(claims)}")
    # The assignor receives only the topics that a member reads.
    known = {topic for member in members for topic in member.split("/")[2].split("+")}
    shown = ",".join(f"{topic}={count}" for topic, count in counts.items() if topic in known)
    return f"{strategy}\t{shown}\t{','.join(members)}"


def read_case(line: str) -> tuple[str, CoordinatedView]:
    """Return the strategy and the group of a line."""
    strategy, topics, members = line.split("\t")
    counts = dict(text.split("=") for text in topics.split(","))
    view: dict[str, MemberView] = {}
    for member in members.split(","):
        name, instance, read, generation, claims = member.split("/")
        view[name] = MemberView(
            topics=frozenset(read.split("+")),
            owned=partitions(claims),
            generation=int(generation),
            instance_id=instance or None,
        )
    numbers = {topic: tuple(range(int(count))) for topic, count in counts.items()}
    return strategy, CoordinatedView(view, numbers)


def read_shares(line: str) -> dict[str, frozenset[TopicPartition]]:
    """Return the partitions that Java's assignor gave to each member."""
    return {
        name: partitions(share)
        for name, _, share in (field.partition("=") for field in line.split(","))
    }


def partitions(text: str) -> frozenset[TopicPartition]:
    """Parse partitions such as ``t-0+t-1``."""
    names = (part.rpartition("-") for part in text.split("+") if part)
    return frozenset(TopicPartition(topic, int(number)) for topic, _, number in names)


if __name__ == "__main__":
    main()
