"""Tell what a person says of how to speak to them, what they work with and what they are like for good.

“Answer in German”, 回答别啰嗦, “I skim, so short paragraphs” hold for the person who says them and for no colleague:
where a word of the team or of its files is beside them, they are of the work.
"""

from __future__ import annotations

import re

from kb.safety.redaction import MAX_CHARACTERS, has_match
from kb.startup.lazy_regex import regex

OWN = (
    r"(?:(?:full|first|last|family|nick|middle) ?)?names?|surname|nickname|pronouns|e-?mails?(?: address)?|"
    r"mail address|(?:mobile|phone|cell)(?: number)?|home address|address|(?:\w+ )?(?:handle|username|user name|login|"
    r"account)|slack|telegram|wechat|whatsapp|linkedin|birthday|date of birth|age|gender|nationality|religion|salary|"
    r"boss|(?:line )?manager|wife|husband|partner|kids|children|son|daughter|family|home ?town|time ?zone|(?:working|"
    r"office) hours|work schedule|vacation|holidays|job(?: title)?|profession|occupation|education|degree|hobby|"
    r"hobbies|disability|eyesight|native language|mother tongue|employee (?:id|number)"
)
SPEAKER_ZH = r"(?:我(?!们)|本人)"
OFTEN_ZH = r"(?:一般|通常|平时|每天|经常|总是|从不|从来不|习惯|主要|目前|现在|还|也|都|刚|今年|下个?月|下周|明年)*"
CLAUSE = regex(r"[。！？!?；;，,、\n]+|\.(?=\s|$)|[:：](?=\s|[^\W\d_])|\b(?:because|since|so that)\b")
SENTENCE = regex(r"[。！!?；;\n]+|(?<!str)(?<!\bno)(?<!\bnr)\.(?=\s|$)", re.IGNORECASE)

