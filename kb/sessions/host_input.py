"""Normalise what host programs hand over: tool names, prompts, the path of the transcript.

Every host passes more than the person's words as the prompt: its reminders, what hooks told it, the output of its own
commands, the results of sub-agents. None of that is a person's word; hooks and transcripts ask here.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping

from kb.hosts import Host
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

# -- tools -----------------------------------------------------------------------------------------

# kb knows the tools by the names of Claude Code: Read(file_path, offset, limit), Write(file_path, content),
# Edit(file_path, old_string, new_string), Bash(command), Glob(pattern, path), Grep(pattern, path),
# Agent(subagent_type, prompt). Another tool keeps its name. How each host spells them: `kb.hosts`.


def translate_tool(host: Host, name: object, given: object) -> tuple[str, dict[str, Any]]:
    """Return a tool of *host* and what it is given by the names kb knows."""
    values = given if isinstance(given, dict) else {}
    tool, keys = host.tools.get(name, (name, {})) if isinstance(name, str) else ("", {})
    server, hyphen, rest = tool.rpartition("-")
    if hyphen and host.has_hyphenated_mcp:
        tool = f"mcp__{server}__{rest}"
    return tool, {keys.get(key, key): value for key, value in values.items()}


def restore_host_names(host: Host, name: object, given: object, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return *changed*, what kb puts in place of *given*, by the names that the *host* used."""
    used = given if isinstance(given, dict) else {}
    keys = host.tools[name][1] if isinstance(name, str) and name in host.tools else {}
    back = {ours: own for own, ours in keys.items() if own in used}
    return {back.get(key, key): value for key, value in changed.items()}


def to_text(value: object) -> str:
    """Return *value* where it is text, else ""."""
    return value if isinstance(value, str) else ""


def clip_bytes(value: str, most: int) -> str:
    """Return the beginning of *value*, *most* bytes at most and no half character."""
    data = value.encode("utf-8", "replace")
    return value if len(data) <= most else data[:most].decode("utf-8", "ignore")


# -- prompts ---------------------------------------------------------------------------------------

_FROM_AGENTS = ("task-notification", "subagent_notification", "hook_context", "session_context")
"""Elements that hold others' words: they end with the last closing tag, so that no text within ends them early."""
_FROM_HOSTS = (
    "system-reminder system_reminder ide_selection ide_opened_file ide_diagnostics environment_context"
    " user_info attached_files open_and_recently_viewed_files additional_data current_datetime".split()
)
"""Elements in which a host adds something for the agent to the prompt."""
TEAMMATE = "<teammate-message"
"""How the word of another agent of a team begins, in place of a prompt."""
FILES_BEGIN, FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""The lines between which Gemini CLI puts the files that a prompt names with @; the last one ends them."""
CODEX_REQUEST = "## My request for Codex:"
"""Behind this stands what a person typed where Codex puts the files first that they attached or have open."""
_WHOLE = tuple(
    "<command-|<local-command-|<task-notification|<skill>|<subagent_notification|<bash-|<user-prompt-submit-hook|<ide_"
    "|<teammate-message"
    "|<hook_context|<session_context|<system-reminder|<environment_context|<user_instructions|<permissions"
    "|<turn_aborted|# AGENTS.md instructions|[Request interrupted|Caveat: The messages below were generated".split("|")
)
"""How a text begins that no person typed, to its end."""


def extract_typed_text(prompt: str) -> str:
    """Return what a person typed in *prompt*; "" where all of it was put there by a program or another agent.

    A text that begins with a sub-agent's result is one to its end: what follows the result is the host's advice.
    """
    if CODEX_REQUEST in prompt and prompt.lstrip().startswith("# "):
        prompt = prompt.partition(CODEX_REQUEST)[2].strip()
    if "<" in prompt or FILES_BEGIN in prompt or prompt.lstrip().startswith(_WHOLE):
        # “<task-notification>…</task-notification> Read the output file …”: the advice after it is the host's, too
        if prompt.lstrip().startswith(("<task-notification", "<subagent_notification", TEAMMATE)):
            return ""
        if "<user_query>" in prompt and "</user_query>" in prompt:  # Cursor: around what the person typed
            prompt = prompt.partition("<user_query>")[2].rpartition("</user_query>")[0]
        prompt = strip_injected(prompt)
        if prompt.lstrip().startswith(_WHOLE):
            return ""
    return prompt


def strip_injected(text: str) -> str:
    """Return *text* without the elements that hosts and hooks put into it; one that is not closed stays."""
    # up to the last end mark: a file may hold the mark itself
    begin, end = text.find(FILES_BEGIN), text.rfind(FILES_END)
    if 0 <= begin < end:
        text = f"{text[:begin]}{text[end + len(FILES_END) :]}"
    for tag in (*_FROM_AGENTS, *_FROM_HOSTS):
        if f"</{tag}>" in text:
            text = split_element(text, tag, to_last=tag in _FROM_AGENTS)[0]
    return text


def split_element(text: str, tag: str, *, to_last: bool = False) -> tuple[str, str]:
    """Return what is outside and inside the *tag* elements of *text*, each piece on lines of its own.

    *to_last*: there is one element only, from the first opening tag to the last closing tag.
    """
    outside: list[str] = []
    inside: list[str] = []
    at = 0
    while (start := text.find(f"<{tag}>", at)) >= 0:
        end = text.rfind(f"</{tag}>", start) if to_last else text.find(f"</{tag}>", start)
        if end < 0:
            break
        outside.append(text[at:start])
        inside.append(text[start + len(tag) + 2 : end])
        at = end + len(tag) + 3
    return "\n\n".join([*outside, text[at:]]), "\n\n".join(inside)


# -- transcript files ------------------------------------------------------------------------------

MAX_TRANSCRIPT = 256_000_000
"""Bytes of a transcript that are read at once, at most."""


def read_transcript(path: str, last: int = 0) -> bytes:
    """Return the bytes of a transcript, or its *last* ones; raise BadInput for no plain file or more than 256 MB."""
    from kb.errors import BadInput  # late: the hooks of most hosts need the tables above and no file
    from kb.files import open_nonblocking
    from kb.i18n import msg

    try:
        with open(path, "rb", opener=open_nonblocking) as file:
            status = os.stat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadInput(msg("the transcript is not a file"), path=path)
            if status.st_size > MAX_TRANSCRIPT and not last:
                raise BadInput(msg("the transcript is larger than {limit} bytes", limit=MAX_TRANSCRIPT), path=path)
            if last and status.st_size > last:
                file.seek(-last, os.SEEK_END)
            return file.read()
    except IsADirectoryError:
        raise BadInput(msg("the transcript is not a file"), path=path) from None
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(msg("the transcript cannot be read: {problem}", problem=problem), path=path) from None


def has_content(path: str) -> bool:
    """Return whether a transcript is there to be read: a plain file that is not empty."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size > 0


def read_teammate_words(text: str) -> list[str]:
    """Return what other agents of a team say in *text*, each: an assigned task by its subject, no news of idleness."""
    found: list[str] = []
    for piece in text.split(TEAMMATE)[1:]:
        said = piece.partition(">")[2].rpartition("</teammate-message>")[0].strip()
        subject = re.search(r'"subject"\s*:\s*"([^"\n]+)"', said) if said.startswith("{") else None
        found += [subject[1]] if subject else [] if said.startswith("{") else [said]
    return [said for said in found if said]
