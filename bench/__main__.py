"""`make bench`: the speed table, then what needs corpora where KB_BENCH_DATA names them."""

import os
import subprocess
import sys

MODULES = ("bench.speed", "bench.redact", "bench.merging", "bench.conflict", "bench.triggers")
WITH_DATA = ("bench.codec", "bench.adr", "bench.dedup", "bench.prune", "bench.forms")


def main() -> int:
    """Run every bench and return 1 when one of them failed."""
    data = os.environ.get("KB_BENCH_DATA")
    if not data:
        print(f"KB_BENCH_DATA is not set: {', '.join(WITH_DATA)} are left out", file=sys.stderr)
    codes = [_run(module) for module in (*MODULES, *(WITH_DATA if data else ()))]
    return max(codes)


def _run(module: str) -> int:
    print(f"\n## {module}\n", flush=True)
    return subprocess.run([sys.executable, "-m", module], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
