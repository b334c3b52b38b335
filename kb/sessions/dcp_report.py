"""Report of a pruning (`dcp-report.md`): its figures are sums of what was cut (RUYI-46)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb.i18n import Message, msg
from kb.sessions.prune import PrunePlan
from kb.sessions.prune_strategies import (
    ANCHORS,
    DEDUP,
    DISCARD,
    ERRORS,
    PATTERNS,
    SUPERSEDE,
    TRUNCATE,
    TURNS,
    Cut,
)
from kb.sessions.usage import find_band
from kb.text.segment import one_line

NAMES = {
    DEDUP: "Deduplication",
    SUPERSEDE: "Supersede",
    ERRORS: "Purge Errors",
    TRUNCATE: "Truncation",
    DISCARD: "Discard",
}
_MAX_NAMED_FILES = 5
"""Files that are named; of more the number is shown."""
_WRITE_PRICE, _READ_PRICE = 1.25, 0.1
"""What a token costs that is cached again, and one that is read from the cache, beside one without a cache."""


def format_report(plan: PrunePlan, *, when: str, trigger: Message, protected_turns: int, language: str) -> str:
    """Return the report of *plan* in markdown. *when* is a time for people, *trigger* what called for it."""

    def translate(message: Message) -> str:
        return message.translate(language)

    rows = [translate(msg("## DCP report")), "", translate(msg("**Time**: {when}", when=when))]
    rows += [translate(msg("**Trigger**: {trigger}", trigger=trigger)), ""]
    if plan.idle:
        rows += [translate(msg("Nothing was pruned: {reason}.", reason=plan.idle)), ""]
    heads = (msg("strategy"), msg("pruned"), msg("tokens saved"))
    rows += [translate(msg("### What was pruned")), "| " + " | ".join(map(translate, heads)) + " |"]
    rows.append("|------|--------|-------------|")
    for name, label in NAMES.items():
        own = [cut for cut in plan.cuts if cut.strategy == name]
        if own or name != DISCARD:
            saved = sum(cut.saved_tokens for cut in own)
            rows.append(f"| {label} | {translate(_describe_cuts(name, own))} | ~{saved:,} |")
    total = translate(msg("{count} in all", count=len(plan.cuts)))
    rows += [f"| **{translate(msg('total'))}** | **{total}** | **~{plan.saved_tokens:,}** |", ""]
    rows += [
        translate(msg("### Protected")),
        *(f"- {translate(row)}" for row in _iter_protected(plan, protected_turns)),
    ]
    rows += ["", translate(msg("### After pruning")), *(f"- {translate(row)}" for row in _iter_usage_after(plan))]
    return "\n".join(rows) + "\n"


def _describe_cuts(strategy: str, cuts: Sequence[Cut]) -> Message:
    count, covered = len(cuts), sum(cut.why == "covered" for cut in cuts)
    if strategy == DEDUP and covered:
        return msg("{count} repeated reads, {held} held by newer ones", count=count - covered, held=covered)
    said = {
        DEDUP: msg("{count} repeated reads", count=count),
        SUPERSEDE: msg("{count} outdated writes", count=count),
        ERRORS: msg("{count} failed calls", count=count),
        TRUNCATE: msg("{count} long outputs", count=count),
        DISCARD: msg("{count} dropped", count=count),
    }
    return said[strategy]


def _iter_protected(plan: PrunePlan, turns: int) -> Iterator[Message]:
    if plan.anchors:
        yield msg("anchors {ids}: protected", ids=fold_ids(plan.anchors))
    else:
        yield msg("anchors: none is cited")
    yield msg("the last {turns} turns: protected", turns=turns)
    if plan.protected:
        names = [one_line(path.replace("\\", "/").rpartition("/")[2]) for path in plan.protected]
        shown = ", ".join(dict.fromkeys(names[:_MAX_NAMED_FILES])) + (
            f" … ({len(names)})" if len(names) > _MAX_NAMED_FILES else ""
        )
        share = round(100 * plan.protected_tokens / max(plan.tool_tokens, 1))
        yield msg("reads of {files}: protected ({share}% of all tool tokens)", files=shown, share=share)
    for by in (TURNS, ANCHORS, PATTERNS):
        sizes = [kept.tokens for kept in plan.kept if kept.by == by]
        counted = {"count": len(sizes), "tokens": f"{sum(sizes):,}"}
        said = {
            TURNS: msg("the last turns kept {count} texts (~{tokens} tokens) from being pruned", **counted),
            ANCHORS: msg("citations kept {count} texts (~{tokens} tokens) from being pruned", **counted),
            PATTERNS: msg("file names kept {count} texts (~{tokens} tokens) from being pruned", **counted),
        }
        yield from [said[by]] if sizes else []


def _iter_usage_after(plan: PrunePlan) -> Iterator[Message]:
    if plan.usage.tokens or plan.usage.given >= 0:
        before, after = round(plan.usage.percent), round(plan.percent_after)
        yield msg("context in use: {before}% → {after}%", before=before, after=after)
        if plan.saved_tokens > plan.in_context:
            gone = f"{plan.saved_tokens - plan.in_context:,}"
            yield msg("~{tokens} of the saved tokens had already been compacted away", tokens=gone)
    else:
        yield msg("context in use: the transcript does not say")
    if find_band(plan.percent_after).name == "archive":
        yield msg("still above 95%: archive the session and go on in a new one")
    else:
        yield msg("you can work on")


def fold_ids(ids: Sequence[str]) -> str:
    """Return *ids* with runs of three and more numbers as ranges: [D001]-[D005], [C002]."""
    matches = [match for name in set(ids) if (match := re.fullmatch(r"([A-Z]+)([0-9]+)", name))]
    runs: list[list[tuple[str, int, str]]] = []
    for part in sorted((match[1], int(match[2]), match[0]) for match in matches):
        if runs and (runs[-1][-1][0], runs[-1][-1][1] + 1) == part[:2]:
            runs[-1].append(part)
        else:
            runs.append([part])
    folded = [[f"[{run[0][2]}]-[{run[-1][2]}]"] if len(run) > 2 else [f"[{one[2]}]" for one in run] for run in runs]
    return ", ".join(text for run in folded for text in run)


def explain_plan(plan: PrunePlan, language: str) -> str:
    """Return every cut and every protection on a line of its own, and whether it is worth the lost cache."""
    rows: list[Message] = [plan.idle] if plan.idle else []
    for cut in plan.cuts:
        where = {"line": cut.place.line, "turn": cut.step, "strategy": NAMES[cut.strategy], "what": one_line(cut.what)}
        sizes = {"before": f"{cut.removed:,}", "after": f"{cut.left:,}"}
        rows.append(msg("line {line}, turn {turn}: {strategy}: {what}: ~{before} → ~{after} tokens", **where, **sizes))
    protectors = {TURNS: msg("the last turns"), ANCHORS: msg("a citation"), PATTERNS: msg("the file's name")}
    for kept in plan.kept:
        values = {"by": protectors[kept.by], "what": one_line(kept.what), "tokens": f"{kept.tokens:,}"}
        rows.append(msg("turn {turn}: kept by {by}: {what}: ~{tokens} tokens", turn=kept.step, **values))
    if plan.cuts and plan.usage.tokens:
        # what is below the first change is cached again; the saving has to outweigh that
        behind = max(plan.usage.tokens - plan.in_context, 0)
        cost, gain = behind * (_WRITE_PRICE - _READ_PRICE), plan.in_context * _READ_PRICE
        sums = {"behind": f"{behind:,}", "turns": int(-(-cost // gain)) if gain else 0}
        rows.append(
            msg("the cache of at most {behind} tokens is lost; that pays after {turns} turns, if costs are all", **sums)
            if gain
            else msg("no tokens are saved in the running context: what was cut has already been compacted away")
        )
    return "\n".join(row.translate(language) for row in rows)
