"""What the commands of the systems whose ideas are in here are called behind `kb`; `kb commands --map` prints it."""

from __future__ import annotations

from typing import NamedTuple

from kb.i18n import Message, msg


class OldName(NamedTuple):
    """What a command of an older system is called here."""

    system: str
    command: str
    """The words that do the same behind `kb`; "" where nothing does."""
    note: Message | None = None
    """What differs, or why there is none."""


_NO_ERASING = msg(
    "nothing is erased all at once: list what an agent wrote, then take each record out of force with kb rm"
)
_MADE_WHEN_READ = msg("levels 0 and 1 are made from the text when they are read; no model writes them")
_IN_SETTINGS = msg("the embedder is a setting in kb.toml")


def _count_unnamed(number: int) -> Message:
    return msg("the source counts {n} commands and does not name them", n=number)


OLD_NAMES: dict[str, OldName] = {
    "memory_store": OldName("zclaw", "write"),
    "memory_get": OldName("zclaw", "show"),
    "memory_search": OldName("zclaw", "search"),
    "memory_delete": OldName("zclaw", "rm", msg("the record leaves force and stays in git")),
    "memory_delete_all": OldName("zclaw", "", _NO_ERASING),
    "memory_stats": OldName("zclaw", "list --count"),
    "memory_export": OldName("zclaw", "export json"),
    "memory_import": OldName("zclaw", "import json"),
    "memory_build_context": OldName("zclaw", "context build"),
    "memory_db_path": OldName("zclaw", "", msg("the index is .kb/index.db, a cache that nobody opens; see: kb doctor")),
    "memory_init": OldName("zclaw", "init", msg("a second time changes nothing")),
    "viking_add": OldName("zclaw", "write --at"),
    "viking_add_with_metadata": OldName("zclaw", "write --at"),
    "viking_find": OldName("zclaw", "search"),
    "viking_grep": OldName("zclaw", "search --regex"),
    "viking_ls": OldName("zclaw", "list"),
    "viking_tree": OldName("zclaw", "list --tree"),
    "viking_read": OldName("zclaw", "show"),
    "viking_remove": OldName("zclaw", "rm", msg("the record leaves force and stays in git")),
    "viking_inject_prompt": OldName("zclaw", "context build"),
    "viking_configure_embedding": OldName("zclaw", "config", _IN_SETTINGS),
    "viking_configure_summary_driver": OldName("zclaw", "", _MADE_WHEN_READ),
    "viking_store_with_summaries": OldName("zclaw", "write", _MADE_WHEN_READ),
    "viking_status": OldName("zclaw", "doctor"),
    "viking_load_industry_keywords": OldName("zclaw", "keywords load"),
    "extract_session_memories": OldName("zclaw", "learn", msg("for Python: kb.memories.extract_session_memories")),
    "extract_and_store_memories": OldName("zclaw", "archive"),
    "estimate_content_tokens": OldName("zclaw", "context tokens"),
    "embedding_create": OldName("zclaw", "vectors embed"),
    "embedding_providers": OldName("zclaw", "vectors status"),
    "identity": OldName("zclaw", "list --kind preference", _count_unnamed(13)),
    "heartbeat": OldName("zclaw", "digest", _count_unnamed(11)),
    "pain_aggregator": OldName("zclaw", "list --kind pitfall", _count_unnamed(5)),
    "reflection": OldName("zclaw", "check", _count_unnamed(6)),
    "compactor": OldName("zclaw", "compact", _count_unnamed(4)),
    "health_snapshot": OldName("zclaw", "doctor --json"),
    "saveLearningRecord": OldName("sman", "write --kind learning"),
    "searchLearningRecords": OldName("sman", "context load"),
    "getLearningRecordsByDomain": OldName("sman", "list", msg("with the address agent://<project>/learning/<domain>/")),
    "getRecentLearningRecords": OldName("sman", "search --kind learning", msg("without words, the newest first")),
    "getProjectMemory": OldName("sman", "memory tree"),
    "updateProjectMemory": OldName("sman", "edit", msg("one record at a time: the memory is what they say together")),
    "getDomainKnowledge": OldName("sman", "list --kind domain-note"),
    "recordFailure": OldName("sman", "write --kind pitfall"),
    "hasFailedBefore": OldName("sman", "search --kind pitfall", msg("the hooks ask it at every command that fails")),
    "getFailureRecord": OldName("sman", "show"),
    "updateFailureStatus": OldName("sman", "edit", msg("its status follows from the solution and from fixed_by")),
    "getGlobalMemory": OldName("sman", "list --scope global"),
    "addBestPractice": OldName("sman", "write --kind pattern --scope global"),
}
"""The commands of the systems whose ideas are in here, by their names there; `kb commands --map` prints them."""
