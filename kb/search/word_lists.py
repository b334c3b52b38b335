"""Stop words and Chinese word boundaries: lists by which a question is cut into terms."""

from __future__ import annotations

from collections.abc import Mapping


def _parse_words(words: str) -> frozenset[str]:
    return frozenset(words.split())


FUNCTION_EN = _parse_words(
    """
    a about above after again against all also am an and any are aren as at be because been before being below between
    both but by can could couldn d did didn do does doesn doing don down during each either else few for from further
    had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just let ll m many me might mine more most must my myself no nor not now of off on once only or other our ours
    ourselves out over own please re s same shall she should shouldn so some such t than that the their theirs them
    themselves then there these they this those through thus to too under until up upon us ve very was wasn we were
    weren what whatever when where whether which while who whom whose why will with within without won would wouldn yes
    yet you your yours yourself yourselves
    """
)
# Words that only hold a sentence together, in English and, one character each, in Chinese
FUNCTION_ZH = frozenset("的了吗呢吧啊呀嘛么是我你您他她它们这那哪谁就也都很把被给让和与或在个没嗯哦之其有什怎几")

# Words that say how something is asked, or that any piece of programming work is about; none tells two records
# apart.
STOP_EN = _parse_words(
    """
    about above actually add added adding after again ahead all already also always am an and another any anything are
    aren around as at away back be because been before being below better both bug bugs but by came can cannot change
    changed changes changing check checked checking code come commit commits continue could couldn create created
    creating delete did didn do does doesn doing don done down each either else enough error errors etc even ever
    every everything example explain few file files find finish first fix fixed fixes fixing folder for from function
    functions further get gets getting give given go goes going gone good got great had handle handled handles
    handling has hasn have haven having he hello help her here hey hi him his how however if implement implementation
    implemented improve in into is isn issue issues it its itself just keep kind know last later least less let like
    line lines little ll long look looking looks lot made make makes making many may maybe me mean merge might mine
    more most move much must my name need needed needs never new next nice no not nothing now of off ok okay old on
    once one only onto open or other our out over own page part perhaps please point print problem problems project
    pull push put question quite rather re read ready really refactor remove removed rename repo repository right run
    running runs said same saw say says second see seem seems seen set setup shall she should shouldn show shown
    simply since so some something soon start started still stop such support sure take taken task tasks tell test
    tested testing tests than thank thanks that the their them then there these they thing things think this those
    though three through thus to todo together told too took toward tried true try trying two under until up update
    updated updates updating upon us use used useful user uses using usually ve verify very via wait want wanted wants
    was wasn way ways we well went were weren what whatever when where whether which while who whole whose why will
    with within without won wonder work worked working works would wouldn write written wrong yes yet you your yours
    """
)

STOP_ZH = _parse_words(
    """
    的 了 吗 呢 吧 啊 呀 嘛 么 是 我 你 您 他 她 它 们 这 那 哪 谁 就 也 都 很 把 被 给 让 和 与 或 在 个 没 嗯 哦
    什么 为什么 怎么 怎么样 怎样 如何 多少 几个 哪些 哪个 哪里 是否 是不是 有没有 能不能 可不可以 要不要 能否 可否
    我们 你们 他们 它们 大家 自己 这个 那个 这些 那些 这里 那里 这样 那样 这么 那么 此外 其中 其他 其它 另外 另一个
    可以 可能 能够 应该 应当 需要 想要 希望 打算 准备 不要 不能 不会 不是 不用 不行 没有 还没 还是 还有 就是 只是 只要
    只有 而且 并且 或者 以及 但是 不过 然而 如果 假如 因为 所以 因此 由于 虽然 然后 接着 接下来 首先 其次 最后 之后
    之前 以后 以前 的话 时候 现在 目前 今天 刚才 刚刚 已经 正在 马上 一直 一下 一个 一些 一样 一起 一点 有点 有些
    所有 全部 每个 任何 整个 非常 比较 特别 真的 其实 当然 大概 关于 对于 根据 按照 通过 进行 觉得 认为 知道 看到
    看看 看下 看一下 说说 想想 试试 帮我 帮忙 麻烦 请问 请帮 请把 请用 请给 谢谢 感谢 多谢 你好 您好 好的 好吧 可以吗
    行吗 对吗 辛苦 继续 没错 没问题 不错 明白 清楚
    问题 功能 代码 项目 工程 文件 目录 函数 实现 修改 更改 改成 改为 改一下 添加 增加 新增 加上 加一个 去掉 删除 删掉
    使用 运行 执行 跑一下 测试 检查 查看 查找 确认 处理 完成 开始 停止 更新 修复 解决 优化 重构 支持 提交 合并 推送
    创建 新建 生成 设置 分析 解释 说明 总结 阅读 编写 写一个 写个 东西 事情 情况 方法 方式 内容 部分 地方 下面 上面
    任务 步骤 相关 报错 错误 有用 出现 发现 导致
    """
)
# Words that hold a function character and are none.
KEPT_ZH = _parse_words(
    """
    在线 存在 正在 请求 目的 和解 饱和 参与 个人 与否 个性 被动 给定 就绪 都市 在途 对象 对话 对账 对比 从库 为空 到期
    到达 向量 将来
    """
)

LEADING_ZH = frozenset("为在对从到向将请")
# Characters that hang on a word of two when a piece has an odd length: 为支付服务, 框架用
TRAILING_ZH = frozenset("用时中里上下后前等")

# Characters that close a word of three, as in 数据库 and 服务器
WORD_ENDINGS_ZH = frozenset("库器化性率层端表键流图机量值区页栈链池")

# The lists above by name, for a search that is no part of kb.
WORD_LISTS: Mapping[str, frozenset[str]] = {
    "function_en": FUNCTION_EN,
    "function_zh": FUNCTION_ZH,
    "stop_en": STOP_EN,
    "stop_zh": STOP_ZH,
    "kept_zh": KEPT_ZH,
    "leading_zh": LEADING_ZH,
    "trailing_zh": TRAILING_ZH,
    "endings_zh": WORD_ENDINGS_ZH,
}


def is_function_word(word: str) -> bool:
    """Return whether *word* only holds a sentence together: "the", "am", 的."""
    return word.casefold() in FUNCTION_EN or word in FUNCTION_ZH
