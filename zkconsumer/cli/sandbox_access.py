"""Formats a client's settings for ``sandbox up --security``. Pure."""

import json
import shlex
from collections.abc import Mapping

from zkconsumer.sandbox.secured import ClientAccess

_OURS_ALONE = frozenset(
    {
        "sasl_kerberos_keytab",
        "sasl_kerberos_principal",
        "sasl_oauthbearer_token_endpoint_url",
        "sasl_oauthbearer_client_credentials_client_id",
        "sasl_oauthbearer_client_credentials_client_secret",
    }
)
"""Settings that kafka-python lacks."""


def advice(access: ClientAccess, zookeeper_connect: str) -> str:
    """Return access instructions: environment, Python, our command, Kafka's tools."""
    lines = [f"export {name}={shlex.quote(value)}" for name, value in access.environment.items()]
    if access.bootstrap_servers:
        lines += ["", "# Python", *_consumer(access.bootstrap_servers, access.settings)]
        lines += _for_kafka_python(access)
    lines += ["", "# zkconsumer's commands", *_our_command(access, zookeeper_connect)]
    if access.tool_config.stat().st_size:
        lines += ["", "# Kafka's own tools", *_tool(access)]
    return "\n".join([*lines, ""])


def _consumer(bootstrap_servers: str, settings: Mapping[str, str]) -> list[str]:
    brokers = {"bootstrap_servers": bootstrap_servers}
    own = {name: value for name, value in settings.items() if not name.startswith("zookeeper_")}
    given = [f"    {name}={json.dumps(value)}," for name, value in {**brokers, **own}.items()]
    return ["KafkaConsumer(", '    "TOPIC",', *given, ")"]


def _for_kafka_python(access: ClientAccess) -> list[str]:
    other = sorted(_OURS_ALONE & access.settings.keys())
    if not other:
        return ["# kafka-python takes the same."]
    instead = (
        "sasl_oauth_token_provider, whose token() asks that URL"
        if any("token" in name for name in other)
        else "the environment above"
    )
    return [f"# kafka-python: without {', '.join(other)}, with {instead}."]


def _our_command(access: ClientAccess, zookeeper_connect: str) -> list[str]:
    words = ["zkconsumer", "lag", "--zookeeper", zookeeper_connect]
    if access.bootstrap_servers:
        words += ["--bootstrap-servers", access.bootstrap_servers]
    return [shlex.join([*words, "--command-config", str(access.command_config)])]


def _tool(access: ClientAccess) -> list[str]:
    options = (
        [f"export KAFKA_OPTS={shlex.quote(' '.join(access.jvm_flags))}"] if access.jvm_flags else []
    )
    words = ["kafka-consumer-groups.sh", "--bootstrap-server", access.bootstrap_servers]
    words += ["--command-config", str(access.tool_config), "--list"]
    return [*options, shlex.join(words)]
