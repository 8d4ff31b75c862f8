"""Filters and .properties files: Java's results compared with ours.

``python -m tests.golden.capture_java_text`` captures them again.
"""

import json
import re

from tests.golden.capture_java_text import PROPERTIES, REGEX
from tests.golden.text_cases import our_filter_result, our_properties

REFUSED = re.compile(
    r"\\c|\\[1-9]|\\k<|\\[RXG]|\\b\{g|&&|\[[^]]*\["  # not in Python, or too rare to be sure of
    r"|\\p\{?(L|Is|In|java)|\(\?i\).*\\p\{(Lower|Upper)|\\[hv]-"
    r"|\(\?[a-z]*[udxU]|\(\?<=[^)]*(\||\+)"
    r"|(\)|\^|\\[bBz]|\$)[*+?{]|\}\{|^\{"
)
"""The constructs that Java accepts and we refuse."""


def test_a_filter_never_differs_from_java() -> None:
    """Each of more than 400 filters gives Java's result for every topic, or is refused."""
    known = json.loads(REGEX.read_text())
    topics = known["topics"]
    wrong = {
        text: (java, ours)
        for text, java in known["answers"].items()
        if (ours := our_filter_result(text, topics)) not in (java, None)
    }
    assert wrong == {}
    assert len(known["answers"]) >= 300


def test_a_filter_that_java_accepts_is_refused_only_for_a_known_construct() -> None:
    """All other filters must give a result, so that refusing is no way to pass."""
    known = json.loads(REGEX.read_text())
    taken = {text for text, java in known["answers"].items() if java is not None}
    refused = {text for text in taken if our_filter_result(text, known["topics"]) is None}
    assert sorted(text for text in refused if not REFUSED.search(text)) == []
    assert len(taken - refused) > 250


def test_a_properties_file_reads_as_in_java() -> None:
    """The results agree for separators, continuations, escapes, comments and repeated keys."""
    known = json.loads(PROPERTIES.read_text())
    wrong = {text: java for text, java in known.items() if our_properties(text) != java}
    assert wrong == {}
    assert len(known) >= 100
