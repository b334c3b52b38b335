"""Find where a session stands: what is done, under way and open, and what comes next.

Everything is a slice of the transcript. States come from what keeps them: lists of tasks, commits, trackers on the
command line (`bd`, `gh`), the summary of a compaction, and what the agent said last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from kb.i18n import msg
from kb.records.kinds import KINDS
from kb.sessions.handed_text import find_last_tasks, find_task, iter_items, read_plan, split_summary
from kb.sessions.host_input import to_text
from kb.sessions.prose import is_question, iter_statements, split_pieces, split_sentences
from kb.sessions.trackers import (
    SessionProgress,
    is_asked,
    iter_gaps,
    list_commits,
    list_failing_commands,
    read_git_state,
    read_task_list,
    read_trackers,
)
from kb.sessions.transcript import (
    AGENT,
    SUMMARY,
    Transcript,
    get_prompt,
    get_read_texts,
    list_agent_texts,
    list_prompts,
)
from kb.text.mentions import strip_markdown
from kb.text.segment import count_words, extract_ranking_terms, first_sentence, has_cjk, normalise, one_line

_MIN_WORD_SHARE = 0.6  # the share of the words of a step that have to come back where it is done
_MAX_STEPS = 200  # steps still to be done that are gathered, and things done that they are compared with, at most
_MAX_STEP_WORDS = 60
# “Next: add tests”, “还需要补测试”: what the agent says is left
_NEXT = re.compile(
    r"\b(?:next(?: step)?s?(?: is| are|:)|remaining|still (?:to do|needs?|missing)|not yet|left to do|to-?do:"
    r"|left(?: is| are|:)|what(?:'s| is) left)|下一步|待处理|剩下|剩余|还需要?|尚未|接下来|还差",
    re.IGNORECASE,
)
_NEXT_LEAD = re.compile(
    r"^(?:next(?: up| steps?)?|left|remaining|to-?do|下一步|接下来|剩下|还差|待办)(?: is| are|是)?\s*+[:：]\s*+",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"(?i)\b(?:still (?:to do|needs?|missing|open|has|have|shows?|fail\w*|running|pending|depends?)|not yet|outstanding"
    r"|unresolved|remains? (?:to|open|unresolved|failing|un\w+)|remaining (?:\w+ ){0,2}(?:is|are|:)|to-?do:|blocked\b"
    r"|left (?:to do|as[- ]is|open|unrelated|alone)|(?:wait|pend)ing (?:for|on)|deferred|(?:as|for|in) a follow-?up\b"
    r"|pre-existing (?:\w+ ){0,2}(?:fail|error|bug|issue|warn|problem)"
    r"|(?:is|are|keeps?|still) (?:\w+ly )?(?:failing|broken|blocked|crashing)"
    r"|(?:can(?:not|'t)|could(?: not|n't)|unable to)\b|i (?:did|have)(?: not|n't)\b|worth (?:checking|fixing)"
    r"|needs? (?:your|manual|a (?:person|human|review|decision))"
    r"|\b(?:is|are) (?:still )?(?:missing|untouched|half[- ](?:done|written))\b|not (?:been )?started"
    r"|in progress:|left:"
    r"|not (?:yet |been |currently )?(?:covered|done|pushed|committed|merged|tested|verified|deployed|implemented))"
    r"|尚未|还没|未完成|待(?:处理|办|定|确认)|剩下|剩余|还需要?|无法|阻塞|需要你|遗留|没有(?:提交|推送|测试)"
    r"|没(?:开始|动手|动(?=[，。；]|$)|做|解决|写|测|完成|提交|推)|(?:做|写|改)了?一半|还差|卡在",
)
"""“Still needs a review”, “I did not push it”, “还没提交”: what the agent's last answer leaves open."""
_DID = re.compile(
    r"(?i)[-*+\d.) ]{0,9}(?:✅|☑|\[x\]|(?:\w{1,40}ed|sent|ran|built|made)\b|"
    r".{0,60}\bmarked (?:as )?(?:done|completed?)\b)|\W*已"
)
"""“Notified the verifier”, under “Next steps” all the same: it is done."""
# “All tests pass”, “已全部完成”; “the tests pass” alone says nothing of the task
_ALL_DONE = re.compile(
    r"\ball (?:\w+ )?(?:work|tasks?|steps?|tests?|checks?|beads?) (?:is|are |were |have been )?(?:done|complete"
    r"|pass|finish)|\bis (?:now )?(?:complete|finished|done)\b|\b(?:fully|successfully) (?:ported|implemented"
    r"|completed)|everything is (?:pushed|done)|全部(?:完成|通过)|(?:已经?|都已?)(?:全部)?完成",
    re.IGNORECASE,
)
_FAREWELL = re.compile(  # with this a person ends a session: nothing is under way
    r"\b(?:that'?s (?:all|it|enough) for (?:today|now)|see you|good night|bye|let'?s stop here)\b"
    r"|(?:今天|先)(?:就)?(?:先)?到(?:这里|这儿|此)|下班了|明天见|再见",
    re.IGNORECASE,
)
# “webhook tomorrow”, “明天继续做 webhook”: put off, and so still open
_LATER_PATTERN = re.compile(r"\b(?:tomorrow|next time)\b|明天|下次", re.IGNORECASE)
# “I added the tests”, “测试写了”: what takes a step off the list of open ones
_DONE_PATTERN = re.compile(
    r"\b(?:done|added|implemented|fixed|finished|completed|wrote|written|updated|removed|created|merged|pushed"
    r"|committed|passe[sd]?|closed|resolved)\b|完成|已|好了|通过了|写了|加了|加上了|修复了|更新了|提交了|推送了",
    re.IGNORECASE,
)
# “Let me look”, “让我看一下”, “You're welcome!”: says nothing of where the session stands
_NOISE = re.compile(
    r"^(?:let me|now let me|i'll|i will|now|good|great|perfect|ok(?:ay)?)\b.{0,40}$|^(?:让我|好的|现在)"
    r"|^\W*(?:you['’]re (?:very )?welcome|my pleasure|no problem|glad (?:to help|i could)|happy to help"
    r"|done in a (?:second|moment|minute)|one (?:second|moment)|不客气|不用谢|辛苦了|(?:已完成|搞定|好|改好)了?\W*$"
    r"|(?:太好|太棒|很好|完美)了?\W*$|(?:excellent|awesome|wonderful)\W*$)",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"(?i)^\W*(?:done|fixed|pushed|committed|merged|created|added|updated|resolved|implemented|removed|both"
    r"|confirmed|[\w-]{1,20}(?: [\w-]{1,20})? (?:is |are )?(?:now )?(?:completed?|done|finished))\b"
    r"|\b(?:all|\d+) (?:\w+ )?(?:tests?|checks?)(?: \w+)? pass"
    r"|\b(?:is|are) (?:in place|fixed|merged|pushed|green|clean)\b"
    r"|(?:测试|检查)(?:全部|都)?通过|已(?:经)?(?:修复|提交|推送|合并|完成|创建)"
)
"""“All 98 tests pass”, “已修复”: a result that stands for itself."""
_MODAL = re.compile(r"(?i)\b(?:should|must|will|would|could|can|may)\b|应该|必须|将")
"""“`compare` should accept it”: what is wanted, not what is done."""
_UNSURE = re.compile(
    r"(?i)\b(?:let me|i['’]?ll|i(?:['’]m| am) \w+ing|if|would|could|should|might|may|maybe|but|not|isn't|doesn't|wait"
    r"|needs? to|to be|check|already)\b|\?|如果|可能|但|没有|不|让我"
)
"""“If it was merged …”: no result."""
_ANNOUNCES = re.compile(
    r"(?i)\b(?:let me|let's|i'?ll|i will|i'?m (?:now )?(?:going to|\w+ing)|i am (?:now )?\w+ing"
    r"|now (?:let me|to|i)\b|^now\b|next\b|need(?:s)? to|going to)|让我|我(?:来|先|将|会|现在)|接下来|现在|下一步|准备"
)
"""“Let me rebase first”, “我先跑测试”: what the agent is about to do."""
_STARTS = re.compile(
    r"(?i)(?:now (?:let me|i['’]?ll|i will|i['’]m|for|to|\w+ing)|let me(?! know)|i['’]?ll|i will(?! wait)|next,)\b"
    r"[^\n?？]{0,200}"
    r"|(?:现在(?:我|来|开始)|让我|接下来|我(?:来|先|将))[^\n?？]{0,120}"
)
_SAYS_NOTHING = re.compile(  # “Let me do that”, “让我来帮您完成”: an announcement of nothing else says no step
    r"(?i)\b(?:now|let me|let's|i['’]?ll|i will|next|do (?:it|that|this|so)|continue|proceed|start|begin|go ahead|help"
    r"|you|with|the|this|that|it|done|properly)\b|让我|我(?:来|先|将|会)?|现在|接下来|来|帮您?|[您你]|完成|继续|处理|开始|一下|这个|吧"
)
_PLAN_HEADING = re.compile(
    r"(?i)\A(?!.*(?:✅|✓|✔|☑)).*?\b(?:next steps?|what'?s next"
    r"|remaining(?=\W*\Z| (?:work|tasks?|items?|steps?|issues?)\b)|outstanding|follow-?ups?|open (?:items|questions"
    r"|points)"
    r"|to-?dos?|still (?:open|to do)|plan|not done|options)\b|下一步|待办|待处理|剩余|遗留|未完成|计划|后续|可选",
    re.DOTALL,
)
_LATER = re.compile(r"(?i)\b(?:after (?:that|this|which)|afterwards|then i|and then|later|finally)\b|之后|然后再?|最后")
"""“After that I'll push both branches”: open after the next step."""
_CHOICES = re.compile(
    r"(?i)\b(?:options|next (?:steps?|up)|what'?s next|recommendations?|i(?:'d| would)? (?:recommend|suggest))\b"
    r"|下一步|可选|选项|建议"
)
_RULER = re.compile(r"[━─═_=*-]{4,}")
_PARAGRAPHS = re.compile(r"\n(?:[ \t]*+\n)+")
_RECORD = re.compile(
    rf"\W*(?:(?:{'|'.join(kind.prefix for kind in KINDS)})\d*\]"
    rf"|(?:(?i:{'|'.join(kind.en for kind in KINDS)})|{'|'.join(kind.zh for kind in KINDS)})\W{{0,3}}[:：])"
)
"""“[D] …”, “Decision: …”, “约束：…”: a paragraph that marks a record is no step, whatever its words."""
_MAX_LEAD_WORDS = 12  # a longer sentence before a list is no heading of it
_OFFER = re.compile(  # “Want me to push it?”: the next step is the person's word
    r"(?i)\b(?:want me to|shall i|should i|would you like|do you want|ready (?:to|for)|let me know)\b"
    r"|要(?:不要)?我|是否需要"
)
_ADVICE = re.compile(
    r"(?i)(?:once|after (?:that|this)|when you|give it)\b"
    r"|\byou(?:['’]ll| will| may| might)? (?:can|should|need to|have to|want to)\b"
    r"|\bi(?:['’]ll| will) wait\b|\bwaiting (?:for|on)\b|\bready (?:if|when)\b|\bstanding by\b"
    r"|\b(?:just run|please (?:try|run|check|restart|wait)|then try|try (?:it )?again|wait (?:a|for|until)|when you)\b"
    r"|^(?:run|restart|reload|open|export|set|visit|rerun|review) [`\"“/h]"
    r"|(?:你|您)(?:可以|需要)|请(?:重试|稍等)|^(?:请)?(?:运行|执行|重启|打开) ?[`“]"
)
"""“You may need to unlock it, then try”, “你需要重启”: the next step is the person's."""
_HARMLESS = re.compile(
    r"(?i)\b(?:did|does|has|have)(?: not|n't) (?:block|break|affect|change|touch|need|fail|find|require)"
    r"|\bbut (?:now|it)\b|\b(?:no|0|zero)\b[^.]{0,60}\bremain(?:s|ing)?\b"
    r"|\b(?:is|are) (?:now )?(?:done|complete|finished|fixed|resolved|clean)\b"
)
"""“It did not block the run” leaves nothing open."""
_MAX_EARLIER = 10  # turns before the last one that are asked what came out of them
_CLAIMED = "(in_progress)"
_REVIEWS = ("PR ", "MR ")  # a request that is open waits for its review: the next step where nobody named another
NOT_PUSHED = msg("the last commits are not pushed")
NO_REQUEST = msg("no pull request for the pushed branch")
PUSHED = msg("see what CI and the review say of what was pushed")
UNSEEN = msg("what CI and the review say about the push is not known yet")
_NOTHING_LEFT = re.compile(r"(?i)\bno (?:explicit\w* )?pending|completed?\b|已完成|无$")


