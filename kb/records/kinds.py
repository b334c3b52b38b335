"""The table of record kinds, and where records are stored: folders, refs, new uids (ULID).

To add a kind, add a row here; everything else reads the table. Hooks import this module; it reads no file.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping

from kb.i18n import Message, join_words, msg
from kb.paths import FILE
from kb.records.model import ASKED, GLOBAL, REVISIT_WHEN, SCOPE_FOLDERS, VALID_UNTIL
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.startup.process import sha256
from kb.text.segment import clip

if TYPE_CHECKING:
    from kb.records.model import Record


class SectionName(NamedTuple):
    """A section of a record, and the headings that stand for it."""

    name: str
    en: str
    zh: str
    aliases: tuple[str, ...] = ()
    is_shared: bool = True
    """Whether every kind may have it; otherwise only kinds whose row names it."""


SECTIONS: tuple[SectionName, ...] = (
    SectionName("context", "Context", "背景", ("context and problem statement", "problem", "背景与问题")),
    SectionName("decision", "Decision", "决策", ("decision outcome", "决定", "决策结果", "结论")),
    SectionName("when", "When to use", "适用场景", ("when", "use when", "何时使用"), is_shared=False),
    SectionName("steps", "Steps", "步骤", ("procedure", "操作步骤"), is_shared=False),
    SectionName(
        "alternatives",
        "Alternatives",
        "备选方案",
        ("considered options", "options considered", "options", "方案", "备选"),
    ),
    SectionName("why", "Why", "理由", ("rationale", "reason", "原因", "决策理由")),
    SectionName("solution", "Solution", "解决办法", ("fix", "cure", "解决方案", "解决方法"), is_shared=False),
    SectionName("outcome", "Outcome", "结果", ("result",), is_shared=False),
    SectionName("explored", "Explored", "探索路径", ("exploration", "探索过程"), is_shared=False),
    SectionName("impact", "Impact", "影响范围", ("影响", "impacts")),
    SectionName("verification", "Verification", "验证方式", ("confirmation", "validation", "验证")),
    SectionName("rollback", "Rollback", "回滚方式", ("回滚", "回退")),
    SectionName("evidence", "Evidence", "证据"),
    SectionName("additions", "Additions", "补充"),
)
"""In the order of display. The six ADR fields come from the RUYI protocol, "锚点格式 (ADR 架构决策记录)"."""

ADR_SECTIONS = ("decision", "alternatives", "why", "impact", "verification", "rollback")


class KindField(NamedTuple):
    """A kind-specific front matter key; there are five types."""

    name: str
    description: str
    type: str = "string"
    """string, date, number, enum or strings (a list)."""
    words: tuple[str, ...] = ()
    """The choices of an enum."""
    least: float = 0.0
    most: float = 1.0
    """The range of a number, both ends included."""


QUESTION_TYPES = (
    "CODE_STRUCTURE",
    "BUSINESS_LOGIC",
    "DATA_FLOW",
    "DEPENDENCY",
    "CONFIGURATION",
    "ERROR_ANALYSIS",
    "BEST_PRACTICE",
    "DOMAIN_KNOWLEDGE",
)
"""What a question to a learning may be about (SMAN "questionType")."""
SIGNATURE = "signature"
"""Key of a pitfall for the lines that identify its error."""
FIXED_BY = "fixed_by"
"""Key for the commit, in the project's repository, that fixed a pitfall."""
REGRESSION_TEST = "regression_test"
"""Key for the test, a path of the project, that keeps a pitfall from coming back."""
COMMON_FIELDS = (
    KindField(ASKED, "Further wordings of the question that it answers.", "strings"),
    KindField(VALID_UNTIL, "The last day on which it is known to hold.", "date"),
    KindField(REVISIT_WHEN, "On what event it is to be looked at again."),
)
"""Front matter keys that every kind may have."""


class Kind(NamedTuple):
    """One row of the table."""

    name: str
    prefix: str
    en: str
    zh: str
    required: tuple[str, ...] = ("decision", "why")
    """Sections without which a record is only `proposed`."""
    karma: str = ""
    """The label of the seed table (RUYI "种子类型")."""
    category: str = "adr"
    """The distillation category (RUYI "沉淀分类"): adr, pattern, anti-pattern, checklist, domain-note, preference."""
    hint: str = ""
    """The hint in which it appears: "t1", "t2" or ""."""
    reusable: bool = False
    """Whether records of the kind are useful in other projects (SHI "可复用")."""
    always: bool = False
    """Whether a starting session is shown every record of the kind, whatever its task."""
    folder: str = "anchors"
    """The folder under `content/` for records of this kind."""
    sections: tuple[str, ...] = ()
    """Its sections beside those that all kinds share."""
    labels: tuple[SectionName, ...] = ()
    """Its own headings for shared sections (a pitfall's decision is its symptom); shared headings are read too."""
    fields: tuple[KindField, ...] = ()
    """Its own front matter keys."""
    answers: bool = False
    """Whether its text answers a question, so that hints show its first sentence and not only its title."""
    silenced_by: str = ""
    """What keeps a live record out of hints: "sources" (an impact path is gone), "fix" (`fixed_by` is set), or ""."""
    contradicts_as: str = "rule"
    """How two of its records contradict: as a "rule", as an "answer" to one question, or never ("")."""


