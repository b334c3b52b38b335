"""Distinguish what people say about themselves from what they say about the work; the former is private.

A model trained on labelled sentences decides (`kb.text.classifier`). Certain facts go into the person's own base; with
a name, a contact or an occupation, a lower score is enough. In doubt the person is asked.
"""

from __future__ import annotations

from kb.records.model import Candidate
from kb.safety.redaction import MAX_CHARACTERS, compile_any, has_match, is_private, mask_private_remarks
from kb.startup.lazy_regex import IGNORECASE, regex

CERTAIN, NAMED, DOUBTFUL = -0.05, -0.15, -0.3
"""Scores from which a saying is the person's own: by itself, where it has a name, a way to reach them or a job in it,
and where the person is asked. By `python -m bench.classifiers person`, each author left out, the first two know 86 in
100 at 5 false ones, DOUBTFUL 94 at 15, of sets that were made of near neighbours."""
TASK = 0.1
"""The score from which a sentence of a task that does not say “I” is about who gives it."""
_MAX_SAYING = 200  # characters of a saying that is classified as a whole
_MAX_SENTENCES = 60  # sentences of a longer one to classify

_OWN = (
    r"(?:(?:full|first|last|family|nick|middle) ?)?names?|surname|nickname|pronouns|e-?mails?(?: address)?|"
    r"mail address|(?:mobile|phone|cell)(?: number)?|home address|address|(?:\w+ )?(?:handle|username|user name|login|"
    r"account)|slack|telegram|wechat|whatsapp|linkedin|birthday|date of birth|age|gender|nationality|religion|salary|"
    r"boss|(?:line )?manager|wife|husband|partner|kids|children|son|daughter|family|home ?town|time ?zone|(?:working|"
    r"office) hours|work schedule|vacation|holidays|job(?: title)?|profession|occupation|education|degree|hobby|"
    r"hobbies|disability|eyesight|native language|mother tongue|employee (?:id|number)"
)
_SPEAKER_ZH = r"(?:我(?!们)|本人)"
_OFTEN_ZH = r"(?:一般|通常|平时|每天|经常|总是|从不|从来不|习惯|主要|目前|现在|还|也|都|刚|今年|下个?月|下周|明年)*"
_SENTENCE = regex(r"[。！!?；;\n]+|(?<!str)(?<!\bno)(?<!\bnr)\.(?=\s|$)", IGNORECASE)

_TONGUE = (
    r"(?:english|german|french|spanish|portuguese|italian|dutch|polish|russian|ukrainian|turkish|arabic|hindi|"
    r"japanese|korean|chinese|mandarin|cantonese|czech|swedish|danish|norwegian|finnish|greek|hebrew|vietnamese|thai|"
    r"indonesian)"
)
_TONGUE_ZH = r"(?:中文|英文|英语|汉语|普通话|粤语|日语|日文|德语|法语|韩语|西班牙语|俄语|简体|繁体|双语|大白话|人话)"