# -- how far it is ---------------------------------------------------------------------------------


def find_progress(transcript: Transcript, language: str = "en") -> SessionProgress:
    """Return what is done, under way, open and next; kb's own words among it are in *language*."""
    kept, events, turn = read_task_list(transcript), read_trackers(transcript), _LastTurn(transcript)
    claim = _find_completion_claim(transcript)
    doing, claimed = list(kept.doing), [row for row in events.open if row.endswith(_CLAIMED)][:1]
    is_ended = any(map(is_farewell, list_prompts(transcript)[-1:]))
    if not doing and not (kept.open or claim or turn.is_over or is_ended):
        doing = claimed or _find_current_work(transcript)
    said = [*_list_earlier(transcript), *_list_results(transcript), *(turn.list_outcome() if turn.is_over else [claim])]
    plan = SessionProgress() if any(kept) else _read_plan_progress(transcript)
    if claim and turn.is_over:  # “All work is complete”: nobody ticked the list off
        kept = kept._replace(done=(*kept.done, *kept.open), open=())
    waiting = [*kept.open, *_iter_next_steps(transcript), *turn.list_open(), *plan.open]
    waiting += _list_summary_steps(transcript, "pending")
    git = read_git_state(transcript)
    unfinished = [NOT_PUSHED.translate(language)] if git.is_unpushed else []
    steps = [msg("push the last commits").translate(language)] if git.is_unpushed else []
    if git.uncommitted:
        unfinished.append(msg("not committed: {files}", files=git.uncommitted).translate(language))
        steps.insert(0, msg("commit {files}", files=git.uncommitted).translate(language))
    is_fine = turn.is_over and (claim or _list_results(transcript))
    failing = [] if is_fine else list_failing_commands(transcript, language)
    # a command that failed may be the last that happened
    coming = failing[-1:] * turn.is_cut or ([] if turn.is_over else _list_summary_steps(transcript, "next"))
    announced = turn.list_next(language)
    coming = coming or (announced and [*kept.doing[: not turn.is_over], *announced])
    coming = coming or [*kept.doing[:1], *kept.open[:1]] or turn.list_planned()[:1] or [*plan.open[:1]]
    coming = coming or [row for row in events.open if row.startswith(_REVIEWS)][:1] or claimed or [*events.open[-1:]]
    coming = coming or doing[: not turn.is_over] or steps[:1] * bool(git.uncommitted) or turn.list_open()[:1]
    unfinished += [NO_REQUEST.translate(language)] * git.is_unrequested
    coming = coming or unfinished[-1:] * git.is_unrequested
    coming = coming or [PUSHED.translate(language)] * git.is_pushed_last
    coming = coming or doing[:1] or steps[:1]
    waiting += failing
    if git.is_pushed_last and not (waiting or unfinished or events.open or doing):
        unfinished = [UNSEEN.translate(language)]
    done = [*plan.done, *list_commits(transcript), *kept.done, *events.done, *said]
    if git.uncommitted and not any(map(str.strip, done)):  # of what was not spoken the files speak
        done = [msg("edited: {files}", files=git.uncommitted).translate(language)]
    return SessionProgress(
        _unique(done),
        _unique(doing),
        _unique(_NEXT_LEAD.sub("", row) for row in [*waiting, *unfinished, *events.open]),
        _unique(_NEXT_LEAD.sub("", row) for row in coming),
    )


