"""The words by which two statements are compared: duties, choices, fillers, synonyms, rivals; English and Chinese.

Tables only. A new word is one word in a row here; `statement` reads the rows and knows no word by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
"""Mark → the phrases that carry it."""

WHOLE_WORDS = (
    "应用|用户|作用|费用|可用|通用|专用|引用|调用|复用|重用|信用|可靠|可见|可变|可读|可写|可扩展|是否|选项|为了|因为|行为|作业|操作|工作|"
    "合作|不同|不变|一致|不一致|不可变|供应|响应|适应|对应|应答|需求|必要|做法|在线|存在|正在|从库|从属|主从|到期|到达|与否|"
    "及时|以上|以下|以内|可能|能力|性能|功能|智能|由于|自由|理由|路由|来源|未来|来自|选举|筛选|候选|别名|级别|类别|识别|区别|分别|特别|"
    "作者|制作|写作|副作用|当天|应急|无状态|无锁|无关|未知|未读|接口|地址|地区|时间|时区|上传|上线|上游|上限|上下文|后台|后缀|中间件|里程碑|"
    "内存|内网|内部|内容|主键|主机|主题|主干|主线|对象|对外|对账|对内|方向|向量|面向|经验|过期|过滤|过程|通过率|要点|摘要|主从|重要|"
    "别人|别处|不错|不仅|不只|不断|不管|不论|差不多|不足|不良|不等|不限|合并|并发|并行|改动|改造|设计|设备|等级|等待|类型|属性|特性|一致性|幂等性|就绪|再次|只读|只写|得分|全局|更新|事务|任务|数据|文件|目录|表|列|行"
)
"""Chinese words that stand whole although a shorter word of the table is inside."""

SYNONYMS: tuple[str, ...] = (
    "backend|back end|server side|后端|服务端|服务器端",
    "frontend|front end|client side|前端",
    "framework|框架",
    "database|db|数据库",
    "cache|caching|缓存",
    "queue|queues|queueing|queuing|队列",
    "broker|message broker|message queue|message bus|消息队列|消息中间件",
    "log|logs|logging|日志",
    "format|格式",
    "language|语言",
    "port|端口",
    "timeout|time out|超时|超时时间",
    "continuous integration|ci|持续集成",
    "test|tests|testing|测试",
    "package manager|包管理器|包管理工具",
    "indentation|indent|indents|缩进",
    "licence|license|许可证|许可协议",
    "protocol|协议",
    "tool|tooling|tools|工具",
    "build|building|构建",
    "strategy|策略",
    "algorithm|算法",
    "style|风格",
    "storage|store|stores|stored|storing|存储|保存|存放|存",
    "search|搜索|检索",
    "authentication|auth|认证|鉴权",
    "monitoring|监控",
    "deployment|deploy|deploys|部署",
    "library|类库",
    "convention|规范|约定",
    "naming|命名",
    "encoding|编码",
    "engine|引擎",
    "model|模型",
    "interface|api|apis|接口",
    "output|outputs|输出",
    "session|sessions|会话",
    "write|writes|written|编写|写",
    "order|orders|订单",
    "user|users|用户",
    "production|prod|生产|线上|生产环境|线上环境",
    "staging|预发|预发布|预发环境|预发布环境|灰度",
    "development|dev|开发环境|本地开发",
    "at most|no more than|not more than|up to|no later than|maximum|"
    "最多|至多|不超过|不多于|不大于|不高于|不晚于|最大|最长|最高",
    "at least|no less than|not less than|minimum|至少|最少|不少于|不低于|不小于|不早于|最小|最短|最低",
    "window|窗口|窗口期",
    "level|级别",
    "primary key|主键",
    "time zone|timezone|时区",
    "gateway|网关",
    "registry|注册中心",
    "configuration center|config center|configuration server|配置中心",
    "scheduler|调度器|任务调度",
    "proxy|代理|反向代理|reverse proxy",
    "template engine|模板引擎",
    "separator|delimiter|分隔符",
)
"""Words of one meaning; the first stands for all. Two languages meet here."""

PLACES = frozenset({"production", "staging", "development", "test"})
"""Where a statement may hold without holding elsewhere."""

SLOTS = frozenset(
    (*("framework", "language", "library", "format", "protocol", "broker", "style", "strategy", "algorithm"),
     *("convention", "licence", "engine", "template engine", "package manager", "indentation", "encoding", "naming"),
     *("separator", "orm", "linter", "formatter", "bundler", "compiler", "tool", "model", "level", "primary key"),
     *("time zone", "模式", "方式", "机制"))
)  # fmt: skip
"""What has one filler at a time, whatever it is."""

HOLDERS = frozenset(
    (*("database", "cache", "queue", "storage", "search", "registry", "configuration center", "gateway", "proxy"),
     *("continuous integration", "build", "deployment", "scheduler", "provider", "platform"))
)  # fmt: skip
"""What has one filler at a time where both fillers are names of products."""

RIVALS: tuple[tuple[str, str], ...] = (
    (
        "fastapi|flask|django|tornado|sanic|express|koa|nestjs|fastify|spring boot|quarkus|micronaut|rails|laravel|gin|"
        "fiber|actix|axum|ktor",
        "web|backend|framework",
    ),
    (
        "postgresql|mysql|mariadb|sqlite|oracle|sql server|mongodb|cockroachdb|tidb|oceanbase|cassandra|dynamodb|h2",
        "database|relational|storage|数|据|数据",
    ),
    ("redis|memcached|valkey|hazelcast|caffeine", "cache"),
    ("kafka|rabbitmq|nats|pulsar|activemq|sqs|rocketmq", "broker|message|queue|event|消|息"),
    ("react|vue|angular|svelte|solidjs|preact", "frontend|framework|web"),
    ("redux|zustand|mobx|pinia|vuex|recoil|jotai", "state|management"),
    ("pytest|unittest|nose", "unit|test|python|单|元"),
    ("jest|vitest|mocha|jasmine", "unit|test|javascript|单|元"),
    ("junit|testng|spock", "unit|test|java|单|元"),
    ("playwright|cypress|selenium|puppeteer", "end|browser|test|e2e"),
    ("npm|yarn|pnpm|bun", "package manager"),
    ("pip|poetry|pipenv|uv|pdm|conda", "package manager|python"),
    ("maven|gradle|bazel|ant", "build|tool"),
    ("webpack|vite|rollup|esbuild|parcel", "bundler|build|tool"),
    (
        "github actions|jenkins|gitlab ci|circleci|travis|travis ci|azure pipelines|drone|buildkite|teamcity",
        "continuous integration|pipeline",
    ),
    ("aws|gcp|azure|google cloud|aliyun|阿里云|腾讯云|华为云", "cloud|provider|云|平|台"),
    ("terraform|pulumi|cloudformation|opentofu", "infrastructure|code"),
    ("helm|kustomize|jsonnet", "manifest|kubernetes"),
    ("kubernetes|nomad|docker swarm", "orchestration|container"),
    ("docker|podman", "container"),
    ("nginx|caddy|traefik|apache|haproxy|envoy", "proxy|reverse|web|server"),
    ("elasticsearch|opensearch|solr|meilisearch|typesense", "search|engine|full|text"),
    ("faiss|milvus|qdrant|pgvector|chroma|weaviate|pinecone", "vector|database|storage|向量"),
    ("flake8|ruff|pylint", "linter|lint"),
    ("eslint|biome|tslint", "linter|lint"),
    ("black|yapf|autopep8", "formatter|format"),
    ("sqlalchemy|peewee|tortoise", "orm"),
    ("hibernate|mybatis|jooq", "orm"),
    ("alembic|flyway|liquibase", "migration|schema"),
    ("bcrypt|argon2|argon2id|scrypt|pbkdf2|md5", "password|hash|密|码|哈|希"),
    ("sha1|sha256|sha512|blake3", "hash|checksum|哈|希"),
    ("monorepo|polyrepo|multirepo|单仓|多仓", "repository"),
    ("trunk based development|git flow|gitflow|github flow", "branch|branching|model"),
    ("squash|rebase|merge commit", "merge"),
)
"""Names of which one place takes one, and the words such a place is usually named by. Common ones only."""

OPPOSITES: tuple[str, ...] = (
    "go|rust|java|kotlin|python|c++|c#|ruby|php|scala|typescript|javascript",
    "tab|tabs|制表符||space|spaces|空格",
    "rest|graphql|grpc|soap",
    "json|yaml|toml|xml|protobuf|avro|msgpack|csv|parquet|logfmt|plain text|纯文本",
    "snakecase|camelcase|kebabcase|pascalcase|下划线|驼峰|小驼峰|大驼峰",
    "mit|apache 2.0|gpl|agpl|mpl|lgpl",
    "optimistic|pessimistic",
    "乐观锁|悲观锁",
    "synchronous|asynchronous",
    "synchronously|asynchronously",
    "同步|异步",
    "uuid|ulid|snowflake|自增|雪花",
    "monolith|microservices|单体|微服务",
    "strong|eventual",
    "强一致|最终一致",
    "push|pull",
    "推送|拉取",
    "public|private",
    "公开|私有",
    "utc|local time|本地时间",
    "soft|hard",
    "软删除|逻辑删除||物理删除|硬删除",
    "gross|net",
    "clientside|serverside",
    "客户端渲染|服务端渲染",
    "manual|automatic",
    "manually|automatically",
    "手动|自动",
    "incremental|full",
    "增量|全量",
    "实时|离线",
    "ascending|descending",
    "升序|降序",
    "optin|optout",
    "whitelist|allowlist||blacklist|denylist",
    "白名单|黑名单",
    "mutable|immutable",
    "stateful|stateless",
    "有状态|无状态",
)
"""Words that exclude each other only where all the rest of two statements is the same; `||` joins writings of one."""

OPPOSED_VERBS: tuple[tuple[str, str, str], ...] = (
    ("include", "include|includes|included|包含|包括", "exclude|excludes|excluded|排除|不包含|不包括"),
    ("show", "show|shows|shown|显示|展示", "hide|hides|hidden|隐藏"),
    ("accept", "accept|accepts|accepted|接受|接收", "reject|rejects|rejected|拒绝|拒收"),
)
"""One deed and its opposite: the deed, its words, the words of the opposite."""

ALIASES: Mapping[str, str] = {
    "postgres": "postgresql",
    "k8s": "kubernetes",
    "mongo": "mongodb",
    "golang": "go",
    "js": "javascript",
    "ts": "typescript",
    "vuejs": "vue",
    "vue.js": "vue",
    "reactjs": "react",
    "react.js": "react",
    "kafka streams": "kafka",
    "elastic search": "elasticsearch",
    "gitlab ci cd": "gitlab ci",
    "argon2id": "argon2",
    "es": "elasticsearch",
}

REASONS = (
    " because | since | so that | in order to | due to | as it | as they |, as | given that |"
    "因为|由于|以便|从而|为了|因此|所以|以免|——"
)
"""Where a statement ends and its reason begins."""

LABELS = frozenset(
    (*("step", "phase", "stage", "part", "chapter", "section", "level", "tier", "sprint", "milestone", "adr"),
     *("rfc", "issue", "ticket", "epic", "iteration", "quarter", "centos", "ubuntu", "debian", "windows", "http"),
     *("tls", "ipv", "阶段", "步骤", "第", "附录"))
)  # fmt: skip
"""Words whose number is a name, not a setting."""

SETTERS = frozenset(
    (*("port", "version", "limit", "timeout", "size", "count", "ratio", "rate", "return", "returns", "respond"),
     *("answer", "status", "budget", "ttl", "retention", "depth", "level", "at most", "at least", "window", "expires"),
     *("expire", "listen", "listens", "返回", "版本", "上限", "下限", "率", "数"))
)  # fmt: skip
"""Words whose number is a setting."""

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

UNITS: Mapping[str, tuple[str, float]] = {
    **{word: ("time", factor) for words, factor in _TIME.items() for word in words.split("|")},
    **{word: ("bytes", factor) for words, factor in _BYTES.items() for word in words.split("|")},
    **dict.fromkeys(("%", "percent", "per cent", "％"), ("share", 1)),
    **{word: (word, 1) for word in _COUNTS.split("|")},
}
"""Unit → what it measures and how much of it one is."""

NUMERALS: Mapping[str, int] = {
    word: value
    for value, words in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"],
    )
    for word in (words,)
} | {"twenty": 20, "thirty": 30, "sixty": 60, "ninety": 90, "once": 1, "twice": 2}


def _build_senses() -> dict[str, tuple[str, str]]:
    """Return phrase → (mark, what stands for it); later rows win over earlier ones."""
    senses = {word: ("term", word) for word in (*WHOLE_WORDS.split("|"), *UNITS)}
    senses |= {phrase: (mark, phrase) for mark, phrases in MARKS.items() for phrase in phrases.split("|")}
    for deed, does, undoes in OPPOSED_VERBS:
        senses |= dict.fromkeys(does.split("|"), ("term", deed))
        senses |= dict.fromkeys(undoes.split("|"), ("undo", deed))
    for row in SYNONYMS:
        first = row.split("|")[0]
        senses |= dict.fromkeys(row.split("|"), ("term", first))
    names: Iterable[str] = (name for row, _ in RIVALS for name in row.split("|"))
    senses |= {name: ("term", name) for name in names}
    senses |= {name: ("term", name) for row in OPPOSITES for name in row.replace("||", "|").split("|")}
    senses |= {alias: ("term", name) for alias, name in ALIASES.items()}
    return senses


def _build_rival_rows() -> dict[str, frozenset[int]]:
    rows: dict[str, set[int]] = {}
    for number, (names, _) in enumerate(RIVALS):
        for name in names.split("|"):
            rows.setdefault(name, set()).add(number)
    return {name: frozenset(numbers) for name, numbers in rows.items()}


def _build_opposites() -> dict[str, tuple[int, int]]:
    return {
        name: (row, group)
        for row, words in enumerate(OPPOSITES)
        for group, part in enumerate(_split_groups(words))
        for name in part
    }


def _split_groups(words: str) -> list[list[str]]:
    if "||" in words:
        return [part.split("|") for part in words.split("||")]
    return [[name] for name in words.split("|")]


SENSES: Mapping[str, tuple[str, str]] = _build_senses()
"""Phrase, folded → its mark and the word that stands for it."""

PHRASE_STARTS = frozenset(phrase.partition(" ")[0] for phrase in SENSES if " " in phrase)
"""The first words of phrases of several words."""

RIVAL_ROWS: Mapping[str, frozenset[int]] = _build_rival_rows()
"""Name → the rows of RIVALS it stands in."""

OPPOSITE_OF: Mapping[str, tuple[int, int]] = _build_opposites()
"""Word → its row in OPPOSITES and the group of writings it belongs to."""
