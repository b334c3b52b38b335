"""The words that order a statement, English and Chinese: duties, choices, numbers, reasons, fillers.

Tables only. A new word is one word in a row here; `statement_words` reads the rows and knows no word by itself.
"""

from __future__ import annotations

from collections.abc import Mapping


def split_rows(table: str) -> tuple[str, ...]:
    """Return the rows of a *table*, which stand between semicolons or line ends; a row goes on behind a bar."""
    rows = table.replace("|\n", "|").replace("\n", ";").split(";")
    return tuple(row.strip() for row in rows if row.strip())


# Mark → the phrases that carry it.
MARKS: Mapping[str, str] = {
    # what a statement obliges to
    "must": "must|shall|have to|has to|need to|needs to|should|always|required|requires|require|mandatory|"
    "必须|须|必需|务必|应当|应该|应|需要|需|一定|强制要求|强制使用|必填|必选|要求|得",
    "may": "may|can|could|allow|allows|allowed|permit|permits|permitted|可以|允许|准许|可|能|能够",
    "need not": "need not|needn't|no need to|not required|not necessary|not mandatory|optional|not need|not need to|"
    "do not need to|does not need to|do not have to|does not have to|don't have to|don't need to|doesn't need to|"
    "doesn't have to|not have to|not require|does not require|do not require|doesn't require|don't require|"
    "no longer required|不必|无需|毋需|无须|不需要|不需|不用|可以不|可不|不强制|不要求|可选|选填|非必须|非必填",
    # what turns a duty into its opposite
    "not": "not|never|no|no longer|without|avoid|avoids|stop|do not|does not|did not|don't|doesn't|is not|isn't|"
    "are not|aren't|forbid|forbids|forbidden|prohibit|prohibits|prohibited|ban|bans|banned|disallow|disallowed|refuse|"
    "must not|mustn't|must never|shall not|should not|shouldn't|should never|will not|won't|cannot|can't|can not|"
    "may not|may never|can never|not allowed|not permitted|not be allowed|stop using|"
    "不|不得|不要|不准|不许|不能|不可|不可以|不允许|不应|不应该|不该|不宜|不会|不再|禁止|严禁|勿|请勿|切勿|避免|杜绝|停止|"
    "必须不|一定不|从不|绝不|决不|永不|别|未|没有|无|禁止使用",
    "off": "disable|disables|disabled|turn off|turns off|switch off|turned off|deactivate|deactivated|"
    "禁用|停用|关闭|关掉|下线",
    "on": "enable|enables|enabled|turn on|turns on|switch on|turned on|activate|activated|启用|开启|打开",
    # how a choice is said
    "use": "use|uses|used|using|adopt|adopts|adopting|choose|chooses|chose|chosen|pick|picks|picked|select|selects|"
    "selected|standardise on|standardize on|go with|went with|prefer|prefers|employ|rely on|settle on|settled on|"
    "decided on|built with|built on|powered by|switch to|switch over to|move to|migrate to|opt for|opted for|"
    "使用|采用|选用|选择|选定|选|改用|换用|换成|换为|改成|换到|切换到|切换为|迁移到|迁移至|迁到|切到|沿用|统一用|用|基于|"
    "优先使用|优先用|优先|引入|转向",
    "as": "as|as a|as an|作为|作|当作|充当|做|来做|当|用作",
    "as the": "as the|as our|as its",
    "for": "for|用于|用来|来",
    "over": "replaces|over|instead of|rather than|in place of|in preference to|but not|and not|"
    "而非|而不是|而不用|而不选|不选|不采用|代替|取代|替代|替换|替掉|不再用",
    "is": "is|are|will be|be|was|were|为|是|定为|设为|改为|设置为|调整为|调整到|选定为|=|:",
    "in": "in|with|on|via|through|at|inside|within|在|通过|经|经由",
    "from": "from|从|由",
    "to": "to|into|onto|到|至",
    "order": "before|after|by|than|between|under|above|below|depends on|先于|晚于|之前|之后|早于|对|向|给",
    "and": "and|or|&|和|与|及|以及|或|或者|、|/",
    "also": "also|additionally|too|in addition|as well|alongside|besides|同时|此外|另外|额外|也|还",
    "except": "except|except for|unless|only|apart from|other than|if|when|while|"
    "除|除了|除外|除非|仅|只|只有|如果|若|当且仅当",
    # what is only added to something, and rules nothing else out
    "besides": "support|supports|supported|add|adds|provide|provides|introduce|offer|offers|document|publish|"
    "integrate|import|export|extend|implement|implements|支持|增加|添加|新增|提供|兼容|导入|导出|接入|"
    "扩展|实现|补充",
    # what says that there is one only
    "sole": "main|primary|default|sole|unique|single|standard|唯一|默认|主|主要|首选",
    # words without weight for the comparison
    "": "the|a|an|all|every|each|any|our|we|will|been|it|its|it's|this|that|of|own|project|team|"
    "system|service|services|value|set|per default|by default|from now on|as of|such as|as well as|as soon as|"
    "only then|does|do|did|being|these|those|their|there|us|us to|new|"
    "已|已经|有没有|是不是|能不能|要不要|会不会|可不可以|的|了|都|均|一律|统一|所有|全部|每个|每|各|各个|任何|一切|则|会|将|被|把|请|我们|本|该|其|并|进行|以|"
    "当前|目前|现在|今后|以后|项目|团队|系统|服务|中|里|内|上|时|后|我|个|地|着|过|就|再|要|改|设|等|类|性",
}

