"""Does what one session decided reach the next one? Capture and delivery on sde-bench, without a model.

    python -m bench.decisions DATASET [--texts FILE] [--half dev|held] [--show]

DATASET is a checkout of vectorize-io/sde-bench: bug reports whose right fix hinges on a rule that was laid down in a
developer's chat, or in a commit, and chats in which nothing is laid down (decoys). Every chat is fed as a session,
turn by turn, through the hooks. FILE holds what an agent would hand over after each chat: lists of candidates, written
from the chat alone and frozen (`bench/unseen/handover.jsonl`). They are handed over where kb asks, and nowhere else.
Then each bug report is the prompt of a new session, and its module the file that is edited.

The figures: chats of which a record is written, by rules alone and handed over; records written of 100 decoys; tasks
whose rule is told at the prompt, at the edit alone, and by the time of the edit; the share of the rule's own numbers
and names (those the bug report does not give away) in what is told; superseded rules told; tokens. The arms get the
same records and as many tokens as kb may use: none, words counted as grep does, SQLite's full text, everything in
AGENTS.md.

Families of tasks and decoys are split in halves by a seed: the rules were developed on the half `dev`.

Falsifier: kb does not help here if grep or full text tells as many rules at the prompt within as many tokens, if more
than two records of 100 decoys are written, or if a superseded rule is told.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kb.hooks import events
from kb.knowledge_base import KnowledgeBase, make
from kb.records.candidate import build_candidates
from kb.records.model import Verdict
from kb.text.segment import estimate_tokens
from kb.writing.inbox import build_held_name
from kb.writing.pipeline import write_promoted

SEED, RESAMPLES = 13, 2000
TEXTS = Path(__file__).with_name("unseen") / "handover.jsonl"
BUDGET = 600
"""Tokens in which a rule must be told."""
RECORD_ID = re.compile(r"\[(?:[\w-]+:)?([A-Z]{1,3}\d{3,})\]")
LITERAL = re.compile(r"\{[^{}]*\}|'[^']*'|\"[^\"]*\"|\b\w*[\d_]\w*\b|\b[A-Z]{2,}\b|\b[a-z]+[A-Z]\w*\b")
WRITTEN = ("created", "updated", "appended", "conflict")
STILL_HOLDS = {"boltons-overage-amended-001": "prorated by calendar day"}
"""Of tasks whose rule is changed in part: what stands in the record of the earlier chat that is not changed."""
CLOSING = "Thanks, that is all for now."
"""The prompt after the last turn of a chat: on it the agent can be asked about that turn."""


class Chat(NamedTuple):
    """One chat."""

    name: str
    turns: list[dict[str, str]]
    task: str = ""
    """The task whose rule is laid down in it; "" for a decoy."""
    is_stale: bool = False
    """Whether a later chat changes its rule."""


class Task(NamedTuple):
    """One bug report."""

    name: str
    family: str
    source: str
    module: str
    function: str
    policy: str
    report: str
    rationale: tuple[str, str]
    """Subject and text of the commit that laid down the rule; "" where a chat did."""

    @property
    def literals(self) -> set[str]:
        """The numbers and names of the rule that the bug report does not have."""
        found = {word for match in LITERAL.findall(self.policy) for word in re.findall(r"[\w.:%/+-]+", match)}
        return {word.lower() for word in found if not has_word(self.report, word)}


def has_word(text: str, word: str) -> bool:
    """Return whether *word* stands in *text* as a word of its own."""
    return re.search(rf"(?<![\w.]){re.escape(word)}(?![\w]|\.\d)", text, re.IGNORECASE) is not None


# -- the data set ----------------------------------------------------------------------------------


def load_half(dataset: Path, half: str) -> tuple[list[Task], list[Chat]]:
    """Return the tasks and chats of one *half*; families that share a rule are never divided."""
    given = [json.loads(path.read_text("utf-8")) for path in sorted(dataset.glob("*/tasks/*/task.json"))]
    families = {row["task_id"]: re.sub(r"^boltons-|(?:-history|-amended)?-\d+$", "", row["task_id"]) for row in given}
    decoys = json.loads((dataset / "gen" / "decoy_conversations.json").read_text("utf-8"))
    wanted = set(divide(sorted(set(families.values())), half))
    tasks, chats = [], []
    for row in given:
        name, family = row["task_id"], families[row["task_id"]]
        if family not in wanted or "category" not in row:
            continue
        told = (row.get("decision_subject", ""), row.get("decision_rationale", ""))
        about = (row["module"], row.get("function", ""), row["policy"], row["bug_report"], told)
        tasks.append(Task(name, family, row["source"], *about))
        found = row.get("conversations") or []
        found = found if not found or isinstance(found[0], list) else [found]
        chats += [Chat(f"{name}#{at}", turns, name, at < len(found) - 1) for at, turns in enumerate(found)]
    chats += [Chat(decoys[at]["id"], decoys[at]["turns"]) for at in sorted(divide(range(len(decoys)), half))]
    return tasks, chats


def divide(items: Iterable[Any], half: str) -> list[Any]:
    """Return one *half* of *items*, or both."""
    rows = list(items)
    random.Random(SEED).shuffle(rows)
    middle = len(rows) // 2
    return {"dev": rows[:middle], "held": rows[middle:], "all": rows}[half]


def load_texts(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Return what is handed over, by the names of chats."""
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["chat"]: row["candidates"] for row in rows}