_ONE, _PRACTICE = ("decision",), ("when", "steps")
_SKILL = (KindField("skill", "The name of the skill it is published as."),)
KINDS: tuple[Kind, ...] = (
    Kind("decision", "D", "Decision", "决策", ADR_SECTIONS, "正业", hint="t2"),
    Kind("constraint", "C", "Constraint", "约束", ADR_SECTIONS, "戒律", hint="t1", always=True),
    Kind("interface", "I", "Interface", "接口", ADR_SECTIONS, "正业", hint="t2"),
    Kind(
        "pitfall",
        "P",
        "Pitfall",
        "问题",
        karma="恶业",
        category="anti-pattern",
        hint="t1",
        sections=("solution", "outcome"),
        labels=(SectionName("decision", "Symptom", "现象"), SectionName("why", "Cause", "原因")),
        fields=(
            KindField(
                SIGNATURE,
                "How a failure is recognised: the command (left out: any command), then lines as its output has them.",
                "strings",
            ),
            KindField(FIXED_BY, "The commit that has fixed it."),
            KindField(REGRESSION_TEST, "The path of the test that keeps it from coming back."),
        ),
        silenced_by="fix",
        contradicts_as="",
    ),
    Kind(
        "pattern",
        "M",
        "Pattern",
        "模式",
        karma="正业",
        category="pattern",
        hint="t1",
        reusable=True,
        sections=_PRACTICE,
        fields=_SKILL,
    ),
    Kind("preference", "U", "Preference", "偏好", _ONE, "习气", "preference", reusable=True, always=True),
    Kind(
        "checklist",
        "CK",
        "Checklist",
        "检查清单",
        _ONE,
        "正业",
        "checklist",
        reusable=True,
        sections=_PRACTICE,
        fields=_SKILL,
        contradicts_as="",
    ),
    Kind("domain-note", "DN", "Domain note", "领域笔记", _ONE, "正业", "domain-note", answers=True),
    Kind(
        "learning",
        "L",
        "Learning",
        "学习记录",
        _ONE,
        "正业",
        "domain-note",
        sections=("explored",),
        labels=(SectionName("decision", "Answer", "答案", ("回答",)),),
        fields=(
            KindField("question_type", "What sort of question it is.", "enum", QUESTION_TYPES),
            KindField("confidence", "How sure the answer is.", "number"),
            KindField("domain", "The domain it belongs to."),
        ),
        answers=True,
        silenced_by="sources",
        contradicts_as="answer",
    ),
)
"""Learnings are stored with the anchors, the folder that merge driver, guard and checks of every base know."""
RULING = frozenset(kind.name for kind in KINDS if kind.contradicts_as == "rule")
PERSONAL_KINDS = frozenset({"preference", "domain-note"})
"""Kinds for a person's own facts; in other kinds "I" is the author of the document."""
FOLDERS = tuple(dict.fromkeys(kind.folder for kind in KINDS))
"""The folders under `content/` that contain records, each once."""


class Karma(NamedTuple):
    """A class of deed and how it is handled (RUYI "业力分类")."""

    name: str
    zh: str
    handling: str
    """distil: becomes an anchor; session: stays with the session; pitfall: becomes a [P] to be dealt with."""


KARMA: tuple[Karma, ...] = (
    Karma("wholesome", "正业", "distil"),
    Karma("neutral", "中业", "session"),
    Karma("unwholesome", "恶业", "pitfall"),
)

KARMA_LABELS = {**{deed.zh: deed.name for deed in KARMA}, "戒律": "precept", "习气": "habit"}
"""Chinese label of a karma → English label."""

BY_NAME, BY_PREFIX = {kind.name: kind for kind in KINDS}, {kind.prefix: kind for kind in KINDS}
_SPOKEN = {
    word: kind for kind in KINDS for word in (kind.name, kind.name + "s", kind.prefix.lower(), kind.en.lower(), kind.zh)
}


def _list_headings(sections: Iterable[SectionName]) -> dict[str, str]:
    return {word.lower(): one.name for one in sections for word in (one.en, one.zh, *one.aliases)}


_HEADINGS = _list_headings(section for section in SECTIONS if section.is_shared)
_OWN_HEADINGS = {
    kind.name: _list_headings((*(one for one in SECTIONS if one.name in kind.sections), *kind.labels)) for kind in KINDS
}


