"""Prune real sessions: what goes must be what was counted by hand, the copy must be whole, and it must be quick.

    KB_BENCH_DATA=… python -m bench.prune

`transcripts/` holds the sessions. Exits with 1 when a count, the time or the memory is worse than was promised.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from kb.sessions.dcp_settings import DcpSettings
from kb.sessions.host_records import parse_line
from kb.sessions.prune import PrunePlan, build_plan, prune_lines
from kb.sessions.transcript import parse_records
from kb.sessions.usage import ContextUsage

EXPECTED = {
    "s_8463": {"repeated": (7, 13_644), "supersede": (2, 4_063), "errors": (12, None)},
    "s_ae4a": {"repeated": (5, 2_808), "supersede": (2, 1_128), "errors": (12, None)},
    "s_agent": {"repeated": (6, 84), "supersede": (0, 0), "errors": (8, None)},
}
"""By session and strategy: how many, and how many tokens stood there (a quarter of the characters)."""
_NEAR = 1
"""Tokens that an estimate which rounds up may be above the count, for each item."""
SECONDS, MEGABYTES = 1.5, 250


def main() -> int:
    """Print every figure; return 1 when one is worse than was promised."""
    data = os.environ.get("KB_BENCH_DATA", "")
    if not data:
        print("KB_BENCH_DATA is not set", file=sys.stderr)
        return 2
    if sys.argv[1:]:
        _one(Path(sys.argv[1]))
        return 0
    paths = sorted((Path(data) / "transcripts").glob("*.jsonl"))
    results = [_checked(path) for path in paths]
    missing = sorted(set(EXPECTED) - {path.stem for path in paths})
    print(f"{sum(results)} of {len(results)} sessions as promised" + (f"; missing: {missing}" if missing else ""))
    return 0 if all(results) and not missing else 1


def _one(path: Path) -> None:
    """Prune one file and print what this process took."""
    began = time.perf_counter()
    with path.open("rb") as file:
        made = build_plan(parse_records(map(parse_line, file)), DcpSettings(), ContextUsage())
        file.seek(0)
        sum(map(len, prune_lines(file, made.cuts)))
    print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _checked(path: Path) -> bool:
    rows = path.read_bytes().split(b"\n")
    made = build_plan(parse_records(map(parse_line, rows)), DcpSettings(), ContextUsage())
    after = list(prune_lines(rows, made.cuts))
    touched = {cut.place.line for cut in made.cuts}
    same = all((a == b) == (n not in touched) for n, (a, b) in enumerate(zip(rows, after, strict=True), 1))
    again = build_plan(parse_records(map(parse_line, after)), DcpSettings(), ContextUsage())
    done = subprocess.run([sys.executable, "-m", "bench.prune", str(path)], capture_output=True, text=True, check=True)
    seconds, megabytes = map(float, done.stdout.split())
    counts = _counts(made)
    told = ", ".join(f"{name} {count} (~{size:,})" for name, (count, size) in counts.items())
    share = 100 * made.saved_tokens / max(made.tool_tokens, 1)
    good = same and not again.cuts and seconds <= SECONDS and megabytes <= MEGABYTES and _as_expected(path.stem, counts)
    print(f"{path.stem}: {told}; saves {share:.1f}% of {made.tool_tokens:,}; {seconds:.2f} s, {megabytes:.0f} MB"
          f"{'' if same else '; OTHER LINES CHANGED'}{'; NOT STABLE' if again.cuts else ''}"
          f"{'' if good else '  NOT AS PROMISED'}")  # fmt: skip
    return good


def _counts(made: PrunePlan) -> dict[str, tuple[int, int]]:
    names = {"repeated": "dedup", "covered": "dedup", "supersede": "supersede", "errors": "errors"}
    found = {}
    for name, strategy in names.items():
        own = [c.removed for c in made.cuts if c.strategy == strategy and (strategy != "dedup" or c.why == name)]
        found[name] = (len(own), sum(own))
    return found


def _as_expected(name: str, counts: dict[str, tuple[int, int]]) -> bool:
    for what, (count, size) in EXPECTED.get(name, {}).items():
        if counts[what][0] != count or (size is not None and not 0 <= counts[what][1] - size <= _NEAR * count):
            print(f"    {what}: {counts[what]} where {count} of ~{size} were counted")
            return False
    return True


if __name__ == "__main__":
    sys.exit(main())