# Chinese words that stand whole although a shorter word of the table is inside.
WHOLE_WORDS = (
    "应用|用户|作用|费用|可用|通用|专用|引用|调用|复用|重用|信用|可靠|可见|可变|可读|可写|可扩展|是否|选项|为了|因为|行为|作业|操作|工作|"
    "合作|不同|不变|一致|不一致|不可变|供应|响应|适应|对应|应答|需求|必要|做法|在线|存在|正在|从库|从属|主从|到期|到达|与否|"
    "及时|以上|以下|以内|可能|能力|性能|功能|智能|由于|自由|理由|路由|来源|未来|来自|选举|筛选|候选|别名|级别|类别|识别|区别|分别|特别|"
    "作者|制作|写作|副作用|当天|应急|无状态|无锁|无关|未知|未读|接口|地址|地区|时间|时区|上传|上线|上游|上限|上下文|后台|后缀|中间件|里程碑|"
    "内存|内网|内部|内容|主键|主机|主题|主干|主线|对象|对外|对账|对内|方向|向量|面向|经验|过期|过滤|过程|通过率|要点|摘要|主从|重要|"
    "别人|别处|不错|不仅|不只|不断|不管|不论|差不多|不足|不良|不等|不限|合并|并发|并行|改动|改造|设计|设备|等级|等待|类型|属性|特性|一致性|幂等性|就绪|再次|只读|只写|得分|全局|更新|事务|任务|数据|文件|目录|表|列|行"
)

# Where a statement ends and its reason begins.
REASONS = (
    " because | since | so that | in order to | due to | as it | as they |, as | given that |"
    "因为|由于|以便|从而|为了|因此|所以|以免|——"
)

# Words whose number is a name, not a setting: phase 2, CentOS 7, 第 3 阶段.
LABELS = frozenset(
    split_rows("""
        step; phase; stage; part; chapter; section; level; tier; sprint; milestone; adr; rfc; issue; ticket; epic;
        iteration; quarter; centos; ubuntu; debian; windows; http; tls; ipv; 阶段; 步骤; 第; 附录
    """)
)

# Words whose number is a setting: port 8000, 上限 20.
SETTERS = frozenset(
    split_rows("""
        port; version; limit; timeout; size; count; ratio; rate; return; returns; respond; answer; status; budget;
        ttl; retention; depth; level; at most; at least; window; expires; expire; listen; listens; 返回; 版本; 上限;
        下限; 率; 数
    """)
)

