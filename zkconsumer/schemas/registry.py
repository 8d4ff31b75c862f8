"""Requests schemas from a registry, bounded in time, size and number.

Source: Confluent's Schema Registry API: ``/schemas/ids``, ``/schemas/guids``, ``/subjects``.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import SplitResult, quote
from uuid import UUID

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConnectFailed, SchemaError
from zkconsumer.net.http_request import http_request, quoted
from zkconsumer.net.tls import FileSettings, context_of
from zkconsumer.printable import printable
from zkconsumer.schemas.definition import (
    MAX_REFERENCES,
    MAX_SCHEMA_BYTES,
    AbsentReference,
    SchemaDefinition,
    UnusableSchema,
    parsed_json,
)
from zkconsumer.schemas.registry_settings import RegistrySettings
from zkconsumer.schemas.wire_format import SchemaKey

_KINDS: Final = {"AVRO": "avro", "JSON": "json", "PROTOBUF": "protobuf"}
_NOT_THERE: Final = frozenset({40401, 40402, 40403})
_FILES: Final = FileSettings(
    authorities="ssl.ca.location (or ssl.truststore.location)",
    certificate="ssl.certificate.location (or ssl.keystore.location)",
    key="ssl.key.location",
)
_TRIES: Final = 3
_SHOWN_CHARS: Final = 200
_MOST_CHARS: Final = 400
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"


class RegistryClient:
    """Requests schemas; caches nothing, since its callers do. See ``SchemaSource``.

    Args:
        kind: the kind of the schemas: Protobuf's are requested in another format.
        budget_ms: the time limit of all requests together; None: only each request has a limit.

    Raises:
        ConfigError: files that the settings name can't be used.
    """

    def __init__(
        self,
        settings: RegistrySettings,
        kind: str,
        *,
        budget_ms: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._left_ms = budget_ms
        self._clock = clock or SystemClock()
        self._kind = kind
        is_secure = settings.url.scheme == "https"
        self._context = context_of(settings.tls, names=_FILES) if is_secure else None
        self._where = settings.url.geturl()

    def find(self, key: SchemaKey) -> SchemaDefinition | None:
        """See ``SchemaSource``."""
        match key:
            case int():
                path = f"/schemas/ids/{key}"
            case UUID():
                path = f"/schemas/guids/{key}"
            case _:
                path = f"/subjects/{quote(key, safe='')}/versions/latest"
        found = self._get(path)
        if found is None:
            return None
        kind = found.get("schemaType") or "AVRO"
        if not isinstance(kind, str):
            raise self._strange(f"{path} has a schemaType that is not a string")
        references: dict[str, str] = {}
        self._collect(found, references, ())
        return SchemaDefinition(
            kind=_KINDS.get(kind, printable(kind)[:_SHOWN_CHARS]),
            text=self._text(found, path),
            references=tuple(references.items()),
        )

    def _collect(
        self, found: Mapping[str, Any], references: dict[str, str], above: tuple[str, ...]
    ) -> None:
        """Add the schemas that a schema refers to, depth first."""
        listed = found.get("references") or []
        if not isinstance(listed, list):
            raise self._strange("its references are not a list")
        for reference in listed:
            name, subject, version = map(
                dict(reference if isinstance(reference, dict) else {}).get,
                ("name", "subject", "version"),
            )
            if not isinstance(name, str) or not isinstance(subject, str):
                raise self._strange("a reference has no name or no subject")
            if isinstance(version, bool) or not isinstance(version, int) or version >> 31:
                raise self._strange(f"the reference {name[:_SHOWN_CHARS]!r} has no version")
            if name in references:
                continue
            if name in above or len(above) + len(references) >= MAX_REFERENCES:
                raise UnusableSchema("its references are circular, or too many")
            try:
                path = f"/subjects/{quote(subject, safe='')}/versions/{version}"
            except UnicodeEncodeError:
                raise UnusableSchema("a reference's subject is not valid text") from None
            # Deleted versions may still be referenced.
            referred = self._get(path, "deleted=true")
            if referred is None:
                raise AbsentReference(f"{path[:_SHOWN_CHARS]}, which it refers to, does not exist")
            self._collect(referred, references, (*above, name))
            references[name] = self._text(referred, path)

    def _text(self, found: Mapping[str, Any], path: str) -> str:
        text = found.get("schema")
        if not isinstance(text, str):
            raise self._strange(f"{path} has no schema")
        return text

    def _get(self, path: str, query: str = "") -> Mapping[str, Any] | None:
        """Return a resource of the registry; None if it does not exist."""
        status, data = self._response(path, query)
        if status == 200:
            found = parsed_json(data, f"{self._where}{path}")
            if not isinstance(found, dict):
                raise self._strange(f"{path} is not an object")
            return found
        if status == 404 and _is_absence(path, _error_code(data)):
            return None
        if status in {401, 403}:
            raise SchemaError(
                f"{self._where} refused the request ({status}): see basic.auth.user.info or "
                "bearer.auth.token in --schema-registry-config"
            )
        reason = quoted(data, self._settings.authorization or "")
        raise SchemaError(f"{self._where}{path} responded with {status}: {reason}")

    def _response(self, path: str, parameters: str) -> tuple[int, bytes]:
        settings = self._settings
        form = "format=serialized" if self._kind == "protobuf" else ""
        query = "&".join(filter(None, (parameters, form)))
        url = settings.url._replace(path=settings.url.path + path, query=query)
        headers = {"Accept": _ACCEPT, "Connection": "close"}
        if settings.authorization is not None:
            headers["Authorization"] = settings.authorization
        tried = 0
        while True:
            tried += 1
            try:
                return self._requested(url, headers)
            except ConnectFailed as error:
                if tried == _TRIES:
                    raise SchemaError(f"the schema registry can't be reached: {error}") from error
            except ValueError as error:
                raise SchemaError(f"{self._where}{path}: {error}") from error

    def _requested(self, url: SplitResult, headers: Mapping[str, str]) -> tuple[int, bytes]:
        timeout_ms = self._settings.timeout_ms
        if self._left_ms is not None:
            # Connecting and the rest of the request each have this time limit.
            timeout_ms = min(timeout_ms, self._left_ms // 2)
            if timeout_ms <= 0:
                raise SchemaError(f"{self._where} used up the time limit for schemas")
        began_ms = self._clock.now_ms()
        try:
            return http_request(
                url,
                headers=headers,
                timeout_ms=timeout_ms,
                max_bytes=MAX_SCHEMA_BYTES,
                ssl_context=self._context,
            )
        finally:
            if self._left_ms is not None:
                self._left_ms -= self._clock.now_ms() - began_ms

    def _strange(self, what: str) -> SchemaError:
        return SchemaError(
            f"{self._where} does not respond like a schema registry: "
            f"{printable(what)[:_MOST_CHARS]}"
        )


def _is_absence(path: str, code: object) -> bool:
    """Return whether a 404 means a missing schema, rather than a server that is not a registry.

    Old registries have no endpoint for GUIDs, but any producer can write a GUID into a header.
    """
    return code in _NOT_THERE or (path.startswith("/schemas/guids/") and code is not None)


def _error_code(data: bytes) -> int | None:
    try:
        found = parsed_json(data, "the response")
    except SchemaError:
        return None
    code = found.get("error_code") if isinstance(found, dict) else None
    return code if isinstance(code, int) else None
