"""Captures Java's results for filters and files: ``python -m tests.golden.capture_java_text``.

Needs a JDK. The inputs are those in data/java_regex.json and data/java_properties.json; to add one,
add it there with ``null`` as its result and run this.
"""

import json

from tests.golden.jvm import DATA
from tests.golden.text_cases import java_filter_results, java_properties

REGEX = DATA / "java_regex.json"
PROPERTIES = DATA / "java_properties.json"


def main() -> None:
    """Write both files again."""
    known = json.loads(REGEX.read_text())
    filters = list(known["answers"])
    responses = java_filter_results(filters, known["topics"])
    known["answers"] = dict(zip(filters, responses, strict=True))
    REGEX.write_text(json.dumps(known, indent=0) + "\n")
    texts = list(json.loads(PROPERTIES.read_text()))
    files = dict(zip(texts, java_properties(texts), strict=True))
    PROPERTIES.write_text(json.dumps(files, indent=0) + "\n")


if __name__ == "__main__":
    main()
