"""What the page is served with: all of it here, nothing from elsewhere, nothing inline."""

import re
from pathlib import Path

import pytest

from zkconsumer.web import rendering

WEB = Path(rendering.__file__).parent
STATIC = WEB / "static"
OWN = sorted([*WEB.glob("templates/*"), *(file for file in STATIC.iterdir() if file.is_file())])
REMOTE = re.compile(r"(?:https?:)?//[a-z0-9-]+\.[a-z]{2,}", re.IGNORECASE)


def test_all_of_it_is_text_of_ours() -> None:
    """Styles, scripts, drawings: no library, no font, nothing that was written elsewhere."""
    assert {path.suffix for path in STATIC.iterdir()} == {".css", ".js", ".svg"}
    assert max(path.stat().st_size for path in STATIC.iterdir()) < 20_000


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
