"""Tell what a person typed in a prompt from what an agent program or another agent has put into it.

Every host hands over more than the person's words under the same name: its reminders, what hooks told it, the output
of its own commands, the results of sub-agents. None of that is a person's word; hooks and transcripts ask here.
"""

from __future__ import annotations

from kb.startup.lazy_regex import regex

_FROM_AGENTS = ("task-notification", "subagent_notification", "hook_context", "session_context")
"""Elements that hold others' words: they end with the last closing tag, so that no text within ends them early."""
_FROM_HOSTS = (
    "system-reminder", "system_reminder", "ide_selection", "ide_opened_file", "ide_diagnostics", "environment_context",
    "user_info", "attached_files", "open_and_recently_viewed_files", "additional_data", "current_datetime",
)  # fmt: skip
"""Elements in which a host tells the agent something beside the prompt."""
FILES_BEGIN, FILES_END = "--- Content from referenced files ---", "--- End of content ---"
"""The lines between which Gemini CLI puts the files that a prompt names with @; the last one ends them."""
_QUERY = "user_query"
"""The element in which Cursor puts what the person typed."""
_WHOLE = regex(
    r"\s*(?:<(?:command-|local-command-|task-notification|subagent_notification|bash-|user-prompt-submit-hook|ide_"
    r"|hook_context|session_context|system-reminder|environment_context|user_instructions|permissions|turn_aborted)"
    r"|# AGENTS\.md instructions|\[Request interrupted|Caveat: The messages below were generated)"
)
"""How a text begins that no person typed, to its end."""


def extract_typed_text(prompt: str) -> str:
    """Return what a person typed in *prompt*; "" where all of it was put there by a program or another agent.

    A text that begins with a sub-agent's result is one to its end: what follows the result is the host's advice.
    """
    if "<" in prompt or FILES_BEGIN in prompt or _WHOLE.match(prompt):
        if _is_agent_result(prompt):
            return ""
        if f"<{_QUERY}>" in prompt and f"</{_QUERY}>" in prompt:
            prompt = prompt.partition(f"<{_QUERY}>")[2].rpartition(f"</{_QUERY}>")[0]
        prompt = strip_injected(prompt)
        if _WHOLE.match(prompt):
            return ""
    return prompt


def strip_injected(text: str) -> str:
    """Return *text* without the elements that hosts and hooks put into it; one that is not closed stays."""
    begin, end = text.find(FILES_BEGIN), text.rfind(FILES_END)
    if 0 <= begin < end:
        text = f"{text[:begin]}{text[end + len(FILES_END) :]}"
    for tag in (*_FROM_AGENTS, *_FROM_HOSTS):
        if f"</{tag}>" in text:
            text = split_element(text, tag, to_last=tag in _FROM_AGENTS)[0]
    return text


def split_element(text: str, tag: str, *, to_last: bool = False) -> tuple[str, str]:
    """Return what stands outside and inside the *tag* elements of *text*, each piece on lines of its own.

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


def _is_agent_result(prompt: str) -> bool:
    return prompt.lstrip().startswith(("<task-notification", "<subagent_notification"))