def _read_plan_progress(transcript: Transcript) -> SessionProgress:
    """Return what is done and open of the agent's numbered plan; nothing of one that nobody has begun."""
    steps = [step for step in read_plan(transcript) if step.state != "dropped"]
    left = [one.text for one in steps if not one.state and [*_filter_undone(transcript, one.line, [one.text])]]
    done = tuple(step.text for step in steps if step.text not in left)
    return SessionProgress(done, open=tuple(left)) if done else SessionProgress()


def _unique(rows: Iterable[str]) -> tuple[str, ...]:
    return tuple({normalise(row): row for row in reversed([*rows]) if row.strip()}.values())[::-1]


# -- what was said last ----------------------------------------------------------------------------


def _list_results(transcript: Transcript) -> list[str]:
    """Return what the agent said in passing that it has reached, the last three: “All 98 tests pass.”"""
    found: list[str] = []
    for _, text in list_agent_texts(transcript, get_read_texts)[:-20:-1]:
        rows = [strip_markdown(row) for row in _iter_prose(text) if not row.rstrip("* ").endswith((":", "："))]
        gaps = {strip_markdown(row) for row in iter_gaps(text)}
        rows = [row for row in rows if 3 < count_words(row) < _MAX_STEP_WORDS and row not in gaps]
        found += [row for row in rows if _RESULT.search(row) and not (_UNSURE.search(row) or _NOISE.search(row))]
        if len(found) >= 3:
            break
    return found[2::-1]


