"""Table of command-line programs with what each does to its path arguments: read, write, copy, move, remove.

Effects of rare options and of scripts are detected after the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, takewhile

from kb.guard.shell import MAX_SHELL_CHARACTERS, UNKNOWN, ShellCommand, parse_commands
from kb.hosts import HOSTS
from kb.startup.lazy_regex import IGNORECASE, regex
from kb.startup.namedtuple import NamedTuple

RESTORED, REMOVED = "restored", "removed"


class CallPath(NamedTuple):
    """A path as spelled in a call."""

    path: str
    folder: str = ""
    """The folder it is relative to, after a shell's `cd`; "" for the folder of the call."""
    whole: bool = False
    """Whether it stands for everything under it, if it is a folder."""
    copied_name: str = ""
    """The name of the file copied into it, if it is a folder."""
    undo_kind: str = ""
    """RESTORED or REMOVED if the call may revert a change of it, "" for any other write."""


class CallEffects(NamedTuple):
    """The effects of one tool call, as far as they are known before it runs."""

    reads: tuple[CallPath, ...] = ()
    writes: tuple[CallPath, ...] = ()
    asked: tuple[str, ...] = ()
    """The commands or tools of kb with which it reads records."""
    forged_answer: str = ""
    """The words in it that pose as a person's answer."""
    decides: str = ""
    """The words in it that decide for a person, who is then asked."""
    is_unbounded: bool = False
    """Whether it may write more or other files than those listed."""


_MAX_DEPTH = 6
_MAX_FIND_WORDS = 100
"""Maximum number of words of a command run by `find`, and of its start folders, to read."""
_DISCARDED_OUTPUTS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-")
_NULL_DEVICES = ("/dev/null", "dev/null")
_INTERPRETERS = regex(r"(?:python|pypy|node|deno|bun|perl|ruby|php|lua|osascript)[\d.]*$")
_AGENTS = frozenset(host.program for host in HOSTS.values())
_TERMINALS = ("expect", "script", "unbuffer")
"""Programs that run a command in a terminal of its own."""
_EDITORS_IN_PLACE = ("sed", "gsed", "perl", "ruby")
_IN_PLACE_OPTION = regex(r"--in-place|-[a-zE0]{0,3}i")
_OPEN_CALL = regex(r"\bopen\(\s*f?['\"]([^'\"\n]{1,300})['\"]\s*,\s*(?:mode=)?['\"][wax]")
"""A write to a literal file name in a Python program."""
_PATCH_HEADER = regex(
    r"(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |(?:\+\+\+|---) |rename (?:from|to) |copy to "
    r"|diff --git (?:\"?a/[^\n]*?) )(\"?[^\t\r\n]+)"
)

_ANSWER = regex(r"mb\s*[:：]\s*(?:write|no)\b", IGNORECASE)
_HOOK_CALL = regex(r"\bkb-hook\W{1,4}(?!write\b|-)[\w-]+|-m\s+kb\.hooks\b|kb\.hooks\s+import")
"""Code that sends an event to kb instead of the host."""
_PROPOSAL_CODE = (
    regex(r"\bkb\.(?:cli|capture|knowledge_base)\b"),
    regex(r"\bproposals?\b"),
    regex(r"\b(?:confirm|reject)"),
)
_DECISION_COMMAND = regex(
    r"\bkb\W{1,6}(?:-\S{1,40}\W{1,6})?(proposal|review|inbox)\W{1,6}(?:-\S{1,40}\W{1,6})?(?:confirm|accept|reject|promote)\b"
)
"""Code that gives a person's answer through kb's command line."""
_OVERRULING_COMMANDS = ("edit", "rm", "status", "supersede", "write")
"""The commands of kb that end an accepted record with `--yes`, or when typed at a terminal; else they open a review."""
_TYPED_COMMAND = regex(rf"\bkb\W{{1,6}}(?:-\S{{1,40}}\W{{1,6}})?(?:{'|'.join(_OVERRULING_COMMANDS)})\b")
"""A command in such a terminal that would count as typed by a person."""
_READING_COMMANDS = "show search list hint context history refs log review anchors 锚点 load 加载 spawn".split()
"""The commands of kb that show records."""
_DECIDING_COMMANDS = {"inbox": ("promote",), "review": ("accept", "reject")}
"""The commands of kb that release held or reviewed records."""
_VALUE_OPTIONS = ("--kb", "--why", "--scope", "--by", "--code", "--lang")
_PROPOSAL_READING_WORDS = ("list", "show", "add", "--help", "-h", "--json")
_REVIEW = "kb/review/"
_GIT_MERGE_COMMANDS = ("merge", "cherry-pick", "rebase", "pull", "update-ref")
_GIT_VALUE_OPTIONS = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path")


