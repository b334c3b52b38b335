"""The one lexicon: which words order a statement, mean the same or exclude each other, English and Chinese.

Tables only. A row is its words between bars, a table its rows between semicolons or line ends. A row that begins with
`~` is loose: its words may replace each other in a sentence about the same thing, which is too loose where exactly one
thing is asked for. Loose rows are read only where a person or an agent looks at the result, single words at a time,
and by their stems: "retry" stands for "retries" as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from kb.text.segment import strip_inflection


def split_rows(table: str) -> tuple[str, ...]:
    """Return the rows of a *table*, which are between semicolons or line ends; a row goes on after a bar."""
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
    "别人|别处|不错|不仅|不只|不断|不管|不论|差不多|不足|不良|不等|不限|合并|并发|并行|改动|改造|设计|设备|等级|等待|类型|属性|特性|一致性|幂等性|就绪|再次|只读|只写|得分|全局|更新|事务|任务|会员|会议|机会|数据|文件|目录|表|列|行"
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


# Words of one meaning; the first stands for all. Two languages meet here.
SAME = split_rows("""
backend|back end|server side|后端|服务端|服务器端; frontend|front end|client side|前端; framework|框架;
database|db|数据库; cache|caching|缓存; queue|queues|queueing|queuing|队列;
broker|message broker|message queue|message bus|消息队列|消息中间件; log|logs|logging|日志; format|格式; language|语言;
port|端口; timeout|time out|超时|超时时间; continuous integration|ci|持续集成; test|tests|testing|测试;
package manager|包管理器|包管理工具; indentation|indent|indents|缩进; licence|license|许可证|许可协议; protocol|协议;
tool|tooling|tools|工具; build|building|构建; strategy|策略; algorithm|算法; style|风格;
storage|store|stores|stored|storing|存储|保存|存放|存; search|搜索|检索; authentication|auth|认证|鉴权;
monitoring|监控; deployment|deploy|deploys|部署; library|类库; convention|规范|约定; naming|命名; encoding|编码;
engine|引擎; model|模型; interface|api|apis|接口; output|outputs|输出; session|sessions|会话;
write|writes|written|编写|写; order|orders|订单; user|users|用户; production|prod|生产|线上|生产环境|线上环境;
staging|预发|预发布|预发环境|预发布环境|灰度; development|dev|开发环境|本地开发;
at most|no more than|not more than|up to|no later than|maximum;
at most|最多|至多|不超过|不多于|不大于|不高于|不晚于|最大|最长|最高;
at least|no less than|not less than|minimum|至少|最少|不少于|不低于|不小于|不早于|最小|最短|最低; window|窗口|窗口期;
level|级别; primary key|主键; time zone|timezone|时区; gateway|网关; registry|注册中心;
configuration center|config center|configuration server|配置中心; scheduler|调度器|任务调度;
proxy|代理|反向代理|reverse proxy; template engine|模板引擎; separator|delimiter|分隔符;
~limit|cap|budget|ceiling|threshold|quota|exceed|上限|限制|阈值|门槛|超过|控制;
~expire|expiry|expiration|valid|validity|lifetime|ttl|lifespan|有效期|过期|失效|到期|有效;
~release|rollout|roll|ship|publish|deployment|上线|发布|发版|部署|投产;
~delete|deletion|remove|removal|purge|drop|erase|clean|删除|清理|清除|移除|抹除|删; ~flag|toggle|switch|开关;
~storage|save|retain|retention|persist|hold|held|保留|落库|入库|存储|写入|落盘|持久化; ~page|pagination|paginated|分页;
~digest|hash|哈希|摘要; ~sign|signature|签名; ~retry|retried|reattempt|attempt|重试; ~message|消息;
~send|sent|emit|push|deliver|发送|推送|下发|投递; ~isolate|isolation|separate|隔离|区分|分开;
~repeat|duplicate|again|twice|重复|再次|多次; ~review|reviewer|approve|approval|评审|审批|审核|审查; ~merge|合并;
~event|事件; ~schedule|scheduler|cron|timer|调度|定时; ~permission|privilege|权限; ~endtoend|e2e|端到端;
~migration|migrate|迁移; ~latency|respond|response|answer|reply|响应|耗时|延迟|返回|应答;
~backup|snapshot|dump|备份|快照; ~id|identifier|编号|标识; ~data|dataset|数据; ~database|datastore|db|库|数据库;
~folder|directory|目录|文件夹; ~trace|链路|追踪; ~collect|gather|采集|收集|上报|汇总;
~secret|credential|密钥|秘钥|凭证; ~password|passphrase|密码|口令; ~request|call|请求|调用; ~throttle|限流|节流;
~check|verify|verified|validate|validation|校验|验证|检查|核对; ~query|lookup|search|查询|检索|搜索|查;
~fetch|read|load|pull|拉取|读取|获取|加载; ~refuse|reject|deny|denied|block|拒绝|拦截|拦下|阻止;
~mask|redact|anonymise|anonymize|打码|脱敏|掩码|屏蔽; ~update|更新|刷新; ~change|modify|modified|变更|改动|修改;
~create|generate|produce|build|built|生成|创建|新建|产出|构建; ~monitor|monitoring|watch|observe|监控|观察|监测;
~fail|failure|error|crash|失败|报错|异常|崩溃|出错; ~lock|加锁|锁; ~version|revision|版本;
~start|startup|boot|launch|启动|开机; ~stop|kill|die|died|终止|杀掉|被杀; ~connection|连接|连接数;
~size|length|长度|大小; ~minimum|min|最短|最少; ~mobile|phone|app|application|应用|移动端|手机;
~client|consumer|caller|客户端|调用方; ~partner|external|合作方|三方|第三方|外部; ~document|documentation|docs|文档;
~rule|convention|guideline|standard|规范|约定|准则|标准; ~field|column|字段|列; ~row|record|entry|行|条目;
~copy|replica|副本; ~background|async|后台|异步; ~parallel|concurrent|concurrently|concurrency|并发|并行;
~customer|buyer|客户|顾客; ~payment|pay|charge|支付|付款|扣款; ~refund|退款; ~picture|image|photo|图片|图像|照片;
~file|文件; ~translate|translation|i18n|locale|multilingual|翻译|文案|国际化|多语言;
~notify|notification|alert|通知|告警|提醒; ~guard|protect|protection|secure|保护|防护|防止|避免;
~encrypt|encryption|加密; ~compress|compression|pack|zip|压缩; ~upload|上传;
~sync|synchronise|synchronize|replicate|replication|同步|复制|拷贝; ~forward|relay|route|转发|路由;
~manage|management|orchestrate|管理|维护|治理; ~central|centralise|centralize|集中|统一管理;
~automatic|automatically|automate|自动; ~guarantee|ensure|enforce|保证|确保|强制; ~order|sequence|sequential|顺序|有序;
~selfhosted|onpremise|自建|私有化; ~traffic|流量; ~server|host|machine|node|服务器|节点|主机|机器; ~instance|pod|实例;
~pipeline|workflow|流水线|管道; ~branch|分支; ~dependency|依赖; ~environment|环境; ~screen|view|页面|界面;
~button|按钮; ~component|组件; ~developer|engineer|开发者|开发人员|工程师; ~daily|nightly|每日|每天|每晚|夜间;
~annual|yearly|每年; ~audit|审计; ~invoice|发票; ~report|报表|报告; ~metric|指标; ~dashboard|看板|大盘;
~rollback|revert|回滚|回退; ~token|令牌; ~login|signin|登录|登陆; ~logout|注销|登出; ~account|账号|账户; ~tenant|租户;
~device|设备; ~firmware|固件; ~partition|shard|分区|分片|分库; ~gate|guarded; ~script|脚本; ~train|训练;
~serve|inference|推理|在线服务; ~compute|calculate|计算|统计; ~amount|money|金额|钱; ~integer|int|long|整数|整型;
~decimal|float|double|浮点|浮点数|小数; ~describe|define|定义|描述; ~name|命名; ~cover|coverage|覆盖|覆盖率;
~split|拆分|拆; ~cache|缓存; ~configuration|config|configure|setting|配置|设置|配置项; ~job|task|作业|任务;
~scale|autoscale|扩容|伸缩; ~container|容器; ~cluster|集群; ~bug|defect|缺陷; ~handbook|guide|手册|指南; ~comment|注释;
~function|method|函数|方法; ~module|package|模块; ~parameter|argument|参数; ~index|indices|索引; ~table|数据表;
~transaction|transactional|事务; ~stream|流式; ~batch|批处理; ~weekly|每周; ~monthly|每月; ~hourly|每小时;
~price|价格|定价; ~currency|币种|货币; ~admin|administrator|管理员; ~employee|staff|员工; ~visitor|guest|访客|游客;
~email|mail|邮件|邮箱; ~sms|短信; ~link|url|链接; ~header|请求头; ~body|payload|请求体|报文; ~status|state|状态;
~browser|浏览器; ~style|样式; ~color|colour|颜色; ~network|网络; ~certificate|cert|证书; ~sensor|传感器;
~battery|电池|电量; ~microcontroller|mcu|单片机; ~interrupt|isr|中断; ~feature|特征; ~tag|label|labelled|标签;
~experiment|实验; ~warehouse|dwh|数仓|数据仓库; ~subscribe|subscriber|subscription|订阅; ~timestamp|时间戳; ~date|日期;
~round|取整|舍入; ~vulnerability|漏洞; ~scan|扫描; ~memory|ram|内存; ~disk|磁盘|硬盘; ~region|地域|区域;
~failover|standby|容灾|主备; ~fallback|degrade|降级|兜底; ~commit|提交; ~pr|prs|mr|合并请求; ~issue|ticket|工单;
~team|团队; ~trust|信任|可信; ~keyword|关键词|关键字; ~draft|草稿; ~attachment|附件; ~variable|变量;
~idempotent|idempotency|idempotently|幂等; ~atomic|atomically|atomicity|原子; ~unique|uniqueness|唯一;
~ban|banned|forbid|forbidden|禁止|禁用
""")

# Where a statement may hold without holding elsewhere
PLACES = frozenset({"production", "staging", "development", "test"})

# What has one filler at a time, whatever it is.
SLOTS = frozenset(
    split_rows("""
        framework; language; library; format; protocol; broker; style; strategy; algorithm; convention; licence;
        engine; template engine; package manager; indentation; encoding; naming; separator; orm; linter; formatter;
        bundler; compiler; tool; model; level; primary key; time zone; 模式; 方式; 机制
    """)
)

# What has one filler at a time where both fillers are names of products.
HOLDERS = frozenset(
    split_rows("""
        database; cache; queue; storage; search; registry; configuration center; gateway; proxy;
        continuous integration; build; deployment; scheduler; provider; platform
    """)
)

# Names of which one place takes one @ the words such a place is usually named by. Common ones only.
RIVALS = split_rows("""
fastapi|flask|django|tornado|sanic|express|koa|nestjs|fastify|spring boot|quarkus|micronaut|rails|laravel|gin|fiber|
actix|axum|ktor @ web|backend|framework;
postgresql|mysql|mariadb|sqlite|oracle|sql server|mongodb|cockroachdb|tidb|oceanbase|cassandra|dynamodb|h2 @ database|
relational|storage|数|据|数据; redis|memcached|valkey|hazelcast|caffeine @ cache;
kafka|rabbitmq|nats|pulsar|activemq|sqs|rocketmq @ broker|message|queue|event|消|息;
react|vue|angular|svelte|solidjs|preact @ frontend|framework|web;
redux|zustand|mobx|pinia|vuex|recoil|jotai @ state|management; pytest|unittest|nose @ unit|test|python|单|元;
jest|vitest|mocha|jasmine @ unit|test|javascript|单|元; junit|testng|spock @ unit|test|java|单|元;
playwright|cypress|selenium|puppeteer @ end|browser|test|e2e; npm|yarn|pnpm|bun @ package manager;
pip|poetry|pipenv|uv|pdm|conda @ package manager|python; maven|gradle|bazel|ant @ build|tool;
webpack|vite|rollup|esbuild|parcel @ bundler|build|tool;
github actions|jenkins|gitlab ci|circleci|travis|travis ci|azure pipelines|drone|buildkite|
teamcity @ continuous integration|pipeline;
aws|gcp|azure|google cloud|aliyun|阿里云|腾讯云|华为云 @ cloud|provider|云|平|台;
terraform|pulumi|cloudformation|opentofu @ infrastructure|code; helm|kustomize|jsonnet @ manifest|kubernetes;
kubernetes|nomad|docker swarm @ orchestration|container; docker|podman @ container;
nginx|caddy|traefik|apache|haproxy|envoy @ proxy|reverse|web|server;
elasticsearch|opensearch|solr|meilisearch|typesense @ search|engine|full|text;
faiss|milvus|qdrant|pgvector|chroma|weaviate|pinecone @ vector|database|storage|向量; flake8|ruff|pylint @ linter|lint;
eslint|biome|tslint @ linter|lint; black|yapf|autopep8 @ formatter|format; sqlalchemy|peewee|tortoise @ orm;
hibernate|mybatis|jooq @ orm; alembic|flyway|liquibase @ migration|schema;
bcrypt|argon2|argon2id|scrypt|pbkdf2|md5 @ password|hash|密|码|哈|希; sha1|sha256|sha512|blake3 @ hash|checksum|哈|希;
monorepo|polyrepo @ repository;
trunk based development|git flow|gitflow|github flow @ branch|branching|model; squash|rebase|merge commit @ merge
""")

# Words that exclude each other only where all the rest of two statements is the same; `||` joins writings of one.
OPPOSITES = split_rows("""
go|rust|java|kotlin|python|c++|c#|ruby|php|scala|typescript|javascript; tab|tabs|制表符||space|spaces|空格;
rest|graphql|grpc|soap; json|yaml|toml|xml|protobuf|avro|msgpack|csv|parquet|logfmt|plain text|纯文本;
snakecase|camelcase|kebabcase|pascalcase|下划线|驼峰|小驼峰|大驼峰; mit|apache 2.0|gpl|agpl|mpl|lgpl;
optimistic|pessimistic; 乐观锁|悲观锁; synchronous|asynchronous; synchronously|asynchronously; 同步|异步;
uuid|ulid|snowflake|自增|雪花; monolith|microservices|单体|微服务; strong|eventual; 强一致|最终一致; push|pull;
推送|拉取; public|private; 公开|私有; utc|local time|本地时间; soft|hard; 软删除|逻辑删除||物理删除|硬删除; gross|net;
clientside|serverside; 客户端渲染|服务端渲染; manual|automatic; manually|automatically; 手动|自动; incremental|full;
增量|全量; 实时|离线; ascending|descending; 升序|降序; optin|optout; whitelist|allowlist||blacklist|denylist;
白名单|黑名单; mutable|immutable; stateful|stateless; 有状态|无状态; ~before|after; ~import|export; ~several|single;
~above|below; ~large|small; ~fast|slow; ~high|low; ~local|remote; ~internal|external; ~shared|separate|dedicated;
~dynamic|static; ~lazy|eager; ~strict|lenient; ~relative|absolute; ~inclusive|exclusive; ~online|offline;
~blocking|nonblocking; ~sequential|parallel; ~horizontal|vertical; ~light|dark; ~uppercase|lowercase; ~left|right;
~early|late; ~primary|secondary; ~plaintext|encrypted; ~signed|unsigned; ~optional|required; ~singular|plural;
~active|passive; ~central|distributed; ~temporary|permanent; ~nullable|nonnull; ~native|hybrid; ~denormalise|normalise;
~本地|远程; ~大|小; ~新|旧; ~高|低; ~内部|外部; ~共享|共用|独立|独占; ~静态|动态; ~严格|宽松; ~相对|绝对; ~在线|离线;
~串行|并行; ~横向|纵向; ~大写|小写; ~左|右; ~明文|密文; ~单数|复数; ~主动|被动; ~集中|分布; ~临时|永久;
~内网|外网|公网; ~长连接|短连接; ~横屏|竖屏; ~正序|倒序; ~前置|后置; ~必填|选填; ~批量|逐条
""")

# Further alternatives of one choice, `=` between the writings of one. Records of which each names another are likely
# about that choice; where all else tells of one question as well, they contradict each other, but for the loose rows.
CHOICES = split_rows("""
nginx|caddy|traefik|haproxy|envoy|kong|apisix|spring cloud gateway|zuul|istio|linkerd;
jetpack compose|flutter|react native|swiftui|uikit|ionic|cordova|uni-app|taro|原生; rest|graphql|grpc|soap|thrift|dubbo;
sha1|sha256|sha512|blake3|md5|sm3|bcrypt|argon2=argon2id|scrypt|pbkdf2; ~chromium|firefox|webkit;
rxjs|redux|zustand|mobx|pinia; trunk-based=trunk based=主干开发|git flow=gitflow|github flow;
squash|rebase|merge commit; prisma|typeorm|sequelize|gorm;
websocket=websockets|sse=server-sent events|long polling=polling=长轮询=轮询|webhook=webhooks|mqtt;
json|yaml|toml|xml|protobuf|avro|msgpack|csv|parquet|cbor|flatbuffers; iso-8601=iso 8601=rfc 3339|epoch=时间戳;
~english=英文=英语|german|french|spanish|japanese=日文|chinese=中文;
uuid|ulid|snowflake=雪花|nanoid|auto-increment=自增|sequence;
nacos|apollo|consul|eureka|zookeeper|etcd; xxl-job|quartz|@scheduled|airflow|dagster|prefect|celery|cron|temporal;
dolphinscheduler|airflow|azkaban|oozie; prometheus|datadog|influxdb|victoriametrics|graphite|cloudwatch|zabbix|夜莺;
loki|splunk|elasticsearch|graylog|cloudwatch; jaeger|zipkin|skywalking|tempo; keycloak|auth0|cognito|okta|casdoor;
jwt=jwts|cookie=cookies|session id|opaque token=opaque tokens; launchdarkly|unleash|flagsmith|growthbook;
blue-green=蓝绿|canary=percentage rollout=金丝雀|rolling=滚动|all at once=in one go=全量;
s3|minio|oss|gcs|hdfs|ceph|nfs|本地磁盘;
tailwind|css modules|styled-components|bootstrap|sass|emotion|ant design|element plus|material ui;
moment|luxon|dayjs|date-fns; axios|fetch|okhttp|retrofit|httpx; vault|sops|sealed secrets|secrets manager|环境变量;
terraform|pulumi|cloudformation|opentofu|cdk|ansible; kubernetes|nomad|docker swarm|ecs|systemd;
github|gitlab|gitea|gerrit;
snowflake|bigquery|redshift|clickhouse|doris|starrocks|druid; spark|flink|storm|hive|presto|trino;
apache-2.0=apache 2.0|mit|gpl|agpl|mpl|lgpl|bsd; swagger=openapi|apifox|postman|yapi|raml; unity|unreal|godot|cocos;
~numpy|pandas|polars|dask; pytorch|tensorflow|jax|onnx|mindspore; openai|anthropic|gemini|mistral|deepseek|通义|文心;
figma|sketch|axure; jira|linear|trello|asana|禅道; confluence|notion|语雀|飞书文档;
ubuntu|debian|alpine|centos|rocky|distroless; ~x86=amd64|arm=arm64|risc-v;
freertos|zephyr|rt-thread|embedded linux;
at-least-once=at least once|at-most-once=at most once|exactly-once=exactly once; qos 0=qos0|qos 1=qos1|qos 2=qos2;
~clientside=client-side=客户端|server-side=服务端=服务器; opt-in=opt in|opt-out=opt out; semver|calver; ntp|ptp
""")
PLAIN_NAMES = frozenset(
    "go rest ant express gin fiber nose drone oracle apache linear sketch notion temporal tempo rolling sequence fetch"
    " moment emotion storm presto epoch push pull mixed".split()
)
"""Of these, those that are usual words as well: only with a capital they are names."""

# One deed and its opposite: the deed, its words, the words of the opposite.
OPPOSED_VERBS: tuple[tuple[str, str, str], ...] = (
    ("include", "include|includes|included|包含|包括", "exclude|excludes|excluded|排除|不包含|不包括"),
    ("show", "show|shows|shown|显示|展示", "hide|hides|hidden|隐藏"),
    ("accept", "accept|accepts|accepted|接受|接收", "reject|rejects|rejected|拒绝|拒收"),
)

# Other names of what the rows above know.
ALIASES = split_rows("""
postgres = postgresql; k8s = kubernetes; mongo = mongodb; golang = go; js = javascript; ts = typescript;
vuejs = vue; vue.js = vue; reactjs = react; react.js = react; kafka streams = kafka; elastic search = elasticsearch;
gitlab ci cd = gitlab ci; argon2id = argon2; es = elasticsearch; multirepo = polyrepo; 单仓 = monorepo; 多仓 = polyrepo
""")


def _build_senses() -> dict[str, tuple[str, str]]:
    """Return phrase → (mark, what stands for it); later rows win over earlier ones."""
    senses = {word: ("term", word) for word in (*WHOLE_WORDS.split("|"), *UNITS)}
    senses |= {phrase: (mark, phrase) for mark, phrases in MARKS.items() for phrase in phrases.split("|")}
    for deed, does, undoes in OPPOSED_VERBS:
        senses |= dict.fromkeys(does.split("|"), ("term", deed))
        senses |= dict.fromkeys(undoes.split("|"), ("undo", deed))
    for row in SAME:
        if not row.startswith("~"):
            senses |= dict.fromkeys(row.split("|"), ("term", row.split("|")[0]))
    senses |= {name: ("term", name) for name in RIVAL_ROWS}
    senses |= {name: ("term", name) for name in OPPOSITE_OF}
    return senses | {alias: ("term", name) for alias, _, name in (row.partition(" = ") for row in ALIASES)}


def _build_rival_rows() -> dict[str, frozenset[int]]:
    rows: dict[str, frozenset[int]] = {}
    for number, row in enumerate(RIVALS):
        for name in row.partition(" @ ")[0].split("|"):
            rows[name] = rows.get(name, frozenset()) | {number}
    return rows


RIVAL_ROWS: Mapping[str, frozenset[int]] = _build_rival_rows()  # Name → the rows of RIVALS it is in

# Word → its row in OPPOSITES and the group of writings it belongs to.
OPPOSITE_OF: Mapping[str, tuple[int, int]] = {
    word: (number, group)
    for number, row in enumerate(OPPOSITES)
    if not row.startswith("~")
    for group, part in enumerate(row.split("||") if "||" in row else row.split("|"))
    for word in part.split("|")
}

SENSES: Mapping[str, tuple[str, str]] = _build_senses()  # Phrase, folded → its mark and the word that stands for it

# The first words of phrases of several words
PHRASE_STARTS = frozenset(phrase.partition(" ")[0] for phrase in SENSES if " " in phrase)


@cache
def loose_opposites() -> Mapping[str, str]:
    """Return word → the loose row of OPPOSITES it is in, by its first word; also for the inflected forms."""
    return {form: head for head, form in _iter_loose_forms(OPPOSITES)}


@cache
def near_words() -> Mapping[str, str]:
    """Return word → the word of near meaning that stands for it; what may exclude another word stands for itself."""
    apart = OPPOSITE_OF.keys() | RIVAL_ROWS.keys() | loose_opposites().keys()
    return {form: head for head, form in _iter_loose_forms(SAME) if form not in apart}


def _iter_loose_forms(rows: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield the first word of each loose row with every form of its words."""
    for row in rows:
        if row.startswith("~"):
            words = row[1:].split("|")
            yield from ((words[0], form) for word in words for form in (word, strip_inflection(word)))


def are_rivals(one: str, other: str) -> bool:
    """Return whether two names compete for one place: PostgreSQL and MySQL, 阿里云 and 腾讯云."""
    return one != other and bool(RIVAL_ROWS.get(one, frozenset()) & RIVAL_ROWS.get(other, frozenset()))


def find_implied_words(name: str) -> set[str]:
    """Return the words that only say of what sort *name* is: PostgreSQL is a database."""
    return {word for row in RIVAL_ROWS.get(name, ()) for word in RIVALS[row].partition(" @ ")[2].split("|")}


def are_opposites(one: str, other: str, *, loose: bool = False) -> bool:
    """Return whether two words exclude each other: tabs and spaces, 同步 and 异步; *loose*: also local and remote."""
    row, writing = OPPOSITE_OF.get(one, (-1, 0))
    other_row, other_writing = OPPOSITE_OF.get(other, (-2, 0))
    if row == other_row:
        return writing != other_writing
    contrary = loose_opposites() if loose else {}
    return one != other and one in contrary and contrary[one] == contrary.get(other)
