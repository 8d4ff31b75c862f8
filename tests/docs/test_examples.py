"""Public names are explained by examples, and what needs no broker of them runs."""

import doctest
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import FunctionType

import pytest

import zkconsumer

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
    """As they are printed, with the public names at hand; what is skipped is Python, at least."""
    module = import_module(name)
    runner = doctest.DocTestRunner()
    for found in doctest.DocTestFinder().find(module, extraglobs=PUBLIC):
        for example in found.examples:
            compile(example.source, name, "single")
        runner.run(found)
    assert runner.summarize(verbose=False).failed == 0


def methods(kind: type) -> list[tuple[str, FunctionType]]:
    """The public methods of a class, of its own and of the parts that it is made of."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return [
        (name, method)
        for name, method in found
        if not name.startswith("_") and inspect.unwrap(method).__module__.startswith("zkconsumer")
    ]


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_argument_of_a_public_method_is_explained(name: str) -> None:
    """By a line of its own under ``Args``."""
    missing = [
        f"{method}({argument})"
        for method, function in methods(PUBLIC[name])
        for argument in inspect.signature(function).parameters
        if argument != "self"
        and not re.search(
            rf"^ +\*{{0,2}}{argument}: ", inspect.getdoc(function) or "", re.MULTILINE
        )
    ]
    assert missing == []


@pytest.mark.parametrize("name", ["KafkaConsumer", "ZookeeperConsumerConnector", "KafkaStream"])
def test_a_public_method_says_who_may_call_it(name: str) -> None:
    """And what it gives, where that is something."""
    for method, function in methods(PUBLIC[name]):
        text = inspect.getdoc(function) or ""
        assert "Thread: " in text, method
        returns = inspect.signature(function).return_annotation
        one_line = len(text.split("Thread: ")[0].strip().splitlines()) <= 1
        assert returns is None or one_line or "Returns:" in text or "Whether" in text, method


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
