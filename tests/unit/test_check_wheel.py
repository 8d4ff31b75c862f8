"""The program that checks an installed wheel: releases run it, so its imports must hold."""

import importlib
import sys
from pathlib import Path

import pytest

from zkconsumer.records.slices import FetchedRecords

SCRIPTS = Path(__file__).parents[2] / "scripts"


def test_a_wheel_is_checked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it decodes comes out right; a checkout is no installed wheel; a fault is told."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    try:
        program = importlib.import_module("check_wheel")
        assert program.wrongly_decoded() is None
        assert program.main() == 1
        assert capsys.readouterr().err.startswith("this is the checkout, not what was installed")
        decode = program.decode_fetched

        def cut(data: bytes, **options: int) -> FetchedRecords:
            fetched: FetchedRecords = decode(data[:-1], **options)
            return fetched

        monkeypatch.setattr(program, "decode_fetched", cut)
        assert "a set of messages of NONE does not come out" in program.wrongly_decoded()
    finally:
        sys.modules.pop("check_wheel", None)
        sys.modules.pop("hardening", None)
