"""Detect what a person says that is worth keeping, and answers to a proposal (MBANK-20..25).

Keyword heuristics: false positives are expected. What is found is only proposed (`proposals`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kb.hosts import HOSTS
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import count_words, one_line

WRITE, NO = "write", "no"
_ANSWER = regex(r"mb\s*:\s*(write|no)((?:[\s,]+\d{1,3})*)\s*[.!。！]?", re.IGNORECASE)
_MENTION = regex(r"mb\s*[:：]\s*(?:write|no)\b", re.IGNORECASE)
_MAX_ANSWER_CHARACTERS = 200
MAX_PROMPT_CHARACTERS = 20_000  # characters of a prompt that are looked at; what is longer is pasted
_MIN_SENTENCE_WORDS, _MAX_SENTENCE_WORDS = 5, 120  # 字 of a sentence that can be worth keeping
_MAX_SENTENCE_CHARACTERS = 1000  # characters of such a sentence
FOLDER = "proposals"  # where in the state folder the proposals are kept
SILENT = tuple(host.name for host in HOSTS.values() if not host.shows_turn_end)
"""Hosts that show a person nothing at the end of a turn: what is proposed there is found with `kb proposal`."""


class PromptAnswer(NamedTuple):
    """What the agent (*context*) and the person (*message*) are shown for a prompt."""

    context: str = ""
    message: str = ""


class ProposalAnswer(NamedTuple):
    """A person's word on what is proposed."""

    word: str  # WRITE or NO
    numbers: tuple[int, ...] = ()  # of which of the proposals, counted from 1; () for all


def parse_proposal_answer(prompt: str) -> ProposalAnswer | None:
    """Return the word that *prompt* is; None where it only mentions one, in a sentence, a quotation or code."""
    if len(prompt) > _MAX_ANSWER_CHARACTERS:
        return None
    text = unicodedata.normalize("NFKC", prompt).strip()
    match = _ANSWER.fullmatch(text) if "mb" in text.lower() else None
    if not match:
        return None
    return ProposalAnswer(match.group(1).lower(), tuple(int(number) for number in re.findall(r"\d+", match.group(2))))


def has_answer_word(prompt: str) -> bool:
    """Return whether *prompt* has such a word anywhere: then it begins no new proposal (the command guard)."""
    return "mb" in prompt.lower() and _MENTION.search(prompt) is not None


class NotableSentence(NamedTuple):
    """A sentence of a person that is worth keeping."""

    kind: str
    text: str


def find_notable_sentence(prompt: str) -> NotableSentence | None:
    """Return the first sentence of *prompt* that states what is to hold from now on; usually None."""
    prompt = prompt[:MAX_PROMPT_CHARACTERS]
    if not _find_likely_signs(fold_case(one_line(prompt))):
        return None
    for sentence in iter_sentences(prompt):
        folded = fold_case(sentence)
        kind = next((kind for kind, pattern in _find_likely_signs(folded) if pattern.search(folded)), "")
        # “Should we always use UTC?”, 要不要统一用 UTC: a question or a plan sounds like a rule and is none.
        if kind and not any(pattern.search(folded) for pattern in (_QUESTION, _UNSETTLED, _TEMPORARY, _TASK)):
            bare = _REMEMBER_PREFIX.sub("", sentence).strip(" \t:：,，")
            return NotableSentence(kind, bare if count_words(bare) >= _MIN_SENTENCE_WORDS - 1 else sentence)
    return None


def fold_case(text: str) -> str:
    """Return *text* in lower case, with plain apostrophes."""
    return text.casefold().replace("’", "'")


def _find_likely_signs(folded: str) -> list[tuple[str, re.Pattern[str]]]:
    """Return the signs that may be in *folded*: a prompt hook compiles no pattern that cannot match."""
    return [(kind, pattern) for kind, needles, pattern in _CUES if any(needle in folded for needle in needles)]


# -- sentences ---------------------------------------------------------------------------------------

