import re
from pathlib import Path

import zkconsumer
from scripts.generate.poll_settings import markdown
from zkconsumer import KafkaConsumer, errors

DOCS = Path(zkconsumer.__file__).parents[1] / "docs"


def test_the_page_lists_the_current_settings() -> None:
    """docs/poll-api.md ends with what ``make generated`` prints."""
    assert (DOCS / "poll-api.md").read_text("utf-8").endswith("\n\n" + markdown())


def test_every_call_is_on_the_page() -> None:
    """The page lists every public method and no others."""
    page = (DOCS / "poll-api.md").read_text("utf-8")
    page = page[page.index("## The calls") : page.index("## What a poll does")]
    named = set(re.findall(r"`(\w+)\(", page))
    public = {name for name in dir(KafkaConsumer) if callable(getattr(KafkaConsumer, name))}
    public = {name for name in public if not name.startswith("_")}
    assert named - {"next"} == public


def test_errors_on_the_pages_can_be_imported() -> None:
    """Ours are exported by the package, those of kafka-python by ``errors``."""
    known = set(dir(errors))
    for page, begins, module in (
        ("poll-api.md", "| raised by |", zkconsumer),
        ("migrating-from-kafka-python.md", "# From", errors),
    ):
        _, _, text = (DOCS / page).read_text("utf-8").partition(begins)
        named = set(re.findall(r"`([A-Z]\w+)`", text)) & known
        assert len(named) > 8
        assert named <= set(module.__all__)
