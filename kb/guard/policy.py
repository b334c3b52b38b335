"""May this tool call proceed? The rule, on what is known of the session and of the call (MBANK-31, 33, 37, 38)."""

from __future__ import annotations

from kb.guard.response import ASK, DENY, WARN, HookResponse
from kb.guard.risk import HIGH, RiskLevel
from kb.i18n import Message, msg
from kb.startup.namedtuple import NamedTuple

OFF, BLOCK = "off", "block"
MODES = (OFF, WARN, BLOCK)
MODE = "MEMORY_BANK_GUARD_MODE"
"""The variable that says the mode, before `kb.toml`."""


class GuardMode(NamedTuple):
    """What the guard does, and what is to be said of the setting itself."""

    name: str
    notice: Message | None = None


def resolve_mode(word: str | None, configured: str) -> GuardMode:
    """Return the mode: what the variable says in *word*, or what is *configured*; an unknown word means warn."""
    if word is None or not word.strip():
        return GuardMode(configured)
    name = word.strip().lower()
    if name in MODES:
        return GuardMode(name)
    return GuardMode(WARN, msg("{variable} is {value}; known: {modes}; warn holds", variable=MODE, value=word[:40],
                          modes=", ".join(MODES)))  # fmt: skip


class Ruling(NamedTuple):
    """A ruling in kb's words: nothing is said where there is no permission."""

    permission: str = ""
    reason: Message | None = None
    """Why; with the one next step."""

    def translate(self, language: str) -> HookResponse:
        """Return the ruling as what a host is answered: a warning is for the agent alone, who can do what it says."""
        if not self.reason:
            return HookResponse()
        if self.permission == WARN:
            return HookResponse(WARN, context=self.reason.translate(language))
        if self.permission != ASK:
            return HookResponse(self.permission, self.reason.translate(language))
        unasked = msg("{why}. Next: ask the person to do it; this agent program cannot ask for kb", why=self.reason)
        return HookResponse(ASK, self.reason.translate(language), unasked=unasked.translate(language))


def rule_on_unread(mode: str, risk: RiskLevel, step: Message | None) -> Ruling:
    """Rule on a write of *risk* by one who has not read what he should; *step* is how he can, None: there is nothing.

    Nobody is asked for what is not there, so nobody waits for it (MBANK-41).
    """
    if mode == OFF or step is None:
        return Ruling()
    if mode == BLOCK and risk.name == HIGH:
        said = msg("kb: {why}, and the memory of this project has not been read for this prompt. Next: {step}",
                   why=risk.reason, step=step)  # fmt: skip
        return Ruling(DENY, said)
    said = msg("kb: read what is recorded for this project before you go on ({why}). Next: {step}",
               why=risk.reason, step=step)  # fmt: skip
    return Ruling(WARN, said)


def rule_on_protected(path: str, what: str) -> Ruling:
    """Rule on a write to what only kb writes: never, in no mode (MBANK-37). *what*: record, session, state or block."""
    why, step = _KEPT[what]
    return Ruling(DENY, msg("kb: {why}. Next: {step}", why=why._replace(values={"path": path}), step=step))


_KEPT = {
    "record": (msg("{path} holds records, and only kb writes them"), msg("hand it to kb: kb write")),
    "session": (msg("{path} holds archived sessions, and only kb writes them"), msg("let kb archive it: kb archive")),
    "state": (msg("{path} is kb's own state"), msg("ask the person; kb doctor --fix mends what is broken")),
    "bank": (msg("{path} is in the memory bank, and only its writer writes it"), msg("hand it to kb: kb write")),
    "block": (msg("{path} has a block that a tool writes, and this would change it"),
              msg("change only what stands outside of MACHINE_BLOCK_START and MACHINE_BLOCK_END")),
}  # fmt: skip


def rule_on_forged(words: str) -> Ruling:
    """Rule on a call that passes for a person's word (MBANK-25)."""
    return Ruling(DENY, msg("kb: “{words}” is for the person to say. Next: ask the person to answer mb:write or mb:no",
                           words=words[:80]))  # fmt: skip


def rule_on_decision(words: str) -> Ruling:
    """Rule on a command by which a person decides: the person is asked."""
    return Ruling(ASK, msg("kb: “{words}” decides what kb has left to a person", words=words[:80]))


def rule_on_settings(path: str) -> Ruling:
    """Rule on a write to the settings by which the guard itself is set: the person is asked."""
    return Ruling(ASK, msg("kb: {path} holds the settings of the knowledge base, its guard among them", path=path))
