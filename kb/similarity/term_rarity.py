"""How rare a term is among records of decisions: the less it says what a record is about, the lighter it weighs.

The tables hold English stems (`kb.text.segment.stem`) and pairs of Chinese characters that stand in many public
decision records: 1,729 in 34 repositories, each of equal weight. What no table names is rare.
"""

from __future__ import annotations

from functools import lru_cache

from kb.similarity.lexicon import PLAIN, SENSES
from kb.text.segment import stem

_EMPTY = frozenset(
    """
    add adding chang check cod commit continu creat delet error even everyth exampl fil find fix fold funct having
    help implement issu lat merg mov open pag point problem pull push re read refactor remov renam repo repositor
    runn second seem setup show start support task test thre tru updat use used user using verif wait
    """.split()
)
# In one record of ten or more, of twenty, of fifty
_FREQUENT = frozenset(
    """
    accept api record typ
    """.split()
)
_COMMON = frozenset(
    """
    agent allow app architectur bas build call cli client configur contract cor dat data default design doc
    document domain exist featur field follow git id includ json liv manag messag model modul non packag path per
    polic request requir result rs separ sess singl sourc spec specific stat stor target tim tool valid vers
    """.split()
)
_USUAL = frozenset(
    """
    abstract access across action ad adapt address adopt ai appl applic approach artifact attribut auth author
    authorit availabl avoid backend becom behavior behind best blob block boundar break built bundl cach canonical
    capabilit carr cas chain changelog channel ci claim class clos cloud clust collect command complet component
    concept config connect consum contain content control convers cross current custom databas db decid defin
    dependenc deriv describ detail develop different directl distribut draft eas enabl endpoint engin entr
    environment evalu event evidenc execut explicit export expos extens external fail fetch flag flow form format
    full futur gat gener graph group hash head high host hub identit import index initial input install instanc
    instead integr interfac internal introduc item job key label languag lay level librar limit link list lit load
    local log logic machin main maintain management map mark markdown match mechanism metadata method migr miss
    mod multi multipl namespac nativ nod numb object oper optional ord output paramet pars pass pattern phas
    pipelin plac plan platform port possibl post pr preserv process produc product profil prompt propos protocol
    provenanc public publish py python quer raw ref referenc registr relat releas remain remot render replac
    report requirement resolv respons rest retr return review root rout rul runtim schema scop script sdk seam
    sect select semantic send serv servic shap shar shell ship sid sign solut split src stabl standard step storag
    strateg string structur styl summar supersed surfac sync system tabl tag text titl token trac track transact
    transport turn ui url usag valu version view vs web wir workflow yaml
    """.split()
)
_COMMON_PAIRS = frozenset(
    """
    业务 事件 产出 什么 仓库 代码 任何 依赖 保留 入口 全部 公开 内容 内部 写入 决定 决策 出口 函数 分支 分类 创建
    删除 判定 判断 原样 参数 同步 名单 命令 命名 声明 备选 外部 失败 字段 完整 实现 审查 客户 导航 工作 工具 当前
    影响 必须 恢复 截断 执行 提交 插件 收敛 改动 数值 文件 文档 新增 方案 无法 日志 日期 映射 显式 服务 架构 标题
    核实 模块 模型 模式 正确 注册 测试 消费 状态 独立 生产 目录 目标 直接 相关 真实 知识 确定 确认 移除 窗口 端口
    第二 签名 类型 约束 结构 结果 维度 缓存 自动 自己 范围 落地 覆盖 解析 触发 设置 评审 语义 说明 请求 路径 身份
    转发 轮询 边界 迁移 运行 返回 连接 通过 部分 配置 重复 重试 错误 阶段 项目 验证 默认
    """.split()
)
# Characters that hold a Chinese sentence together: a pair that has one is no word of its own
_BINDING = frozenset(
    "一上不与且个中为也了于从以会但做其再则到即去及只可各后向和在如它对将就已并或所把按时是有本来此每用由"
    "的等给而能若被要让该走还这那都里"
)
# Marks of words that order a statement
_ORDERING = frozenset("must|may|need not|not|use|as|as the|for|over|is|in|from|to|order|and|also|except|".split("|"))


@lru_cache(maxsize=4096)
def weigh_term(term: str) -> float:
    """Return how much *term*, a stem or two Chinese characters, tells of a subject (0.0–1.0)."""
    if not term.isascii():
        if SENSES.get(term, ("term",))[0] in _ORDERING:
            return 0.0
        return 0.4 if len(term) < 2 or not _BINDING.isdisjoint(term) else 0.6 if term in _COMMON_PAIRS else 1.0
    if term in _EMPTY or term in _list_plain_stems() or (len(term) < 2 and not term.isdigit()):
        return 0.0
    return 0.3 if term in _FREQUENT else 0.5 if term in _COMMON else 0.7 if term in _USUAL else 1.0


@lru_cache(maxsize=1)
def _list_plain_stems() -> frozenset[str]:
    """Return the stems of the words that order a statement or that any record could say."""
    ordering = (word for word, (mark, _) in SENSES.items() if word.isascii() and mark in _ORDERING)
    return frozenset(form for word in (*PLAIN.split("|"), *ordering) for form in (word, stem(word)))
