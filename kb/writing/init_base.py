"""Make a knowledge base: a folder, its settings, the first commit, and the merge driver of the clone.

The committed `.gitattributes` says which files are records; the configuration of each clone has the command that
merges them. This is kb at its installed path, or else the one on PATH. If neither works, git merges line by line, so
that never one side alone becomes the result.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from kb import installation
from kb.adr.adopted import parse_adopted_folders
from kb.config import FILE, Config, describe_setting, load
from kb.errors import BadInput, GitFailed, KbError, NoKnowledgeBase, describe_os_error
from kb.files import read_if_exists, remove_folder, write_file
from kb.git import worktree
from kb.git.commit_message import format_commit_message
from kb.git.git_process import find_git_dir, run, scrub_environment
from kb.git.repository import RefMove, Repository
from kb.git.worktree import Changes
from kb.i18n import msg
from kb.index.record_ids import MAKE_ONE
from kb.installation import build_requirement
from kb.paths import find_root_above, find_untrusted_root, user_home
from kb.records.front_matter import format_scalar
from kb.records.kinds import FOLDERS
from kb.state.state_folder import StateFolder
from kb.text.segment import slugify

ATTRIBUTES = "content/.gitattributes"
_GITHUB = {
    ".github/workflows/kb.yml": "github-workflow.yml",
    ".github/workflows/kb-wiki.yml": "github-wiki.yml",
    ".github/workflows/kb-digest.yml": "github-digest.yml",
}
_GITLAB = {
    ".gitlab/kb-ci.yml": "gitlab-ci.yml",
    ".gitlab/kb-wiki.yml": "gitlab-wiki.yml",
    ".gitlab/kb-digest.yml": "gitlab-digest.yml",
}
_PROSE = re.compile(r"(?i)(?:.*/)?(?:licen[cs]e|copying|notice|codeowners|kb\.toml)|.*\.(?:md|markdown|rst|adoc|txt)")
"""Files that a repository of records may have without being a code project."""
_WEEKLY = ("17 6 * * 1", "7d")
"""Default time of the digest (cron) and the period it covers."""
_EVERYWHERE = {".pre-commit-config.yaml": "pre-commit-config.yaml"}


def create_base(
    root: str,
    environment: Mapping[str, str],
    *,
    inside: bool = False,
    name: str = "",
    language: str = "",
    with_ci: bool = False,
    source: str = "",
    adopt: Sequence[str] = (),
) -> list[str]:
    """Make a knowledge base at *root*, or complete an existing one, and return the files written.

    *inside*: use the git repository around *root*; otherwise *root* becomes a repository of its own. Only missing files
    are written and committed. *source*: the address from which workflows install kb, instead of the setting
    `install_from`; new settings get it, and so do workflows without one. Raise BadInput for an address without a tag.
    *adopt*: folders whose decision records are read in place, as in the setting.
    """
    root = os.path.realpath(root)
    inside = inside or os.path.isfile(os.path.join(root, FILE))
    if os.path.isfile(root):
        raise BadInput(msg("{path} is a file", path=root))
    if source:
        build_requirement(source)
    parse_adopted_folders(adopt, "")
    given = {"name": name, "language": language, "install_from": source if with_ci else "", "adopt": tuple(adopt)}
    try:
        return _write_base(root, environment, given, inside=inside, with_ci=with_ci)
    except OSError as error:
        raise KbError(msg("{path} cannot be written: {problem}", path=root, problem=describe_os_error(error))) from None


def find_base_folder(folder: str, environment: Mapping[str, str]) -> str:
    """Return the root of the knowledge base around *folder*, or else the user's own, `~/.kb`.

    Raise NoKnowledgeBase in a repository without one.
    """
    if root := find_root_above(folder, environment):
        return root
    if over := find_untrusted_root(folder, environment):
        problem = msg("{path} belongs to another user and was skipped", path=os.path.join(over, FILE))
        raise NoKnowledgeBase(problem, hint=msg("if you trust its owner, name it: KB_HOME={path}", path=over))
    if repository := find_git_dir(folder):
        raise NoKnowledgeBase(
            msg("{path} is a git repository without a knowledge base", path=repository[0]), hint=MAKE_ONE
        )
    return user_home(environment)


def _write_base(
    root: str, environment: Mapping[str, str], given: Mapping[str, Any], *, inside: bool, with_ci: bool
) -> list[str]:
    """Write and commit the missing files; *given*: settings from the caller."""
    os.makedirs(root, exist_ok=True)
    around = find_git_dir(root)
    if around is None or (not inside and around[0] != root):
        env = scrub_environment(environment)
        configured = run(["git", "config", "--get", "init.defaultBranch"], env).out.strip()
        output = run(["git", "init", "-q", *([] if configured else ["-b", "main"]), root], env)
        if output.code:
            raise GitFailed(msg("git {command} failed: {problem}", command="init", problem=output.error.strip()))
    is_of_project = bool(around) and (inside or _has_code(root, environment))
    project = slugify(os.path.basename(around[0])) if around and is_of_project else ""
    name = given["name"] or os.path.basename(root).strip(".") or "kb"
    settings = {key: value for key, value in {**given, "name": name, "project": project}.items() if value}
    files = {
        FILE: render_settings(settings).encode(),
        ATTRIBUTES: _append_rules(b"* -text\n", RULES),
        "content/anchors/global/.gitkeep": b"",
        "content/anchors/projects/.gitkeep": b"",
        "content/sessions/.gitkeep": b"",
    }
    repository = Repository(root, environment)
    remote = ""
    if with_ci:
        remote = repository.git("config", "--get", "remote.origin.url", check=False).decode()
        files |= build_workflows(remote, _resolve_requirement(root, given["install_from"]))
    tip = repository.head().oid
    committed = repository.list_files(tip) if tip else {}
    changes: dict[str, tuple[bytes | None, bytes | None]] = {
        path: (None, data)
        for path, data in files.items()
        if path not in committed and not os.path.lexists(os.path.join(root, path))
    }
    if given["adopt"] and FILE not in changes:
        present = read_if_exists(os.path.join(root, FILE)) or b""
        after = _add_adopted(present.decode(), given["adopt"], load(root).adopt).encode()
        changes |= {FILE: (present, after)} if after != present else {}
    if ATTRIBUTES in committed:
        before = repository.read_blob(tip, ATTRIBUTES) or b""
        after = _append_rules(before, find_missing_rules(repository, before))
        changes |= {ATTRIBUTES: (before, after)} if after != before else {}
    if with_ci:
        changes |= _update_workflows(repository, tip, committed, files, remote)
    if changes:
        _commit_files(repository, environment, changes)
    install_driver(repository)
    return sorted(changes)


def _has_code(root: str, environment: Mapping[str, str]) -> bool:
    """Return whether the repository at *root* has more files than a new repository of records.

    `kb init .` in a project means the project's records; a README and a licence do not make a project.
    """
    output = run(["git", "-C", root, "ls-files", "-z"], scrub_environment(environment))
    names = [
        name for name in os.fsdecode(output.out).split("\0") if name and not name.startswith((".", "content/", "docs/"))
    ]
    return any(not _PROSE.fullmatch(name) for name in names)


def _add_adopted(text: str, rows: Sequence[str], present: Sequence[str]) -> str:
    """Return the *text* of a kb.toml with *rows* added to the *present* ones in its setting `adopt`."""
    line = f"adopt = {_format_toml(tuple(dict.fromkeys((*present, *rows))))}"
    setting = re.compile(r"(?ms)^(?:# )?adopt = \[[^\]]*\]")
    if setting.search(text):
        return setting.sub(lambda _: line, text, count=1)
    first = re.search(r"(?m)^\[", text)  # below a table header it would be a setting of that table
    at = first.start() if first else len(text)
    return f"{text[:at].rstrip()}\n\n# {describe_setting('adopt', '')}\n{line}\n" + ("\n" if first else "") + text[at:]


def _resolve_requirement(root: str, source: str) -> str:
    """Return the pip requirement by which workflows install kb, or "" if neither caller nor settings have one."""
    try:
        source = source or load(root).install_from
        return build_requirement(source) if source else ""
    except BadInput as error:
        error.path = error.path or os.path.join(root, FILE)
        raise


def _update_workflows(
    repository: Repository, tip: str, kept: Mapping[str, str], files: Mapping[str, bytes], remote: str
) -> dict[str, tuple[bytes | None, bytes | None]]:
    """Return new versions of the workflows that were written without an address to install kb from."""
    found: dict[str, tuple[bytes | None, bytes | None]] = {}
    for path, old in build_workflows(remote, installation.UNKNOWN).items():
        present = read_if_exists(os.path.join(repository.root, path))
        if files[path] != old == present and path in kept and repository.read_blob(tip, path) == old:
            found[path] = (old, files[path])
    return found


def _append_rules(attributes: bytes, rules: Sequence[str]) -> bytes:
    """Return *attributes* with the *rules* for kb's merge driver as the last lines."""
    end = b"\r\n" if b"\r\n" in attributes else b"\n"
    gap = b"" if not attributes or attributes.endswith(b"\n") or not rules else end
    return attributes + gap + b"".join(rule.encode() + end for rule in rules)