_ANSWERS = (
    r"(?:answers?|repl(?:y|ies)|responses?|explanations?|explain|summar(?:y|ies)|tone|messages? to me|respond|talk|"
    r"speak|chat|pleasantries|small talk|apologi[sz]\w*|emojis?|jargon)"
)
TONGUE = (
    r"(?:english|german|french|spanish|portuguese|italian|dutch|polish|russian|ukrainian|turkish|arabic|hindi|"
    r"japanese|korean|chinese|mandarin|cantonese|czech|swedish|danish|norwegian|finnish|greek|hebrew|vietnamese|thai|"
    r"indonesian)"
)
_OWN_TOOLS = (
    r"(?:fish|bash|zsh|powershell|nushell|vim|neovim|nvim|emacs|helix|nano|vs ?code|vscode|sublime|zed|cursor|"
    r"intellij|idea|"
    r"pycharm|goland|webstorm|xcode|tmux|iterm2?|kitty|alacritty|wezterm|ghostty|macos|linux|ubuntu|fedora|arch|"
    r"windows|wsl|dvorak|colemak|neo2?|a mac|a macbook|a thinkpad|arc|firefox|chrome|safari)"
)
_WISH_EN = (
    rf"\bi(?:'ve| have)? (?:just |recently )?(?:switched|moved|migrated)(?: (?:over )?from [\w-]{{2,20}})?(?: "
    rf"over)? to {_OWN_TOOLS}\b",
    r"\bi (?:much |generally |really |always |usually |personally )?prefer (?!that|to see|if|this|the|your?|it|"
    r"options?|approach|solution|versions?|first|second|option|not to)\w",
    rf"\b(?:answer|reply|respond|talk|speak|write|explain)(?:ing)?(?: \w+){{0,2}}? (?:to me )?in (?:plain |"
    rf"simple )?{TONGUE}\b(?! (?:in|for "
    r"the|comments|docs))",
    r"\b(?:answer|reply to|talk to|speak to|address|greet|teach|lecture|thank|flatter|praise|correct|remind|warn|"
    r"ask) me\b(?! (?:what|why|how|where|when|which|who|if|whether|again|once|later|tomorrow|next|in an?|about the|"
    r"questions))",
    rf"\b(?:your|the) (?:{_ANSWERS})\b|\bwhen (?:you(?:'re| are)? )?(?:talk|speak|explain|answer|reply|writ|respond|"
    rf"answering|talking|"
    r"explaining|writing)(?:ing|e)? (?:to|things to|for) me\b",
    r"\b(?:no|drop|skip|without|spare me|cut|leave out|fewer|less|avoid|stop using|never use|don't use) (?:the |all |"
    r"any |your )*(?:emojis?|pleasantries|small talk|jargon|flattery|apologies|apologi[sz]ing|preambles?|disclaimers|"
    r"exclamation marks|bullet points|fluff|filler|chit-?chat|praise)\b",
    r"\b(?:be|stay|keep it|keep things|keep answers|keep them|keep replies|make it|make answers) (?:more |less |very |"
    r"really )*(?:brief|short|concise|"
    r"terse|blunt|direct|formal|informal|casual|polite|verbose|honest with me|patient|gentle)\b(?! (?:function|method|"
    r"file|name|commit|variable))",
    r"\b(?:skip|drop|cut|lose|spare me|enough with|no need for) (?:all )?(?:the|your|"
    r"that) [^.;]{0,30}\b(?:stuff|talk|intros?|routine|"
    r"recaps?|summary|preambles?|lecture|theory|caveats|hedging|cheering)\b|\bdon't (?:explain|teach|recap|"
    r"repeat|hedge|lecture|over-?explain|sugar-?coat|ask)\b[^.;]{0,30}\b(?:to me|me|basics|twice|back|things|it)\b",
    r"^(?:when|for|if|whenever|with)\b[^,.;]{2,40},? (?:always |please |just )*(?:give|show|tell|send|"
    r"spare) me\b|\bfor \w+ give me\b",
    r"\bi(?:'d| would) (?:like|love|prefer|rather|want)(?: it if)? (?:you|your|to be|to get|to see|to hear|"
    r"short|long|less|more)\b|\bi (?:prefer|want|like) [^.,;]{0,40}\b(?:before|first|then|without) (?:any |the |an? )?"
    r"(?:explanations?|summar\w+|answers?|reasoning|theory)\b",
    r"\bi (?:want|need) you to (?:be|always|stop|explain|answer|keep|use|call|talk|speak|summari[sz]e)\b",
    r"\b(?:just )?give me (?:just |only )?(?:the |short |brief |long |full |straight )*(?:answers?|conclusion|"
    r"bottom line|tl;?dr|gist)\b|\bgo easy on\b|\bget (?:straight )?to the point\b",
    r"\b(?:show|tell|give|explain|walk|teach|send) (?:\w+ )?me\b[^.;]{0,60}\b(?:step by step|instead of|rather than|"
    r"every time|from now on)\b|\balways (?:show|tell|give|explain|warn|walk|remind)(?: \w+)? me\b|\bnever show me\b",
    r"\bi (?:learn|understand|read|think|remember) (?:best|better|faster|slowly|things)\b|\bhow i (?:learn|think|"
    r"like it|work best)\b",
    rf"\bi(?:'m| am)? (?:only |always |mostly |usually |still |just )*(?:use|using|on|run|type on|work (?:in|on|with)|"
    rf"live in|code in|prefer) "
    rf"(?:a |an |the )?{_OWN_TOOLS}\b(?! (?:for (?:the|this|our)|in (?:the|this|our)|images?|container|runner|mode|"
    rf"job))",
    rf"\bmy (?:{OWN}|editor|shell|terminal|ide|os|keyboard(?: layout)?|english|german|french|chinese|spanish|japanese|"
    r"background|first language|day off|days off|hearing|typing|attention span|hands?|go-to [\w-]{2,20}|"
    r"(?:pet )?peeve|strong suit|weak spot|comfort zone)\b(?:'s| is| are|:)(?! (?:broken|failing|not "
    r"working|slow today|crash|down|gone|at \d|full|dead|dying|stuck|hanging|acting))",
    rf"\b{_OWN_TOOLS}(?:'s| is) (?:my\b|what i (?:use|run|work|write|live|like|prefer)\b|the (?:shell|editor|ide|os|"
    rf"browser|terminal|one) i (?:use|run|work|write|live|like|prefer)\b)",
    r"^(?:\W|also|btw|fyi|and)*(?:[\w+#.-]+ ){1,3}(?:keyboard|layout|timezone|laptop|screen) here\b",
    r"\b(?:answer|reply|respond|summari[sz]e|explain|answers|replies|responses|explanations|summaries)\b[^.;]{0,25}"
    r"\b(?:in|under|within|to|below|over|at most|no more than)\b[^.;]{0,20}\b(?:lines?|sentences?|words?|"
    r"paragraphs?|bullets?|bullet points|screens?)\b(?! (?:in|on|for|to|of|per|by) (?:the|our|this|each|all|every|"
    r"users?)\b)",
    r"\b(?:be|talk|speak|write)(?: to me)? (?:like|as if) i(?:'m| am|'d| had| was| were)\b|\b(?:be|"
    r"you can be) (?:blunt|frank|direct|honest|rude|critical) (?:with|to|towards) me\b",
    r"\bi (?:don't|do not|never|only|usually|always|mostly) work (?:on|from|after|before|at|past|during|until) (?:mon|"
    r"tue|wed|thu|fri|sat|sun|week|home|night|\d|noon|the evening|mornings|lunch)\w*",
    r"\b(?:i've|i have) (?:only |just |been )*(?:been )?(?:writing|coding|programming|using|learning|doing|"
    r"working (?:with|in|as))\b[^.;]{0,40}"
    r"\b(?:for|since) (?:about |around |over |almost |only |just )*(?:an?|two|three|four|five|six|ten|\d+|years|"
    r"months|a few|19|20)",
    r"\b(?:i'm|i am) [A-Za-z]+, (?:an? |the )?(?:\w+ ){0,3}?(?:dev|developer|engineer|designer|sre|pm|qa|lead|manager|"
    r"architect|intern)\b",
    r"\b(?:i'm|i am) (?:\w+ ){0,3}?(?:dev|pm|qa|dba|newbie|noob)\b(?! (?:build|branch|server|environment|mode))",
)
TONGUE_ZH = r"(?:中文|英文|英语|汉语|普通话|粤语|日语|日文|德语|法语|韩语|西班牙语|俄语|简体|繁体|双语|大白话|人话)"
_OWN_TOOLS_ZH = (
    r"(?:vim|nvim|neovim|emacs|helix|vs ?code|vscode|idea|pycharm|goland|webstorm|sublime|zed|cursor|iterm2?|zsh|fish|"
    r"bash|tmux|mac(?:book|os)?|windows|linux|ubuntu|wsl|双拼|五笔|hhkb|机械键盘)"
)
_WISH_ZH = (
    rf"(?:回[答复话]|答复|回我|跟我说话?|和我说话?|跟我讲|说话|解释|沟通|交流|聊)[^。；]{{0,8}}(?:用|说|"
    rf"讲){TONGUE_ZH}|"
    rf"(?:用|说|讲){TONGUE_ZH}[^。；，]{{0,6}}(?:回[答复话]|答复|回我|跟我|和我|说话|解释|沟通|交流|聊|讲给我)",
    r"(?:跟|和|给|对|向)我(?!们)(?:说话|说|讲|沟通|交流|聊|解释|讲解|回[答复]|汇报|讲原理|讲东西)",
    r"(?:回[答复](?!码|体|格式|字段|报文)|答复|说话|解释(?!器)|语气|口吻|讲解)[^。；]{0,10}(?:别|不要|少|简短|"
    r"简洁|简单|精简|啰嗦|废话|直接|详细|通俗|口语|正式|客气|委婉|幽默|严肃|短|长|一点|控制|分点|先|干脆)",
    r"(?:别|不要|少|不用|无需|省掉|去掉|不许|别再)[^。；，]{0,4}(?:客套|寒暄|废话|啰嗦|客气|表情|emoji|道歉|"
    r"感叹号|夸我|奉承|绕弯子|长篇大论|“?您”?|术语|黑话|催我|打断我|问我)",
    r"(?:给我|直接给)[^，。；]{1,8}(?:就行|就好|就够了|即可)|(?:不用|不必|无需|别|少|省得)(?:多)?(?:解释|讲解|"
    r"铺垫|啰嗦|复述|道歉|夸|安慰|重复|总结|寒暄|客套)",
    r"语气[^。；]{0,6}(?:点|些|轻松|随意|正经)|(?:一步一步|一步步|分步|慢慢|掰开揉碎)(?:来|讲|说|教|写)?(?:$|"
    r"[，。；])|(?:答案|结论|重点)[^，。；]{0,3}(?:放|写)?(?:最?前|开头)",
    r"(?:先|直接)(?:上|说|给|讲)(?:我)?(?:结论|重点|答案|要点)|有(?:问题|话|错)?(?:就)?直(?:接)?(?:说|怼|讲)",
    rf"{SPEAKER_ZH}[^，。；]{{0,8}}(?:用的?(?:都)?(?:是)?|使|敲)(?:惯)?\s?{_OWN_TOOLS_ZH}(?!跑|部署|构建|镜像)|"
    rf"(?:终端|编辑器|键盘|系统|电脑|输入法|浏览器)"
    rf"[^，。；]{{0,4}}(?:{SPEAKER_ZH}|用的?(?:是|都)?)[^，。；]{{0,10}}{_OWN_TOOLS_ZH}",
    rf"{SPEAKER_ZH}(?:的)?(?:英语|英文|日语|德语|数学|视力|听力|记性|普通话|中文|打字)(?:[^，。；]{{0,4}})(?:不好|"
    rf"不太好|差|一般|不行|很好|还行|慢|弱)",
    rf"(?:{SPEAKER_ZH}|"
    rf"^)[^，。；]{{0,10}}(?:[一二三四五六七八九十几多两\d]+年(?:多)?的?)[^，。；]{{0,10}}(?:老兵|经验|"
    rf"老手|程序员|开发|从业|老人)",
    rf"(?:{SPEAKER_ZH}|^)[^，。；]{{0,8}}(?:小白|新手|菜鸟|外行|半路出家|转行|科班|刚学的|初学者|零基础)",
    rf"{SPEAKER_ZH}是(?:做|搞|干|学)[^，。；]{{1,12}}的|{SPEAKER_ZH}(?:主要|平时|一般)(?:做|搞|"
    rf"写)(?!完)[^，。；]{{1,14}}$",
    rf"{SPEAKER_ZH}[^，。；]{{0,6}}(?:喜欢|习惯|偏好|更愿意)(?:看|先看|听|先听|先讲|简短|直接|中文|英文|例子|"
    rf"图)|(?:给|跟|对){SPEAKER_ZH}[^，。；]{{0,10}}喜欢|"
    r"先看例子|先给例子|(?:帮|给)我(?:顺便)?翻译(?:一下)?[^。；]{0,10}(?:每次|都|以后)|顺便帮我翻译",
    rf"{SPEAKER_ZH}[^，。；]{{0,6}}(?:周末|晚上|早上|下班后?|午休|周[一二三四五六日天])[^，。；]{{0,8}}(?:不看|不回|"
    rf"不在|不上|不工作|休息|才)",
)
_ONCE = regex(
    r"\b(?:just this once|this time|for now|this one|for this (?:one|task|pr|change|file)|today only|right now)\b|"
    r"这一?次|这回|本次|暂时|先这样|今天先|[?？吗]\s*$",
    re.IGNORECASE,
)
"""What holds for the task at hand, or is asked: 这一次输出成表格 is no wish that lasts."""
_SUPPOSED = regex(
    r"(?:假如|如果|假设|要是|倘若|假装|比如)(?:我|本人)(?:是|就是|现在是)|"
    r"\b(?:suppose|supposing|imagine|pretend|assume|say) (?:that )?i(?:'m| am| was| were)\b|\bif i were\b",
    re.IGNORECASE,
)
"""A part that is only played: 假如我是甲方，你怎么跟我解释."""
_TEAMS = regex(
    r"\b(?:we|our|us|users?|customers?|the (?:api|ui|app|site|service|bot|docs?|readme|changelog)|comments|commit "
    r"messages?|docstrings?|log messages|error messages|pull requests?|prs?|code review|tests|branch|files? (?:before|"
    r"unless))\b|我们|咱们|团队|用户|客户|接口|文档|注释|提交信息|代码|项目|仓库|日志|报文|字段|页面|函数|文件|"
    r"测试|分支|合并",
    re.IGNORECASE,
)
"""Whose wish it then is: “error messages are in English” is one about the work."""


