"""An argparse action for options with one value: a second one is refused (0042). Pure."""

import argparse
from collections.abc import Sequence
from typing import Any


def refuse_repeats(parser: argparse.ArgumentParser) -> None:
    """Make the options that are added to ``parser`` from now on refuse a second value."""
    for name in (None, "store"):
        parser.register("action", name, StoreOnce)


class StoreOnce(argparse._StoreAction):  # noqa: SLF001
    """Stores a value, and refuses a second one, as the original tools do.

    argparse would silently replace the first: half of what was requested would be shown, or the
    wrong group changed. The same value may be repeated.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """See ``argparse.Action``."""
        before = getattr(namespace, self.dest, None)
        if option_string and before not in (None, self.default, values):
            parser.error(f"{option_string} is given twice, {before} and {values}: give it once")
        super().__call__(parser, namespace, values, option_string)