def _list_earlier(transcript: Transcript) -> list[str]:
    """Return what came out of the turns before the last one, the last three that say it: “Done. I moved the form.”"""
    messages, found = transcript.messages, list[str]()
    for number in [n for n, message in enumerate(messages) if is_asked(message)][: -_MAX_EARLIER - 1 : -1]:
        turn = _LastTurn(transcript._replace(messages=messages[:number]))
        lead = turn.list_outcome()[-1:] if turn.is_over else []
        pairs = pairwise(split_pieces(turn.text)) if lead else ()  # “The bar is now:”, and what it is now behind it
        before = [one.text for one, after in pairs if one.text[-1:] in ":：" and lead[0] in strip_markdown(after.text)]
        if lead and (_RESULT.match(turn.text) or (_DONE_PATTERN.search(lead[0]) and not _UNSURE.search(lead[0]))):
            found.append(" ".join(([*split_sentences(" ".join(before))][-1:]) + lead))
    return found[2::-1]


class _LastTurn:
    """The last answer of the agent, and whether the turn is over with it."""

    def __init__(self, transcript: Transcript) -> None:
        """Find the last answer."""
        own = [message for message in transcript.messages if message.in_context]
        last = max((n for n, message in enumerate(own) if is_asked(message) or message.answers), default=-1)
        turn = own[last + 1 :]
        spoken = [n for n, message in enumerate(turn) if message.origin == AGENT and message.texts]
        text = "\n".join(get_read_texts(turn[spoken[-1]])) if spoken else ""
        self.text = "\n\n".join(block for block in _PARAGRAPHS.split(text) if not _RECORD.match(block))
        behind = turn[spoken[-1] :] if spoken else turn
        is_last = bool(self.text) and not any(message.calls or message.results for message in behind)
        # “Now wiring the live updates.” behind a result: its call has not come yet
        has_begun = bool(spoken) and spoken[-1] > 0 and bool(turn[spoken[-1] - 1].results)
        self.is_over = is_last and not (has_begun and _STARTS.fullmatch(self.text.strip()))
        self.is_cut = bool(turn) and bool(turn[-1].results) and not self.is_over
        calls = [call for message in behind for call in message.calls]
        plan = to_text(calls[-1].input.get("plan")) if calls and calls[-1].name == "ExitPlanMode" else ""
        self.plan = [row.strip("#* ") for row in plan.splitlines() if count_words(row) >= 3][:1]
        said = list(_iter_prose(self.text))
        self.said = [row for row in map(strip_markdown, said) if count_words(row) > 1]
        self.rows = [row for row in self.said if count_words(row) > 2]
        self.gaps = [strip_markdown(row) for row in iter_gaps(self.text)]
        self.leads = {strip_markdown(row) for row in said if row.rstrip("* ").endswith((":", "："))}

    def list_outcome(self) -> list[str]:
        """Return the sentences that say what came out, at most two, the lead of the answer."""
        idle = (_NOISE, _ADVICE, _FAREWELL)
        told = [row for row in self.rows if not (is_question(row) or any(one.search(row) for one in idle))]
        told = [row for row in told if not _OPEN.search(row) or _HARMLESS.search(row)]
        # “What I did:” leads to a list
        told = [row for row in told if row not in self.leads and row not in self.gaps]
        told = [row for row in told if not _NEXT_LEAD.match(row)]  # “下一步：加重试” has not come out
        lead, later = told[:1], [row for row in told[1:] if _DONE_PATTERN.search(row) and not _MODAL.search(row)]
        return [*lead, *later][:3][::-1]

    def list_open(self) -> list[str]:
        """Return what the answer says is open, and what it lists under a heading that says so.

        In the middle of a turn: what follows the next step, and the plan that waits for a person.
        """
        if not self.is_over:
            return [*self.plan, *(row for row in self.rows if _LATER.search(row))]
        rows = (row for row in self.rows if row not in self.gaps and _OPEN.search(row) and not _HARMLESS.search(row))
        return [*self.list_planned(), *(row for row in (*self.gaps, *rows) if count_words(row) < _MAX_STEP_WORDS)]

    def list_planned(self) -> list[str]:
        """Return what the answer lists under a heading that says that it is still to be done."""
        planned = (item for item in _iter_planned(self.text) if self.is_over and not _DID.match(item))
        return [strip_markdown(item.split("\n")[0].lstrip("-*+0123456789.) ")) for item in planned]

    def list_next(self, language: str) -> list[str]:
        """Return the next step: what the agent asks or advises, or in the middle of a turn what it has announced."""
        if not self.is_over:
            waits = [msg("the plan waits for approval: {plan}", plan=plan).translate(language) for plan in self.plan]
            # “All 98 tests pass. Now lint.”: what has come out is no next step, and an announcement may be short
            rows = [row for row in self.said if row in self.rows or _ANNOUNCES.search(row)][-3:]
            announced = next((rows[n:] for n, row in enumerate(rows) if _ANNOUNCES.search(row)), None)
            rows = announced or [row for row in rows if not _RESULT.search(row)]
            said = one_line(_RULER.sub(" ", "; ".join(filter(_says_step, rows))))
            return waits or ([said] if said else [])
        if choices := [row for row in _iter_planned(self.text, _CHOICES) if not _DID.match(row)]:
            return [strip_markdown(item.split("\n")[0].lstrip("-*+0123456789.) ")) for item in choices[:2]]
        asked = [row for row in self.rows if is_question(row) or _OFFER.search(row)][-1:]
        advised = [row for row in self.rows if (_NEXT.search(row) and not _HARMLESS.search(row)) or _ADVICE.search(row)]
        return [*advised[:2], *asked]


