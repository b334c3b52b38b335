"""What building the wiki costs, beside plain mkdocs-material with a flat navigation on the same files.

python -m bench.wiki [--sizes 1000] [--place DIR]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import corpus

PLAIN = """import sys
from mkdocs.commands.build import build
from mkdocs.config import load_config
build(load_config(config_file=sys.argv[1], site_dir=sys.argv[2]))
"""
OURS = """import sys
from kb.knowledge import KnowledgeBase
from kb.wiki.build import build
with KnowledgeBase.at(sys.argv[1]) as kb:
    build(kb, sys.argv[2], strict=False)
"""


def measured(program: str, *arguments: str) -> tuple[float, float]:
    """Run *program* and return its CPU seconds and its peak memory in MB."""
    told = (
        "import resource,sys\n"
        f"exec({program!r})\n"
        "u=[resource.getrusage(w) for w in (resource.RUSAGE_SELF,resource.RUSAGE_CHILDREN)]\n"
        "print('\\n'+str(sum(x.ru_utime+x.ru_stime for x in u)), max(x.ru_maxrss for x in u)/1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", told, *arguments], capture_output=True, text=True, check=True)
    seconds, memory = done.stdout.splitlines()[-1].split()
    return float(seconds), float(memory)


def flat_site(records: Path, place: Path) -> Path:
    """Make a plain mkdocs site of the files of *records*, a page of links for each folder in its navigation."""
    docs = place / "docs"
    docs.mkdir(parents=True)
    (docs / "anchors").symlink_to(records / "content" / "anchors")
    nav = ["index.md"]
    (docs / "index.md").write_text("# Records\n", encoding="utf-8")
    for folder in sorted({file.parent for file in (records / "content" / "anchors").rglob("*.md")}):
        rows = (f"- [{file.stem}]({file.relative_to(records / 'content')})" for file in sorted(folder.glob("*.md")))
        (docs / f"{folder.name}.md").write_text(f"# {folder.name}\n\n" + "\n".join(rows) + "\n", encoding="utf-8")
        nav.append(f"{folder.name}.md")
    settings = {
        "site_name": "plain", "docs_dir": str(docs), "nav": nav, "not_in_nav": "*",
        "theme": {"name": "material", "font": False}, "plugins": ["search"],
    }  # fmt: skip
    path = place / "mkdocs.yml"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path


def size(folder: Path) -> float:
    """Return the MB of all files below *folder*."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def main() -> None:
    """Print a row for each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000")
    parser.add_argument("--place", default=os.path.join(tempfile.gettempdir(), "kb-bench-wiki"))
    given = parser.parse_args()
    print("| records | site | CPU s | peak MB | site MB | search index MB |")
    print("| --- | --- | --- | --- | --- | --- |")
    for number in map(int, given.sizes.split(",")):
        records = corpus.build(Path(given.place) / str(number), number)
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            plain = measured(PLAIN, str(flat_site(records, place)), str(place / "plain"))
            ours = measured(OURS, str(records), str(place / "ours"))
            for name, (seconds, memory) in (("plain", plain), ("ours", ours)):
                index = (place / name / "search" / "search_index.json").stat().st_size / 1e6
                print(f"| {number} | {name} | {seconds:.1f} | {memory:.0f} | {size(place / name):.1f} | {index:.1f} |")
            print(f"\n{number} records: {ours[0] / plain[0]:.2f} times the CPU of plain mkdocs-material\n", flush=True)


if __name__ == "__main__":
    main()
