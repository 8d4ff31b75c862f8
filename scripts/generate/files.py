"""The generated files by path, and what each holds."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from scripts.generate import configuration, poll_settings, spark_options, typed_settings

ROOT = Path(__file__).parents[2]

_MARK = "<!-- Printed by `make generated`; a test fails when it is stale. -->\n\n"


def _behind_text(path: str, table: Callable[[], str]) -> str:
    head, mark, _ = (ROOT / path).read_text("utf-8").partition(_MARK)
    return head + mark + table()


FILES: Mapping[str, Callable[[], str]] = {
    "docs/configuration.md": configuration.markdown,
    "docs/poll-api.md": partial(_behind_text, "docs/poll-api.md", poll_settings.markdown),
    "docs/produce.md": partial(_behind_text, "docs/produce.md", poll_settings.producer_markdown),
    "docs/spark-options.md": spark_options.markdown,
    "zkconsumer/config_typed.py": typed_settings.consumer_settings,
    "zkconsumer/consumer/settings/typed.py": typed_settings.poll_settings,
}


def current(path: str) -> str:
    """Return what a generated file must hold.

    Args:
        path: one of ``FILES``, from the project's root.
    """
    return FILES[path]()