_ROLE = (
    r"(?:developer|engineer|programmer|coder|designer|architect|manager|lead|leader|head|director|c[teof]o|founder|"
    r"maintainer|analyst|scientist|researcher|student|teacher|professor|consultant|contractor|freelancer|intern|"
    r"administrator|admin|tester|sre|writer|accountant|auditor|doctor|lawyer|nurse|speaker|beginner|novice|newcomer|"
    r"expert|veteran|parent|mother|father|vegetarian|vegan|muslim|christian|jew|buddhist)s?"
)
_STATE = (
    r"new to|(?:not |very |quite )?familiar with|(?:not )?(?:very )?experienced (?:in|with)|"
    r"(?:not )?(?:very )?good at|bad at|fluent in|(?:still )?learning|based in|located in|living in|responsible for|"
    r"in charge of|on (?:\w+ )?(?:vacation|holiday|leave)|on call|out of (?:the )?office|left-handed|right-handed|"
    r"colou?r-?blind|dyslexic|deaf|blind|allergic|married|single|divorced|pregnant|retired|\d+ years old|(?:working|"
    r"employed) (?:at|for|as|in)|called|named|known as"
)
_TIMES = r"(?:usually|normally|generally|always|never|often|rarely|mostly|mainly|only|also|currently|now|just|still)"
_AM = rf"\bi(?:'m| am|, \w+, am) (?:{_TIMES} )?"
_EN = (
    rf"\bmy (?:\w+ )?(?:{_OWN})(?:'s| is| are| ends?| begins?| starts?|:)",
    r"\b(?:you can |please |just |to )?call me (?!with|when|back|if|on|at|for|to|the|an?|from|later|out|again|once)\w",
    r"\bi go by \w",
    r"\b(?:reach|contact|e-?mail|text|ping|find|message) me (?:on|at|by|via|under|in)\b",
    rf"{_AM}(?:(?:an?|the|one of the|your|their|our) )?(?:[\w/+#.-]+ ){{0,4}}?{_ROLE}\b(?! (?:of|to|for) (?:this|"
    rf"that|the "
    r"(?:lock|row|file|key)))",
    rf"\bas an? (?:[\w/+#.-]+ ){{0,3}}?{_ROLE},? i\b",
    rf"{_AM}(?:{_STATE})\b",
    rf"\bi (?:{_TIMES} )?(?:live|reside|was born|grew up|studied|graduated|majored|commute|report to|look after|"
    r"take care of|(?:own|lead|manage|head|oversee|run) (?:the|an?|our|all)\b.{0,30}\b(?:team|group|squad|module|"
    r"service|department|rota|project|product|area)|speak)\b",
    rf"\bi (?:{_TIMES} )?work(?:ed)? (?:at|for|in|from|as|remotely|part-?time|full-?time|nights|mornings|until|"
    r"(?:mostly|mainly) (?:at|in|from|on)|on (?:the )?(?:[\w-]+ ){0,4}(?:team|squad|group|department)|"
    r"on (?:mon|tues|wednes|thurs|fri|satur|sun)days?|on week)",
    rf"\bi (?:{_TIMES} )?(?:get up|go to bed|sleep|eat|drink|start work|stop work|finish work|log off)\b",
    r"\bi(?:'ve| have)? (?:just |only |recently )?(?:joined|(?:moved|switched|transferred|changed|came over|come over) "
    r"(?:to|from))\b[^.;]{0,30}\b(?:team|squad|group|department|company|org|side|crew|guild|unit|startup)\b",
    r"\bi work out of [a-z]|\bi (?:handle|run|cover|do|am on|'m on) (?:the|our) (?:\w+[ -]){0,2}(?:on-?call|rota|"
    r"support|pager|releases?|hiring|interviews)\b(?! (?:page|button|file|script|job))",
    r"\bmy (?:machine|laptop|computer|box|desktop|workstation|phone|screen|monitor)(?: has (?:only |just )?\d|"
    r"(?: is| runs| has|'s)(?: only| just)? (?:an?|my)\b(?! (?:bit|little|few|mess|problem|issue|minute)))",
    r"\bi(?:'ve)? never (?:really |quite |actually )?(?:got the hang of|got used to|learned to|learnt to|learned|"
    r"learnt|understood|warmed to|liked|trusted|enjoyed)\b(?! (?:this|that|the|it|such|these|those|why|what)\b)",
    r"\bas (?:someone|somebody|a person|one) who (?!\w+ed\b|wrote|ran|saw|did|was|had|made|found)[^.;]{0,60}\b(?:i|"
    r"me)\b|\bi(?:'d| would)? (?:describe|call|consider|count|see|regard) myself\b",
    r"\bi(?:'ve| have) (?:been )?(?:[\w+#.-]+ ){0,6}?(?:years?|decades?)\b",
    r"\bi have (?:an? )?(?:[\w-]+ )?(?:degree|phd|kids|children|son|daughter|dog|cat|adhd|dyslexia|disability)\b",
    r"\bi (?:don't|do not|can't|cannot) (?:really |even )?(?:know|speak|read|write|understand) "
    r"(?:much|any|anything|a lot|enough)\b",
)
_ROLE_ZH = (
    rf"{_SPEAKER_ZH}(?:是)?(?:做|搞|干|学)?[^，,。；我]{{1,8}}(?:出身|科班|起家)(?=$|[，,。；！\s])",
    r"(?:工程师|程序员|开发者?|前端|后端|架构师|设计师|经理|总监|负责人|组长|主管|队长|老板|创始人|实习生|学生|老师|"
    r"教授|研究员|科学家|分析师|测试|运维|顾问|会计|审计|医生|律师|新人|新手|老手|专家|外包|左撇子|右撇子|色盲|色弱|"
    r"近视|素食者|单身|独生子女|回民|[^，,。；\s]{1,4}人)",
)
_OWN_ZH = (
    r"(?:名字|姓名|全名|小名|昵称|网名|称呼|邮箱|邮件地址|电话|手机号?|微信号?|钉钉号?|飞书号?|账号|帐号|用户名|工号|"
    r"生日|年龄|性别|籍贯|家乡|老家|住址|家庭地址|时区|职位|岗位|职称|职业|上级|领导|直属|老婆|老公|妻子|丈夫|孩子|"
    r"儿子|女儿|家人|作息|工作时间|上班时间|爱好|学历|专业|母语|工资|薪水|血型|身高|星座|民族)"
)
_ZH = (
    rf"{_SPEAKER_ZH}(?:的名字)?(?:叫做?|姓|名叫)(?!你|您|他|她|它|来|去|一下|停|不)[^，,。\s]",
    r"(?:叫|称呼|喊)我(?!来|去|做|看|改|怎|如何|干|把|别|不|帮|写|回|过|起|们|的|再|先|也|都|一)[^，,。\s]",
    rf"{_SPEAKER_ZH}的?\s?(?:[\w-]{{1,12}}\s?)?{_OWN_ZH}(?:是|为|在|叫|有|尾号|开头|[:：])",
    rf"{_SPEAKER_ZH}{_OFTEN_ZH}是(?!说|想|要|在|为|用|否|不是|怕|指|让|按|把)[^，,。；]{{0,14}}?{_ROLE_ZH}(?=$|"
    rf"[，,。；!！\s]|之一)",
    rf"{_SPEAKER_ZH}{_OFTEN_ZH}(?:负责|主管|分管|带领|牵头)(?!的|[^，,。；]{{0,12}}(?:必须|都要|不得))",
    r"由(?:我|本人)(?:来)?(?:管|负责|维护|主导|牵头|值班|带)",
    rf"{_SPEAKER_ZH}{_OFTEN_ZH}在[^，,。；]{{1,14}}(?:工作|上班|办公|任职|读书|上学|实习|生活|长大|出生|定居)",
    rf"{_SPEAKER_ZH}{_OFTEN_ZH}(?:住在?|来自|家住|家在|毕业于|就职于|任职于|出生)",
    rf"{_SPEAKER_ZH}[^，,。；]{{0,4}}(?:学的是|读的是|主修|专业是)",
    rf"{_SPEAKER_ZH}[^，,。；]{{0,3}}(?:有|写了|做了|干了|搞了|用了"
    rf"|从事)[^，,。；]{{0,8}}[一二三四五六七八九十几多两\d]年",
    rf"{_SPEAKER_ZH}(?:是)?(?:[^，。；]{{0,5}})(?:才|刚)(?:刚|开始)*(?:学|接触|入门|转行|入职|毕业|"
    rf"从[^，,。；]{{1,8}}(?:转|调|过)来"
    rf"|转岗|转组|调岗|调到|调来)|{_SPEAKER_ZH}(?:从[^，,。；]{{1,8}})?(?:转岗|转组|调岗|转行)(?!的|流程|申请|手续|"
    rf"[^，。；]{{0,10}}(?:吗|没|哪|？))",
    rf"{_SPEAKER_ZH}(?:完全)?(?:不太|不怎么|不|很|比较|非常|最)?(?:懂(?!了)|熟悉|擅长|精通)",
    rf"{_SPEAKER_ZH}[^，,。；]{{0,10}}(?:上班|下班|起床|睡觉|加班|休[^，,。；]{{0,3}}假|请假|度假|出差|午休|吃素|健身|"
    rf"通勤|在家办公|远程办公)",
    rf"{_SPEAKER_ZH}(?:今年)?[零一二三四五六七八九十百\d]+岁|{_SPEAKER_ZH}对[^，,。；]{{1,8}}过敏|{_SPEAKER_ZH}(?:已婚"
    rf"|未婚|单身|怀孕|结婚|离婚)",
    rf"{_SPEAKER_ZH}有[^，,。；]{{0,3}}(?:孩子|小孩|女儿|儿子|老婆|老公)|{_SPEAKER_ZH}向[^，,。；]{{1,8}}汇报",
    r"(?:用|通过|可以|在)[^，,。；]{0,12}(?:联系|找)(?:到)?(?:我|本人)(?!们)",
)
_SPEAKS_ABOUT = (
    r"^\W*(?:the )?user\b(?!'s (?:wish|request|rule)| (?:wants?|asked|asks|wishes|needs?|prefers?|decided|chose|uses?|"
    r"likes?|should|must|will|can|may)\b)"
)
_SPEAKS_ABOUT_ZH = (
    r"^\W*用户(?!名|组|表|的?(?:要求|希望|需求|偏好|分支|代码)|希望|想|要|不要|需要|决定|选|用|使用|喜欢|偏好|可以|"
    r"不能|将|会)"
)
"""What an agent writes about its user: “the user is …”, 用户叫…; a wish of the user is a rule of the work instead."""


