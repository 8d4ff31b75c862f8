"""Captures what Java makes of filters and files: ``python -m tests.golden.capture_java_text``.

Needs a JDK. The texts to ask about are those in data/java_regex.json and
data/java_properties.json; to add one, add it there with ``null`` for its answer and run this.
"""

import json

from tests.golden.jvm import DATA
from tests.golden.text_cases import ask_filters, ask_properties

REGEX = DATA / "java_regex.json"
PROPERTIES = DATA / "java_properties.json"


def main() -> None:
    """Write both files anew."""
    known = json.loads(REGEX.read_text())
    filters = list(known["answers"])
    responses = ask_filters(filters, known["topics"])
    known["answers"] = dict(zip(filters, responses, strict=True))
    REGEX.write_text(json.dumps(known, indent=0) + "\n")
    texts = list(json.loads(PROPERTIES.read_text()))
    files = dict(zip(texts, ask_properties(texts), strict=True))
    PROPERTIES.write_text(json.dumps(files, indent=0) + "\n")


if __name__ == "__main__":
    main()
