"""The source distributions whose tests are run: fetched by pip, pinned by their hashes."""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final, NamedTuple


class Source(NamedTuple):
    """A source distribution of kafka-python.

    Attributes:
        version: of kafka-python.
        sha256: of the archive; pip takes no other.
        tests: the files of consumer tests in it.
    """

    version: str
    sha256: str
    tests: tuple[str, ...]


SOURCES: Final[tuple[Source, ...]] = (
    Source(
        "3.0.12",
        "4ccda3616b9aa5c353d74a97f2770d6cd1b950890d77ab0e8890e09a48eeed65",
        ("test/integration/test_consumer_integration.py",),
    ),
    Source(
        "2.2.15",
        "e0f480a45f3814cb0eb705b8b4f61069e1be61dae0d8c69d0f1f2da33eea1bd5",
        (
            "test/test_consumer.py",
            "test/integration/test_consumer_group.py",
            "test/integration/test_consumer_integration.py",
        ),
    ),
    Source(
        "2.0.2",
        "04dfe7fea2b63726cd6f3e79a2d86e709d608d74406638c5da33a01d45a9d7e3",
        (
            "test/test_consumer.py",
            "test/test_consumer_group.py",
            "test/test_consumer_integration.py",
        ),
    ),
)


def fetch(source: Source, folder: Path) -> Path:
    """Download and unpack a source distribution; gives the folder that has its ``kafka``.

    Raises:
        CalledProcessError: pip could not get it, or got something of another hash.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write(f"kafka-python=={source.version} --hash=sha256:{source.sha256}\n")
        requirements.flush()
        subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet"),
                "--disable-pip-version-check",
                *("--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes"),
                *("--dest", str(folder), "--requirement", requirements.name),
            ],
            check=True,
        )
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    (unpacked,) = (file for file in folder.iterdir() if file.is_dir())
    return unpacked
