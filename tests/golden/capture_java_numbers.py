"""Captures how Java formats numbers and times, and in which order it iterates tables.

``python -m tests.golden.capture_java_numbers`` needs a JDK. It writes ``data/java_numbers.json``.
"""

import json
import random
import struct
from collections.abc import Sequence

from tests.golden.jvm import DATA, run_oracle

NUMBERS = DATA / "java_numbers.json"
PATTERNS = (
    "yyyy-MM-dd HH:mm:ss:SSS",
    "dd/MM/yy 'at' H:mm:ss.SSS",
    "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "y.M.d",
    "yyyyy MM d",
    "H:m:s.S",
    "SS",
    "S's'",
    "'o''clock' HH ''",
    "yyy",
    "''''",
    "[yyyy] (MM) {dd}",
    "HHH:mmm:sss SSSSS",
    "",
    "'open",
    "b",
    "é yyyy",
)
TIMES = (0, 1, 999, 1_000, 1_795_227_905_282, 951_782_400_007, 1_700_000_000_050, 4_102_444_799_999)


def fixed_cases(rng: random.Random) -> list[float]:
    """Return realistic rates and sizes, and numbers half-way between two formatted values."""
    found = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 0.00005, 1.00005, 0.00015]
    found += [2.5e-4 * rng.randrange(10**6) / 5 for _ in range(400)]
    found += [rng.randrange(10**7) / 10**5 for _ in range(400)]
    found += [rng.randrange(2**40) / 2 ** rng.randrange(45) for _ in range(400)]
    found += [rng.random() * 10 ** rng.randrange(-6, 16) for _ in range(400)]
    found += [-number for number in found[-50:]]
    return found


def bits(value: float) -> str:
    """Return Java's ``Double.doubleToRawLongBits`` of a double in hex."""
    return struct.pack(">d", value).hex()


def java_fixed(values: Sequence[float]) -> list[str]:
    """Return the values as Java formats them with ``%.4f``."""
    return run_oracle("JavaNumberOracle.java", ["fixed"], map(bits, values))


def java_dates(cases: Sequence[tuple[int, str]]) -> list[str]:
    """Return the times as Java's ``SimpleDateFormat`` formats them in UTC."""
    lines = [f"{at_ms}\t{pattern}" for at_ms, pattern in cases]
    return run_oracle("JavaNumberOracle.java", ["dates"], lines)


def key_lists(rng: random.Random) -> list[list[str]]:
    """Return lists of up to 60 names, some with equal hashes and more in the same bin."""
    tails = [f".{number}" for number in range(60)]
    return [
        sorted(
            {
                rng.choice(("Aa", "BB", "C#")) + rng.choice(("x", "Aa", "BB")) + rng.choice(tails)
                for _ in range(rng.choice((1, 3, 11, 12, 13, 23, 24, 25, 60)))
            },
            key=lambda _: rng.random(),
        )
        for _ in range(80)
    ]


def number_lists(rng: random.Random) -> list[list[str]]:
    """Return lists of typical broker ids."""
    sizes = (1, 2, 5, 11, 12, 13, 24, 25, 60)
    highest = (100, 2000, 2**31 - 1)
    return [
        [str(number) for number in rng.sample(range(-1, rng.choice(highest)), rng.choice(sizes))]
        for _ in range(80)
    ]


def java_order(kind: str, lists: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the iteration order of a table of these keys; ``properties`` or ``numbers``."""
    lines = run_oracle("JavaNumberOracle.java", [kind], map(",".join, lists))
    return [line.split(",") for line in lines]


def main() -> None:
    """Write the file again."""
    values = fixed_cases(random.Random(822))
    keys, numbers = key_lists(random.Random(822)), number_lists(random.Random(822))
    dates = [(at_ms, pattern) for pattern in PATTERNS for at_ms in TIMES]
    found = {
        "fixed": dict(zip(map(bits, values), java_fixed(values), strict=True)),
        "dates": [
            [at_ms, pattern, text]
            for (at_ms, pattern), text in zip(dates, java_dates(dates), strict=True)
        ],
    }
    orders = {
        "properties": list(zip(keys, java_order("properties", keys), strict=True)),
        "numbers": list(zip(numbers, java_order("numbers", numbers), strict=True)),
    }
    NUMBERS.write_text(json.dumps(found | orders) + "\n")


if __name__ == "__main__":
    main()
