"""The commands that systemd units and the image of the commands start are valid."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from zkconsumer.cli.mirror.command import settings_of as mirror_settings
from zkconsumer.cli.parsing import build_parser
from zkconsumer.drain.command import settings_of as drain_settings

ROOT = Path(__file__).parents[2]
UNITS = ROOT / "docker/systemd"
PROGRAM = "/opt/zkconsumer/bin/zkconsumer"
DOCKERFILE = ROOT / "docker/commands.Dockerfile"
STAGES = ("drain", "mirror", "serve")

Instruction = tuple[str, str]


def unit_lines(name: str) -> list[tuple[str, str]]:
    """Return keys and values of a unit, in order."""
    lines = (UNITS / name).read_text("utf-8").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and line[0] not in "#;")
    return [(key, value) for key, _, value in pairs]


def commands_of(unit: str) -> list[list[str]]:
    """Return the words of each command that a unit starts.

    As in systemd, ``$NAME`` becomes several words.
    """
    variables = {}
    for key, value in unit_lines(unit):
        if key == "EnvironmentFile":
            assert Path(value).parent == Path("/etc/zkconsumer")
            variables = dict(unit_lines(Path(value).name))
    commands = []
    for key, value in unit_lines(unit):
        if key != "ExecStart":
            continue
        words: list[str] = []
        for word in value.split():
            if re.fullmatch(r"\$[A-Z_]+", word):
                words += variables[word[1:]].split()
            else:
                words.append(re.sub(r"\$\{([A-Z]+)\}", lambda found: variables[found[1]], word))
        commands.append(words)
    return commands


def check_accepted(words: list[str]) -> None:
    """Assert that the command's parser accepts the words, and that settings can be made of them."""
    args = build_parser().parse_args(words)
    if words[0] == "mirror":
        assert args.offsets_file is not None
        mirror_settings(args)
    elif words[:2] == ["drain", "verify"]:
        assert (args.engine, args.path != "") == ("local", True)
    elif words[0] == "drain":
        assert args.engine == "local"
        drain_settings(args)


@pytest.mark.parametrize("unit", [f"zkconsumer-{name}.service" for name in STAGES])
def test_a_unit_starts_a_valid_command(unit: str) -> None:
    """The command is valid with the variables of the file beside the unit."""
    commands = commands_of(unit)
    assert commands
    for program, *words in commands:
        assert program == PROGRAM
        check_accepted(words)


def test_verify_checks_the_drain_that_ran() -> None:
    """Both commands have the same path and cluster, and other arguments of their own."""
    drain, verify = (build_parser().parse_args(words[1:]) for words in drain_commands())
    assert (verify.path, verify.zookeeper) == (drain.to, drain.zookeeper)
    assert verify.memory_mb == drain.memory_mb == 512


def drain_commands() -> list[list[str]]:
    """Return both commands of the drain's unit."""
    return commands_of("zkconsumer-drain.service")


