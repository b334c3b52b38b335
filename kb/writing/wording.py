"""Words of near meaning and words without weight, for telling whether two records say the same in other words.

Wider than `lexicon`: what stands in one row here may replace the other in a sentence about the same thing, which is too
loose where exactly one thing is asked for. Tables only.
"""

from __future__ import annotations

from collections.abc import Mapping

LIMIT = "limit"

BOUNDS: Mapping[str, str] = {
    **{LIMIT: "", "at most": "≤", "以下": "≤", "以内": "≤"},
    **{"at least": "≥", "later": "≥", "newer": "≥", "以上": "≥", "minimum": "≥"},
}
"""Words for a bound and its direction; a bound is part of the number that it bounds."""

TURNED: Mapping[str, str] = {
    **{"before": "before", "先于": "before", "之前": "before", "after": "after", "晚于": "after", "之后": "after"},
    **dict.fromkeys(("several", "multiple", "many", "多", "多个"), "several"),
    **dict.fromkeys(("single", "单", "单个"), "single"),
    **{"above": "above", "大于": "above", "高于": "above", "below": "below", "小于": "below", "低于": "below"},
    **{"import": "import", "导入": "import", "export": "export", "导出": "export"},
}
"""Words that `lexicon` reads for their place in a sentence, and what stands for each where it counts what they say."""

CONTRARY: tuple[str, ...] = (
    "before|after",
    "import|export",
    "several|single",
    "above|below",
    "large|small",
    "old|new",
    "fast|slow",
    "high|low",
    "local|remote",
    "internal|external",
    "shared|separate|dedicated",
    "dynamic|static",
    "lazy|eager",
    "strict|lenient",
    "relative|absolute",
    "inclusive|exclusive",
    "online|offline",
    "blocking|nonblocking",
    "sequential|parallel",
    "horizontal|vertical",
    "light|dark",
    "uppercase|lowercase",
    "left|right",
    "early|late",
    "primary|secondary",
    "plaintext|encrypted",
    "signed|unsigned",
    "optional|required",
    "singular|plural",
    "active|passive",
    "central|distributed",
    "temporary|permanent",
    "nullable|nonnull",
    "native|hybrid",
    "denormalise|normalise",
    "本地|远程",
    "大|小",
    "新|旧",
    "高|低",
    "内部|外部",
    "共享|共用|独立|独占",
    "静态|动态",
    "严格|宽松",
    "相对|绝对",
    "在线|离线",
    "串行|并行",
    "横向|纵向",
    "大写|小写",
    "左|右",
    "明文|密文",
    "单数|复数",
    "主动|被动",
    "集中|分布",
    "临时|永久",
    "内网|外网|公网",
    "长连接|短连接",
    "横屏|竖屏",
    "正序|倒序",
    "前置|后置",
    "必填|选填",
    "批量|逐条",
)
"""Rows of words of which one place takes one."""

PLAIN = (
    "about|across|after|again|against|ago|almost|along|already|although|among|another|anything|anyway|around|aside|"
    "away|back|because|become|becomes|been|behind|being|beside|better|both|bring|brings|but|call|called|come|comes|"
    "contain|contains|could|did|different|do|done|during|each|either|else|enough|ever|every|few|first|follow|follows|"
    "found|full|fully|further|gave|gets|get|give|given|gives|go|goes|going|gone|good|got|half|handle|hand|happen|happens|"
    "has|have|having|he|hence|here|how|however|i|into|itself|just|keep|keeps|kept|kind|know|last|less|let|lets|like|line|"
    "live|lived|lives|long|look|made|make|makes|making|matter|mean|means|more|most|much|need|needs|never|next|nobody|"
    "nor|nothing|now|off|often|once|one|ones|onto|other|others|otherwise|out|part|place|placed|plain|please|possible|"
    "provide|provided|put|puts|quite|rather|real|really|reside|resides|run|runs|running|said|same|say|says|see|seen|"
    "since|sit|sits|so|some|somebody|something|still|such|take|takes|taken|taking|tell|than|them|then|they|thing|"
    "things|through|thus|together|too|toward|towards|try|turn|two|under|until|up|upon|us|very|via|want|was|way|well|were|"
    "what|whatever|when|where|whether|which|while|who|whole|whose|why|with|within|work|works|would|write|written|yet|you|"
    "your|older|earlier|newest|latest|carry|carries|carried|chosen|choice|option|options|decision|decide|decided|solution|"
    "alternative|alternatives|best|apply|applies|applied|concern|concerns|actual|certain|given|including|main|mainly|"
    "name|named|per|previous|relevant|respective|simple|simply|special|specific|usual|usually|various|"
    "即|方案|机制|方式|情况|相关|问题|规则|处理|实现|完成|直接|要求|需求|目前|之后|之前|同学|场景|时候|一遍|没问题|"
    "例如|比如|其余|其它|其他|自己|才|打|走|靠|带|做法|负责|提供|具体|整体|整个|部分|用于|产生|出现"
)
"""What any record could say."""

