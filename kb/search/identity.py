"""Tell a question about the person who asks it: who they are, how they like to work, what is kept of them.

Each word of the line becomes the letter of its class, in either language, and a few patterns over these letters are
the grammar: what asks, whom it asks about, and of what. “What's my role” and 我是什么角色 both ask for a trait of the
speaker. A word of the work vetoes (“my role in the IAM policy”), and a word for what people have habits in vetoes the
weaker patterns only (“what's my branch”, but “how do I like my branches named”).
"""

from __future__ import annotations

import re
from functools import cache
from itertools import islice, product

from kb.startup.lazy_regex import regex
from kb.text.segment import has_cjk

_MAX_READINGS = 64  # of a line: a word may be of two classes, and is tried as either
_MAX_CHARACTERS = 6  # of a Chinese word of the table

_EN = """
I: i
M: me myself
Y: my mine
U: you ya u your yours yourself
J: we us
O: who whom whose
W: what which where when how
j: do
n: need find put add get see import pass run go miss gain lose owe wait check doing missing right wrong allowed
  blocked waiting running getting seeing looking using trying going about sure stuck able ready done overlooking
  debugging building affected close ahead behind due
A: howdo do does did have has had is are were be been got would whats
a: am was
D: can could should must may shall need
F: pls plz thanks yet personally in to for with at from and or if that as by so again here now still even really
  ever already actually please hey hi hello ok okay right then else more all everything anything something anyone
  some any just exactly currently today last week time before yesterday earlier previous previously past month
  session sessions not no also too far myself's it there out up going according based because but though both together
d: a an the this these those
B: about of on regarding concerning
R: tell show list give remind print display read repeat open pull recap check guess
r: describe introduce summarise summarize characterise characterize profile portray sketch picture sum
K: idea know knows known remember remembers recall recognise recognize forget forgot forgotten learned learnt
  understand noted stored saved recorded kept keep store gathered collected memorised memorized memory memories
  notes note onfile knowledge record records say says think hold picked figured
S: picked chose chosen gave given told tell said mention mentioned ask asked share shared explained introduced
  stated specified request requested say said
w: want wanted supposed expect expected
P: favourite favorite favourites favorites like likes liked prefer prefers preferred love hate dislike enjoy favour
  favor avoid value appreciate despise loathe care detest mind
H: usually normally generally typically always often mostly tend habitually regularly
E: mannerisms restrictions lunch breakfast dinner allergy pastime pastimes humour humor passions passion faith
  religion preference preferences prefs habits habit quirks quirk dislikes personality persona bio biography
  pronouns nickname birthday hobbies hobby hometown peeve peeves pet-peeves tastes taste self-introduction workstyle
  stance take interests strengths weaknesses diet allergies attitude opinion spots wish wishes coffee tea
T: card german french english spanish chinese mandarin italian japanese russian accent diploma university school
  college previously-held sign zodiac height birthdate birth style styles name names surname role roles job title
  titles position occupation profession profile background backgrounds identity tone skill skills goals goal
  ambitions seniority expertise experience level levels specialty speciality specialism timezone tz location city
  country language languages tongue birthplace age years hours schedule routine days details personality career
  trade field education degree stack nationality email e-mail handle preferred day responsibilities resume cv
  address office desk family pets pet dog cat kids partner info information data
G: phone tablet car bike desk chair headphones device devices editor editors ide ides shell terminal keyboard layout
  os laptop browser font theme mouse setup tools tool toolchain frameworks distro computer monitor framework
g: vim neovim nvim emacs vscode intellij pycharm goland sublime zed helix fish zsh bash tmux macos mac linux windows
  ubuntu tabs spaces
C: team squad department company employer manager boss lead supervisor mentor group organisation organization
  division
Z: person guy dev developer engineer programmer coder designer manager beginner expert senior junior lead morning
  night vegetarian student tester analyst architect user worker newbie newcomer freelancer contractor intern human
  frontend backend fullstack vegan woman man somebody someone admin
Q: into fond keen fluent-in based called named located born interested good bad best fluent new left-handed
  right-handed senior junior vegetarian colour-blind color-blind experienced responsible comfortable old tall
  technical familiar skilled qualified allergic married strong weak addressed advanced proficient
L: off away worked studied lived attend belong live lives reside work works come speak study studied goby reportto
  specialise specialize drink eat commute grow start finish stop sleep
l: living professionally
v: asking talking speaking chatting helping assisting dealing serving working pairing
N: explained worded phrased format-of-answers blunt answer answers answered answering reply replies respond response
  responses replying responding explain explanations explanation address call called greet speak talk feedback emoji
  emojis tone treat refer wording verbosity
u: use using used run type code write work works writing coding working
m: met meet talked spoken chatted worked
p: makes annoys annoy bothers bother irritates irritate bugs motivates upsets pleases
X: code commit commits branches merge rebase squash pr prs pull reviews review tests test testing tdd docs
  documentation comments comment functions variables naming indent format git indentation plans
t: linter db database databases docker cache queue dependency dependencies package packages library libraries module
  modules class classes table tables script scripts pipeline ci deploy deploys deployment version versions build
  builds cloud formatter testrunner orm compiler
V: api apis signin why error errors fail fails failing failed failure crash crashes crashing broken null undefined
  exception exceptions return returns returned logged log logs logging login logout signed token tokens jwt endpoint
  endpoints request requests server servers service services container containers kubectl k8s kube cluster namespace
  pod aws gcp azure iam policy policies permission permissions sudo root ssh schema column columns query queries sql
  config configs configure configuration env variable function method methods import imports deployed repo repos
  repository repositories branch file files folder folders directory directories page pages app apps ui component
  components form button users customer customers client clients tenant tenants guest accounts npm pip whoami port
  ports ip hostname localhost password key keys credentials install installing upgrade fix implement debug refactor
  issue issues ticket tickets task tasks job-queue process processes thread threads job-runner slow loop line lines
  crashed bug bugs webhook checkout cart order orders invoice invoices payment payments saving rendering migration
  migrations feature features change changed changes update edit rename delete remove reset add create switch
  replace erase wipe upload export cron production staging prod work-item assigned cookie cookies header headers
  localstorage node stacktrace binding bindings resume-upload screen screens frame model models prompt prompts rbac
  acl ldap sso
o: colleague colleagues teammate teammates coworker coworkers wife husband friend friends everyone others somebody
"""
_ZH = """
I: 我 本人 俺 我自己 我本人 我个人 我这个人 我这人
J: 我们 咱们 咱俩 咱 我俩 我跟你以前 我和你以前
-: 我司 我方 我该 我应该 我要不要 我需要 我能 我能不能 我可以 我可不可以 我必须 我是不是该 我是不是应该 我是不是要
  我如何 我得 我要 我刚 我刚才 我刚刚 我想 我这边 我这里 我本地
F: 怎么写的 怎么记的 怎么说的 给我 帮我 替我 为我 告诉我 提醒我 让我 教我 我想知道 我想问 我想了解 我想看看 我想确认
  我想听听 我问一下 我问问 我忘了 跟我说说 跟我讲讲 和我说说 给我讲讲 给我说说 的 了 过 得 着 在 都 还 也 就 才 又
  再 可 能 会 要 有 把 被 请 请问 那 那么 到底 究竟 其实 现在 目前 今年 之前 以前 曾 曾经 当初 刚开始 上次 上周 些
  个 点 一下 下 里 上 中 这儿 这里 那儿 那里 这 边 呀 啊 哦 嘛 吧 啦 嘿 喂 你好 嗨 总 全 所有 全部 大概 具体 自己 及
  和 与 或 以及 做 搞 干 写 讲 说 分别 不太 很 比较 更 最 特别 真的 以后 今后 每次 一共 总共 来 去 起 到 从 对于
  方面 时 时候 一 两句话 几句话 简单 句话 用于 知识库 这个 那个 主要 常年 大致 大体 好像 应该 靠 只 先
k: 我想让你 我要你 我希望你 我想要你 我让你 我叫你 我喜欢你 我要求你
U: 你 您 你们 你这边 你那边 你这儿 你那儿 你这里 你那里
W: 周几 星期几 礼拜几 有多 什么 啥 哪 哪个 哪些 哪里 哪儿 哪种 哪位 哪门 哪款 哪套 哪家 哪年 哪一年 哪天 哪几个 哪几
  谁 多少 几 几个
  几点 几年 怎么 怎样 如何 啥样 什么样 什么样的 怎么样 多久 何 咋 何时 多长 多早 多晚 干嘛 干啥 啥时候 什么时候 做啥
  哪一类 哪一种 何种 哪类 怎么个
q: 吗 么 呢 没有 没 不 来着 是否 是不是 有没有 还是 有无 不记得 或者 吧
R: 说说 讲讲 说一下 讲一下 列 列出 列一下 列举 总结 概括 展示 显示 查查 查一下 查看 查 看看 看下 看一下 翻翻 念 复述
  回忆 汇总 聊聊 告诉 猜猜 猜 谈谈 打开 调出 梳理 整理 归纳 回顾 翻出 讲述 背一下 念念 数数 输出 打印 翻一下 盘点
r: 看待 描述 介绍 形容 评价 画像 点评 总结 概括 描述下 介绍下 形容下 评价下 总结下 描绘 刻画 猜猜
K: 记得 记不记得 记住 记着 记录 记下 记了 记过 记 知道 知不知道 晓得 了解 清楚 认识 认得 认不认识 认识不认识 存 存了
  存着 存的 保存 掌握 印象 有印象 留着 收集 记忆 熟悉 记忆里 记忆中 心里 心中 心目中 眼里 眼中 看来 印象里 印象中 忘
  忘记 备案 登记 存档 笔记 档案里 笔记里 记性 搞清楚 摸清
P: 喜欢 讨厌 偏好 偏爱 偏向 爱 在意 在乎 看重 反感 受不了 倾向 忌讳 关心 习惯 热爱 最怕 怕 爱用 常用 惯用 推崇
  不喜欢 嫌 烦 习惯于 习惯用 介意 追求 爱好 钟爱 偏爱用 喜不喜欢 钟情 排斥
H: 最近 一直 平时 一般 通常 平常 经常 常 总是 老是 往往 日常 向来 每天 每周 通常会 一般会 一贯
E: 偏好设置 个人设置 个人偏好
  规矩 口头禅 座右铭 忌口 信仰 执念 追求 花名 态度 立场 咖啡 茶 偏好 喜好 爱好 习惯 性格 个性 脾气 口味 忌讳 雷区
  自我介绍 生日 昵称
  外号 绰号 小名 英文名 兴趣 风格 作风 特点 特长 优点 缺点 强项 弱项 短板 癖好 作息 画像 禁忌 星座 属相 老家 家乡
  讲究 底细 怪癖 优势 长处 短处 软肋 性子 喜恶 好恶 癖性
T: 档案里 资料里 记录里
  德语 法语 英语 日语 韩语 粤语 普通话 俄语 外语 工号 手机 手机号 学校 大学 母校 生肖 身高 血型 家 名字 姓名 全名
  称呼 角色 职位 岗位 职务 职称 职业 工种 工作 身份 背景 资料 档案 履历 简历 经历 目标 专业 专长 擅长 经验 水平 级别
  职级 年限 技术栈 技能 时区 城市 母语 语言 语气 信息 情况 事 事儿 事情 要求 工龄 年龄 岁数 行业 方向 领域 职责 邮箱
  学历 国籍 籍贯 住址 家庭 孩子 宠物 猫 狗 技术背景 资历 人设 来历 打算 分工 本行 老本行 主业 东西 内容 记录 大名
  花名 尊姓大名 行当 底子 阅历 年纪
G: 手机 制表符 空格 编辑器 终端 键盘 系统 操作系统 电脑 笔记本 输入法 浏览器 主题 字体 工具 布局 键盘布局 快捷键
  开发环境 开发工具 框架 显示器 鼠标 编程语言 外设 发行版 本子
C: 团队 小组 部门 公司 项目组 组 老板 上级 领导 组长 经理 主管 上司 导师 东家 科室 中心 单位 班组 汇报对象
Z: 程序员 工程师 开发 前端 后端 全栈 测试岗 运维 产品 设计师 架构师 新人 新手 老手 人 学生 实习生 专家 经理 同学
  类型 哪里人 小白 用户类型 左撇子 素食者 夜猫子 算法 数据组 开发者 码农 组长 老板 外包 正式工 色盲 男的 女的 男 女
  高级 初级 资深 菜鸟 选手 角色
Q: 近视 老花 单身 已婚 多大 几岁 多高 多重 属什么 哪年 哪一年生
L: 会写 会说 会讲 休假 放假 请假 出差 开会 健身 锻炼 干这行 做这行 吃午饭 就读 吃饭 过敏 入行 住 住在 上班 下班
  来自 毕业 毕业于 负责 擅长 起床 午休 加班 上岗 办公
  入职 任职 睡 睡觉 主管 休息 上学 吃 喝 从事 精通 对接 汇报 管 带 歇
v: 问 说话 聊天 交流 干活 服务 合作 对话 打交道
N: 反馈 表情 回答 回复 答复 回话 语气 口吻 称呼 叫 喊 管 解释 讲解 说话 沟通 交流 答 回 对话 应答 答案 字数 详略
  措辞 尊称
b: 算 属于 是 叫 姓 名叫 叫做 叫作 姓名是
u: 用 用的 使 使用 用着 敲 使的 用惯 写 跑
S: 说过 讲过 提过 提到 提到过 聊过 交代 交代过 介绍过 告诉过 告诉 说 讲 提 要求 要求过 吩咐 嘱咐 叮嘱 聊起 约定 说好
  约好 强调 强调过 提起 透露 叮嘱过 嘱咐过 说起过 说起 声明过 讲起 交待 交待过
w: 让 要求 希望 想要
m: 聊 见 谈 合作 说话 聊天 见面 打交道 打过交道 聊过 见过 谈过 合作过 认识 说过话 共事 接触
o: 对 跟 和 向 给 同 与 为
B: 关于 有关
e: 评价 看法 判断 定位 感觉 认知 认识 了解 评语 总结
X: 代码 提交 提交信息 合并 测试 审查 评审 注释 文档 命名 缩进 格式 分支 项目 变量名 代码风格 代码审查 pr mr review
  commit 单测
V: api apis signin 在报 为什么 为啥 为何 报错 出错 错误 失败 异常 登录 权限 账号 帐号 数据库 表 字段 接口 服务器
  部署 配置 函数 方法 变量 参数 请求 日志 机器 容器 镜像 端口 进程 脚本 缓存 队列 页面 组件 按钮 模块 版本 依赖 构建
  编译 流水线 仓库 文件 目录 用户 客户 会员 订单 数据 工单 任务 需求 怎么办 修复 改 改了 删 更新 修改 设置 清空 忘掉
  卡 跑不 装 安装 调用 这段 这行 那段 那行 返回 生效 连不上 起不来 打不开 无法 合不 推不 拉取 推送 怎么做 怎么写
  怎么实现 怎么解决 怎么处理 怎么用 怎么配 服务 影响 上线 线上 环境 库 网关 支付 退款 逻辑 功能 代码里 换成 换一个
  换个 删除 删掉 上传 导出 保存不 漏洞 集群 命令 路径 校验 前缀 后台 系统里 项目里 客服 顾客 管理员 表单 弹窗 工作流
  工作区 工作目录 界面 密码 密钥 令牌 鉴权 认证 索引 迁移 bug 改动 变更 工作空间 意思 怎么说 图片 歌词 作文 起什么
  取什么 起个 取个
O: 同事 朋友 徒弟 同学们 老婆 老公 下属 搭档 队友 哥们 师父 师傅 别人 他 她 大家 儿子 女儿 姐姐 哥哥 弟弟 妹妹 叔叔
  舅舅 嫂子 爷爷 奶奶 女友 男友 爱人 妈妈 爸爸 父母 邻居 房东 甲方 乙方 供应商 对方 这人 那人 他们 她们
"""

