"""Patterns of texts that give orders to an agent, in English and Chinese.

Each pattern is for text in NFKC and lower case and begins with one of a few head words, so that it is only tried there.
Ordinary documentation on users, prompts and commands is no order; if a sentence can be both, the pattern requires the
imperative, or words that no documentation has.
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
    heads: str  # The words, or Chinese characters, with which it begins
    pattern: re.Pattern[str]  # The pattern, from its head on
    before: re.Pattern[str] | None = None  # Must match the text right before it; None: anything
    in_code: bool = True  # False: in code it is only an example
    # One of these is in each such order; (): not stated. Where heads are common words ("user", 用户), this is
    # looked for first: it takes less time than to compile the pattern.
    needs: tuple[str, ...] = ()


PROBLEMS = {
    "overrules": msg("tells the reader to ignore earlier instructions"),
    "role": msg("assigns the reader another role"),
    "secrecy": msg("tells the reader to hide something from people"),
    "leaks": msg("asks the reader to reveal confidential information"),
    "forged": msg("passes for a turn or a tool call of a conversation"),
    "runs": msg("tells the reader to run a command"),
    "sends": msg("tells the reader to send secrets elsewhere"),
    "addresses": msg("addresses the agent reading it"),
    "commands": msg("claims to override other instructions"),
}
OVERRULES = PROBLEMS["overrules"]

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
# Text before a pattern that is an order only then: "please reveal …", not "tools that reveal …".
_BEFORE = {
    "imperative": _IMPERATIVE,
    "acting": _ACTING,
    "sentence": regex(r"(?:(?:^|\n)\W*|[.!:]\s{0,4})(?:the )?\Z"),
    "line": regex(r"(?:^|\n)\W{0,4}\Z"),
    "line_only": regex(r"(?:^|\n)[\s>*-]{0,8}\Z"),
    "please_zh": regex(r"(?:^|[\s。!,:请并])(?:完整|逐字)?地?\Z"),
    "start_zh": regex(r"(?:^|[\s。!:>*#-])\Z"),
}

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


def _parse_table(table: str) -> tuple[InjectionPattern, ...]:
    """Return the rows of *table*: "- problem behind what outside code: heads", below it the pattern, line by line."""
    found = []
    for row in table.split("\n- ")[1:]:
        lines = row.rstrip("\n").split("\n")
        pattern = "".join(line[4:] for line in lines if line.startswith("    "))
        needs = [part for line in lines if line.startswith("  needs ") for part in line[8:].split("|")]
        titles = [line.strip() for line in lines if not line.startswith(("    ", "  needs "))]
        title, _, heads = " ".join(titles).partition(": ")
        problem, *where = title.split()
        before = _BEFORE[where[1]] if "behind" in where else None
        in_code = "outside" not in where
        found.append(InjectionPattern(PROBLEMS[problem], heads, regex(pattern), before, in_code, tuple(needs)))
    return tuple(found)


# In a row: the problem, what must precede the pattern, whether code is no order, and the heads; then what the
# text needs to hold, its parts between bars; then the pattern.
_ENGLISH = _parse_table(rf"""
- overrules: ignore disregard forget override overrule bypass neglect disable
    (?!disable)[a-z]{{1,20}}{_}(?!of{_}){_ALL}(?:{_PRIOR}{_}(?:(?:and|or){_})?){{1,3}}(?:[a-z]{{1,20}}{_})?{_TOLD}{_E}
    |(?:ignore|disregard|forget){_}{_ALL}{_PRIOR}{_}(?:{_PRIOR}{_})?(?:rules?|constraints?|restrictions|context
    |messages?|commands?|text|conversation|polic(?:y|ies)){_E}|(?:override|bypass
    |disable){_}(?:all{_})?(?:of{_})?your{_}(?:[a-z]{{1,20}}{_}){{0,2}}(?:rules?|constraints?|restrictions?|filters?
    |programming|training|polic(?:y|ies)|safety){_E}|(?:ignore|disregard|forget){_}(?:(?:all|any|every|of|your|my|the
    |these|those){_}){{0,3}}(?:[a-z]{{1,20}}{_})?(?:instructions|directives|guidelines){_}(?:above|before|so far|given
    |you(?: were| have|['’]ve| had| got| received))|(?:ignore|disregard|forget){_}(?:(?:all|of){_}){{0,2}}(?:all
    |your){_}(?:instructions|directives|guidelines|prompts|training){_E}|(?:ignore|disregard|forget){_}(?:everything
    |all|anything|what(?:ever)?){_}(?:(?:that|which|is|was|stands){_}){{0,2}}(?:above|before this|prior|previous
    |preceding|you (?:were|have been|are|had been) (?:told|taught|given|instructed)|you (?:know|knew|learned))
- overrules behind imperative: ignore disregard forget override overrule bypass neglect disable
    (?:ignore|disregard|forget|override){_}(?:(?:all|any){_})?(?:instructions|(?:your|the){_}programming|(?:(?:your
    |the){_})?{_SAFETY}{_}{_LIMITS}){_E}|forget everything(?=\s?[,.!;:\n]|\Z)|(?:bypass|disable){_}(?:(?:all|any|of
    |your|the){_}){{0,3}}(?:safety|ethical|moderation){_}{_LIMITS}{_E}
- overrules: do don dont never stop cease quit
  needs follow|obey|adher
    (?:do not|don['’]?t|never|stop|cease|quit){_}(?:follow(?:ing)?|obey(?:ing)?|adher(?:e|ing) to){_}(?:the|your|any
    |all){_}(?:{_PRIOR}{_}){{0,2}}{_TOLD}
- overrules: instructions prompt prompts directives
    [a-z]{{1,20}}{_}(?:(?:above|before this|you were given){_})?(?:is|are|were|have been){_}(?:(?:now|all
    |hereby){_})?(?:void|null and|revoked|cancel[a-z]{{0,5}}|a test){_E}|[a-z]{{1,20}}{_}above{_}(?:are
    |is){_}(?:obsolete|outdated|fake|superseded)
- role: you from
  needs you are|you're|you’re|from now on
    you(?: are|['’]re) now{_}(?:(?:an?|the|my|our) (?:[\w-]{{1,30}} ){{0,4}}{_PERSONA}{_E}
    |in (?:[\w-]{{1,30}} ){{0,3}}mode{_E}|(?:no longer|dan|unrestricted|uncensored|jailbroken|root|acting as|called
    |named|free (?:from|of|to)){_E})|you(?: are|['’]re) no longer{_}(?:an? (?:[\w-]{{1,30}} ){{0,3}}{_PERSONA}|bound
    |restricted|limited by|subject to|under|required to (?:follow|obey)|claude|chatgpt)|you(?: are|['’]re) (?:dan
    |an? (?:unrestricted|unfiltered|uncensored|jailbroken)){_E}|from now on{_}you(?:(?: are|['’]re| will (?:be|act
    |behave|obey)| act| behave| must obey| shall obey){_}(?:an?|as|in|no longer|my|dan|free|the|only|every|all){_E}
    | have no (?:[a-z]{{1,20}} ){{0,2}}{_LIMITS})
- role: pretend act behave respond answer reply speak roleplay role do enter activate enable switch
    pretend(?: that)? you(?: are|['’]re| have| were)|pretend to be (?:an? |the |my )?(?:[\w-]{{1,30}} ){{0,3}}{_PERSONA}
    {_E}|(?:act|behave|respond|answer|role-?play) as (?:if|though) you(?: are|['’]re| were| had| have)
    |(?:act|behave|respond|role-?play) as (?:an? |my |the )?(?:unrestricted|unfiltered|uncensored|jailbroken|evil
    |malicious|dan|root){_E}|do anything now{_E}|(?:enter|activate|enable|switch (?:in)?to) (?:god|dan|jailbreak
    |unrestricted|developer) mode(?= and| now|[.!,:\n]|\Z)|(?:answer|respond|reply|act
    |speak) without (?:any )?(?:restrictions?|filters?|limits?|limitations|censorship){_E}
- secrecy: do don dont never must mustn
  needs tell|inform|notify|alert|warn|ask|consult|bother|involve|mention|reveal|disclose|show|report|explain
    (?:do not|don['’]?t|never|must not|mustn['’]?t){_}(?:even{_})?{_TELL}{_}(?:the |your |any )?{_PEOPLE}(?=\W*(?:\Z|\n
    |[.!;:,。)\"”'*]|about (?:this|these|it|that|any|what|the (?:change|edit|commit|key|command))|what you|that you
    |of (?:this|any)|anything|and |or ))|(?:do not|don['’]?t|never){_}(?:mention|reveal|disclose|show|report
    |explain){_}(?:this|these|it|any of this|that|anything)\b[^.\n]{{0,30}}?(?:to
    |with){_}(?:the |your |any )?{_PEOPLE}{_E}
- secrecy behind acting: without
  needs asking|telling|informing|notifying|alerting|consulting|involving
    without (?:ever )?(?:asking|telling|informing|notifying|alerting|consulting|involving)(?: the| your
    | any)? ?(?:{_PEOPLE}|permission|for (?:permission|confirmation|approval)|first|again){_E}
- secrecy: hide conceal keep
  needs user|human|operator|owner|developer|reviewer|maintainer|person|anyone|anybody|people
    (?:hide|conceal){_}(?:this|these|it|that|the (?:change|edit|commit|command)s?)\b[^.\n]{{0,20}}? from (?:the |your |a
    ny )?{_PEOPLE}{_E}|keep{_}(?:this|these|it|that|quiet)\b[^.\n]{{0,30}}?(?:from|about)[^.\n]{{0,12}}?{_PEOPLE}{_E}
- leaks: reveal print show repeat output leak dump display disclose send share tell give expose write paste summarise
  summarize translate recite copy return read what
  needs your
    [a-z]{{1,20}}{_}(?:(?:me|us|out|down|back|here|all|of){_}){{0,3}}your{_}(?:(?:full|entire|complete|whole|original
    |own|exact|verbatim|current|hidden|initial|secret|internal|system|developer|first|previous){_}){{1,3}}(?:prompts?
    |instructions?|messages?|guidelines|directives?|rules)|(?:show|tell|give|read|send) me your (?:instructions|prompt
    |guidelines|rules|programming){_E}|what (?:is|are|was|were) your (?:(?:system|initial|original|hidden|secret|exact
    |full|first){_}){{1,3}}(?:prompts?|instructions?)
- leaks behind imperative: reveal leak disclose exfiltrate dump repeat recite print output copy echo
  needs prompt|instruction|message|guideline|programming|above|before this
    (?:reveal|leak|disclose|exfiltrate|dump|repeat|recite){_}(?:the|all){_}(?:(?:full|entire|complete|hidden|initial
    |secret|internal|system|developer){_}){{1,2}}(?:prompts?|instructions?|messages?)|(?:reveal|leak|disclose
    |exfiltrate|dump){_}(?:system|your|hidden|initial) (?:prompts?|instructions|guidelines|programming){_E}|(?:repeat
    |print|output|copy|recite|echo){_}(?:everything|(?:all(?: of)? )?the (?:text|words|contents?))(?: that (?:is|stands
    |was))? (?:above|before this)
- forged behind line outside code: human user
    (?:human|user)\W{{0,3}}:[^\n]{{1,400}}\n\s{{0,4}}\W{{0,4}}(?:assistant|ai|agent)\W{{0,3}}:
- forged behind line outside code: system developer admin administrator root assistant ai
    [a-z]{{1,20}}[ _-](?:override|notice|alert|command|update)\W{{0,3}}[:!]
    |[a-z]{{1,20}}(?:[ _-](?:message|prompt|note|instructions?))?\W{{0,3}}:\s{{0,3}}(?:you (?:are|must|will|shall|should
    |have)|ignore|disregard|override|forget|execute|new |sure|understood|ok[,.]|okay|i will|i'll|delete|approve|reveal
    |the user)
- runs: run execute paste invoke launch before after
    (?:run|execute|paste|invoke|launch)\b[^\n]{{0,200}}?{_DANGER}|(?:run|execute|paste|invoke
    |launch) (?:the |this |these |that |all )(?:following |below )?(?:commands?|scripts?|code|shell|programs?|snippets?
    |tool calls?)\b[^.\n]{{0,100}}?(?:immediately|right now|at once|silently|secretly|quietly
    |without (?:asking|confirm|hesitat|showing|review|question|permission|telling)|do not ask|don['’]?t ask
    |before (?:you )?(?:answer|respond|reply|do anything|read))|(?:before|after) (?:you )?(?:answer(?:ing)?
    |respond(?:ing)?|reply(?:ing)?|continu(?:e|ing)|do(?:ing)? anything|read(?:ing)? (?:on
    |further))\b[^.\n]{{0,30}}?[, ](?:you (?:must|should|need to|have to) )?(?:run|execute|invoke|launch|call){_}
    |(?:run|execute|invoke|launch)\b[^.\n]{{0,60}}?before (?:you )?(?:answer|respond|reply)(?:ing)?{_E}
- runs: decode decrypt deobfuscate unscramble base
    (?:base64[ -])?(?:decode|decrypt|deobfuscate|unscramble)\b[^\n]{{0,80}}?(?:and|then|,){_}(?:then{_})?(?:follow
    |execute|run|obey|do (?:what|as)|carry out|comply|act on)
- sends behind imperative: send post upload email e mail forward exfiltrate transmit leak copy submit append put
  write paste print
  needs secret|credential|password|api|token|key|id_rsa|environment|env var
  needs cookie|chat|conversation|source code|customer data|.env|~/.
    (?:send|post|upload|e-?mail|mail|forward|exfiltrate|transmit|leak|copy|submit
    |append)\b[^\n]{{0,60}}?{_SECRETS}[^\n]{{0,60}}?\s{_AWAY}|exfiltrate\b[^\n]{{0,40}}?{_SECRETS}|(?:copy|put|write
    |paste|append|print)\b[^\n]{{0,20}}?(?:the |all |your )(?:environment variables?|credentials|secrets|api keys?
    |private keys?)[^\n]{{0,20}}? (?:in(?:to)?|to) (?:the )?(?:readme|commit message|pull request|issue|comment
    |pr description|public)
- addresses: if note message attention notice warning important reminder instructions dear
  needs  ai|llm|language model|agent|assistant|chatbot|chatgpt|claude|copilot|codex|gemini
    if you(?: are|['’]re) (?:an? )?{_BOT}{_E}[^.\n]{{0,40}}?(?:reading|processing|summari[sz]ing|reviewing|parsing
    |analy[sz]ing|,|:|then|you|must|please)|(?:note|message|attention|notice|warning|important|reminder
    |instructions?)[:,!]? (?:(?:to|for) )?(?:all |any |the |every ){{0,2}}{_BOT}{_E}(?: (?:reading
    |processing)[^.\n]{{0,20}})?\s?[:!]|(?:dear|attention)[,:]? (?:all |any ){{0,2}}{_BOT}{_E}\s?[:,!]
- addresses: ai llm llms large language coding autonomous automated agent agents assistant assistants chatbot
  chatbots chatgpt claude copilot codex gemini
    {_BOT},? (?:(?:that|who|which|when) )?(?:(?:are|is) )?(?:reads?|reading|process(?:es|ing)?|summari[sz](?:es|ing)
    |review(?:s|ing)|pars(?:es?|ing)|index(?:es|ing)) (?:this|the following)\b[^.\n]{{0,40}}?(?:must|should|shall|will
    |are to|please|:)
- commands: new updated revised real true actual hidden secret your obey follow execute accept must shall will always
  take takes override overrides supersede supersedes outranks replace replaces all
  needs instruction|order|directive|prompt|task|objective|mission|goal|role|purpose|job
  needs command|obey|comply|guideline|system message|tool calls|actions
    (?:new|updated|revised|real|true|actual|hidden|secret)(?: system)? (?:instructions?|orders|directives?
    |system prompt)\s{{0,2}}:|your (?:(?:new|real|true|actual|only|sole) ){{1,2}}(?:instructions?|orders?|directives?
    |task|objective|mission|goal|role|purpose|job)\s?(?:is|are|now|:)|(?:obey|follow|execute|accept)(?: only)? (?:my
    |these) (?:instructions|orders|commands)(?: only)?{_E}(?=\W*(?:\Z|\n|[.!]| from| without| above))|(?:must|shall
    |will|always) (?:always |only )?(?:obey|comply with){_}(?:me|my|all|every|the|these|this|only|any){_E}
    |(?:takes? (?:precedence|priority) over|overrides?|supersedes?|outranks|replaces?) (?:(?:all|any|your
    |every)(?: of your| of the)? (?:[a-z]{{1,20}} ){{0,2}}|the (?:previous|prior|system|earlier|developer) )(?:prompts?
    |instructions|guidelines|system message){_E}|all (?:tool calls|commands|actions) are (?:pre-?)?(?:approved
    |authori[sz]ed)
- commands behind sentence: user owner administrator admin developer human operator maintainer users owners admins
  always
  needs always | approved| authori| consented| agreed| granted| given| allowed
    [a-z]{{1,20}} (?:has|have) (?:already )?(?:approved|authori[sz]ed|consented to|agreed to|granted|given
    |allowed) (?:you\b|your\b|all (?:the )?(?:actions|commands|requests|tool|changes|operations)|every
    |this (?:action|command|request|operation))|always (?:approve|merge|accept|allow
    |trust) (?:(?:this|any|all|every|the|each) )?(?:pr|pull request|merge request|change|patch|commit|tool call
    |request)s?\b[^.\n]{{0,20}}?(?:from|by|of|in) this
""")

# Signs of a forged turn, and Chinese: no spaces separate its words.
_SIGNS = _parse_table(rf"""
- forged outside code: </ <system <invoke <antml <function <tool_ <user_query <| <start_of_turn <end_of_turn [inst]
  [/inst] <<
    </(?:system|assistant|system[_-]?(?:reminder|prompt|message|instructions?)|developer|instructions?|human
    |user(?:_query|_input|_message)?|(?:antml:)?(?:function_calls|function_results|invoke|parameter)
    |tool_(?:use|calls?|results?|response|output)|untrusted[\w-]{{0,20}}|document|context)\s{{0,3}}>
    |<(?:system[_-](?:reminder|prompt|message|instructions?)|(?:antml:)?function_(?:calls|results)
    |(?:antml:)?invoke(?: name)|tool_(?:use|calls?|results?|response)|user_query)(?:[\s>=/]|\Z)|<\|(?:im_start|im_end
    |system|user|assistant|endoftext|endofprompt|eot_id|start_header_id|end_header_id|begin_of_text|end_of_turn|end)\|>
    |<(?:start|end)_of_turn>|\[/?inst\]|<</?sys>>
- forged behind line_only outside code: <system <assistant> <instructions> <instruction>
    <(?:system|assistant|instructions?)>
- forged outside code: "type" "tool_calls" "function_call"
    \"type\"\s{{0,3}}:\s{{0,3}}\"tool_(?:use|result)\"|\"(?:tool_calls|function_call)\"\s{{0,3}}:\s{{0,3}}[\[{{]
- overrules: 忽略 无视 忘记 忘掉 忘却 抛弃 理会 不要 不用 别管 不再 停止 不必
    (?:忽略|无视|忘记|忘掉|忘却|抛弃|理会|不要理会|不用理会|不要管|不用管|别管|(?:不要|不用|不必|停止|不)再?(?:遵守
    |遵循))掉?\s?(?:(?:{_PRIOR_ZH}\s?){{1,8}}{_ORDERS_ZH}|系统提示)|(?:忽略|无视|忘记|忘掉)掉?(?:以上|之前|前面|上面
    |你(?:之前|此前|以前)?(?:知道|学到|被告知|收到))的?(?:一切|所有|全部)
- overrules: 绕过 推翻 违反 违背 跳过 以上 上述 之前 前面 原有
    (?:绕过|推翻|违反|违背|跳过)掉?{_PRIOR_ZH}{{0,6}}(?:你的|系统|安全|开发者|之前的?|以上的?){_PRIOR_ZH}{{0,4}}(?:指令
    |指示|提示词|提示|安全规则|准则|限制)|(?:以上|上述|之前|前面|原有)的?(?:所有|全部
    |一切)?的?{_ORDERS_ZH}[^。\n]{{0,6}}(?:作废|无效|失效|取消)
- role: 你现在 从现在 扮演 充当 假装你 假设你 进入 开启 切换到 激活 不受
    你现在(?:是一|是个|是没|是管理|就是|扮演|不再|处于|进入)|从现在(?:开始|起)[,，]?\s?你(?:就)?(?:是一|是个|是没|不再是
    |不再受|扮演)|(?:扮演|充当)(?:一?个|一名)?[^。\n]{{0,6}}(?:没有|不受|无)(?:任何)?(?:限制|约束|道德)|假装你(?:是
    |没有|可以|不是)|假设你是一?个?(?:没有|不受)|(?:进入|开启|切换到|激活)(?:开发者|越狱|上帝|dan|无限制)\s?模式
    |不受(?:任何)?(?:限制|约束|规则)[^。\n]{{0,4}}的(?:ai|助手|模型|人工智能|智能体)
- secrecy: 不要 别 无需 不必 切勿 禁止 不得 不准 不许 不能 瞒 背着 对用户 对使用者 对主人 对评审人
    (?:不要|别|无需|不必|切勿|禁止|不得|不准|不许)(?:去|再)?(?:告诉|告知|通知|询问|提醒|征求){_PEOPLE_ZH}(?=\s?(?:\Z|\n
    |[,，.。!！;；)\"”]|这|此|本次|你|任何|关于|直接|就直接|的?(?:意见|同意)|有关))|(?:不要|别|切勿|禁止|不得|不准
    |不能)让{_PEOPLE_ZH}(?:知道|察觉|发现|看到|看出)|(?:瞒着|背着|瞒过)(?:用户|使用者|主人|评审人|评审|审查者|所有人
    |大家)|对(?:用户|使用者|主人|评审人)(?:保密|隐瞒)
- leaks: 输出 泄露 显示 打印 告诉我 复述 重复 公开 展示 发送 写出 透露 说出 发给我 把你 将你 你的系统 你的初始
    (?:输出|泄露|显示|打印|告诉我|复述|重复|公开|展示|发送|写出|透露|说出|发给我)[^。,，\n]{{0,6}}你[^。,，\n]{{0,8}}
    {_HIDDEN_ZH}|(?:把|将)你[^。,，\n]{{0,8}}{_HIDDEN_ZH}[^。\n]{{0,10}}(?:输出|泄露|显示|打印|告诉|复述|重复|公开|展示
    |发|写|透露|说)|你的(?:系统提示词?|系统指令|初始指令)是什么
- leaks behind please_zh: 泄露 复述 透露 输出 逐字
    (?:逐字)?(?:输出|泄露|复述|透露|重复)(?:出)?(?:全部|完整|所有|隐藏)?的?(?:系统提示词|系统指令|初始指令)(?:的(?:原文
    |全文|内容))?(?=\s*(?:\Z|[\n。!,]))
- runs: 执行 运行 不要询问 无需询问 不必询问 不要确认 无需确认 回答 回复 继续 做任何事 解码 解密
    (?:执行|运行)[^\n]{{0,100}}?{_DANGER}|(?:执行|运行){_THIS_ZH}的?(?:命令|脚本|代码|指令|程序)[^。\n]{{0,30}}(?:不要
    |不用|无需|不必|别)再?(?:询问|告知|告诉|确认|解释|征求|经过|问)|(?:不要|无需|不必)(?:询问
    |确认)[^。\n]{{0,10}}(?:直接|立即|马上)(?:执行|运行){_THIS_ZH}|(?:回答|回复|继续|做任何事)(?:用户
    |问题)?之?前[,，]?\s?你?(?:必须|务必|请|一定要)?(?:先|首先)?(?:执行|运行)|(?:解码|解密)[^。\n]{{0,30}}(?:并|然后|再
    |,|后)(?:直接)?(?:执行|运行|照做|遵照)
- sends: 把 将 发送 上传 转发 提交 泄露
    (?:把|将)[^。\n]{{0,30}}?{_SECRETS_ZH}[^。\n]{{0,30}}?(?:发送|转发|上传|提交|泄露|发|传|post)\s?{_AWAY_ZH}
    |(?:发送|上传|转发|提交|泄露)[^。\n]{{0,20}}?{_SECRETS_ZH}[^。\n]{{0,12}}?{_AWAY_ZH}
- addresses: 给 致 告 各位 所有 全体 如果你是 阅读 读到 处理 看到 读取
  needs ai|agent|人工智能|模型|智能体|助手
    [给致告](?:所有|各位|全体|阅读[^。\n]{{0,4}}的)?\s?{_BOT_ZH}们?\s?的?(?:指令|指示|命令|提示|话)?\s?:
    |(?:各位|所有|全体)\s?{_BOT_ZH}们?\s?请注意|如果你是(?:一个|一名|个)?\s?{_BOT_ZH}
    |(?:阅读|读到|处理|看到|读取)[本此这该][份段条篇]?(?:文档|文件|文本|内容|记录|话)[^。\n]{{0,4}}的\s?{_BOT_ZH}
- commands: 你的 你必须 你只能 你应当 你要 你需要 最高 更高 只听从 只服从 只执行 优先于 凌驾于 高于 用户 管理员
  开发者 主人 所有者
  needs 你的|服从|听从|遵从|优先|凌驾|高于|只执行|同意|授权|批准|允许
    你的(?:新|真正的?|唯一的?)(?:任务|指令|目标|身份|角色|使命)(?:是|为|:)
    |你(?:必须|只能|应当|要|需要)(?:无条件|绝对)?地?(?:服从|听从|遵从)|[最更]高优先级的?指令
    |只(?:听从|服从|执行)我的(?:指令|命令)|(?:优先|凌驾|高)于(?:任何|所有|你的|一切)?(?:系统提示|系统指令|其他指令
    |之前的指令)|(?:用户|管理员|开发者|主人|所有者)(?:已经?|早已)(?:同意|授权|批准|允许)了?(?:你|所有(?:操作|命令|请求)
    |全部(?:操作|命令)|一切)
- commands behind start_zh: 新的指令 新指令 新的系统指令 新系统指令 真正的指令 更新的指令 隐藏指令
    (?:新的?|真正的|更新的|隐藏)(?:系统)?指令\s?:
""")


_Orders = tuple[InjectionPattern, ...]


def _index_by_head(orders: _Orders, *, are_words: bool) -> Mapping[str, _Orders]:
    """Return head → orders; without word boundaries, a head that is a prefix of another stands for both."""
    found: dict[str, _Orders] = {}
    rows = [(head, order) for order in orders for head in order.heads.split()]
    for head, order in rows if are_words else sorted(rows, key=lambda row: len(row[0])):
        prefixes = () if are_words else (head[:end] for end in range(1, len(head)))
        key = next((prefix for prefix in prefixes if prefix in found), head)
        found[key] = (*found.get(key, ()), order)
    return found


WORDS = _index_by_head(_ENGLISH, are_words=True)  # First word → the orders that begin with it
SIGNS = _index_by_head(_SIGNS, are_words=False)  # Beginning → the orders that begin so
SIGN = regex("|".join(map(re.escape, SIGNS)))
WORD = regex("[a-z]+")
ORDERS = (*_ENGLISH, *_SIGNS)  # A new way of giving orders is a row in one of the two

# In text that a page does not show, this is enough: an agent is addressed.
AGENT = regex(
    rf"(?<![a-z]){_BOT}{_E}[^\n]{{0,100}}?(?<![a-z])(?:must|should|shall|please|always|never|do not|don['’]?t|ignore"
    rf"|run|execute|delete|accept|approve|merge|send|skip|say|add|you){_E}|{_BOT_ZH}[^\n]{{0,60}}?(?:必须|请|务必|应当"
    rf"|不要|运行|执行|删除|批准|通过|忽略|读到|你)|{_DANGER}"
    r"|(?<![a-z])(?:approve|merge|accept|trust) (?:this|any|all|every) (?:pr|pull request|merge request|change|commit"
    r"|patch|author)|(?:批准|通过|合并)(?:本|此|这个?|该|所有)(?:pr|合并请求|提交|改动)"
)
