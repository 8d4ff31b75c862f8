"""Makes the virtual environments of other people's clients, each when it is first needed."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.processes import REPOSITORY, ClientSkipped


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment in the repository's folder, and the packages in it."""

    folder: str
    requirements: tuple[str, ...]

    def python(self) -> str:
        """Return its interpreter; make it first if it is missing or its packages have changed.

        Raises:
            ClientSkipped: it can't be made.
        """
        home = REPOSITORY / self.folder
        python, stamp = home / "bin" / "python", home / "requirements"
        wanted = "\n".join(self.requirements)
        if not stamp.exists() or stamp.read_text("ascii") != wanted:
            self._make(home, python)
            stamp.write_text(wanted, "ascii")
        return str(python)

    def _make(self, home: Path, python: Path) -> None:
        sys.stderr.write(f"making {home}: {', '.join(self.requirements)}\n")
        # Nothing is compiled here, and all environments have the same Python.
        environ = {**os.environ, "PYTHON": sys.executable, "ZKCONSUMER_PURE": "1"}
        for argv in (
            [str(REPOSITORY / "scripts" / "make-venv"), str(home)],
            [str(python), "-m", "pip", "install", "--quiet", *self.requirements],
        ):
            done = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
            if done.returncode:
                last = done.stderr.strip().splitlines()[-1:]
                raise ClientSkipped(f"can't be installed here: {' '.join(last)}")


@dataclass(frozen=True, slots=True)
class OlderSpark:
    """Our own environment with another Spark; for 3.5 that of ``make test-spark-3.5``."""

    version: str

    def python(self) -> str:
        """Return its interpreter; make it first if it is missing.

        Raises:
            ClientSkipped: it can't be made.
        """
        home = REPOSITORY / "build" / "spark" / self.version
        making = str(REPOSITORY / "scripts" / "make-spark-venv")
        argv = [making, str(home), sys.executable, self.version]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:]
            raise ClientSkipped(f"Spark {self.version} can't be installed here: {' '.join(last)}")
        return str(home / "bin" / "python")


OTHERS = Environment(
    ".venv-bench",
    (
        "confluent-kafka==2.16.1",
        "kafka-python==3.0.12",
        "python-snappy==0.7.3",
        "lz4==4.4.5",
        "xxhash==4.1.0",  # kafka-python repairs the checksums in lz4 frames of old brokers
        "crc32c==2.9.post0",
    ),
)
PYKAFKA = Environment(
    ".venv-bench-pykafka",
    # It pins kazoo 2.5.0, and imports pkg_resources, which newer setuptools have dropped.
    ("pykafka==2.8.0", "setuptools<80", "python-snappy==0.7.3"),
)
# The newest PySpark that the connector's newest release supports.
SPARK_JVM = Environment(".venv-bench-spark", ("pyspark==4.2.0",))
