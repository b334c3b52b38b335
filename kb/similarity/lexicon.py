"""The one lexicon: which words mean the same and which exclude each other, English and Chinese.

Tables only. A row is its words between bars, a table its rows between semicolons or line ends. A row that begins with
`~` is loose: its words may replace each other in a sentence about the same thing, which is too loose where exactly one
thing is asked for. Loose rows are read only where a person or an agent looks at the result, single words at a time,
and by their stems: "retry" stands for "retries" as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from kb.similarity.word_marks import MARKS, UNITS, WHOLE_WORDS, split_rows
from kb.text.segment import strip_inflection

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
monorepo|polyrepo|multirepo|单仓|多仓 @ repository;
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
gitlab ci cd = gitlab ci; argon2id = argon2; es = elasticsearch
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


RIVAL_ROWS: Mapping[str, frozenset[int]] = _build_rival_rows()  # Name → the rows of RIVALS it stands in

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
    """Return word → the loose row of OPPOSITES it stands in, by its first word; also for the inflected forms."""
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
