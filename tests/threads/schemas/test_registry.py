"""The schema registry client: its requests, and how it copes with hostile responses."""

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.registry_server import RegistryServer, registry_server, respond
from zkconsumer.errors import ConfigError, SchemaError
from zkconsumer.schemas.definition import UnusableSchema
from zkconsumer.schemas.folder import SchemaFolder
from zkconsumer.schemas.registry import RegistryClient
from zkconsumer.schemas.registry_settings import RegistrySettings
from zkconsumer.schemas.wire_format import SchemaKey

GUID = UUID("0f3c1b5e-9d3a-4a51-8f3e-2c6a17a0b9d4")


@pytest.fixture(name="registry")
def _registry() -> Iterator[RegistryServer]:
    with registry_server() as registry:
        yield registry


def client(registry: RegistryServer, kind: str = "avro", **options: str) -> RegistryClient:
    """A client of this registry; options have ``_`` instead of a dot."""
    given = {name.replace("_", "."): value for name, value in options.items()}
    return RegistryClient(RegistrySettings.of(registry.url, given), kind)


def test_schemas_are_found_by_id_guid_and_subject(registry: RegistryServer) -> None:
    """References come with them, each after those that it refers to itself."""
    to_base = {"name": "b", "subject": "base", "version": 1}
    base, middle = {"schema": "base"}, {"schema": "middle", "references": [to_base]}
    registry.by_subject = {"base": [base], "a/b": [middle]}
    refers = [{"name": "m", "subject": "a/b", "version": 1}, to_base]
    registry.by_id[7] = {"schema": "top", "references": refers}
    registry.by_guid[str(GUID)] = {"schema": "{}", "schemaType": "JSON", "references": None}
    registry_client = client(registry)
    found = registry_client.find(7)
    assert found is not None
    assert (found.kind, found.text) == ("avro", "top")
    assert found.references == (("b", "base"), ("m", "middle"))
    by_guid = registry_client.find(GUID)
    assert by_guid is not None
    assert by_guid.kind == "json"
    latest = registry_client.find("a/b")
    assert latest is not None
    assert latest.text == "middle"
    assert registry_client.find(8) is None
    assert registry_client.find("nobody") is None


def test_protobuf_schemas_are_requested_serialized(registry: RegistryServer) -> None:
    """Otherwise the registry would return the text of a ``.proto`` file."""
    registry.by_id[1] = {"schema": "", "schemaType": "PROTOBUF"}
    client(registry, "protobuf").find(1)
    assert registry.requests == ["/schemas/ids/1?format=serialized"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"basic_auth_user_info": "me:secret"}, b"me:secret"),
        ({"schema_registry_basic_auth_user_info": "me:secret"}, b"me:secret"),
    ],
)
def test_a_user_and_password_are_sent(
    registry: RegistryServer, options: dict[str, str], wanted: bytes
) -> None:
    """The options have the names of Confluent's clients; without them the error names one."""
    registry.by_id[1] = {"schema": '"int"'}
    registry.authorization = "Basic " + base64.b64encode(wanted).decode()
    assert client(registry, **options).find(1) is not None
    with pytest.raises(SchemaError, match=r"refused the request \(401\): see basic.auth.user.info"):
        client(registry).find(1)
    url = registry.url.replace("//", "//me:secret@")
    assert RegistryClient(RegistrySettings.of(url), "avro").find(1) is not None
    assert "secret" not in repr(RegistrySettings.of(url, {"bearer.auth.token": ""}))


def test_a_token_is_sent(registry: RegistryServer) -> None:
    """It is sent as a bearer token, as OAuth does."""
    registry.by_id[1] = {"schema": '"int"'}
    registry.authorization = "Bearer abc"
    assert client(registry, bearer_auth_token="abc").find(1) is not None


def _echo(handler: BaseHTTPRequestHandler) -> None:
    respond(handler, 500, f"no route for {handler.headers['Authorization']}".encode())


