"""The generated files by path, and what each holds."""

from collections.abc import Callable, Mapping
from pathlib import Path

from scripts.generate import configuration, poll_settings, spark_options, typed_settings

ROOT = Path(__file__).parents[2]

_MARK = "<!-- Printed by `make generated`; a test fails when it is stale. -->\n\n"


def _poll_api() -> str:
    head, mark, _ = (ROOT / "docs/poll-api.md").read_text("utf-8").partition(_MARK)
    return head + mark + poll_settings.markdown()


FILES: Mapping[str, Callable[[], str]] = {
    "docs/configuration.md": configuration.markdown,
    "docs/poll-api.md": _poll_api,
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
