"""What the page is served with: all of it here, nothing from elsewhere, nothing inline."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from tests.support.asgi_client import request
from zkconsumer.web import rendering
from zkconsumer.web.files import PageFiles

WEB = Path(rendering.__file__).parent
STATIC = WEB / "static"
VENDOR = STATIC / "vendor"
OWN = sorted([*WEB.glob("templates/*"), *(one for one in STATIC.iterdir() if one.is_file())])
REMOTE = re.compile(r"(?:https?:)?//[a-z0-9-]+\.[a-z]{2,}", re.IGNORECASE)


def test_vendored_files_are_those_that_are_named() -> None:
    """Version, licence and checksum of each; nothing else lies there."""
    reported = json.loads((VENDOR / "versions.json").read_text())
    for one in reported:
        data = (VENDOR / one["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == one["sha256"], one["file"]
        assert re.fullmatch(r"\d+\.\d+\.\d+", one["version"])
        assert "icens" in (VENDOR / one["licence"]).read_text()
    named = {one[key] for one in reported for key in ("file", "licence")}
    assert named | {"versions.json"} == {one.name for one in VENDOR.iterdir()}


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_own_files_ask_nobody_else(path: Path) -> None:
    """No address of another host, no script or style in a page, which the policy would refuse."""
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")
    assert not REMOTE.search(text)
    if path.suffix == ".html":
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text)
    if path.suffix == ".js":
        assert not re.search(r"\beval\(|new Function|innerHTML|setAttribute\(\"style", text)


def test_everything_named_is_there() -> None:
    """Styles, scripts and fonts that templates and files of the page ask for."""
    for path in OWN:
        text = path.read_text()
        for named in re.findall(r"[\"(]/static/([\w./-]+)[\")]", text):
            assert (STATIC / named).is_file(), (path.name, named)
        for named in re.findall(r"(?:from \"\./|url\(\")([\w./-]+)\"", text):
            assert (STATIC / named).is_file(), (path.name, named)


def test_browsers_keep_what_they_have() -> None:
    """Fonts for a day; what is ours is asked for again, and costs no bytes where it is the same."""
    app = PageFiles()
    font = request(app, "/vendor/inter.woff2", {})
    assert (font.status, font.headers["cache-control"]) == (200, "max-age=86400")
    styles = request(app, "/page.css", {})
    assert styles.headers["cache-control"] == "no-cache"
    again = request(app, "/page.css", {"if-none-match": styles.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["cache-control"] == "no-cache"