_TIME = {
    "ms|millisecond|milliseconds|毫秒": 0.001,
    "s|sec|secs|second|seconds|秒|秒钟": 1,
    "min|mins|minute|minutes|分钟": 60,
    "h|hr|hrs|hour|hours|小时|个小时": 3600,
    "d|day|days|天|日": 86_400,
    "week|weeks|周|星期|个星期": 604_800,
    "month|months|个月|月": 2_592_000,
    "year|years|年": 31_536_000,
}
_BYTES = {
    "b|byte|bytes|字节": 1,
    "k|kb|kib": 1024,
    "m|mb|mib": 1024**2,
    "g|gb|gib": 1024**3,
    "t|tb|tib": 1024**4,
}
_COUNTS = "次|人|位|条|份|台|倍|层|级|个|名|行|列|字|天内|笔|核|副本|轮"

# Unit → what it measures and how much of it one is.
UNITS: Mapping[str, tuple[str, float]] = {
    **{word: ("time", factor) for words, factor in _TIME.items() for word in words.split("|")},
    **{word: ("bytes", factor) for words, factor in _BYTES.items() for word in words.split("|")},
    **dict.fromkeys(("%", "percent", "per cent", "％"), ("share", 1)),
    **{word: (word, 1) for word in _COUNTS.split("|")},
}

NUMERALS: Mapping[str, int] = {
    word: value
    for value, word in enumerate(
        split_rows("zero; one; two; three; four; five; six; seven; eight; nine; ten; eleven; twelve")
    )
} | {"twenty": 20, "thirty": 30, "sixty": 60, "ninety": 90, "once": 1, "twice": 2}

# -- what counts only where clauses are compared ----------------------------------------------------

# Words for a bound and its direction; a bound is part of the number that it bounds.
BOUNDS: Mapping[str, str] = {
    **dict.fromkeys(("at most", "以下", "以内"), "≤"),
    **dict.fromkeys(("at least", "later", "newer", "以上", "minimum"), "≥"),
    "limit": "",
}

# Words that MARKS reads for their place in a sentence, and what stands for each where it counts what they say.
COUNTED: Mapping[str, str] = {
    **{"before": "before", "先于": "before", "之前": "before", "after": "after", "晚于": "after", "之后": "after"},
    **dict.fromkeys(("several", "multiple", "many", "多", "多个"), "several"),
    **dict.fromkeys(("single", "单", "单个"), "single"),
    **{"above": "above", "大于": "above", "高于": "above", "below": "below", "小于": "below", "低于": "below"},
    **{"import": "import", "导入": "import", "export": "export", "导出": "export"},
}

# What any record could say, by its stem: "keep" stands for "keeps" as well.
PLAIN = (
    "about|across|after|again|against|ago|almost|along|already|although|among|another|anything|anyway|around|aside|"
    "away|back|because|become|been|behind|being|beside|better|both|bring|but|call|come|contain|could|did|different|"
    "do|done|during|each|either|else|enough|ever|every|few|first|follow|found|full|fully|further|gave|get|give|given|"
    "go|goes|going|gone|good|got|half|handle|hand|happen|has|have|he|hence|here|how|however|i|into|itself|just|keep|"
    "kept|kind|know|last|less|let|like|line|live|long|look|made|make|matter|mean|more|most|much|need|never|next|"
    "nobody|nor|nothing|now|off|often|once|one|onto|other|otherwise|out|part|place|plain|please|possible|provide|put|"
    "quite|rather|real|really|reside|run|said|same|say|see|seen|since|sit|so|some|somebody|something|still|such|take|"
    "taken|tell|than|them|then|they|thing|through|thus|together|too|toward|try|turn|two|under|until|up|upon|us|very|"
    "via|want|was|way|well|were|what|whatever|when|where|whether|which|while|who|whole|whose|why|with|within|work|"
    "would|write|written|yet|you|your|older|earlier|newest|latest|carry|carried|chosen|choice|option|decision|decide|"
    "solution|alternative|best|apply|applied|concern|actual|certain|including|main|mainly|name|per|previous|relevant|"
    "respective|simple|simply|special|specific|usual|usually|various|"
    "即|方案|机制|方式|情况|相关|问题|规则|处理|实现|完成|直接|要求|需求|目前|之后|之前|同学|场景|时候|一遍|没问题|"
    "例如|比如|其余|其它|其他|自己|才|打|走|靠|带|做法|负责|提供|具体|整体|整个|部分|用于|产生|出现"
)
