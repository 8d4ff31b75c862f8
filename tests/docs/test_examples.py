"""Public names are explained by examples, which run."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import zkconsumer
from tests.support.documented_world import documented_names

ROOT = Path(__file__).parents[2]
PUBLIC = {name: getattr(zkconsumer, name) for name in zkconsumer.__all__ if name != "__version__"}
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "zkconsumer").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_has_an_example(name: str) -> None:
    """An error is explained by who raises it; that all can be caught alike, by the root of them."""
    text = inspect.getdoc(PUBLIC[name]) or ""
    assert len(text.splitlines()[0]) > 10
    if not issubclass(PUBLIC[name], zkconsumer.ZkConsumerError):
        assert re.search(r"^Example:\n +>>> ", text, re.MULTILINE)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_module_run(name: str) -> None:
    """As they are printed, each docstring on a cluster of its own; what is skipped is Python."""
    module = import_module(name)
    runner = doctest.DocTestRunner()
    for found in doctest.DocTestFinder().find(module, extraglobs=PUBLIC):
        for example in found.examples:
            compile(example.source, name, "single")
        if found.examples:
            with documented_names() as names:
                found.globs |= names
                runner.run(found)
    assert runner.summarize(verbose=False).failed == 0


def test_no_example_of_a_public_name_is_skipped() -> None:
    """A cluster in memory is at hand (``tests/support/documented_world.py``)."""
    skipped = [name for name in PUBLIC if "+SKIP" in (inspect.getdoc(PUBLIC[name]) or "")]
    assert skipped == []


def test_every_public_name_stands_in_the_reference() -> None:
    """Once; and no other does."""
    pages = (ROOT / "docs/reference").glob("*.md")
    text = "\n".join(page.read_text("utf-8") for page in pages)
    assert sorted(re.findall(r"^\.\. autoclass:: (\w+)$", text, re.MULTILINE)) == sorted(PUBLIC)


def test_every_page_is_reached_from_the_index() -> None:
    """By the site's table of contents."""
    index = (ROOT / "docs/index.md").read_text("utf-8")
    listed = set(re.findall(r"^([\w/-]+)$", index, re.MULTILINE))
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    folders = {f"{page.parent.name}/index" for page in (ROOT / "docs").glob("*/index.md")}
    assert pages | folders <= listed
    assert listed - {"hidden"} <= pages | folders