CODE = regex(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)|`[^`\n]*`")
QUOTED = regex(r"“[^“”]*”|「[^「」]*」|『[^『』]*』|《[^《》]*》|(?<!\w)\"[^\"\n]*\"|(?<!\w)'[^'\n]{3,}'(?!\w)")
_NON_PROSE_LINE = regex(r"(?m)^[ \t]*(?:>|\||<[a-z/!]|@\S+$|\$ |#{1,6} ).*$")
_SENTENCE_END = regex(r"(?<=[。！？!?；;\n])|(?<=[.])(?=\s)")


def iter_sentences(prompt: str) -> Iterator[str]:
    """Yield the sentences that a person says: no code, no quotation, no row of a table or page."""
    text = prompt
    for marks, pattern, blank in (("`~", CODE, "…"), (">|<@$#", _NON_PROSE_LINE, "\n"), ("“「『《\"'", QUOTED, "…")):
        if any(mark in text for mark in marks):
            text = pattern.sub(blank, text)
    for piece in _SENTENCE_END.split(text):
        line = one_line(piece)
        if (
            len(line) <= _MAX_SENTENCE_CHARACTERS
            and _MIN_SENTENCE_WORDS <= count_words(line) <= _MAX_SENTENCE_WORDS
            and "…" not in line
        ):
            yield line


_REMEMBER_PREFIX = regex(
    r"^(?:请)?(?:你)?(?:要)?(?:把这[条个点件]?(?:事)?)?(?:记住|记一下|记下来|记下|记录一下|备忘|别忘了|注意"
    r"|记得)(?:这[一]?[点条])?|"
    r"^(?:please )?(?:remember|note|keep in mind|don't forget|write this down|make a note|for the record)(?: that)?",
    re.IGNORECASE,
)

# -- exclusions --------------------------------------------------------------------------------------

_QUESTION = regex(
    r"[?？]\s*$|[吗呢么]\s*[。.!！]?$|^(?:为什么|为何|怎么|如何|是不是|是否|要不要|能不能|可不可以|有没有|什么|哪|谁|"
    r"请问|帮我|给我|麻烦|翻译|把下面)|为什么|几天|还有多少|^(?:请)?(?:解释|翻译|写一|查一|看看|列出)|"
    r"^(?:what|why|who|which|when|where|how|should|shall|can|could|would|do|does|did|is|are|am|was|were|will"
    r"|may|must|"
    r"has|have we|explain|translate|show|list|tell me|write an?|sketch|suggest|look up|find)\b|"
    r"\b(?:what do you think|any ideas|right)\s*[?？]?$"
)
"""A question, or a wish to have something written or explained."""
_UNSETTLED = regex(
    r"如果|假如|假设|万一|要不要|也许|可能(?:要|会)?|考虑|还没(?:有)?(?:决定|想好|定)|尚未|未决定|没决定"
    r"|不确定|是不是|是否|"
    r"你怎么看|优缺点|"
    r"\b(?:if|what if|maybe|perhaps|might|considering|suppose|assuming|whether|not sure)\b|"
    r"\b(?:have not|haven't|has not|hasn't|did not|didn't|not yet|yet to) (?:yet )?(?:decid|agree|settl|chos)|"
    r"\b(?:undecided|pros and cons|options)\b"
)
"""What is not settled."""
_TEMPORARY = regex(
    r"临时|暂时|先.{0,6}(?:顶|凑合|注释)|这一次|这次|今天|明天|下班|午饭|回头|再说|"
    r"\b(?:for now|for the moment|temporarily|just (?:this )?once|this time|tonight|today|tomorrow|lunch|dinner|"
    r"this change|this bug|this (?:test|function|page|file|line) )"
)
"""What holds for a while only, or for one thing."""
_TASK = regex(
    r"帮我|帮忙|修一下|看一下|看看|处理一下|加个|再来|撤回|^(?:再|先|好，|确定要)|^把(?!这.{0,4}记)|"
    r"\bfix (?:it|this|that|the)\b|\b(?:have|take) a look\b|\bhelp me\b|\bplease (?:fix|check|look|run|revert)\b|"
    r"\brevert\b|^(?:ok(?:ay)?,? )?(?:go with|run|make|turn|swap|finish|your call)\b"
)
"""Something to be done now."""

# -- cue patterns ------------------------------------------------------------------------------------


def _build_sign(kind: str, needles: str, pattern: str) -> tuple[str, tuple[str, ...], re.Pattern[str]]:
    return kind, tuple(needles.split("|")), regex(pattern)