def analyse_command_line(
    words: Sequence[str], folder: str, known: Mapping[str, str], *, as_text: bool = False, depth: int = 0
) -> CallEffects:
    """Return the effects of running *words* in *folder*; *as_text*: the first word is a shell script."""
    if not as_text:
        return _analyse_command(ShellCommand(tuple(words), folder), known, depth)
    commands = [one._replace(folder=_join_folder(folder, one.folder)) for one in parse_commands(words[0], known)]
    return merge_effects([_analyse_command(one, known, depth) for one in commands])


def merge_effects(calls: Sequence[CallEffects]) -> CallEffects:
    """Return the combined effects of *calls*."""
    return CallEffects(
        tuple(dict.fromkeys(path for call in calls for path in call.reads)),
        tuple(dict.fromkeys(path for call in calls for path in call.writes)),
        tuple(dict.fromkeys(word for call in calls for word in call.asked)),
        next((call.forged_answer for call in calls if call.forged_answer), ""),
        next((call.decides for call in calls if call.decides), ""),
        any(call.is_unbounded for call in calls),
    )


def list_patched_files(text: str) -> list[str]:
    """Return the files named in the patch *text*, in the format of git, `diff -u` or `apply_patch`."""
    names = []
    for match in _PATCH_HEADER.finditer(text):
        name = match.group(1).strip().strip('"')
        if match.group().startswith(("+++", "---", "diff")) and name[:2] in ("a/", "b/"):
            name = name[2:]
        if name and name not in _NULL_DEVICES:
            names.append(name)
    return list(dict.fromkeys(names))


def _join_folder(folder: str, inner: str) -> str:
    return inner if not folder or inner.startswith(("/", "~")) else f"{folder}/{inner}" if inner else folder


