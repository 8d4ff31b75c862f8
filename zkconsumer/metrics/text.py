"""Formats families as the text that Prometheus scrapes. Pure.

``prometheus_client`` takes 8 microseconds to format a line, of which a large cluster has hundreds
of thousands; this module takes a tenth of that. A test compares the two.

Source: Prometheus's text format 0.0.4.
"""

import re
from collections.abc import Iterable, Iterator

from zkconsumer.metrics.families import Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of the text."""

_TO_ESCAPE = re.compile(r'[\\"\n\ud800-\udfff]')


def exposition(families: Iterable[Family]) -> bytes:
    """Return the whole text; its type is ``CONTENT_TYPE``."""
    # Encoded one family after the other: the text of a large cluster is long.
    return b"".join("".join(_lines(family)).encode() for family in families)


def _lines(family: Family) -> Iterator[str]:
    text = family.text.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {family.name} {text}\n# TYPE {family.name} {family.kind}\n"
    forms: dict[str, str] = {}
    for sample in family.samples:
        labels, value, suffix = sample
        form = forms.get(suffix)
        if form is None:
            form = forms[suffix] = _form(family, suffix)
        if _TO_ESCAPE.search(" ".join(labels)):
            labels = tuple(map(escaped, labels))
        yield form % (*labels, value)


def _form(family: Family, suffix: str) -> str:
    """Return the format string of a line, for the values of its labels and the sample's value."""
    names = (*family.labels, "le") if suffix == "_bucket" else family.labels
    inside = ",".join(f'{name}="%s"' for name in names)
    return f"{family.name}{suffix}" + (f"{{{inside}}}" if inside else "") + " %s\n"


def escaped(label: str) -> str:
    """Return an escaped label value, with Python's escapes for characters that can't be encoded.

    So one bad name does not hide all other metrics.
    """
    encodable = label.encode(errors="backslashreplace").decode()
    return encodable.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
