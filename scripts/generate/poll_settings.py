"""Print the tables of settings that end docs/poll-api.md and docs/produce.md."""

from zkconsumer.config_spec import ConfigKey
from zkconsumer.consumer.settings.inert_keys import REFUSED
from zkconsumer.consumer.settings.keys import KEYS
from zkconsumer.consumer.settings.objects import OBJECTS
from zkconsumer.produce import producer_keys

_HEAD = "| setting | default | allowed | since | meaning |\n|---|---|---|---|---|"


def markdown() -> str:
    """Return the settings that work, the objects among them, and those that don't."""
    working = [_row(spec) for spec in KEYS if not spec.inert]
    objects = [
        f"| `{key.replace('.', '_')}` | none | {setting.allowed} | kafka-python | {setting.doc} |"
        for key, setting in OBJECTS.items()
    ]
    inert = [f"| `{spec.attribute}` | {spec.doc} |" for spec in KEYS if spec.inert]
    refused = [f"| `{key.replace('.', '_')}` | {why} |" for key, why in REFUSED.items()]
    return "\n".join(
        [
            _HEAD,
            *working,
            *objects,
            "",
            "Taken without effect, with one line in the log at debug level:",
            "",
            "| setting | why |\n|---|---|",
            *inert,
            "",
            "Refused with a `ConfigError`, as passing them over would be dangerous:",
            "",
            "| setting | why |\n|---|---|",
            *refused,
            "",
        ]
    )


def producer_markdown() -> str:
    """Return the settings of a producer."""
    objects = producer_keys.OBJECTS.items()
    inert = sorted(f"`{key.replace('.', '_')}`" for key in producer_keys.INERT)
    refused = producer_keys.REFUSED.items()
    return "\n".join(
        [
            _HEAD,
            *map(_row, producer_keys.KEYS),
            *(
                f"| `{key.replace('.', '_')}` | none | | kafka-python | {doc} |"
                for key, doc in objects
            ),
            "",
            f"Taken without effect: {', '.join(inert)}.",
            "",
            "Refused with a `ConfigError`:",
            "",
            "| setting | why |\n|---|---|",
            *(f"| `{key.replace('.', '_')}` | {why} |" for key, why in refused),
            "",
        ]
    )


def _row(spec: ConfigKey) -> str:
    default = spec.derived_text or _shown(spec)
    return f"| `{spec.attribute}` | {default} | {spec.allowed} | {spec.since} | {spec.doc} |"


def _shown(spec: ConfigKey) -> str:
    if spec.default is None:
        return "none"
    if spec.default == "":
        return "empty"
    return f"`{spec.default}`"
