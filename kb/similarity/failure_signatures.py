"""Recognise the failure of a command by its signature: the family of the command and what its error lines name.

A signature leaves out what differs from run to run: numbers, folders, hashes, times. A line that only says that
something failed ("Pre-commit validation failed:", "exit status 1", "3 个测试失败") stands over any failure, so it is no
part of one: a line must name something of its own, such as an identifier, a file, a quoted word or the code of an
error. A naive signature, command and first error line, was measured to fire at 8 of 17 failures, at 7 of them wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from kb.startup.lazy_regex import regex

MAX_LINES = 4
"""Lines of one signature: a tool repeats its errors and follows them up."""
GENERIC_FROM = 3
"""A line that is in this many signatures of one base distinguishes none of them."""
_MAX_LINE_CHARACTERS = 300
"""Characters of a line that are looked at."""
_MAX_OUTPUT_CHARACTERS = 60_000
"""Characters of an output that are looked at: half from its beginning, half from its end."""

SHELLS = frozenset({"Bash", "PowerShell"})
"""The tools that run commands, by kb's names."""
_READ_ONLY_PROGRAMS = frozenset(
    "cd ls cat grep rg head tail sed awk echo find sleep which pwd test true wc printf kill export".split()
)
_INTERPRETERS = frozenset("node python python3 ruby bash sh zsh deno bun php perl elixir".split())
# Words that only start another command.
_STARTERS = (["sudo"], ["time"], ["env"], ["npx"], ["uv", "run"], ["poetry", "run"], ["bundle", "exec"])
_QUOTED_ARGUMENT = regex(r"\"(?:[^\"\\]|\\.)*\"?|'[^']*'?")
_ASSIGNMENT = regex(r"[A-Za-z_]\w*=\S*$")
_SEQUENCE = regex(r"&&|\|\||;")
_PROGRAM, _SUBCOMMAND = regex(r"[\w.@-]+$"), regex(r"[a-z][\w:-]*(?: [\w:.-]+)?$")

