"""Units of systemd and the image of the commands: what they start is what the commands accept."""

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
    """Keys and values of a unit, in order."""
    lines = (UNITS / name).read_text("utf-8").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and line[0] not in "#;")
    return [(key, value) for key, _, value in pairs]


def started(unit: str) -> list[list[str]]:
    """The words of each command, as systemd makes them of variables: ``$NAME`` becomes several."""
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


def see_accepted(words: list[str]) -> None:
    """The command's own parser takes them, and so does what makes settings of that."""
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
def test_a_unit_starts_what_the_command_accepts(unit: str) -> None:
    """With the variables of the file that lies beside it."""
    commands = started(unit)
    assert commands
    for program, *words in commands:
        assert program == PROGRAM
        see_accepted(words)


def test_the_drain_that_is_proven_is_the_one_that_ran() -> None:
    """At the same path, against the same cluster; each has arguments of its own."""
    drain, verify = (build_parser().parse_args(words[1:]) for words in started_drain())
    assert (verify.path, verify.zookeeper) == (drain.to, drain.zookeeper)
    assert verify.memory_mb == drain.memory_mb == 512


def started_drain() -> list[list[str]]:
    """Both commands of the unit."""
    return started("zkconsumer-drain.service")


@pytest.fixture
def checked_units(tmp_path: Path) -> Path:
    """The units with a program that is there."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("there is no systemd-analyze: apt-get install systemd")
    shutil.copytree(UNITS, tmp_path, dirs_exist_ok=True)
    for unit in tmp_path.glob("*.service"):
        unit.write_text(unit.read_text("utf-8").replace(PROGRAM, sys.executable), "utf-8")
    return tmp_path


def analyzed(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """What systemd's own tool says of units in a folder."""
    return subprocess.run(
        ["systemd-analyze", *words],
        env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_systemd_takes_the_units(checked_units: Path) -> None:
    """Every line of them: it names what it would ignore."""
    units = sorted(map(str, [*checked_units.glob("*.service"), *checked_units.glob("*.timer")]))
    done = analyzed(checked_units, "verify", "--man=no", *units)
    ours = [line for line in done.stderr.splitlines() if "zkconsumer" in line]
    assert (done.returncode, ours) == (0, [])


@pytest.mark.parametrize("name", STAGES)
def test_a_unit_may_do_little(checked_units: Path, name: str) -> None:
    """By systemd's own count, where 10 is everything; what they share reaches each."""
    unit = str(checked_units / f"zkconsumer-{name}.service")
    done = analyzed(checked_units, "security", "--offline=yes", "--threshold=25", unit)
    assert done.returncode == 0, done.stdout + done.stderr


def instructions() -> list[Instruction]:
    """Those of the file of the image, continued lines joined."""
    lines = [line for line in DOCKERFILE.read_text("utf-8").splitlines() if line[:1] != "#"]
    text = "\n".join(lines).replace("\\\n", " ")
    parts = (line.split(None, 1) for line in text.splitlines() if line)
    return [(word, " ".join(rest.split())) for word, rest in parts]


def stages() -> dict[str, list[Instruction]]:
    """Instructions by stage, those of the stage that it begins with first."""
    found: dict[str, list[Instruction]] = {}
    name = ""
    for word, rest in instructions():
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            found[name] = [*found.get(base, [])]
        found[name].append((word, rest))
    return found


@pytest.mark.parametrize("name", STAGES)
def test_an_image_runs_what_the_command_accepts(name: str) -> None:
    """As an exec form, so that it gets the signals; by itself it shows its help."""
    stage = dict(stages()[name])
    program, *words = json.loads(stage["ENTRYPOINT"])
    assert (program, words[0], json.loads(stage["CMD"])) == ("zkconsumer", name, ["--help"])
    comment = re.search(rf"docker run .*?zkconsumer-{name} ((?:.*\\\n)*.*)\n", dockerfile())
    assert comment is not None
    see_accepted([*words, *shlex.split(comment[1].replace("\\\n#", ""))])
    assert stage["USER"] not in {"root", "0"}
    assert stage["STOPSIGNAL"] == "SIGTERM"


def dockerfile() -> str:
    """All of it, comments included."""
    return DOCKERFILE.read_text("utf-8")


@pytest.mark.parametrize(("name", "path"), [("mirror", "/metrics"), ("serve", "/healthz")])
def test_a_health_check_asks_the_port_that_the_command_serves(name: str, path: str) -> None:
    """By a program that is Python; the drain has no port."""
    stage = dict(stages()[name])
    asked = json.loads(stage["HEALTHCHECK"].partition("CMD ")[2])
    compile(asked[2], "the health check", "exec")
    assert f"http://127.0.0.1:{stage['EXPOSE']}{path}'" in asked[2]
    assert stage["EXPOSE"] in stage["ENTRYPOINT"]
    assert dict(stages()["drain"])["HEALTHCHECK"] == "NONE"


def test_the_image_is_made_as_images_should_be() -> None:
    """Named versions, no lists or caches left in it, no packages that nobody asked for."""
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


def test_what_is_copied_into_the_image_is_sent_to_the_builder() -> None:
    """Whatever it needs is there, and not ignored."""
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
