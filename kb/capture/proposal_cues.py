"""Detect what a person says that is worth keeping, and answers to a proposal (MBANK-20..25).

Keyword heuristics: false positives are expected. What is found is only proposed (`proposals`) or asked of the agent
(`openings`); only a rule that binds in all cases becomes a candidate by itself (`extract`).
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
_MAX_PROMPT_CHARACTERS = 20_000  # characters of a prompt that are looked at; what is longer is pasted
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
    prompt = prompt[:_MAX_PROMPT_CHARACTERS]
    if not _find_likely_signs(_fold_case(one_line(prompt))):
        return None
    for sentence in _iter_sentences(prompt):
        folded = _fold_case(sentence)
        kind = next((kind for kind, pattern in _find_likely_signs(folded) if pattern.search(folded)), "")
        # “Should we always use UTC?”, 要不要统一用 UTC: a question or a plan sounds like a rule and is none.
        if kind and not any(pattern.search(folded) for pattern in (_QUESTION, _UNSETTLED, _TEMPORARY, _TASK)):
            bare = _REMEMBER_PREFIX.sub("", sentence).strip(" \t:：,，")
            return NotableSentence(kind, bare if count_words(bare) >= _MIN_SENTENCE_WORDS - 1 else sentence)
    return None


def _fold_case(text: str) -> str:
    return text.casefold().replace("’", "'")


def _find_likely_signs(folded: str) -> list[tuple[str, re.Pattern[str]]]:
    """Return the signs that may stand in *folded*: a prompt hook compiles no pattern that cannot match."""
    return [(kind, pattern) for kind, needles, pattern in _CUES if any(needle in folded for needle in needles)]


# -- sentences ---------------------------------------------------------------------------------------

_CODE = regex(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)|`[^`\n]*`")
_QUOTED = regex(r"“[^“”]*”|「[^「」]*」|『[^『』]*』|《[^《》]*》|(?<!\w)\"[^\"\n]*\"|(?<!\w)'[^'\n]{3,}'(?!\w)")
_NON_PROSE_LINE = regex(r"(?m)^[ \t]*(?:>|\||<[a-z/!]|@\S+$|\$ |#{1,6} ).*$")
_SENTENCE_END = regex(r"(?<=[。！？!?；;\n])|(?<=[.])(?=\s)")


def _iter_sentences(prompt: str) -> Iterator[str]:
    """Yield the sentences that a person says: no code, no quotation, no row of a table or page."""
    text = prompt
    for marks, pattern, blank in (("`~", _CODE, "…"), (">|<@$#", _NON_PROSE_LINE, "\n"), ("“「『《\"'", _QUOTED, "…")):
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

# -- statements --------------------------------------------------------------------------------------

_NUMBER = r"(?:\d|one|two|three|four|five|six|ten|twelve|twenty|thirty|half|[一二两三四五六七八九十百千半])"
_BINDS = regex(
    r"\bmust(?:n't)?\b(?! (?:be because|have been))|\bnever\b(?! (?:mind|seen|did|got|was|worked|happens))"
    r"|\b(?:shall|may) (?:not|only|never)\b|(?<!\bi )(?<!\bwe )(?<!\byou )\b(?:has|have|needs?) to\b"
    r"|\bnot to (?:use|send|store|log|share|touch|call)\b"
    r"|\b(?:is|are) (?:not |only )?(?:allowed|permitted|forbidden|prohibited|banned|mandatory|required)\b"
    r"|\b(?:nobody|no ?one) \w|\bno (?:\w+ ){1,4}(?:without|before|unless|until)\b|\bonly (?:ever|in|for|from"
    r"|via|through)\b"
    r"|必须|务必|不得|禁止|严禁|不[准许](?!确)|不允许|不能(?!处理|运行|打开|用了|访问|编译|工作)|绝不|绝对不|一律"
    r"|一定(?:要|得|不|是)|只[能许准](?!看到|找到)|都(?:得|要|必须)|全(?:都|部)?(?:走|用|由|交给|经过)"
    r"|统一(?:用|使用|采用|放|走|由|按|存|成|为)",
    re.IGNORECASE,
)
"""“customer e-mails must not be logged”, “任何定时任务都得加锁”: an obligation, whoever has it."""
_GENERAL = regex(
    r"\b(?:all|every|any|each|always|never|nobody|no ?one|everyone|everything|nothing|anything|no)\b"
    r"|所有|任何|每[个次条一]|一律|永远|始终|绝不|绝对不|凡|都|全|统一|禁止|严禁|不[准许](?!确)|不得|不允许"
)
"""What is said of all cases."""
_POINTS = regex(
    r"\b(?:this|that(?!\W*\Z)|these|those|here|it)\b|[这它]|那(?:个|些|里|边|样|段|行)|刚才|上面|下面", re.IGNORECASE
)
"""“this must be fixed”, “这里必须改”: the one thing at hand."""
_ORDERS = regex(
    r"\A(?!.{0,300}[\u4e00-\u9fff])\W*(?:(?:please|pls|ok(?:ay)?|so|and|now|then|just|first|also|(?:can|could"
    r"|would|will) you"
    r"|go ahead and|let's|let us)[,:]?\s+)*(?:add|run|rerun|rename|bump|fix|revert|show|tell|check|look|make"
    r"|create|write"
    r"|implement|update|remove|delete|move|change|refactor|open|build|deploy|push|commit|merge|test|explain"
    r"|find|give|put"
    r"|set|skip|point|undo|go|continue|generate|install|read|list|print|replace|turn|clean|wrap|extract"
    r"|convert|split|do"
    r"|help|review|investigate|debug|rebase|tag|release|start|stop|try|get|see|search|compare|adjust|improve"
    r"|translate"
    r"|format|walk|summari[sz]e|port|sketch|draw|raise|return|shrink|verify|mock|handle|pick|bring|paste|send|share|"
    r"give|collapse|expand|hide|inline|log|reuse|rewrite|simplify|sort|upgrade|validate|wire|hook|drop|undo|skip|"
    r"restart|reset)\b"
    r"|\A\W*(?:(?:好的?|嗯|那|请|麻烦|你|再|先|现在|顺便|另外|然后)[，,\s]*)*(?:帮|给.{1,20}?(?:加|写|做|改|补|建|发)"
    r"|把(?!.{1,30}(?:一律|以后|永远))|看[下看一]|跑|查|改[一下成掉]|加[个一上]|修[一复下好]|写[个一]|删|重构"
    r"|回滚|提交|运行|解释"
    r"|翻译|生成|实现|测试一|贴|试|确认(?!过)|处理|优化一|检查|继续|列|补[个一充]|合并|部署|打开|搞|弄|做个"
    r"|新[建增]|撤[回销]|升级"
    r"|安装|启动|停掉|对比|分析|总结)(?!的|脚本|包|器|程序|前|之前|信息|说明)|你?帮我|给我|加个|[看查改写试跑修补加讲说分]一[下遍]"
    r"|再[看查改写试跑分]",
    re.IGNORECASE,
)
"""“add a retry around the upload”, “给接口加个导出”: work for now."""
_REPORTS = regex(
    r"\A\W*(?:(?:ok|hm+|oh|well|yes|no)[,.]?\s+)*(?:just|i(?! (?:always|usually|never|like|prefer|want|hate"
    r"|love|dislike"
    r"|can't|cannot|would|expect)\b)(?!')\b|i'(?:m|ve)\b|that's|it's|still|now it|looks like|seems|let me"
    r"|let's see|where|what"
    r"|why|how|when(?! (?:you|we|writing|adding|in)\b)(?!.{0,80}\b(?:always|never|expect|prefer)\b)|which|who"
    r"|do(?!n't| not)|does|did|is|are|can|could|should|would)\b"
    r"|\b(?:said|says|claims?|mentioned|heard|states)\b|\b(?<!legal )told (?:me|us)\b|\baccording to\b"
    r"|\A\W*(?:我(?!们)(?!.{0,12}(?:希望|喜欢|习惯|总是|一般|都|偏好|讨厌|受不了))|刚|今天|昨天|目前|正在|哎|唉|啊)"
    r"|\A[^，,。]{0,12}(?:说(?![好定的过明])|提了|提到|写着|写的是|声称)|据说|听说",
    re.IGNORECASE,
)
"""What is told or thought aloud: “just finished it”, “their docs claim …”, “老王说 …”."""
_ASKS = regex(
    r"为[啥什何]|怎么|什么|多久|多少|哪[个里些种]|谁(?!都)|几[个次天点]|[么吗呢]\W*\Z|\?\W*\Z|\A\W*(?:how"
    r"|what|why|where|which|who)\b"
)
_ANNOUNCES = regex(
    r"\b(?:lessons?(?: learned)?|root cause|final call|(?:house|team|golden|ground) rule|decision)\b[^.]{0,20}:"
    r"|\b(?:write (?:this|that|it) down|for the record|(?:please )?(?:note|remember) that|keep in mind"
    r"|(?:it )?turn(?:s|ed) out"
    r"|concluded that|conclusion (?:is|was)|confirmed with|agreed with|let's not)\b"
    r"|\byou keep \w+ing\b|\b(?:legal|compliance|security|audit|the customer)\b.{0,20}\b(?:says?|said|told|wants)\b"
    r"|教训|根因|根本原因|结论(?:是|就是|[：:])|就这么(?:定|办)|讨论过|确认过|商量过|对齐过|评审过|记(?:一下|下来|住)|写下来"
    r"|原来是|规矩"
    r"|(?:法务|合规|安全|审计|客户|运维|老板|领导)[^，。]{0,6}(?:说|要求|同意|规定)",
    re.IGNORECASE,
)
"""“lesson learned: …”, “刚跟产品确认过，…”: what follows is meant to be kept, however it is told."""
_CHOOSES = regex(
    r"\b(?:decided|settled|agreed|we(?:'re| are)? (?:going|sticking|staying|moving) (?:with|to|on)|standardi[sz]e on"
    r"|let's (?:go with|stick (?:with|to)|use|drop|keep|switch to|stay|not)|(?:is|are|stays?) (?:out|in|gone"
    r"|dead|the (?:default|standard))"
    r"|stays? (?:an?|in|on|as|where|the)\b|for (?:everything|anything|all) new|(?:all|every) new|no longer"
    r"|instead of|rather than"
    r"|we (?:use|keep|store|only|don't|do not|go|are dropping|will (?:use|write|build|store|keep)) \w)"
    r"|,? not (?:in )?\w+\W*\Z"
    r"|敲定|拍板|商定|说好|谈妥|[就都]?定(?:了|为|成|用|下)|就(?:定|用|按|走|选|上|放|存)|换成|改成|改用|换到"
    r"|切到|迁到|砍掉|弃用|下线"
    r"|还是(?:选|用)|选了|不(?:自己?)?(?:做|上|用|搞|引入|支持|代|存|放|自研)|不再|保留|沿用|而不是|而非"
    r"|决定(?!权)|选定|采用|选用|约定"
    r"|为准|[放存走].{1,12}[里上中]?，不",
    re.IGNORECASE,
)
"""“GraphQL is out”, “消息队列就定 RocketMQ 了”: something was chosen."""
_PREFERS = regex(
    r"\b(?:prefer|i(?:'d| would) rather|i (?:really |do )?(?:like|love|hate|dislike|can't stand|cannot stand|expect"
    r"|(?:don't|do not) (?:like|want))(?! (?:it|this|that|these|those|the|you|to)\b))\b"
    r"|\A\W*(?:please )?(?:use (?!the |this |that |it\b|port )|avoid|keep (?!going|it\b|on\b)|don't|do not|always|never"
    r"|stick to|default to|aim for|no )\b|\buse .{1,40}\b(?:style|format|notation|convention|naming)\b"
    r"|\bfrom (?:now|here) on\b|\bgoing forward\b|以后(?!再|可能|试|可以|的话|有)|今后"
    r"|\A\W*when(?:ever)? (?:you|we|in|writing|adding|changing|naming)\b"
    r"|\A\W*(?!the |this |that |it )(?:\w+ ){1,4}should\b|\bno new\b|\b(?:only|always|never)\W*\Z|\bplease, no\b"
    r"|尽量|尽可能|优先|[写用是放按走].{1,10}(?:就行|就好|即可|就可以)|[用按].{1,24}(?:格式|风格|方式|写法|规范)"
    r"|能.{1,20}就|不要|别(?![的人名处说急])|(?:喜欢|偏好|习惯|讨厌|受不了|希望)(?!这|那|它)|默认|(?:之|以)?前(?:都|要|得)?先"
    r"|(?:要|得|应该?)(?:带|加|写|用|有|走|经过|保持|按|先|放|留|让|给|符合|支持|问|[一二两三四五六七八九十\d])"
    r"|由.{1,8}(?:自己|负责)|\A.{2,12}归|按.{1,24}(?:来|走|写|命名)\W*\Z"
    r"|\b(?:needs?|wants?|goes|should)\b.{1,120}\b(?:otherwise|or else|because)\b|[要得用].{1,60}(?:不然|否则|因为)",
    re.IGNORECASE,
)
"""“prefer early returns”, “PR 尽量拆小”: how somebody wants it."""
_STATES = regex(
    r"\A(?!.{0,300}[\u4e00-\u9fff])\W*(?!(?:the|this|that|these|those|an?|it|i|we|you|he|she|they|there|here|your|my|"
    r"no|yes"
    r"|ok|everything|nothing|both|all good|still|now|sorry|thanks)\b)(?:[\w'./-]+ ){1,4}(?:(?:is|are|has|have|goes?|"
    r"lives?|stays?"
    r"|belongs?|comes?|owns?|carries|carry|runs?|uses?|starts?|ends?|means?)\b(?! (?:broken|wrong|done|failing|red|"
    r"back|missing"
    r"|weird|slow|down|up|gone|stuck|empty|not|still|now|also|running)\b)|(?:fails?|breaks?|loses?) (?:on|behind|over|"
    r"under|when"
    r"|with|if|unless|without)\b)"
    r"|\b(?:owns?|is responsible for|belongs? to)\b|\A\W*our [\w' -]{2,40} (?:is|are|has|have|needs?)\b|, so (?:no|"
    r"don't|never"
    r"|always|use|avoid|we|you)\b|, \w+ (?:it|them) first\b|\b(?:anything|anyone|every|any)\b|\bit is\W*\Z"
    r"|\bwe(?:'ve)? (?:dropped|picked|moved (?:to|off)|switched (?:to|from)|chose|adopted|banned|removed support|use|"
    r"only)\b"
    r"|\A[^，,。；我你他这那它先把给在请就再也还又刚已没]{2,12}(?:(?:只|都|统一|直接)?[用存放写走归跟按传]|是|以|属于)"
    r"(?![了的着过不完好得户法例途错对一吧吗呢？])(?!第)|\A我们的|(?:超过|一旦|只要|每次|凡是).{1,30}(?:会|就|报|丢)|不支持了|没选",
    re.IGNORECASE,
)
"""“Secrets live in Vault”, “密钥放 Vault”: a thing without an article, and what it is or does."""
_LIMITS = regex(
    rf"\b(?:under|below|within|up to|no (?:more|less|fewer) than|at (?:most|least)|max(?:imum)?"
    rf"|min(?:imum)?) (?:\w+ )?{_NUMBER}"
    r"|\b(?:go(?:es)?|gets?|are|stays?|lives?|lock) (?:\w+ )?(?:over|in|as|under|through|for|removed|written"
    r"|stored|kept|sent|logged|cut)\b"
    rf"|上限|下限|最[大多少小长短高低].{{0,4}}{_NUMBER}|不(?:超过|少于|低于|高于|大于|小于)"
    rf"|{_NUMBER}.{{0,4}}(?:以内|之内|以下|以上)"
    rf"|超过{_NUMBER}|锁定",
    re.IGNORECASE,
)
"""“keep it under 250 kB”, “pageSize 最大 100”; “timestamps go over the wire as UTC”."""
_WARNS = regex(
    r"\b(?:careful|heads[- ]up|watch out|beware|be aware|gotcha|bear in mind|fyi|trap|pitfall|known to|silently"
    r"|without (?:warning|notice|telling)|out of order|(?:bit|burned|burnt|bitten) (?:us|me)|lost (?:an?|two"
    r"|half|hours?|days?)"
    r"|(?:took|cost|happened to) (?:us|me)|last time|usually (?:isn't|is not|means)|outage|can arrive|(?:so"
    r"|they) need)\b"
    r"|\A\W*(?:on|in|under|with|behind|after) [^,.;]{2,40}\b(?:breaks?|fails?|crash(?:es)?|hangs?|loses?"
    r"|drops?|leaks?|ignores?)\b"
    r"|\b(?:work(?:s|ed|ing)?[- ]?around|tech(?:nical)? debt|known (?:issue|risk|bug|problem)|is a hack)\b"
    r"|隐患|已知的?(?:问题|缺陷|风险)|技术债|欠(?:了|下)?债|绕[开过]了|注意|小心|当心|留意|切记|踩过|踩坑|有坑|个坑|坑了|炸过|翻过车|吃过亏|出过|挂过|丢过|没用|无效"
    r"|之前.{0,10}过|静默|悄悄|莫名"
    r"|会(?:被|直接|重复|自动|偷偷|导致|把|丢|卡|覆盖|失败|报错|超时|泄[漏露]).{2,}",
    re.IGNORECASE,
)
"""“heads up, `make clean` also deletes the data”, “手改没用”: what one should know before."""
_STATEMENTS = (_CHOOSES, _PREFERS, _STATES, _LIMITS, _WARNS, _ANNOUNCES)


def has_standing_rule(sentence: str) -> bool:
    """Return whether *sentence*, said by a person, says what must or must not be, and not of the one thing at hand."""
    masked = _fold_quotes(sentence)
    return bool(_BINDS.search(masked)) and not _POINTS.search(masked) and not _is_passing(masked)


def is_of_all_cases(sentence: str) -> bool:
    """Return whether *sentence*, a rule, is about all cases: “every …”, “所有…”, “customer e-mails …”."""
    return bool(_GENERAL.search(_fold_quotes(sentence)))


def has_standing_statement(sentence: str) -> bool:
    """Return whether *sentence*, said by a person, may hold from now on: a rule, a choice, a limit, a warning.

    Wider than what is a candidate by itself: it finds what the agent is asked to word. An order for now, a report, a
    plan and what others said are none (measured with `bench.sayings`).
    """
    masked = _fold_quotes(sentence)
    return not _is_passing(masked) and (
        has_standing_rule(sentence) or any(pattern.search(masked) for pattern in _STATEMENTS)
    )


def has_statement_words(sentence: str) -> bool:
    """Return whether *sentence* has the words of a statement, be it a plan, a question or an order all the same."""
    masked = _fold_quotes(sentence)
    return any(pattern.search(masked) for pattern in (_BINDS, _CHOOSES, _ANNOUNCES)) and not _ORDERS.search(masked)


def is_announced(sentence: str) -> bool:
    """Return whether *sentence* says itself that it is to be kept: “write this down: …”, “记一下，…”."""
    folded = _fold_quotes(sentence)
    return bool(_ANNOUNCES.search(folded)) and not _ASKS.search(folded)


def _fold_quotes(sentence: str) -> str:
    """Return *sentence* in lower case, with a mark for its code and for what it quotes: others' words."""
    return _QUOTED.sub("…", _CODE.sub("…", _fold_case(sentence)))


def _is_passing(masked: str) -> bool:
    if _ASKS.search(masked):
        return True
    return not _ANNOUNCES.search(masked) and bool(_REPORTS.search(masked) or _ORDERS.search(masked))


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
