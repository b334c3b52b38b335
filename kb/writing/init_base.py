"""Make a knowledge base: a folder, its settings, and the first commit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kb.config import FILE, Config, load, meaning_of
from kb.errors import BadInput, GitFailed, KbError, NoKnowledgeBase
from kb.files import content
from kb.git import driver_setup, worktree
from kb.git.git_dir import enclosing
from kb.git.git_process import run, scrubbed
from kb.git.repository import Move, Repository, message
from kb.git.worktree import Changes
from kb.i18n import msg
from kb.index.lookup import MAKE_ONE
from kb.installation import requirement
from kb.paths import around, passed_over, user_home
from kb.records.front_matter import scalar
from kb.state.state_folder import State
from kb.text.segment import slugify
from kb.writing.workflows import unsettled, workflows

ATTRIBUTES = "content/.gitattributes"


class Workflows(NamedTuple):
    """The wish for workflows."""

    source: str
    """The address from which they install kb; "": what the settings say."""


def create_base(
    place: str,
    environment: Mapping[str, str],
    *,
    inside: bool = False,
    name: str = "",
    language: str = "",
    with_ci: bool = False,
    source: str = "",
) -> list[str]:
    """Make a knowledge base at *place* and return the files that were written; an existing one is completed.

    *inside*: in the git repository that is there. Otherwise *place* becomes a repository of its own. Only the files
    that are missing are written and committed. *source* is the address from which workflows install kb, in place of the
    setting `install_from`; those that were written without one get it, and so do new settings. Raise BadInput for what
    is no address with a tag.
    """
    place = os.path.realpath(place)
    inside = inside or os.path.isfile(os.path.join(place, FILE))
    if os.path.isfile(place):
        raise BadInput(msg("{path} is a file", path=place))
    if source:
        requirement(source)
    try:
        ci = Workflows(source) if with_ci else None
        return _made(place, environment, inside=inside, name=name, language=language, ci=ci)
    except OSError as error:
        raise KbError(msg("{path} cannot be written: {problem}", path=place, problem=error.strerror)) from None


def place_around(folder: str, environment: Mapping[str, str]) -> str:
    """Return where the knowledge base is that *folder* stands in, or else the user's own place, `~/.kb`.

    A repository without one is not passed over silently: raise NoKnowledgeBase there.
    """
    if place := around(folder, environment):
        return place
    if over := passed_over(folder, environment):
        said = msg("{path} belongs to somebody else and is passed over", path=os.path.join(over, FILE))
        raise NoKnowledgeBase(said, hint=msg("if you trust its owner, name it: KB_HOME={path}", path=over))
    if found := enclosing(folder):
        raise NoKnowledgeBase(msg("{path} is a git repository without a knowledge base", path=found[0]), hint=MAKE_ONE)
    return user_home(environment)


def _made(
    place: str, environment: Mapping[str, str], *, inside: bool, name: str, language: str, ci: Workflows | None
) -> list[str]:
    os.makedirs(place, exist_ok=True)
    around = enclosing(place)
    if around is None or (not inside and around[0] != place):
        _git_init(place, environment)
    project = slugify(os.path.basename(around[0])) if inside and around else ""
    name = name or os.path.basename(place).strip(".") or "kb"
    files = _files({"name": name, "language": language, "project": project, "install_from": ci.source if ci else ""})
    repository = Repository(place, environment)
    remote = repository.git("config", "--get", "remote.origin.url", check=False).decode() if ci else ""
    if ci:
        files |= workflows(remote, _installed_from(place, ci))
    tip = repository.head().oid
    kept = repository.files(tip) if tip else {}
    changes: dict[str, tuple[bytes | None, bytes | None]] = {
        path: (None, data)
        for path, data in files.items()
        if path not in kept and not os.path.lexists(os.path.join(place, path))
    }
    if ATTRIBUTES in kept:
        before = repository.blob(tip, ATTRIBUTES) or b""
        after = _with_rules(before, driver_setup.missing_rules(repository, before))
        changes |= {ATTRIBUTES: (before, after)} if after != before else {}
    if ci:
        changes |= _settled(repository, tip, kept, files, remote)
    if changes:
        _commit(repository, environment, changes)
    driver_setup.install(repository)
    return sorted(changes)


def _installed_from(place: str, ci: Workflows) -> str:
    """Return the line for pip by which workflows install kb; "" where neither the call nor the settings name one."""
    if ci.source:
        return requirement(ci.source)
    try:
        source = load(place).install_from
        return requirement(source) if source else ""
    except BadInput as error:
        error.path = error.path or os.path.join(place, FILE)
        raise


def _settled(
    repository: Repository, tip: str, kept: Mapping[str, str], files: Mapping[str, bytes], remote: str
) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return the workflows that were written when nobody knew where kb is installed from, now that it is known."""
    return {
        path: (old, files[path])
        for path, old in unsettled(remote).items()
        if files[path] != old and path in kept and repository.blob(tip, path) == old
        and content(os.path.join(repository.root, path)) == old
    }  # fmt: skip


def _with_rules(attributes: bytes, rules: Sequence[str]) -> bytes:
    """Return *attributes* with the *rules* that records are merged by kb as the last lines."""
    end = b"\r\n" if b"\r\n" in attributes else b"\n"
    gap = b"" if not attributes or attributes.endswith(b"\n") or not rules else end
    return attributes + gap + b"".join(rule.encode() + end for rule in rules)


def _git_init(place: str, environment: Mapping[str, str]) -> None:
    env = scrubbed(environment)
    configured = run(["git", "config", "--get", "init.defaultBranch"], env).out.strip()
    output = run(["git", "init", "-q", *([] if configured else ["-b", "main"]), place], env)
    if output.code:
        raise GitFailed(msg("git {command} failed: {problem}", command="init", problem=output.error.strip()))


def _commit(repository: Repository, environment: Mapping[str, str], changes: Changes) -> None:
    with repository.locked():
        if busy := repository.not_now():
            raise busy
        head = repository.head()
        words = message("Make a knowledge base", "", {"Kb-Op": "init"})
        with State(repository.root, environment).stage() as stage:
            files = {path: data for path, (_, data) in changes.items()}
            commit = repository.build(head.oid, files, words, stage=stage)
        edited = [path for path, (before, _) in changes.items() if before is not None]
        with worktree.held(repository) as following:
            reserved = worktree.staged(repository, head.oid, edited)
            repository.publish([Move(head.ref, commit, head.oid)], "kb: init")
            following.follow(changes, commit, reserved)


def _files(settings: Mapping[str, str]) -> dict[str, bytes]:
    return {
        FILE: settings_text({key: value for key, value in settings.items() if value}).encode(),
        ATTRIBUTES: _with_rules(b"* -text\n", driver_setup.RULES),
        "content/anchors/global/.gitkeep": b"",
        "content/anchors/projects/.gitkeep": b"",
        "content/sessions/.gitkeep": b"",
    }


def settings_text(given: Mapping[str, object]) -> str:
    """Return a kb.toml that sets *given* and shows every other setting, with its default, as a comment."""
    rows = []
    language = str(given.get("language", ""))
    for key, default in Config()._asdict().items():
        value = _toml(given.get(key, default))
        rows.append(f"# {meaning_of(key, language)}\n{'' if key in given else '# '}{key} = {value}\n")
    return "\n".join(rows)


def _toml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    text = scalar(value)
    return text if isinstance(value, bool | int | float) or text.startswith('"') else f'"{text}"'
