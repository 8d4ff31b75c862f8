"""An argparse action for options with one value: a second one is refused (0042). Pure."""

import argparse
import weakref
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

    # What it was last given for: the value in there is the user's, even if it equals the default.
    _given_for: weakref.ref[argparse.Namespace] | None = None

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """See ``argparse.Action``."""
        before = getattr(namespace, self.dest, None)
        is_given = self._given_for is not None and self._given_for() is namespace
        if option_string and before != values and (is_given or before not in (None, self.default)):
            parser.error(f"{option_string} is given twice, {before} and {values}: give it once")
        super().__call__(parser, namespace, values, option_string)
        self._given_for = weakref.ref(namespace)