_TO_ME = (
    r"\b(?:don't|do not|never|stop|no need to|always|only)\b[^.;]{0,40} (?:at|to|with|for) me\b(?! (?:to|that|"
    r"the|a|an|when|what)\b)"
    r"|\b(?:compare|relate|map|translate)(?: \w+){0,3} to [a-z+#]+\b[^.;]*\b(?:if you can|when you explain|"
    r"for me|please|when)"
)
_TO_ME_ZH = (
    rf"(?:别|不用|不必|不要|少|每次|都)[^，。；]{{0,6}}(?:跟|给|对|和|替){SPEAKER_ZH}(?!(?:们|看看|查|改|跑|"
    rf"修))|(?:跟|给|对|和){SPEAKER_ZH}"
    rf"[^，。；]{{0,8}}的时候|{SPEAKER_ZH}[^，。；]{{0,14}}(?:每次|都)(?:用到)?(?:都)?给{SPEAKER_ZH}|"
    rf"回{SPEAKER_ZH}的时候|给{SPEAKER_ZH}[^，。；]{{1,12}}版本"
)
"""What an agent is to do to the speaker for good: “don't paste whole files at me”, 别跟我总结."""
_LASTS = (
    r"\btreat me (?:as|like) (?!(?:an? |the )?(?:\w+ )?(?:guest|user|admin|customer|visitor|tester)\b)\w|\b(?:any\w*|"
    r"every\w*|each|all|whatever)\b[^.;]{0,40}\bneeds? my (?:ok|okay|approval|consent|sign-?off|permission|blessing)\b",
    # a rule for the agent that names the person or all sessions, and a taste: whatever of the work it is about
    r"\b(?:for|in|across|to) (?:every|each|all|any)(?: (?:future|new|later))? sessions?\b|"
    r"\b(?:that's|this is|it's) how i (?:want|like|prefer|work|need)\b|\bthat's (?:what|all) i know\b",
    r"\b(?:remind|warn|ask|tell|show|ping|notify|check with|consult|come to|run it by) me (?:first |again |always )?"
    r"(?:whenever|every time|each time|before (?:you|any|every|\w+ing)\b)|\b(?:before|whenever|every time|"
    r"each time) you\b[^.;]{0,60}\b(?:ask|tell|show|warn|remind|ping|check with|consult) me\b",
    r"\bwhen(?:ever)? you (?:explain|show|teach|describe|answer)(?: [\w+#'-]+){0,4} (?:to|for) me\b",
    r"\b(?:don't|do not|stop|quit|never|no more|enough) (?:apologi[sz]|thank|prais|flatter|hedg|recap|rambl|lectur|"
    r"congratulat|sugar-?coat)\w*",
    r"\bi (?:really |simply |just )?(?:can't|cannot) (?:stand|bear)\b(?! (?:this|that|it|the|these|those)\b)|"
    r"\bi (?:really |absolutely |utterly )?(?:hate|loathe|detest|despise)\b(?! (?:this|that|it|the|these|those|to|"
    r"when)\b)",
    r"\bi (?:only|mostly|mainly|usually|always|rarely|never|normally|typically|generally|"
    r"tend to) (?:ever )?(?:write|use|work|"
    r"code|read|type|touch|develop|review|reply|answer|plan|skim|batch|meet|pair|commute|start|finish|stop|"
    r"program|debug) (?!this\b|that\b|the\b|it\b|these\b|those\b)\w",
    r"\bin (?:all|any|every|each)(?: of)? (?:our|your|these|my) (?:chats?|conversations?|answers?|replies|"
    r"responses?|talks?)(?=[,.;:]|$)",
    r"\b(?:ask|check with|come to|consult) me (?:rather than|instead of|before|first|when(?:ever)? (?:you|something|"
    r"anything))|\bwhen(?:ever)? (?:you're |you are )?(?:unsure|not sure|in doubt)\b[^.;]{0,20}\bask\b",
    r"\b(?:it|this|that) (?:really )?helps me (?:if|when)\b|\bworks (?:best|better) for me\b|\b(?:mornings?|"
    r"afternoons?|evenings?|"
    r"nights?|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|weekends?) (?:is|are|work|works|"
    r"belongs?) [^.;]{0,30}\b(?:for|to) me\b",
    r"\b(?:never|don't|do not|always)\b[^.;]{0,60}\b(?:on my behalf|without (?:asking|telling|checking with|"
    r"consulting) me|"
    r"without my (?:ok|okay|approval|permission|consent)|(?:ask|tell|warn|consult) me (?:first|before))\b",
    r"\b(?:give|show|tell|send|write) me\b[^.;]{0,60}\b(?:always|every time|each time|from now on|by default)\b",
    r"\bi(?:'ve| have) never (?:really |actually )?(?:used|worked|written|touched|learned|learnt|done|programmed|"
    r"coded)\b(?! (?:this|that|the|it|such|these|those)\b)",
    r"\bi(?:'ve| have)(?: got)? (?:an? )?(?:hearing|vision|sight|eye|back|wrist|hand|speech|memory|sleep|"
    r"attention|health|reading) (?:problems?|issues?|impairment|condition|injury|disorder|trouble)\b",
    r"\bi (?:maintain|own|lead|head|oversee|coordinate) (?:the|our|all|most)\b",
    r"\bi (?:much |strongly |really |always |generally )?prefer [^.;]{1,40} (?:over|to|rather than|"
    r"instead of) (?!be\b|see\b)\w",
)
_LASTS_ZH = (
    rf"给{SPEAKER_ZH}[^，。；]{{0,4}}(?:翻译?成|译成|换成){TONGUE_ZH}|{SPEAKER_ZH}(?:更|比较|最)?喜欢你(?:把|先|用|"
    rf"直接|多|少|给)",
    rf"(?:有(?:改动|变更|修改|更新|新)|凡|任何|每|只要|一旦|以后|今后|之前|前)[^。；]{{0,12}}先(?:给|让|发|拿|"
    rf"交)(?:给)?{SPEAKER_ZH}(?:看(?!一眼)|过目|确认|审|瞧)",
    r"(?:回[答复]|答复)[里中]?的?(?:时间|日期|数字|金额|代码|链接|术语|例子|单位|结论|字数|格式|英文|命令|表格|"
    r"内容)[^，。；]{0,6}(?:都|一律|统一)(?!了)",
    rf"{SPEAKER_ZH}(?:看|读|听|写|记|坐|熬)不(?:下去|进去|惯|住|来)(?!这|那)",
    rf"(?:别|不要|不用|不许|禁止|不准|少)[^，。；]{{0,4}}(?:自动|擅自|自己|直接|老是?|总是?)?(?:帮|替|"
    rf"给){SPEAKER_ZH}(?:自动|擅自|直接|"
    rf"随便|乱|瞎)|{SPEAKER_ZH}(?:每次|每回|一律|总)(?:都)?(?:要|会|得|想)?(?:自己|亲自)(?!把)",
    rf"{SPEAKER_ZH}(?:一向|向来|比较|更|还是)?(?:习惯|偏好|偏爱|更愿意|更喜欢)(?!了?这|了?那|了|你)",
    rf"{SPEAKER_ZH}的?(?:英语|英文|日语|日文|德语|数学|视力|听力|记性|记忆力|普通话|打字|眼神|方向感)[^，。；]{{0,4}}"
    rf"(?:不好|差|一般|不行|很好|还行|慢|弱|烂|渣|凑合)",
    r"(?:回[答复]|答复|回我|告诉我|跟我|给我|汇报|总结)[^。；]{0,30}(?:长期|一直|永久|以后都|今后都|每次都)(?:有效|"
    r"要求|这样|如此|照此|遵守|规矩)?(?=$|[，。；！])|"
    r"(?:每次|每条|每个|所有|任何)的?(?:回[答复]|答复|总结|汇报)的?(?:末尾|开头|最后|结尾|前|后|里|时|之前|之后|请|"
    r"要用|都用|都请|用)(?![^。；]{0,8}(?:客户|用户|展示))",
    rf"{SPEAKER_ZH}(?:看|读|听|写|学|记|说|打)(?![这那它你他])[^，。；]{{1,8}}比[^，。；]{{1,8}}(?:快|慢|好|强|顺|"
    rf"轻松|舒服|清楚|多|习惯)(?=$|[，。；])|"
    rf"{SPEAKER_ZH}(?:看|读|听|用)(?:着|起来)?(?:更|比较|很|最|才)?(?:舒服|顺眼|习惯|轻松|费劲|吃力|头疼|累)",
    rf"拿不准[^。；]{{0,8}}问{SPEAKER_ZH}|不确定[^。；]{{0,8}}问{SPEAKER_ZH}",
    r"(?:凡是?|每次|以后|今后|往后|只要|任何|所有|一律|永远|一直|始终)[^。；]{0,24}(?:给|帮|替|跟|和|对|问|告诉|"
    r"提醒|通知|叫|"
    rf"征求){SPEAKER_ZH}(?!这次|看[看下])|(?:必须|一定|都|得|要|务必){{1,3}}先(?:问|告诉|通知|征求|知会|经过?|给|"
    rf"跟|让){SPEAKER_ZH}",
    rf"你(?:给|写|回|说|做|提|出)(?:{SPEAKER_ZH})?的[^，。；]{{0,10}}(?:都|必须|一律|不要|别)|"
    rf"(?:写|发|回|讲|说)?给{SPEAKER_ZH}的[^。；]{{0,12}}(?:不要|别|都|必须|一律)",
    rf"{SPEAKER_ZH}(?:平时|一般|通常|习惯|总是|经常|固定)(?:都|是)?(?:在)?(?:早上|上午|中午|下午|晚上|夜里|凌晨|"
    rf"白天|周末|"
    rf"周[一二三四五六日天])(?![^，。；]*了)|{SPEAKER_ZH}(?:固定|一般|通常|从来)(?:都)?(?:不|没)?(?:在线|上班|"
    rf"工作|开会|休息|回消息)",
    rf"{SPEAKER_ZH}一?[^，。；了]{{1,8}}(?:就|会|容易|老是|总是?)(?:走神|犯困|头晕|忘|漏|看错|紧张|分心|记不住|"
    rf"眼花|烦躁)",
    rf"{SPEAKER_ZH}(?:从来|从)?(?:没学过|没用过|没写过|没接触过|没碰过|只会|不会)\s?(?:写|用|说|讲)?\s?[a-z]",
    rf"{SPEAKER_ZH}(?:一直|主要)?(?:管|维护|带)着?(?!不|了|过|一下|[这那])[^了，。；]{{2,12}}(?=$|[，。；])",
    rf"{SPEAKER_ZH}(?:最|很|真|特别|一向|向来|实在)*(?:讨厌|看不惯|受不了|反感|不喜欢|见不得)(?!这|那|了|你|它)",
    rf"{SPEAKER_ZH}(?:只|从来|向来|一直|平时|一般|常年|长期|基本|主要)(?:上)?(?:都|只|就|不)?(?:写|用|会|看|做|搞|"
    rf"敲|使)(?![过了完到这那])(?!的是[这那])[^，。；了]{{1,20}}(?=$|[，。；])",
)
_STATES = (
    # what somebody is like, can, has and does for good: “I skim”, “I come from PHP”, 我戴助听器, 我这人记性差
    r"\bi(?:'m| am) (?!\w+ing\b(?! (?:for|in|at|from|as)\b)|going|trying|thinking|afraid|done|ready|stuck|"
    r"blocked|back|here|sorry|curious|waiting|off to|in (?:the|a)|"
    r"getting|seeing|looking|about|also|currently|just|now|still|confused|lost|missing|unable|not)\w",
    r"\bi (?:can't|cannot|don't|do not|never|always|usually|mostly|often|rarely|tend to|prefer to|like to) "
    r"(?:see|hear|read|type|speak|drink|eat|skim|know|watch|listen|like|touch|work|remember|do|write|commute|"
    r"think|learn)\b(?! (?:any|the|it|this|that|why|what|how|an?|we|you|your)\b)",
    r"\bi (?:read|skim|learn|think (?:in|best|better|visually)|forget|wear|speak|type|live|watch|listen|"
    r"commute|struggle|come from|grew up|"
    r"have (?:adhd|dyslexia|tinnitus|rsi|a (?:bad|poor|short|toddler|newborn|hearing|hard time))|suffer|panic|"
    r"know (?!what|how|that|"
    r"why|where|the|this|of|i|it's|we)|get (?:lost|bored|distracted|nervous|anxious|tired|migraines|dizzy|seasick))\b",
    r"\b(?:makes?|making|gives?|drives?|helps?|works? (?:best )?for|annoys?|bothers?|confuses?|bores?|"
    r"stresses) me(?! (?:to|with|the|a|an|access|this|that|these|those|some|what)\b)",
    r"\b(?:she/her|he/him|they/them)\b|^(?:\W|also|btw|fyi|oh|and)*(?:[\w+#.-]+ ){1,3}(?:user|person|guy|fan|"
    r"dev|developer|engineer|native|speaker|noob|newbie|beginner) here\b",
    r"^(?:\W|also|btw|fyi|oh|and)*(?:coming from|ex-|former|self-taught|fairly new to|new to|lifelong|long-time)\b",
    r"^(?:\W|also|btw|fyi)*(?:[\w+#.-]+ )?(?:user|person|fan|native|noob|newbie|beginner)$",
    r"\bi(?:'ve| have) been \w+ing\b[^.;]*\b(?:since|for (?:\d|a|two|three|many|years)|alone)\b",
    r"\bmy (?:\w+ )?(?:background|english|german|memory|eyes|hearing|hands|wrists?|accent|attention|day job|"
    r"degree|first language|native tongue|strength|weakness|maths?|sql|python)\b",
)
_STATES_ZH = (
    rf"{SPEAKER_ZH}(?:这个?人|个人)",
    rf"{SPEAKER_ZH}(?:人|家)在(?!改|写|看|跑|调|等)",
    r"[^，。；]{1,8}(?:出身|半路出家|科班|一窍不通|是短板|是强项|我(?:很|挺|不太|不|还算)?(?:熟|懂|会|在行|外行))",
    r"(?:我的|^)(?:电脑|系统|机器|本子|笔记本)(?:是|用的是)\s?(?:windows|mac|linux|ubuntu)",
    r"(?:测试|产品|运维|前端|后端|硬件|嵌入式|游戏|银行)转(?:开发|后端|前端|产品|测试|行|码)",
    rf"(?:{SPEAKER_ZH}|^)(?:本职|老本行|主业|专业|母语)(?:是|做)?",
    rf"{SPEAKER_ZH}{OFTEN_ZH}(?:是(?!说|想|要|在|为|用|否|不是|怕|指|让|按|把|先|从|不)|戴|属于|比较|更习惯|"
    rf"习惯|不太会|不太能|没怎么|很少|从不|记不住|看不懂|"
    rf"看不清|听不|分不清|怕|爱|喜欢(?!这|那)|不喜欢|学过|没学过|会说|不会说|带娃|坐班|倒班|熬夜)",
    rf"{SPEAKER_ZH}的?[^，。；]{{0,3}}(?:眼睛|耳朵|视力|听力|记性|脾气|性子|手速|英语|外语|数学|基础|脑子|颈椎|"
    rf"手腕|时区)",
    rf"{SPEAKER_ZH}(?:平时|平常|日常|向来|从来)(?:都|只|就|基本)?(?:用|使)",
    rf"(?:都|大家|同事们?|他们)(?:喊|叫|管)(?:{SPEAKER_ZH})|(?:当|把|拿)(?:{SPEAKER_ZH})(?:是|当|当成|当作)",
)
"""Clauses that say for good what the speaker is like; they are certain where nothing in the text is of the work."""
_PASSING = regex(
    r"^(?:and |so |but )?(?:what|which|where|who|how|did|do|does|can|could|would|is|are|give me my)\b|"
    r"\b(?:i(?:'ll| will| can(?! (?:only|barely|hardly|read|speak))| could| might| may| heard| saw| found| got|"
    r" went| did| had| think(?: we|"
    r" that| i)| guess| hope| need| want| just)|today|yesterday|tomorrow|tonight|this (?:morning|week|"
    r"afternoon|evening)|"
    r"next (?:week|month|quarter))\b|[?？]|吗|什么|哪|怎么|今天|昨天|明天|刚才|刚刚|这周|下周|待会|马上|一会|"
    r"帮我|了没|觉得|看到|发现|多少|没有$|有没有|咱俩|说说|告诉过|总结一下|记了吗",
    re.IGNORECASE,
)
"""What happens now, is planned or asked: “I'm in a meeting tomorrow” says nothing that lasts."""
_SELF_USER = regex(r"(?<=[\w+#.-] )user(?=,| here|$)")
"""“Emacs user, evil mode” is no user of the product."""
_MOST_STATED = 200
"""Characters of a text that says what somebody is like, and nothing else."""