def _commit_files(repository: Repository, environment: Mapping[str, str], changes: Changes) -> None:
    with repository.hold_lock():
        if busy := repository.find_commit_obstacle():
            raise busy
        head = repository.head()
        message = format_commit_message("Make a knowledge base", "", {"Kb-Op": "init"})
        with StateFolder(repository.root, environment).open_stage() as stage:
            files = {path: data for path, (_, data) in changes.items()}
            commit = repository.build_commit(head.oid, files, message, stage=stage)
        edited = [path for path, (before, _) in changes.items() if before is not None]
        with worktree.hold_index(repository) as following:
            reserved = worktree.read_staged_files(repository, head.oid, edited)
            repository.update_refs([RefMove(head.ref, commit, head.oid)], "kb: init")
            following.apply_published(changes, commit, reserved)


def render_settings(given: Mapping[str, object]) -> str:
    """Return a kb.toml that sets *given* and shows every other setting, with its default, as a comment."""
    rows = []
    language = str(given.get("language", ""))
    for key, default in Config()._asdict().items():
        value = _format_toml(given.get(key, default))
        rows.append(f"# {describe_setting(key, language)}\n{'' if key in given else '# '}{key} = {value}\n")
    return "\n".join(rows)


def _format_toml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_format_toml, value)) + "]"
    text = format_scalar(value)
    return text if isinstance(value, bool | int | float) or text.startswith('"') else f'"{text}"'


