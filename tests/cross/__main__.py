"""Compiles the native core for another CPU, runs it in an emulator, and compares what it reads.

    python -m tests.cross aarch64 --rounds 20000 --seed 1

Every file of the core is compiled with warnings as errors. Then the same damaged record sets are
read here and there, with the CPU's own CRC-32 and with the portable one: all four must agree.
"""

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests import fuzz
from tests.fuzz.__main__ import ROOT, SOURCES, write_seeds

HERE = Path(__file__).parent
SETS = Path(fuzz.__file__).parent
WORK = ROOT / ".fuzz" / "cross"
FLAGS = ["-std=c11", "-O3", "-g", "-Wall", "-Wextra", "-Wconversion", "-Werror"]


class Target(NamedTuple):
    """A kind of CPU: how to compile for it, how to run it here, and its CRC-32."""

    compiler: str
    emulator: tuple[str, ...]
    crc: str


HOST = Target("gcc", (), "")
TARGETS = {
    "aarch64": Target("aarch64-linux-gnu-gcc", ("qemu-aarch64-static", "-cpu", "max"), "armv8"),
    "s390x": Target("s390x-linux-gnu-gcc", ("qemu-s390x-static",), "portable"),
}


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    target = TARGETS[options.target]
    compile_core(target, options.target)
    compared = [built(HOST, "host"), built(target, options.target)]
    words = [str(options.seed), str(options.rounds)]
    seeds = [str(path) for path in write_seeds(WORK / "seeds")]
    found = {
        (machine.compiler, way): outcome(machine, program, [*words, way, *seeds])
        for machine, program in zip((HOST, target), compared, strict=True)
        for way in ("best", "portable")
    }
    for (compiler, _), (crc, digest) in found.items():
        sys.stdout.write(f"{compiler}: {crc}: {digest}\n")
    if found[target.compiler, "best"][0] != f"CRC-32 by {target.crc}, CRC-32C by {target.crc}":
        sys.stderr.write(f"{options.target}: CRC-32 or CRC-32C is not by {target.crc}\n")
        return 1
    if len({digest for _, digest in found.values()}) > 1:
        sys.stderr.write(f"{options.target} reads something else than this machine\n")
        return 1
    return 0


def compile_core(target: Target, name: str) -> None:
    """Compile all of the core, what the digest does not use too."""
    for file in sorted(SOURCES.glob("*.c")):
        command = [target.compiler, *FLAGS, "-c", str(file), "-o", str(WORK / f"{name}.o")]
        subprocess.run(command, check=True)


def built(target: Target, name: str) -> Path:
    """Compile the digest with the core; statically, so that an emulator needs no libraries."""
    program = WORK / f"digest-{name}"
    files = [HERE / "digest.c", SETS / "sets.c", *sorted(SOURCES.glob("*.c"))]
    includes = [f"-I{SETS}", f"-I{SOURCES}"]
    static = ["-static", "-pthread", "-ffunction-sections", "-Wl,--gc-sections"]
    command = [target.compiler, "-std=c11", "-O3", *includes, *static, *map(str, files)]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


def outcome(target: Target, program: Path, words: list[str]) -> tuple[str, str]:
    """Run it; gives the two lines that it prints."""
    done = subprocess.run(
        [*target.emulator, str(program), *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{program.name} ended with {done.returncode}: {done.stdout}{done.stderr}")
    crc, digest = done.stdout.splitlines()
    return crc, digest


if __name__ == "__main__":
    sys.exit(main())
