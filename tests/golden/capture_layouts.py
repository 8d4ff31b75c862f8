"""Captures how Kafka's own classes lay out each message in each version.

Run it with ``python -m tests.golden.capture_layouts``; it writes ``data/wire_layouts.json``. The
layouts come from the descriptions in the jar of Kafka's client that its classes are made from.
Kafka 3.9 is the last that still describes all versions since 0.8.
"""

import json
import re
import zipfile
from collections.abc import Mapping
from typing import Any

from tests.golden.jvm import DATA
from zkconsumer.sandbox import jars

KAFKA = "3.9.1"
APIS = (
    "ApiVersions",
    "ConsumerGroupDescribe",
    "CreatePartitions",
    "CreateTopics",
    "DeleteGroups",
    "DeleteTopics",
    "DescribeGroups",
    "Fetch",
    "FindCoordinator",
    "Heartbeat",
    "IncrementalAlterConfigs",
    "InitProducerId",
    "JoinGroup",
    "LeaveGroup",
    "ListGroups",
    "ListOffsets",
    "Metadata",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetForLeaderEpoch",
    "Produce",
    "SaslAuthenticate",
    "SaslHandshake",
    "SyncGroup",
)
MESSAGES = (
    *(api + end for api in APIS for end in ("Request", "Response")),
    "ConsumerProtocolAssignment",
    "ConsumerProtocolSubscription",
)
PATH = DATA / "wire_layouts.json"
Range = tuple[int, int]
LAST = 32767


def main() -> None:
    """Write the file again."""
    (jar,) = [path for path in jars.class_path(KAFKA) if path.name.startswith("kafka-clients-")]
    with zipfile.ZipFile(jar) as archive:
        found = {name: _layouts(archive, name) for name in MESSAGES}
    lines = [
        f"{json.dumps(name)}: {json.dumps(layouts, separators=(',', ':'))}"
        for name, layouts in found.items()
    ]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _layouts(archive: zipfile.ZipFile, name: str) -> dict[str, object]:
    text = archive.read(f"common/message/{name}.json").decode()
    described = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    shared = {struct["name"]: struct["fields"] for struct in described.get("commonStructs", [])}
    first, last = _range(described["validVersions"])
    return {
        "api_key": described.get("apiKey"),
        "flexible": _range(described["flexibleVersions"])[0],
        "versions": {
            str(version): _fields(described["fields"], version, shared)
            for version in range(first, last + 1)
        },
    }


def _fields(
    fields: list[Mapping[str, Any]], version: int, shared: Mapping[str, Any]
) -> list[list[object]]:
    """Return a version's fields in wire order: name, type, whether it may be null, and tag.

    ``shared`` has the fields of structs that a message uses in more than one place.
    """
    return [
        [
            field["name"],
            _type(field, version, shared),
            version in _versions(field.get("nullableVersions", "none")),
            field["tag"] if version in _versions(field.get("taggedVersions", "none")) else None,
        ]
        for field in fields
        if version in _versions(field["versions"])
    ]


def _type(field: Mapping[str, Any], version: int, shared: Mapping[str, Any]) -> object:
    kind = field["type"].removeprefix("[]")
    fields = field.get("fields", shared.get(kind))
    inner = kind if fields is None else _fields(fields, version, shared)
    return {"array": inner} if field["type"].startswith("[]") else inner


def _versions(text: str) -> range:
    first, last = _range(text)
    return range(first, last + 1)


def _range(text: str) -> Range:
    """Parse a range of versions: ``3``, ``0-7``, ``4+`` or ``none``."""
    if text == "none":
        return LAST, -1
    first, _, last = text.rstrip("+").partition("-")
    return int(first), LAST if text.endswith("+") else int(last or first)


if __name__ == "__main__":
    main()