def is_personal(text: str) -> bool:
    """Return whether *text*, said by a person, certainly says who they are, how they live or want to be served.

    “I skim, so short paragraphs”, 我比较急性子; not “I renamed the module”, 我在高铁上, and nothing of the work.
    """
    score = _score_person(text)
    if score >= CERTAIN:
        return True
    said = text[:MAX_CHARACTERS].casefold().replace("’", "'")
    return score >= NAMED and (has_match(_EN, said) or has_match(_ZH, said) or _has_introduction(text))


def has_self_description(text: str) -> bool:
    """Return whether *text*, said by a person, is probably about them, so that they are asked."""
    return _score_person(text) >= DOUBTFUL


def _score_person(text: str) -> float:
    """Return how clearly *text* is about its speaker: the highest score of its sentences, or of the whole if short."""
    from kb.text.classifier import PERSON, score_sentence

    text = text[:MAX_CHARACTERS].strip()
    if len(text) <= _MAX_SAYING:
        return score_sentence(PERSON, text)["person"]
    pieces = [piece for piece in _SENTENCE.split(text) if piece.strip()][:_MAX_SENTENCES]
    return max((score_sentence(PERSON, piece)["person"] for piece in pieces), default=-1.0)


def is_personal_fact(candidate: Candidate) -> bool:
    """Return whether *candidate* is certainly a fact about the person whose session it comes from, or a private one."""
    text = "\n".join((candidate.title[:MAX_CHARACTERS], candidate.decision[:MAX_CHARACTERS]))
    return is_personal(text) or mask_private_remarks(text) != text