def build_workflows(remote: str = "", requirement: str = "", digest: tuple[str, str] = _WEEKLY) -> dict[str, bytes]:
    """Return path → content of the workflows for the code host of the URL *remote*, by default GitHub.

    They install kb by the pip *requirement* (default: the source of the running kb). *digest*: its time as the five
    fields of cron, and the period it covers.
    """
    folder = resources.files("kb.templates").joinpath("ci")
    wanted = {**(_GITLAB if "gitlab" in remote.lower() else _GITHUB), **_EVERYWHERE}
    line = requirement or installation.find_own_requirement() or installation.UNKNOWN
    cron, since = (text.encode() for text in digest)
    values = {
        b"@REQUIREMENT@": line.encode(),
        b"@WIKI_REQUIREMENT@": installation.add_extra(line, "wiki").encode(),
        b"@CRON@": cron,
        b"@SINCE@": since,
    }
    files = {path: folder.joinpath(name).read_bytes() for path, name in wanted.items()}
    for place, value in values.items():
        files = {path: data.replace(place, value) for path, data in files.items()}
    return files


# -- merge driver ---------------------------------------------------------------------------------

DRIVER = "kb"
_DRIVER_KEY = f"merge.{DRIVER}.driver"
RULES = tuple(f"{folder}/**/*.md merge=kb" for folder in FOLDERS)
"""The lines of `content/.gitattributes`: one for each folder of records."""
_FORMAT_CODE = re.compile("%(.)")
_SAMPLE = f"content/{FOLDERS[0]}/global/D001-sample.md"
# if kb cannot run, use git's own line merge: git takes exit 0 with an unchanged %A for a merge
_LINE = (
    '; [ -x "$kb" ] || kb=kb; "$kb" merge-driver %O %A %B %P && exit; code=$?; '
    "[ $code = 1 ] && grep -q '^<<<<<<< ' %A && exit 1; "
    "git merge-file -q -L ours -L base -L theirs %A %O %B; text=$?; "
    "[ $code = 126 ] || [ $code = 127 ] || exit 1; exit $text"
)
"""kb marks its conflicts; the shell exits with 126 or 127 if a command cannot be run."""
_RECORD = """---
id: D001
kind: decision
title: Sample
tags: [{tags}]
---
<!-- MACHINE_BLOCK_START -->
<!-- MACHINE_BLOCK_END -->
<!-- USER_BLOCK_START -->
<!-- USER_BLOCK_END -->
"""


