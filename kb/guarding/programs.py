"""What the programs that agents call do with the paths they are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from kb.guarding.shell import MOST, UNKNOWN, Command, commands
from kb.guarding.touched import Call, Place, patched, together
from kb.patterns import IGNORECASE, regex

_DEEP = 6
READERS = frozenset([
    "cat", "head", "tail", "less", "more", "bat", "nl", "tac", "grep", "egrep", "fgrep", "rg", "ag", "ack", "awk",
    "gawk", "sed", "cut", "sort", "uniq", "diff", "jq", "yq", "strings", "view", "xxd", "od", "fold", "column",
    "pr", "wc", "glow", "mdcat", "find", "ls", "tree", "fd", "cmp", "comm", "paste", "rev", "tee", "perl",
])  # fmt: skip
"""Programs that show what is in the files they are given."""
_ALL = frozenset(["truncate", "touch", "tee", "sponge", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs"])
"""Programs that write every path they are given."""
_GONE = frozenset(["rm", "rmdir", "unlink", "shred", "srm", "trash"])
"""Programs that take away every path they are given."""
_CMDLETS = frozenset(["set-content", "add-content", "clear-content", "out-file", "new-item", "copy-item"])
_CMDLETS_GONE = frozenset(["remove-item", "move-item", "rename-item", "del", "erase"])
"""The same for PowerShell."""
_LAST = frozenset(["cp", "install", "ln", "rsync", "scp", "ditto"])
"""Programs that write the last path they are given."""
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "fish", "busybox"])
_INTERPRETERS = regex(r"(?:python|pypy|node|deno|bun|perl|ruby|php|lua|osascript|Rscript|julia|tclsh|awk|gawk)[\d.]*$")
_HANDS_ON = frozenset([
    "sudo", "doas", "env", "nohup", "nice", "ionice", "time", "stdbuf", "timeout", "chronic", "setsid", "command",
    "exec", "eval", "xargs", "parallel", "watch", "unbuffer", "script", "caffeinate",
    "uv", "uvx", "pipx", "poetry", "pdm", "hatch", "pipenv", "rye", "npx",
])  # fmt: skip
_TAKES: Mapping[str, Sequence[str]] = {
    "sudo": ("-u", "-g", "-h", "-p", "-C", "-D", "-R", "-r", "-t", "-T", "-U", "--user", "--group", "--chdir"),
    "doas": ("-u", "-C"), "env": ("-u", "-C", "--unset", "--chdir"), "nice": ("-n", "--adjustment"),
    "ionice": ("-c", "-n", "-p", "--class", "--classdata"), "timeout": ("-k", "-s", "--kill-after", "--signal"),
    "time": ("-f", "-o", "--format", "--output"), "stdbuf": ("-i", "-o", "-e"), "exec": ("-a",),
    "xargs": ("-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a", "--max-args", "--max-procs", "--delimiter",
              "--arg-file", "--max-lines", "--replace"),
    "parallel": ("-j", "-n", "-a", "--jobs", "--max-args", "--arg-file"), "watch": ("-n", "-d", "--interval"),
    "uv": ("--project", "--directory", "--with", "-p", "--python"), "uvx": ("--from", "--with", "-p", "--python"),
    "pipx": ("--spec",), "npx": ("-p", "--package"), "caffeinate": ("-t", "-w"),
}  # fmt: skip
"""The options of programs that run another one which take the word behind them."""
_AGENTS = frozenset(["claude", "codex", "gemini", "cursor-agent", "copilot", "opencode"])
_WORD = regex(r"mb\s*[:：]\s*(?:write|no)\b", IGNORECASE)
_BY_HAND = regex(r"\bkb-hook\W{1,4}(?!write\b|-)[\w-]+|-m\s+kb\.hosts\b|kb\.hosts\s+import")
"""What in a program sends kb an event by hand."""
_BY_CODE = (regex(r"\bkb\.(?:cli|knowledge)\b"), regex(r"\bproposals?\b"), regex(r"\b(?:confirm|reject)"))
_BY_KB = regex(
    r"\bkb\W{1,6}(?:-\S{1,40}\W{1,6})?(proposal|review|inbox)\W{1,6}(?:-\S{1,40}\W{1,6})?(?:confirm|accept|reject|promote)\b"
)
"""What in a program says a person's word by the command line of kb."""
_OVERRULING = ("edit", "rm", "status", "supersede", "write")
"""The commands of kb that take a record out of force where `--yes` says that a person has decided so, or somebody types
them at a terminal; else they open a review."""
_TERMINALS = frozenset(["expect", "script", "unbuffer"])
"""Programs that give the command they run a terminal of its own."""
_TYPED = regex(rf"\bkb\W{{1,6}}(?:-\S{{1,40}}\W{{1,6}})?(?:{'|'.join(_OVERRULING)})\b")
"""What in such a terminal passes for typed by a person."""
_KB = regex(r"(?:^|/)kb$")
_ASKING = frozenset([
    "show", "search", "list", "hint", "context", "history", "refs", "log", "review", "anchors", "锚点", "load", "加载",
    "spawn",
])  # fmt: skip
"""The commands of kb that show records."""
_DECIDING = {"inbox": ("promote",), "review": ("accept", "reject")}
"""The commands of kb that let something through which kb has kept back."""
_VALUED = ("--kb", "--why", "--scope", "--by", "--code", "--lang")
_REVIEW = "kb/review/"
_DECIDING_GIT = ("merge", "cherry-pick", "rebase", "pull", "update-ref")
_SHOWING = frozenset(["list", "show", "--help", "-h", "--json"])
_GIT_VALUED = frozenset(["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"])


