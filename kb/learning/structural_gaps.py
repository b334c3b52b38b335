"""Find gaps nobody had to ask about: what the structure of a project and of its records shows to be missing.

A new sort of gap is one function here and one word in `FINDERS`.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.context.manifests import LANGUAGES, read_requirements
from kb.git.git_process import find_git_dir
from kb.git.revisions import query_git
from kb.i18n import Message, msg
from kb.index.schema import Filter
from kb.records.kinds import QUESTION_TYPES
from kb.records.model import LIVE, Record, list_aliases
from kb.search.query import build_match_expression
from kb.similarity.failure_signatures import read_signature
from kb.state.failed_calls import load_unsolved

if TYPE_CHECKING:
    from kb.workspace import Workspace

FOLDER, DOMAIN, DEPENDENCY = "UNEXPLORED_DIRECTORY", "INCOMPLETE_DOMAIN", "MISSING_DEPENDENCY"
FAILURE, CITATION = "UNSOLVED_FAILURE", "DANGLING_CITATION"
RECENT_DAYS = 90
MIN_COMMITS = 3
"""Commits of so many days that a folder needs to be worth a record: fewer are a passing touch."""
MIN_QUESTION_TYPES = 3
MIN_FAILED_SESSIONS = 3
MAX_OF_A_SORT = 5
"""Gaps of one sort that are named, the most urgent first: a list nobody reads closes none."""
_DOMAIN_QUESTIONS = {
    "CODE_STRUCTURE": msg("How is the code of {domain} built up?"),
    "BUSINESS_LOGIC": msg("What are the rules of {domain}?"),
    "DATA_FLOW": msg("Where does the data of {domain} come from, and where does it go?"),
    "DEPENDENCY": msg("What does {domain} depend on, and what depends on it?"),
    "CONFIGURATION": msg("How is {domain} configured?"),
    "ERROR_ANALYSIS": msg("What goes wrong in {domain}, and why?"),
    "BEST_PRACTICE": msg("What has proved itself in {domain}?"),
    "DOMAIN_KNOWLEDGE": msg("What do the terms of {domain} mean?"),
}
"""What is asked of a domain, by the type of question."""


class Gap(NamedTuple):
    """Something that is worth recording and is not."""

    type: str
    """ASKED_QUESTION or one of those above."""
    key: str
    """Names it as long as it lasts: it follows from the type and what it is about."""
    scope: str
    question: Message | str
    """What is to be found out."""
    why: Message
    priority: float
    """The higher the sooner; 0–100."""
    times: int = 0
    """How often it was asked."""
    wordings: tuple[str, ...] = ()
    """In which words it was asked, the first first."""
    state: str = "open"
    """open, leased, or set aside."""


def build_key(kind: str, subject: str) -> str:
    """Return the key of the gap of *kind* about *subject*."""
    return sha256(f"{kind} {subject}".encode("utf-8", "replace")).hexdigest()[:8]


class _SurveyedProject(NamedTuple):
    """What the gaps of a project are found in."""

    kb: Workspace
    scope: str
    top: str
    """The top of its repository; "" where it has none."""
    records: list[Record]
    """Its live records and the global ones."""


def find_structural_gaps(kb: Workspace, scope: str, folder: str) -> list[Gap]:
    """Return what the project *scope*, worked on in *folder*, and its records lack; `MAX_OF_A_SORT` of each sort."""
    around = find_git_dir(os.path.realpath(folder)) if folder else None
    records = kb.sync_index().records(Filter(scopes=kb.own_scopes(scope), statuses=tuple(LIVE)))
    project = _SurveyedProject(kb, scope, around[0] if around else "", records)
    found = []
    for find in FINDERS:
        gaps = sorted(find(project), key=lambda gap: (-gap.priority, gap.key))
        found += gaps[:MAX_OF_A_SORT]
    return found


def find_unexplored_folders(project: _SurveyedProject) -> Iterator[Gap]:
    """Yield the folders in which much was committed lately and of which no record says anything."""
    governed = {path.strip().removeprefix("./").rstrip("/") for record in project.records for path in record.impact}
    for folder, commits in _count_commits(project).items():
        is_governed = any(
            path == folder or path.startswith(folder + "/") or folder.startswith(path + "/") for path in governed
        )
        if commits >= MIN_COMMITS and not is_governed:
            question = msg("What must one know before changing {folder}: its purpose, its rules?", folder=folder)
            why = msg("{commits} commits in {days} days, and no record governs it", commits=commits, days=RECENT_DAYS)
            yield _build(project, FOLDER, folder, question, why, 20 + min(commits, 40))


def _count_commits(project: _SurveyedProject) -> Counter[str]:
    """Return in how many commits of the last `RECENT_DAYS` days each folder was changed, two levels deep at most."""
    arguments = ("-c", "core.quotePath=false", "log", f"--since={RECENT_DAYS}.days", "--format=%x01", "--name-only")
    log = query_git(project.kb, project.top, *arguments) if project.top else None
    inside = os.path.relpath(project.kb.root, project.top) if project.top else ".."
    own = () if inside.startswith("..") else (os.path.normpath(os.path.join(inside, "content")),)
    counts: Counter[str] = Counter()
    for commit in (log or b"").decode("utf-8", "replace").split("\x01"):
        folders = {"/".join(path.split("/")[:-1][:2]) for path in commit.split("\n") if "/" in path}
        counts.update(folder for folder in folders if not folder.startswith((".", *own)))
    there = {folder for folder in counts if os.path.isdir(os.path.join(project.top, folder))}
    return Counter({folder: counts[folder] for folder in there})


def find_incomplete_domains(project: _SurveyedProject) -> Iterator[Gap]:
    """Yield the domains of which few of the eight types of question are answered."""
    types: dict[str, set[str]] = defaultdict(set)
    for record in project.records:
        if domain := str(record.extra.get("domain") or "").strip():
            types[domain].add(str(record.extra.get("question_type") or ""))
    for domain, known in types.items():
        missing = [name for name in QUESTION_TYPES if name not in known]
        if len(QUESTION_TYPES) - len(missing) < MIN_QUESTION_TYPES:
            question = _DOMAIN_QUESTIONS[missing[0]]._replace(values={"domain": domain})
            why = msg("of {domain} only {count} of {all} types of question are answered", domain=domain,
                      count=len(QUESTION_TYPES) - len(missing), all=len(QUESTION_TYPES))  # fmt: skip
            yield _build(project, DOMAIN, domain, question, why, 25)


def find_missing_dependencies(project: _SurveyedProject) -> Iterator[Gap]:
    """Yield the dependencies in the manifests at the project's top that no record names."""
    postings = project.kb.index.postings
    for name in read_requirements(project.top) if project.top else ():
        if name not in LANGUAGES and not postings.count_matches(build_match_expression(name), 1):
            question = msg("Why {name}, what is it used for, and what must not be done with it?", name=name)
            yield _build(project, DEPENDENCY, name, question, msg("a manifest requires it, and no record names it"), 10)


