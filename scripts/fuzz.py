"""For CONTRIBUTING.md: vary good files of every reader by what code they reach, with atheris.

    python -m scripts.fuzz                 every reader for 20 seconds
    python -m scripts.fuzz npz pickle --seconds 300
    python -m scripts.fuzz --list

A file that makes a reader raise anything but an error of nmtalign, or think for more than ten seconds, is
kept in tests/hostile/found, where the tests read it ever after. Each reader runs in a process of its own;
what libFuzzer says goes to stderr.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOUND = ROOT / "tests" / "hostile" / "found"
SLOW = 10  # seconds
MEMORY = 2048  # megabytes


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz the readers of files.")
    parser.add_argument("readers", nargs="*", help="all if none is named")
    parser.add_argument("--seconds", type=int, default=20, help="for each reader")
    parser.add_argument("--list", action="store_true", help="names of the readers")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        fuzz(given.one, given.seconds)
    from tests.hostile.readers import READERS

    if given.list:
        print("\n".join(READERS))
        return
    failed = [name for name in given.readers or READERS if not survives(name, given.seconds)]
    print(f"{len(failed)} readers failed {failed}")
    sys.exit(bool(failed))


def survives(name: str, seconds: int) -> bool:
    """Fuzz a reader in a process of its own, and keep what it falls over."""
    command = [sys.executable, "-m", "scripts.fuzz", "--one", name, "--seconds", str(seconds)]
    ran = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, errors="replace")
    done = [line for line in ran.stderr.splitlines() if " cov: " in line]
    print(f"{name}: exit {ran.returncode}, {done[-1].strip() if done else 'nothing tried'}", flush=True)
    if ran.returncode:
        print(ran.stderr[-3000:], file=sys.stderr)
    return ran.returncode == 0


def fuzz(name: str, seconds: int) -> None:
    """Fuzz one reader; libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["nmtalign", "zipfile", "pickle", "json", "tomllib"]):
        from tests.hostile.damage import check
        from tests.hostile.readers import READERS
    reader = READERS[name]
    work = Path(tempfile.mkdtemp(prefix="fuzz-"))
    reader.beside(work)
    seeds = work / "seeds"
    seeds.mkdir()
    for number, sample in enumerate(reader.samples):
        (seeds / str(number)).write_bytes(sample)

    FOUND.mkdir(exist_ok=True)

    def one(data: bytes) -> None:
        check(reader, data, work)

    atheris.Setup(
        [sys.argv[0], str(seeds), f"-max_total_time={seconds}", f"-timeout={SLOW}", f"-rss_limit_mb={MEMORY}",
         "-max_len=20000", f"-artifact_prefix={FOUND}/{_plain(name)}-", "-print_final_stats=1"],
        one,
    )  # fmt: skip
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _plain(name: str) -> str:
    return name.replace(" ", "_").replace("/", "_")


if __name__ == "__main__":
    main()
