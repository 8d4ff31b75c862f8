"""A server with S3's protocol on loopback: moto's, in a separate process.

``python -m tests.support.s3_server PORT`` runs one that ignores conditions, as some stores do.
"""

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from pyarrow import fs

from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _typeshed.wsgi import StartResponse, WSGIEnvironment

BUCKET = "lake"
_SCHEMES = ("s3://", "s3a://")


@contextmanager
def s3_server(*, ignores_conditions: bool = False) -> Iterator[None]:
    """Run a server with one bucket during the context, with variables that lead clients to it.

    Args:
        ignores_conditions: whether it replaces existing objects despite ``If-None-Match``.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    where = f"http://127.0.0.1:{port}"
    server = ["moto.server", "-H", "127.0.0.1", "-p"]
    process = subprocess.Popen(
        [sys.executable, "-m", *([__name__] if ignores_conditions else server), str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    settings = {
        "AWS_ENDPOINT_URL": where,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    try:
        wait_until(lambda: _responses(where), timeout_s=60, what="the S3 server to answer")
        making = urllib.request.Request(f"{where}/{BUCKET}", method="PUT")
        urllib.request.urlopen(making).close()
        with patch.dict(os.environ, settings):
            yield
    finally:
        process.kill()
        process.wait()


def file_system(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a local path or of ``s3_server``'s bucket, and the path within."""
    if not path.startswith(_SCHEMES):
        return fs.LocalFileSystem(), path
    scheme, _, address = os.environ["AWS_ENDPOINT_URL"].partition("://")
    system = fs.S3FileSystem(scheme=scheme, endpoint_override=address, region="us-east-1")
    return system, path.partition("://")[2]


@contextmanager
def landing_path(place: str, folder: Path, scheme: str = "s3") -> Iterator[str]:
    """Yield a drain's path: below ``folder``, or (place ``bucket``) in the bucket of a server."""
    if place == "folder":
        yield str(folder / "drain")
        return
    with s3_server():
        yield f"{scheme}://{BUCKET}/drain"


def catalog_of(path: str, folder: Path) -> dict[str, str]:
    """Return properties of an Iceberg catalog; none for a local drain, which has its own.

    A caller with several catalogs replaces NUMBER in them.
    """
    if not path.startswith(_SCHEMES):
        return {}
    return {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog-NUMBER.db",
        "s3.endpoint": os.environ["AWS_ENDPOINT_URL"],
        "s3.region": os.environ["AWS_REGION"],
        # Workers of a session that started before the server do not have its variables.
        "s3.access-key-id": os.environ["AWS_ACCESS_KEY_ID"],
        "s3.secret-access-key": os.environ["AWS_SECRET_ACCESS_KEY"],
    }


def _responses(where: str) -> bool:
    try:
        urllib.request.urlopen(f"{where}/moto-api/").close()
    except OSError:
        return False
    return True


def _serve_without_conditions(port: int) -> None:
    from moto.moto_server.werkzeug_app import (  # noqa: PLC0415 - only in the server's process
        DomainDispatcherApplication,
        create_backend_app,
    )
    from werkzeug.serving import run_simple  # noqa: PLC0415

    moto = DomainDispatcherApplication(create_backend_app)

    def answer(environ: "WSGIEnvironment", start: "StartResponse") -> "Iterable[bytes]":
        environ.pop("HTTP_IF_NONE_MATCH", None)
        answered: Iterable[bytes] = moto(environ, start)
        return answered

    run_simple("127.0.0.1", port, answer, threaded=True)


if __name__ == "__main__":
    _serve_without_conditions(int(sys.argv[1]))