def find_unsolved_failures(project: _SurveyedProject) -> Iterator[Gap]:
    """Yield the failures that at least `MIN_FAILED_SESSIONS` sessions had and none overcame."""
    sessions: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for row in load_unsolved(project.kb.state):
        if row.get("project") in ("", project.scope) and isinstance(row.get("signature"), list):
            sessions[tuple(map(str, row["signature"]))].add(str(row.get("session")))
    for signature, seen in sessions.items():
        family, *lines = read_signature(signature) or ("",)
        if len(seen) >= MIN_FAILED_SESSIONS and lines:
            question = msg("How is this failure of {command} overcome: {line}", command=family or "–", line=lines[0])
            why = msg("{sessions} sessions ran into it, and none of them solved it", sessions=len(seen))
            yield _build(project, FAILURE, " ".join(signature), question, why, 60 + min(len(seen), 30))


def find_dangling_citations(project: _SurveyedProject) -> Iterator[Gap]:
    """Yield the ids that live records cite and no record has."""
    index, wanted = project.kb.index, Filter(scopes=project.kb.own_scopes(project.scope), statuses=tuple(LIVE))
    aliases = {alias for record in index.records() for alias in list_aliases(record.extra)}
    for name in index.list_facet_values("cites", wanted):
        if name not in aliases and not index.find_by_id(name):
            citing = ", ".join(sorted({record.id for _, _, record in index.find_by_facet("cites", [name], wanted)})[:3])
            question = msg("What did [{id}] say, which {citing} cites?", id=name, citing=citing)
            yield _build(project, CITATION, name, question, msg("no record has this id"), 15)


def _build(project: _SurveyedProject, kind: str, subject: str, question: Message, why: Message, priority: float) -> Gap:
    return Gap(kind, build_key(kind, f"{project.scope} {subject}"), project.scope, question, why, float(priority))


FINDERS: tuple[Callable[[_SurveyedProject], Iterator[Gap]], ...] = (
    find_unsolved_failures,
    find_unexplored_folders,
    find_incomplete_domains,
    find_dangling_citations,
    find_missing_dependencies,
)