def find_kind(word: str) -> Kind | None:
    """Return the kind with the name, plural, prefix or Chinese label *word*, or None."""
    return _SPOKEN.get(word) or _SPOKEN.get(word.lower())


def karma_label(kind: str, language: str) -> str:
    """Return the karma label of records of *kind* in *language*, or "" (RUYI-11)."""
    label = BY_NAME[kind].karma if kind in BY_NAME else ""
    return KARMA_LABELS.get(label, "") if language == "en" else label


def kind_label(kind: str, language: str) -> str:
    """Return the label of *kind* in *language*; an unknown kind keeps its own name."""
    row = BY_NAME.get(kind)
    return kind if row is None else row.zh if language == "zh" else row.en


def resolve_section_name(heading: str, kind: str = "") -> str:
    """Return the canonical section name of *heading* in a record of *kind*, or "".

    Accepts "Decision", "决策", "Decision (决策)" and "决策（Decision）" (RUYI-19). "Symptom" (现象) is the decision of
    a pitfall, and unknown in any other kind.
    """
    plain = heading.strip().rstrip(":：").strip().lower()
    own = _OWN_HEADINGS.get(kind, {})
    # "决策（Decision）" matches by either half; full-width brackets count as plain ones
    head, _, tail = plain.replace("（", "(").replace("）", ")").partition("(")
    words = (plain, head.strip(), tail.rstrip(")").strip()) if tail else (plain,)
    return next((name for word in words if (name := own.get(word) or _HEADINGS.get(word, ""))), "")


def section_label(name: str, language: str, kind: str = "") -> str:
    """Return the heading of the canonical section *name* for a record of *kind* in *language*."""
    row = BY_NAME.get(kind)
    section = next(s for s in (*(row.labels if row else ()), *SECTIONS) if s.name == name)
    return section.zh if language == "zh" else section.en


def join_section_labels(names: Iterable[str], language: str, kind: str = "") -> str:
    """Return the labels of the canonical sections *names* of a record of *kind*, joined for a sentence."""
    return join_words((section_label(name, language, kind).lower() for name in names), language)


def list_section_names(kind: str) -> tuple[str, ...]:
    """Return the canonical sections of a candidate of *kind*, in the order of a record."""
    own = BY_NAME[kind].sections if kind in BY_NAME else ()
    return tuple(one.name for one in SECTIONS if one.name in own or one.name in ADR_SECTIONS)


def list_fields(kind: str) -> tuple[KindField, ...]:
    """Return the optional front matter keys of a record of *kind*: its own, then the common ones."""
    own = BY_NAME[kind].fields if kind in BY_NAME else ()
    return (*own, *COMMON_FIELDS)


def list_own_fields(kind: str, extra: Mapping[str, object]) -> list[tuple[str, list[str]]]:
    """Return name and texts of each field of *kind* that is set in *extra*, a record's further front matter."""
    own_fields = []
    for field in list_fields(kind):
        value = extra.get(field.name)
        texts = [str(item) for item in (value if isinstance(value, list | tuple) else [value]) if item]
        own_fields += [(field.name, texts)] if texts else []
    return own_fields


_MAX_STATUS_CHARACTERS = 40
"""Characters shown of an unknown status, which may be any text."""

_STATUSES = (msg("proposed"), msg("accepted"), msg("rejected"), msg("deprecated"), msg("superseded"))
_AREAS = (msg("architecture"), msg("security"), msg("performance"), msg("compliance"), msg("modules"))
_VERDICTS = (
    *(msg("created"), msg("updated"), msg("appended"), msg("unchanged")),
    *(msg("conflict"), msg("held"), msg("refused")),
)
_DRY_VERDICTS = {
    "created": msg("would create"),
    "updated": msg("would update"),
    "appended": msg("would append"),
    "conflict": msg("would open a review"),
    "held": msg("would hold"),
    "refused": msg("would refuse"),
}
_MESSAGES = {message.template: message for message in _STATUSES + _AREAS + _VERDICTS}


def status_name(status: str) -> Message | str:
    """Return the label of *status* for a sentence; an unknown status is shown as written, cut short."""
    return _MESSAGES.get(str(status)) or clip(str(status), _MAX_STATUS_CHARACTERS)


def verdict_name(verdict: str, *, is_dry_run: bool = False) -> Message | str:
    """Return the label of the *verdict* on a candidate for a sentence; in a dry run, of the expected verdict."""
    return _DRY_VERDICTS[verdict] if is_dry_run and verdict in _DRY_VERDICTS else _MESSAGES.get(verdict, verdict)


def area_name(area: str) -> Message | str:
    """Return the label of the *area* of a large impact for a sentence."""
    return _MESSAGES.get(area, area)


