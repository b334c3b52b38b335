"""Tell what a person says of themselves from what they say of the work: who they are is nobody's business but theirs.

The grammar decides. A clause whose subject is the speaker ("I", "my", 我, not "we", 我们) and whose verb is none
of wishing, thinking, deciding or working states something about the speaker. Some of that is certain by what is said: a
name, a way to reach them, an occupation, where and when they live. The rest may be either, and the person is asked.
"""

from __future__ import annotations

import re
from functools import cache

from kb.records.model import Candidate
from kb.startup.lazy_regex import regex

_ROLE = (
    r"(?:developer|engineer|programmer|coder|designer|architect|manager|lead|leader|head|director|c[teof]o|founder|"
    r"maintainer|analyst|scientist|researcher|student|teacher|professor|consultant|contractor|freelancer|intern|"
    r"administrator|admin|tester|sre|writer|accountant|auditor|doctor|lawyer|nurse|speaker|beginner|novice|newcomer|"
    r"expert|veteran|parent|mother|father|vegetarian|vegan|muslim|christian|jew|buddhist)s?"
)
_OWN = (
    r"(?:(?:full|first|last|family|nick|middle) ?)?names?|surname|nickname|pronouns|e-?mails?(?: address)?|"
    r"mail address|(?:mobile|phone|cell)(?: number)?|home address|address|(?:\w+ )?(?:handle|username|user name|login|"
    r"account)|slack|telegram|wechat|whatsapp|linkedin|birthday|date of birth|age|gender|nationality|religion|salary|"
    r"boss|(?:line )?manager|wife|husband|partner|kids|children|son|daughter|family|home ?town|time ?zone|(?:working|"
    r"office) hours|work schedule|vacation|holidays|job(?: title)?|profession|occupation|education|degree|hobby|"
    r"hobbies|disability|eyesight|native language|mother tongue|employee (?:id|number)"
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
    r"\bi(?:'ve| have) (?:been )?(?:[\w+#.-]+ ){0,6}?(?:years?|decades?)\b",
    r"\bi have (?:an? )?(?:[\w-]+ )?(?:degree|phd|kids|children|son|daughter|dog|cat|adhd|dyslexia|disability)\b",
    r"\bi (?:don't|do not|can't|cannot) (?:really |even )?(?:know|speak|read|write|understand) "
    r"(?:much|any|anything|a lot|enough)\b",
)
_ROLE_ZH = (
    r"(?:工程师|程序员|开发者?|前端|后端|架构师|设计师|经理|总监|负责人|组长|主管|队长|老板|创始人|实习生|学生|老师|"
    r"教授|研究员|科学家|分析师|测试|运维|顾问|会计|审计|医生|律师|新人|新手|老手|专家|外包|左撇子|右撇子|色盲|色弱|"
    r"近视|素食者|单身|独生子女|回民|[^，,。；\s]{1,4}人)"
)
_OWN_ZH = (
    r"(?:名字|姓名|全名|小名|昵称|网名|称呼|邮箱|邮件地址|电话|手机号?|微信号?|钉钉号?|飞书号?|账号|帐号|用户名|工号|"
    r"生日|年龄|性别|籍贯|家乡|老家|住址|家庭地址|时区|职位|岗位|职称|职业|上级|领导|直属|老婆|老公|妻子|丈夫|孩子|"
    r"儿子|女儿|家人|作息|工作时间|上班时间|爱好|学历|专业|母语|工资|薪水|血型|身高|星座|民族)"
)
_I = r"(?:我(?!们)|本人)"
_OFTEN = r"(?:一般|通常|平时|每天|经常|总是|从不|从来不|习惯|主要|目前|现在|还|也|都|刚|今年|下个?月|下周|明年)*"
_ZH = (
    rf"{_I}(?:的名字)?(?:叫做?|姓|名叫)(?!你|您|他|她|它|来|去|一下|停|不)[^，,。\s]",
    r"(?:叫|称呼|喊)我(?!来|去|做|看|改|怎|如何|干|把|别|不|帮|写|回|过|起|们|的|再|先|也|都|一)[^，,。\s]",
    rf"{_I}的?\s?(?:[\w-]{{1,12}}\s?)?{_OWN_ZH}(?:是|为|在|叫|有|尾号|开头|[:：])",
    rf"{_I}{_OFTEN}是(?!说|想|要|在|为|用|否|不是|怕|指|让|按|把)[^，,。；]{{0,14}}?{_ROLE_ZH}(?=$|"
    rf"[，,。；!！\s]|之一)",
    rf"{_I}{_OFTEN}(?:负责|主管|分管|带领|牵头)(?!的|[^，,。；]{{0,12}}(?:必须|都要|不得))",
    r"由(?:我|本人)(?:来)?(?:管|负责|维护|主导|牵头|值班|带)",
    rf"{_I}{_OFTEN}在[^，,。；]{{1,14}}(?:工作|上班|办公|任职|读书|上学|实习|生活|长大|出生|定居)",
    rf"{_I}{_OFTEN}(?:住在?|来自|家住|家在|毕业于|就职于|任职于|出生)",
    rf"{_I}[^，,。；]{{0,4}}(?:学的是|读的是|主修|专业是)",
    rf"{_I}[^，,。；]{{0,3}}(?:有|写了|做了|干了|搞了|用了|从事)[^，,。；]{{0,8}}[一二三四五六七八九十几多两\d]年",
    rf"{_I}(?:才|刚)(?:刚|开始)*(?:学|接触|入门|转行|入职|毕业)",
    rf"{_I}(?:完全)?(?:不太|不怎么|不|很|比较|非常|最)?(?:懂(?!了)|熟悉|擅长|精通)",
    rf"{_I}[^，,。；]{{0,10}}(?:上班|下班|起床|睡觉|加班|休[^，,。；]{{0,3}}假|请假|度假|出差|午休|吃素|健身|"
    rf"通勤|在家办公|远程办公)",
    rf"{_I}(?:今年)?[零一二三四五六七八九十百\d]+岁|{_I}对[^，,。；]{{1,8}}过敏|{_I}(?:已婚|未婚|单身|怀孕|结婚|离婚)",
    rf"{_I}有[^，,。；]{{0,3}}(?:孩子|小孩|女儿|儿子|老婆|老公)|{_I}向[^，,。；]{{1,8}}汇报",
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
    r"appreciate|care about|trust|doubt|wonder|don't want|do not want|don't like to see|like (?:it|to see|your?|the|"
    r"this|these|those)"
)
_WORKS = (
    r"use(?!d to be)|using|try|tried|test|(?:run|ran) (?!(?:the|an?|our) (?:[\w-]+ ){0,3}(?:team|group|squad|"
    r"department))|fix|add|write|wrote|chang(?!ed my)|renam|remov|delet|merg|rebas|commit|push|pull|deploy|releas|"
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
    r"branch|change|commit|code|tests?|suggestion|proposal|plan|point|question|opinion|view|rule|preference|idea|"
    r"guess|laptop|machine|computer|container|environment|patch|pull request|pr|task|ticket|requirement|understanding|"
    r"fix|function|module|class|script|file|repo(?:sitory)?|project|query|build|pipeline|review|request|goal|design|"
    r"name as"
)
_SUBJECT = r"(?:i\b|my\b(?! (?:\w+ )?(?:NOUNS)))".replace("NOUNS", _WORK_NOUNS)
_ADVERBS = (
    r"(?:\s*(?:usually|normally|generally|always|never|often|rarely|mostly|really|only|also|still|strongly|just)\b)*"
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
    r"偏爱|讨厌|受不了|不喜欢|更喜欢|会|将|可以|能|不能|说|是说|是想|是要|是为了|是指|喜欢(?:用|你|把|在|先|让|"
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
# What nobody would have written down, neither of himself nor of others: health, family, money, who is to leave, where
# one lives. The words alone are a business's too ("mortgage rates", 工资模块): a person must stand beside them.
_ONE = (
    r"\b(?:i|i'm|i'll|i've|i'd|my|me|wife|husband|kids?|daughter|son|child|mum|mom|dad|mother|father|parents"
    r"|he|she|his|her)\b"
)
_PRIVATE = (
    r"\b(?:(?:see|to|at|from|my) (?:the |a |my )?(?:doctor|dentist|hospital)(?:'s)?\b|surgery|pregnant|therapist"
    r"|(?:am|is|'m|'s|be|feel|feeling|got|home|called in|off) (?:sick|ill)\b|fever|blood test|migraines?"
    r"|burn(?:ed|t)? ?out|depress(?:ed|ion)|chemo(?:therapy)?|(?:my|his|her) (?:salary|bonus|mortgage|rent|debts?"
    r"|pay rise|divorce|funeral|diagnosis|medication|job interview|notice period|parole)"
    r"|(?:parcel|package|delivery) (?:for|to) me|my (?:mobile|phone|cell)(?: number)?,? [\d+])"
)
_LEAVES = (
    r"\b(?:[A-Z][a-z]+|[Hh]e|[Ss]he|I) (?:may|might|will|wants to|is going to|plans to|is about to) "
    r"(?:be (?:let go|laid off)"
    r"|leave(?= (?:us|the (?:team|company|firm)|at the end of the (?:year|month)|next|soon)\b))"
    r"|\b(?:he|she|I) (?:quit|quits|resigned|resigns|will (?:quit|resign)|(?:got|was) (?:fired|laid off))(?!\w)"
)
_LIVES = (
    r"\b[A-ZÄÖÜ][\wäöüß-]{2,30}(?:str\.|straße|strasse|gasse|allee) ?\d{1,4}\b"
    r"|\b\d{1,5} [A-Z][a-z]{2,20} (?:Street|St\.|Road|Rd\.|Avenue|Ave\.|Lane|Drive)(?!\w)"
    r"|[\u4e00-\u9fff]{2}(?:路|街|巷|弄|大道)\d{1,5}(?:号|弄)"
)
_ONE_ZH = r"我(?!们)|本人|孩子|娃|老婆|老公|媳妇|爸|妈|父母|家里|家人|女儿|儿子|爷爷|奶奶"
_PRIVATE_ZH = (
    r"复查|看病|看医生|体检|住院|动?手术|发烧|感冒|生病|医院|怀孕|产检|确诊|化疗|抑郁|失眠|结石|牙医|吃药|吊水"
    r"|年终奖|奖金|工资|薪水|房贷|车贷|房租|欠债|加薪|降薪|跳槽|离职|辞职|裁员|离婚|相亲|葬礼|去世"
)
_SENTENCE_PART = regex(r"[^。！？!?\n.]*(?:[.](?!\s|$)[^。！？!?\n.]*)*[。！？!?.\n]?")
REMARK = "[redacted:personal]"
"""What stands in an archive for a sentence that is nobody's business."""
_MAX_CHARACTERS = (
    20_000  # Characters of a text that are looked at: what is longer is a document, and nobody's introduction
)
_CLAUSE = regex(r"[。！？!?；;，,、\n]+|\.(?=\s|$)|[:：](?=\s|[^\W\d_])|\b(?:because|since|so that)\b")


def is_personal(text: str) -> bool:
    """Return whether *text*, said by a person, certainly says who they are, how to reach them or how they live."""
    folded = text.casefold().replace("’", "'")
    return _has_match(_EN, folded) or _has_match(_ZH, folded) or _has_introduction(text)


def is_private(sentence: str) -> bool:
    """Return whether *sentence*, said by a person, is of the health, family, money or home of somebody, or who leaves.

    "I have to see the doctor at four", 我下午要去复查胆结石; not "the mortgage rate is rounded", 工资模块要重构.
    """
    folded = sentence.casefold().replace("’", "'")
    if _compile_any((_LEAVES, _LIVES), 0).search(sentence):
        return True
    if _has_match((_PRIVATE,), folded) and _has_match((_ONE,), folded):
        return True
    found = set(_compile_any((_PRIVATE_ZH,), 0).findall(sentence))
    return bool(found) and (len(found) > 1 or _compile_any((_ONE_ZH,), 0).search(sentence) is not None)


def mask_private_remarks(text: str) -> str:
    """Return *text*, said by a person, with REMARK for each sentence that `is_private`."""
    placeless = _compile_any((_LIVES,), 0).sub(REMARK, text[:_MAX_CHARACTERS])
    if _may_be_private(placeless):  # cutting a long text into sentences costs more than the look
        placeless = "".join(map(_mask_sentence, _SENTENCE_PART.findall(placeless)))
    return placeless + text[_MAX_CHARACTERS:]


def _may_be_private(text: str) -> bool:
    """Return whether *text* has any word without which none of its sentences is private."""
    folded = text.casefold().replace("’", "'")
    return _has_match((_PRIVATE,), folded) or _compile_any((_LEAVES, _LIVES, _PRIVATE_ZH), 0).search(text) is not None


def _mask_sentence(part: str) -> str:
    """Return REMARK for what is private, with the white space round it."""
    if not is_private(part):
        return part
    lead, tail = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
    return f"{lead}{REMARK}{tail}"


def has_self_description(text: str) -> bool:
    """Return whether a clause of *text*, said by a person, states something of them: not what they want or work on."""
    clauses = _CLAUSE.split(text.casefold().replace("’", "'"))
    return is_personal(text) or any(_has_match((_SPEAKS, _SPEAKS_ZH), clause) for clause in clauses)


def is_personal_fact(candidate: Candidate) -> bool:
    """Return whether *candidate* is certainly a fact about the person whose session it comes from, or a private one."""
    text = "\n".join((candidate.title[:_MAX_CHARACTERS], candidate.decision[:_MAX_CHARACTERS]))
    return is_personal(text) or mask_private_remarks(text) != text


def is_about_person(candidate: Candidate) -> bool:
    """Return whether *candidate* is certainly the person's own: a fact about them, or how they want to be answered."""
    texts = (candidate.title[:_MAX_CHARACTERS], candidate.decision[:_MAX_CHARACTERS])
    return is_personal_fact(candidate) or (candidate.kind == "preference" and any(map(is_personal_wish, texts)))


def read_profile_claims(text: str) -> dict[str, str]:
    """Return the claim that *text*, about the person who says it, makes: “call me Jo” is {"profile.name": "Jo"}.

    At most one, the first of the table: what is said of two traits is two records.
    """
    for key, pattern in _PROFILE:
        if match := _compile_any((pattern,)).search(text[:_MAX_CHARACTERS]):
            return {key: next(filter(None, match.groups())).strip()}
    return {}


def can_be_personal_fact(candidate: Candidate) -> bool:
    """Return whether *candidate* may be a fact about the person whose session it comes from.

    Only a preference speaks of a person, and may do so in an agent's words ("the user is …", 用户叫…): in a record of
    another kind "I" may be the agent, and "the user" is one of the product's.
    """
    if is_about_person(candidate):
        return True
    texts = (candidate.title[:_MAX_CHARACTERS], candidate.decision[:_MAX_CHARACTERS])
    about = any(_has_match((_SPEAKS_ABOUT, _SPEAKS_ABOUT_ZH), text.casefold()) for text in texts)
    clauses = [clause for text in texts for clause in _CLAUSE.split(text.casefold())]
    said = any(map(has_self_description, texts)) or any(map(is_personal_wish, clauses))
    return candidate.kind == "preference" and (about or said)


_NAME = regex(r"(?:^|[.!,:;\n] ?|\bthat )I(?:'m| am) [A-Z][a-z]+(?: [A-Z][a-z]+)?(?=[,.!]|$| from | and | of )")


def _has_introduction(text: str) -> bool:
    """Return whether somebody says their name: "I'm Ravi, …". Only its capital distinguishes a name from a state."""
    return _NAME.search(text.replace("’", "'")) is not None


def _has_match(patterns: tuple[str, ...], text: str) -> bool:
    return _compile_any(patterns).search(text) is not None


@cache
def _compile_any(patterns: tuple[str, ...], flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """Return the pattern that matches where one of *patterns* does; compiled once, at its first use."""
    return re.compile("|".join(patterns), flags)


# -- wishes of a person about how they are spoken to, and what they work with ------------------------

_ANSWERS = (
    r"(?:answers?|repl(?:y|ies)|responses?|explanations?|explain|summar(?:y|ies)|tone|messages? to me|respond|talk|"
    r"speak|"
    r"chat|pleasantries|small talk|apologi[sz]\w*|emojis?|jargon)"
)
_TONGUE = (
    r"(?:english|german|french|spanish|portuguese|italian|dutch|polish|russian|ukrainian|turkish|arabic|hindi|japanese|"
    r"korean|chinese|mandarin|cantonese|czech|swedish|danish|norwegian|finnish|greek|hebrew|vietnamese|thai|indonesian)"
)
_OWN_TOOLS = (
    r"(?:fish|bash|zsh|powershell|nushell|vim|neovim|nvim|emacs|helix|nano|vs ?code|vscode|sublime|zed|cursor|"
    r"intellij|idea|"
    r"pycharm|goland|webstorm|xcode|tmux|iterm2?|kitty|alacritty|wezterm|ghostty|macos|linux|ubuntu|fedora|arch|"
    r"windows|wsl|"
    r"dvorak|colemak|neo2?|a mac|a macbook|a thinkpad|arc|firefox|chrome|safari)"
)
_WISH_EN = (
    rf"\b(?:answer|reply|respond|talk|speak|write|explain)(?:ing)?(?: \w+){{0,2}}? (?:to me )?in (?:plain |"
    rf"simple )?{_TONGUE}\b(?! (?:in|for "
    r"the|comments|docs))",
    r"\b(?:answer|reply to|talk to|speak to|address|greet|teach|lecture|thank|flatter|praise|correct|remind|warn|"
    r"ask) me\b"
    r"(?! (?:what|why|how|where|when|which|who|if|whether|again about|about the))",
    rf"\b(?:your|the) (?:{_ANSWERS})\b|\bwhen (?:you(?:'re| are)? )?(?:talk|speak|explain|answer|reply|writ|respond|"
    rf"answering|talking|"
    r"explaining|writing)(?:ing|e)? (?:to|things to|for) me\b",
    r"\b(?:no|drop|skip|without|spare me|cut|leave out|fewer|less|avoid|stop using|never use|don't use) (?:the |all |"
    r"any |your )*"
    r"(?:emojis?|pleasantries|small talk|jargon|flattery|apologies|apologi[sz]ing|preambles?|disclaimers|"
    r"exclamation marks|"
    r"bullet points|fluff|filler|chit-?chat|praise)\b",
    r"\b(?:be|stay|keep it|keep things|keep answers|keep them|keep replies|make it|make answers) (?:more |less |very |"
    r"really )*(?:brief|short|concise|"
    r"terse|blunt|direct|formal|informal|casual|polite|verbose|honest with me|patient|gentle)\b(?! (?:function|method|"
    r"file|name|"
    r"commit|variable))",
    r"\b(?:just )?give me (?:just |only )?(?:the |short |brief |long |full |straight )*(?:answers?|conclusion|"
    r"bottom line|tl;?dr|gist)\b|"
    r"\bgo easy on\b|\bget (?:straight )?to the point\b",
    r"\b(?:show|tell|give|explain|walk|teach|send) (?:\w+ )?me\b[^.;]{0,60}\b(?:step by step|instead of|rather than|"
    r"every time|"
    r"from now on)\b|\balways (?:show|tell|give|explain|warn|walk|remind)(?: \w+)? me\b|\bnever show me\b",
    r"\bi (?:learn|understand|read|think|remember) (?:best|better|faster|slowly|things)\b|\bhow i (?:learn|think|"
    r"like it|work best)\b",
    rf"\bi(?:'m| am)? (?:only |always |mostly |usually |still |just )*(?:use|using|on|run|type on|work (?:in|on|with)|"
    rf"live in|code in|prefer) "
    rf"(?:a |an |the )?{_OWN_TOOLS}\b(?! (?:for (?:the|this|our)|in (?:the|this|our)|images?|container|runner|mode|"
    rf"job))",
    rf"\bmy (?:{_OWN}|editor|shell|terminal|ide|os|keyboard(?: layout)?|laptop|screen|monitor|english|german|french|"
    rf"chinese|spanish|japanese|"
    r"background|first language|day off|days off|hearing|typing|attention span|hands?)\b(?:'s| is| are|"
    r":)(?! (?:broken|failing|not "
    r"working|slow today|crash))",
    r"\bi (?:don't|do not|never|only|usually|always|mostly) work (?:on|from|after|before|at|past|during|until) (?:mon|"
    r"tue|wed|thu|fri|sat|sun|"
    r"week|home|night|\d|noon|the evening|mornings|lunch)\w*",
    r"\b(?:i've|i have) (?:only |just |been )*(?:been )?(?:writing|coding|programming|using|learning|doing|"
    r"working (?:with|in|as))\b[^.;]{0,40}"
    r"\b(?:for|since) (?:about |around |over |almost |only |just )*(?:an?|two|three|four|five|six|ten|\d+|years|"
    r"months|a few|19|20)",
    r"\b(?:i'm|i am) [A-Za-z]+, (?:an? |the )?(?:\w+ ){0,3}?(?:dev|developer|engineer|designer|sre|pm|qa|lead|manager|"
    r"architect|intern)\b",
    r"\b(?:i'm|i am) (?:\w+ ){0,3}?(?:dev|pm|qa|dba|newbie|noob)\b(?! (?:build|branch|server|environment|mode))",
)
_TONGUE_ZH = r"(?:中文|英文|英语|汉语|普通话|粤语|日语|日文|德语|法语|韩语|西班牙语|俄语|简体|繁体|双语|大白话|人话)"
_OWN_TOOLS_ZH = (
    r"(?:vim|nvim|neovim|emacs|helix|vs ?code|vscode|idea|pycharm|goland|webstorm|sublime|zed|cursor|iterm2?|zsh|fish|"
    r"bash|tmux|"
    r"mac(?:book|os)?|windows|linux|ubuntu|wsl|双拼|五笔|hhkb|机械键盘)"
)
_WISH_ZH = (
    rf"(?:回[答复话]|答复|回我|跟我说话?|和我说话?|跟我讲|说话|解释|沟通|交流|聊)[^。；]{{0,8}}(?:用|说|讲){_TONGUE_ZH}|"
    rf"(?:用|说|讲){_TONGUE_ZH}[^。；，]{{0,6}}(?:回[答复话]|答复|回我|跟我|和我|说话|解释|沟通|交流|聊|讲给我)",
    r"(?:跟|和|给|对|向)我(?!们)(?:说话|说|讲|沟通|交流|聊|解释|讲解|回[答复]|汇报|讲原理|讲东西)",
    r"(?:回[答复](?!码|体|格式|字段|报文)|答复|说话|解释(?!器)|语气|口吻|讲解)[^。；]{0,10}(?:别|不要|少|简短|简洁|简单|精简|啰嗦|废话|直接|详细|通俗|"
    r"口语|正式|客气|委婉|幽默|严肃|短|长|一点|控制|分点|先|干脆)",
    r"(?:别|不要|少|不用|无需|省掉|去掉|不许|别再)[^。；，]{0,4}(?:客套|寒暄|废话|啰嗦|客气|表情|emoji|道歉|感叹号|夸我|奉承|绕弯子|长篇大论|“?您”?|术语|"
    r"黑话|催我|打断我|问我)",
    r"(?:先|直接)(?:上|说|给|讲)(?:我)?(?:结论|重点|答案|要点)|有(?:问题|话|错)?(?:就)?直(?:接)?(?:说|怼|讲)",
    rf"{_I}[^，。；]{{0,8}}(?:用的?(?:都)?(?:是)?|使|敲)(?:惯)?\s?{_OWN_TOOLS_ZH}(?!跑|部署|构建|镜像)|(?:终端|编辑器|键盘|系统|电脑|输入法|浏览器)"
    rf"[^，。；]{{0,4}}(?:{_I}|用的?(?:是|都)?)[^，。；]{{0,10}}{_OWN_TOOLS_ZH}",
    rf"{_I}(?:的)?(?:英语|英文|日语|德语|数学|视力|听力|记性|普通话|中文|打字)(?:[^，。；]{{0,4}})(?:不好|不太好|差|一般|不行|很好|还行|慢|弱)",
    rf"(?:{_I}|^)[^，。；]{{0,10}}(?:[一二三四五六七八九十几多两\d]+年(?:多)?的?)[^，。；]{{0,10}}(?:老兵|经验|老手|程序员|开发|从业|老人)",
    rf"(?:{_I}|^)[^，。；]{{0,8}}(?:小白|新手|菜鸟|外行|半路出家|转行|科班|刚学的|初学者|零基础)",
    rf"{_I}是(?:做|搞|干|学)[^，。；]{{1,12}}的|{_I}(?:主要|平时|一般)(?:做|搞|写)(?!完)[^，。；]{{1,14}}$",
    rf"{_I}[^，。；]{{0,6}}(?:喜欢|习惯|偏好|更愿意)(?:看|先看|听|先听|先讲|简短|直接|中文|英文|例子|图)|(?:给|跟|对){_I}[^，。；]{{0,10}}喜欢|"
    r"先看例子|先给例子|(?:帮|给)我(?:顺便)?翻译(?:一下)?[^。；]{0,10}(?:每次|都|以后)|顺便帮我翻译",
    rf"{_I}[^，。；]{{0,6}}(?:周末|晚上|早上|下班后?|午休|周[一二三四五六日天])[^，。；]{{0,8}}(?:不看|不回|不在|不上|不工作|休息|才)",
)
_PROFILE = (
    (
        "profile.name",
        r"(?:my name is|call me|i go by) ([\w'-]+(?: [A-Z][\w'-]+)?)|"
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
        r"\b(?:live in|work from|based in|located in) ([A-Z]\w+(?: [A-Z]\w+)?)|"
        r"我?(?:住在|在)([^，。\s]{2,6}?)(?:办公|上班|工作|生活)",
    ),
    ("profile.role", rf"\b(?:an?|the) ((?:[\w/+#.-]+ ){{0,3}}?{_ROLE})\b|({_ROLE_ZH})(?=$|[，,。；\s!！])"),
)
"""Of what a person says about themselves, what has one value at a time, and how the value is read."""
_ONCE = regex(
    r"\b(?:just this once|this time|for now|this one|for this (?:one|task|pr|change|file)|today only|right now)\b|"
    r"这一?次|这回|本次|暂时|先这样|"
    r"今天先|[?？吗]\s*$",
    re.IGNORECASE,
)
"""What holds for the task at hand, or is asked: 这一次输出成表格 is no wish that lasts."""
_TEAMS = regex(
    r"\b(?:we|our|us|users?|customers?|the (?:api|ui|app|site|service|bot|docs?|readme|changelog)|comments|commit "
    r"messages?|docstrings?|log messages|error messages|pull requests?|prs?|code review|tests|branch|files? (?:before|"
    r"unless))\b|我们|咱们|团队|用户|客户|接口|文档|注释|提交信息|代码|项目|仓库|日志|报文|字段|页面|函数|文件|测试|分支|合并",
    re.IGNORECASE,
)
"""Whose wish it then is: “error messages are in English” is one about the work."""


def is_personal_wish(text: str) -> bool:
    """Return whether *text*, said by a person, says for good how to speak to them or what they work with.

    “Answer in German”, 回答别啰嗦, “I use fish”: it holds for whoever says it and for no colleague.
    """
    folded = text[:_MAX_CHARACTERS].casefold().replace("’", "'")
    if _ONCE.search(folded):
        return False
    return any(
        _has_match((*_WISH_EN, *_WISH_ZH), sentence) and not _TEAMS.search(sentence)
        for sentence in _SENTENCE.split(folded)
    )


def remove_personal(text: str) -> str:
    """Return *text*, said by a person, without the sentences that are about them; "" where it has no others.

    Of a long text, the beginning is looked at.
    """
    head = text[:_MAX_CHARACTERS]
    ends = [match.end() for match in _SENTENCE.finditer(head)]
    pieces = [head[start:end] for start, end in zip([0, *ends], [*ends, len(head)], strict=True)]
    kept = (one for one in pieces if not (has_self_description(one) or is_personal_wish(one) or is_private(one)))
    return ("".join(kept) + text[_MAX_CHARACTERS:]).strip()


_SENTENCE = regex(r"[。！!?；;\n]+|(?<!str)(?<!\bno)(?<!\bnr)\.(?=\s|$)", re.IGNORECASE)
