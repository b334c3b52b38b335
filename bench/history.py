"""What has the base learnt after 60 sessions of three people in two projects, by its own rules and nobody's help?

    python -m bench.history [ARCHIVE] [--half 1|2|all] [--show] [--sample N]

ARCHIVE (`bench/unseen/history.tar.gz`) holds the transcripts, written without sight of the rules, and `truth.json`:
what a careful person would have kept, what may be kept, what must never become a record, private texts, failures that
come back with the same cure or with another one. The sessions are played in order, through the hooks, as Claude Code
calls them: start, prompts, tool calls, failures, ends of turns, end. No model is asked (`KB_LLM_CMD` is unset), and
nobody answers where kb asks the agent to word something: the agent's hand-over is not part of these figures, only
whether there would have been a question, to the agent or to the person (“opening”).

A thing worth keeping is found in a record, the inbox or an opening of its session if at least half of its own words
(given in the truth), or a third of the words of its description, stand in it. A record that has none of what may be
kept of its session is junk. Half 1 are the sessions 1–30, on which the rules were improved, half 2 the sessions 31–60,
which were looked at once; the base is one and goes on.

Falsifier: kb learns nothing by itself here if fewer than half of the things are kept or asked for, or if junk outweighs
them; it does harm if a private text is in the team's repository, or a cure is told for another failure.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kb.capture.handover import list_open_sessions
from kb.capture.proposals import list_pending
from kb.hooks import add_tool_error, events
from kb.hooks.fast_path import can_skip_event
from kb.knowledge_base import KnowledgeBase, make
from kb.sessions.transcript import HUMAN, get_prompt, parse_transcript
from kb.text.segment import extract_ranking_terms

ARCHIVE = Path(__file__).with_name("unseen") / "history.tar.gz"
SEED = 60
SAME_THING = 0.34
"""Share of the words of what may be kept, or never, from which a record is taken to be about it."""
STATES = ("accepted", "proposed", "review", "inbox", "opening", "lost")


class Entry(NamedTuple):
    """What a session left: a record, a candidate in the inbox, or an opening."""

    session: int
    state: str
    name: str
    text: str


class Told(NamedTuple):
    """A cure that was told when a command failed."""

    session: int
    command: str
    origin: int
    text: str


# -- a base, a team's repository and two projects -----------------------------------------------------


class World:
    """A knowledge base that three people share, and the projects they work in."""

    def __init__(self, folder: Path) -> None:
        """Make them in *folder*."""
        self.folder, self.root, self.team = folder, folder / "base", folder / "team.git"
        make(str(self.root), os.environ, name="bench")[0].close()
        settings = self.root / "kb.toml"
        settings.write_text(settings.read_text("utf-8") + "\npause = 0\n", "utf-8")
        subprocess.run(["git", "init", "-q", "--bare", str(self.team)], check=True)
        subprocess.run(["git", "-C", str(self.root), "remote", "add", "origin", str(self.team)], check=True)
        for name in ("shop", "loan"):
            (folder / name).mkdir()
            subprocess.run(["git", "init", "-q", str(folder / name)], check=True)
        self.seen: dict[str, str] = {}
        self.origins: dict[str, int] = {}
        self.told: list[Told] = []

    def play(self, number: int, project: str, rows: Sequence[dict[str, Any]]) -> list[Entry]:
        """Let one session happen, and return what it left."""
        folder = self.folder / project
        was = next(row["cwd"] for row in rows if row.get("cwd"))
        session = next(row["sessionId"] for row in rows if row.get("sessionId"))
        path = self.folder / f"{session}.jsonl"
        path.write_text("", "utf-8")
        base = {"session_id": session, "cwd": str(folder), "transcript_path": str(path), "host": "claude"}
        self._call("SessionStart", {**base, "source": "startup"})
        has_turn = False
        for event, extra, row in iter_events(rows, was, str(folder)):
            if event == "UserPromptSubmit":
                if has_turn:
                    self._call("Stop", base)
                has_turn = True
            if event in ("PreToolUse", "UserPromptSubmit"):  # before the host writes the line
                self._call(event, {**base, **extra})
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
            if event in ("PostToolUse", "PostToolUseFailure"):
                said = self._call(event, {**base, **extra})
                self._note_cure(number, str(extra["tool_input"].get("command", "")), said)
        self._call("Stop", base)
        self._call("SessionEnd", base)
        with self._open(folder) as kb:
            kb.land()
            return self._list_new(kb, number, session)

    def _open(self, folder: Path) -> KnowledgeBase:
        return KnowledgeBase(str(self.root), os.environ, folder=str(folder))

    def _call(self, event: str, payload: Mapping[str, Any]) -> str:
        given = {"tool_input": {}, "prompt_id": "", **add_tool_error(event, payload)}
        if can_skip_event(event, given, str(self.root)):
            return ""
        return events.handle_event(event, given, str(self.root)).context

    def _note_cure(self, number: int, command: str, said: str) -> None:
        named = [name for name in self.origins if f"[{name}]" in said or f"[{name.split(':')[-1]}]" in said]
        if said and named:
            self.told.append(Told(number, command, self.origins[named[0]], said))

    def _list_new(self, kb: KnowledgeBase, number: int, session: str) -> list[Entry]:
        """Return the records, held candidates and openings that are new or changed since the session before."""
        now: dict[str, tuple[str, str, str]] = {}
        for record in kb.records():
            text = "\n".join([record.title, *(section.text for section in record.sections)])
            name = f"{record.scope.removeprefix('project/')}:{record.id}"
            now[f"record {name}"] = (str(record.status), name, text)
        for review in kb.reviews():
            text = self._git("log", "-p", "-1", "--format=", review.branch)
            now[f"review {review.branch}"] = ("review", review.branch, text)
        for held in kb.held():
            one = held.candidate
            text = "\n".join([one.title, one.decision, one.why, *one.sections.values()])
            now[f"inbox {held.name}"] = ("inbox", held.name, text)
        for proposal in list_pending(kb):  # the person is asked
            now[f"proposal {proposal.name}"] = ("opening", proposal.name, proposal.candidate.decision)
        for opened in list_open_sessions(kb, session):
            for row in opened.open_rows:
                text = "\n".join(quote.quote for quote in row.opening.quotes)
                now[f"opening {row.opening.name}"] = ("opening", row.opening.name, text)
        new = {key: value for key, value in now.items() if self.seen.get(key) != value[2]}
        for key in new:
            self.seen[key] = now[key][2]
            self.origins.setdefault(now[key][1], number)
        return [Entry(number, state, name, text) for state, name, text in new.values()]

    def _git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", str(self.root), *words], capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")

    def sync(self) -> None:
        """Push the base to the team's repository."""
        program = str(Path(sys.executable).parent / "kb")
        subprocess.run([program, "sync"], cwd=self.root, env={**os.environ, "KB_HOME": str(self.root)}, check=False)

    def find_private(self, texts: Sequence[str], repository: Path) -> list[str]:
        """Return those of *texts* that stand in any object of *repository*."""
        listed = subprocess.run(
            ["git", "-C", str(repository), "cat-file", "--batch", "--batch-all-objects", "--unordered"],
            capture_output=True, check=True,
        )  # fmt: skip
        return [text for text in texts if text.encode() in listed.stdout]


