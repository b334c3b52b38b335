"""Tell what a person says of themselves from what they say of the work: who they are is nobody's business but theirs.

The grammar decides. A clause whose subject is the speaker ("I", "my", 我, not "we", 我们) and whose verb is none
of wishing, thinking, deciding or working states something about the speaker. Some of that is certain by what is said: a
name, a way to reach them, an occupation, where and when they live. The rest may be either, and the person is asked.
"""

from __future__ import annotations

from kb.records.model import Candidate
from kb.safety.personal_wishes import (
    CLAUSE,
    OFTEN_ZH,
    OWN,
    SENTENCE,
    SPEAKER_ZH,
    TONGUE,
    TONGUE_ZH,
    can_be_all_of_person,
    drop_moments,
    drop_quoted,
    is_of_moment,
    is_personal_wish,
)
from kb.safety.redaction import MAX_CHARACTERS, compile_any, has_match, is_private, mask_private_remarks
from kb.startup.lazy_regex import regex

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
    rf"\bmy (?:\w+ )?(?:{OWN})(?:'s| is| are| ends?| begins?| starts?|:)",
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
    rf"{SPEAKER_ZH}(?:是)?(?:做|搞|干|学)?[^，,。；我]{{1,8}}(?:出身|科班|起家)(?=$|[，,。；！\s])",
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
    rf"{SPEAKER_ZH}(?:的名字)?(?:叫做?|姓|名叫)(?!你|您|他|她|它|来|去|一下|停|不)[^，,。\s]",
    r"(?:叫|称呼|喊)我(?!来|去|做|看|改|怎|如何|干|把|别|不|帮|写|回|过|起|们|的|再|先|也|都|一)[^，,。\s]",
    rf"{SPEAKER_ZH}的?\s?(?:[\w-]{{1,12}}\s?)?{_OWN_ZH}(?:是|为|在|叫|有|尾号|开头|[:：])",
    rf"{SPEAKER_ZH}{OFTEN_ZH}是(?!说|想|要|在|为|用|否|不是|怕|指|让|按|把)[^，,。；]{{0,14}}?{_ROLE_ZH}(?=$|"
    rf"[，,。；!！\s]|之一)",
    rf"{SPEAKER_ZH}{OFTEN_ZH}(?:负责|主管|分管|带领|牵头)(?!的|[^，,。；]{{0,12}}(?:必须|都要|不得))",
    r"由(?:我|本人)(?:来)?(?:管|负责|维护|主导|牵头|值班|带)",
    rf"{SPEAKER_ZH}{OFTEN_ZH}在[^，,。；]{{1,14}}(?:工作|上班|办公|任职|读书|上学|实习|生活|长大|出生|定居)",
    rf"{SPEAKER_ZH}{OFTEN_ZH}(?:住在?|来自|家住|家在|毕业于|就职于|任职于|出生)",
    rf"{SPEAKER_ZH}[^，,。；]{{0,4}}(?:学的是|读的是|主修|专业是)",
    rf"{SPEAKER_ZH}[^，,。；]{{0,3}}(?:有|写了|做了|干了|搞了|用了"
    rf"|从事)[^，,。；]{{0,8}}[一二三四五六七八九十几多两\d]年",
    rf"{SPEAKER_ZH}(?:是)?(?:[^，。；]{{0,5}})(?:才|刚)(?:刚|开始)*(?:学|接触|入门|转行|入职|毕业|"
    rf"从[^，,。；]{{1,8}}(?:转|调|过)来"
    rf"|转岗|转组|调岗|调到|调来)|{SPEAKER_ZH}(?:从[^，,。；]{{1,8}})?(?:转岗|转组|调岗|转行)(?!的|流程|申请|手续|"
    rf"[^，。；]{{0,10}}(?:吗|没|哪|？))",
    rf"{SPEAKER_ZH}(?:完全)?(?:不太|不怎么|不|很|比较|非常|最)?(?:懂(?!了)|熟悉|擅长|精通)",
    rf"{SPEAKER_ZH}[^，,。；]{{0,10}}(?:上班|下班|起床|睡觉|加班|休[^，,。；]{{0,3}}假|请假|度假|出差|午休|吃素|健身|"
    rf"通勤|在家办公|远程办公)",
    rf"{SPEAKER_ZH}(?:今年)?[零一二三四五六七八九十百\d]+岁|{SPEAKER_ZH}对[^，,。；]{{1,8}}过敏|{SPEAKER_ZH}(?:已婚"
    rf"|未婚|单身|怀孕|结婚|离婚)",
    rf"{SPEAKER_ZH}有[^，,。；]{{0,3}}(?:孩子|小孩|女儿|儿子|老婆|老公)|{SPEAKER_ZH}向[^，,。；]{{1,8}}汇报",
    r"(?:用|通过|可以|在)[^，,。；]{0,12}(?:联系|找)(?:到)?(?:我|本人)(?!们)",
)
_LEAD = (
    r"^(?:\W|\b(?:please|and|but|so|because|since|also|note|remember|keep in mind|bear in mind|don't forget|"
    r"do not forget|for the record|btw|by the way|hi|hey|hello|ok|okay|from now on|going forward|in (?:the )?future|"
    r"that|as|always remember|never forget)\b)*"
)
_WISHES = (
    r"want|wish|hope|know (?:that|the|how|why|what)|prefer|would|'d|rather|need|expect|insist|demand|require|request|"
    r"ask|suggest|propose|recommend|think|believe|guess|suppose|assume|find|consider|see|saw|notice|mean|meant|say|"
    r"said|tell|told|decid|chose|choose|pick|agree|disagree|will|'ll|shall|must|should|have to|had to|could|may|might|"
    r"appreciate|care about|thou|tink|feel like|get (?:that|why|what)|allow|smell|(?:like|love) th[ei]|"
    r"go (?:with|for|ahead)|(?:hate|dislike) th[ei]|trust|doubt|wonder|don't want|do not want|"
    r"don't like to see|like (?:it|to see|your?|the|this|these|those)"
)
_WORKS = (
    r"use(?!d to be)|using|try|tried|test|(?:run|ran) (?!(?:the|an?|our) (?:[\w-]+ ){0,3}(?:team|group|squad|"
    r"department))|revert|restart|wip|click|download|upload|enabl|disabl|mark|(?:got|(?:am|'m) getting) (?:\w+ ){0,2}"
    r"(?:issue|error|log|warning|failure|bug|[45]\d\d)s?|get (?:an?|the|no) (?:\w+ ){0,2}(?:issue|"
    r"error|warning|failure|"
    r"timeout|exception|conflict|response|result|[45]\d\d)s?|can(?:not|'t) (?:see|find|re-?run|run|get|open|access|log|"
    r"build|load|tell|reach|connect)|fix|add|"
    r"write|wrote|chang(?!ed my)|renam|remov|delet|merg|rebas|commit|push|pull|deploy|releas|"
    r"review|refactor|implement|build|built|debug|configur|install|updat|upgrad|check|look|search|open|clos|creat|"
    r"mock|squash|format|lint|document|stor|split|pin|cache|follow|avoid|(?:am|'m|was|'ve been|"
    r"have been) (?:\w+ )?(?!living|learning|working (?:at|for|in|as)|based|leaving|moving|getting|going (?:on|to the|"
    r"to be (?:away|off|out|on)))\w+ing|(?:am|'m|was) (?:\w+ )?(?:sure|certain|happy|unhappy|glad|afraid|fine|ok|okay|"
    r"not sure|in favou?r|against|wrong|right|aware|done|ready|able|convinced|ok with|fine with)|"
    r"like (?:\w+ )?(?:short|small|long|explicit|simple|clear|typed|plain|concise|verbose|clean)|(?:love|hate|dislike|"
    r"like|prefer) (?:[\w-]+ )*?(?:functions?|files?|commits?|tests?|code|names?|imports?|types?|comments?|classes|"
    r"modules?|errors?|messages?|requests?|changes?|logs?|docs?|answers?|diffs?|tabs|spaces|lines?)"
)
_WORK_NOUNS = (
    r"team\'s|company\'s|client\'s|customer\'s|branch|change|commit|code|tests?|suggestion|proposal|plan|point|"
    r"question|opinion|view|rule|preference|idea|"
    r"guess|laptop|machine|computer|container|environment|patch|pull request|pr|task|ticket|requirement|understanding|"
    r"fix|function|module|class|script|file|repo(?:sitory)?|project|query|build|pipeline|review|request|goal|design|"
    r"name as"
)
_SUBJECT = r"(?:i\b|my\b(?! (?:\w+ )?(?:NOUNS)))".replace("NOUNS", _WORK_NOUNS)
_ADVERBS = (
    r"(?:\s*(?:'ve|have|had|already|usually|normally|generally|always|never|often|rarely|mostly|really|only|also|still|"
    r"strongly|just)\b)*"
)
_SPEAKS = rf"{_LEAD}{_SUBJECT}(?!{_ADVERBS}\s*(?:{_WISHES}|{_WORKS}))"
_SPEAKS_ABOUT = rf"^\W*(?:the )?user\b(?!'s (?:wish|request|rule)|{_ADVERBS}\s*(?:{_WISHES}|{_WORKS}|like))"

