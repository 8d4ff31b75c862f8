"""Finds schemas in a folder: files named by the schema's id, its GUID, or a subject.

``7.avsc`` is schema 7, ``orders-value.avsc`` that of a subject. An Avro value can only be decoded
with its own schema. JSON and Protobuf values can be decoded with another one, so the subject's file
is used for their ids without a file.
"""

import base64
from pathlib import Path
from typing import Final

from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConfigError, SchemaError
from zkconsumer.schemas.definition import MAX_SCHEMA_BYTES, SchemaDefinition
from zkconsumer.schemas.recent import Recent
from zkconsumer.schemas.wire_format import SchemaKey

_MOST_HELD_BYTES: Final = 64 << 20
_ENDINGS: Final = {
    "avro": (".avsc", ".json"),
    "json": (".json",),
    "protobuf": (".desc", ".pb", ".protoset", ".bin"),
}


class SchemaFolder:
    """Finds schemas in the files of a folder; see ``SchemaSource``.

    Args:
        folder: the folder with the files.
        kind: the kind of the schemas, which determines the extension of files.
        subject: the subject whose file is used for ids without a file, except with Avro.

    Raises:
        ConfigError: there is no such folder.
    """

    def __init__(self, folder: str, kind: str, subject: str | None = None) -> None:
        self._folder = Path(folder)
        self._kind = kind
        self._subject = subject
        self._held: dict[str, bytes] | None = None
        self._recent: Recent[str, SchemaDefinition] = Recent(SystemClock())
        if not self._folder.is_dir():
            raise ConfigError(f"--schemas: {folder} is not a directory")

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        found = self._read(str(key))
        if found is None and self._subject is not None and self._kind != "avro":
            return self._read(self._subject)
        return found

    def hold(self) -> None:
        """Read all files into memory, for copies of this object on machines without the folder.

        Raises:
            ConfigError: the files are too large for that.
            SchemaError: a file can't be read.
        """
        held: dict[str, bytes] = {}
        size = 0
        try:
            for path in sorted(self._folder.iterdir()):
                if path.suffix in _ENDINGS[self._kind] and path.is_file():
                    held[path.name] = self._bytes(path) or b""
                    size += len(held[path.name])
                if size > _MOST_HELD_BYTES:
                    raise ConfigError(
                        f"--schemas: the files in {self._folder} have more than "
                        f"{_MOST_HELD_BYTES} bytes: keep only the schemas of this topic there"
                    )
        except OSError as error:
            raise SchemaError(f"{self._folder} can't be read: {error.strerror}") from error
        self._held = held
        self._recent = Recent(SystemClock())

    def _read(self, name: str) -> SchemaDefinition | None:
        """Return the schema of a name; each file is read once, however many ids it serves."""
        known = self._recent.get(name)
        if known is None and (known := self._read_file(name)) is not None:
            self._recent.put(name, known, known.chars)
        return known

    def _read_file(self, name: str) -> SchemaDefinition | None:
        for ending in _ENDINGS[self._kind]:
            path = self._folder / f"{name}{ending}"
            data = self._bytes(path) if self._held is None else self._held.get(path.name)
            if data is not None:
                return self._definition(path, data)
        return None

    def _bytes(self, path: Path) -> bytes | None:
        try:
            with path.open("rb") as file:
                return file.read(MAX_SCHEMA_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SchemaError(f"{path} can't be read: {error.strerror}") from error

    def _definition(self, path: Path, data: bytes) -> SchemaDefinition:
        if len(data) > MAX_SCHEMA_BYTES:
            raise SchemaError(f"{path} is longer than {MAX_SCHEMA_BYTES} bytes")
        is_binary = self._kind == "protobuf"
        try:
            text = base64.b64encode(data).decode() if is_binary else data.decode()
        except UnicodeDecodeError:
            raise SchemaError(f"{path} is not UTF-8") from None
        return SchemaDefinition(kind=self._kind, text=text, is_set=is_binary)
