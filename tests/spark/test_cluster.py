"""On a standalone cluster: the package is shipped with the application, and not installed."""

import json
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import kazoo
import pytest

import zkconsumer
from tests.spark import cluster_job
from tests.support.clusters import fresh_name
from tests.support.quick_spark import JAVA
from tests.support.spark_cluster import StandaloneCluster
from tests.support.traffic import partitions_of, write
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import ENGINE
from zkconsumer.sandbox import Sandbox

# Seven JVMs start, so this is not part of CI.
pytestmark = [pytest.mark.spark, pytest.mark.versions, pytest.mark.timeout(400)]

PARTITIONS = 4
RECORDS = 500
# The interpreter without our virtual environment: it only finds packages on PYTHONPATH, and not
# those of an editable installation.
BARE_PYTHON = str(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}")
SITE = sysconfig.get_path("purelib")
_ROOT = Path(zkconsumer.__file__).parent.parent
_SHIPPED = (
    _ROOT / "zkconsumer",
    _ROOT / "pyspark_zkconsumer",
    Path(str(kazoo.__file__)).parent,
)


@dataclass(frozen=True, slots=True)
class JobReport:
    """What an application reported.

    Attributes:
        folders: the folders of the executors.
        packages: the paths of the executors' packages.
        engines: their engines.
        counts: rows by partition.
        readers: the folders of the executors that read something.
        rows: the number of rows read.
        value_bytes: the bytes of their values.
    """

    folders: set[str]
    packages: set[str]
    engines: set[str]
    counts: dict[str, int]
    readers: set[str]
    rows: int
    value_bytes: int


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """Start a master and two workers."""
    with StandaloneCluster(tmp_path_factory.mktemp("standalone"), workers=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def topic(cluster: Sandbox) -> str:
    """Create four partitions with values of different lengths, the last one compressed."""
    name = fresh_name("on-a-cluster")
    cluster.create_topic(name, PARTITIONS)
    for tp in partitions_of(name, PARTITIONS):
        codec = Codec.GZIP if tp.partition == PARTITIONS - 1 else Codec.NONE
        write(cluster, tp, [b"v" * (1 + tp.partition)] * RECORDS, codec=codec)
    return name


def submit(
    standalone: StandaloneCluster,
    folder: Path,
    options: dict[str, str],
    shipping: list[str],
    *,
    driver_path: str,
    register: bool = False,
) -> JobReport:
    """Run the job from this folder, and return its report."""
    into = folder / "found.json"
    job = str(
        shutil.copy(cluster_job.__file__, folder)
    )  # the script's folder is put on the driver's path
    requested = {"options": options, "register": register, "into": str(into)}
    confs = {
        "spark.executorEnv.PYTHONPATH": driver_path,
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        "spark.executor.extraJavaOptions": JAVA,
        "spark.driver.extraJavaOptions": JAVA,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    standalone.submit(
        [
            *("--driver-memory", "512m", "--executor-memory", "512m"),
            *(word for key, value in confs.items() for word in ("--conf", f"{key}={value}")),
            *shipping,
            *(job, json.dumps(requested)),
        ],
        cwd=folder,
        environ={"PYTHONPATH": driver_path, "PYSPARK_PYTHON": BARE_PYTHON},
        name=folder.name,
    )
    reported = json.loads(into.read_text("utf-8"))
    return JobReport(
        folders={folder_of_executor for folder_of_executor, _, _ in reported["executors"]},
        packages={package for _, package, _ in reported["executors"]},
        engines={engine for _, _, engine in reported["executors"]},
        counts=reported["counts"],
        readers={folder_of_executor for folder_of_executor, rows, _ in reported["tasks"] if rows},
        rows=sum(rows for _, rows, _ in reported["tasks"]),
        value_bytes=sum(value_bytes for _, _, value_bytes in reported["tasks"]),
    )


def check_all_was_read(found: JobReport) -> None:
    """Check that every row was read once, and that both executors read."""
    assert found.counts == {str(number): RECORDS for number in range(PARTITIONS)}
    assert found.rows == RECORDS * PARTITIONS
    assert found.value_bytes == RECORDS * sum(range(1, PARTITIONS + 1))
    assert len(found.folders) == len(found.readers) == 2  # one on each worker


def test_package_is_shipped_as_a_zip_of_python_files(
    standalone: StandaloneCluster, cluster: Sandbox, topic: str, tmp_path: Path
) -> None:
    """``--py-files`` ships the pure engine to executors that do not have the package."""
    shipped = tmp_path / "zkconsumer.zip"
    with zipfile.ZipFile(shipped, "w") as archive:
        for package in _SHIPPED:
            for file in sorted(package.rglob("*.py")) + sorted(package.rglob("*.json")):
                archive.write(file, file.relative_to(package.parent))
    found = submit(
        standalone,
        tmp_path,
        {"zookeeper.connect": cluster.zookeeper_connect, "subscribe": topic},
        ["--py-files", str(shipped)],
        driver_path=SITE,
        register=True,
    )
    check_all_was_read(found)
    assert found.engines == {"pure"}
    assert {Path(path).parts[-3] for path in found.packages} == {shipped.name}


def test_package_is_shipped_as_an_archive_with_its_native_core(
    standalone: StandaloneCluster, cluster: Sandbox, topic: str, tmp_path: Path
) -> None:
    """``--archives`` ships all of it; Spark finds the source by itself."""
    # As after ``pip install --target zk``: the driver has the same folder under the same name.
    for package in _SHIPPED:
        shutil.copytree(
            package,
            tmp_path / "zk" / package.name,
            ignore=shutil.ignore_patterns("__pycache__", "*.pyx", "csrc"),
        )
    with tarfile.open(tmp_path / "zk.tar.gz", "w:gz", compresslevel=1) as archive:
        archive.add(tmp_path / "zk", arcname=".")
    found = submit(
        standalone,
        tmp_path,
        {"kafka.bootstrap.servers": cluster.bootstrap_servers, "subscribe": topic},
        ["--archives", f"{tmp_path / 'zk.tar.gz'}#zk"],
        driver_path=f"zk:{SITE}",
    )
    check_all_was_read(found)
    assert found.engines == {str(ENGINE)}
    assert found.packages == {
        f"{folder_of_executor}/zk/zkconsumer/__init__.py" for folder_of_executor in found.folders
    }
