"""Throw bytes at what reads untrusted text, and keep every input that breaks a law.

    python -m bench.fuzz [--seconds 600] [codec] [front] [transcript] [merge]
    python -m bench.fuzz --again FILE codec

With atheris (`pip install '.[fuzz]'`) coverage leads the way; without it, or with `--blind`, rows and bytes of
known texts are mixed by chance. Both mix rows alike. What breaks a law is kept in `.fuzz/`, one input for each place
in the code, and the exit code is 1. Each target runs in a process of its own.
"""

import argparse
import hashlib
import importlib.util
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

TARGETS = ("codec", "front", "transcript", "merge")
KEPT = Path(".fuzz")
SLOW = 10.0
"""Seconds of a processor after which an input is taken to be one that would never end."""
_LONGEST = 20_000
ODD = [
    b"---", b"...", b"```", b"~~~~", b"<<<<<<< x", b"=======", b">>>>>>> x", b"# x", b"## Why", b"## Decision", b"- x",
    b"  - x", b"| a | b |", b"|---|---|", b"<!-- MACHINE_BLOCK_START -->", b"<!-- MACHINE_BLOCK_END -->",
    b"<!-- USER_BLOCK_START -->", b"<!-- USER_BLOCK_END -->", b"<!--", b"-->", b"a: |", b"a: >-", b"  b: [c, d]",
    b"? x", b": y", b"tags: [a, 'b', \"c\"]", b"- {a: b}", b"title: x # why", b"a: &b", b"b: *a", b"!!t x",
    b"\xef\xbb\xbf", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8", b"\x00", b"\x0c", b"\\ud83d", b'"type": "user"',
    b'"message": []', b"{}", b"[", "决定：用它，因为好。".encode(), b"We decided to use X because it is fast.",
    b"\r", b"\r\n", b"",
]  # fmt: skip


def main() -> int:
    """Fuzz what the command line names and return 1 when a law was broken."""
    parser = argparse.ArgumentParser(prog="python -m bench.fuzz")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--blind", action="store_true", help="do without atheris")
    parser.add_argument("--again", metavar="FILE", help="try one input, with its traceback")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := set(given.targets) - {*TARGETS}:
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    if given.again:
        from bench.fuzzlaws import LAWS

        for target in given.targets:
            LAWS[target](Path(given.again).read_bytes())
        return 0
    if given.inside:
        return inside(given.targets[0], given)
    codes = [apart(target, given) for target in given.targets or TARGETS]
    return max(codes)


def apart(target: str, given: argparse.Namespace) -> int:
    """Fuzz *target* in another process and tell how it went."""
    words = ["--inside", target, f"--seconds={given.seconds}", f"--seed={given.seed}", *["--blind"] * given.blind]
    print(f"{target}: {given.seconds} s", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "bench.fuzz", *words], stdout=sys.stdout, stderr=subprocess.PIPE, text=True
    )
    ended = [line for line in done.stderr.splitlines() if line.startswith("Done ")]
    print(*(ended or done.stderr.splitlines()[-20:]), sep="\n", flush=True)
    return int(bool(done.returncode) or any(KEPT.glob(f"{target}-*")))


def inside(target: str, given: argparse.Namespace) -> int:
    """Fuzz *target* in this process."""
    if given.blind or importlib.util.find_spec("atheris") is None:
        return blindly(target, given)
    import atheris

    with atheris.instrument_imports(include=["kb"]):
        from bench.fuzzlaws import LAWS, seeds
    known = seeds(target)

    def mutate(data: bytes, longest: int, seed: int) -> bytes:
        chance = random.Random(seed)
        return atheris.Mutate(data, longest) if chance.random() < 0.5 else mixed(data, known, chance)[:longest]

    with tempfile.TemporaryDirectory() as folder:
        for number, text in enumerate(known):
            Path(folder, str(number)).write_bytes(text)
        options = [f"-max_total_time={given.seconds}", f"-max_len={_LONGEST}", f"-seed={given.seed}", "-timeout=60"]
        words = ["fuzz", *options, "-rss_limit_mb=3000", f"-artifact_prefix={KEPT.absolute()}/{target}-", folder]
        KEPT.mkdir(exist_ok=True)
        atheris.Setup(words, guarded(target, LAWS[target]), custom_mutator=mutate)
        atheris.Fuzz()
    return 0


def blindly(target: str, given: argparse.Namespace) -> int:
    """Fuzz *target* by chance alone."""
    from bench.fuzzlaws import LAWS, seeds

    known, law = seeds(target), guarded(target, LAWS[target])
    began, count, chance = time.monotonic(), 0, random.Random(given.seed)
    while time.monotonic() - began < given.seconds:
        data = chance.choice(known)
        for _ in range(chance.randint(1, 12)):
            data = mixed(data, known, chance)
        law(data[:_LONGEST])
        count += 1
    print(f"Done {count} runs in {time.monotonic() - began:.0f} second(s)", file=sys.stderr)
    return 0


def guarded(target: str, law: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Return *law* so that it keeps and reports what breaks it, one input for each place, and goes on."""
    seen: set[str] = set()

    def tried(data: bytes) -> None:
        began = time.process_time()
        try:
            law(data)
            problem = "slow" if time.process_time() - began > SLOW else ""
        except Exception as error:
            steps = traceback.extract_tb(error.__traceback__)
            at = next(step for step in reversed(steps) if "site-packages" not in step.filename)
            problem = f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}: {error}"[:300]
        place = problem.partition(": ")[0]
        if problem and place not in seen:
            seen.add(place)
            KEPT.mkdir(exist_ok=True)
            path = KEPT / f"{target}-{hashlib.sha1(place.encode()).hexdigest()[:8]}"
            path.write_bytes(data)
            print(f"broken: {problem!r}: {path}", flush=True)

    return tried


def mixed(data: bytes, known: list[bytes], chance: random.Random) -> bytes:
    """Return *data* with a few rows or bytes gone, doubled, moved, or from elsewhere."""
    rows = data.split(b"\n")
    at, other = chance.randrange(len(rows)), chance.randrange(len(rows))
    match chance.randrange(8):
        case 0:
            del rows[at : at + chance.randint(1, 3)]
        case 1:
            rows[at:at] = rows[other : other + chance.randint(1, 3)]
        case 2:
            rows[at], rows[other] = rows[other], rows[at]
        case 3:
            rows.insert(at, chance.choice(ODD))
        case 4:
            theirs = chance.choice(known).split(b"\n")
            start = chance.randrange(len(theirs))
            rows[at:at] = theirs[start : start + chance.randint(1, 5)]
        case 5:
            place = chance.randint(0, len(rows[at]))
            rows[at] = rows[at][:place] + chance.choice(ODD) + rows[at][place + chance.randint(0, 3) :]
        case 6:
            row = bytearray(rows[at])
            if row:
                row[chance.randrange(len(row))] = chance.randrange(256)
            rows[at] = bytes(row)
        case 7:
            rows[at] = chance.choice([b"  ", b"    ", b"- ", b"> ", b"\t", b"#"]) + rows[at]
    return b"\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