_LEAD_ZH = (
    r"^(?:\W|请|记住|记得|记一下|记下来?|注意|备忘|别忘了?|另外|还有|对了|以后"
    r"|今后|往后|从现在起|因为|由于|所以|但是?|而且|并且|大家好|你好)*"
)
_WISHES_ZH = (
    r"希望|想(?!念)|要(?!带|去|送|接)|不要|需要|要求|期望|期待|建议|提议|推荐|觉得|认为|以为|感觉|相信|知道|记得|发现|"
    r"看到|看见|注意到|怀疑|担心|确定|确认|决定|选|同意|赞成|支持|反对|坚持|打算|准备|计划|宁可|宁愿|更愿意|倾向|偏好|"
    r"偏爱|讨厌|受不了|不喜欢|更喜欢|会|将|可以|能|不能|说|是说|是想|是要|是为了|是指|不(?:懂|明白|理解|清楚)(?:这|"
    r"那|为|怎|什)|喜欢(?:这|那|用|你|把|在|先|让|"
    r"[^，,。；]{0,12}(?:函数|文件|提交|测试|代码|名字|命名|导入|类型|注释|模块|错误|报错|消息|改动|日志|文档|回答|"
    r"缩进|空格|格式|风格|请求))"
)
_WORKS_ZH = (
    r"用|不用|只用|使用|改|写(?!了)|写的|加|删|跑|测|试|提交|合并|变基|发布|部署|修|查|看(?!不)|调|重构|实现|评审|"
    r"习惯(?:用|把|先|在|写)|复现|之前对|这个|那个|在(?:用|做|写|改|看|跑|调|试|查|修|测|等|处理|开发|实现|排查|"
    r"[^，,。；]{0,8}(?:分支|环境|机器|目录|文件|仓库|代码|项目|库)[^，,。；]*)"
)
_WORK_NOUNS_ZH = (
    r"分支|改动|修改|代码|提交|测试|建议|意思|想法|看法|观点|问题|方案|电脑|机器|容器|环境|补丁|任务|需求|要求|理解|"
    r"规矩|规则|原则|偏好|计划|函数|模块|脚本|文件|仓库|项目|查询|构建|请求|设计|目标|名字(?!是|叫)"
)
_ADVERBS_ZH = (
    r"(?:一般|通常|平时|每天|每次|今天|明天|经常"
    r"|总是|一直|从来|从不|始终|只|都|也|还|就|更|比较|最|很|个人|其实|真的|先|再|已经|不|没|,|，|\s)*"
)
_SPEAKS_ZH = (
    rf"{_LEAD_ZH}(?:我(?!们)|本人)(?!的?(?:{_WORK_NOUNS_ZH})|{_ADVERBS_ZH}(?:{_WISHES_ZH}|{_WORKS_ZH})|负责的|要)"
)
_SPEAKS_ABOUT_ZH = (
    rf"^\W*用户(?!名|组|表|的?(?:{_WORK_NOUNS_ZH}|要求|希望)|{_ADVERBS_ZH}(?:{_WISHES_ZH}|{_WORKS_ZH}|喜欢))"
)


