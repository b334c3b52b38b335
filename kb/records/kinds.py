"""The table of record kinds. A new kind is a row here; everything else reads the table."""

from __future__ import annotations

from collections.abc import Iterable

from kb.i18n import Message, msg
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import clip


class SectionName(NamedTuple):
    """One section a record may have, and the headings that mean it."""

    name: str
    en: str
    zh: str
    aliases: tuple[str, ...] = ()


SECTIONS: tuple[SectionName, ...] = (
    SectionName("context", "Context", "背景", ("context and problem statement", "problem", "背景与问题")),
    SectionName("decision", "Decision", "决策", ("decision outcome", "决定", "决策结果", "结论")),
    SectionName(
        "alternatives",
        "Alternatives",
        "备选方案",
        ("considered options", "options considered", "options", "方案", "备选"),
    ),
    SectionName("why", "Why", "理由", ("rationale", "reason", "原因", "决策理由")),
    SectionName("impact", "Impact", "影响范围", ("影响", "impacts")),
    SectionName("verification", "Verification", "验证方式", ("confirmation", "validation", "验证")),
    SectionName("rollback", "Rollback", "回滚方式", ("回滚", "回退")),
    SectionName("evidence", "Evidence", "证据"),
    SectionName("additions", "Additions", "补充"),
)
"""In the order in which a record shows them. The six ADR fields: RUYI protocol, "锚点格式 (ADR 架构决策记录)"."""

ADR_SECTIONS = ("decision", "alternatives", "why", "impact", "verification", "rollback")


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
    """True where the kind is by its nature of use elsewhere (SHI "可复用")."""
    always: bool = False
    """True where a starting session is told every record of the kind, whatever its task."""
    folder: str = "anchors"
    """The folder under `content/` that keeps this kind's records."""


_ONE = ("decision",)
KINDS: tuple[Kind, ...] = (
    Kind("decision", "D", "Decision", "决策", ADR_SECTIONS, "正业", hint="t2"),
    Kind("constraint", "C", "Constraint", "约束", ADR_SECTIONS, "戒律", hint="t1", always=True),
    Kind("interface", "I", "Interface", "接口", ADR_SECTIONS, "正业", hint="t2"),
    Kind("pitfall", "P", "Pitfall", "问题", karma="恶业", category="anti-pattern", hint="t1"),
    Kind("pattern", "M", "Pattern", "模式", karma="正业", category="pattern", hint="t1", reusable=True),
    Kind("preference", "U", "Preference", "偏好", _ONE, "习气", "preference", reusable=True, always=True),
    Kind("checklist", "CK", "Checklist", "检查清单", _ONE, "正业", "checklist", reusable=True),
    Kind("domain-note", "DN", "Domain note", "领域笔记", _ONE, "正业", "domain-note"),
)


FOLDERS = tuple(dict.fromkeys(kind.folder for kind in KINDS))
"""The folders under `content/` that hold records, each once."""


class Karma(NamedTuple):
    """One class of deed and how it is handled (RUYI "业力分类")."""

    name: str
    zh: str
    handling: str
    """distil: becomes an anchor; session: kept with the session only; pitfall: becomes a [P] to be dealt with."""


KARMA: tuple[Karma, ...] = (
    Karma("wholesome", "正业", "distil"),
    Karma("neutral", "中业", "session"),
    Karma("unwholesome", "恶业", "pitfall"),
)

BY_NAME = {kind.name: kind for kind in KINDS}
BY_PREFIX = {kind.prefix: kind for kind in KINDS}
_SPOKEN = {
    word: kind for kind in KINDS for word in (kind.name, kind.name + "s", kind.prefix.lower(), kind.en.lower(), kind.zh)
}
_HEADINGS = {
    heading.lower(): section.name for section in SECTIONS for heading in (section.en, section.zh, *section.aliases)
}


def find_kind(word: str) -> Kind | None:
    """Return the kind that *word* names: its name, plural, prefix or Chinese label; None if there is none."""
    return _SPOKEN.get(word) or _SPOKEN.get(word.lower())


def kind_label(kind: str, language: str) -> str:
    """Return what *kind* is called in *language*; one that the table does not have keeps its own name."""
    row = BY_NAME.get(kind)
    return kind if row is None else row.zh if language == "zh" else row.en


def resolve_section_name(heading: str) -> str:
    """Return the canonical section name *heading* stands for, or "".

    Accepts "Decision", "决策", "Decision (决策)" and "决策（Decision）" (RUYI-19).
    """
    plain = heading.strip().rstrip(":：").strip().lower()
    if plain in _HEADINGS:
        return _HEADINGS[plain]
    # "决策（Decision）" is looked for by either half; a full-width bracket counts as a plain one
    head, _, tail = plain.replace("（", "(").replace("）", ")").partition("(")
    return _HEADINGS.get(head.strip()) or _HEADINGS.get(tail.rstrip(")").strip(), "") if tail else ""


def section_label(name: str, language: str) -> str:
    """Return the heading under which the canonical section *name* is written in *language*."""
    section = next(s for s in SECTIONS if s.name == name)
    return section.zh if language == "zh" else section.en


def join_section_labels(names: Iterable[str], language: str) -> str:
    """Return the labels of the canonical sections *names* as they are named in a sentence."""
    return ", ".join(section_label(name, language).lower() for name in names)


_LONGEST = 40
"""Characters of a status that kb does not know, which may be any text."""

_STATUSES = (msg("proposed"), msg("accepted"), msg("rejected"), msg("deprecated"), msg("superseded"))
_AREAS = (msg("architecture"), msg("security"), msg("performance"), msg("compliance"), msg("modules"))
_MESSAGES = {message.template: message for message in _STATUSES + _AREAS}


def status_name(status: str) -> Message | str:
    """Return what *status* is called in a sentence; one that kb does not know is itself, cut short."""
    return _MESSAGES.get(str(status)) or clip(str(status), _LONGEST)


def area_name(area: str) -> Message | str:
    """Return what the *area* of a large impact is called in a sentence."""
    return _MESSAGES.get(area, area)