_MOMENT = regex(
    # a mood, a place one passes through, a case that is only thought of, an opinion
    r"\bi(?:'m| am| feel)(?: (?:a (?:bit|little)|so|too|quite|pretty|really|very|all|kind of|just|still|currently|"
    r"totally|"
    r"getting|feeling))* (?:tired|hungry|thirsty|confused|lost|stuck|sick|late|busy|done|fine|ok|okay|happy|glad|"
    r"sorry|"
    r"surprised|impressed|tempted|bored|annoyed|frustrated|worried|excited|back|puzzled|torn|unsure|exhausted|sleepy|"
    r"leaving|heading|afk|home now|in|set|good)(?=$|[,.;!]| (?:with|by|about|that|now|today|to|of|for a)\b)|"
    r"\bi(?:'m| am)(?: still| currently| now)? (?:stuck|blocked|waiting|looking|trying|getting|seeing|having)\b|"
    r"\bmy (?!job|hobby|focus|passion|background|role|thing)\w+(?: \w+)? (?:is|are|was|were|'s) (?:\w+ing\b|"
    r"(?:almost |nearly |at )?(?:dead|down|gone|broken|low|full|empty|\d+ ?(?:%|percent)))|"
    r"\bmy (?:\w+ )?(?:tests?|builds?|changes?|branch|pr|pull request|commits?|patch|fix|code|battery|"
    r"screen) (?:just |still |now )?"
    r"(?:pass|passes|fail|fails|failed|passed|turned|went|broke|died|works?|got|merged)\b|"
    r"\bmy \w+(?: \w+)? is an? (?:\w+ )?(?:mess|pain|problem|disaster|nightmare)\b|\b(?:hold on|hurry|be quick|"
    r"one sec\w*)\b|\b(?:users?|customers?|clients?|bot|he|she|they|reviewer|boss|manager|colleague|somebody|someone|"
    r"people) (?:says?|said|told|asks?|asked|writes?|wrote|thinks?|wants?)\b|"
    r"(?:我|本人)(?:上午|下午|晚上|中午|早上)(?:要|得)?(?:去|请假|有事|出去|开会)|"
    r"(?:我|本人)(?:今天|今晚|今早|今夜|明天|明早|明晚|后天|这周|本周|下周|待会|等会|一会儿?|刚才|刚刚)(?!一般|通常|"
    r"都|固定|总|起|开始)|"
    r"\bi(?:'m| am)(?: \w+)? (?:on|in|at) (?:an?|the|my) (?:train|bus|plane|flight|car|road|phone|call|meeting|"
    r"airport|hotel|caf[eé]|way|go|couch|move|beach|stand-?up|middle|gate|doctor|dentist|station)\b|"
    r"\bi have (?:an? |another )?(?:meeting|call|question|idea|doubt|demo|deadline|interview|appointment)\b|"
    r"\bi (?:really |quite )?(?:like|love|hate|enjoy) (?:that|this|it|these|those)\b|"
    r"(?:我|本人)(?:先(?![看听讲要])|这就|马上|待会|等会|一会儿?)|(?:我|本人)[头胃牙肚眼嗓]子?[^，。；]{0,3}(?:疼|"
    r"痛|晕)|(?:我|本人)(?:很|挺|都|也|还是)?(?:喜欢|支持|看好|认可)(?:你(?!把|先|用|直接|多|少|给)|这|那|它)|(?:我|"
    r"本人)在[^，。；]{1,8}[等买取接排][^，。；]{0,3}(?=$|[，。；])|"
    r"\b(?:right now|at the moment|for the moment|as we speak|this minute)\b|"
    r"\b(?:if|though|wish|pretend|suppose|imagine) i(?: (?:were|was|had|could|knew|would|did)\b|'d\b)|\bwere i\b|"
    r"\bi(?:'d| would) (?:probably|have|never have|just)\b|^\W*(?:this|that|these|those) [^.;]{1,60} (?:makes?|"
    r"gives?|drives?|"
    r"confuses|annoys) me\b|\bi (?:suspect|believe|bet|wonder|doubt|think)\b(?! (?:in|best|better|visually|slowly)\b)|"
    r"\bmy (?:\w+ )?(?:colleagues?|co-?workers?|team-?mates?|friends?|neighbou?r|client|customer)\b|\bmy (?:boss|"
    r"manager|lead) (?:is (?:\w+ing|angry|happy|on|out|back)|wants|says|said|asked|thinks|needs)\b|"
    r"\bi\b[^.;,]{1,60}\b(?:last (?:week|month|night|time|sprint)|yesterday|\d+ \w+ ago|earlier|this morning)\b|"
    r"(?:我|本人)的?(?:同事|队友|朋友|客户|组员|室友|徒弟|同学)|(?:我|本人)有(?:一?个|点|些)?(?:小|急)?(?:问题|"
    r"疑问|想法|建议|急事|事|会|思路|发现)(?=$|[^一-鿿])|"
    r"(?:我|本人)(?:这会儿?|此刻|眼下|现在|正|刚好|还){0,2}在(?:开会|吃饭|排队|忙|等|赶|路上)|"
    r"(?:要是|如果|假如|假设|倘若|要不是|就算|即使|好像|当作|要我)[^，。；]{0,2}(?:我|本人)|"
    r"(?:我|本人)(?:这会儿?|此刻|眼下|现在|正|刚好|还){0,2}在[^，。；]{1,8}(?:上|里|中|路上|外面|外地|开会|排队|"
    r"吃饭)(?=$|[，。；])|"
    r"(?:我|本人)(?:现在|这会儿?|真的?|都|有点儿?|好|太|真|很|快|要|已经)*(?:困|累|饿|烦|急|忙|懵|晕|头疼|头大|"
    r"无语|崩溃|服|难受|疯|糊涂)(?:死|坏|晕)?了?(?=$|[，。；！!])|"
    r"(?:我|本人)(?:个人|还是|有点|倒|就|也|都|总|很)*(?:怀疑|觉得|认为|猜|估计|以为|感觉|担心|听说|同意|赞成|没意见)",
    re.IGNORECASE,
)
"""What holds at this moment, or is thought and not so: “I'm on the train right now”, 要是我会 Rust."""
_QUOTED = regex(
    r'"[^"\n]{0,200}\b(?:i|my|me|i\'m)\b[^"\n]{0,200}"|“[^”\n]{0,200}(?:我|\b(?:i|my|me)\b|喜欢)[^”\n]{0,200}”|'
    r"「[^」\n]{0,200}我[^」\n]{0,200}」|‘[^’\n]{0,200}我[^’\n]{0,200}’|"
    # what is in quotation marks and is a sentence: somebody else's, or a text of the product
    r'"\w+(?: [^\s"]{1,40}){2,30}"|“[^”\n]{6,200}”|「[^」\n]{6,200}」',
    re.IGNORECASE,
)