def is_about_person(candidate: Candidate) -> bool:
    """Return whether *candidate* is certainly the person's own: a fact about them, or how they want to be answered."""
    return is_personal_fact(candidate)


def read_profile_claims(text: str) -> dict[str, str]:
    """Return the claim of *text*, in which a person speaks of themselves: “call me Jo” is {"profile.name": "Jo"}.

    Return at most one, the first in the table: statements on two traits are two records.
    """
    for key, pattern in _PROFILE:
        if match := compile_any((pattern,)).search(text[:MAX_CHARACTERS]):
            return {key: next(filter(None, match.groups())).strip()}
    return {}


def can_be_personal_fact(candidate: Candidate) -> bool:
    """Return whether *candidate* may be a fact about the person whose session it comes from.

    Only a preference can be about a person, perhaps in an agent's words ("the user is …", 用户叫…). In other kinds "I"
    may be the agent, and "the user" is a user of the product.
    """
    if is_about_person(candidate):
        return True
    texts = (candidate.title[:MAX_CHARACTERS], candidate.decision[:MAX_CHARACTERS])
    about = any(has_match((_SPEAKS_ABOUT, _SPEAKS_ABOUT_ZH), text.casefold()) for text in texts)
    return candidate.kind == "preference" and (about or any(map(has_self_description, texts)))


_NAME = regex(r"(?:^|[.!,:;\n] ?|\bthat )I(?:'m| am) [A-Z][a-z]+(?: [A-Z][a-z]+)?(?=[,.!]|$| from | and | of )")