_ERROR = regex(
    r"(?<![\w./-])(?:errors?|panic(?:ked)?|fatal|fail(?:ed|ure|s)?|exception)(?![\w./-]*\w)|(?-i:\w(?:Error|Exception)\b)"
    r"|\b(?:cannot|can't|could ?n[o']t|unable to|undefined|denied|refused|rejected|missing|invalid|unexpected"
    r"|not found|no (?:such|module|rule|required|matching|space left|route)"
    r"|not (?:recognized|installed|exist|supported|a|in|defined)|unknown|unresolved|conflict|timed? ?out|expected"
    r"|already (?:exists|in use)|err!)(?!\w)"
    r"|错误|失败|异常|找不到|无法|不存在|拒绝|未定义|超时",
    re.IGNORECASE,
)
"""Words of an error, not parts of names: `monad_fail.hs`, `wrapper-error` are none, `ArgumentError` is one."""
_NOISE = regex(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[()].|[=>])|[\x00-\x08\x0b-\x1f]"  # colours, titles
    r"|\b\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?"  # times of a log
    r"|\b(?:0x)?(?=[a-f]*\d)[0-9a-f]{7,40}\b"  # hashes
)
_FOLDER = regex(r"(?<![\w:/\\])(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+(?=[\w.@-])")
_LOCATION = regex(
    r"^(?:E {2,}|(?:Output|Stdout|Stderr): |\[[\w:.-]+\]\s+)?(?:\S+?(?::\d+){1,2}:?\s+|\S+\(\d+,\d+\):\s+)?"
)
"""`src/a.go:12:3: `, `a.ts(3,1): `: where an error stands, not what it is."""
_HOST = regex(r"(?<![\w.\"'-])[\"']?[\w.-]{1,64}[\"']? \(\d{1,3}(?:\.\d{1,3}){3}\)")
"""`"db" (172.18.0.3)`, `localhost (127.0.0.1)`: which machine it was differs as folders do."""
_NUMBERS = r"(?P<kept>\b[A-Z]{1,6}-?\d{2,5}\b|(?:localhost|\d+\.\d+\.\d+\.\d+|\bport):? ?\d{2,5}\b)|\d+"
_NUMBER, _FOLDED_NUMBER = regex(_NUMBERS), regex(_NUMBERS, re.IGNORECASE)
"""Codes of errors (TS2345, E0432, GH006) and ports (localhost:5432) are kept: redis does not listen on 5432.

In a line that is in small letters already a code is too: ts2345."""
_SPACE = regex(r"\s+")
_SPECIFIC = regex(
    r"[A-Za-z]+[a-z][A-Z]\w*|[A-Za-z]\w*_\w+|\b[A-Za-z][\w-]*\.[a-z]{1,5}\b|\b[A-Z]{1,6}-?\d{2,5}\b|\bE[A-Z]{4,}\b"
    r"|['\"`‘“][^'\"`’”]{2,60}['\"`’”]|\b[a-z]+-[a-z]+-[a-z]+\b|\b\w+::\w+|@[\w-]+/[\w-]+|\S+: command not found"
    r"|\bsh: (?:\d+: )?\S+: not found"
    r"|\bcommand not found: \S+|(?<![\w-])--?[a-z][\w-]+|(?:localhost|\d+\.\d+\.\d+\.\d+|\bport):? ?\d{2,5}\b"
)
"""What a line names of its own: `getUser`, `no_such_column`, `config.yml`, TS2345, "quoted", --flag, @scope/package."""
_COUNT = regex(
    r"^[\W\d]*(?:tests?|suites?|errors?|warnings?|problems?|failures?|passed|failed|failing|found|in|and|of|with"
    r"|total|snapshots?|files?|s|ms|[\W\d])+$",
    re.IGNORECASE,
)
_HARMLESS = regex(
    r"^\W*(?:\[?(?:warn(?:ing)?|note|info|hint|debug|notice)\b|[✓✔√]|ok\b|pass(?:ed)?\b|looking for\b|checking\b)"
    r"|\b(?:skipped|passed|ok)\W*$|^\W*(?:\$|\+{1,3}) |\bwarning:",
    re.IGNORECASE,
)
"""What a tool also prints when it succeeds, or repeats of what it was asked to run."""
_STRONG = regex(
    r"^\W*(?:[^\s:]{1,40}[: ]\s?){0,3}(?:(?:fatal|error|panic|failed|failure)\b(?:\[\w+\])?\s?[:!]|err!)"
    r"|\b\w*(?:Error|Exception)\b:|^E {2,}|command not found\b"
    r"|\bunknown (?:flag|option|command)\b|\berror [A-Z]{1,4}\d{2,5}\b|错误[：:]",
    re.IGNORECASE,
)
"""A line by which the tool itself says what is wrong: then those that only mention it do not count."""
_TEST_STATUS = regex(
    r"^\W*(?:\[[\w:.-]+\]\W*)?(?:=== |(?:fail(?:ed|ing|ure)?|pass(?:ed)?|error(?: trace)?|not ok|ok)\b[\s:]+\S+"
    r"(?:\s+\[[\w ]+\])?(?:\s+\(?[\d.]+ ?m?s\)?)?$|at \S|file \")",
    re.IGNORECASE,
)
"""Which test or package failed says where ("--- FAIL: TestSave (0.01s)", `FAIL src/a.test.ts`), not what went wrong."""
_CODE = regex(r"^(?:func|return|raise|throw|if|else|def|class|import|from|const|let|var|try|except|catch|_ =)\b|[{;]$")
"""A line of source that a tool prints beside the error."""
_SUMMARY = regex(
    r"\b(?:exit(?:ed|s|ing)?|finished|completed|failed|returned|terminated)\b[\w\s:-]{0,20}\b(?:status|code|exit\w*)\b"
    r"|^\W*[][\w\s`'\"‘’.:/-]{0,60}\b(?:failed|failure|fails)\W*$|\[build failed\]"
    r"|^CONFLICT \(|failed to push some refs|could not apply",
    re.IGNORECASE,
)
"""That something failed, and no more: "Process exited with code 1", "running the tests in 'all.R' failed"; and the
conflicts of a merge, which are work and no error."""
_UNTELLING = (_SUMMARY, _COUNT, _TEST_STATUS, _CODE, _HARMLESS)


def is_wrapper(command: str, others: Iterable[str]) -> bool:
    """Return whether one of *others* is what *command* runs by way of another program: `time make x`, `make x`."""
    wrapped = command.partition(" ")[2].strip()
    return " " in wrapped and any(other.startswith(wrapped) for other in others)


