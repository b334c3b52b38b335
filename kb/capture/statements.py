"""Detect a person's sentences that may apply from now on: rules, choices, limits, warnings, facts.

Keyword heuristics: they point at what an agent is asked to word (`openings`); only a rule that binds in all cases
becomes a candidate by itself (`extract`).
"""

from __future__ import annotations

import re

from kb.capture.proposal_cues import CODE, QUOTED, fold_case

_NUMBER = r"(?:\d|one|two|three|four|five|six|ten|twelve|twenty|thirty|half|[一二两三四五六七八九十百千半])"
_PAST = (
    r"(?:(?:quite|really|actually|even|ever) )?"
    r"(?:seen|made|had|knew|came|went|thought|felt|found|ran|heard|been|\w+ed)\b"
)
_BINDS = re.compile(
    r"\bmust(?:n't)?\b(?! (?:be because|have been))|\bnever\b(?! (?:mind|did|got|was|worked|happens|going)\b)"
    rf"(?! {_PAST})"
    r"|\b(?:shall|may) (?:not|only|never)\b|(?<!\bi )(?<!\bwe )(?<!\byou )\b(?:has|have|needs?) to\b"
    r"|\bnot to (?:use|send|store|log|share|touch|call)\b"
    r"|\b(?:is|are) (?:not |only )?(?:allowed|permitted|forbidden|prohibited|banned|mandatory|required)\b"
    r"|\b(?:nobody|no ?one)(?: else)? "
    r"(?!ha[sd]\b|will\b|would\b|was\b|did\b|knows?\b|ever\b|seems?\b|cares?\b|\w+ed\b)\w"
    r"|\bno (?:\w+ ){1,4}(?:without|before|unless|until)\b|\bonly (?:ever|in|for|from"
    r"|via|through)\b"
    r"|必须|务必|不得|禁止|严禁|不[准许](?!确)|不允许|不能(?!处理|运行|打开|用了|访问|编译|工作)|绝不|绝对不|一律"
    r"|一定(?:要|得|不|是)|只[能许准](?!看到|找到)|都(?:得|要|必须)|全(?:都|部)?(?:走|用|由|交给|经过)"
    r"|统一(?:用|使用|采用|放|走|由|按|存|成|为)",
    re.IGNORECASE,
)
"""“customer e-mails must not be logged”, “任何定时任务都得加锁”: an obligation, no matter whose."""
_HOLDS = re.compile(
    r"\bwe(?:'re| are) (?:(?:also|now|eventually|just) )*(?:(?:going to|gonna) (?:adopt|use|support|drop|deprecate"
    r"|remove"
    r"|replace|get rid of|archive|retire|sunset|move|migrate|switch|standardi[sz]e|keep|stay|stop)"
    r"|archiving|deprecating|retiring|sunsetting|dropping|adopting|phasing out|migrating|keeping|getting rid of)\b"
    r"|\bdeprecated\b(?! (?:warning|call|method|function|api))|\bno (?:\w+ ){1,3}any ?more\b|\b(?:no"
    r"|any) longer (?:need|use|support|have)\w*\b"
    r"|\bno need (?:for|to)\b|\b(?:don't|dont|do not) (?:need|want|allow|have access|support|just|ever|forget to)\b"
    r"|\bshould(?:n't| not)? (?:never|always|only|first|follow|align|match|be (?:handled|treated|kept|stored|named"
    r"|called|in|on|under|behind|done|deprecated|able to))\b|\bshould(?:n't| not) .{1,80}\b(?:ever|as|because|but)\b"
    r"|\b(?:is|it'?s|be|seems?) better (?:not )?to\b|\bso (?:that )?you(?:'d| would|'ll| will)? (?:know|keep"
    r"|remember)\b"
    r"|\b(?:never|not|n't) .{1,40}\bagain\b|\beach time\b|\bevery time\b|\bwhenever\b|\bas a rule\b|\bby (?:default"
    r"|design)\b"
    r"|\b(?:the|our) (?:(?:new|whole|main|usual|same) )?(?:pattern|rule|goal|convention|standard|default|policy"
    r"|strategy"
    r"|intent|contract|budget|limit|deadline|freeze) (?:is|was|here|should|stays|for)\b"
    r"|\b(?:we|they|it|you|customers?|users?|clients?|ops|qa) (?:\w+ )?(?:only|also|still|always|already) (?:allow"
    r"|support"
    r"|accept|use|build|ship|work|run|need|want|deploy|release|get|have|depend|rel|speak|send|read|write)\w*\b"
    r"|\b(?:won't|can't|cannot|can not|doesn't|does not|don't|will not|never) (?:work|run|build|compile|support"
    r"|handle|exist"
    r"|accept|allow|scale|survive|go|deploy|reach|see|talk) ?(?:to|with|on|for|in|without|behind|under|if|because"
    r"|from|inside"
    r"|outside|past|through|more|over)?\b"
    r"|\b(?:is|are|gets?) (?:\w+ly )?(?:handled|managed|generated|deployed|built|owned|stored|kept|maintained|mirrored"
    r"|synced|rotated|cached|served|billed|hosted|wiped|reset|reserved|pinned|frozen|locked|capped|limited"
    r"|rate[- ]limited"
    r"|shared|signed|encrypted|versioned|validated|checked|reviewed|released|shipped|run|archived) (?:by|in|on|from"
    r"|outside"
    r"|through|via|with|to|at|under|for|separately|automatically|only|until|every|after|before|once|twice|as)\b"
    r"|\b(?:depends?|rel(?:y|ies)) on\b|\b(?:requires?|expects?|supports?|tolerates?|guarantees?|assumes?"
    r"|promised?) (?!me\b|you\b)\w"
    r"|\b(?:we|you|they) (?:can'?t|cannot|can not|can only|may not|shouldn'?t) "
    r"(?!see\b|find\b|tell\b|get\b|reproduce\b|believe\b|figure\b|wait\b|remember\b|just\b|be\b|do\b|yet\b|have it\b)\w"
    r"|\b(?:half|most|many|some|none|the majority) (?:of )?(?:the |our )?\w+ (?:\w+ )?(?:are|is|still|use|have|run"
    r"|depend|rely)\b"
    r"|\A\W*all (?!good\b|done\b|set\b|green\b|right\b|(?:\w+ )?(?:tests?|checks?)\b).{3,60} (?:can|must|should"
    r"|goes?|has|have|live)\b"
    r"|\bshould be (?:followed|used|avoided|documented|possible)\b|\bi(?:'ll)? (?:allow|permit|trust) you\b"
    r"|\byou(?:'re| are) (?:allowed|free|welcome) to\b|\b(?:don't|dont|do not) think (?:we|it|you) (?:need|should"
    r"|want)\b"
    r"|\b\d+ ?[mk]?n? (?:rows|users|customers|requests|tenants|merchants|calls|connections)\b|\bper (?:second"
    r"|minute|hour|day|user|key|tenant)\b"
    r"|\b(?:to (?:be|stay|keep \w+) consistent|for consistency)\b|\bthe (?:only|one) (?:one|thing|way|place|person"
    r"|team)\b"
    r"|\b(?:on|every|each) (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b(?:nightly|weekly|monthly|quarterly)\b"
    r"|\bi (?:want|expect|'d like|would like) (?:all|every|one|each|a single|no|the same|any)\b"
    r"|\bmay (?:arrive|come|be) (?:twice|late|duplicated|delayed|out of order|empty|null|missing)\b"
    r"|[里中]不[打写放存留记带]|不(?:接受|收|碰|进)(?!了)|[改换升加删][了完].{0,12}(?:要|得)(?!吗)|每(?:周|天|月|日"
    r"|晚|季度|小时)[^，。]{0,6}"
    r"(?:清|重置|同步|备份|归档|轮换|重启|发版|跑一)|只有.{1,12}(?:能|可以|才|有权限)|还(?:在用|依赖|跑在|停在)"
    r"|可能会?(?:重复|乱序|丢失|为空|延迟|并发)|找.{1,8}(?:申请|审批|确认|开通)",
    re.IGNORECASE,
)
"""“we are going to adopt the other contract”, “half the customers are on the old login”: a lasting state."""
_VERBS = (
    r"(?:accept|allow|assume|belong|bill|block|break|cache|charge|choke|contain|cost|count|cover|default|depend"
    r"|drop|duplicate"
    r"|emit|end|exclude|expect|expire|fire|forbid|generate|go|handle|hang|hit|hold|ignore|include|inherit|keep|lag"
    r"|last|leak|limit"
    r"|live|lock|log|lose|map|match|mean|merge|need|overwrite|own|pin|poll|promise|pull|push|read|refuse|reject"
    r"|rely|render"
    r"|require|reset|retry|return|rotate|round|run|see|send|serve|share|ship|sign|sit|sort|speak|start|stay|stop"
    r"|store|strip|swallow"
    r"|sync|take|talk|throttle|throw|time out|treat|trigger|truncate|trust|use|validate|wake|want|wipe|work|wrap|write)"
)
_HABITS = re.compile(
    r"\A\W{0,9}(?:(?:also|and|but|btw|fyi|note|remember)[,:]? )*(?!(?:it|this|that|these|those|there|i|he|she|what|so"
    r"|my|not"
    r"|the current|explicit\w*|moving|skipping|which|who|how|yes|no"
    r"|ok|still|now|nothing|something|everything (?:works|runs)|let|looks|seems|sounds|thanks)\b)"
    rf"(?:(?:the|an?|our|their|every|each) )?(?:[\w'./-]+ ){{0,5}}?[\w'./-]+(?:(?<!s) (?:never |always |only "
    rf"|also )?{_VERBS}(?:e?s)\b"
    rf"|(?<=[a-rt-z]s) (?:never |always |only |also )?{_VERBS}\b)(?! (?:again|fine|now|\w+ing|with this|the same)\b"
    rf"| (?:as expected))"
    r"(?=.{4})|\b(?:is|are) (?:only|just) (?:reachable|available|visible|possible|supported|allowed|there|for|used"
    r"|meant|valid)\b"
    r"|\A\W{0,9}(?!(?:it|this|that|these|those|there|so|my|one|the current)\b)(?:[\w'./-]+ ){1,5}(?:is|are) (?:only )?"
    r"(?:(?:an?|the) (?!(?:\w+ )?(?:good|great|nice|valid|fair|solid|subtle|tricky|bit|lot|key|big|real|crucial"
    r"|issue|bug"
    r"|problem|mess|pain|shame)\b)|named|called|spelled|shared|append-only|read-only|immutable|volatile"
    r"|case[- ]\w+)\b.{3}"
    r"|\bwe (?:(?:already|once) )?(?:tried|gave up on|ditched|abandoned|stopped|killed|burned|got burned)\b"
    r"|\b(?:broke|bit|burned|cost|hurt) us\b"
    r"|\bplease (?:answer|reply|respond|explain)\b|\bgoes (?:behind|to|via|into|on)\b",
    re.IGNORECASE,
)
"""“The mobile app caches that for a day”, “Prices include VAT”: what things do as a rule, in the simple present."""
_MUSES = re.compile(
    r"\A\W*(?:(?:ah|oh|hm+|right|yeah|yep|yup|okay|ok|gotcha|got it|i see|interesting|makes sense|true"
    r"|fair(?: enough| point)?"
    r"|cool|nice|great|exactly|absolutely|definitely|sure|totally|agreed|indeed|well|actually|honestly|hey"
    r"|good (?:point|call)"
    r")\b[\s,.!;:—–-]*)+(?:\Z|(?:(?:and|but|so|though) )*(?:so\b|that(?:'s| is| was| makes| sounds|'d)|it(?:'s| is"
    r"| was)?\b|this\b|i\b"
    r"|we(?:'re| were| had)\b|there\b|if\b|dealing\b|having\b|thinking\b|speaking\b|looking\b))"
    r"|\A\W*(?:and )?(?:so|then)\b,? (?:it'?s|it is|it was|that'?s|if i|basically|essentially|effectively"
    r"|we're (?:relying|talking)"
    r"|you'?re (?:saying|relying)|in other words|the .{1,60} (?:is|was) (?:a|an|the|more|less|about))\b"
    r"|\b(?:i|we) (?:(?:do|vaguely|distinctly|also|still|just|only) )*(?:remember|recall|noticed|wonder(?:ed|ing)?"
    r"|guess|assumed?"
    r"|suspect|imagine|figured|bet|was wondering)\b"
    r"|\b(?:it|that|this) (?:(?:just|still|kind of|sort of|all|also) )*(?:feels?|felt|sounds?|looks?|seems?"
    r"|makes? (?:\w+ ){0,3}sense)\b"
    r"|\A\W*(?:(?:and|but|so|because|since|also)[, ]+)*(?:it\b(?! should\b| must\b)|that way\b|these\b|those\b)"
    r"|\A\W*(?:we|i)(?:'ll| will| should| could| can)? (?:(?:also|really|probably|just|still) )*(?:need (?:to|a"
    r"|an)\b|should|could)? ?"
    r"(?:(?:add|write|update|check|test|fix|make sure|look|extend|cover|document|refactor|run|spawn|create|start"
    r"|investigate)\b"
    r"|(?:a|an|some|more) (?:\w+ ){0,2}(?:tests?|plan|pr|look)\b)"
    r"|\bspeaking of\b|\bwhile we're (?:on|at)\b|\bwhen we (?:talked|spoke|discussed)\b|\bi'm (?:pretty |fairly "
    r"|quite |not )?(?:sure|curious)\b"
    r"|\bfelt (?:relevant|like|a bit)\b|\bjust (?:curious|clarifying|wondering)\b|\bgot it\W*\Z|\bfor instance\b"
    r"|\A\W*no changes to\b",
    re.IGNORECASE,
)
"""“Right, that's the tricky one”, “I remember that bug”: agreement that settles nothing."""
_GENERAL = re.compile(
    r"\b(?:all|every|any|each|always|never|nobody|no ?one|everyone|everything|everywhere|nothing|anything|no)\b"
    r"|所有|任何|每[个次条一]|一律|永远|始终|绝不|绝对不|凡|都|全|统一|禁止|严禁|不[准许](?!确)|不得|不允许"
)
"""Words of statements about all cases."""
_POINTS = re.compile(
    r"\b(?:this|that(?!\W*\Z)|these|those|here|it)\b|[这它]|那(?:个|些|里|边|样|段|行)|刚才|上面|下面", re.IGNORECASE
)
"""“this must be fixed”, “这里必须改”: only the case at hand."""
_ORDERS = re.compile(
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
    r"restart|reset|ensure|align|spawn|respond|resolve|address|clarify|grab|double[- ]check)\b"
    r"(?! (?:is|are|was|has|have|goes|go|stays?|needs?|must|should|can|cannot|can't|runs?|lives?|reads?|uses?)\b)"
    r"|\A\W*(?:(?:好的?|嗯|那|请|麻烦|你|再|先|现在|顺便|另外|然后)[，,\s]*)*(?:帮|给.{1,20}?(?:加|写|做|改|补|建|发)"
    r"|把(?!.{1,30}(?:一律|以后|永远))|看[下看一]|跑|查|改[一下成掉]|加[个一上]|修[一复下好]|写[个一]|删|重构"
    r"|回滚|提交|运行|解释"
    r"|翻译|生成|实现|测试一|贴|试|确认(?!过)|处理|优化一|检查|继续|列|补[个一充]|合并|部署|打开|搞|弄|做个"
    r"|新[建增]|撤[回销]|升级"
    r"|安装|启动|停掉|对比|分析|总结)(?!的|脚本|包|器|程序|前|之前|信息|说明)|你?帮我|给我|加个"
    r"|[看查改写试跑修补加讲说分]一[下遍]"
    r"|再[看查改写试跑分]",
    re.IGNORECASE,
)
"""“add a retry around the upload”, “给接口加个导出”: work for this session."""
_REPORTS = re.compile(
    r"\A\W*(?:(?:ok|hm+|oh|well|yes|no|also|so|and|but|then|wait|now|or|hey|btw|actually|sorry)[,.]?\s+)*(?:just"
    r"|i(?! (?:always|usually|never|like|prefer|want|hate"
    r"|love|dislike"
    r"|can't stand|cannot stand|would|expect|allow|trust|don't think|dont think|do not think)\b)(?!')\b|i'(?:m"
    r"|ve)\b|that's|it's|still|now it|looks like|seems|let me"
    r"|let's see|where|what"
    r"|why|how|when(?! (?:you|we|writing|adding|in)\b)(?!.{0,80}\b(?:always|never|expect|prefer)\b)|which|who"
    r"|do(?!n't| not)|does|did|is|are|can|could|should|would)\b"
    r"|\b(?:said|says|claims?|mentioned|heard|states)\b|\b(?<!legal )told (?:me|us)\b|\baccording to\b"
    r"|\A\W*(?:我(?!们)(?!.{0,12}(?:希望|喜欢|习惯|总是|一般|都|偏好|讨厌|受不了))|刚|今天|昨天|目前|正在|哎|唉|啊)"
    r"|\A[^，,。]{0,12}(?:说(?![好定的过明])|提了|提到|写着|写的是|声称)|据说|听说",
    re.IGNORECASE,
)
"""What is told or thought aloud: “just finished it”, “their docs claim …”, “老王说 …”."""
_ASKS = re.compile(
    r"为[啥什何]|怎么|什么|多久|多少|哪[个里些种]|谁(?!都)|几[个次天点]|[么吗呢]\W*\Z|\?\W*\Z|\A\W*(?:how"
    r"|what|why|where|which|who)\b"
    r"|[,.;] (?:can|could|would|will|should|do|does|is|are) (?:you|we|i|it|this|that|they)\b|\bdo you (?:think|know)\b"
    r"|\b(?:right|correct|or not|or what)\W*\Z"
)
_ANNOUNCES = re.compile(
    r"\b(?:lessons?(?: learned)?|root cause|final call|(?:house|team|golden|ground) rule|decision)\b[^.]{0,20}:"
    r"|\b(?:write (?:this|that|it) down|for the record|(?<!\bi )(?<!vaguely )(?:note|remember) that(?! (?:one|bug"
    r"|commit|time)\b)"
    r"|(?:keep|keeping|bear) (?:this |that |it )?in mind|for (?:future )?reference"
    r"|(?:it )?turn(?:s|ed) out"
    r"|concluded that|conclusion (?:is|was)|confirmed with|agreed with|let's not)\b"
    r"|\byou keep \w+ing\b|\b(?:legal|compliance|security|audit|the customer)\b.{0,20}\b(?:says?|said|told|wants)\b"
    r"|教训|根因|根本原因|结论(?:是|就是|[：:])|就这么(?:定|办)|讨论过|确认过|商量过|对齐过|评审过|记(?:一下|下来"
    r"|住)|写下来"
    r"|原来是|规矩"
    r"|(?:法务|合规|安全|审计|客户|运维|老板|领导)[^，。]{0,6}(?:说|要求|同意|规定)",
    re.IGNORECASE,
)
"""“lesson learned: …”, “刚跟产品确认过，…”: the rest is meant to be kept, however it is worded."""
_CHOOSES = re.compile(
    r"\b(?:decided|settled|agreed (?:to|on|that|with|not)|we(?:'re| are)? (?:going|sticking|staying|moving) (?:with"
    r"|to|on)|standardi[sz]e on"
    r"|let's (?:go with|stick (?:with|to)|use|drop|keep|switch to|stay|not|only|always|never)|(?:is|are"
    r"|stays?) (?:out|in|gone"
    r"|dead|the (?:default|standard))"
    r"|stays? (?:an?|in|on|as|where|the)\b|for (?:everything|anything|all) new|(?:all|every) new|no longer"
    r"|instead of|rather than"
    r"|we (?:use|keep|store|only|don't|do not|go|are dropping|will (?:use|write|build|store|keep)) \w)"
    r"|(?<!but), (?:not|no) (?:(?:an?|the|in|on) )?\w+(?: \w+)?\W*\Z"
    r"|敲定|拍板|商定|说好|谈妥|[就都]?定(?:了|为|成|用|下)|就(?:定|用|按|走|选|上|放|存)|换成|改成|改用|换到"
    r"|切到|迁到|砍掉|弃用|下线"
    r"|还是(?:选|用)|选了|不(?:自己?)?(?:做|上|用|搞|引入|支持|代|存|放|自研)|不再|保留|沿用|而不是|而非"
    r"|决定(?!权)|选定|采用|选用|约定"
    r"|为准|[放存走].{1,12}[里上中]?，不",
    re.IGNORECASE,
)
"""“GraphQL is out”, “消息队列就定 RocketMQ 了”: something was chosen."""
_PREFERS = re.compile(
    r"\b(?:prefer|i(?:'d| would) rather|i (?:really |do )?(?:like|love|hate|dislike|can't stand|cannot stand|expect"
    r"|(?:don't|do not) (?:like|want))(?! (?:it|this|that|these|those|the|you|to)\b))\b"
    r"|\A\W*(?:please )?(?:use (?!the |this |that |it\b|port )|avoid|keep (?!going|it\b|on\b)|don't|do not"
    r"|always(?! (?:an?|the|good|nice|fun|great|better|worth|happy|helpful|tricky|hard|easy|handy)\b)|never"
    r"|stick to|default to|aim for|no )\b|\buse .{1,40}\b(?:style|format|notation|convention|naming)\b"
    r"|\bfrom (?:now|here) on\b|\bgoing forward\b|以后(?!再|可能|试|可以|的话|有)|今后"
    r"|\A\W*when(?:ever)? (?:you|we|in|writing|adding|changing|naming)\b"
    r"|\A\W*(?!the |this |that |it )(?:\w+ ){1,4}should\b|\bno new\b|\b(?:only|always|never)\W*\Z|\bplease, no\b"
    r"|尽量|尽可能|优先|[写用是放按走].{1,10}(?:就行|就好|即可|就可以)|[用按].{1,24}(?:格式|风格|方式|写法|规范)"
    r"|能.{1,20}就|不要|别(?![的人名处说急])|(?:喜欢|偏好|习惯|讨厌|受不了|希望)(?!这|那|它)|默认|(?:之|以)?前(?:都"
    r"|要|得)?先"
    r"|(?:要|得|应该?)(?:带|加|写|用|有|走|经过|保持|按|先|放|留|让|给|符合|支持|问|[一二两三四五六七八九十\d])"
    r"|由.{1,8}(?:自己|负责)|\A.{2,12}归|按.{1,24}(?:来|走|写|命名)\W*\Z"
    r"|\b(?:needs?|wants?|goes|should)\b.{1,120}\b(?:otherwise|or else|because)\b|[要得用].{1,60}(?:不然|否则|因为)",
    re.IGNORECASE,
)
"""“prefer early returns”, “PR 尽量拆小”: a preference."""
_STATES = re.compile(
    r"\A(?!.{0,300}[\u4e00-\u9fff])\W*(?!(?:the|this|that|these|those|an?|it|i|we|you|he|she|they|there|here|your"
    r"|my|nobody|somebody|someone|"
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
    r"|always|use|avoid|we|you)\b|, \w+ (?:it|them) first\b|(?:\A\W*(?:(?:also|and|so|but|btw|remember)[,:]? )*|, "
    r"|: )(?:anything|anyone|every|any)\b|\bfor (?:any|every)(?:thing|one)?\b|\bit is\W*\Z"
    r"|\bwe(?:'ve)? (?:dropped|picked|moved (?:to|off)|switched (?:to|from)|chose|adopted|banned|removed support|use|"
    r"only)\b"
    r"|\A[^，,。；我你他这那它先把给在请就再也还又刚已没]{2,12}(?:(?:只|都|统一|直接)?[用存放写走归跟按传]|是|以|属于)"
    r"(?![了的着过不完好得户法例途错对一吧吗呢？])(?!第)|\A我们的|(?:超过|一旦|只要|每次|凡是).{1,30}(?:会|就|报"
    r"|丢)|不支持了|没选",
    re.IGNORECASE,
)
"""“Secrets live in Vault”, “密钥放 Vault”: a fact stated without an article."""
_LIMITS = re.compile(
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
_WARNS = re.compile(
    r"\b(?:careful|heads[- ]up|watch out|beware|be aware|gotcha:|(?:a|the|one|another|known|common|nasty) gotcha"
    r"|fyi|trap|pitfall|known to|silently"
    r"|without (?:warning|notice|telling)|out of order|(?:bit|burned|burnt|bitten) (?:us|me)|lost (?:an?|two"
    r"|half|hours?|days?)"
    r"|(?:took|cost|happened to) (?:us|me)|last time|usually (?:isn't|is not|means)|outage|can arrive|(?:so"
    r"|they) need)\b"
    r"|\A\W*(?:on|in|under|with|behind|after) [^,.;]{2,40}\b(?:breaks?|fails?|crash(?:es)?|hangs?|loses?"
    r"|drops?|leaks?|ignores?)\b"
    r"|\b(?:work(?:s|ed|ing)?[- ]?around|tech(?:nical)? debt|known (?:issue|risk|bug|problem)|is a hack)\b"
    r"|隐患|已知的?(?:问题|缺陷|风险)|技术债|欠(?:了|下)?债|绕[开过]了|注意|小心|当心|留意|切记|踩过|踩坑|有坑|个坑"
    r"|坑了|炸过|翻过车|吃过亏|出过|挂过|丢过|没用|无效"
    r"|之前.{0,10}过|静默|悄悄|莫名"
    r"|会(?:被|直接|重复|自动|偷偷|导致|把|丢|卡|覆盖|失败|报错|超时|泄[漏露]).{2,}",
    re.IGNORECASE,
)
"""“heads up, `make clean` also deletes the data”, “手改没用”: a warning."""
_STATEMENTS = (_CHOOSES, _PREFERS, _STATES, _LIMITS, _WARNS, _HOLDS, _HABITS)


def has_standing_rule(sentence: str) -> bool:
    """Return whether a person's *sentence* states an obligation that is not only about the case at hand."""
    masked = _fold_quotes(sentence)
    return bool(_BINDS.search(masked)) and not _POINTS.search(masked) and not _is_passing(masked)


def is_of_all_cases(sentence: str) -> bool:
    """Return whether *sentence*, a rule, is about all cases: “every …”, “所有…”, “customer e-mails …”."""
    return bool(_GENERAL.search(_fold_quotes(sentence)))


def has_standing_statement(sentence: str) -> bool:
    """Return whether a person's *sentence* may apply from now on: a rule, a choice, a limit, a warning.

    Wider than what is a candidate by itself: it finds what the agent is asked to word. An order for now, a report, a
    plan and what others said are none (measured with `bench.sayings`).
    """
    masked = _fold_quotes(sentence)
    if _is_passing(masked):
        return False
    if has_standing_rule(sentence) or _ANNOUNCES.search(masked):
        return True
    return not _MUSES.search(masked) and any(pattern.search(masked) for pattern in _STATEMENTS)


def points_back(sentence: str) -> bool:
    """Return whether *sentence* refers to the one before it: “that”, “it”, 这个."""
    return bool(_POINTS.search(_fold_quotes(sentence)))


def has_statement_words(sentence: str) -> bool:
    """Return whether *sentence* has the words of a statement, even if it is a plan, a question or an instruction."""
    masked = _fold_quotes(sentence)
    return any(pattern.search(masked) for pattern in (_BINDS, _CHOOSES, _ANNOUNCES)) and not _ORDERS.search(masked)


def is_announced(sentence: str) -> bool:
    """Return whether *sentence* asks to be recorded: “write this down: …”, “记一下，…”."""
    folded = _fold_quotes(sentence)
    return bool(_ANNOUNCES.search(folded)) and not _ASKS.search(folded)


def _fold_quotes(sentence: str) -> str:
    """Return *sentence* in lower case, with placeholders for code and quoted text."""
    return QUOTED.sub("…", CODE.sub("…", fold_case(sentence)))


def _is_passing(masked: str) -> bool:
    if _ASKS.search(masked):
        return True
    return not _ANNOUNCES.search(masked) and bool(_REPORTS.search(masked) or _ORDERS.search(masked))