_HAPPENED = (
    r"\bi(?:'ve| have)? (?:(?:just|never|already|also|only|then) )*(?:\w+ed|forgot|missed|made|got|did|didn't|ran"
    r"|put|left|took|went"
    r"|came|saw|found|lost|broke|wrote|sent|read|set|had to|gave|built)\b|\bi (?:don't|do not) have (?:access|time"
    r"|rights|permission|the|that|an?y)|\bi(?:'m| am) (?:in|on|at) (?:an?|the|it)\b|\bi'll\b"
    r"|我(?:刚|已经?|就|先|也)?把[^，,。；]{1,20}了|我[^，,。；]{0,6}(?:了|没有?(?!.{0,6}(?:孩子|对象|车))|刚|已经?|"
    r"正在|按你|去[开吃看拿取找问])|我[这那](?:边|里|儿)"
)
"""“I forgot to commit”, 我漏了一个参数, 我这边跑不起来: what happened is nothing of the person for good."""


def is_personal(text: str) -> bool:
    """Return whether *text*, said by a person, certainly says who they are, how to reach them or how they live."""
    text = drop_quoted(text)
    folded = drop_moments(text.casefold().replace("’", "'"))
    if (
        can_be_all_of_person(folded)
        and not has_match((_HAPPENED,), folded)
        and any(has_match((_SPEAKS, _SPEAKS_ZH), clause) for clause in CLAUSE.split(folded))
    ):
        return True
    return has_match(_EN, folded) or has_match(_ZH, folded) or _has_introduction(text)