def ran(words: Sequence[str], folder: str, known: Mapping[str, str], *, as_text: bool = False, depth: int = 0) -> Call:
    """Return what running *words* in *folder* touches; *as_text*: the first is a text for a shell."""
    if not as_text:
        return _of(Command(tuple(words), folder), known, depth)
    return together([_of(one._replace(folder=_in(folder, one.folder)), known, depth)
                     for one in commands(words[0], known)])  # fmt: skip


def _forged(command: Command) -> Call:
    """Return what in *command*, a program or a prompt, passes for a person's word."""
    text = "\n".join((*command.words[1:], command.given, *command.before))[:MOST]
    if command.words[0].rpartition("/")[2] in _AGENTS:
        word = _WORD.search(text)
        return Call(forges=word.group()) if word else Call()
    if found := _BY_HAND.search(text):
        return Call(forges=found.group())
    if all(part.search(text) for part in _BY_CODE):
        return Call(forges="kb proposal")
    if said := _BY_KB.search(text):
        return Call(forges=said.group()) if said.group(1) == "proposal" else Call(decides=said.group())
    if command.words[0].rpartition("/")[2] in _TERMINALS and (said := _TYPED.search(text)):
        return Call(decides=said.group())
    return Call()


def _in(folder: str, inner: str) -> str:
    return inner if not folder or inner.startswith(("/", "~")) else f"{folder}/{inner}" if inner else folder


def _of(command: Command, known: Mapping[str, str], depth: int) -> Call:
    """Return what one simple command touches."""
    name = command.words[0].rpartition("/")[2] if command.words else ""
    if name == "[[":
        return Call()
    sent = Call(_at(command, command.reads), _at(command, command.writes))
    if depth > _DEEP or not name:
        return sent
    return together([sent, *_done(name, command, known, depth)])


def _at(command: Command, paths: Sequence[str], *, whole: bool = False) -> tuple[Place, ...]:
    return tuple(Place(path, command.folder, whole) for path in paths if path and path not in _QUIET)