# -- a base and its project ------------------------------------------------------------------------


class World:
    """A knowledge base, and the project that sessions work in."""

    def __init__(self, folder: Path, tasks: Sequence[Task]) -> None:
        """Make both, the project with the files that the *tasks* are about."""
        self.root, self.project = folder / "base", folder / "boltons"
        make(str(self.root), os.environ, name="bench")[0].close()
        settings = self.root / "kb.toml"
        settings.write_text(settings.read_text("utf-8") + "\npause = 0\n", "utf-8")
        for task in {(task.module, task.function): task for task in tasks}.values():
            path = self.project / task.module
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"def {task.function or 'run'}(*given):\n    return given\n\n")
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
            subprocess.run(["git", "-C", str(self.project), *words], check=True)

    def open(self) -> KnowledgeBase:
        """Open the base for work in the project."""
        return KnowledgeBase(str(self.root), os.environ, folder=str(self.project))

    def feed(self, chat: Chat) -> tuple[bool, list[Verdict]]:
        """Let *chat* happen, and return whether its agent was asked and what the rules wrote."""
        path = self.root.parent / f"{re.sub(r'[^A-Za-z0-9-]', '-', chat.name)}.jsonl"
        path.write_text("", "utf-8")
        asked = ""
        payload = {"session_id": path.stem, "cwd": str(self.project), "transcript_path": str(path), "host": "claude"}
        before = self.list_ids()
        for number, turn in enumerate(chat.turns):
            if turn["role"] == "user":
                asked += events.handle_event(
                    "UserPromptSubmit", {**payload, "prompt": turn["text"]}, str(self.root)
                ).context
            said = turn["text"] if turn["role"] == "user" else [{"type": "text", "text": turn["text"]}]
            message = {"role": turn["role"], "content": said}
            row = {"type": turn["role"], "sessionId": path.stem, "cwd": str(self.project), "uuid": f"u{number}",
                   "timestamp": f"2026-03-01T10:{number:02}:00Z", "message": message}  # fmt: skip
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            if number + 1 == len(chat.turns) or (turn["role"], chat.turns[number + 1]["role"]) == ("assistant", "user"):
                events.handle_event("Stop", payload, str(self.root))
        asked += events.handle_event("UserPromptSubmit", {**payload, "prompt": CLOSING}, str(self.root)).context
        events.handle_event("SessionEnd", payload, str(self.root))
        new = [Verdict("created", "", "", name) for name in sorted(self.list_ids() - before)]
        return "kb learn next" in asked, new

    def list_ids(self) -> set[str]:
        """Return the ids of all records."""
        with self.open() as kb:
            return {record.id for record in kb.records()}

    def hand_over(self, chat: Chat, given: list[dict[str, Any]]) -> list[Verdict]:
        """Hand over what the agent of *chat* has worded, and let a person accept the reviews that it opens."""
        if not given:
            return []
        session = re.sub(r"[^A-Za-z0-9-]", "-", chat.name)
        with self.open() as kb:
            candidates = [one._replace(session=session, host="claude") for one in build_candidates(given, chat.name)]
            verdicts = kb.write(candidates, folder=str(self.project))
        for verdict in verdicts:
            if verdict.branch:  # merging is accepting, and what the person of the chat has said
                subprocess.run(["git", "-C", str(self.root), "merge", "-q", "--no-edit", verdict.branch], check=True)
        return verdicts

    def call_hook(self, event: str, session: str, **payload: object) -> str:
        """Return what the model is told at *event*, by the program that a host runs."""
        given = {"hook_event_name": event, "session_id": session, "cwd": str(self.project), **payload}
        done = subprocess.run(
            [str(Path(sys.executable).parent / "kb-hook"), event], input=json.dumps(given).encode(),
            env={**os.environ, "KB_HOME": str(self.root)}, cwd=self.project, capture_output=True, check=False,
        )  # fmt: skip
        answer = json.loads(done.stdout or b"{}")
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def edit(self, task: Task, session: str) -> str:
        """Return what the model is told before it edits the module of *task*."""
        line = f"def {task.function or 'run'}(*given):"
        change = {"file_path": str(self.project / task.module), "old_string": line, "new_string": line + "  # fixed"}
        return self.call_hook("PreToolUse", session, tool_name="Edit", tool_input=change)

    def load_texts(self) -> dict[str, str]:
        """Return what there is to read of the records that hold, by id: title, decision and reason."""
        with self.open() as kb:
            live = [record for record in kb.records() if str(record.status) in ("accepted", "proposed")]
            return {one.id: f"{one.title}\n{one.section('decision')}\n{one.section('why')}" for one in live}


