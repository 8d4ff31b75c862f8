"""``pylock.toml`` locks the development environment that setup.cfg describes."""

import configparser
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
LOCKED: list[dict[str, Any]] = tomllib.loads((ROOT / "pylock.toml").read_text())["packages"]
VERSIONS = {package["name"]: package.get("version") for package in LOCKED}


def required(extras: set[str]) -> Iterator[Requirement]:
    """Yield the direct requirements of the project with these extras."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    texts = [config["options"]["install_requires"]]
    texts += [config["options.extras_require"][extra] for extra in extras]
    for line in "\n".join(texts).split("\n"):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        requirement = Requirement(text)
        if requirement.name == "zkconsumer":
            yield from required(requirement.extras)
        else:
            yield requirement


def test_the_lock_fulfils_each_requirement_for_development() -> None:
    """A changed requirement in setup.cfg needs a new lock file (CONTRIBUTING.md)."""
    for requirement in required({"test", "lint"}):
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        version = VERSIONS[canonicalize_name(requirement.name)]
        assert version is not None
        assert requirement.specifier.contains(version), requirement


def test_each_locked_file_is_one_of_pypi_with_a_hash() -> None:
    """Every locked package comes from PyPI with its hash.

    No other index is used, and the project itself, which has no file, is left out.
    """
    files = [
        file
        for package in LOCKED
        for file in (*package.get("wheels", ()), *filter(None, [package.get("sdist")]))
    ]
    assert len(files) == len(LOCKED)
    for file in files:
        assert file["url"].startswith("https://files.pythonhosted.org/packages/"), file["name"]
        assert len(file["hashes"]["sha256"]) == 64