def has_self_description(text: str) -> bool:
    """Return whether a clause of *text*, said by a person, states something of them: not what they want or work on."""
    text = drop_quoted(text)
    clauses = [one for one in CLAUSE.split(text.casefold().replace("’", "'")) if not is_of_moment(one)]
    return is_personal(text) or any(has_match((_SPEAKS, _SPEAKS_ZH), clause) for clause in clauses)


def is_personal_fact(candidate: Candidate) -> bool:
    """Return whether *candidate* is certainly a fact about the person whose session it comes from, or a private one."""
    text = "\n".join((candidate.title[:MAX_CHARACTERS], candidate.decision[:MAX_CHARACTERS]))
    return is_personal(text) or mask_private_remarks(text) != text


def is_about_person(candidate: Candidate) -> bool:
    """Return whether *candidate* is certainly the person's own: a fact about them, or how they want to be answered."""
    texts = (candidate.title[:MAX_CHARACTERS], candidate.decision[:MAX_CHARACTERS])
    return is_personal_fact(candidate) or (candidate.kind == "preference" and any(map(is_personal_wish, texts)))


def read_profile_claims(text: str) -> dict[str, str]:
    """Return the claim that *text*, about the person who says it, makes: “call me Jo” is {"profile.name": "Jo"}.

    At most one, the first of the table: what is said of two traits is two records.
    """
    for key, pattern in _PROFILE:
        if match := compile_any((pattern,)).search(text[:MAX_CHARACTERS]):
            return {key: next(filter(None, match.groups())).strip()}
    return {}


def can_be_personal_fact(candidate: Candidate) -> bool:
    """Return whether *candidate* may be a fact about the person whose session it comes from.

    Only a preference speaks of a person, and may do so in an agent's words ("the user is …", 用户叫…): in a record of
    another kind "I" may be the agent, and "the user" is one of the product's.
    """
    if is_about_person(candidate):
        return True
    texts = (candidate.title[:MAX_CHARACTERS], candidate.decision[:MAX_CHARACTERS])
    about = any(has_match((_SPEAKS_ABOUT, _SPEAKS_ABOUT_ZH), text.casefold()) for text in texts)
    clauses = [clause for text in texts for clause in CLAUSE.split(text.casefold())]
    said = any(map(has_self_description, texts)) or any(map(is_personal_wish, clauses))
    return candidate.kind == "preference" and (about or said)


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
    ("profile.language", rf"\bin (?:plain |simple )?({TONGUE})\b|(?:用|说|讲)({TONGUE_ZH})"),
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
"""Of what a person says about themselves, what has one value at a time, and how the value is read."""


def remove_personal(text: str) -> str:
    """Return *text*, said by a person, without the sentences that are about them; "" where it has no others.

    Of a long text, the beginning is looked at.
    """
    head = text[:MAX_CHARACTERS]
    ends = [match.end() for match in SENTENCE.finditer(head)]
    pieces = [head[start:end] for start, end in zip([0, *ends], [*ends, len(head)], strict=True)]
    kept = (one for one in pieces if not (has_self_description(one) or is_personal_wish(one) or is_private(one)))
    return ("".join(kept) + text[MAX_CHARACTERS:]).strip()
