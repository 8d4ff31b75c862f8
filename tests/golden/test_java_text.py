"""Filters and .properties files: what Java makes of them, and we.

``python -m tests.golden.capture_java_text`` captures it anew.
"""

import json
import re

from tests.golden.capture_java_text import PROPERTIES, REGEX
from tests.golden.text_cases import our_filter_answer, our_properties

REFUSED = re.compile(
    r"\\c|\\[1-9]|\\k<|\\[RXG]|\\b\{g|&&|\[[^]]*\["  # not in Python, or too rare to be sure of
    r"|\\p\{?(L|Is|In|java)|\(\?i\).*\\p\{(Lower|Upper)|\\[hv]-"
    r"|\(\?[a-z]*[udxU]|\(\?<=[^)]*(\||\+)"
    r"|(\)|\^|\\[bBz]|\$)[*+?{]|\}\{|^\{"
)
"""The constructs that Java takes and we refuse."""


def test_a_filter_never_answers_otherwise_than_java() -> None:
    """Over 400 filters: Java's answer for every topic, or a refusal."""
    known = json.loads(REGEX.read_text())
    topics = known["topics"]
    wrong = {
        text: (java, ours)
        for text, java in known["answers"].items()
        if (ours := our_filter_answer(text, topics)) not in (java, None)
    }
    assert wrong == {}
    assert len(known["answers"]) >= 300


def test_a_filter_that_java_takes_is_refused_only_for_a_known_construct() -> None:
    """Everything else gets an answer, so refusing is no way to be right."""
    known = json.loads(REGEX.read_text())
    taken = {text for text, java in known["answers"].items() if java is not None}
    refused = {text for text in taken if our_filter_answer(text, known["topics"]) is None}
    assert sorted(text for text in refused if not REFUSED.search(text)) == []
    assert len(taken - refused) > 250


def test_a_properties_file_reads_as_in_java() -> None:
    """Separators, continuations, escapes, comments, repeated keys, and malformed escapes."""
    known = json.loads(PROPERTIES.read_text())
    wrong = {text: java for text, java in known.items() if our_properties(text) != java}
    assert wrong == {}
    assert len(known) >= 100
