"""The page's static files: all are ours, none is loaded from elsewhere, nothing is inline."""

import re
from pathlib import Path

import pytest

from zkconsumer.web import rendering

WEB = Path(rendering.__file__).parent
STATIC = WEB / "static"
OWN = sorted([*WEB.glob("templates/*"), *(file for file in STATIC.iterdir() if file.is_file())])
REMOTE = re.compile(r"(?:https?:)?//[a-z0-9-]+\.[a-z]{2,}", re.IGNORECASE)


def test_static_files_are_ours() -> None:
    """Static files are styles, scripts and drawings of ours, without libraries or fonts."""
    assert {path.suffix for path in STATIC.iterdir()} == {".css", ".js", ".svg"}
    assert max(path.stat().st_size for path in STATIC.iterdir()) < 20_000


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_file_loads_from_elsewhere(path: Path) -> None:
    """No file names another host, or has inline scripts or styles, which the policy refuses."""
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")
    assert not REMOTE.search(text)
    if path.suffix == ".html":
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text)
    if path.suffix == ".js":
        assert not re.search(r"\beval\(|new Function|innerHTML|setAttribute\(\"style", text)


def test_every_named_file_exists() -> None:
    """Every static file that templates and other files name exists."""
    for path in OWN:
        text = path.read_text()
        for named in re.findall(r"[\"(]/static/([\w./-]+)[\")]", text):
            assert (STATIC / named).is_file(), (path.name, named)
        for named in re.findall(r"(?:from \"\./|url\(\")([\w./-]+)\"", text):
            assert (STATIC / named).is_file(), (path.name, named)
