"""Downloads jars from the configured Maven repository, through jgo.

Only this module uses jgo, and imports it on first use: with all jars cached, neither jgo nor a
network is needed.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit
from xml.etree import ElementTree as ET

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.lockfile import Jar

if TYPE_CHECKING:
    from jgo.maven import MavenContext

REPOSITORY_VARIABLE = "ZKCONSUMER_MAVEN_REPOSITORY"
"""The environment variable that names another repository than Maven Central."""

_REASON_CHARS = 200
_TIMEOUT_S = 60


def repository_url(environ: Mapping[str, str], home: Path) -> str | None:
    """Return the repository to use; None: jgo's default, Maven Central.

    The environment variable wins; then the first mirror of Maven Central in the user's
    ``~/.m2/settings.xml``. Proxies come from the usual environment variables.

    Raises:
        SandboxError: ``settings.xml`` can't be read as XML.
    """
    if url := environ.get(REPOSITORY_VARIABLE, "").strip():
        return url.rstrip("/")
    settings = home / ".m2" / "settings.xml"
    try:
        root = ET.fromstring(settings.read_bytes())  # noqa: S314 - the user's own file
    except OSError:
        return None
    except ET.ParseError as error:
        raise SandboxError(f"{settings} is not XML: {error}") from error
    for mirror in root.iterfind("{*}mirrors/{*}mirror"):
        url = (mirror.findtext("{*}url") or "").strip()
        if url and _mirrors_central(mirror.findtext("{*}mirrorOf") or ""):
            return url.rstrip("/")
    return None


def _mirrors_central(mirror_of: str) -> bool:
    patterns = {pattern.strip() for pattern in mirror_of.split(",")}
    return "!central" not in patterns and bool(patterns & {"central", "*", "external:*"})


def fetch(jar: Jar, into: Path, repository: str | None) -> Path:
    """Download one jar into a private folder.

    Args:
        jar: the jar to download.
        into: an empty folder, laid out as a local repository afterwards.
        repository: the repository's URL, None for Maven Central.

    Returns:
        The path of the file, whose content is not checked.

    Raises:
        SandboxError: the jar can't be downloaded: no network, or no such jar.
    """
    maven = context(into, repository)
    artifact = maven.project(jar.group, jar.artifact).at_version(jar.version).artifact()
    try:
        return artifact.resolve()
    # requests' errors are OSErrors; jgo raises RuntimeError for a missing jar.
    except (OSError, RuntimeError) as error:
        where = _shown(maven.remote_repos["central"])
        raise SandboxError(
            f"can't download {jar.coordinate} from {where}: {reason_of(error)}; "
            f"check the network, or name another repository in {REPOSITORY_VARIABLE}"
        ) from error


def context(cache: Path, repository: str | None) -> "MavenContext":
    """Return jgo's access to a repository.

    Args:
        cache: the folder to download to.
        repository: the repository's URL, None for Maven Central.

    Raises:
        SandboxError: jgo is not installed.
    """
    try:
        from jgo.maven import MavenContext  # noqa: PLC0415 - see the module's head
    except ImportError as error:
        raise SandboxError(
            "the sandbox downloads its jars with jgo: pip install 'zkconsumer[sandbox]'"
        ) from error
    remote = None if repository is None else {"central": repository}
    return MavenContext(repo_cache=cache, local_repos=[], remote_repos=remote, timeout=_TIMEOUT_S)


def _shown(url: str) -> str:
    """Return a URL without the user name and password that it may hold."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def reason_of(error: Exception) -> str:
    """Return the innermost system error of a nested error, on one line."""
    reason: BaseException = error
    inner: BaseException | None = error
    while inner is not None:
        # System errors have a number; those that libraries wrap around them have none.
        if isinstance(inner, OSError) and inner.errno is not None:
            reason = inner
        inner = inner.__cause__ or inner.__context__
    text = " ".join((str(reason) or type(reason).__name__).split())
    # Libraries put the relevant part last.
    return text if len(text) <= _REASON_CHARS else f"...{text[-_REASON_CHARS:]}"


def configured_repository() -> str | None:
    """Return ``repository_url`` for this process's environment and home."""
    return repository_url(os.environ, Path.home())