def identify_command(command: str) -> str:
    """Return what a shell *command* runs: its program with its script or subcommand, or "" for mere looking around."""
    # `cd api && npm test 2>&1 | tail -5` runs `npm test`.
    first = _QUOTED_ARGUMENT.sub(" ", command.strip()).split("\n", 1)[0]
    last = _SEQUENCE.split(first)[-1].split("|")[0]
    words = [word for word in last.split() if not word.startswith(("<", ">", "2>"))]
    while words:  # assignments and commands that only start another
        starter = next((starter for starter in _STARTERS if words[: len(starter)] == starter), [])
        skipped = len(starter) or (2 if words[0] == "timeout" else 1 if _ASSIGNMENT.match(words[0]) else 0)
        if not skipped:
            break
        words = words[skipped:]
    if not words:
        return ""
    program = words[0].replace("\\", "/").rpartition("/")[2]
    if program in _READ_ONLY_PROGRAMS or not _PROGRAM.match(program):
        return ""
    # `npm run build` and `npm run test` are two commands, `npm test` and `npm test --watch` are one.
    plain_words = [word for word in words[1:] if not word.startswith("-")]
    if flag := next((word for word in words[1:3] if word in ("-c", "-e")), ""):
        return f"{program} {flag}" if program in _INTERPRETERS else ""
    second = plain_words[0].rpartition("/")[2] if plain_words else ""
    if program in _INTERPRETERS:
        return f"{program} {second}".strip()
    if second == "run" and len(plain_words) > 1:
        second = f"run {plain_words[1]}"
    return f"{program} {second}" if _SUBCOMMAND.match(second) else program


def compute_signature(family: str, output: str) -> tuple[str, ...]:
    """Return the signature of a failure of the command *family* with *output*: the family, then its error lines.

    () where no line distinguishes this failure from any other.
    """
    found = list(iter_error_lines(output))
    strong = [line for line, written in found if _STRONG.search(written)]
    lines = tuple(dict.fromkeys(strong or [line for line, _ in found]))[:MAX_LINES]
    return (family, *lines) if lines else ()


def iter_error_lines(output: str) -> Iterator[tuple[str, str]]:
    """Yield each line of *output* that names an error of its own: normalised, and as it stands there."""
    half = _MAX_OUTPUT_CHARACTERS // 2
    text = output if len(output) <= 2 * half else f"{output[:half]}\n{output[-half:]}"
    for row in text.replace("\\n", "\n").split("\n"):
        line = _NOISE.sub(" ", row[:_MAX_LINE_CHARACTERS]).strip()
        if not line or not _ERROR.search(line) or any(pattern.search(line) for pattern in _UNTELLING):
            continue
        message = _FOLDER.sub("", strip_location(line))
        if _SPECIFIC.search(message):
            yield normalise_error_line(message), line


def read_signature(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the signature in the *lines* of a record as `compute_signature` writes it; the family may be "".

    A person writes lines as the terminal shows them (`E   ModuleNotFoundError: No module named 'pika'`), the command
    with its options (`pytest -q`), or none: then the lines stand for the failure of any command.
    """
    if not lines:
        return ()
    command = identify_command(lines[0])
    is_family = command == lines[0] or not any(iter_error_lines(lines[0]))
    family, errors = (command or lines[0], lines[1:]) if is_family else ("", lines)
    return (family, *dict.fromkeys(filter(None, map(_read_line, errors))))


def _read_line(line: str) -> str:
    if normalise_error_line(line, _FOLDED_NUMBER) == line:
        return line  # as kb has written it
    return normalise_error_line(strip_location(_NOISE.sub(" ", line[:_MAX_LINE_CHARACTERS]).strip()))


def strip_location(line: str) -> str:
    """Return *line* without the place in the source where the error stands."""
    return _LOCATION.sub("", line)


def normalise_error_line(line: str, numbers: re.Pattern[str] = _NUMBER) -> str:
    """Return *line* without what differs from run to run: folders, *numbers*, white space, letter case."""
    plain = numbers.sub(lambda match: match["kept"] or "0", _HOST.sub("host", _FOLDER.sub("", line)))
    return _SPACE.sub(" ", plain).casefold().strip(" -*>|:")


def list_shared_lines(one: Sequence[str], other: Sequence[str], generic: Collection[str] = ()) -> list[str]:
    """Return the error lines that two signatures share, without the *generic* ones."""
    return [line for line in one[1:] if line in other[1:] and line not in generic]


def is_same_failure(known: Sequence[str], seen: Sequence[str], generic: Collection[str] = ()) -> bool:
    """Return whether *seen* is the signature of the failure *known*: the same program, two of three known error lines.

    Without the *generic* lines, which are under several signatures of the base. Where the shared lines only mention
    an error ("… not found"), the two must have the same lines: on build logs that people have labelled, such lines
    erred most. Of a signature without a family all lines must be there, whatever else is.
    """
    if not known or not seen:
        return False
    if not known[0]:
        return len(known) > 1 and set(known[1:]) <= set(seen[1:]) - set(generic)
    if known[0].partition(" ")[0] != seen[0].partition(" ")[0]:
        return False
    shared = list_shared_lines(known, seen, generic)
    sizes = [sum(line not in generic for line in signature[1:]) for signature in (known, seen)]
    if not any(map(_STRONG.search, shared)):
        return 0 < len(shared) == max(sizes)
    return 3 * len(shared) >= 2 * sizes[0]
