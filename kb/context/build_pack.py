"""Build a pack: quotes from records and project files on a question, and where the two disagree.

`pack` has its values and its schema; `claims` checks records against files.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from fnmatch import translate
from stat import S_ISREG
from typing import TYPE_CHECKING

from kb.config import NO_MODEL
from kb.context import claims, pack
from kb.context.build_context import find_nearest_records, find_relevant_hits
from kb.context.claims import ProjectTree
from kb.context.pack import FileConflict, OpenQuestion, Pack, QuotedEvidence, UnverifiedClaim
from kb.errors import BadInput, BadRecord
from kb.files import read_if_exists, resolve_within
from kb.git.git_process import find_git_dir
from kb.git.revisions import list_tracked_files
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.records.front_matter import decode_record
from kb.records.kinds import OWN_PATHS
from kb.records.model import GLOBAL, Record, Status
from kb.safety.quoting import TITLE_LIMIT, quote_record, quote_text
from kb.search.query import Query, parse_query
from kb.text.segment import one_line

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

MAX_RECORDS = 6  # records that are quoted, at most
MAX_FILE, MAX_ALL = 400_000, 24_000_000  # bytes of a project's file that is read, and of all of them
_PLACES = 3  # files that are named as places to look, at most
_HISTORY_WORDS = 2  # words of a question that git's history is to be searched for, at most

# Names of files and folders that are never read, even where they are allowed; upper and lower case alike.
NEVER = tuple(
    ".env .env.* *.env *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.asc *.gpg id_rsa* id_dsa* id_ecdsa* "
    "id_ed25519* *secret* *credential* *password* .netrc .pgpass .npmrc .pypirc .htpasswd *.tfstate *.tfvars "
    "kubeconfig .git .ssh .aws .gnupg .kube .docker".split()
)
SAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.tfvars.example")  # these hold no secret


def compose_pack(kb: Workspace, question: str, *, folder: str = "") -> Pack:
    """Return what is known of *question*; *folder* is where the caller works (default: the current one)."""
    folder, query = folder or os.getcwd(), parse_query(one_line(question))
    may_read = build_read_filter((), kb.config.pack_deny, never=())
    scope = kb.project(folder)
    hits = find_relevant_hits(kb, query, project=scope)
    # Where none is surely about the question the nearest ones are named, and not quoted.
    found = [hit.record for hit in hits] or find_nearest_records(kb, query, project=scope)
    records = [record for record in found if may_read(record.path)][:MAX_RECORDS]
    warned = [(record, quote_record(record, "").warning) for record in records]
    clean = [record for record, warning in warned if warning is None]
    kept, nearest = (clean, []) if hits else ([], clean)
    files = {record.path: read_if_exists(resolve_within(kb.root, record.path)) or b"" for record in kept}
    texts = {path: decode_record(data, path) for path, data in files.items()}
    evidence: list[QuotedEvidence] = []
    for record in kept:
        change = _find_last_change(kb, record, files[record.path])
        about = (record.id, record.scope, record.title, str(record.status), record.path)
        quotes = pack.select_quotes(texts[record.path], query)
        evidence += (QuotedEvidence(*about, quote.line, quote.text, *change) for quote in quotes)
    tree = _load_project_tree(kb, folder)
    conflicts, doubts = _find_disagreements(kb, kept, texts, tree, scope)
    return Pack(
        pack.VERSION,
        query.text,
        tuple(pack.summarise_record(record) for record in kept),
        tuple(evidence),
        tuple(_iter_open_questions(kb, query, kept, texts, tree, nearest)),
        tuple(conflicts),
        tuple(doubts),
        tuple(kb.localise(warning) for _, warning in warned if warning),
    )


def _find_last_change(kb: Workspace, record: Record, data: bytes) -> tuple[str, str]:
    """Return the commit that last changed the file and its time; where *data*, its bytes, differ from it no commit."""
    full = kb.repository.to_git_path(record.path)
    log = kb.repository.run_git(("log", "-1", "--format=%H %cI", "--", full))
    commit, _, date = log.out.decode().strip().partition(" ")
    if commit and kb.repository.read_blob(commit, record.path) == data:
        return commit, date
    changed = os.stat(resolve_within(kb.root, record.path)).st_mtime
    return "", time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(changed))


# -- the project's files --------------------------------------------------------------------------


def build_read_filter(
    allow: Sequence[str] = (), deny: Sequence[str] = (), *, never: Sequence[str] = NEVER
) -> Callable[[str], bool]:
    """Return the predicate whether the file at a path (forward slashes) may be read: allowed and not denied."""
    expressions = (
        "|".join(translate(glob.replace("**/", "*")) for glob in globs) for globs in (allow, deny, never, SAMPLES)
    )
    allowed, denied, secret, samples = (re.compile(one or r"(?!)", re.IGNORECASE).match for one in expressions)

    def is_readable(path: str) -> bool:
        parts = path.split("/")
        # A glob may name the file, any folder above it, or a path from the root: "docs", "src/gen/*", "*.lock".
        ways = [path, *parts, *("/".join(parts[: n + 1]) for n in range(1, len(parts) - 1))]
        if any(map(denied, ways)) or (allow and not any(map(allowed, ways))):
            return False
        # A sample may be called a secret, the folder it lies in may not: `.env.example`, `secrets/.env.example`.
        return not any(map(secret, parts[:-1] if samples(parts[-1]) else parts))

    return is_readable


def _load_project_tree(kb: Workspace, folder: str) -> ProjectTree:
    """Return the files of the repository around *folder*, with the texts of those that may be read; else none."""
    around = find_git_dir(os.path.realpath(folder))
    if around is None:
        return ProjectTree((), {})
    top = around[0]
    root = os.path.relpath(kb.root, top).replace(os.sep, "/")
    # A knowledge base in the project: its records are no evidence for themselves.
    ours = () if root.startswith("..") else tuple(os.path.normpath(f"{root}/{part}") for part in OWN_PATHS)
    names = [name for name in list_tracked_files(kb, top) if not any(f"{name}/".startswith(f"{one}/") for one in ours)]
    may_read = build_read_filter(kb.config.pack_allow, kb.config.pack_deny)
    texts: dict[str, str] = {}
    left = MAX_ALL
    for name in sorted(names):
        if left <= 0 or not may_read(name):
            continue
        with contextlib.suppress(OSError, UnicodeDecodeError):  # a link, a folder, a pipe or bytes are no text
            path = resolve_within(top, name)
            stat = os.lstat(path)
            data = read_if_exists(path) if S_ISREG(stat.st_mode) and stat.st_size <= MAX_FILE else None
            if data is not None and b"\0" not in data:
                texts[name] = data.decode("utf-8")
                left -= len(texts[name])
    return ProjectTree(names, texts)


def _find_disagreements(
    kb: Workspace, records: Sequence[Record], texts: dict[str, str], tree: ProjectTree, scope: str
) -> tuple[list[FileConflict], list[UnverifiedClaim]]:
    """Return where *records* and the files of the project *scope* disagree, and what only a person can check."""
    conflicts: list[FileConflict] = []
    doubts: list[UnverifiedClaim] = []
    for record in records if tree.code else ():
        names = (record.id, record.scope)
        fix = msg(
            "if the code is right, update the record: kb edit {id}; if the record is right, fix the code",
            id=record.scoped_id,
        )
        claimed = claims.extract_claims(texts[record.path], record.impact)
        mismatches = list(claims.find_mismatches(claimed, tree))
        if record.scope == GLOBAL and scope != GLOBAL and len(mismatches) == len(claimed):
            continue  # nothing of it is here: it speaks of other projects
        for claim, found, is_sure in mismatches:
            if not is_sure:
                why = kb.localise(msg("no file of the project can answer this"))
                doubts.append(UnverifiedClaim(*names, claim.said, why))
                continue
            has = kb.localise(msg("the project has {found}", found=found) if found else msg("the project has none"))
            line = max(claim.line, 1)
            conflicts.append(FileConflict(*names, claim.kind, claim.said, has, record.path, line, kb.localise(fix)))
        for key, value in record.claims.items():
            if not tree.has_word(value):
                why = kb.localise(msg("no rule can check this; a person must look"))
                doubts.append(UnverifiedClaim(*names, f"{key}: {value}", why))
    return conflicts, doubts


def _iter_open_questions(
    kb: Workspace,
    query: Query,
    records: Sequence[Record],
    texts: dict[str, str],
    tree: ProjectTree,
    nearest: Sequence[Record],
) -> Iterator[OpenQuestion]:
    """Yield what the records do not say of *query*, each with where to look."""
    if not records:
        yield _describe_nothing_found(kb, query, tree, nearest)
        return
    for word in pack.find_uncovered_words(query, texts.values()):
        look = _find_mentions([word], tree) + _suggest_commands(word)
        yield OpenQuestion(kb.localise(msg("the records found do not speak of “{word}”", word=word)), look)
    for record in records:
        if record.status == Status.PROPOSED:
            proposed = msg("[{id}] is proposed but nobody has accepted it: should it apply?", id=record.scoped_id)
            name = qualify_name(kb, record)
            yield OpenQuestion(kb.localise(proposed), (f"kb history {name}", f"kb show {name}"))


def _describe_nothing_found(kb: Workspace, query: Query, tree: ProjectTree, nearest: Sequence[Record]) -> OpenQuestion:
    """Return what is said where no record is surely about *query*, with the *nearest* ones by their titles."""
    words = pack.find_uncovered_words(query, ())
    look = _find_mentions(words, tree) or _suggest_commands(query.text)
    if not nearest:
        # the search by words has just found nothing: the history may have one of them, or a record another word for it
        history = tuple(_search_history(word) for word in words[:_HISTORY_WORDS])
        look = _find_mentions(words, tree) or (*history, "kb keywords", *_suggest_vectors(kb))
        return OpenQuestion(kb.localise(msg("nothing recorded answers “{question}”", question=query.text)), look)
    named = [(qualify_name(kb, record), quote_text(record.title, TITLE_LIMIT)) for record in nearest]
    shown = "; ".join(f"[{name}] {title}" for name, title in named)
    unsure = msg(
        "nothing recorded surely answers “{question}”; the nearest: {records}", question=query.text, records=shown
    )
    return OpenQuestion(kb.localise(unsure), (*(f"kb show {name}" for name, _ in named), *look))


def _find_mentions(words: Sequence[str], tree: ProjectTree) -> tuple[str, ...]:
    """Return the files of the project that name most of *words*, by their paths."""
    folded = [word.casefold() for word in words]
    counted = [(sum(word in text.casefold() for word in folded), path) for path, text in tree.texts.items()]
    best = sorted((-count, path) for count, path in counted if count)
    return tuple(path for _, path in best[:_PLACES])


def _suggest_vectors(kb: Workspace) -> tuple[str, ...]:
    """Return the command about searching by meaning, where words alone decide."""
    return ("kb vectors",) if kb.config.embedder == NO_MODEL else ()


def _suggest_commands(words: str) -> tuple[str, ...]:
    quoted = words.replace('"', "'")
    return (f'kb search "{quoted}"', _search_history(words))


def _search_history(words: str) -> str:
    quoted = words.replace('"', "'")
    return f'git log -i --grep="{quoted}"'


# -- a pack that somebody else made ---------------------------------------------------------------


def find_pack_problems(kb: Workspace, source: str, path: str) -> list[str]:
    """Return what is wrong with a pack that a reader wrote, JSON or YAML: its form, and quotes that stand nowhere."""
    value = _parse_pack(source, path)
    found = [
        kb.localise(msg("{place} does not match the schema", place=place)) for place in pack.iter_schema_errors(value)
    ]
    evidence = value.get("evidence") if isinstance(value, dict) else None
    for number, item in enumerate(evidence if isinstance(evidence, list) else ()):
        if not isinstance(item, dict):
            continue
        data = b""
        with contextlib.suppress(OSError, ValueError):
            data = read_if_exists(resolve_within(kb.root, str(item.get("file")))) or b""
        if not item.get("quote") or str(item["quote"]).encode("utf-8", "surrogatepass") not in data:
            found.append(kb.localise(msg("evidence[{n}]: the quote is not in {file}", n=number, file=item.get("file"))))
    return found


def _parse_pack(source: str, path: str) -> Any:
    from kb.records.safe_yaml import YamlError, load_yaml

    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(source)
    try:
        return {key: entry.value for key, entry in load_yaml(source, 8).entries.items()}
    except YamlError as error:
        problem = msg("neither JSON nor YAML: {problem}", problem=error.problem)
        raise BadInput(problem, path=path, line=error.line) from None
    except BadRecord as error:
        raise BadInput(error.message, path=path) from None