def _iter_prose(text: str) -> Iterator[str]:
    """Yield the sentences of the prose and the list items of *text*."""
    for piece in split_pieces(text):
        if piece.what in ("prose", "item"):
            yield from split_sentences(piece.text)


def _iter_planned(text: str, heading: re.Pattern[str] = _PLAN_HEADING) -> Iterator[str]:
    """Yield the items of the last list in *text* whose *heading* or lead says that it is still to be done."""
    pieces = split_pieces(text)
    places = [(n, piece.text) for n, piece in enumerate(pieces) if piece.what in ("heading", "prose")]
    leads = [n for n, lead in places if count_words(lead) < _MAX_LEAD_WORDS and heading.search(lead)]
    behind = pieces[leads[-1] + 1 :] if leads else []
    if heading is _CHOICES and behind and behind[0].what == "prose" and pieces[leads[-1]].what == "heading":
        yield behind[0].text  # “## Next up”, then a sentence
    for piece in behind:
        if piece.what != "item":
            break
        yield piece.text


def _list_summary_steps(transcript: Transcript, section: str) -> list[str]:
    """Return the items of a *section* of the last compaction's summary that have not been done since.

    Once the person has asked for more, it is old.
    """
    said = (message for message in reversed(transcript.messages) if message.origin == SUMMARY or is_asked(message))
    last = next(said, None)
    if last is None or last.origin != SUMMARY:
        return []
    text = split_summary("\n".join(last.texts)).get(section, "")
    rows = [item.lstrip("-*+ ").partition("\n")[0] for item in iter_items(text)] or list(_iter_prose(text))[:2]
    names = [row.split()[0] for row in read_trackers(transcript).done]  # of “shop-12” a summary may say “12”
    closed = tuple(f"{one} " for name in names for one in (name, name.partition("-")[2]))
    steps = [row for row in map(strip_markdown, rows) if not (_NOTHING_LEFT.search(row) or row.startswith(closed))]
    return list(_filter_undone(transcript, last.line, steps))