# -- arms ------------------------------------------------------------------------------------------

Arm = Callable[[Mapping[str, str], str], list[str]]
"""Texts by id and a bug report → ids, best first."""


def count_words(texts: Mapping[str, str], report: str) -> list[str]:
    """Rank *texts* by how many of the words of *report* they hold, as grep would find them."""
    words = set(re.findall(r"\w{4,}", report.lower()))
    counts = {name: sum(word in text.lower() for word in words) for name, text in texts.items()}
    return sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])


def search_full_text(texts: Mapping[str, str], report: str) -> list[str]:
    """Rank *texts* by SQLite's full text with any of the words of *report*."""
    terms = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w{3,}", report)))
    with sqlite3.connect(":memory:") as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5(n UNINDEXED, body, tokenize='porter')")
        db.executemany("INSERT INTO t VALUES (?, ?)", texts.items())
        rows = db.execute("SELECT n FROM t WHERE t MATCH ? ORDER BY bm25(t)", (terms,)) if terms else ()
        return [str(name) for (name,) in rows]


ARMS: Mapping[str, Arm] = {
    "none": lambda texts, report: [],
    "grep": count_words,
    "grep, first record": lambda texts, report: count_words(texts, report)[:1],
    "full text": search_full_text,
    "full text, first record": lambda texts, report: search_full_text(texts, report)[:1],
    "AGENTS.md": lambda texts, report: list(texts),
}


def fill_budget(texts: Mapping[str, str], names: Sequence[str], budget: float) -> tuple[list[str], str]:
    """Return as many of *names*, best first, as fit into *budget* tokens, the first in any case, and their text."""
    kept: list[str] = []
    for name in names:
        if kept and estimate_tokens("\n".join(texts[one] for one in (*kept, name))) > budget:
            break
        kept.append(name)
    return kept, "\n".join(texts[name] for name in kept)


# -- measure ---------------------------------------------------------------------------------------

Counts = dict[str, dict[str, list[float]]]
"""Arm → measure → one value for each chat or task."""


def measure(tasks: Sequence[Task], chats: Sequence[Chat], texts: Mapping[str, Any], *, show: bool) -> Counts:
    """Return all measures; rules that were laid down in chats, changed in chats and laid down in commits apart."""
    counts: Counts = {}

    def note(arm: str, name: str, value: float) -> None:
        counts.setdefault(arm, {}).setdefault(name, []).append(value)

    amended = {task.family for task in tasks if task.source == "conversation-amended"}
    for source in ("conversation", "conversation-amended", "history"):
        asked = [task for task in tasks if task.source == source]
        # beside the rules that change stand those of other families
        near = [t.name for t in tasks if t.source == "conversation" and t.family not in amended]
        names = {task.name for task in asked} | ({*near} if source == "conversation-amended" else set())
        with tempfile.TemporaryDirectory(prefix="kb-decisions-") as folder:
            world = World(Path(folder), tasks)
            fed = [chat for chat in chats if chat.task in names or (not chat.task and source == "conversation")]
            right, stale, recorded = fill_base(world, source, asked, fed, texts, note)
            for task in asked:
                ask_task(world, task, right.get(task.name, set()), stale.get(task.name, set()), note, show=show)
            if source == "conversation":
                known = world.load_texts()
                for chat in (chat for chat in chats if not chat.task):
                    prompt = chat.turns[0]["text"]
                    said = world.call_hook("UserPromptSubmit", f"noise-{chat.name}", prompt=prompt)
                    # a chat of which a record was written is what that record is about
                    about = "the prompt of a recorded decoy" if chat.name in recorded else "an unrelated prompt"
                    note("kb", f"speaks at {about}", bool(RECORD_ID.search(said)))
                    for arm, rank in ARMS.items():
                        note(arm, f"speaks at {about}", bool(rank(known, prompt)))
    return counts


Ids = dict[str, set[str]]


