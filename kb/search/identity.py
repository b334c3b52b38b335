"""Tell a question about the person who asks it: who they are, how they like to work, what is kept of them.

Two tiers: questions that say nothing else, known as wholes; and any other that asks for a trait of the asker, or for
what is kept of them, and names nothing of a work.
"""

from __future__ import annotations

import re

from kb.startup.lazy_regex import regex
from kb.text.segment import has_cjk

_KNOWS = r"(?:know|remember|recall|learn(?:ed|t)?|understand|got|have)"
_MINE = (
    r"(?:\w+ )?(?:names?|role|job|title|profile|preferences?|habits?|background|interests?|identity|style|team|skills?"
    r"|goals?)"
)
_MINE_ZH = (
    r"(?:名字|姓名|称呼|昵称|角色|职位|职业|工作|身份|岗位|背景|偏好|喜好|爱好|习惯|风格|特点|资料|画像|档案|兴趣"
    r"|目标)"
)


def _parse_questions(table: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """Return the rows of *table*: texts between slashes, one of which is in all that the pattern behind them matches.

    A row goes on in an indented line. By the texts a prompt hook compiles no pattern that cannot match.
    """
    rows = (row.split(": ", 1) for row in table.strip("\n").replace("\n  ", "").split("\n"))
    return tuple((tuple(needles.split("/")), pattern) for needles, pattern in rows)


_IDENTITY_EN = _parse_questions(rf"""
who : who (?:am i|i am)
you : (?:do|did|don't|can) you (?:still |even |really )?{_KNOWS} (?:me|who i am)
 me: what (?:else )?(?:do|did|have|can) you (?:\w+ )?{_KNOWS}(?: learn(?:ed|t)| noted| stored)? (?:about|of|on) me
 i t: what (?:did|have) i (?:tell|told) you(?: about (?:me|myself))?
tell me/describe/introduce/summari/sum up: (?:please )?(?:tell me (?:more )?about|describe|introduce|summari[sz]e
  |sum up) (?:me|myself)
about me: (?:please )?(?:summari[sz]e|list|show(?: me)?|tell me) (?:what|everything|all) you {_KNOWS} about me
 my : what(?:'s| is| are| were)(?: in)? my {_MINE}
 my : (?:do|did|can|have) you (?:still |even |really )?{_KNOWS} (?:about )?my {_MINE}
what d: what (?:do|did) i (?:usually |really |normally )?(?:like|dislike|prefer|hate|care about|want|do|work on)
what am i/what was i/what have i: what (?:am i|was i|have i been) (?:currently )?(?:working on|doing|up to|called
  |interested in|good at)
have we /did we : (?:have|did) we (?:ever )?(?:met|meet|talked|talk|spoken|speak|worked together)(?: before)?
 am i: what (?:kind|sort|type) of (?:person|developer|engineer|user|programmer) am i
how do i : how do i (?:usually|normally|like to) (?:work|code|write|name things)
 my : (?:show|display|open|print|view)(?: me)? my (?:profile|preferences|details|habits)
""")
_IDENTITY_ZH = _parse_questions(rf"""
我是/我叫/我到/我究: (?:你)?(?:还)?(?:知道|记得|清楚)?我(?:到底|究竟)?(?:是|叫)(?:谁|什么|什么名字|啥|哪位|做什么的
  |干什么的|干嘛的|哪个团队的)
你: 你(?:还)?(?:认识|认得|记得|知道|了解|熟悉)(?:得)?我(?:是谁)?
你: 你(?:都|还)?(?:知道|记得|了解|掌握)(?:了)?我(?:的)?(?:些|哪些|多少|什么|啥)(?:什么|事|事情|信息|情况)?
你对我: 你对我(?:有)?(?:的)?(?:多少|什么|哪些|都)?(?:了解|知道|认识|印象|熟悉)(?:多少|什么|哪些|吗)?
关于我/有关我: (?:关于|有关)我(?:自己|的)?(?:，|,)?(?:你)?(?:都|还)?(?:知道|记得|了解|有)(?:些)?(?:什么|哪些|多少|啥)
我的: 我的{_MINE_ZH}(?:是|有|都)?(?:是|有)?(?:什么|哪些|啥|谁|怎样的|怎么样的)?
我的: 你(?:还|都)?(?:记得|记不记得|知道|知不知道|了解|清楚|记住)(?:了)?我的{_MINE_ZH}(?:了)?(?:是什么|有哪些|是啥)?
我有/我都/我存: 我(?:都)?(?:有|存)(?:什么|哪些|啥)(?:偏好|习惯|喜好|爱好|特点)
喜欢/讨厌/在意/关心/擅长/偏爱: 我(?:最|平时|一般|通常|比较)?(?:喜欢|讨厌|在意|关心|擅长|偏爱)(?:什么|哪些|啥|做什么
  |干什么)
我平时/我一般/我通常/我习惯/我最近/我现在/我目前/我之前: 我(?:平时|一般|通常|习惯|最近|现在|目前
  |之前)(?:都)?(?:是)?(?:在|怎么|怎样|如何)(?:做|忙|干|工作|写代码|搞)?(?:些)?(?:什么|啥|的)?
描述/介绍/形容/说说/总结/概括/评价: (?:请)?(?:描述|介绍|形容|说说|总结|概括
  |评价)(?:一下)?(?:你)?(?:眼中的)?(?:对)?我(?:自己|这个人|的了解|的印象|的偏好)?
我的: (?:请)?(?:查看|看看|显示|打开|列出|展示)(?:一下)?我的(?:资料|画像|档案|偏好|习惯|信息)
我们: 我们(?:以前|之前|曾经)?(?:是不是|有没有)?(?:聊|见|谈|合作|说)过(?:话|面)?
""")
_ASKER = regex(r"\b(?:i|me|my|myself|we)\b|我")
_POLITE = regex(r"^(?:hey|hi|hello|ok|so|well|please|请问|那么|那|嗨|你好|喂)[\s,，、!！:：]+", re.IGNORECASE)
_ENDING = regex(r"(?<![\s?？!！。.~～吗呢吧呀啊嘛])[\s?？!！。.~～吗呢吧呀啊嘛]++$")

_SELF_NEEDLES = ("me", "my", "i ", "i'", " i", "we ", "talking", "我")


def is_identity_question(line: str) -> bool:
    """Return whether *line*, as a whole, asks about the person who asks (ZCLAW-13).

    One that says nothing else is known by its words (“who am I”); of others, a trait of the asker or what is kept of
    them has to be asked for (“which of my habits do you have on file”, 我习惯用哪个编辑器), and nothing of their work.
    """
    lower = line.casefold().replace("’", "'")
    if not any(map(lower.__contains__, _SELF_NEEDLES)):
        return False
    bare = _ENDING.sub("", _POLITE.sub("", lower))
    patterns = _IDENTITY_ZH if has_cjk(bare) else _IDENTITY_EN
    likely = (regex(pattern) for needles, pattern in patterns if any(needle in bare for needle in needles))
    if _ASKER.search(bare) is not None and any(pattern.fullmatch(bare) for pattern in likely):
        return True
    return _asks_for_trait(lower)


# What belongs to a person, whoever they are: their name, their trade, how they like to be answered
_TRAIT = (
    r"(?:names?|nickname|pronouns|role|job|job title|title|position|occupation|profession|profile|preferences?|prefs|"
    r"habits?|quirks?|likes|dislikes|background|interests?|hobbies|identity|tone|skills?|skill level|goals?|seniority|"
    r"expertise|experience|experience level|level|specialty|time ?zone|location|city|country|language|native language|"
    r"mother tongue|editor|ide|shell|terminal|keyboard|keyboard layout|os|operating system|laptop|team|squad|"
    r"department|"
    r"company|employer|manager|boss|birthday|tech stack|working hours|work hours|hours|schedule|style|taste|"
    r"days? off|strengths|weaknesses|details|bio|persona|personality)"
)
_TOOL = r"(?:editor|ide|shell|terminal|keyboard|layout|os|operating system|laptop|machine|browser|font|theme|language)"
_WH = r"(?:what|which|where|when|who|whom|how|whose)"
_SELF_EN = regex(
    # “anything about me in your notes”, “who you're talking to”
    r"\b(?:about|on|of|regarding|concerning) (?:me(?! (?:to|the|a|an|how|what|why))|myself)\b|"
    r"\bwho (?:am i|i am|i'm|you(?:'re| are) (?:talking|speaking|working|dealing|chatting) (?:to|with))\b|"
    rf"\b(?:you|ya|u) (?:still |even |really |actually |already )?(?:know|remember|recogni[sz]e) me\b|"
    # “what's my job here”, “remind me of my preferences”, “which of my habits”
    rf"\b(?:{_WH}(?:'s|'re)?|remember|recall|know|show|list|tell|remind|give|summari[sz]e|describe|print|display|read|"
    rf"any|"
    rf"about|have|got|have we|sum up|repeat|is|are)\b[^,;.]{{0,50}}\bmy (?:own |current |usual |working |work |"
    rf"preferred |"
    rf"favou?rite |first |last |full |personal |coding |communication |native |home |main |primary |answer |reply )*"
    rf"{_TRAIT}\b(?!-|/)|"
    # “what am I called”, “where do I live”, “what tone did I want you to use”
    rf"\b{_WH}\b[^,;.]{{0,40}}\b(?:am|was) i (?:called|named|known|based|located|from|good at|bad at|best at|into|"
    r"interested in|responsible for|in charge of|new to|learning|working (?:as|at|for|from|on(?! this| that| the))|"
    r"to you)\b|"
    rf"\b{_WH} (?:do|did|would|should) i (?:usually |normally |generally |typically |really |mostly )*(?:live|"
    rf"come from|work "
    r"(?:at|for|from|as|in|on fridays)|work(?= ?[?,]|$)|go by|like|prefer|hate|dislike|enjoy|care about|speak|"
    r"specialise|"
    r"specialize|start work|stop work|finish work|report to|do for a living)\b|"
    rf"\b(?:how|which|what|when)\b[^,;.]{{0,40}}\b(?:do|did|would) i (?:\w+ )?(?:like|prefer|want|ask(?:ed)?|tell|told)"
    r"\b[^,;.]{0,40}\b(?:answer(?:s|ed)?|repl(?:y|ies|ied)|respon(?:d|ses?)|explanations?|explained|address(?:ed)?|"
    r"call me|called|speak|talk|tone|feedback|write to me|language|emojis?)\b|"
    rf"\b{_WH}\b[^,;.]{{0,30}}\b(?:tone|language|style|length|format|level of detail)\b (?:did|do|"
    rf"have) i (?:\w+ )?(?:want|ask|"
    r"like|prefer|tell|told|say|said|request)|"
    rf"\b(?:what|which) {_TOOL} (?:do|did|am) i (?:\w+ )?(?:use|using|prefer|like|like best|on|work with|code in|"
    rf"type on)\b|"
    rf"\b(?:told|tell|mention(?:ed)?|said|know|remember|recall|"
    rf"note[ds]?)\b[^,;.]{{0,20}}\b{_WH} (?:{_TOOL} )?i (?:use|am|live|"
    r"like|prefer|do(?= ?(?:[?,]|for|$))|work|speak|want to be|go by)\b|"
    rf"\b{_WH}\b {_TRAIT} (?:am|was) i (?:in|on|at|from)\b|\b{_TRAIT} i(?:'m| am) (?:in|on|at|from)\b|"
    r"\bhow (?:long|many years) have i (?:been|worked|had|lived|done)\b|"
    r"\bhow i (?:like|prefer|want) (?:to|my|things|you|it|being)\b|"
    # “am I a frontend person in your notes”, “what kind of developer am I”
    r"\bam i (?:an?|the|more of an?|rather an?) (?:[\w/+-]+ ){0,4}?(?:person|guy|dev|developer|engineer|designer|"
    r"manager|"
    r"beginner|expert|senior|junior|lead|type|morning|night|vegetarian|student|tester|analyst|architect)\b|"
    r"\b(?:kind|sort|type) of (?:[\w-]+ )?(?:person|developer|engineer|user|programmer|coder|dev|designer|"
    r"worker) (?:am i|i am|do "
    r"you think i am)\b|"
    r"^(?:can you |could you |please )*(?:describe|introduce|summari[sz]e|characteri[sz]e|profile|sum up) (?:me|"
    r"myself)\b|"
    rf"^(?:can you |could you |please )*(?:summari[sz]e|show|list|print|display|open|read)(?: me)? my {_TRAIT}|"
    r"\bhow (?:should|do|would|will|are) you (?:\w+ )*(?:address|call|greet) me\b|\bwhat (?:should|do|would|"
    r"will) you call me\b",
)
_ASKS_EN = regex(
    rf"[?]\s*$|^(?:{_WH}|do|did|does|can|could|have|has|am|is|are|was|tell|show|list|remind|summari[sz]e|describe|"
    rf"introduce|"
    r"sum|give|print|display|any|anything|read|recall|repeat|characteri[sz]e|profile|open|you|so|and|ok|hey)\b"
)
# The same words of somebody's work or of a program: “who am I logged in as”, “what's my role in the IAM policy”
_WORK_EN = regex(
    r"\b(?:logged in|log in|login|sign(?:ed)? in|whoami|branch(?:es)?|commits?|prs?|pull request|merge|rebase|builds?|"
    r"tests?|"
    r"tests? suite|pipeline|deploy\w*|functions?|methods?|class(?:es)?|modules?|repo(?:sitory)?|(?<!on )files?|"
    r"folders?|director(?:y|"
    r"ies)|tables?|database|db|schema|column|quer(?:y|ies)|servers?|tokens?|jwt|api|endpoints?|container|docker\w*|"
    r"cluster|"
    r"kubectl|kube\w*|namespace|iam|aws|gcp|azure|polic(?:y|ies)|permissions?|scopes?|config\w*|env|variables?|errors?|"
    r"exceptions?|bugs?|tickets?|issues?|scripts?|logs?|requests?|responses? (?:code|body|time)|imports?|packages?|"
    r"version|"
    r"components?|form|page|app|users?|customers?|clients?|dashboard|cache|queue|job (?:queue|runner|fail|stuck)|"
    r"process|"
    r"ssh|git|npm|pip|crash\w*|fail\w*|broken|slow|this (?:code|line|loop|change)|settings? page|localhost|port|sudo|"
    r"root)\b"
)

_TRAIT_ZH = (
    r"(?:名字|姓名|全名|称呼|昵称|小名|英文名|角色|职位|岗位|职务|职称|职业|工作(?!区|流|目录|树)|身份|背景|偏好|喜好|爱好|习惯|"
    r"风格|特点|资料|画像|档案|履历|兴趣|目标|专业|专长|强项|弱项|经验|水平|级别|年限|技术栈|技能|时区|城市|作息|上班|下班|"
    r"编辑器|终端|键盘|系统|母语|语言|语气|团队|小组|部门|公司|老板|上级|领导|生日|情况|信息|事儿?|要求|口味|个性|性格|忌讳|雷区)"
)
_ASK_ZH = r"(?:什么|啥|哪|谁|多少|几(?!乎)|怎么|怎样|如何|吗|没有|不$|么$|呢|还是|有无|有没有|是不是|来着)"
_KEPT_ZH = r"(?:记得|记住|记着|记录|记下|记了|记|知道|知不知道|晓得|了解|清楚|认识|认得|存|保存|掌握|印象|留着|收集)"
_SELF_ZH = regex(
    r"(?:关于|有关|跟|和)我(?:本人|自己|个人|这个人|的|有关|相关)?(?!们)[^。]{0,20}(?:什么|啥|哪些|多少|信息|资料|内容|东西|记录|"
    r"记|存|知道|了解|列|说|讲|有)|(?:列|说|讲|告诉|总结|汇总|展示)[^，。]{0,10}(?:关于|有关)我(?!们)|"
    r"(?:对我|我)(?:本人|自己|这个人)?的(?:了解|印象|认识|评价|看法|记忆|总结)|(?:在|据)你(?:眼里|眼中|看来|心里|那里|那儿|印象里|的印象)"
    r"[^。]{0,12}我(?!们)|(?:称呼|叫|喊|管)我(?!们)[^，。]{0,6}(?:什么|啥|呢|吗|好|来着|$|，)|(?:怎么|如何|该|怎样)(?:称呼|叫|喊)我(?!们)|"
    rf"我(?!们)的?[^，。？?]{{0,8}}{_TRAIT_ZH}[^。]{{0,14}}{_ASK_ZH}|"
    r"我(?!们)是[^，。]{1,10}还是[^，。]{1,10}$|我(?!们)(?:一般|平时|通常|每天)?(?:几点|哪年|哪天|何时|多大|几岁)(?!能|可以|才)|(?:怎么|如何)看(?:待)?我这|"
    rf"{_ASK_ZH}[^。]{{0,8}}我(?!们)的?[^，。？?]{{0,6}}{_TRAIT_ZH}|我(?!们)(?:的|是|在)?(?:什么|啥|哪个|哪种){_TRAIT_ZH}|"
    rf"我(?!们)(?:平时|一般|通常|习惯|喜欢|讨厌|偏爱|爱|常|比较|最|更|到底|究竟|之前|以前|曾经|跟你|和你|对你|让你|要你|说过|提过|都|还)+"
    rf"[^。]{{0,16}}{_ASK_ZH}[^。]{{0,10}}(?:回[复答]|解释|称呼|语气|语言|风格|编辑器|用|上班|下班|喝|吃|喜欢|习惯|住)?|"
    rf"(?<![帮给让要替为跟叫])我(?!们)(?:是|叫|姓|住|在|做|干|负责|擅长|属于|来自|毕业于|会|懂|用)(?:的是|的|于)?(?:干|做|搞)?{_ASK_ZH}[^。]{{0,16}}$|"
    rf"我(?!们)(?:是|叫|姓|住|在|属于)(?:个)?(?:什么|啥|哪)[^。]{{0,14}}(?:组|团队|部门|公司|城市|地方|人|程序员|开发|工程师|岗|职业|名|时区|"
    r"级别|行|的)|"
    rf"你(?:都|还|那边|这边|那儿|这儿|有没有|到底|能)*(?:不)?{_KEPT_ZH}(?:得|了|住|下|着|不记得|不知道)*[^。，]{{0,6}}我(?!们)(?:是|叫|姓|的|住|"
    rf"在|喜欢|讨厌|习惯|平时|一般|不喜欢|擅长|负责|什么|哪些|啥|多少|些|吗|么|不|没|是谁|$|[？?，。]|{_TRAIT_ZH})|"
    rf"(?:列|看看|看下|查看|打开|显示|展示|总结|概括|介绍|描述|说说|讲讲|念|复述|汇总)[^，。]{{0,6}}我(?!们)的?(?:个人)?{_TRAIT_ZH}"
)
_WORK_ZH = regex(
    r"分支|提交(?!信息.{0,4}(?:习惯|喜欢|偏好))|\bpr\b|\bmr\b|合并|代码(?!风格|习惯|的习惯|审查风格)|构建|编译|测试(?!岗|工程师|组|人员)|报错|异常|接口|"
    r"登录|数据库|表|仓库|文件|目录|服务(?!端)|用户|部署|配置|函数|方法|变量|账号|权限|请求|日志|机器|需求|订单|数据(?!组|部|分析)|session|"
    r"token|jwt|脚本|进程|端口|容器|镜像|流水线|依赖|版本|缓存|队列|页面|组件|模块|任务|工单|bug|这(?:个|段|行|里|次|样)|那(?:个|段|行)|"
    r"改(?!口)|跑|装|删|调用|失败|出错|卡|怎么(?:办|做|写|实现|解决|处理|修|用|安装|设置)|为什么|为啥|为何|画像那|我们",
    re.IGNORECASE,
)


def _asks_for_trait(lower: str) -> bool:
    """Return whether *lower*, a folded line, asks for a trait of who asks, or what is kept of them, and no more."""
    if len(lower) > _MAX_ASKED_CHARACTERS:
        return False
    if has_cjk(lower):
        return _SELF_ZH.search(lower) is not None and _WORK_ZH.search(lower) is None
    return _ASKS_EN.search(lower) is not None and _SELF_EN.search(lower) is not None and _WORK_EN.search(lower) is None


_MAX_ASKED_CHARACTERS = 120  # characters of a question that can be about its asker and nothing else