_QUIET = frozenset(["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "-"])


def _done(name: str, command: Command, known: Mapping[str, str], depth: int) -> Iterator[Call]:
    words = command.words[1:]
    if name in _HANDS_ON:
        yield from _handed_on(name, command, known, depth)
    elif name in _SHELLS:
        yield from _in_a_shell(command, known, depth)
    elif name in _SPECIAL:
        yield _SPECIAL[name](command)
    elif name == "kb-hook":
        told = words and words[0] != "write" and not words[0].startswith("-")
        yield Call(forges=" ".join(command.words).replace(UNKNOWN, "…")) if told else Call()
    elif _KB.search(name) or words[:2] == ("-m", "kb"):
        yield _of_kb(words[2:] if words[:1] == ("-m",) else words)
    elif (_INTERPRETERS.match(name) and not _edits_in_place(name, words)) or name in _AGENTS or name == "expect":
        yield _forged(command)
    elif name in _ALL or name.lower() in _CMDLETS or _edits_in_place(name, words):
        yield Call(writes=_at(command, _edited(name, command)))
    elif name in _GONE or name.lower() in _CMDLETS_GONE:
        yield Call(writes=_at(command, _plain(words), whole=True))
    elif name in _LAST:
        sources, into = _sources(words)
        yield Call(_at(command, sources), _landing(command, sources, into))
    elif name in READERS:
        yield Call(_at(command, _plain(words)))


def _plain(words: Sequence[str]) -> list[str]:
    """Return the *words* that are no options; behind `--` every word is none."""
    if "--" in words:
        at = words.index("--")
        return [*_plain(words[:at]), *words[at + 1 :]]
    return [word for word in words if not word.startswith("-")]


def _valued(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the values of the options *names*: behind them, behind `=`, or right behind a short one."""
    found = [after for word, after in pairwise(words) if word in names]
    for word in words:
        for name in names:
            if name.startswith("--") and word.startswith(name + "="):
                found.append(word[len(name) + 1 :])
            elif not name.startswith("--") and word.startswith(name) and len(word) > len(name):
                found.append(word[len(name) :])
    return found


_INTO = ("-t", "--target-directory")


def _handed_on(name: str, command: Command, known: Mapping[str, str], depth: int) -> Iterator[Call]:
    """Read the command that *name* is given to run."""
    rest = list(command.words[1:])
    if name == "eval":
        yield ran([" ".join(rest)], command.folder, known, as_text=True, depth=depth + 1)
        return
    if name in _TERMINALS and (said := _TYPED.search(" ".join(rest)[:MOST])):
        yield Call(decides=said.group())
    if name == "script":
        yield from _in_a_shell(command, known, depth)
        return
    valued = _TAKES.get(name, ())
    if name == "env" and rest[:1] in (["-S"], ["--split-string"]) and len(rest) > 1:
        rest = [*rest[1].split(), *rest[2:]]
    while rest and (rest[0].startswith("-") or "=" in rest[0] or rest[0].rstrip("smhd").replace(".", "").isdigit()):
        rest = rest[2:] if rest[0] in valued else rest[1:]
    rest = rest[1:] if rest[:1] in (["run"], ["exec"]) else rest
    if at := next((n for n, word in enumerate(rest) if _KB.search(word)), 0):  # behind options that take a value
        rest = rest[at:]
    is_fed = name in ("xargs", "parallel")
    if is_fed:
        rest += [part for word in command.before[1:] if not word.startswith("-")
                 for part in word.replace("\\n", " ").split()]  # fmt: skip
    if rest:
        call = _of(command._replace(words=tuple(rest), reads=(), writes=()), known, depth + 1)
        yield call._replace(writes=_wholly(call.writes)) if is_fed else call


def _wholly(places: Sequence[Place]) -> tuple[Place, ...]:
    return tuple(place._replace(whole=True, some=True) for place in places)


def _in_a_shell(command: Command, known: Mapping[str, str], depth: int) -> Iterator[Call]:
    words = command.words[1:]
    at = next((n for n, word in enumerate(words) if word.startswith("-") and word.endswith("c")), -1)
    if at >= 0 and at + 1 < len(words):
        yield ran([words[at + 1]], command.folder, known, as_text=True, depth=depth + 1)
    elif command.given:
        yield ran([command.given], command.folder, known, as_text=True, depth=depth + 1)
    elif command.before[:1] in (("echo",), ("printf",)):
        yield ran([" ".join(command.before[1:])], command.folder, known, as_text=True, depth=depth + 1)


def _edits_in_place(name: str, words: Sequence[str]) -> bool:
    short = any(word.startswith("-") and not word.startswith("--") and "i" in word[1:] for word in words)
    if name in ("sed", "gsed"):
        return short or any(word.startswith("--in-place") for word in words)
    if name in ("perl", "ruby"):
        return any(word.startswith("-") and "i" in word[1:4] for word in words)
    return name in ("awk", "gawk") and "inplace" in words


def _edited(name: str, command: Command) -> list[str]:
    """Return the files that a program which writes what it is given writes: all but an editor's script."""
    words = command.words[1:]
    if not name.endswith(("sed", "awk", "perl", "ruby")):
        return _plain(words)
    is_long = ("--expression", "--file")
    scripts = {n + 1 for n, word in enumerate(words) if word.startswith("-") and word[-1] in "ef" and word[1:2] != "-"}
    scripts |= {n + 1 for n, word in enumerate(words) if word in is_long}
    kept = [word for n, word in enumerate(words) if n not in scripts]
    scripted = scripts or any(word.startswith(is_long) for word in words)
    return _plain(kept) if scripted else _plain(kept)[1:]


# -- programs with rules of their own ----------------------------------------------------------------


def _moved(command: Command) -> Call:
    sources, into = _sources(command.words[1:])
    gone = _at(command, sources, whole=True)
    return Call(writes=(*gone, *_landing(command, sources, into)))


def _sources(words: Sequence[str]) -> tuple[list[str], str]:
    """Return what is copied or moved, and where to."""
    plain = _plain(words)
    if into := _valued(words, _INTO):
        return [word for word in plain if word != into[0]], into[0]
    return (plain[:-1], plain[-1]) if len(plain) > 1 else ([], "")


def _landing(command: Command, sources: Sequence[str], into: str) -> tuple[Place, ...]:
    """Return what is written when *sources* come to *into*."""
    names = [source.rstrip("/").rpartition("/")[2] for source in sources]
    return tuple(Place(into, command.folder, brought=name) for name in names if into)


def _copied_blocks(command: Command) -> Call:
    return Call(_at(command, [word[3:] for word in command.words if word.startswith("if=")]),
                _at(command, [word[3:] for word in command.words if word.startswith("of=")]))  # fmt: skip


def _sorted(command: Command) -> Call:
    return Call(_at(command, _plain(command.words[1:])), _at(command, _valued(command.words, ("-o", "--output"))))


def _fetched(command: Command) -> Call:
    return Call(writes=_at(command, _valued(command.words, ("-o", "-O", "--output", "--output-document"))))


def _unpacked(command: Command) -> Call:
    into = _valued(command.words, ("-C", "--directory", "-d"))
    takes_out = command.words[0].endswith("unzip") or any("x" in word for word in command.words[1:2])
    return Call(writes=_at(command, into or ["."]), many=True) if takes_out else Call()


def _patched(command: Command) -> Call:
    """Return what `patch` or `apply_patch` writes: what the patch names, and the file named to it."""
    words = command.words[1:]
    text = "\n".join((command.given, *words))
    named = patched(text)
    files = [*_valued(words, ("-i", "--input")), *command.reads]
    plain = [word for word in _plain(words) if "\n" not in word and word not in files]
    return Call(writes=_at(command, [*named, *plain]), patches=_at(command, files), many=not (named or files or plain))


def _found(command: Command) -> Call:
    """Return what `find` touches: with -delete or -exec it writes where it looks."""
    words = command.words[1:]
    places = []
    for word in words:
        if word.startswith(("-", "(", "!")):
            break
        places.append(word)
    acts = {"-delete", "-exec", "-execdir", "-ok", "-fprint"} & set(words)
    run = [words[words.index(act) + 1 :] for act in ("-exec", "-execdir", "-ok") if act in words]
    calls = [_of(Command(tuple(_filled(one, places)), command.folder), {}, _DEEP - 1) for one in run]
    calls = [call._replace(writes=_wholly(call.writes), many=call.many or bool(call.writes)) for call in calls]
    if "-delete" in acts or "-fprint" in acts:
        calls.append(Call(writes=_wholly(_at(command, places or ["."])), many=True))
    return together([Call(_at(command, places)), *calls])


def _filled(words: Sequence[str], places: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word in (";", "+", "\\;"):
            return
        yield from places if "{}" in word else (word,)


def _of_git(command: Command) -> Call:
    """Return what a git command writes in the work tree by name; what moves branches is git's own business."""
    words, folder = list(command.words[1:]), command.folder
    while words and words[0].startswith("-"):
        if words[0] == "-C" and len(words) > 1:
            folder = _in(folder, words[1])
        words = words[2:] if words[0] in _GIT_VALUED else words[1:]
    verb, rest = (words[0], words[1:]) if words else ("", [])
    here = command._replace(folder=folder)
    if verb in ("apply", "am"):
        named = patched(command.given)
        files = [*_plain(rest), *command.reads]
        return Call(writes=_at(here, named), patches=_at(here, files), many=not (named or files))
    if verb == "clean":
        return _cleaned(here, rest)
    if decided := _decided(verb, rest):
        return Call(decides=decided)
    if verb in ("rm", "mv", "restore"):
        only_staged = "--cached" in rest or (
            bool({"--staged", "-S"} & set(rest)) and not {"--worktree", "-W"} & set(rest)
        )
        return Call(writes=_at(here, _plain(rest), whole=verb in ("rm", "mv"))) if not only_staged else Call()
    if verb == "checkout" and "--" in rest:
        return Call(writes=_at(here, rest[rest.index("--") + 1 :]))
    if verb == "checkout":
        return Call(writes=_at(here, [word for word in _plain(rest) if "/" in word or "." in word]))
    shown = [word.rpartition(":")[2] for word in _plain(rest)]
    return Call(_at(here, shown)) if verb in ("show", "diff", "grep", "blame", "log", "cat-file") else Call()


def _decided(verb: str, words: Sequence[str]) -> str:
    """Return a git command that accepts or rejects a review; "" for any other."""
    named = [word for word in words if _REVIEW in word]
    takes_away = {"-d", "-D", "--delete", "-m", "-M", "--move", "-f", "--force"} & set(words)
    deletes = (verb == "branch" and takes_away) or (
        verb == "push" and ({"-d", "--delete"} & set(words) or any(word.startswith(":") for word in named))
    )
    return " ".join(["git", verb, *words]) if named and (deletes or verb in _DECIDING_GIT) else ""


def _cleaned(command: Command, words: Sequence[str]) -> Call:
    """Return what `git clean` takes away; with -x the ignored as well, and kb's state is ignored."""
    flags = "".join(word[1:] for word in words if word[:1] == "-" and set(word[1:]) <= set("dfinqxX"))
    left = [word.strip("/") for word in _valued(words, ("-e", "--exclude"))]
    if "n" in flags or "--dry-run" in words:
        return Call()
    named = [word for word in _plain(words) if word.strip("/") not in left]
    ignored = "d" in flags and "x" in flags.lower() and ".kb" not in left
    return Call(writes=_at(command, named or (["."] if ignored else []), whole=ignored))


def _of_kb(words: Sequence[str]) -> Call:
    """Return what a kb command asks for; deciding on a proposal is a person's, whatever stands for the word."""
    rest = [word for n, word in enumerate(words) if not word.startswith("-") and words[n - 1 : n] not in _TAKING]
    shown = " ".join(["kb", *words]).replace(UNKNOWN, "…")
    if rest[:1] == ["proposal"] or rest[:1] == [UNKNOWN]:
        shows = len(rest) < 2 or rest[1] in _SHOWING or rest[1] == "add"
        return Call(asked=("proposal",)) if shows else Call(forges=shown)
    if not rest:
        return Call()
    if set(_DECIDING.get(rest[0], ())) & set(rest[1:]) or (rest[0] in _OVERRULING and "--yes" in words):
        return Call(decides=shown)
    return Call(asked=(rest[0],)) if rest[0] in _ASKING else Call()


_TAKING = [[word] for word in _VALUED] + [(word,) for word in _VALUED]


_SPECIAL: Mapping[str, Callable[[Command], Call]] = {
    "mv": _moved, "dd": _copied_blocks, "sort": _sorted, "curl": _fetched, "wget": _fetched, "tar": _unpacked,
    "unzip": _unpacked, "patch": _patched, "apply_patch": _patched, "applypatch": _patched, "find": _found,
    "git": _of_git,
}  # fmt: skip