def describe_status_change(old: Record, new: Record) -> Message:
    """Return a sentence about the old and the new status of a record."""
    before, after = status_name(old.status), status_name(new.status)
    return msg("[{id}] {title}: {old} → {new}", id=old.scoped_id, title=old.title, old=before, new=after)


def describe_unreplaced(old: Record) -> Message:
    """Return a sentence that a proposal does not replace *old* yet."""
    return msg("[{id}] {title} remains in effect until this is accepted", id=old.scoped_id, title=old.title)


# -- names and paths -------------------------------------------------------------------------------

CONTENT = "content"
TEMPLATES = f"{CONTENT}/templates"
"""Folder for a knowledge base's own templates: Markdown files that are not records."""
PROJECT_FILE = "project.json"
"""File in a project's folder that identifies the project: {"identity": [...]}."""
TREE = ".wukong/context"
"""The context in the layout of one project, beside CONTENT."""
OWN_PATHS = (CONTENT, "memory-bank", ".kb", FILE)
"""What a knowledge base keeps below its root: files that are no part of the project they are about."""
INBOX = "refs/kb/inbox"
"""Ref whose tree has the candidates held back by the gate, one JSON file each."""
USES = "refs/kb/uses"
REVIEWS = "refs/heads/kb/review/"
REJECTED = "refs/kb/rejected/"

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = regex(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_LAST_SECOND = 253_402_300_799
"""The last second of the year 9999."""


def resolve_openable_path(root: str, path: str, folder: str) -> str:
    """Return *path*, relative to the knowledge base at *root*, as *folder* can open it: absolute from outside."""
    if not path or not folder or os.path.realpath(folder) == os.path.realpath(root):
        return path
    return os.path.join(root, *path.split("/"))


def folder_for_scope(scope: str, top: str = "anchors") -> str:
    """Return the folder, relative to the root, for the records of *scope*."""
    sort, _, name = scope.partition("/")
    return f"{CONTENT}/{top}/" + (f"{SCOPE_FOLDERS[sort]}/{name}" if name else GLOBAL)


def parse_path_scope(path: str) -> str:
    """Return the scope of the folder that contains the record file *path*, or ""."""
    parts = path.split("/")
    if len(parts) == 4 and parts[2] == GLOBAL:
        return GLOBAL
    sort = next((sort for sort, folder in SCOPE_FOLDERS.items() if folder == parts[2]), "") if len(parts) == 5 else ""
    return f"{sort}/{parts[3]}" if sort else ""


def generate_ulid(seconds: float) -> str:
    """Return a new ULID: 26 letters and digits that sort by time (https://github.com/ulid/spec)."""
    return next(iter_ulids(seconds))


def iter_ulids(seconds: float) -> Iterator[str]:
    """Yield new ULIDs of one moment, each sorting after the previous one."""
    number = (int(seconds * 1000) << 80) | (int.from_bytes(os.urandom(10), "big") >> 1)
    while True:
        yield "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))
        number += 1


def parse_uid_day(uid: str) -> str:
    """Return the ISO day (UTC) on which a record got its *uid*, or "" if it is not a ULID."""
    second = parse_uid_second(uid)
    return time.strftime("%Y-%m-%d", time.gmtime(second)) if second >= 0 else ""


def parse_uid_second(uid: str) -> int:
    """Return the second since 1970 in which a record got its *uid*, or -1 if it is not a ULID.

    Its first ten characters are the milliseconds since 1970, in Crockford's base 32.
    """
    if not _ULID.fullmatch(uid):
        return -1
    milliseconds = 0
    for letter in uid[:10]:
        milliseconds = 32 * milliseconds + _CROCKFORD.index(letter)
    return min(milliseconds // 1000, _LAST_SECOND)


def sanitise_session_id(session: str) -> str:
    """Return *session* as a part of a file name: letters, digits, hyphens and underscores, 1 to 64 characters.

    A changed id gets a suffix made from the original, so that two ids never become equal.
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", session)[:64].strip("-")
    if plain == session and plain:
        return plain
    return f"{plain[:50] or 'session'}-{sha256(session.encode('utf-8', 'replace')).hexdigest()[:8]}"


def is_record_path(path: str) -> bool:
    """Return whether *path* is a place for record files: below `content/`, except archives and templates."""
    others = (f"{CONTENT}/sessions/", f"{TEMPLATES}/")
    return path.startswith(f"{CONTENT}/") and not path.startswith(others) and path.endswith(".md")


def is_own_path(path: str) -> bool:
    """Return whether *path*, relative to the root of a knowledge base, is a file of it or of git, and no code."""
    return path.startswith(".git") or any(path == own or path.startswith(f"{own}/") for own in OWN_PATHS)