_GRAMMAR_EN = (
    # what is kept of the speaker: “what have you got on me”, “any notes about me”, “do you still know me”
    (1, r"BM(?![xTGXd])"),
    (1, r"U[FA]{0,4}KF*M(?![xTGXd])|aIKF*U"),
    (1, r"r[FU]*M(?![xTGXd])"),
    # who the speaker is: “who am I”, “any idea who I am”, “who are you talking to”; not “who am I talking to”
    (1, r"O[^,I]{0,4}(?:aI|Ia)(?!F*[xvnNXDdAQKuwt])"),
    (1, r"O[^,VI]{0,5}U[AF]{0,3}v|OAvF*U(?!F*x)"),
    # a trait that is theirs: “which of my habits”, “remind me of my role”
    (1, r"Y[xTGNPZHXLQKgSu]{0,4}?[EP](?![xTGZ])"),
    (0, r"YF?[xTGNPZHXLQKEgSu]{0,3}?T(?![xTGNZL])"),
    (0, r"(?:[WR]A?|K|B)[FU]*Y[xTGNPZLXQKEgSu]{0,3}?(?:G(?=A?F*(?:$|,)|[FBd])|C(?=F*(?:$|,)))"),
    (0, r"OAYx?C(?=$|,|F)|WAYx?C[QN](?=F*(?:$|,))|Y[xTGE]{0,3}[GTEC]AW"),
    # what they prefer and how they go about things: “what do I like”, “how do I usually work”
    (2, r"(?<!D)I[HFA]*P(?!I)"),
    (2, r"A?I[F]*H"),
    (1, r"W[FA]*pM"),
    (2, r"YP[xTGEXtN]"),
    # what they are: “am I a backend person”, “which team am I on”, “what sort of engineer am I”
    (0, r"(?:aI|Ia)[FB]*d[xTXHGgCNQFKd]{0,4}?Z|aI[FB]*d?[xTG]{0,2}C(?=F*(?:$|,))"),
    (0, r"(?:aI|Ia)[FH]*[xH]?Q"),
    (0, r"aI[F]*(?:Z|x[F]?Z)(?:F|O|$|,)"),
    (0, r"aI[FB]*d?[xTG]{0,2}CF*d?[xTG]{1,2}C(?=F*(?:$|,|U?K))"),
    (1, r"W[FBdxTQE]{0,6}Z.{0,5}(?:aI|Ia)(?!F*(?:v|x))"),
    (0, r"W[xTE]{0,3}[TCE](?:aI|Ia|IAA?|AIL)(?![xNXv])"),
    (0, r"WF*(?:[BdxTGQ]F*){1,5}aI(?!F*[nAXvux])"),
    (0, r"WF*[xTGE]{0,2}jI[HFA]*x(?!n)|^F*jI[HF]*L"),
    (0, r"W[xQHTF]{0,2}Q[^,]{0,5}(?:aI|Ia)"),
    (0, r"W[FxQgXGTn]{0,4}[TE]A?I(?!F*[DX])|AIAF*[TE](?![xG])"),
    # where and how they live: “where do I live”, “do you know what I do for a living”, “how long have I been a nurse”
    (0, r"(?<!D)I[HFA]*L(?=[FWBg,QTN]|$)"),
    (0, r"IAF*l|[KS][^,]{0,6}WIA(?=$|,|F)"),
    (0, r"W[xQTF]{1,3}AIAF*(?:u|L|l|F{0,2}d[xT]{0,2}[CZ])"),
    # what they work with: “which editor do I use”, “do I use vim or emacs”
    (0, r"W?[xT]{0,2}G[FAad]*(?:A?I[FHA]*(?:u|K|P|F|$|,)|aI|Ia)"),
    (0, r"(?<!D)I[aHFA]*uF?d?x?[Gg]"),
    # what they told: “what did I tell you”, “what tone did I ask for”, “how should you address me”
    (0, r"W[^,]{0,4}I[HF]*SF*UF*(?=$|,)|TI[HF]*SU|WAF*I[HF]*SB"),
    (1, r"^F*W[Ajx]{0,2}I[HF]*SUF[xXNPE][^,]|Y[xXTE]{1,3}AUF*K|UF*KF*WI[HF]*[xE]?[NP]"),
    (1, r"W[jAxTE]{1,2}I[HF]*SF*UB[dxF]{0,2}X|[RW][^,]{0,3}[ETN]F*IA?F*S(?=F*(?:$|,|U))"),
    (0, r"(?<!D)I[HFA]*[Sw](?:[FUYBdAWS]|x(?=N)){0,8}N|(?<!D)I[HFA]*SUx?[^,X]{0,5}N"),
    (1, r"N[^,]{0,4}(?<!D)I[HFA]*[wSP]"),
    (0, r"I[HFA]*w[^,DX]{0,6}N|aI[F]*w[^,]{0,4}N"),
    (0, r"W[^,]{0,5}U[FADw]*NF*M(?![xd])|W[^,]{0,6}N[^,]{0,6}[UI][^,]{0,6}M"),
    (0, r"^F*WF*(?:aI|AIA)F*[uv]B?F*,?$"),
    # “what style works for me”, “did I mention that I can't do Wednesdays”, “did I tell you about my eyesight”
    (0, r"W[^,]{0,3}[NTE][^,I]{0,3}FM(?=F*(?:$|,))"),
    (0, r"(?:A|j|^)I[HFA]*SF*U?F*(?:d|W)?I[^,n]*|[AjW]I[HFA]*SF*U?F*BYx"),
    (0, r"dZUAF*v"),
    # “how should you format answers for me”, “did I ask you to avoid jargon”, “what did I do before this job”
    (1, r"W[^,]{0,2}DU(?:A|[^,V]{0,3}N)F*M(?=F*(?:$|,))"),
    (0, r"^F*AI[HF]*SUF*(?:P|[^,]{0,3}N)|WAI[jA]F*dT(?=F*(?:$|,))"),
    (1, r"UF*KF*BF*WI[HFA]*[LuPN]|^F*KF*M(?=F*(?:$|,))|[EPTGN]BF*Y(?=F*(?:$|,|B))"),
    # “what do people call me”, “which of my tools did I complain about”, “what should you never do when talking to me”
    (0, r"W[^,UIVO]{0,6}NF*M(?=F*(?:$|,))|[ETN]F*UAF*M(?=F*(?:$|,))|Y[xTGE]{0,3}[GTEP]AI"),
    (1, r"W[^,]{0,2}DU[^,]{0,6}vF*M(?=F*(?:$|,))|W[^,]{0,3}[NTE][^,I]{0,4}M(?=F*(?:$|,))|^F*W[jA]IKB"),
    # whether they are known: “have we met before”
    (0, r"AJF*mF*(?=$|,)"),
)
"""Rows of the grammar for English: strength and pattern. A row of 0 holds beside no word of the work; one of 1 beside
what one has habits in (“commits”, class X), one of 2 beside technology as well (“linter”, class t)."""
_GRAMMAR_ZH = (
    # 关于我, 对我的印象, 认识我吗, 描述一下我, 你记忆里的我
    (1, r"BI"),
    (1, r"oI[FWqT]{0,3}[eKRTE]|oIF*(?:W|K)"),
    (1, r"K[Fq]{0,2}I(?=[F]*W?[FqTE,]*$|[FqTE]*,|b|W)"),
    (1, r"r[F]{0,2}I(?=$|,|F|q|的)"),
    (1, r"[KU]F*IF*(?:$|,|q)"),
    # 我的习惯有哪些, 我什么职位, 我最喜欢哪种讲解, 我平时怎么给分支起名
    (1, r"I[^,UIVO]{0,8}E"),
    (0, r"(?<!P)I[^,UIVO]{0,7}T(?![xGZ])"),
    (2, r"I[^,UIVO]{0,6}P"),
    (1, r"I[^,UIVO]{0,4}H[^,]{0,3}W"),
    # 我是谁, 我是新人吗, 我是前端还是后端, 我住哪, 我几点下班, 我的上级是谁
    (1, r"I[HFU]*bF*(?:的)*W[FTZCEGqHL]*(?=[,UKR]|$)"),
    (0, r"I[HFqU]*bF*[xW]?Z"),
    (0, r"I[HFq]*bF*[xXZFTCL]{1,6}q[xXZFTCbL]{1,6}$"),
    (0, r"I[HFb]*(?:L?F*W[F]*[TCLG]|Lo?F*W|o?W[Fq]*L|Q)"),
    (0, r"I[HFq]*[LC]F*[TC]*b?[Wq]"),
    # 我习惯用哪个编辑器, 我是用 vim 还是 emacs
    (0, r"I[HFqb]*x{0,2}u[Fb]*W?[F]*[Gg]|I[^,UVOI]{0,5}[Gg]F*b?[Wuq]|I[HFb]*uF*[gx]+qF*u?[gx]+"),
    # 我跟你说过什么, 我说过要什么语气, 怎么称呼我, 你在跟谁说话
    (0, r"I[HFq]*o?U?F*SF*[WFU]*q*(?=$|,)"),
    (1, r"I[^,O]{0,6}(?:SF*U?|wU|oUF*S?)(?:[FWHUqP]*x?F*[NETP]|[FWHqUB]*I[^,UVO]*[NETPLQG])"),
    (0, r"k[^,]{0,8}N|[Ik][^,V]{0,6}k[^,]{0,5}N"),
    (1, r"W[F]*(?:[TEx]F*)?NF*I(?![xV])|NF*I(?:F*W|F*q|$|,)"),
    (0, r"I[^,VO]{0,8}(?<!o)W[^,VO]{0,4}N|I[HFqx]{0,4}N[^,]{0,5}W|W[^,VO]{0,6}N[F]?I"),
    (0, r"J[FHqbx]{0,6}m[Fq]*(?=$|,)"),
    (0, r"U[FH]*o?W[F]*v(?=$|,|F|q)|WF*vU"),
    (0, r"[KSR][^,]{0,4}I[^,VO]{0,5}[TEPLNQ]"),
    # 我的直属领导是谁, 我对注释有什么要求, 我说过评审要怎么提意见吗, 我平时看文档还是看源码
    (0, r"I[HFx]{0,5}CF*(?:bF*)?W(?=[F,]*$)"),
    (1, r"IF*oF*[xX]{1,4}F*WF*[TESw]"),
    (1, r"^F*I[HF]*(?:oU)?SF*[^,VO]{0,8}W[^,VO]{0,8}q(?=$|,)|^F*I[HF]*q[HF]*oF*U[F]*S|^F*KF*oWF*v[Fqx]{0,2}$"),
    (0, r"I[HFq]*b{1,2}F*[xXZFTCL]{1,6}q[xXZFTCbL]{1,6}[qF]*$|IF*TF*u?F*W[Fq]*$"),
    # 我给你的印象怎么样, 我擅长前端吗, 你应该怎么跟我说话
    (1, r"IF*oF*UF*[KeTE]|UF*WF*oIF*[vN]"),
    (0, r"^F*IF*[LT]F*[xZGg]{1,4}q"),
    (1, r"IF*(?:oF*)?UF*x{0,2}F*WF*E"),
    (1, r"IF*HF*[^,VUOW]{1,6}q[^,VUOW]{1,6}$"),
)
"""The same for Chinese."""