def _find_completion_claim(transcript: Transcript) -> str:
    """Return the words with which the agent says, since the last prompt, that all is done; "" without any."""
    since = max((number for number, message in enumerate(transcript.messages) if get_prompt(message)), default=0)
    texts = [
        text for _, text in list_agent_texts(transcript._replace(messages=transcript.messages[since:]), get_read_texts)
    ]
    # the claim is in the last texts; an earlier “done” was followed by more work
    for text in texts[:-4:-1]:
        for row in _iter_matching_sentences(_ALL_DONE, text):
            if 3 < count_words(row) < _MAX_STEP_WORDS and not _NEXT.search(row):
                return row
    return ""


def _iter_matching_sentences(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the sentences of *text* that match *pattern*; most texts need not be cut into sentences for that."""
    if pattern.search(strip_markdown(text)):
        rows = map(strip_markdown, _iter_prose(text))
        yield from (row for row in rows if pattern.search(row) and not row.endswith((":", "：")))


def is_farewell(prompt: str) -> bool:
    """Return whether a person ends the session with *prompt*."""
    return _FAREWELL.search(prompt) is not None


def _find_current_work(transcript: Transcript) -> list[str]:
    """Return the last task, or what the agent said last if there was only one: without a task list that must do."""
    if tasks := find_last_tasks(transcript, 1):
        return [one_line(tasks[0])]
    said = list_last_statements(transcript)
    return [row for row in said if _says_step(row)][:1] or [first_sentence(find_task(transcript), 200)] * bool(said)


def _says_step(row: str) -> bool:
    return count_words(re.sub(r"\W+", " ", _SAYS_NOTHING.sub(" ", row))) > 0


def list_last_statements(transcript: Transcript, texts: int = 1) -> list[str]:
    """Return the sentences of the *texts* that the agent said last, the last first, without announcements."""
    last = [text for _, text in list_agent_texts(transcript, get_read_texts)][: -texts - 1 : -1]
    rows = [row for text in last for row in iter_statements(text) if count_words(row) > 3]
    rows = [row for row in rows if not is_farewell(row)]
    return [row for row in rows if not (_NOISE.search(row) or _NEXT_LEAD.match(row))] or rows  # they stand only alone


def _iter_next_steps(transcript: Transcript) -> Iterator[str]:
    """Yield what the agent said last is still to be done, and what a person puts off when the session ends."""
    for line, text in list_agent_texts(transcript, get_read_texts)[-2:]:
        said = [row for row in _iter_matching_sentences(_NEXT, text) if count_words(row) < _MAX_STEP_WORDS]
        wanted = (row for row in said if not _HARMLESS.search(row))
        yield from _filter_undone(transcript, line, list(islice(wanted, _MAX_STEPS)))
    for prompt in list_prompts(transcript)[-1:]:
        if is_farewell(prompt):
            rows = (strip_markdown(sentence) for sentence in split_sentences(prompt))
            yield from (row for row in rows if _LATER_PATTERN.search(row))


def _filter_undone(transcript: Transcript, line: int, steps: Sequence[str]) -> Iterator[str]:
    """Yield the *steps* said at *line* that were not done after it.

    A commit or a sentence of the agent's that names most of its words says that a step is done.
    """
    done = [_extract_terms(row) for row in _list_done_after(transcript, line)[-_MAX_STEPS:]] if steps else []
    for row in steps:
        terms = _extract_terms(_NEXT.sub(" ", row))
        if not terms or not any(len(terms & other) >= _MIN_WORD_SHARE * len(terms) for other in done):
            yield row


def _list_done_after(transcript: Transcript, line: int) -> list[str]:
    """Return what was done behind *line*: the subjects of commits, and what the agent says that it has done."""
    later = transcript._replace(messages=tuple(m for m in transcript.messages if m.line > line))
    rows = (row for _, text in list_agent_texts(later, get_read_texts) for row in split_sentences(text))
    return [
        *list_commits(later),
        *(row for row in rows if _DONE_PATTERN.search(row) and not (_NEXT.search(row) or _OPEN.search(row))),
    ]


def _extract_terms(text: str) -> frozenset[str]:
    """Return the stems of the words of *text* that have four letters or more, and its CJK bigrams."""
    return frozenset(term for term in extract_ranking_terms(text) if len(term) > (1 if has_cjk(term) else 3))
