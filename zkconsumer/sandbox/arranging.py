"""Prepares a secured sandbox before its servers start: certificates, a KDC, passwords."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from zkconsumer.sandbox.java import check_kerberos
from zkconsumer.sandbox.kdc import (
    BROKER_PRINCIPAL,
    CLIENT_PRINCIPAL,
    KeyDistributionCenter,
)
from zkconsumer.sandbox.ports import pick_free
from zkconsumer.sandbox.rendering import render_properties
from zkconsumer.sandbox.secured import (
    KERBEROS_MODULE,
    OAUTH_MODULE,
    SCRAM_MODULE,
    USER,
    ZOOKEEPER_MODULE,
    Arrangement,
    ClientAccess,
    Security,
    dotted,
    jaas_flag,
    jaas_section,
    with_kerberos,
    with_scram,
    with_tls,
    with_tokens,
)
from zkconsumer.sandbox.server import Launcher
from zkconsumer.sandbox.tokens import TokenServer

if TYPE_CHECKING:
    from zkconsumer.sandbox.certificates import Certificates


@dataclass(slots=True)
class Arranger:
    """Prepares the credentials, in its own folder. Thread: one.

    Attributes:
        launcher: starts Java.
        folder: for files.
        ports: the ports in use.
        start_timeout_ms: time limit of starting the KDC.
        closing: closes other resources than processes at the end.
        kdc: the KDC, if there is one.
    """

    launcher: Launcher
    folder: Path
    ports: set[int]
    start_timeout_ms: int
    closing: list[Callable[[], None]] = field(default_factory=list)
    kdc: KeyDistributionCenter | None = None

    def arrange(self, security: Security) -> Arrangement:
        """Prepare brokers' and clients' credentials.

        Raises:
            SandboxError: the KDC does not start, or a package or a jar is missing.
        """
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        match security:
            case "tls":
                return with_tls(self._certificates())
            case "scram":
                return with_scram(
                    self._certificates(),
                    self._jaas("KafkaServer", SCRAM_MODULE.format("broker", "none")),
                    password=secrets.token_hex(),
                    salt=secrets.token_bytes(16),
                )
            case "oauth":
                tokens = TokenServer("client")
                self.closing.append(tokens.close)
                jaas = self._jaas("KafkaServer", OAUTH_MODULE.format("broker"))
                return with_tokens(self._certificates(), jaas, endpoint_url=tokens.url)
            case "kerberos":
                return self._kerberos()

    def zookeeper(self) -> tuple[dict[str, str], list[str], dict[str, str]]:
        """Return properties and flags of a ZooKeeper with one user, and that user's settings."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        password = secrets.token_hex()
        jaas = self._jaas("Server", ZOOKEEPER_MODULE.format(password))
        provider = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
        user = {
            "zookeeper_auth_scheme": "sasl",
            "zookeeper_auth_username": USER,
            "zookeeper_auth_password": password,
        }
        return {"authProvider.1": provider}, [jaas_flag(jaas)], user

    def access(
        self, arrangement: Arrangement | None, zookeeper: dict[str, str], bootstrap_servers: str
    ) -> ClientAccess:
        """Write a client's files."""
        settings = {**(arrangement.settings if arrangement else {}), **zookeeper}
        tools = arrangement.tool_properties if arrangement else {}
        return ClientAccess(
            bootstrap_servers=bootstrap_servers,
            settings=settings,
            command_config=self._file("client.properties", render_properties(dotted(settings))),
            tool_config=self._file("kafka-tools.properties", render_properties(tools)),
            environment=arrangement.environment if arrangement else {},
            jvm_flags=arrangement.jvm_flags if arrangement else (),
        )

    def _kerberos(self) -> Arrangement:
        check_kerberos(self.launcher.java)
        kdc = KeyDistributionCenter(self.launcher, self.folder / "kdc", pick_free(self.ports))
        kdc.launch()
        kdc.await_ready(self.start_timeout_ms)
        self.kdc = kdc
        return with_kerberos(
            jaas=self._jaas(
                "KafkaServer", KERBEROS_MODULE.format(kdc.broker_keytab, BROKER_PRINCIPAL)
            ),
            client_jaas=self._jaas(
                "KafkaClient", KERBEROS_MODULE.format(kdc.client_keytab, CLIENT_PRINCIPAL)
            ),
            krb5_conf=kdc.config,
            keytab=kdc.client_keytab,
            principal=CLIENT_PRINCIPAL,
        )

    def _certificates(self) -> "Certificates":
        from zkconsumer.sandbox.certificates import make_certificates  # noqa: PLC0415 - its packages are needed for TLS alone

        return make_certificates(self.folder)

    def _jaas(self, section: str, module: str) -> Path:
        return self._file(f"{section}-jaas.conf", jaas_section(section, module))

    def _file(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text, "utf-8")
        return path
