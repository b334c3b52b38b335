"""Would kb have named the decision that a commit then cited?

    python -m bench.timetravel CLONE… [--limit N] [--show]

Each CLONE is a repository with a folder of decision records (ADRs) whose commit messages cite them ("ADR-0012"). For
each such commit the base is built as it stood before: the ADRs of an earlier commit are imported into a worktree of
that commit. The subject of the commit, without citation, is the prompt, and its files are edited. Right is a record
that the commit cites, that was there before and that the commit does not change.

Falsifier: kb does not help here if an arm that knows nothing of kb (full text, the most cited five, the citations of
the same files so far) names a cited record within five as often, or if kb speaks at more than one in ten prompts of
commits that cite nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

CITATION = re.compile(r"(?<![\w/])ADRs?[-_ #:]{0,2}0*(\d{1,4})(?![\w.]*\d)", re.IGNORECASE)
ADR_FILE = re.compile(
    r"(?:^|/)(?:[\w.-]*adrs?|decisions|architecture[-_]decisions?(?:[-_]records?)?|arch(?:itecture)?)/(?:[\w.-]+/)*?"
    r"(?:adr[-_]?)?0*(\d{1,5})[^/]*\.(?:md|mdx|adoc)$",
    re.IGNORECASE,
)
RECORD_ID = re.compile(r"\[(?:[\w-]+:)?([A-Z]{1,3}\d{3,})\]")
COMMIT_TYPE = re.compile(r"^\w+(?:\([^)]*\))?!?:\s*")
SNAPSHOTS = 10
"""Bases built for one repository: a commit is asked of the last one before it."""
MOST_FILES, EDITED = 40, 8
"""Files of a commit above which it is a sweep that no record governs; files of one commit that are edited."""
MOST_HUNKS = 5
"""Changed places of one file that are handed to the hook."""
FEWEST_RECORDS = 5
"""Records there must be before a commit that cites none counts."""


class Commit(NamedTuple):
    """A commit that is no merge."""

    oid: str
    parent: str
    subject: str
    body: str
    files: tuple[str, ...]

    @property
    def cited(self) -> set[int]:
        """The numbers of the records its message cites."""
        return {int(number) for number in CITATION.findall(f"{self.subject}\n{self.body}")}


class Case(NamedTuple):
    """A commit that is asked about."""

    at: int
    """Its place in the history."""
    commit: Commit
    wanted: frozenset[int]
    """The numbers of the records it cites and does not change; empty for a commit that cites nothing."""

    @property
    def files(self) -> list[str]:
        """The files that are edited."""
        return [path for path in self.commit.files if parse_number(path) is None][:EDITED]


def git(folder: str | Path, *arguments: str, check: bool = True) -> str:
    """Return what a git command prints, names of files as they are: git quotes Chinese ones otherwise."""
    call = ["git", "-c", "core.quotePath=false", "-C", str(folder), *arguments]
    done = subprocess.run(call, capture_output=True, check=check)
    return done.stdout.decode("utf-8", "replace")


def parse_number(path: str) -> int | None:
    """Return the number of the decision record that *path* is."""
    match = ADR_FILE.search(path)
    return int(match[1]) if match else None


def read_commits(repository: Path) -> list[Commit]:
    """Return the commits without merges, oldest first."""
    form = "--format=%x01%H%x00%P%x00%s%x00%b%x00"
    text = git(repository, "log", "--no-merges", "--reverse", "--name-only", "--no-renames", form)
    found = []
    for row in text.split("\x01")[1:]:
        oid, parents, subject, body, names = row.split("\0", 4)
        found.append(Commit(oid, parents.partition(" ")[0], subject, body, tuple(filter(None, names.split("\n")))))
    return found


def find_cases(commits: Sequence[Commit]) -> tuple[list[Case], list[Case]]:
    """Return the commits that cite an older record, and those that cite none although there are some."""
    written: set[int] = set()
    citing, silent = [], []
    for at, commit in enumerate(commits):
        changed = {number for path in commit.files if (number := parse_number(path)) is not None}
        case = Case(at, commit, frozenset((commit.cited & written) - changed))
        if commit.parent and case.files and len(commit.files) <= MOST_FILES:
            if case.wanted:
                citing.append(case)
            elif not commit.cited and not changed and len(written) >= FEWEST_RECORDS:
                silent.append(case)
        written |= changed
    return citing, silent


def build_prompt(subject: str) -> str:
    """Return the *subject* of a commit as a person would ask for it: without type, citation and issue numbers."""
    text = CITATION.sub("", COMMIT_TYPE.sub("", subject))
    return " ".join(re.sub(r"\(\s*#?\d*\s*\)|\[\s*\]|#\d+", "", text).split()).strip(" -:,.()[]")


class Base:
    """A worktree of one commit with a base of the records it had."""

    def __init__(self, clone: Path, commit: str, folder: Path) -> None:
        """Check *commit* of *clone* out in *folder*, and import its records."""
        self.root = folder
        people = {
            f"GIT_{who}_{what}": "bench@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        home = str(folder.parent / "home")
        self._environment = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1", **people}
        git(clone, "worktree", "add", "--force", "--no-checkout", "-b", f"bench-{folder.name}", str(folder), commit)
        git(folder, "reset", "-q", check=False)
        git(folder, "checkout-index", "-a", "-f", check=False)  # a stored copy of a repository may lack large files
        names = [name for name in git(clone, "ls-tree", "-r", "--name-only", commit).splitlines() if parse_number(name)]
        self.texts = {parse_number(name): (folder / name).read_text("utf-8", "replace") for name in names}
        self._run("kb", "init", "--here")
        for where, _ in Counter(name.rpartition("/")[0] for name in names).most_common(3):
            self._run("kb", "import", "adr", where)
        rows = json.loads(self._run("kb", "list", "--json") or "[]")
        self.sources = {row["id"]: source for row in rows for source in row["sources"] if source in names}
        numbers = ((name, parse_number(source)) for name, source in self.sources.items())
        self.numbers = {name: number for name, number in numbers if number is not None}

    def _run(self, program: str, *arguments: str, stdin: str = "") -> str:
        call = [str(Path(sys.executable).parent / program), *arguments]
        done = subprocess.run(call, cwd=self.root, env=self._environment, input=stdin.encode(), capture_output=True)
        return done.stdout.decode("utf-8", "replace")

    def call_hook(self, event: str, session: str, **payload: object) -> str:
        """Return what the model is told at *event*."""
        given = {"hook_event_name": event, "session_id": session, "cwd": str(self.root), **payload}
        answer = json.loads(self._run("kb-hook", event, stdin=json.dumps(given)) or "{}")
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def edit_file(self, commit: Commit, path: str, session: str) -> str:
        """Return what the model is told before it makes the changes of *commit* to *path*, as it stood before."""
        file = self.root / path
        before = subprocess.run(["git", "-C", self.root, "show", f"{commit.parent}:{path}"], capture_output=True)
        if before.returncode == 0:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(before.stdout)
        hunks = read_hunks(git(self.root, "diff", "-U1", commit.parent, commit.oid, "--", path, check=False))
        # what the commit cites is not known before it; what its old lines cite is
        edits = [{"old_string": old, "new_string": CITATION.sub("", new)} for old, new in hunks[:MOST_HUNKS]]
        given = {"file_path": str(file), "edits": edits}
        return self.call_hook("PreToolUse", session, tool_name="MultiEdit", tool_input=given)

    def search(self, words: str) -> list[int]:
        """Return the numbers of the first five records that `kb search` finds."""
        return [self.numbers[name] for name in self.search_records(words) if name in self.numbers]

    def search_records(self, words: str) -> list[str]:
        """Return the ids of the first five records that `kb search` finds."""
        return [row["id"] for row in json.loads(self._run("kb", "search", words, "--json", "--limit", "5") or "[]")]

    def find_numbers(self, text: str) -> list[int]:
        """Return the numbers of the records that *text* names, in order."""
        return list(dict.fromkeys(self.numbers[name] for name in RECORD_ID.findall(text) if name in self.numbers))


def read_hunks(diff: str) -> list[tuple[str, str]]:
    """Return what each hunk of *diff*, which has one line of context, takes out and puts in."""
    found = []
    for hunk in re.split(r"(?m)^@@ .*\n", diff)[1:]:
        rows = [row for row in hunk.splitlines() if row[:1] in (" ", "-", "+")]
        old, new = ("\n".join(row[1:] for row in rows if row[0] in kept) for kept in (" -", " +"))
        found.append((old, new))
    return found


def search_full_text(texts: Mapping[int | None, str], words: str) -> list[int]:
    """Return the first five of *texts* that SQLite's full-text index finds."""
    terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w{3,}", words))
    if not terms:
        return []
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(n UNINDEXED, body, tokenize='porter')")
        db.executemany("INSERT INTO t VALUES (?, ?)", texts.items())
        rows = db.execute("SELECT n FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 5", (terms,))
        return [int(number) for (number,) in rows]