_SHORT = {
    "what's": "what is", "whats": "what is", "where's": "where is", "who's": "who is", "how's": "how is",
    "i'm": "i am", "im": "i am", "i've": "i have", "i'd": "i could", "i'll": "i can", "you're": "you are",
    "you've": "you have", "who're": "who are", "we've": "we have", "don't": "do not", "didn't": "did not",
    "dont": "do not", "doesn't": "does not", "aren't": "are not", "isn't": "is not", "haven't": "have not",
    "and why": "",
    "standing orders": "preferences", "house rules": "preferences",
    "on file": "onfile", "on record": "onfile", "time zone": "timezone", "operating system": "os", "vs code": "vscode",
    "go by": "goby", "report to": "reportto", "w/": "with", "for a living": "living", "mother tongue": "tongue",
    "how do i": "howdo i", "front end": "frontend", "front-end": "frontend", "back end": "backend",
    "back-end": "backend", "can't stand": "hate", "cannot stand": "hate", "sign in": "signin", "sign-in": "signin",
    "feel about": "like", "in one line": "", "in a line": "", "in one sentence": "", "colour blind": "colour-blind",
    "color blind": "color-blind", "left handed": "left-handed", "right handed": "right-handed",
    "i from": "i based", "i go to": "i attend", "sum up": "describe",
    "can i program": "do i know", "i can program": "i know", "i can code": "i know", "i can write": "i know",
    "i can speak": "i know",
}  # fmt: skip
_JOINED = regex(r"(?<!\w)(?:" + "|".join(map(re.escape, _SHORT)) + r")(?!\w)")
_HABIT_ZH = regex(r"(习惯|喜欢|偏好|一般|通常|平时|平常|向来)(?:怎么|如何)(?:写|做|用|处理)")
"""我习惯怎么写提交信息 asks for a habit, where 怎么写 alone asks for help."""
_TOKEN = regex(r"[a-z0-9+#]+(?:[-_'.][a-z0-9+#]+)*|[^\W\da-z_]|[^\w\s]")
_CODE = regex(r"[`{}<>=$|\\]|\w\(|\w_\w|::|://|(?:^|\s)/\w|\b\w+\.\w+\(|[a-z][A-Z]\w")
_ASKS_EN = regex(r"^F*YF?x?EF*$|^[F,JU]*(?:[WORrA]|a|x?D[UF])|[,F](?:D[U]|A[UJ]|W|O)")
_STATES = regex(r"^F*(?:I|Y[^AI]+A|FdZ)|^[^WO]*I.*[PLubHSN]")
_RECALL = regex(r"^[F]*(?:[AD]U|U)[^W]{0,4}K|^D?U?F*R|^[UF]*[KS][^W]*q|^U?F*K|^F*+(?:oU?F*+|UF*+)?S")
_STORED = regex(r"^(?:please |always |just )*(?:remember|note|save|store|keep in mind|don't forget)\b(?!.*\?)")
_ASKS_ZH = regex(r"[WqRrQ]")