def _analyse_command(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the effects of one simple command: its redirections, and those of its program."""
    name = _get_name(command)
    if name == "[[":  # here < and > compare
        return CallEffects()
    # `sort < content/a.md > b.md`: its redirections count whatever the program is
    sent = CallEffects(_build_paths(command, command.reads), _build_paths(command, command.writes))
    return (
        merge_effects([sent, _analyse_program(name, command, known, depth)]) if name and depth <= _MAX_DEPTH else sent
    )


def _get_name(command: ShellCommand) -> str:
    return command.words[0].rpartition("/")[2].lower() if command.words else ""


def _analyse_program(name: str, command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the effects of the program *name* in *command*, by its row in the table."""
    words = command.words[1:]
    action = _PROGRAMS.get(name, "")
    if callable(action):
        return action(command, known, depth)
    # `python -m kb proposal confirm 3`, with any name of that Python
    if words[:2] == ("-m", "kb"):
        return _analyse_kb(command._replace(words=words[1:]), known, depth)
    if name in _EDITORS_IN_PLACE and any(map(_IN_PLACE_OPTION.match, words)):
        return CallEffects(writes=_build_paths(command, _list_edited_files(words)))
    if _INTERPRETERS.match(name) or name in _TERMINALS:
        return _analyse_interpreter(command, known, depth)
    paths = _drop_options(words)
    if action == "read":
        return CallEffects(_build_paths(command, paths))
    if action in ("write", "remove"):
        # only `rm` may be a revert by deletion (see CallPath)
        undo_kind = REMOVED if name == "rm" else ""
        return CallEffects(writes=_build_paths(command, paths, whole=action == "remove", undo_kind=undo_kind))
    if not action:
        return CallEffects()
    *sources, into = paths or [""]
    # `cp notes.md content/anchors` writes content/anchors/notes.md where that is a folder: only the disk knows
    names = [source.rstrip("/").rpartition("/")[2] for source in sources]
    copied = tuple(CallPath(into, command.folder, copied_name=name) for name in names)
    if action == "move":
        return CallEffects(writes=(*_build_paths(command, sources, whole=True), *copied))
    return CallEffects(_build_paths(command, sources), copied)


def _build_paths(
    command: ShellCommand, paths: Sequence[str], *, whole: bool = False, undo_kind: str = ""
) -> tuple[CallPath, ...]:
    return tuple(
        CallPath(path, command.folder, whole, "", undo_kind)
        for path in paths
        if path and path not in _DISCARDED_OUTPUTS
    )


def _drop_options(words: Sequence[str]) -> list[str]:
    return [word for word in words if not word.startswith("-")]


def _narrow_paths(paths: Sequence[CallPath]) -> tuple[CallPath, ...]:
    """Return *paths* with unknown contents, where a filter selects files under them."""
    return tuple(path._replace(whole=False) for path in paths)


# -- programs that run others ------------------------------------------------------------------------


def _analyse_wrapper(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the effects of the command that a wrapper runs: it follows the options and their possible values."""
    name, rest = _get_name(command), list(command.words[1:])
    if name == "eval":
        return analyse_command_line([" ".join(rest)], command.folder, known, as_text=True, depth=depth + 1)
    if name in _TERMINALS and (typed := _TYPED_COMMAND.search(" ".join(rest)[:MAX_SHELL_CHARACTERS])):
        return CallEffects(decides=typed.group())
    if name == "script":
        return _analyse_shell(command, known, depth)
    is_fed = name in ("xargs", "parallel")
    if is_fed:  # `ls content/anchors | xargs rm`: the arguments of the first command are what arrives
        rest += " ".join(_drop_options(command.before[1:])).replace("\\n", " ").split()
    # `timeout 5 rm x`, `env A=b rm x`, `uv run python x`: the first known name among three likely words
    likely = [n for n, word in enumerate(rest) if not (word[:1] in "-0123456789" or "=" in word)][:3]
    names = {n: rest[n].rpartition("/")[2] for n in likely}
    at = next((n for n, one in names.items() if one in _PROGRAMS or _INTERPRETERS.match(one)), len(rest))
    call = _analyse_command(command._replace(words=tuple(rest[at:]), reads=(), writes=()), known, depth + 1)
    return call._replace(writes=_narrow_paths(call.writes)) if is_fed else call


def _analyse_shell(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    words = command.words[1:]
    # `bash -lc "rm x"`, `bash <<EOF`, `echo "rm x" | bash`
    texts = [after for word, after in pairwise(words) if word.startswith("-") and word.endswith("c")]
    printed = " ".join(command.before[1:]) if command.before[:1] in (("echo",), ("printf",)) else ""
    text = texts[0] if texts else command.given or printed
    return analyse_command_line([text], command.folder, known, as_text=True, depth=depth + 1) if text else CallEffects()


def _analyse_interpreter(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the words in a script, or in an agent's prompt, that pose as a person's answer, and the files it opens."""
    name, text = (
        _get_name(command),
        "\n".join((*command.words[1:], command.given, *command.before))[:MAX_SHELL_CHARACTERS],
    )
    if name in _AGENTS:  # `claude -p "mb:write"`, `codex exec "mb：no"`: an agent answers itself for the person
        answer = _ANSWER.search(text)
        return CallEffects(forged_answer=answer.group()) if answer else CallEffects()
    if match := _HOOK_CALL.search(text):
        return CallEffects(forged_answer=match.group())
    if all(part.search(text) for part in _PROPOSAL_CODE):
        return CallEffects(forged_answer="kb proposal")
    if match := _DECISION_COMMAND.search(text):
        shown = match.group()
        return CallEffects(forged_answer=shown) if match.group(1) == "proposal" else CallEffects(decides=shown)
    if name in _TERMINALS and (match := _TYPED_COMMAND.search(text)):
        return CallEffects(decides=match.group())
    return CallEffects(writes=_build_paths(command, _OPEN_CALL.findall(text)))


def _analyse_find(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the effects of `find`: with -delete or -exec it writes some files under its start folders."""
    words = command.words[1:]
    tops = list(takewhile(lambda word: word[:1] not in "-(!", words)) or ["."]
    at = next((n for n, word in enumerate(words) if word in ("-delete", "-exec", "-execdir", "-ok")), len(words))
    # `find content -name '*.md' -exec rm {} +` is read as `rm` of some files under content
    run = ("rm", "{}") if "-delete" in words[at : at + 1] else words[at + 1 : at + _MAX_FIND_WORDS]
    run = tuple(takewhile(lambda word: word not in (";", "+"), run))
    filled = [path for word in run for path in (tops[:_MAX_FIND_WORDS] if "{}" in word else [word])]
    call = _analyse_command(ShellCommand(tuple(filled), command.folder), {}, _MAX_DEPTH)
    reads = (*_build_paths(command, tops), *call.reads)
    return CallEffects(reads, _narrow_paths(call.writes), is_unbounded=bool(call.writes))


# -- programs that change files ----------------------------------------------------------------------


def _list_edited_files(words: Sequence[str]) -> list[str]:
    """Return the files edited in place: all arguments except the script."""
    files, is_script, has_script = [], False, False
    for word in words:
        if not (is_script or word.startswith("-")):
            files.append(word)
        is_script = word in ("--expression", "--file") or (word[:1] == "-" != word[1:2] and word[-1] in "ef")
        has_script = has_script or is_script or word.startswith(("--expression", "--file"))
    return files if has_script else files[1:]


def _analyse_patch(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the effects of `patch` or `apply_patch`: the files in the patch, and the file argument."""
    words = command.words[1:]
    files = [word for word in _drop_options(words) if "\n" not in word]
    named = [*list_patched_files("\n".join((command.given, *words))), *files]
    return CallEffects(
        writes=_build_paths(command, named), is_unbounded=not named or bool(command.reads) or "-i" in words
    )


# -- git and kb --------------------------------------------------------------------------------------


def _analyse_git(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the files a git command names and writes in the work tree; moves of branches are not judged."""
    # `git -C sub -c core.pager=cat restore a.md`: options of git itself precede the command
    words, folder = list(command.words[1:]), command.folder
    while words and words[0].startswith("-"):
        folder = _join_folder(folder, words[1]) if words[0] == "-C" and len(words) > 1 else folder
        words = words[2:] if words[0] in _GIT_VALUE_OPTIONS else words[1:]
    verb, rest = (words[0], words[1:]) if words else ("", [])
    here, plain = command._replace(folder=folder), _drop_options(rest)
    if decided := _find_review_decision(verb, rest):
        return CallEffects(decides=decided)
    if verb in ("apply", "am"):
        named = list_patched_files(command.given)
        return CallEffects(writes=_build_paths(here, named), is_unbounded=not named)
    if verb == "clean":
        return _analyse_git_clean(here, rest)
    if verb in ("rm", "mv", "restore"):
        is_staged = {"--staged", "-S", "--cached"} & set(rest) and not {"--worktree", "-W"} & set(rest)
        undo_kind = RESTORED if verb == "restore" else ""
        if is_staged:
            return CallEffects()
        return CallEffects(writes=_build_paths(here, plain, whole=not undo_kind, undo_kind=undo_kind))
    if verb == "checkout":  # `git checkout main` moves, `git checkout main a.md` and `git checkout -- a` write
        named = rest[rest.index("--") + 1 :] if "--" in rest else [word for word in plain if "/" in word or "." in word]
        return CallEffects(writes=_build_paths(here, named))
    if verb in ("show", "diff", "grep", "blame", "log", "cat-file"):
        return CallEffects(_build_paths(here, [word.rpartition(":")[2] for word in plain]))
    return CallEffects()


def _find_review_decision(verb: str, words: Sequence[str]) -> str:
    """Return the git command if it accepts or rejects a review, else ""."""
    named, given = [word for word in words if _REVIEW in word], set(words)
    deletes = bool(given & {"-d", "-D", "--delete"})
    if verb == "branch":
        decides = deletes or bool(given & {"-m", "-M", "--move", "-f", "--force"})
    elif verb == "push":
        decides = deletes or any(word.startswith(":") for word in named)
    else:
        decides = verb in _GIT_MERGE_COMMANDS
    return " ".join(["git", verb, *words]) if named and decides else ""


def _analyse_git_clean(command: ShellCommand, words: Sequence[str]) -> CallEffects:
    """Return the effects of `git clean`; with -x it also deletes ignored files, among them kb's state."""
    flags = "".join(word[1:] for word in words if word[:1] == "-" != word[1:2])
    if "n" in flags or "--dry-run" in words:  # `git clean -ndx` only shows
        return CallEffects()
    takes_state = "x" in flags.lower() and not any(word.strip("/") == ".kb" for word in words)
    named = [word for before, word in pairwise(("", *words)) if word[:1] != "-" and before not in ("-e", "--exclude")]
    return CallEffects(writes=_build_paths(command, named or (["."] if takes_state else []), whole=takes_state))


def _analyse_hook(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the effects of calling `kb-hook`: an event that no host has sent."""
    event = command.words[1] if len(command.words) > 1 else "write"
    if event == "write" or event.startswith("-"):
        return CallEffects()
    return CallEffects(forged_answer=" ".join(command.words).replace(UNKNOWN, "…"))


def _analyse_kb(command: ShellCommand, known: Mapping[str, str], depth: int) -> CallEffects:
    """Return the effects of a kb command; only a person may decide on a proposal, however the command is spelled."""
    words = command.words[1:]
    rest = [
        word for before, word in pairwise(("", *words)) if not word.startswith("-") and before not in _VALUE_OPTIONS
    ]
    shown = " ".join(["kb", *words]).replace(UNKNOWN, "…")
    # `kb $WHAT confirm` may be a proposal; asking for a list, or adding one, needs no person
    if rest[:1] in (["proposal"], [UNKNOWN]):
        if len(rest) < 2 or rest[1] in _PROPOSAL_READING_WORDS:
            return CallEffects(asked=("proposal",))
        return CallEffects(forged_answer=shown)
    if not rest:
        return CallEffects()
    if set(_DECIDING_COMMANDS.get(rest[0], ())) & set(rest[1:]) or (
        rest[0] in _OVERRULING_COMMANDS and "--yes" in words
    ):
        return CallEffects(decides=shown)
    return CallEffects(asked=(rest[0],)) if rest[0] in _READING_COMMANDS else CallEffects()


# -- the table ---------------------------------------------------------------------------------------

_PROGRAMS: Mapping[str, str | Callable[[ShellCommand, Mapping[str, str], int], CallEffects]] = {
    name: action
    for names, action in (
        (
            "cat head tail less more bat nl tac grep egrep fgrep rg ag ack awk sed cut sort uniq diff jq yq strings",
            "read",
        ),
        ("view wc glow mdcat ls tree fd", "read"),
        # Those of PowerShell are among them.
        ("truncate touch tee sponge ed ex vi vim nvim nano emacs set-content add-content clear-content", "write"),
        ("out-file new-item", "write"),
        ("rm rmdir unlink shred trash remove-item", "remove"),
        ("mv move-item rename-item", "move"),
        ("cp ln rsync copy-item", "copy"),
        ("patch apply_patch applypatch", _analyse_patch),
        ("sh bash zsh dash ksh fish", _analyse_shell),
        ("sudo doas env nice time stdbuf timeout eval xargs parallel watch unbuffer script uv uvx", _analyse_wrapper),
        ("pipx poetry pdm hatch pipenv npx", _analyse_wrapper),
        (" ".join(_AGENTS), _analyse_interpreter),
        ("find", _analyse_find),
        ("git", _analyse_git),
        ("kb", _analyse_kb),
        ("kb-hook", _analyse_hook),
    )
    for name in names.split()
}
"""Lower-case program name → what it does with its non-option arguments.

It reads, writes or removes them (with everything under them), or copies or moves them to the last; or a function
analyses the command, given the variables and the depth. A program not listed here, and no interpreter, has no effects.
"""