NEAR: tuple[str, ...] = (
    f"{LIMIT}|limited|cap|capped|budget|ceiling|threshold|quota|exceed|exceeds|上限|限制|阈值|门槛|超过|控制",
    "expire|expiry|expiration|valid|validity|lifetime|ttl|lifespan|有效期|过期|失效|到期|有效",
    "release|rollout|roll|ship|shipped|publish|deployment|上线|发布|发版|部署|投产",
    "delete|deletion|remove|removal|purge|drop|erase|clean|删除|清理|清除|移除|抹除|删",
    "flag|toggle|switch|开关",
    "storage|save|saved|retain|retention|persist|hold|held|保留|落库|入库|存储|写入|落盘|持久化",
    "page|pagination|paginated|paging|paged|分页",
    "digest|hash|hashed|哈希|摘要",
    "sign|signed|signature|签名",
    "retry|retried|reattempt|attempt|attempts|重试",
    "message|messages|消息",
    "send|sent|emit|emitted|push|pushed|deliver|delivered|发送|推送|下发|投递",
    "isolate|isolation|separate|separated|隔离|区分|分开",
    "repeat|repeated|duplicate|again|twice|重复|再次|多次",
    "review|reviewed|reviewer|approve|approved|approval|评审|审批|审核|审查",
    "merge|merged|合并",
    "event|events|事件",
    "schedule|scheduled|scheduler|cron|timer|调度|定时",
    "permission|permissions|privilege|权限",
    "endtoend|e2e|端到端",
    "migration|migrations|migrate|迁移",
    "latency|respond|responds|response|responses|answer|answers|reply|响应|耗时|延迟|返回|应答",
    "backup|backups|snapshot|dump|备份|快照",
    "id|identifier|编号|标识",
    "data|dataset|datasets|数据",
    "database|datastore|data store|db|库|数据库",
    "folder|directory|目录|文件夹",
    "trace|traces|tracing|链路|追踪",
    "collect|collected|gather|采集|收集|上报|汇总",
    "secret|secrets|credential|credentials|密钥|秘钥|凭证",
    "password|passwords|passphrase|密码|口令",
    "request|requests|call|calls|请求|调用",
    "throttle|throttled|限流|节流",
    "check|checked|verify|verified|validate|validated|validation|校验|验证|检查|核对",
    "query|queries|lookup|search|查询|检索|搜索|查",
    "fetch|fetches|read|reads|load|loads|pull|拉取|读取|获取|加载",
    "refuse|refuses|refused|reject|rejects|rejected|deny|denied|block|blocked|拒绝|拦截|拦下|阻止",
    "mask|masked|redact|redacted|anonymise|anonymize|打码|脱敏|掩码|屏蔽",
    "update|updates|updated|更新|刷新",
    "change|changes|changed|modify|modified|变更|改动|修改",
    "create|creates|created|generate|generates|generated|produce|produces|build|built|生成|创建|新建|产出|构建",
    "monitor|monitoring|watch|observe|监控|观察|监测",
    "fail|fails|failed|failure|error|errors|crash|crashes|crashed|失败|报错|异常|崩溃|出错",
    "lock|locks|locked|locking|加锁|锁",
    "version|versions|versioned|revision|版本",
    "start|starts|started|startup|boot|launch|启动|开机",
    "stop|stops|stopped|kill|kills|killed|die|dies|died|终止|杀掉|被杀",
    "connection|connections|连接|连接数",
    "size|sized|length|长度|大小",
    "minimum|min|最短|最少",
    "mobile|phone|app|application|应用|移动端|手机",
    "client|clients|consumer|consumers|caller|callers|客户端|调用方",
    "partner|partners|third party|external|合作方|三方|第三方|外部",
    "document|documented|documentation|docs|文档",
    "rule|rules|convention|guideline|standard|规范|约定|准则|标准",
    "field|fields|column|columns|字段|列",
    "row|rows|record|records|entry|entries|行|条目",
    "copy|copies|replica|replicas|副本",
    "background|async|后台|异步",
    "parallel|concurrent|concurrently|concurrency|并发|并行",
    "customer|customers|buyer|客户|顾客",
    "payment|payments|pay|pays|charge|charges|charged|支付|付款|扣款",
    "refund|refunds|refunded|退款",
    "picture|pictures|image|images|photo|photos|图片|图像|照片",
    "file|files|文件",
    "translate|translation|translations|i18n|locale|locales|multilingual|翻译|文案|国际化|多语言",
    "notify|notification|notifications|alert|alerts|通知|告警|提醒",
    "guard|protect|protected|protection|secure|secured|保护|防护|防止|避免",
    "encrypt|encrypted|encryption|加密",
    "compress|compressed|compression|pack|packed|zip|压缩",
    "upload|uploads|uploaded|上传",
    "sync|synchronise|synchronize|synced|replicate|replicated|replication|同步|复制|拷贝",
    "forward|forwards|relay|relays|route|routes|转发|路由",
    "manage|managed|manages|management|orchestrate|orchestrated|管理|维护|治理",
    "central|centralise|centralize|centralised|centralized|集中|统一管理",
    "automatic|automatically|automated|automate|自动",
    "guarantee|guarantees|ensure|ensures|enforce|enforces|enforced|保证|确保|强制",
    "order|ordered|sequence|sequential|顺序|有序",
    "self hosted|selfhosted|on premise|onpremise|自建|私有化",
    "traffic|load|流量",
    "server|servers|host|hosts|hosted|machine|machines|node|nodes|服务器|节点|主机|机器",
    "instance|instances|pod|pods|实例",
    "pipeline|pipelines|workflow|workflows|流水线|管道",
    "branch|branches|分支",
    "dependency|dependencies|依赖",
    "environment|environments|环境",
    "screen|screens|view|views|页面|界面",
    "button|buttons|按钮",
    "component|components|组件",
    "developer|developers|engineer|engineers|开发者|开发人员|工程师",
    "daily|nightly|每日|每天|每晚|夜间",
    "annual|yearly|每年",
    "audit|audits|audited|审计",
    "invoice|invoices|发票",
    "report|reports|reporting|报表|报告",
    "metric|metrics|指标",
    "dashboard|dashboards|看板|大盘",
    "rollback|revert|reverted|回滚|回退",
    "token|tokens|令牌",
    "login|log in|sign in|signin|登录|登陆",
    "logout|log out|sign out|注销|登出",
    "account|accounts|账号|账户",
    "tenant|tenants|租户",
    "device|devices|设备",
    "firmware|固件",
    "partition|partitions|partitioned|shard|shards|sharded|分区|分片|分库",
    "gate|gates|gated|guarded",
    "script|scripts|脚本",
    "train|trained|training|训练",
    "serve|serves|served|serving|inference|推理|在线服务",
    "compute|computes|computed|calculate|calculated|计算|统计",
    "amount|amounts|money|金额|钱",
    "integer|integers|int|long|整数|整型",
    "decimal|float|floats|double|浮点|浮点数|小数",
    "smallest|minor unit",
    "describe|described|define|defined|定义|描述",
    "name|named|命名",
    "cover|coverage|covered|覆盖|覆盖率",
    "split|splits|拆分|拆",
    "ban|banned|forbid|forbidden|禁止|禁用",
)
"""Rows of words of near meaning; the first stands for all."""