def test_a_secret_that_a_registry_repeats_is_not_shown(registry: RegistryServer) -> None:
    """The page shows the registry's errors to everybody who reads messages."""
    registry.responder = _echo
    with pytest.raises(
        SchemaError, match=r"responded with 500: no route for \.\.\. \.\.\.$"
    ) as failed:
        client(registry, bearer_auth_token="hidden-0123").find(1)
    assert "hidden" not in str(failed.value)


def _huge(handler: BaseHTTPRequestHandler) -> None:
    respond(handler, 200, b'{"schema": "' + b"x" * (5 << 20) + b'"}')


def _deep(handler: BaseHTTPRequestHandler) -> None:
    respond(handler, 200, b"[" * 1_000_000)


def _redirect(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", "http://127.0.0.1:1/")
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def _cut(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"schema"')


def _trickle(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(1_000):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        threading.Event().wait(0.05)


def _silent(handler: BaseHTTPRequestHandler) -> None:
    del handler
    threading.Event().wait(0.6)


def _other(handler: BaseHTTPRequestHandler) -> None:
    respond(handler, 404, b"<html>Not found</html>")


@pytest.mark.parametrize(
    ("responder", "reason"),
    [
        (lambda it: respond(it, 200, b'{"schema": "", "schemaType": ["x"]}'), "schemaType"),
        (_huge, "longer than"),
        (_deep, "nested too deeply"),
        (lambda it: respond(it, 200, b"<html>"), "is not JSON"),
        (lambda it: respond(it, 200, b"[]"), "is not an object"),
        (lambda it: respond(it, 200, b'{"schema": 5}'), "has no schema"),
        (lambda it: respond(it, 200, b'{"schema": "", "references": 5}'), "not a list"),
        (lambda it: respond(it, 500, b"\x1b[2Jno"), "responded with 500"),
        (_redirect, "responded with 302"),
        (_cut, "can't be reached"),
        (_trickle, "timed out"),
        (_other, "responded with 404"),
    ],
)
def test_hostile_responses_are_an_error_of_one_sentence(
    registry: RegistryServer, responder: object, reason: str
) -> None:
    """It comes within the time-out, and has no control characters."""
    registry.responder = responder  # type: ignore[assignment]
    timeout_ms = "300" if responder is _trickle else "10000"  # 4 MB take time on a busy machine
    with pytest.raises(SchemaError, match=reason) as caught:
        client(registry, request_timeout_ms=timeout_ms).find(1)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("responder", [_silent, _cut])
def test_all_requests_together_have_a_budget(registry: RegistryServer, responder: object) -> None:
    """It holds however many schemas the values name, and however often one is retried."""
    registry.responder = responder  # type: ignore[assignment]
    clock = ManualClock()
    clock.step_ms = 100
    registry_client = RegistryClient(
        RegistrySettings.of(registry.url), "avro", budget_ms=500, clock=clock
    )
    for number in range(50):
        with pytest.raises(SchemaError):
            registry_client.find(number)
    with pytest.raises(SchemaError, match="used up the time limit for schemas"):
        registry_client.find(51)
    assert len(registry.requests) <= 5


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        ("c", "references are circular"),
        ("gone", "which it refers to, does not exist"),
        ("\ud800", "not valid text"),
    ],
)
def test_unresolvable_references_make_a_schema_unusable(
    registry: RegistryServer, subject: str, reason: str
) -> None:
    """That is no failure of the registry, so its values are what is bad."""
    refers = {"schema": "", "references": [{"name": "c", "subject": subject, "version": 1}]}
    registry.by_subject["c"] = [refers]
    registry.by_id[1] = refers
    with pytest.raises(UnusableSchema, match=reason):
        client(registry).find(1)


def test_deleted_references_are_requested(registry: RegistryServer) -> None:
    """Registries return them on request, as long as another schema refers to them."""
    to_base = {"name": "b", "subject": "base", "version": 1}
    registry.by_subject["base"] = [{"schema": ""}]
    registry.by_id[1] = {"schema": "", "schemaType": "PROTOBUF", "references": [to_base]}
    assert client(registry, "protobuf").find(1) is not None
    wanted = "/subjects/base/versions/1?deleted=true&format=serialized"
    assert registry.requests[1] == wanted


def test_a_registry_without_guids_has_no_schema_for_one(registry: RegistryServer) -> None:
    """Anybody can send such a header; for an id the same response says that it is no registry."""

    def no_endpoint(handler: BaseHTTPRequestHandler) -> None:
        respond(handler, 404, {"error_code": 404, "message": "HTTP 404 Not Found"})

    registry.responder = no_endpoint
    assert client(registry).find(GUID) is None
    with pytest.raises(SchemaError, match="responded with 404"):
        client(registry).find(7)
    registry.responder = _other
    with pytest.raises(SchemaError, match="responded with 404"):
        client(registry).find(GUID)


def test_a_registry_that_is_away_is_an_error() -> None:
    """Nothing listens at port 1."""
    settings = RegistrySettings.of("http://127.0.0.1:1")
    with pytest.raises(SchemaError, match=r"can't be reached: http://127\.0\.0\.1:1"):
        RegistryClient(settings, "avro").find(1)


@pytest.mark.parametrize(
    ("url", "options", "reason"),
    [
        ("registry:8081", {}, r"must be http\(s\)"),
        ("http://user:12/x@host:8081", {}, "'host:8081': it must be .* %2F and %40"),
        ("http://h:99999", {}, r"must be http\(s\)"),
        ("http://h", {"basic.auth.user.inf": "x"}, "did you mean basic.auth.user.info"),
        ("http://h", {"request.timeout.ms": "soon"}, "number of ms"),
        ("http://h", {"request.timeout.ms": "²"}, "number of ms"),
        ("http://h", {"request.timeout.ms": "1" * 5_000}, "number of ms"),
        ("http://h", {"ssl.truststore.type": "JKS"}, "must be PEM"),
        ("http://h", {"basic.auth.credentials.source": "SASL_INHERIT"}, "USER_INFO or URL"),
        ("http://h", {"basic.auth.user.info": "a", "bearer.auth.token": "b"}, "one of them"),
        ("http://h", {"bearer.auth.token": "a\r\nb: c"}, "a header can't contain"),
    ],
)
def test_wrong_settings_are_refused(url: str, options: dict[str, str], reason: str) -> None:
    """They are before any request."""
    with pytest.raises(ConfigError, match=reason):
        RegistrySettings.of(url, options)


@pytest.mark.parametrize("name", ["ssl.ca.location", "ssl.truststore.location"])
def test_unusable_certificate_files_are_refused(tmp_path: Path, name: str) -> None:
    """The error names the option of the certificate authorities that was used."""
    settings = RegistrySettings.of("https://h", {name: str(tmp_path / "none.pem")})
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        RegistryClient(settings, "avro")


def test_a_folder_has_schemas_by_id_guid_and_subject(tmp_path: Path) -> None:
    """A subject's file also serves for other ids, except in Avro, where values would be garbage."""
    (tmp_path / "7.avsc").write_text('"int"')
    (tmp_path / f"{GUID}.avsc").write_text('"long"')
    (tmp_path / "t-value.avsc").write_text('"string"')
    (tmp_path / "t-value.json").write_text("{}")
    (tmp_path / "t-value.desc").write_bytes(b"\1")
    folder = SchemaFolder(str(tmp_path), "avro", "t-value")
    keys: list[SchemaKey] = [7, GUID, "t-value", 8]
    texts = [found and found.text for found in map(folder.find, keys)]
    assert texts == ['"int"', '"long"', '"string"', None]
    json_found = SchemaFolder(str(tmp_path), "json", "t-value").find(8)
    assert json_found is not None
    assert json_found.text == "{}"
    set_found = SchemaFolder(str(tmp_path), "protobuf", "t-value").find(8)
    assert set_found is not None
    assert (set_found.text, set_found.is_set) == ("AQ==", True)
    with pytest.raises(ConfigError, match="not a directory"):
        SchemaFolder(str(tmp_path / "none"), "avro")