class Citations:
    """Which records were cited so far, everywhere and beside which files."""

    def __init__(self) -> None:
        """Begin with none."""
        self.everywhere: Counter[int] = Counter()
        self._of_path: dict[str, Counter[int]] = defaultdict(Counter)

    def add(self, commit: Commit) -> None:
        """Count what *commit* cites."""
        for number in commit.cited:
            self.everywhere[number] += 1
            for path in commit.files:
                self._of_path[path][number] += 1
                self._of_path[path.rpartition("/")[0] + "/"][number] += 1

    def list_near(self, files: Sequence[str]) -> list[int]:
        """Return the five records cited most often by commits that changed *files*, or others of their folders."""
        near: Counter[int] = Counter()
        for path in files:
            near.update({number: 10 * count for number, count in self._of_path[path].items()})
            near.update(self._of_path[path.rpartition("/")[0] + "/"])
        return [number for number, _ in near.most_common(5)]


Counts = dict[str, Counter[str]]
"""Arm → what was counted."""


def measure(repository: Path, limit: int, *, show: bool) -> Counts:
    """Ask *limit* commits of each sort, and print and return what came of it."""
    commits = read_commits(repository)
    chance = random.Random(7)
    citing, silent = (chance.sample(cases, min(limit, len(cases))) for cases in find_cases(commits))
    counts: Counts = defaultdict(Counter)
    places = sorted(case.at for case in citing)
    points = sorted({places[len(places) * step // SNAPSHOTS] for step in range(SNAPSHOTS)}) if places else []
    citations, seen, base, built = Citations(), 0, None, -1
    with tempfile.TemporaryDirectory(prefix="kb-timetravel-") as temporary:
        clone = Path(temporary) / "clone"
        git(temporary, "clone", "-q", "--shared", "--no-checkout", str(repository), str(clone))
        for case in sorted((*citing, *silent)):
            while seen < case.at:
                citations.add(commits[seen])
                seen += 1
            point = points[bisect_right(points, case.at) - 1] if points and points[0] <= case.at else -1
            if point < 0:
                continue
            if base is None or point != built:
                base, built = Base(clone, commits[point].parent, Path(temporary) / f"at{point}"), point
            ask_arms(base, case, citations, counts, show=show)
    report(repository.name if repository.name != "repo" else repository.parent.name, counts)
    return counts


def ask_arms(base: Base, case: Case, citations: Citations, counts: Counts, *, show: bool) -> None:
    """Count what each arm names for *case*."""
    wanted = case.wanted & set(base.numbers.values())
    if case.wanted and not wanted:
        counts["not stored"]["skipped"] += 1
        return
    prompt, session = build_prompt(case.commit.subject), f"bench-{case.commit.oid[:12]}"
    said = base.call_hook("UserPromptSubmit", session, prompt=prompt)
    at_edit = "\n".join(base.edit_file(case.commit, path, session) for path in case.files)
    prompted, edited = base.find_numbers(said), base.find_numbers(at_edit)
    arms = {
        "prompt": prompted,
        "edit": edited,
        "prompt or edit": list(dict.fromkeys((*prompted, *edited))),
        "kb search": base.search(prompt) if prompt else [],
        "full text": search_full_text(base.texts, prompt),
        "most cited": [number for number, _ in citations.everywhere.most_common(5)],
        "cited by the files": citations.list_near(case.files),
    }
    tokens = {"prompt": len(said) // 4, "edit": len(at_edit) // 4, "prompt or edit": (len(said) + len(at_edit)) // 4}
    for arm, found in arms.items():
        row = counts[arm]
        row["asked"] += 1
        row["tokens"] += tokens.get(arm, 0)
        if not wanted:
            row["others"] += 1
            row["silent"] += not found
            continue
        row["n"] += 1
        row["shown"] += len(found[:5])
        row["right"] += len(wanted & set(found[:5]))
        for most in (1, 3, 5):
            row[f"first {most}"] += bool(wanted & set(found[:most]))
    if show:
        print(sorted(wanted) or "cites nothing", {arm: found for arm, found in arms.items() if found}, prompt)


def report(name: str, counts: Counts) -> None:
    """Print a table of *counts* in percent; tokens for each commit."""
    print(f"\n{name} (citing a record that was not stored: {counts['not stored']['skipped']})\n")
    print("| arm | n | R@1 | R@3 | R@5 | precision | silent where nothing is cited | tokens |\n" + "|---" * 8 + "|")
    for arm, row in counts.items():
        if row["n"]:
            recall = " | ".join(f"{100 * row[f'first {most}'] / row['n']:.1f}" for most in (1, 3, 5))
            right, silent = 100 * row["right"] / (row["shown"] or 1), 100 * row["silent"] / (row["others"] or 1)
            print(
                f"| {arm} | {row['n']} | {recall} | {right:.0f} | {silent:.0f} | {row['tokens'] / row['asked']:.1f} |"
            )


def main() -> None:
    """Measure every clone, and all together."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE")
    parser.add_argument("--limit", type=int, default=60, help="commits of each sort for each repository")
    parser.add_argument("--show", action="store_true", help="print what every arm names for each commit")
    given = parser.parse_args()
    totals: Counts = defaultdict(Counter)
    for clone in given.clones:
        for arm, row in measure(clone.resolve(), given.limit, show=given.show).items():
            totals[arm].update(row)
    if len(given.clones) > 1:
        report("all", totals)


if __name__ == "__main__":
    main()
