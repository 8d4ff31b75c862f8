"""A real KDC: Hadoop's MiniKdc, which is Apache Kerby's, as one more server of the sandbox."""

from dataclasses import replace
from pathlib import Path
from typing import Final

from zkconsumer.errors import SandboxError
from zkconsumer.net.kerberos import read_keytab, write_keytab
from zkconsumer.sandbox.jars import class_path
from zkconsumer.sandbox.ports import LOOPBACK
from zkconsumer.sandbox.processes import ChildProcess
from zkconsumer.sandbox.server import Launcher, Server

KDC: Final = "minikdc-3.4.1"
"""The name of the KDC in the lock file."""

REALM: Final = "ZKCONSUMER.TEST"
BROKER_PRINCIPAL: Final = f"kafka/localhost@{REALM}"
CLIENT_PRINCIPAL: Final = f"client@{REALM}"

_MAIN: Final = "org.apache.hadoop.minikdc.MiniKdc"
_RUNS: Final = "Standalone MiniKdc Running"
_HEAP_MB: Final = 64
_DAY_MS: Final = 86_400_000


def krb5_conf(port: int) -> str:
    """Return a ``krb5.conf``, for MIT's and Java's libraries, with only the KDC at this port."""
    return (
        "[libdefaults]\n"
        f"    default_realm = {REALM}\n"
        "    dns_lookup_kdc = false\n"
        "    dns_lookup_realm = false\n"
        "    dns_canonicalize_hostname = false\n"
        "    rdns = false\n"
        "    udp_preference_limit = 1\n"
        "[realms]\n"
        f"    {REALM} = {{\n        kdc = {LOOPBACK}:{port}\n    }}\n"
        "[domain_realm]\n"
        f"    localhost = {REALM}\n"
    )


class KeyDistributionCenter(Server):
    """The KDC; each start creates new keys of the brokers and of a client.

    Args:
        launcher: starts Java; the class path is its own.
        folder: for its files; ``krb5.conf`` and the keytabs are there once it is ready.
        port: the port of the KDC.

    Raises:
        SandboxError: a jar can't be downloaded.

    Attributes:
        port: the port of the KDC.
        config: ``krb5.conf``.
        broker_keytab: the key of ``BROKER_PRINCIPAL``.
        client_keytab: the key of ``CLIENT_PRINCIPAL``.
    """

    def __init__(self, launcher: Launcher, folder: Path, port: int) -> None:
        self.port = port
        self.config = folder / "krb5.conf"
        self.broker_keytab = folder / "broker.keytab"
        self.client_keytab = folder / "client.keytab"
        own = replace(launcher, class_path=tuple(class_path(KDC)), heap_mb=_HEAP_MB)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        keys, work_dir = folder / "keys", folder / "kdc"
        work_dir.mkdir(exist_ok=True)

        def launch() -> ChildProcess:
            keys.unlink(missing_ok=True)
            names = [
                principal.partition("@")[0] for principal in (BROKER_PRINCIPAL, CLIENT_PRINCIPAL)
            ]
            return own.launch_server(
                folder,
                _MAIN,
                _properties(port),
                arguments=lambda file: [str(work_dir), file, str(keys), *names],
            )

        def ready() -> bool:
            if not self.printed(_RUNS):
                return False
            self.config.write_text(krb5_conf(port), "ascii")
            self.extract_keytab(BROKER_PRINCIPAL, self.broker_keytab)
            self.extract_keytab(CLIENT_PRINCIPAL, self.client_keytab)
            return True

        self._keys = keys
        super().__init__("the KDC", folder, launch=launch, ready=ready)

    def extract_keytab(self, principal: str, path: Path) -> None:
        """Write one principal's keys to a file that only its owner can read.

        Raises:
            SandboxError: the KDC returned no keys of the principal.
        """
        try:
            entries = read_keytab(self._keys.read_bytes())
        except (OSError, ValueError) as error:
            raise SandboxError(f"the KDC wrote no keytab: {error}") from error
        own = tuple(entry for entry in entries if entry.principal == principal)
        if not own:
            raise SandboxError(f"the KDC wrote no key of {principal}")
        path.touch(mode=0o600)
        path.write_bytes(write_keytab(own))


def _properties(port: int) -> dict[str, str]:
    name, _, domain = REALM.partition(".")
    return {
        "org.name": name,
        "org.domain": domain,
        "kdc.bind.address": LOOPBACK,
        "kdc.port": str(port),
        "transport": "TCP",
        "instance": "DefaultKrbServer",
        "min.ticket.lifetime": "1",
        "max.ticket.lifetime": str(_DAY_MS),
        "debug": "false",
    }