def _has_introduction(text: str) -> bool:
    """Return whether somebody says their name: "I'm Ravi, …". Only its capital distinguishes a name from a state."""
    return _NAME.search(text.replace("’", "'")) is not None


_PROFILE = (
    (
        "profile.name",
        r"(?:my name is|call me|i go by) ([\w'-]+(?: (?-i:[A-Z])[\w'-]+)?)|"
        r"(?:我(?:的名字)?(?:叫|是)|叫我)(?:做)?([^\s，。,.就好了吧]{1,8})",
    ),
    ("profile.language", rf"\bin (?:plain |simple )?({_TONGUE})\b|(?:用|说|讲)({_TONGUE_ZH})"),
    (
        "profile.editor",
        r"\b(n?vim|neovim|emacs|helix|vs ?code|sublime|zed|cursor|intellij|idea|pycharm|goland|xcode)\b",
    ),
    ("profile.shell", r"\b(fish|bash|zsh|powershell|nushell)\b"),
    ("profile.os", r"\b(macos|linux|ubuntu|fedora|arch|windows|wsl|a mac|a macbook)\b"),
    (
        "profile.place",
        r"\b(?:live in|work from|based in|located in) ((?-i:[A-Z])\w+(?: (?-i:[A-Z])\w+)?)|"
        r"我?(?:住在|在)([^，。\s]{2,6}?)(?:办公|上班|工作|生活)",
    ),
    ("profile.role", rf"\b(?:an?|the) ((?:[\w/+#.-]+ ){{0,3}}?{_ROLE})\b|({_ROLE_ZH})(?=$|[，,。；\s!！])"),
)
"""Personal traits with one value at a time, and the patterns that extract the value."""


def remove_personal(text: str, *, is_task: bool = False) -> str:
    """Return *text*, said by a person, without the sentences about them, or "" if there are no others.

    Only the beginning of a long text is read. A task (*is_task*) keeps what is in doubt, and every sentence that asks
    for work: “I don't want a new dependency”, 请给我一个完整框架.
    """
    head = text[:MAX_CHARACTERS]
    ends = [match.end() for match in _SENTENCE.finditer(head)]
    pieces = [head[start:end] for start, end in zip([0, *ends], [*ends, len(head)], strict=True)]
    is_theirs = _is_no_work if is_task else has_self_description
    kept = (one for one in pieces if not (is_theirs(one) or is_private(one)))
    return ("".join(kept) + text[MAX_CHARACTERS:]).strip()


def _is_no_work(sentence: str) -> bool:
    """Return whether *sentence*, of a prompt, is about who says it and asks for no work; in doubt if it says “I”."""
    if _REQUEST.match(sentence):
        return False
    score = _score_person(sentence)
    return score >= TASK or (score >= DOUBTFUL and _SPEAKER.search(sentence) is not None)


_SPEAKER = regex(r"\b(?:i|i'm|my|me|mine)\b|(?<![教给帮替让诉跟和对])(?:我(?!们)|本人)", IGNORECASE)
_REQUEST = regex(
    r"\W*(?:(?:ok(?:ay)?|and|but|so|also|first|then|now|again|just|please|great|good|\w{2,20}ly)\b\W*){0,4}"
    r"(?:please\b|kindly\b|(?:can|could|would|will) you\b|let'?s\b|"
    r"i(?:'d| would| also| just| really)* (?:do not|don'?t)? ?(?:want|need|choose|chose|pick|picked|expect|wish|"
    r"(?:like|love) (?:you |us |it |this |that )?to)\b(?! to be called)|"
    r"(?:add|fix|write|make|use|run|build|create|remove|delete|update|check|change|move|test|implement|commit|push|"
    r"show|explain|review|provide|list|go|map|simplify|rewrite|commit|stop|refactor|rename|start|continue|apply|set|give|do|don'?t|find|look|try|read|put|keep|split)\b)"
    r"|\W*(?:好的?|那|然后|另外|还有|先|再|就)*(?:请|帮|麻烦|给我|替我|把|别|不要|先|我(?:们)?(?:不)?(?:想|要|希望|需要|选|决定))",
    IGNORECASE,
)
"""How a sentence begins that asks for work."""