# Which kind a sentence may be, by its words; the first that holds. Before each pattern stand texts one of which stands
# in all that it matches ("坑" for 踩了个坑): a prompt hook compiles no pattern that cannot match.
_CUES = (
    _build_sign(
        "pitfall",
        "教训|坑|根因|根本原因|原来是|问题出在|罪魁祸首|血泪|吃过亏|长记性|重蹈覆辙|出过|因为|导致|"
        "lesson|gotcha|root cause|turns out|turned out|culprit|bit us|bitten us|hard way|because|"
        "caused by|not repeat|never again",
        r"教训|踩(?:了|过|到)?(?:个|一个)?坑|根因|根本原因|原来是|问题出在|坑在|罪魁祸首|血泪|吃过亏|长记性|重蹈覆辙|"
        r"出过.{0,6}(?:事故|故障|问题)|(?:就是|慢是|挂是|失败是|原因是)因为|导致.{2,24}(?:必须|以后|要先|不能)|"
        r"\blessons?\b|\bgotcha|\broot cause|\bturn(?:s|ed) out\b|\bthe culprit|\bbit(?:ten)? us\b|\bthe hard way\b|"
        r"\b(?:outage|incident)s? .{0,30}because\b|\bwas (?:\w+ )?(?:slow|failing|broken|down|wrong) because\b|"
        r"\bcaused by\b|"
        r"\bnot repeat (?:that|this|it)\b|\bnever again\b|\bfound (?:it|the cause|out)\b.{0,40}\bbecause\b",
    ),
    _build_sign(
        "decision",
        "决定|敲定|拍板|选定|商定|说好|谈妥|定下来|定了|讨论过了|达成一致|就这么|一锤定音|确认|商量|"
        "对齐|沟通|最终|最后|选择|选了|确定|采用|放弃|换成|改成|改用|迁到|切到|不再|停止|别再|不要再|"
        "decid|agreed|chose|settl|opted|picked|dropp|moving to|going with|switching|standardi|"
        "went with|ended up|not building|not using|confirmed|decision|final|resolved|let's|"
        "in the end we|is what we use|we'll|we will|we shall",
        r"(?:我们|团队|大家|最终|最后|会上|已经|已|正式)?(?:决定|敲定|拍板|选定|商定|说好|谈妥|定下来)(?:了|用|采用|"
        r"使用|改|不|放弃|把|将|由|以|先|从)|^(?:定了|敲定|拍板|决定)[了]?[，,：:]|讨论过了|达成一致|就这么(?:定|办)|"
        r"一锤定音|(?:跟|和|与).{1,10}(?:确认|商量|对齐|沟通)(?:过|好)|(?:最终|最后)(?:还是)?(?:选|用|采用|定|走)|"
        r"(?:我们|团队)(?:最终|还是)?(?:选择|选定|选了|确定|采用|放弃)|确定(?:用|采用|使用|由|以|走|为)|(?:统一|全部|"
        r"一律|都)(?:换成|改成|改用|迁到|切到)|(?:不再|停止|放弃|别再|不要再)(?:使用|用|维护|支持).{0,20}(?:改用|换成|"
        r"改成|转)|改用.{1,30}(?:因为|理由|原因|，)|"
        r"\b(?:we|i|the team|everyone)(?:'ve| have| has|'re| are)?(?: all| now| finally| just)? (?:decid|agreed|chose|"
        r"chosen|settl|opted|picked|dropp|moving to|going with|switching|standardi[sz]|went with|ended up|"
        r"not building|not using|confirmed)|^(?:decided|decision|settled|agreed|confirmed|final call|it's decided|"
        r"resolved)\b|\bthat(?:'s| is) (?:final|settled|decided)\b|\blet's (?:go with|stick (?:to|with)|"
        r"standardi[sz]e on)\b|\bin the end we\b|\bconfirmed with\b|\bis what we use\b|\bwe(?:'ll| will|"
        r" shall) (?:use|go with|switch to|stick|adopt|write|build|store|keep|always|never|only)\b",
    ),
    _build_sign(
        "preference",
        "喜欢|偏好|偏爱|倾向|习惯|讨厌|受不了|每次|总是|老是|你又|prefer|rather|like to|like you to|"
        "like it when|don't like|do not like|don't want|do not want|always|usually|never|you keep",
        r"我(?:个人)?(?:更|比较|最|还是)?(?:喜欢|偏好|偏爱|倾向|习惯)(?:你|用|先|把|将|在|让|以|四|两|小|短|中|英)|"
        r"我(?:不喜欢|讨厌|受不了)(?:太|过|用|你|在|把)|你(?:每次|总是|老是|又).{1,20}(?:忘|不|没)|"
        r"\bi(?:'d)?(?: would| really| always| usually| much)? (?:prefer|rather|like (?:you )?to|like it when)\b|"
        r"\bi (?:don't|do not) (?:like|want) (?!th(?:is|at|ese|ose)\b)(?:\w+ )?\w+|\bi (?:always|usually|never) \w+|"
        r"\byou (?:keep|always|never) \w+|\bplease (?:always|never)\b",
    ),
    _build_sign(
        "constraint",
        "必须|一律|严禁|禁止|不得|不允许|不准|不许|绝不|只能|只允许|不能|统一|凡|每个|每次|所有|们都|大家都|团队都|"
        "这边都|规定|规矩|惯例|约定|规范|铁律|要求|说过|不让|不要|别|must|shall |may |"
        "allowed|forbidden|prohibited|belong|only |policy|never|to be|compliance|legal|security|ops |customer|product|"
        "can't be|cannot be|can not be|rule|convention|two|three|at least|approv|using|don't use|do not use|"
        "not to use|ever use|nobody|no one|we all|we always|in this |in our ",
        r"必须|一律|严禁|禁止|不得|不允许|不准|不许|绝不|绝对不能|只能|只允许|不能(?!处理|运行|打开|用了|访问|编译|"
        r"工作)|统一(?:用|使用|采用|放|为|走|改|按|由|存)|凡是?|每个.{1,12}都(?:要|得|必须)|每次.{1,16}都(?:要|得|"
        r"必须)|所有.{1,16}(?:都(?:要|得|必须|应|用|由|走)|必须|一律|统一|不)|(?:我们|大家|团队|这边)都(?:用|是|按|走|"
        r"放|不)|(?:规定|规矩|惯例|约定|规范|铁律)(?:是|一下|：|:|就|$|。)|(?:是|的)(?:规定|规矩|惯例)|(?:合规|规范|"
        r"客户|法务|安全).{0,6}(?:要求|规定|说过|不让)|(?:不要|别)再?(?:使用|用).{2,24}|"
        r"\b(?:must|shall|may) (?:not|never|only|always)\b|\bmust(?:n't)?\b|\bnot allowed\b|\bforbidden\b|"
        r"\bprohibited\b|\bbelongs? (?:only )?in\b|\bonly .{1,30} may\b|\bis (?:our )?policy\b|\bpolicy:|"
        r"\bnever (?!mind|return)\w+|\bha(?:s|ve) to be\b|\bno \w+ (?:is|are) allowed\b|\b(?:compliance|legal|"
        r"security|ops|the customer|product) (?:asked|requires|demands|told|wants|needs|insists|says)|\b(?:can't|"
        r"cannot|can not) be \w+(?:ed|en) (?:with|by|in|from|to|without)\b|\b(?:house|team|golden|ground|"
        r"hard) rules?\b|\bconvention\b|\b(?:needs?|requires?) (?:two|three|at least|an? approv)|\b(?:stop|avoid|"
        r"no more) using\b|\b(?:don't|do not|not to) (?:ever )?use\b|\b(?:nobody|no one) (?:\w+s|may|is)\b|"
        r"\bwe (?:all|only|never|always) \w+|\bin (?:this|our) (?:project|repo|codebase|team)\b.{0,40}\b(?:are|is|use|"
        r"goes?|stay)\b",
    ),
    _build_sign(
        "constraint",
        "以后|今后|从现在|从今|往后|默认|from now on|going forward|from here on|from today on|future|"
        "by default|always|whenever|as a rule|by convention",
        r"以后(?:都|一律|统一|不再|要|就|请|只|不|每|遇|提|所有|凡|用|把|在|有|写|改)?(?!再说|怎么|会|需要|是否|能)|"
        r"今后|从现在(?:起|开始)|从今(?:天|以后|往后)|往后(?:都|一律)|默认(?:用|使用|采用|走)|"
        r"\bfrom now on\b|\bgoing forward\b|\bfrom here on\b|\bfrom today on\b|\bin (?:the )?future,? (?:always|never|"
        r"use|please)\b|\bby default (?:we|use)\b|\balways \w+|\bwhenever \w+|\bas a rule\b|\bby convention\b",
    ),
    _build_sign(
        "domain-note",
        "记住|记一下|记下来|把这|别忘了|注意|备忘|记录一下|牢记|remember|note|keep in mind|"
        "don't forget|do not forget| down|for the record|bear in mind",
        r"记住[：:，,]?|记一下|记下来|把这.{0,3}记|别忘了|^注意[：:，,]|^备忘|^记录一下|牢记|"
        r"^(?:please )?(?:remember|note)(?::| that|,)|\bkeep in mind\b|\bdon't forget\b|\bdo not forget\b|"
        r"\bwrite (?:this|that|it) down\b|\bmake a note\b|\bfor the record\b|\bbear in mind\b",
    ),
)