@pytest.fixture
def checked_units(tmp_path: Path) -> Path:
    """Return a folder of the units, with a program that exists."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze: apt-get install systemd")
    shutil.copytree(UNITS, tmp_path, dirs_exist_ok=True)
    for unit in tmp_path.glob("*.service"):
        unit.write_text(unit.read_text("utf-8").replace(PROGRAM, sys.executable), "utf-8")
    return tmp_path


def run_analyze(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run systemd's own checks of the units in a folder."""
    return subprocess.run(
        ["systemd-analyze", *words],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_systemd_accepts_the_units(checked_units: Path) -> None:
    """By the check of systemd itself, it ignores no line of them."""
    units = sorted(map(str, [*checked_units.glob("*.service"), *checked_units.glob("*.timer")]))
    done = run_analyze(checked_units, "verify", "--man=no", *units)
    ours = [line for line in done.stderr.splitlines() if "zkconsumer" in line]
    assert (done.returncode, ours) == (0, [])


@pytest.mark.parametrize("name", STAGES)
def test_a_unit_has_few_rights(checked_units: Path, name: str) -> None:
    """The exposure that systemd computes is low: the units' shared settings reach each of them."""
    unit = str(checked_units / f"zkconsumer-{name}.service")
    done = run_analyze(checked_units, "security", "--offline=yes", "--threshold=25", unit)
    assert done.returncode == 0, done.stdout + done.stderr


def instructions() -> list[Instruction]:
    """Return the instructions of the image's file, with continued lines joined."""
    lines = [line for line in DOCKERFILE.read_text("utf-8").splitlines() if line[:1] != "#"]
    text = "\n".join(lines).replace("\\\n", " ")
    parts = (line.split(None, 1) for line in text.splitlines() if line)
    return [(word, " ".join(rest.split())) for word, rest in parts]


def stages() -> dict[str, list[Instruction]]:
    """Return the instructions of each stage, after those of the stage that it is based on."""
    found: dict[str, list[Instruction]] = {}
    name = ""
    for word, rest in instructions():
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found[name] = [*found.get(base, [])]
        found[name].append((word, rest))
    return found


@pytest.mark.parametrize("name", STAGES)
def test_an_image_runs_a_valid_command(name: str) -> None:
    """The command has exec form, so that it gets signals, and shows its help without arguments."""
    stage = dict(stages()[name])
    program, *words = json.loads(stage["ENTRYPOINT"])
    assert (program, words[0], json.loads(stage["CMD"])) == ("zkconsumer", name, ["--help"])
    comment = re.search(rf"docker run .*?zkconsumer-{name} ((?:.*\\\n)*.*)\n", dockerfile())
    assert comment is not None
    check_accepted([*words, *shlex.split(comment[1].replace("\\\n#", ""))])
    assert stage["USER"] not in {"root", "0"}
    assert stage["STOPSIGNAL"] == "SIGTERM"


def dockerfile() -> str:
    """Return all text of the file, comments included."""
    return DOCKERFILE.read_text("utf-8")


@pytest.mark.parametrize(("name", "path"), [("mirror", "/metrics"), ("serve", "/healthz")])
def test_a_health_check_requests_the_port_of_the_command(name: str, path: str) -> None:
    """The check is a Python program; the drain serves no port, and has none."""
    stage = dict(stages()[name])
    check = json.loads(stage["HEALTHCHECK"].partition("CMD ")[2])
    compile(check[2], "the health check", "exec")
    assert f"http://127.0.0.1:{stage['EXPOSE']}{path}'" in check[2]
    assert stage["EXPOSE"] in stage["ENTRYPOINT"]
    assert dict(stages()["drain"])["HEALTHCHECK"] == "NONE"


def test_the_image_follows_good_practice() -> None:
    """It names versions, keeps no package lists or caches, and installs only named packages."""
    for word, rest in instructions():
        base = rest.partition(" ")[0]
        if word == "FROM" and base not in stages():
            assert re.fullmatch(r"python:\d\.\d+-slim-\w+", base)
        if "apt-get install" in rest:
            assert "--no-install-recommends" in rest
            assert rest.endswith("rm -rf /var/lib/apt/lists/*")
        if "pip install" in rest:
            assert "--no-cache-dir" in rest
        assert word not in {"ADD", "MAINTAINER"}


def test_files_copied_into_the_image_are_sent_to_the_builder() -> None:
    """All files that the image copies exist, and are not ignored."""
    ignored = DOCKERFILE.with_name(f"{DOCKERFILE.name}.dockerignore").read_text("utf-8").split()
    sent = [line[1:] for line in ignored if line[0] == "!"]
    assert ignored[0] == "*"
    for word, rest in instructions():
        if word == "COPY" and "--from" not in rest:
            *sources, _ = rest.split()
            for source in sources:
                assert (ROOT / source).exists()
                assert any(fnmatch(source, pattern) for pattern in sent), source
    extras = re.search(r"/src\[(.*)\]", dockerfile())
    assert extras is not None
    known = re.findall(r"^([a-z0-9-]+) =$", (ROOT / "setup.cfg").read_text("utf-8"), re.MULTILINE)
    assert set(extras[1].split(",")) <= set(known)