def iter_events(
    rows: Sequence[dict[str, Any]], was: str, folder: str
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield each line of a transcript, its folder replaced, with the event a host would call for it and its payload."""
    calls: dict[str, dict[str, Any]] = {}
    for row in rows:
        line = json.loads(json.dumps(row, ensure_ascii=False).replace(was, folder))
        content = line.get("message", {}).get("content")
        block = content[0] if isinstance(content, list) and content else {}
        event, extra = "", {}
        if block.get("type") == "tool_use":
            calls[block["id"]] = extra = {
                "tool_name": block["name"], "tool_input": block["input"], "tool_use_id": block["id"]
            }  # fmt: skip
            event = "PreToolUse"
        elif block.get("type") == "tool_result":
            event = "PostToolUseFailure" if block.get("is_error") else "PostToolUse"
            extra = {
                **calls[block["tool_use_id"]],
                "tool_response": line.get("toolUseResult"),
                "error": content_text(block),
            }
        elif line.get("type") == "user":
            one = parse_transcript((json.dumps(line, ensure_ascii=False) + "\n").encode())
            said = next((get_prompt(message) for message in one.messages if message.origin == HUMAN), "")
            event, extra = ("UserPromptSubmit", {"prompt": said}) if said else ("", {})
        yield event, extra, line


def content_text(block: Mapping[str, Any]) -> str:
    """Return the text of a tool's result."""
    content = block.get("content", "")
    return content if isinstance(content, str) else "\n".join(str(each.get("text", "")) for each in content)


# -- figures -------------------------------------------------------------------------------------------


def has_words(entry: Entry, words: Sequence[str]) -> bool:
    """Return whether at least half of *words* stand in the entry."""
    low = entry.text.casefold()
    return bool(words) and 2 * sum(word.casefold() in low for word in words) >= len(words)


def is_about(entry: Entry, what: str) -> bool:
    """Return whether the entry shares at least `SAME_THING` of the words of *what*."""
    words = set(extract_ranking_terms(what))
    return len(words & set(extract_ranking_terms(entry.text))) >= SAME_THING * len(words)


def find_state(entries: Sequence[Entry], keep: Mapping[str, Any]) -> str:
    """Return the best state in which *keep* is found among what its session left."""
    own = [one for one in entries if is_wanted(one, keep)]
    return min((one.state for one in own if one.state in STATES), key=STATES.index, default="lost")


def judge_told(told: Told, cures: Sequence[Mapping[str, Any]]) -> str:
    """Return whether a cure that was told is right, wrong, or one of which the truth says nothing."""
    for cure in cures:
        same = {cure["signature_session"]} | {
            one["again_session"]
            for one in cures
            if one["signature_session"] == cure["signature_session"] and not one["lookalike"]
        }
        if told.session == cure["again_session"] and told.origin in same:
            return "wrong" if cure["lookalike"] else "right"
    return "other"


def main() -> int:
    """Play the history and print what became of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", nargs="?", type=Path, default=ARCHIVE)
    parser.add_argument("--half", choices=("1", "2", "all"), default="all", help="Of which sessions to print details.")
    parser.add_argument("--show", action="store_true", help="Print everything that the sessions left.")
    parser.add_argument("--sample", type=int, default=0, help="Print so many records of the base at the end.")
    given = parser.parse_args()
    os.environ.pop("KB_LLM_CMD", None)
    with tempfile.TemporaryDirectory() as scratch, tarfile.open(given.archive) as archive:
        os.environ["HOME"] = scratch
        archive.extractall(Path(scratch) / "history", filter="data")
        truth = json.loads((Path(scratch) / "history" / "truth.json").read_text("utf-8"))
        world, entries = World(Path(scratch)), []
        for path in sorted((Path(scratch) / "history").glob("*.jsonl")):
            number, project = int(path.stem[:3]), path.stem[4:]
            if given.half == "1" and number > 30:
                break
            rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            entries += world.play(number, project, rows)
        world.sync()
        private = [row["text"] for row in truth["private"]]
        found = {
            name: world.find_private(private, place) for name, place in (("team", world.team), ("own", world.root))
        }
        for half in ("1", "2") if given.half == "all" else given.half:
            report_half(half, truth, entries, world.told, show=given.show)
        print(f"private texts in the team's repository: {len(found['team'])} of {len(private)} {found['team'] or ''}")
        print(f"private texts in the base on this machine: {len(found['own'])} {found['own'] or ''}")
        print_sample([one for one in entries if one.state in ("accepted", "proposed")], given.sample)
    return int(bool(found["team"]))


def report_half(
    half: str, truth: Mapping[str, Any], entries: Sequence[Entry], told: Sequence[Told], *, show: bool
) -> None:
    """Print the figures of one half of the sessions."""
    first, last = (1, 30) if half == "1" else (31, 60)
    keeps = [row for row in truth["keep"] if first <= row["session"] <= last]
    own = [one for one in entries if first <= one.session <= last]
    states = Counter(find_state(own, row) for row in keeps)
    records = [one for one in own if one.state not in ("inbox", "opening")]
    good = [one for one in records if is_worth_keeping(one, truth)]
    never = [
        one for one in records for row in truth["never"] if row["session"] == one.session and is_about(one, row["what"])
    ]
    print(
        f"\nsessions {first}–{last}: {len(keeps)} worth keeping: "
        + ", ".join(f"{name} {states[name]}" for name in STATES)
    )
    print(f"  records written {len(records)}, junk {len(records) - len(good)}, of what must never be one {len(never)}")
    counts = Counter(one.state for one in own)
    print(f"  left in the inbox {counts['inbox']}, openings that nobody answered {counts['opening']}")
    due = [row for row in truth["cures"] if first <= row["again_session"] <= last]
    verdicts = Counter((judge_told(one, truth["cures"]), one.session) for one in told if first <= one.session <= last)
    lookalikes = sum(row["lookalike"] for row in due)
    sums = Counter({name: len({at for what, at in verdicts if what == name}) for name in ("right", "wrong", "other")})
    print(
        f"  cures: right told in {sums['right']} of {len(due) - lookalikes} sessions,"
        f" wrong in {sums['wrong']} (must be 0; {lookalikes} lookalikes), other {sums['other']}"
    )
    if show:
        for row in keeps:
            print(f"  {find_state(own, row):9} {row['session']:03} {row['kind']}: {row['what']}")
        for one in own:
            mark = "" if one in good or one.state in ("inbox", "opening") else "JUNK "
            print(f"    {mark}{one.session:03} {one.state} {one.name}: {' | '.join(one.text.split(chr(10)))[:400]}")
        for cure in told:
            if first <= cure.session <= last:
                verdict = judge_told(cure, truth["cures"])
                print(f"    told {verdict} {cure.session} from {cure.origin}: {cure.command}: {cure.text}")


def is_worth_keeping(entry: Entry, truth: Mapping[str, Any]) -> bool:
    """Return whether the entry is something that may be kept of its session, or was to be kept of one before it."""
    before = (row for row in truth["keep"] if row["session"] <= entry.session)
    again = any(is_wanted(entry._replace(session=row["session"]), row) for row in before)
    return again or any(is_wanted(entry, row) for row in truth["may"])


def is_wanted(entry: Entry, row: Mapping[str, Any]) -> bool:
    """Return whether the entry is what *row* of the truth, of the same session, says may be kept."""
    if row["session"] != entry.session:
        return False
    return has_words(entry, row.get("words", ())) or is_about(entry, row["what"])


def print_sample(records: Sequence[Entry], size: int) -> None:
    """Print *size* records of those at the end, for a reader to judge."""
    last = list({one.name: one for one in records}.values())
    for one in random.Random(SEED).sample(last, min(size, len(last))):
        print(f"\n[{one.name}] {one.state}, session {one.session}\n{one.text}")


if __name__ == "__main__":
    sys.exit(main())