def drop_quoted(text: str) -> str:
    """Return *text* without what it quotes of others who speak of themselves: the ticket says “I want …”."""
    return _QUOTED.sub(" ", text)


def is_of_moment(folded: str) -> bool:
    """Return whether *folded* says how the speaker is just now, what they think, or what is only thought of."""
    return _MOMENT.search(folded) is not None


def drop_moments(folded: str) -> str:
    """Return *folded* without its clauses of the moment: “I'm on the train, call me Jo” has one that lasts."""
    if not is_of_moment(folded):
        return folded
    return ", ".join(clause for clause in CLAUSE.split(folded) if not is_of_moment(clause))


def has_lasting_trait(text: str) -> bool:
    """Return whether *text*, said by a person, says what they are like for good, and nothing of the work.

    “I skim, so short paragraphs”, 我比较急性子，答案放最前面; not “I renamed the module”, 我是说先跑测试.
    """
    folded = text[:MAX_CHARACTERS].casefold().replace("’", "'")
    if not can_be_all_of_person(folded) or is_of_moment(folded):
        return False
    return any(has_match((*_STATES, *_STATES_ZH), clause.strip()) for clause in CLAUSE.split(folded))


_WORKED_ON = regex(
    r"\b[45]\d\d\b|\bpages?\b|\bthe one that\b|\b(?:bugs?|versions?|files?|modules?|functions?|errors?|exceptions?|"
    r"builds?|deploy\w*|repo(?:sitory|s)?|class(?:es)?|methods?|"
    r"variables?|tables?|quer(?:y|ies)|endpoints?|servers?|services?|config\w*|logs?|tokens?|caches?|"
    r"migrations?|tickets?|issues?|"
    r"patch(?:es)?|fix(?:es)?|scripts?|packages?|dependenc(?:y|ies)|pipelines?|containers?)\b|版本|模块|函数|"
    r"报错|异常|构建|部署|仓库|变量|接口|服务|配置|日志|缓存|脚本|依赖|流水线|容器|补丁|工单|需求|数据表|bug",
    re.IGNORECASE,
)


def can_be_all_of_person(folded: str) -> bool:
    """Return whether *folded*, said by a person, can be about them and nothing else: a sentence that lasts, no task."""
    said = _SELF_USER.sub("", folded)
    if len(said) > _MOST_STATED or len([part for part in SENTENCE.split(said) if part.strip()]) > 1:
        return False
    return not any(words.search(said) for words in (_PASSING, _TEAMS, _ONCE, _WORKED_ON))


def is_personal_wish(text: str) -> bool:
    """Return whether *text*, said by a person, says for good how to speak to them or what they work with.

    “Answer in German”, 回答别啰嗦, “I use fish”: it holds for the person who says it and for no colleague.
    """
    said = drop_quoted(text[:MAX_CHARACTERS])
    folded = drop_moments(said.casefold().replace("’", "'"))
    if _ONCE.search(folded) or _SUPPOSED.search(said):
        return False
    if has_match((*_LASTS, *_LASTS_ZH), folded):
        return True
    return has_lasting_trait(said) or any(
        (has_match((*_WISH_EN, *_WISH_ZH), sentence) and not _TEAMS.search(sentence))
        or has_match((_TO_ME, _TO_ME_ZH), sentence)
        for sentence in SENTENCE.split(folded)
    )