def install_driver(repository: Repository) -> None:
    """Tell git in this clone how to merge records."""
    for key, value in ((f"merge.{DRIVER}.name", "records of kb"), (_DRIVER_KEY, build_own_command())):
        if _read_setting(repository, key) != value:
            repository.git("config", "--local", key, value)


def build_own_command() -> str:
    """Return the merge command with the kb of the running Python, or else the one on PATH."""
    beside = os.path.join(os.path.dirname(sys.executable), DRIVER)
    return build_driver_command(beside if os.path.exists(beside) else DRIVER)


def build_driver_command(program: str) -> str:
    """Return the merge command with the kb at *program*."""
    # git replaces %O, %A, … in the whole line, so a percent sign in the path of kb is doubled
    return f"kb={shlex.quote(program)}".replace("%", "%%") + _LINE


def is_driver_installed(repository: Repository) -> bool:
    """Return whether this clone has the merge command of this kb."""
    return _read_setting(repository, _DRIVER_KEY) == build_own_command()


def _read_setting(repository: Repository, key: str) -> str:
    return repository.git("config", "--local", "--get", key, check=False).decode("utf-8", "replace").rstrip("\n")


def read_merge_attribute(repository: Repository, folder: str = FOLDERS[0]) -> str:
    """Return the attribute `merge` of a record in *folder*: "kb", another driver, or "unspecified"."""
    sample = _SAMPLE.replace(FOLDERS[0], folder)
    output = repository.git("check-attr", "-z", "merge", "--", repository.to_git_path(sample))
    return output.decode("utf-8", "replace").split("\0")[2]


def find_missing_rules(repository: Repository, attributes: bytes) -> list[str]:
    """Return the rules missing from *attributes* whose folders have no other rule."""
    return [
        rule
        for folder, rule in zip(FOLDERS, RULES, strict=True)
        if rule.encode() not in attributes and read_merge_attribute(repository, folder) == "unspecified"
    ]


def is_driver_working(repository: Repository, environment: Mapping[str, str]) -> bool:
    """Return whether the merge command works: try it on two sides that git's own merge cannot join.

    Only this kb's own command is run, never a foreign one from the configuration.
    """
    folder = os.path.join(repository.private, f"driver-{os.getpid()}")
    names = {mark: os.path.join(folder, mark) for mark in "OAB"}
    values = {**{mark: shlex.quote(path) for mark, path in names.items()}, "P": _SAMPLE, "%": "%"}
    try:
        for mark, tags in zip("OAB", ("a", "a, b", "a, c"), strict=True):
            write_file(names[mark], _RECORD.format(tags=tags).encode())
        command = _FORMAT_CODE.sub(lambda match: values[match.group(1)], build_own_command())
        output = run(["sh", "-c", command], scrub_environment(environment))
        return output.code == 0 and read_if_exists(names["A"]) == _RECORD.format(tags="a, b, c").encode()
    finally:
        remove_folder(folder)