def is_identity_question(line: str) -> bool:
    """Return whether *line*, as a whole, asks about the person who asks (ZCLAW-13): “who am I”, 我习惯用哪个编辑器."""
    lower = line.casefold().replace("’", "'")
    if _CODE.search(line) is not None or _STORED.search(lower) is not None:
        return False
    words = _classify_chinese(_HABIT_ZH.sub(r"\1怎样", lower)) if has_cjk(lower) else _classify_english(lower)
    grammar, asks = (_GRAMMAR_ZH, _ASKS_ZH) if has_cjk(lower) else (_GRAMMAR_EN, _ASKS_EN)
    if any("V" in classes for classes in words):
        return False
    met = {letter for classes in words for letter in classes}
    least = 2 if "t" in met else 1 if "X" in met else 0
    rows = [pattern for strength, pattern in grammar if strength >= least]
    readings = ["".join(reading) for reading in islice(product(*words), _MAX_READINGS)]
    readings = [_leave_out_statements(reading, asks) for reading in readings]
    if not lower.rstrip(" !！。.").endswith(("?", "？")) and not any(map(asks.search, readings)):
        return False
    return any(regex(row).search(reading) for row in rows for reading in readings)


def _leave_out_statements(reading: str, asks: re.Pattern[str]) -> str:
    """Return *reading* without the clauses that only state something: “I use zsh, how do I set the path?”.

    They stay where the question is whether they are known: “I told you my name, do you remember?”
    """
    clauses = [clause for clause in reading.split(",") if clause]
    if len(clauses) < 2 or any(_RECALL.search(clause) for clause in clauses):
        return ",".join(clauses)
    return ",".join(clause for clause in clauses if not _STATES.search(clause) or asks.search(clause))


