"""The ways in which a text gives orders to an agent that reads it, in English and Chinese.

Each is a pattern for text in NFKC and lower case that begins with one of a few heads, so that a text is looked at only
where such a word stands. What documents of software say of users, prompts and commands is no order; where a sentence
can be both, the pattern asks for the imperative or for what no document would say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kb.i18n import Message, msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple


class InjectionPattern(NamedTuple):
    """One way of giving orders."""

    problem: Message
    heads: str
    """The words, or pieces of Chinese, with which it begins."""
    pattern: re.Pattern[str]
    """It, from its head on."""
    before: re.Pattern[str] | None = None
    """What stands before it, to its very end; None: whatever."""
    in_code: bool = True
    """False: in code it is an example."""
    needs: tuple[str, ...] = ()
    """One of these stands in each such order; (): not stated. Where heads are common words ("user", 用户), this is
    looked for first: it takes less time than to compile the pattern."""


OVERRULES = msg("tells its reader to disregard what it was told")
ROLE = msg("gives its reader another role")
SECRECY = msg("asks its reader to keep something from people")
LEAKS = msg("asks for what its reader was told in confidence")
FORGED = msg("passes for a turn or a tool call of a conversation")
RUNS = msg("makes its reader run a command")
SENDS = msg("makes its reader send secrets away")
ADDRESSES = msg("addresses the agent that reads it")
COMMANDS = msg("claims to stand above other instructions")

# -- pieces ---------------------------------------------------------------------------------------

_ = r"[\W_]{1,4}"
_E = r"(?![a-z])"
_ALL = (
    rf"(?:(?:all|any|every|each|of|the|your|my|our|these|those|this|that|and|or|previously|given|everything){_})"
    "{0,5}"
)
_PRIOR = (
    r"(?:previous|prior|above|earlier|preceding|foregoing|existing|former|past|original|initial|system|developer"
    r"|safety)"
)
_TOLD = r"(?:instructions?|prompts?|directions?|directives?|guidelines?|programming|guardrails?|orders)"
_PEOPLE = r"(?:user|human|operator|owner|developer|reviewer|maintainer|person|anyone|anybody|people)s?"
_BOT = (
    r"(?:ai|llms?|(?:large )?language models?|(?:coding |ai |autonomous |automated )?(?:agents?|assistants?)|chatbots?"
    r"|chatgpt|claude|copilot|codex|gemini)"
)
_PERSONA = (
    r"(?:assistant|agent|ai|model|bot|chatbot|robot|hacker|admin|administrator|root|terminal|shell|dan|persona"
    r"|character|pirate|expert|advisor|owner|developer|maintainer|attacker)"
)
_SECRETS = (
    r"(?:secrets?|credentials?|passwords?|api[ _-]?keys?|(?:access |auth )?tokens?|ssh[ _-]?keys?|private keys?|id_rsa"
    r"|environment variables?|env vars?|cookies|(?:chat|conversation)(?: history| log)?|source code|customer data"
    r"|\.env(?![a-z])|~/\.(?:ssh|aws|kube|config|netrc))"
)
_AWAY = (
    r"(?:to|→|->|at)\s+[<`\"'(]{0,2}(?:https?://|ftp://|wss?://|[\w.+-]{1,60}@[\w-]{1,60}\.|(?:an? )?(?:external|remote"
    r"|attacker)|(?:this|the following|my|our) (?:url|address|server|endpoint|webhook|e-?mail|site|bucket))"
)
_DANGER = (
    r"(?:(?:curl|wget|iwr|invoke-webrequest)(?![a-z])[^\n]{0,200}?\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh(?![a-z])"
    r"|rm\s+-[a-z]{0,9}[rf][a-z]{0,9}\s+[~/$*.]|base64\s+(?:-d|--decode)|/dev/tcp/|(?<![a-z])nc\s+-e|(?<![a-z])mkfs"
    r"|powershell[^\n]{0,30}\s-e|\$\((?:whoami|env|cat|id|printenv)|git push (?:-f|--force))"
)
_TELL = r"(?:tell|inform|notify|alert|warn|ask|consult|bother|involve)"
_ACT = (
    r"(?:run|execute|push|force-push|merge|commit|delete|remove|install|proceed|continue|apply|approve|send|upload"
    r"|deploy|change|edit|write|act|do|accept|drop|add|disable)"
)
_SAFETY = r"(?:safety|ethical|ethics|content|security|moderation)"
_LIMITS = r"(?:guidelines|protocols?|polic(?:y|ies)|rules|restrictions|measures|filters|features|constraints)"
_OPENS = (
    r"(?:(?:^|\n)[\s>*#\d.)-]*+|[.!?:;,。][\s*>\"'”’)]*+|(?<![a-z])(?:please|then|and|now|just|also|always|must|should"
    r"|you|(?:need|have|want you|remember|sure|asked|required|told) to)\s+)"
)
_IMPERATIVE = regex(rf"{_OPENS}\Z")
_ACTING = regex(rf"{_OPENS}{_ACT}\b[^.!?\n]{{0,80}} \Z")
_SENTENCE = regex(r"(?:(?:^|\n)\W*|[.!:]\s{0,4})(?:the )?\Z")
_LINE = regex(r"(?:^|\n)\W{0,4}\Z")
_LINE_ONLY = regex(r"(?:^|\n)[\s>*-]{0,8}\Z")

_PRIOR_ZH = (
    r"(?:之前|以上|上述|上面|前面|先前|此前|以前|早先|刚才|原来|原有|原始|初始|已有|既有|系统|开发者|安全|所有|全部"
    r"|一切|任何|其他|你|我|给|收到|被告知|的|得到|那些|这些|过)"
)
_ORDERS_ZH = r"(?:指令|指示|提示词|系统提示|规则|要求|设定|命令|约束|限制|准则|规范)"
_AWAY_ZH = (
    r"(?:到|给|至|往|向)\s*(?:https?://|ftp://|[\w.+-]{1,60}@|外部|我的|我方|攻击者|(?:以下|下面|这个|如下)(?:地址|网址"
    r"|邮箱|服务器|链接))"
)
_SECRETS_ZH = (
    r"(?:密钥|秘钥|令牌|环境变量|\.env|凭证|凭据|密码|私钥|token|源代码|源码|聊天记录|对话(?:记录|内容|历史)?|api ?key"
    r"|机密)"
)
_BOT_ZH = r"(?:ai|人工智能|大?语言模型|大模型|智能体|(?:ai|编码|编程|智能|代码)?\s?助手|agent)"
_PEOPLE_ZH = r"(?:用户|使用者|主人|评审人|审查者|任何人|别人)"
_HIDDEN_ZH = r"(?:系统提示|系统指令|提示词|初始指令)"
_THIS_ZH = r"(?:以下|下面|下列|这条|这个|如下|该)"

# -- English --------------------------------------------------------------------------------------

_OVERRULE = "ignore disregard forget override overrule bypass neglect disable"
_ENGLISH = (
    InjectionPattern(OVERRULES, _OVERRULE, regex(
        rf"(?!disable)[a-z]{{1,20}}{_}(?!of{_}){_ALL}(?:{_PRIOR}{_}(?:(?:and"
        rf"|or){_})?){{1,3}}(?:[a-z]{{1,20}}{_})?{_TOLD}{_E}|(?:ignore|disregard"
        rf"|forget){_}{_ALL}{_PRIOR}{_}(?:{_PRIOR}{_})?(?:rules?|constraints?|restrictions|context|messages?|commands?"
        rf"|text|conversation|polic(?:y|ies)){_E}|(?:override|bypass"
        rf"|disable){_}(?:all{_})?(?:of{_})?your{_}(?:[a-z]{{1,20}}{_}){{0,2}}(?:rules?|constraints?|restrictions?"
        rf"|filters?|programming|training|polic(?:y|ies)|safety){_E}|(?:ignore|disregard|forget){_}(?:(?:all|any|every"
        rf"|of|your|my|the|these|those){_}){{0,3}}(?:[a-z]{{1,20}}{_})?(?:instructions|directives"
        rf"|guidelines){_}(?:above|before|so far|given|you(?: were| have|['’]ve| had| got| received))|(?:ignore"
        rf"|disregard|forget){_}(?:(?:all|of){_}){{0,2}}(?:all|your){_}(?:instructions|directives|guidelines|prompts"
        rf"|training){_E}|(?:ignore|disregard|forget){_}(?:everything|all|anything|what(?:ever)?){_}(?:(?:that|which|is"
        rf"|was|stands){_}){{0,2}}"
        r"(?:above|before this|prior|previous|preceding|you (?:were|have been|are|had been) (?:told|taught|given"
        r"|instructed)|you (?:know|knew|learned))"
    )),
    InjectionPattern(OVERRULES, _OVERRULE, regex(
        rf"(?:ignore|disregard|forget|override){_}(?:(?:all|any){_})?(?:instructions|(?:your|the){_}programming"
        rf"|(?:(?:your|the){_})?{_SAFETY}{_}{_LIMITS}){_E}|forget everything(?=\s?[,.!;:\n]|\Z)|(?:bypass"
        rf"|disable){_}(?:(?:all|any|of|your|the){_}){{0,3}}(?:safety|ethical|moderation){_}{_LIMITS}{_E}"
    ), _IMPERATIVE),
    InjectionPattern(OVERRULES, "do don dont never stop cease quit", regex(
        rf"(?:do not|don['’]?t|never|stop|cease|quit){_}(?:follow(?:ing)?|obey(?:ing)?|adher(?:e|ing) to){_}(?:the|your"
        rf"|any|all){_}(?:{_PRIOR}{_}){{0,2}}{_TOLD}"
    )),
    InjectionPattern(OVERRULES, "instructions prompt prompts directives", regex(
        rf"[a-z]{{1,20}}{_}(?:(?:above|before this|you were given){_})?(?:is|are|were|have been){_}(?:(?:now|all"
        rf"|hereby){_})?(?:void|null and|revoked|cancel[a-z]{{0,5}}|a test){_E}|[a-z]{{1,20}}{_}above{_}(?:are"
        rf"|is){_}(?:obsolete|outdated|fake|superseded)"
    )),
    InjectionPattern(ROLE, "you from", regex(
        rf"you(?: are|['’]re) now{_}(?:(?:an?|the|my|our) (?:[\w-]{{1,30}} ){{0,4}}{_PERSONA}{_E}"
        rf"|in (?:[\w-]{{1,30}} ){{0,3}}mode{_E}|(?:no longer|dan|unrestricted|uncensored|jailbroken|root|acting as"
        rf"|called|named|free (?:from|of|to)){_E})|you(?: are"
        rf"|['’]re) no longer{_}(?:an? (?:[\w-]{{1,30}} ){{0,3}}{_PERSONA}|bound|restricted|limited by|subject to|under"
        r"|required to (?:follow|obey)|claude|chatgpt)"
        rf"|you(?: are|['’]re) (?:dan|an? (?:unrestricted|unfiltered|uncensored|jailbroken)){_E}"
        rf"|from now on{_}you(?:(?: are|['’]re| will (?:be|act|behave|obey)| act| behave| must obey"
        rf"| shall obey){_}(?:an?|as|in|no longer|my|dan|free|the|only|every|all){_E}"
        rf"| have no (?:[a-z]{{1,20}} ){{0,2}}{_LIMITS})"
    )),
    InjectionPattern(ROLE, "pretend act behave respond answer reply speak roleplay role do enter activate enable switch", regex(
        rf"pretend(?: that)? you(?: are|['’]re| have| were)|pretend to be (?:an? |the "
        rf"|my )?(?:[\w-]{{1,30}} ){{0,3}}{_PERSONA}{_E}"
        r"|(?:act|behave|respond|answer|role-?play) as (?:if|though) you(?: are|['’]re| were| had| have)|(?:act|behave"
        r"|respond|role-?play) as (?:an? |my |the )?(?:unrestricted|unfiltered|uncensored|jailbroken|evil"
        rf"|malicious|dan|root){_E}|do anything now{_E}"
        r"|(?:enter|activate|enable|switch (?:in)?to) (?:god|dan|jailbreak|unrestricted|developer) mode(?= and| now"
        r"|[.!,:\n]|\Z)"
        rf"|(?:answer|respond|reply|act|speak) without (?:any )?(?:restrictions?|filters?|limits?|limitations"
        rf"|censorship){_E}"
    )),
    InjectionPattern(SECRECY, "do don dont never must mustn", regex(
        rf"(?:do not|don['’]?t|never|must not|mustn['’]?t){_}(?:even{_})?{_TELL}{_}(?:the |your |any )?{_PEOPLE}"
        r"(?=\W*(?:\Z|\n|[.!;:,。)\"”'*]|about (?:this|these|it|that|any|what|the (?:change|edit|commit|key|command))"
        r"|what you|that you|of (?:this|any)|anything|and |or ))"
        rf"|(?:do not|don['’]?t|never){_}(?:mention|reveal|disclose|show|report|explain){_}(?:this|these|it|any of this"
        rf"|that|anything)\b[^.\n]{{0,30}}?(?:to|with){_}(?:the |your |any )?{_PEOPLE}{_E}"
    )),
    InjectionPattern(SECRECY, "without", regex(
        r"without (?:ever )?(?:asking|telling|informing|notifying|alerting|consulting|involving)(?: the| your| any)? ?"
        rf"(?:{_PEOPLE}|permission|for (?:permission|confirmation|approval)|first|again){_E}"
    ), _ACTING),
    InjectionPattern(SECRECY, "hide conceal keep", regex(
        rf"(?:hide|conceal){_}(?:this|these|it|that|the (?:change|edit|commit|command)s?)\b[^.\n]{{0,20}}? from (?:the "
        rf"|your |any )?{_PEOPLE}{_E}|keep{_}(?:this|these|it|that|quiet)\b[^.\n]{{0,30}}?(?:from"
        rf"|about)[^.\n]{{0,12}}?{_PEOPLE}{_E}"
    )),
    InjectionPattern(LEAKS, "reveal print show repeat output leak dump display disclose send share tell give expose write paste"
          " summarise summarize translate recite copy return read what", regex(
        rf"[a-z]{{1,20}}{_}(?:(?:me|us|out|down|back|here|all|of){_}){{0,3}}your{_}(?:(?:full|entire|complete|whole"
        rf"|original|own|exact|verbatim|current|hidden|initial|secret|internal|system|developer|first"
        rf"|previous){_}){{1,3}}"
        r"(?:prompts?|instructions?|messages?|guidelines|directives?|rules)"
        rf"|(?:show|tell|give|read|send) me your (?:instructions|prompt|guidelines|rules|programming){_E}|what (?:is"
        rf"|are|was|were) your (?:(?:system|initial|original|hidden|secret|exact|full|first){_}){{1,3}}"
        r"(?:prompts?|instructions?)"
    )),
    InjectionPattern(LEAKS, "reveal leak disclose exfiltrate dump repeat recite print output copy echo", regex(
        rf"(?:reveal|leak|disclose|exfiltrate|dump|repeat|recite){_}(?:the|all){_}(?:(?:full|entire|complete|hidden"
        rf"|initial|secret|internal|system|developer){_}){{1,2}}(?:prompts?|instructions?|messages?)|(?:reveal|leak"
        rf"|disclose|exfiltrate|dump){_}(?:system|your|hidden|initial) (?:prompts?|instructions|guidelines"
        rf"|programming){_E}|(?:repeat|print|output|copy|recite|echo){_}(?:everything|(?:all(?: of)? )?the (?:text"
        rf"|words|contents?))"
        r"(?: that (?:is|stands|was))? (?:above|before this)"
    ), _IMPERATIVE),
    InjectionPattern(FORGED, "human user", regex(
        r"(?:human|user)\W{0,3}:[^\n]{1,400}\n\s{0,4}\W{0,4}(?:assistant|ai|agent)\W{0,3}:"
    ), _LINE, in_code=False),
    InjectionPattern(FORGED, "system developer admin administrator root assistant ai", regex(
        r"[a-z]{1,20}[ _-](?:override|notice|alert|command|update)\W{0,3}[:!]|[a-z]{1,20}(?:[ _-](?:message|prompt|note"
        r"|instructions?))?\W{0,3}:\s{0,3}(?:you (?:are|must|will|shall|should|have)|ignore|disregard|override|forget"
        r"|execute|new |sure|understood|ok[,.]|okay|i will|i'll|delete|approve|reveal|the user)"
    ), _LINE, in_code=False),
    InjectionPattern(RUNS, "run execute paste invoke launch before after", regex(
        rf"(?:run|execute|paste|invoke|launch)\b[^\n]{{0,200}}?{_DANGER}"
        r"|(?:run|execute|paste|invoke|launch) (?:the |this |these |that |all )(?:following |below )?(?:commands?"
        r"|scripts?|code|shell|programs?|snippets?|tool calls?)\b[^.\n]{0,100}?(?:immediately|right now|at once"
        r"|silently|secretly|quietly|without (?:asking|confirm|hesitat|showing|review|question|permission|telling)"
        r"|do not ask|don['’]?t ask|before (?:you )?(?:answer|respond|reply|do anything|read))|(?:before"
        r"|after) (?:you )?(?:answer(?:ing)?|respond(?:ing)?|reply(?:ing)?|continu(?:e|ing)|do(?:ing)? anything"
        r"|read(?:ing)? (?:on|further))\b[^.\n]{0,30}?[, ](?:you (?:must|should|need to|have to) )?"
        rf"(?:run|execute|invoke|launch|call){_}|(?:run|execute|invoke"
        rf"|launch)\b[^.\n]{{0,60}}?before (?:you )?(?:answer|respond|reply)(?:ing)?{_E}"
    )),
    InjectionPattern(RUNS, "decode decrypt deobfuscate unscramble base", regex(
        rf"(?:base64[ -])?(?:decode|decrypt|deobfuscate|unscramble)\b[^\n]{{0,80}}?(?:and|then|,){_}(?:then{_})?"
        r"(?:follow|execute|run|obey|do (?:what|as)|carry out|comply|act on)"
    )),
    InjectionPattern(SENDS, "send post upload email e mail forward exfiltrate transmit leak copy submit append put write paste"
          " print", regex(
        r"(?:send|post|upload|e-?mail|mail|forward|exfiltrate|transmit|leak|copy|submit|append)\b[^\n]{0,60}?"
        rf"{_SECRETS}[^\n]{{0,60}}?\s{_AWAY}|exfiltrate\b[^\n]{{0,40}}?{_SECRETS}"
        r"|(?:copy|put|write|paste|append|print)\b[^\n]{0,20}?(?:the |all |your )(?:environment variables?|credentials"
        r"|secrets|api keys?|private keys?)[^\n]{0,20}? (?:in(?:to)?|to) (?:the )?(?:readme|commit message|pull request"
        r"|issue|comment|pr description|public)"
    ), _IMPERATIVE),
    InjectionPattern(ADDRESSES, "if note message attention notice warning important reminder instructions dear", regex(
        rf"if you(?: are|['’]re) (?:an? )?{_BOT}{_E}[^.\n]{{0,40}}?(?:reading|processing|summari[sz]ing|reviewing"
        rf"|parsing"
        r"|analy[sz]ing|,|:|then|you|must|please)|(?:note|message|attention|notice|warning|important|reminder"
        r"|instructions?)[:,!]? (?:(?:to|for) )?"
        rf"(?:all |any |the |every ){{0,2}}{_BOT}{_E}(?: (?:reading|processing)[^.\n]{{0,20}})?\s?[:!]|(?:dear"
        rf"|attention)[,:]? (?:all |any ){{0,2}}{_BOT}{_E}\s?[:,!]"
    ), needs=(" ai", "llm", "language model", "agent", "assistant", "chatbot", "chatgpt", "claude", "copilot", "codex",
              "gemini")),
    InjectionPattern(ADDRESSES, "ai llm llms large language coding autonomous automated agent agents assistant assistants chatbot"
          " chatbots chatgpt claude copilot codex gemini", regex(
        rf"{_BOT},? (?:(?:that|who|which|when) )?(?:(?:are|is) )?(?:reads?|reading|process(?:es|ing)?|summari[sz](?:es"
        rf"|ing)"
        r"|review(?:s|ing)|pars(?:es?|ing)|index(?:es|ing)) (?:this|the following)\b[^.\n]{0,40}?(?:must|should|shall"
        r"|will|are to|please|:)"
    )),
    InjectionPattern(COMMANDS, "new updated revised real true actual hidden secret your obey follow execute accept must shall will"
          " always take takes override overrides supersede supersedes outranks replace replaces all", regex(
        r"(?:new|updated|revised|real|true|actual|hidden|secret)(?: system)? (?:instructions?|orders|directives?"
        r"|system prompt)\s{0,2}:|your (?:(?:new|real|true|actual|only|sole) ){1,2}(?:instructions?|orders?|directives?"
        r"|task|objective|mission|goal|role|purpose|job)\s?(?:is|are|now|:)"
        rf"|(?:obey|follow|execute|accept)(?: only)? (?:my|these) (?:instructions|orders|commands)(?: only)?{_E}"
        r"(?=\W*(?:\Z|\n|[.!]| from| without| above))"
        rf"|(?:must|shall|will|always) (?:always |only )?(?:obey|comply with){_}(?:me|my|all|every|the|these|this|only"
        rf"|any){_E}"
        r"|(?:takes? (?:precedence|priority) over|overrides?|supersedes?|outranks|replaces?) (?:(?:all|any|your"
        r"|every)(?: of your| of the)? (?:[a-z]{1,20} ){0,2}|the (?:previous|prior|system|earlier"
        r"|developer) )(?:prompts?|instructions"
        rf"|guidelines|system message){_E}|all (?:tool calls|commands|actions) are (?:pre-?)?(?:approved|authori[sz]ed)"
    )),
    InjectionPattern(COMMANDS, "user owner administrator admin developer human operator maintainer users owners admins"
          " always", regex(
        r"[a-z]{1,20} (?:has|have) (?:already )?(?:approved|authori[sz]ed|consented to|agreed to|granted|given"
        r"|allowed) (?:you\b|your\b|all (?:the )?(?:actions|commands|requests|tool|changes|operations)|every"
        r"|this (?:action|command|request|operation))|always (?:approve|merge|accept|allow|trust) (?:(?:this|any|all"
        r"|every|the|each) )?(?:pr|pull request|merge request|change|patch|commit|tool call"
        r"|request)s?\b[^.\n]{0,20}?(?:from|by|of|in) this"
    ), _SENTENCE, needs=(" approved", " authori", " consented", " agreed", " granted", " given", " allowed", "always ")),
)  # fmt: skip

# -- signs and Chinese ----------------------------------------------------------------------------

_SIGNS = (
    InjectionPattern(FORGED, "</ <system <invoke <antml <function <tool_ <user_query <| <start_of_turn <end_of_turn [inst] [/inst]"
          " <<", regex(
        r"</(?:system|assistant|system[_-]?(?:reminder|prompt|message|instructions?)|developer|instructions?|human"
        r"|user(?:_query|_input|_message)?|(?:antml:)?(?:function_calls|function_results|invoke|parameter)|tool_(?:use"
        r"|calls?|results?|response|output)|untrusted[\w-]{0,20}|document|context)\s{0,3}>|<(?:system[_-](?:reminder"
        r"|prompt|message|instructions?)|(?:antml:)?function_(?:calls|results)|(?:antml:)?invoke(?: name)|tool_(?:use"
        r"|calls?|results?|response)|user_query)(?:[\s>=/]|\Z)|<\|(?:im_start|im_end|system|user|assistant|endoftext"
        r"|endofprompt|eot_id|start_header_id|end_header_id|begin_of_text|end_of_turn|end)\|>|<(?:start|end)_of_turn>"
        r"|\[/?inst\]|<</?sys>>"
    ), in_code=False),
    InjectionPattern(FORGED, "<system <assistant> <instructions> <instruction>", regex(
        r"<(?:system|assistant|instructions?)>"
    ), _LINE_ONLY, in_code=False),
    InjectionPattern(FORGED, '"type" "tool_calls" "function_call"', regex(
        r"\"type\"\s{0,3}:\s{0,3}\"tool_(?:use|result)\"|\"(?:tool_calls|function_call)\"\s{0,3}:\s{0,3}[\[{]"
    ), in_code=False),
    InjectionPattern(OVERRULES, "忽略 无视 忘记 忘掉 忘却 抛弃 理会 不要 不用 别管 不再 停止 不必", regex(
        rf"(?:忽略|无视|忘记|忘掉|忘却|抛弃|理会|不要理会|不用理会|不要管|不用管|别管|(?:不要|不用|不必|停止"
        rf"|不)再?(?:遵守|遵循))掉?\s?(?:(?:{_PRIOR_ZH}\s?){{1,8}}{_ORDERS_ZH}|系统提示)"
        r"|(?:忽略|无视|忘记|忘掉)掉?(?:以上|之前|前面|上面|你(?:之前|此前|以前)?(?:知道|学到|被告知|收到))的?(?:一切"
        r"|所有|全部)"
    )),
    InjectionPattern(OVERRULES, "绕过 推翻 违反 违背 跳过 以上 上述 之前 前面 原有", regex(
        rf"(?:绕过|推翻|违反|违背|跳过)掉?{_PRIOR_ZH}{{0,6}}(?:你的|系统|安全|开发者|之前的?|以上的?){_PRIOR_ZH}{{0,4}}"
        r"(?:指令|指示|提示词|提示|安全规则|准则|限制)"
        rf"|(?:以上|上述|之前|前面|原有)的?(?:所有|全部|一切)?的?{_ORDERS_ZH}[^。\n]{{0,6}}(?:作废|无效|失效|取消)"
    )),
    InjectionPattern(ROLE, "你现在 从现在 扮演 充当 假装你 假设你 进入 开启 切换到 激活 不受", regex(
        r"你现在(?:是一|是个|是没|是管理|就是|扮演|不再|处于|进入)|从现在(?:开始|起)[,，]?\s?你(?:就)?(?:是一|是个|是没"
        r"|不再是|不再受|扮演)|(?:扮演|充当)(?:一?个|一名)?[^。\n]{0,6}(?:没有|不受|无)(?:任何)?(?:限制|约束|道德)"
        r"|假装你(?:是|没有|可以|不是)|假设你是一?个?(?:没有|不受)|(?:进入|开启|切换到|激活)(?:开发者|越狱|上帝|dan"
        r"|无限制)\s?模式|不受(?:任何)?(?:限制|约束|规则)[^。\n]{0,4}的(?:ai|助手|模型|人工智能|智能体)"
    )),
    InjectionPattern(SECRECY, "不要 别 无需 不必 切勿 禁止 不得 不准 不许 不能 瞒 背着 对用户 对使用者 对主人 对评审人", regex(
        rf"(?:不要|别|无需|不必|切勿|禁止|不得|不准|不许)(?:去|再)?(?:告诉|告知|通知|询问|提醒|征求){_PEOPLE_ZH}"
        r"(?=\s?(?:\Z|\n|[,，.。!！;；)\"”]|这|此|本次|你|任何|关于|直接|就直接|的?(?:意见|同意)|有关))"
        rf"|(?:不要|别|切勿|禁止|不得|不准|不能)让{_PEOPLE_ZH}(?:知道|察觉|发现|看到|看出)"
        r"|(?:瞒着|背着|瞒过)(?:用户|使用者|主人|评审人|评审|审查者|所有人|大家)|对(?:用户|使用者|主人|评审人)(?:保密"
        r"|隐瞒)"
    )),
    InjectionPattern(LEAKS, "输出 泄露 显示 打印 告诉我 复述 重复 公开 展示 发送 写出 透露 说出 发给我 把你 将你 你的系统"
          " 你的初始", regex(
        rf"(?:输出|泄露|显示|打印|告诉我|复述|重复|公开|展示|发送|写出|透露|说出"
        rf"|发给我)[^。,，\n]{{0,6}}你[^。,，\n]{{0,8}}{_HIDDEN_ZH}|(?:把"
        rf"|将)你[^。,，\n]{{0,8}}{_HIDDEN_ZH}[^。\n]{{0,10}}(?:输出|泄露|显示|打印|告诉|复述|重复|公开|展示|发|写|透露"
        rf"|说)"
        r"|你的(?:系统提示词?|系统指令|初始指令)是什么"
    )),
    InjectionPattern(LEAKS, "泄露 复述 透露 输出 逐字", regex(
        r"(?:逐字)?(?:输出|泄露|复述|透露|重复)(?:出)?(?:全部|完整|所有|隐藏)?的?(?:系统提示词|系统指令"
        r"|初始指令)(?:的(?:原文|全文|内容))?(?=\s*(?:\Z|[\n。!,]))"
    ), regex(r"(?:^|[\s。!,:请并])(?:完整|逐字)?地?\Z")),
    InjectionPattern(RUNS, "执行 运行 不要询问 无需询问 不必询问 不要确认 无需确认 回答 回复 继续 做任何事 解码 解密", regex(
        rf"(?:执行|运行)[^\n]{{0,100}}?{_DANGER}|(?:执行|运行){_THIS_ZH}的?(?:命令|脚本|代码|指令"
        rf"|程序)[^。\n]{{0,30}}(?:不要|不用|无需|不必|别)再?"
        r"(?:询问|告知|告诉|确认|解释|征求|经过|问)"
        rf"|(?:不要|无需|不必)(?:询问|确认)[^。\n]{{0,10}}(?:直接|立即|马上)(?:执行|运行){_THIS_ZH}"
        r"|(?:回答|回复|继续|做任何事)(?:用户|问题)?之?前[,，]?\s?你?(?:必须|务必|请|一定要)?(?:先|首先)?(?:执行|运行)"
        r"|(?:解码|解密)[^。\n]{0,30}(?:并|然后|再|,|后)(?:直接)?(?:执行|运行|照做|遵照)"
    )),
    InjectionPattern(SENDS, "把 将 发送 上传 转发 提交 泄露", regex(
        rf"(?:把|将)[^。\n]{{0,30}}?{_SECRETS_ZH}[^。\n]{{0,30}}?(?:发送|转发|上传|提交|泄露|发|传|post)\s?{_AWAY_ZH}"
        rf"|(?:发送|上传|转发|提交|泄露)[^。\n]{{0,20}}?{_SECRETS_ZH}[^。\n]{{0,12}}?{_AWAY_ZH}"
    )),
    InjectionPattern(ADDRESSES, "给 致 告 各位 所有 全体 如果你是 阅读 读到 处理 看到 读取", regex(
        rf"[给致告](?:所有|各位|全体|阅读[^。\n]{{0,4}}的)?\s?{_BOT_ZH}们?\s?的?(?:指令|指示|命令|提示|话)?\s?:|(?:各位"
        rf"|所有|全体)\s?{_BOT_ZH}们?\s?请注意|如果你是(?:一个|一名|个)?\s?{_BOT_ZH}"
        r"|(?:阅读|读到|处理|看到|读取)[本此这该][份段条篇]?(?:文档|文件|文本|内容|记录|话)[^。\n]{0,4}的\s?"
        rf"{_BOT_ZH}"
    ), needs=("ai", "agent", "人工智能", "模型", "智能体", "助手")),
    InjectionPattern(COMMANDS, "你的 你必须 你只能 你应当 你要 你需要 最高 更高 只听从 只服从 只执行 优先于 凌驾于 高于 用户"
          " 管理员 开发者 主人 所有者", regex(
        r"你的(?:新|真正的?|唯一的?)(?:任务|指令|目标|身份|角色|使命)(?:是|为|:)|你(?:必须|只能|应当|要|需要)(?:无条件"
        r"|绝对)?地?(?:服从|听从|遵从)|[最更]高优先级的?指令|只(?:听从|服从|执行)我的(?:指令|命令)|(?:优先|凌驾"
        r"|高)于(?:任何|所有|你的|一切)?(?:系统提示|系统指令|其他指令|之前的指令)|(?:用户|管理员|开发者|主人"
        r"|所有者)(?:已经?|早已)(?:同意|授权|批准|允许)了?(?:你|所有(?:操作|命令|请求)|全部(?:操作|命令)|一切)"
    ), needs=("你的", "服从", "听从", "遵从", "优先", "凌驾", "高于", "只执行", "同意", "授权", "批准", "允许")),
    InjectionPattern(COMMANDS, "新的指令 新指令 新的系统指令 新系统指令 真正的指令 更新的指令 隐藏指令", regex(
        r"(?:新的?|真正的|更新的|隐藏)(?:系统)?指令\s?:"
    ), regex(r"(?:^|[\s。!:>*#-])\Z")),
)  # fmt: skip


def _index_by_head(orders: tuple[InjectionPattern, ...]) -> Mapping[str, tuple[InjectionPattern, ...]]:
    """Return the orders by their heads; a head with which another one begins stands for both."""
    found: dict[str, tuple[InjectionPattern, ...]] = {}
    rows = [(head, order) for order in orders for head in order.heads.split()]
    for head, order in sorted(rows, key=lambda row: len(row[0])):
        shortest = next((head[:end] for end in range(1, len(head)) if head[:end] in found), head)
        found[shortest] = (*found.get(shortest, ()), order)
    return found


def _index_by_word(orders: tuple[InjectionPattern, ...]) -> Mapping[str, tuple[InjectionPattern, ...]]:
    found: dict[str, tuple[InjectionPattern, ...]] = {}
    for order in orders:
        for word in order.heads.split():
            found[word] = (*found.get(word, ()), order)
    return found


WORDS = _index_by_word(_ENGLISH)
"""First word → the orders that begin with it."""
SIGNS = _index_by_head(_SIGNS)
"""Beginning → the orders that begin so, where nothing tells words apart."""
SIGN = regex("|".join(map(re.escape, SIGNS)))
WORD = regex("[a-z]+")
ORDERS = (*_ENGLISH, *_SIGNS)
"""A new way of giving orders is a row in one of the two."""

AGENT = regex(
    rf"(?<![a-z]){_BOT}{_E}[^\n]{{0,100}}?(?<![a-z])(?:must|should|shall|please|always|never|do not|don['’]?t|ignore"
    rf"|run|execute|delete|accept|approve|merge|send|skip|say|add|you){_E}|{_BOT_ZH}[^\n]{{0,60}}?(?:必须|请|务必|应当"
    rf"|不要|运行|执行|删除|批准|通过|忽略|读到|你)|{_DANGER}"
    r"|(?<![a-z])(?:approve|merge|accept|trust) (?:this|any|all|every) (?:pr|pull request|merge request|change|commit"
    r"|patch|author)|(?:批准|通过|合并)(?:本|此|这个?|该|所有)(?:pr|合并请求|提交|改动)"
)
"""In what a page does not show this is enough: an agent is named and told something."""
