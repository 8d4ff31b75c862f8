"""A real Hive metastore on loopback: 2.3.10, from the jars of Spark, on an in-memory Derby.

``python -m tests.support.hive_server FOLDER PORT`` runs one until it is killed.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from pyspark.java_gateway import launch_gateway

from tests.support.waiting import wait_until
from zkconsumer.sandbox.ports import LOOPBACK, is_free, pick_free

LOCK_TIMEOUT_S: Final = 20
"""How long a lock of a dead client stays; Hive's default is five minutes."""
_HOUSEKEEPING_S: Final = 2.0
_STARTED_S: Final = 300


@contextmanager
def hive_server(folder: Path) -> Iterator[str]:
    """Run an empty metastore during the context; yield its URI, ``thrift://host:port``.

    Args:
        folder: the folder for its files.
    """
    port = pick_free(set())
    log = folder / "hive.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder), str(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        wait_until(
            lambda: not is_free(port) or process.poll() is not None,
            timeout_s=_STARTED_S,
            what=f"the metastore to be there; see {log}",
        )
        assert process.poll() is None, log.read_text(errors="replace")
        yield f"thrift://{LOOPBACK}:{port}"
    finally:
        process.kill()
        process.wait()


def main(folder: str, port: int) -> None:
    """Serve until killed; the JVM ends with this process."""
    settings = {
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
        "derby.stream.error.file": f"{folder}/derby.log",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "none",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"{folder}/warehouse",
        "hive.txn.timeout": f"{LOCK_TIMEOUT_S}s",
    }
    jvm = launch_gateway().jvm  # type: ignore[no-untyped-call]
    for name, value in settings.items():
        jvm.java.lang.System.setProperty(name, value)
    metastore = jvm.org.apache.hadoop.hive.metastore
    conf = jvm.org.apache.hadoop.hive.conf.HiveConf()
    # Creates the tables of locks, which the metastore does not do itself.
    metastore.txn.TxnDbUtil.prepDb(conf)
    bridge = jvm.org.apache.hadoop.hive.shims.ShimLoader.getHadoopThriftAuthBridge()
    serve = partial(metastore.HiveMetaStore.startMetaStore, port, bridge, conf)
    server = threading.Thread(target=serve)  # noqa: TID251 - a server
    server.start()
    # A separate service deletes the locks of dead clients.
    locks = metastore.txn.TxnUtils.getTxnStore(conf)
    while server.is_alive():
        locks.performTimeOuts()
        server.join(_HOUSEKEEPING_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
