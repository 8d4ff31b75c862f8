"""Which Maven repository the jars are downloaded from."""

from pathlib import Path

import pytest

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.maven import repository_url

SETTINGS = """<settings xmlns="http://maven.apache.org/SETTINGS/1.0.0">
  <mirrors>
    <mirror><mirrorOf>other</mirrorOf><url>http://other.invalid/</url></mirror>
    <mirror><mirrorOf>{mirror_of}</mirrorOf><url>http://mirror.invalid/maven/</url></mirror>
  </mirrors>
</settings>"""


def settings(home: Path, text: str) -> None:
    """Write the user's Maven settings."""
    (home / ".m2").mkdir()
    (home / ".m2" / "settings.xml").write_text(text)


def test_maven_central_is_the_default(tmp_path: Path) -> None:
    """Without any configuration the resolver's default repository is used."""
    assert repository_url({}, tmp_path) is None


def test_the_environment_wins(tmp_path: Path) -> None:
    """The environment variable wins over a mirror in Maven's settings."""
    settings(tmp_path, SETTINGS.format(mirror_of="*"))
    environ = {"ZKCONSUMER_MAVEN_REPOSITORY": "http://mine.invalid/"}
    assert repository_url(environ, tmp_path) == "http://mine.invalid"


@pytest.mark.parametrize("mirror_of", ["central", "*", "external:*", "a, central", "*,!a"])
def test_a_mirror_of_central_is_used(mirror_of: str, tmp_path: Path) -> None:
    """Each way in which Maven says that a mirror stands for Maven Central is understood."""
    settings(tmp_path, SETTINGS.format(mirror_of=mirror_of))
    assert repository_url({}, tmp_path) == "http://mirror.invalid/maven"


@pytest.mark.parametrize("mirror_of", ["else", "*,!central", ""])
def test_a_mirror_of_something_else_is_not(mirror_of: str, tmp_path: Path) -> None:
    """A mirror that excludes Maven Central is not used."""
    settings(tmp_path, SETTINGS.format(mirror_of=mirror_of))
    assert repository_url({}, tmp_path) is None


def test_settings_without_a_namespace_are_read(tmp_path: Path) -> None:
    """Settings without an XML namespace are read, as hand-written ones often lack it."""
    settings(tmp_path, SETTINGS.format(mirror_of="*").replace(" xmlns=", " other="))
    assert repository_url({}, tmp_path) == "http://mirror.invalid/maven"


def test_broken_settings_are_reported(tmp_path: Path) -> None:
    """Settings that can't be parsed are an error, as ignoring them would change the repository."""
    settings(tmp_path, "<settings>")
    with pytest.raises(SandboxError, match=r"settings\.xml is not XML"):
        repository_url({}, tmp_path)