@cache
def _load_classes(table: str) -> dict[str, str]:
    """Return word → the letters of its classes."""
    classes: dict[str, str] = {}
    for row in table.strip("\n").replace("\n  ", " ").split("\n"):
        letter, words = row.split(": ", 1)
        for word in words.split():
            classes[word] = classes.get(word, "") + letter
    return classes


def _classify_english(text: str) -> list[str]:
    """Return the classes of each word of *text*, a comma for each mark, x for what is in no class."""
    classes = _load_classes(_EN)
    return [_classify_word(word, classes) for word in _TOKEN.findall(_JOINED.sub(lambda found: _SHORT[found[0]], text))]


def _classify_word(word: str, classes: dict[str, str]) -> str:
    if not word[0].isalnum():
        return ","
    return classes.get(word) or classes.get(word.removesuffix("'s")) or "x"


def _classify_chinese(text: str) -> list[str]:
    """Return the classes of the words of *text*, the longest known one at each place; x for a character in none."""
    chinese, english = _load_classes(_ZH), _load_classes(_EN)
    tokens, found, at = _TOKEN.findall(text), list[str](), 0
    while at < len(tokens):
        length, known = 1, chinese.get(tokens[at], "")
        for more in range(2, min(_MAX_CHARACTERS, len(tokens) - at) + 1):
            if longer := chinese.get("".join(tokens[at : at + more])):
                length, known = more, longer
        if not known and tokens[at].isascii():  # of English, the names of tools and what vetoes
            known = "".join(letter for letter in _classify_word(tokens[at], english) if letter in "VXtGg,")
        found.append(known or ("," if not tokens[at].isalnum() else "x"))
        at += length
    return found
