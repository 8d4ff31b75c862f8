"""Print docs/configuration.md from the table of settings."""

from collections.abc import Sequence

from zkconsumer.config_keys import KEYS
from zkconsumer.config_spec import ConfigKey

_HEAD = """# Configuration

<!-- Printed by `make generated`; a test fails when it is stale. -->

`ConsumerConfig` takes Kafka's own keys: from a dictionary (`{"group.id": "g"}`), as keyword
arguments with underscores (`group_id="g"`), or from a Java `.properties` file
(`ConsumerConfig.from_file(path)`). Texts and Python's own numbers and booleans are both fine. A
value out of its range is a `ConfigError`. So is a key that is not listed here, unless it starts
with `external`: the error names the nearest. In a file such a key is logged as a warning and
ignored, as in the original (`ConsumerConfig.from_properties(map)` takes what a file held). *Since*
names the Kafka version that has the key first; `zkconsumer` marks our own.
"""


def markdown(keys: Sequence[ConfigKey] = KEYS) -> str:
    """Return the documentation of a table of settings, as docs/configuration.md has it."""
    working = "\n".join(_row(spec) for spec in keys if not spec.inert)
    inert = "\n".join(_row(spec) for spec in keys if spec.inert)
    header = "| key | default | allowed | since | meaning |\n|---|---|---|---|---|"
    return (
        f"{_HEAD}\n{header}\n{working}\n\n## Accepted without effect\n\n"
        "Files written for the original may hold these. They are checked and noted in the log, "
        f"and do nothing.\n\n{header}\n{inert}\n"
    )


def _row(spec: ConfigKey) -> str:
    return f"| `{spec.key}` | {_default(spec)} | {spec.allowed} | {spec.since} | {spec.doc} |"


def _default(spec: ConfigKey) -> str:
    if spec.required:
        return "required"
    if spec.derived_text:
        return spec.derived_text
    if spec.default == "":
        return "empty"
    return f"`{str(spec.default).lower() if spec.kind == 'bool' else spec.default}`"
