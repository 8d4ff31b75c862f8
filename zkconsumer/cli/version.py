"""``zkconsumer --version``: the installed version, and the engine."""

import argparse
from collections.abc import Sequence

from zkconsumer.build_info import BuildInfo, build_info


class ShowVersion(argparse.Action):
    """Prints version and engine, and ends; argparse's own action would join the lines."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[object] | None,
        option_string: str | None = None,
    ) -> None:
        """See ``argparse.Action``."""
        del namespace, values, option_string
        print(described(build_info()))
        parser.exit()


def described(info: BuildInfo) -> str:
    """Return lines about version and engine; the first is the version alone, for scripts."""
    there = [f"{name} {version}" for name, version in info.libraries.items() if version is not None]
    missing = [name for name, version in info.libraries.items() if version is None]
    libraries = [", ".join(there)] if there else []
    if missing:
        libraries.append(f"not installed: {', '.join(missing)}")
    return "\n".join(
        (
            f"zkconsumer {info.version}",
            f"python: {info.python}",
            f"engine: {info.engine} ({info.why})",
            f"optional libraries: {'; '.join(libraries)}",
        )
    )