def fill_base(
    world: World,
    source: str,
    tasks: Sequence[Task],
    chats: Sequence[Chat],
    texts: Mapping[str, Any],
    note: Callable[..., None],
) -> tuple[Ids, Ids, set[str]]:
    """Let *chats* happen and store the rules of commits.

    Return the ids of right and of superseded rules by task, and the decoys of which a record was written.
    """
    right: Ids = {}
    stale: Ids = {}
    recorded: set[str] = set()
    for task in tasks:
        if source == "history":
            subject, rationale = task.rationale
            title = re.sub(r"^\w+(?:\([^)]*\))?!?:\s*", "", subject)
            given = {"kind": "decision", "title": title, "decision": rationale, "impact": [task.module]}
            with world.open() as kb:  # as a person confirms what is taken from a commit
                scope = kb.project(str(world.project))
                [candidate] = build_candidates({**given, "scope": scope, "affects_future": True}, task.name)
                verdict = write_promoted(kb, candidate, build_held_name(candidate), by_person=True)
            right[task.name] = {verdict.id} if verdict.verdict in WRITTEN else set()
    mine = {task.name for task in tasks}
    for chat in chats:
        was_asked, by_rules = world.feed(chat)
        verdicts = world.hand_over(chat, texts.get(chat.name, [])) if was_asked else []
        written = {one.id for one in (*by_rules, *verdicts) if one.verdict in WRITTEN}
        if chat.task in mine:
            (stale if chat.is_stale else right).setdefault(chat.task, set()).update(written)
            note("kb", "rule chats: asked", was_asked)
            note("kb", "rule chats: captured by rules", bool(by_rules))
            note("kb", "rule chats: captured with the hand-over", bool(written))
        elif not chat.task and source == "conversation":
            recorded |= {chat.name} if written else set()
            note("kb", "decoys: asked", was_asked)
            note("kb", "decoys: records by rules", len(by_rules))
            note("kb", "decoys: records with the hand-over", len(written))
    return right, {name: ids - right.get(name, set()) for name, ids in stale.items()}, recorded


def ask_task(
    world: World, task: Task, right: set[str], stale: set[str], note: Callable[..., None], *, show: bool
) -> None:
    """Note what each arm tells of the rule of *task*; kb's own records count in every arm."""
    note("kb", "tasks with the rule stored", bool(right))
    if not right:
        return
    said = world.call_hook("UserPromptSubmit", f"{task.name}-a", prompt=task.report)
    later = world.edit(task, f"{task.name}-a")
    alone = world.edit(task, f"{task.name}-b")
    texts, holds = world.load_texts(), STILL_HOLDS.get(task.name, "")
    for name, told in (("prompt", said), ("edit alone", alone), ("prompt or edit", f"{said}\n{later}")):
        ids = set(RECORD_ID.findall(told))
        stale = {name for name in stale if name in texts and not (holds and holds in texts[name])}
        within = estimate_tokens(told) <= BUDGET
        note("kb", f"told: {name}", bool(ids & right) and within)
        note("kb", f"superseded told: {name}", bool(ids & stale))
        note("kb", f"tokens: {name}", estimate_tokens(told))
        if task.literals:
            note("kb", f"literals: {name}", statistics.mean(has_word(told, word) for word in task.literals))
    if show:
        print(task.name, "right", sorted(right), "prompt", RECORD_ID.findall(said), "edit", RECORD_ID.findall(alone))
    for arm, rank in ARMS.items():
        kept, text = fill_budget(texts, rank(texts, task.report), float("inf") if arm == "AGENTS.md" else BUDGET)
        note(arm, "told: prompt", bool({*kept} & right))
        note(arm, "superseded told: prompt", bool({*kept} & stale))
        note(arm, "tokens: prompt", estimate_tokens(text))
        if task.literals:
            note(arm, "literals: prompt", statistics.mean(has_word(text, word) for word in task.literals))


def compute_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the interval that holds the mean with 95 %, by resampling."""
    chance = random.Random(SEED)
    means = sorted(statistics.mean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return means[RESAMPLES // 40], means[-RESAMPLES // 40]


def report(counts: Counts) -> None:
    """Print every measure with its interval: shares in percent, tokens as they are, records for 100 decoys."""
    print("| arm | measure | n | figure | 95 % |\n|---|---|---|---|---|")
    for arm, rows in counts.items():
        for name, values in rows.items():
            factor = 1 if name.startswith("tokens") else 100
            low, high = compute_interval(values)
            figures = f"{factor * statistics.mean(values):.1f} | {factor * low:.0f}–{factor * high:.0f}"
            print(f"| {arm} | {name} | {len(values)} | {figures} |")


def main() -> None:
    """Measure one half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--texts", type=Path, default=TEXTS, help="what agents hand over, frozen")
    parser.add_argument("--half", choices=("dev", "held", "all"), default="dev")
    parser.add_argument("--show", action="store_true", help="print what is told for each task")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kb-home-") as home:
        people = {
            f"GIT_{who}_{what}": "bench@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        os.environ.update(HOME=home, XDG_CONFIG_HOME=home, GIT_CONFIG_NOSYSTEM="1", **people)
        tasks, chats = load_half(given.dataset, given.half)
        report(measure(tasks, chats, load_texts(given.texts), show=given.show))


if __name__ == "__main__":
    main()
