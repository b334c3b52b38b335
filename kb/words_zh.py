"""The Chinese half of what kb says: English template to Chinese template, by the room that says it."""

GROUND: dict[str, str] = {
    "": "",
    # blocks
    "put the four markers back: MACHINE start, end, USER start, end, each once on a line of its own": (
        "补回四个标记：MACHINE 开始、结束，USER 开始、结束，各一次，独占一行"
    ),
    "a code fence that is never closed swallows the marker {marker}": "未闭合的代码围栏吞掉了标记 {marker}",
    "the marker {marker} is missing": "缺少标记 {marker}",
    "the marker {marker} stands here twice": "标记 {marker} 出现了两次",
    "the block markers are nested or out of order": "区块标记嵌套或次序不对",
    "git's conflict markers stand in the file": "文件里有 git 的冲突标记",
    "resolve the merge, then: git add {path}": "先解决合并冲突，再运行：git add {path}",
    # candidate
    "the input has {size} bytes; at most {limit} are read": "输入有 {size} 字节，最多读 {limit}",
    "the input is empty": "输入为空",
    "the input is not valid UTF-8": "输入不是合法的 UTF-8",
    "the form of a candidate: kb write --schema": "候选的格式见：kb write --schema",
    "a candidate is a JSON object, not {kind}": "候选须是 JSON 对象，而不是 {kind}",
    "there is no kind {kind}; there are: {kinds}": "没有类型 {kind}；可用：{kinds}",
    "the field {key} must be {wanted}": "字段 {key} 必须是 {wanted}",
    "the field {key} must be {wanted}, not {kind}": "字段 {key} 必须是 {wanted}，而不是 {kind}",
    "the field {key} stands in one object twice": "同一对象里字段 {key} 出现了两次",
    "the field {key} is missing or no text": "字段 {key} 缺失或不是文本",
    "the field {key} holds half a character (a lone surrogate)": "字段 {key} 里有半个字符（孤立代理项）",
    "there is no field {key}": "没有字段 {key}",
    "the fields {one} and {other} contradict each other": "字段 {one} 与 {other} 互相矛盾",
    "not valid JSON: {problem}": "不是合法的 JSON：{problem}",
    # config
    "there is no setting {key}": "没有设置项 {key}",
    "the setting {key} cannot be {value}": "设置项 {key} 不能是 {value}",
    "not valid TOML: {problem}": "不是合法的 TOML：{problem}",
    "see: kb config": "见：kb config",
    # fences
    "the text has code fences in lists or quotes and is longer than {limit} characters": (
        "文本在列表或引用里含代码围栏，且超过 {limit} 个字符"
    ),
    "lists or quotes are nested too deep to tell code from text": "列表或引用嵌套太深，分不清代码与正文",
    # front, markdown
    "the frontmatter is not written one key a line": "frontmatter 没有做到一行一个键",
    "write every key on a line of its own: key: value": "每个键独占一行：key: value",
    "the file has {size} bytes; a record has at most {limit}": "文件有 {size} 字节，一条记录最多 {limit}",
    "the frontmatter is never closed": "frontmatter 没有结束行",
    "end it with a line ---": "以一行 --- 结束它",
    "the frontmatter is larger than {limit} characters": "frontmatter 超过 {limit} 个字符",
    "the frontmatter cannot be read: {problem}": "frontmatter 无法读取：{problem}",
    "the file is not valid UTF-8": "文件不是合法的 UTF-8",
    "save it as UTF-8": "请存为 UTF-8",
    "restore it with: git checkout -- {path}": "可用此命令恢复：git checkout -- {path}",
    "the file has no frontmatter": "文件没有 frontmatter",
    "begin it with --- and the keys id, kind, title": "开头写 --- 以及键 id、kind、title",
    "the edit would change text outside the MACHINE block": "此修改会改动 MACHINE 区块以外的文字",
    "the edit would change the key {key}, which it must not touch": "此修改会改动不该碰的键 {key}",
    "the key {key} is missing or no text": "键 {key} 缺失或不是文本",
    "the key {key} must be text": "键 {key} 必须是文本",
    "the key {key} must be a mapping": "键 {key} 必须是映射",
    "the key {key} must be a whole number from 1 on": "键 {key} 必须是不小于 1 的整数",
    "the key {key} must be a list of words": "键 {key} 必须是词的列表",
}

RULES: dict[str, str] = {
    # writing: quality
    "say in the title what was decided about what, like “Use FastAPI as the backend framework”": (
        "标题要写明就什么事做了什么决定，例如“使用 FastAPI 作为后端框架”"
    ),
    "say in the title what was decided about what": "标题要写明就什么事做了什么决定",
    "the title has no word": "标题里没有一个词",
    "the title counts {count} 字; at least {limit} are needed": "标题 {count} 字，至少需要 {limit} 字",
    "the title has {count} characters; at most {limit} fit": "标题 {count} 个字符，最多 {limit} 个",
    "the title “{title}” could stand over any record": "标题“{title}”放在哪条记录上都行，太空泛",
    "the title “{title}” points at something it does not name": "标题“{title}”指代了没有写明的东西",
    "keep the decision in the title and move the rest into the text": "标题只留决定，其余移到正文",
    "decision and reason together count {count} 字; at least {limit} are needed": (
        "决定与理由合计 {count} 字，至少需要 {limit} 字"
    ),
    "say what holds from now on and why": "写明今后怎么做，以及为什么",
    "the candidate counts {count} 字; at most {limit} fit": "候选共 {count} 字，最多 {limit} 字",
    "keep the decision and its reasons, and link to the rest": "只留决定和理由，其余用链接",
    "temporary: this holds for the session only": "临时：只在本次会话有效",
    "if it holds from now on, say so without “for now”, “temporarily”, “临时” or “先”": (
        "如果今后都有效，请去掉“for now”“temporarily”“临时”“先”这类词"
    ),
    "this is a question, not an answer": "这是问题，不是答案",
    "write it when it is decided, with the answer": "定下来以后，连同答案一起写",
    "{field} tells an agent what to do: “{text}”": "{field} 在指挥智能体做事：“{text}”",
    "{field} has an HTML comment, which a reader does not see": "{field} 里有读者看不见的 HTML 注释",
    "{field} has the invisible character {code}": "{field} 里有不可见字符 {code}",
    "remove it, or let a person read the candidate and promote it from the inbox": (
        "删去它，或由人读过候选后从收件箱放行"
    ),
    # writing: gate
    "all three questions of the self-check are answered with no: it stays in the session": (
        "三项自检都答“否”：只留在本次会话"
    ),
    "if one of them is a yes, say which: --affects-future yes, --reference yes or --prevents-repeat yes": (
        "如果其中有“是”，请指明：--affects-future yes、--reference yes 或 --prevents-repeat yes"
    ),
    "say why it matters: --area architecture|security|performance|compliance|modules, --reusable or --affects-future "
    "yes; or wait until it is seen in {count} more session(s)": (
        "说明它为何重要：--area architecture|security|performance|compliance|modules、--reusable 或 "
        "--affects-future yes；或者等它再在 {count} 个会话中出现"
    ),
    "contradicts [{id}], which is in force": "与生效中的 [{id}] 相矛盾",
    "below the gate: neither repeated, nor of large impact, nor reusable": (
        "未过门槛：没有重复出现，影响不大，也不可复用"
    ),
    "below the gate: with a confidence of {confidence}, words alone prove nothing": (
        "未过门槛：置信度只有 {confidence}，单凭字面不足为证"
    ),
    "repeated: seen in {count} sessions": "重复出现：见于 {count} 个会话",
    "large impact: {area}": "影响大：{area}",
    "large impact: {area} (“{word}”)": "影响大：{area}（“{word}”）",
    "large impact: touches {count} modules ({names})": "影响大：涉及 {count} 个模块（{names}）",
    "reusable: useful in other projects": "可复用：其他项目也用得上",
    "reusable: a {kind} is made to be used again": "可复用：{kind} 本就是为了再用",
    "self-check: it affects later decisions": "自检：会影响后续决策",
    "self-check: it will be worth looking up": "自检：值得日后查阅",
    "self-check: it prevents a repeated discussion or mistake": "自检：能避免重复讨论或重犯错误",
    # writing: redact, contradict, verdict
    "the private word {pattern} is no regular expression: {problem}": (
        "private_words 中的 {pattern} 不是正则表达式：{problem}"
    ),
    "correct private_words in kb.toml": "改正 kb.toml 中的 private_words",
    "“{new}” says the opposite of “{old}” in [{id}]": "“{new}”与 [{id}] 中的“{old}”相反",
    "“{new}” changes a number of “{old}” in [{id}]": "“{new}”改变了 [{id}] 中“{old}”的数值",
    "“{new}” chooses otherwise than “{old}” in [{id}]": "“{new}”与 [{id}] 中“{old}”的选择不同",
    "“{new}” turns down what “{old}” in [{id}] chose": "“{new}”否定了 [{id}] 中“{old}”的选择",
    "[{id}] claims {key} = {old}; this claims {new}": "[{id}] 声明 {key} = {old}，这条声明 {new}",
    "says the same as [{id}], titles {score} alike": "与 [{id}] 说的是同一件事，标题相似度 {score}",
    "say what was decided about what": "写明就什么事做了什么决定",
    # reading
    "{id} is left out of the hint: its title states a conclusion": "提示中略去 {id}：它的标题直接给出了结论",
    "{id} states a conclusion; the hint does not repeat it": "{id} 给出了结论，提示中不复述",
    "no hint fits {budget} tokens": "{budget} 个 token 放不下任何提示",
    # sessions
    "the answer of KB_LLM_CMD has no list of candidates": "KB_LLM_CMD 的回答里没有候选列表",
    "no JSON object": "不是 JSON 对象",
    "a record of type {kind} without a message": "类型为 {kind} 的行没有 message",
    "not valid UTF-8": "不是合法的 UTF-8",
    "not valid JSON": "不是合法的 JSON",
    "the last line is not finished yet": "最后一行还没写完",
}

CHECKING: dict[str, str] = {
    # drift
    "read it again; if it still holds: kb confirm {id}": "请重读；如果仍然有效：kb confirm {id}",
    "{path} has vanished since the record was confirmed": "自上次确认后，{path} 已不存在",
    "the project has no {path}": "项目里没有 {path}",
    "perhaps it moved: {target}": "也许移到了：{target}",
    "correct the path; if the record holds no more: kb status {id} deprecated": (
        "改正路径；如果记录已失效：kb status {id} deprecated"
    ),
    "{share}% of {path} changed since the record was confirmed ({day})": (
        "自上次确认（{day}）后，{path} 改动了 {share}%"
    ),
    "it has been waiting for a verdict for {days} days": "已待验证 {days} 天",
    "settle it: kb status {id} accepted, or rejected": "请定夺：kb status {id} accepted，或 rejected",
    "{path} leads out of the project": "{path} 指到了项目之外",
    "write the path relative to the project's root": "路径请相对项目根目录书写",
    "nobody has confirmed it for {days} days": "已有 {days} 天无人确认",
    # identity
    "on the branch {branch}, {id} names another record": "在分支 {branch} 上，{id} 是另一条记录",
    "renumber this one: {id}, in the file name too": "这条改编号为 {id}，文件名同改",
    "the other one is to be renumbered before it is merged": "那一条在合并前须改编号",
    "{id} also names {other}": "{id} 同时也是 {other} 的编号",
    "renumber this one, the younger: {id}, in the file name too": "这条较新，改编号为 {id}，文件名同改",
    "this uid is already that of {other}": "这个 uid 已属于 {other}",
    "delete the uid of the copy, then: kb check --fix": "删去副本的 uid，再运行：kb check --fix",
    # links
    "[{id}] names no record": "[{id}] 查无此记录",
    "there is no record {id}": "没有记录 {id}",
    "[{id}] is {status}": "[{id}] 的状态是 {status}",
    "take the citation out, or say why the old one still matters": "删去引用，或说明旧记录为何仍有意义",
    "cite [{id}] instead, or say why the old one still matters": "改引 [{id}]，或说明旧记录为何仍有意义",
    "correct the id under {key}, or take it out": "改正 {key} 下的编号，或删去",
    "correct the id; if it is no citation, write it in code marks: `[{id}]`": (
        "改正编号；如果不是引用，请写成代码：`[{id}]`"
    ),
    "the link leads nowhere: {target}": "链接失效：{target}",
    "correct the link, or add the file it leads to": "改正链接，或补上目标文件",
    "{id} stands under supersedes and under amends": "{id} 同时列在 supersedes 和 amends 下",
    "keep it under one: supersedes for the whole, amends for a part": (
        "只留一处：全部取代用 supersedes，部分取代用 amends"
    ),
    "it coexists with {id}, but not a word why": "与 {id} 并存，却没有说明理由",
    'write: coexists_with: {{{id}: "the reason"}}': '请写：coexists_with: {{{id}: "理由"}}',
    # lives
    "there is no status {status}": "没有状态 {status}",
    "write: status: {status}": "请写：status: {status}",
    "write one of: {statuses}": "请写其中之一：{statuses}",
    "{now} cannot follow {before}": "{before} 之后不能是 {now}",
    "after {before} comes one of: {allowed}": "{before} 之后只能是：{allowed}",
    "records supersede each other in a ring: {chain}": "取代关系成环：{chain}",
    "take out the wrong supersedes: an older record cannot replace a newer one": (
        "删去写错的 supersedes：旧记录不能取代新记录"
    ),
    "name the successor: kb supersede {id} --by NEW; without one: kb status {id} deprecated": (
        "指明后继：kb supersede {id} --by NEW；没有后继：kb status {id} deprecated"
    ),
    "it is accepted without: {sections}": "状态为生效，却缺少：{sections}",
    "this knowledge base refuses records without: {sections}": "本知识库不接受缺少以下各节的记录：{sections}",
    "write what is missing": "补上缺少的内容",
    "write what is missing, or let it wait: kb status {id} proposed": (
        "补上缺少的内容，或先待验证：kb status {id} proposed"
    ),
    "{key} is {ours} here, and {theirs} in {other}": "{key} 在此为 {ours}，在 {other} 中为 {theirs}",
    'supersede one of them, or say why both hold: coexists_with: {{{id}: "the reason"}}': (
        '取代其中一条，或说明为何并存：coexists_with: {{{id}: "理由"}}'
    ),
    "it is superseded, but by no record": "已被取代，却没有取代它的记录",
    "it is superseded by {id}, which is only {status}": "取代它的 {id} 还只是 {status}",
    "accept {new}, or until then: kb status {id} accepted": "采纳 {new}；在此之前：kb status {id} accepted",
    "{new} supersedes it, and it is still {status}": "{new} 已取代它，它却仍是 {status}",
    "mark it: kb check --fix": "标记它：kb check --fix",
    # report
    "error": "错误",
    "warning": "警告",
    "records: {records}; nothing to complain of": "记录 {records} 条，一切正常",
    "records: {records}; errors: {errors}, warnings: {warnings}, in files: {files}": (
        "记录 {records} 条；错误 {errors}，警告 {warnings}，涉及文件 {files} 个"
    ),
    "settled by kb check --fix: {count}": "kb check --fix 可解决：{count}",
    # schema
    "there is no kind {kind}": "没有类型 {kind}",
    "write: kind: {kind}": "请写：kind: {kind}",
    "write one of: {kinds}": "请写其中之一：{kinds}",
    "there is no scope, and the folder is that of {scope}": "没有写范围，而目录属于 {scope}",
    "write: scope: {scope}": "请写：scope: {scope}",
    "{scope} is no scope": "{scope} 不是范围",
    "write global or project/<name>": "请写 global 或 project/<名称>",
    "a record of {scope} does not belong into this folder": "{scope} 的记录不该放在这个目录",
    "move it: git mv {path} {wanted} — or correct the scope": "移动它：git mv {path} {wanted}——或改正范围",
    "{day} is no day": "{day} 不是日期",
    "write it as YYYY-MM-DD": "请写成 YYYY-MM-DD",
    "{day} has not come yet": "{day} 还没到",
    "correct the day": "改正日期",
    "kb does not read the key {key}": "kb 不认识键 {key}",
    "if you mean {known}, write it so": "如果指的是 {known}，请这样写",
    "{id} is no id": "{id} 不是编号",
    "write the kind's prefix and three digits or more, such as {example}": "写类型前缀加至少三位数字，例如 {example}",
    "{id} does not fit the kind {kind}, whose ids begin with {prefix}": (
        "{id} 与类型 {kind} 不符，其编号以 {prefix} 开头"
    ),
    "correct the kind, or give the record the next free {prefix} id": "改正类型，或换用下一个空闲的 {prefix} 编号",
    "there is no uid, so the record would not survive a new number": "没有 uid，改编号后就认不出这条记录",
    "let kb give it one: kb check --fix": "由 kb 补上：kb check --fix",
    "the file name does not begin with the id {id}": "文件名没有以编号 {id} 开头",
    "rename the file to {id}-….md, or correct the id": "把文件改名为 {id}-….md，或改正编号",
    "the heading says something else than the front's id and title": "标题行与 frontmatter 的编号、标题不一致",
    "write one of them anew, so that both say: [{id}] {title}": "改写其一，使两处都是：[{id}] {title}",
    "correct this line; how it was: git log -p -- {path}": "改正此行；原样见：git log -p -- {path}",
    # wording
    "the title names no subject: {title}": "标题没有说明对象：{title}",
    "{code} turns the direction of the line, so it shows other than it reads": (
        "{code} 会翻转行的方向，显示与实际不符"
    ),
    "a character nobody can see stands here: {code}": "此处有不可见字符：{code}",
    "take out such characters; in this file: {count}": "删去此类字符；本文件共 {count} 处",
    "a secret, or what is personal, stands here ({rule})": "此处有密钥或个人信息（{rule}）",
    "take it out and have it revoked: git's history keeps what was once committed": (
        "删去并吊销它：提交过的内容会一直留在 git 历史里"
    ),
}

KNOWLEDGE: dict[str, str] = {
    # the knowledge base itself
    "there is no knowledge base here": "这里没有知识库",
    "{path} is not a knowledge base": "{path} 不是知识库",
    "make one: kb init": "新建一个：kb init",
    "make one: kb init {path}": "新建一个：kb init {path}",
    "{path} is a file": "{path} 是文件",
    "$KB_HOME names {path}, which is not a knowledge base": "$KB_HOME 指向 {path}，它不是知识库",
    "there is no record {id} in {scope}": "{scope} 中没有记录 {id}",
    "name a record of the same scope": "请指明同一范围内的记录",
    "{id} names several records: {choices}": "{id} 对应多条记录：{choices}",
    "name one of them": "请指明其中一条",
    "see: kb list": "见：kb list",
    # bring, inbox, life
    "masked: {rules}": "已遮蔽：{rules}",
    "the title shows nothing": "标题没有可见内容",
    "its id {old} is in use here; it is {new} now": "编号 {old} 在此已被占用，改为 {new}",
    "mend the file by hand; see: kb check": "请手工修好该文件；见：kb check",
    "nothing, or more than one thing, is held as {name}": "收件箱里没有 {name}，或不止一条",
    "see: kb inbox": "见：kb inbox",
    "the inbox has just been moved": "收件箱刚被改动",
    "other writers kept moving the branch": "其他写入者不断推进分支",
    "try again": "请重试",
    "there is no status {status}; there are: {all}": "没有状态 {status}；可用：{all}",
    "[{id}] is {old}; from there it can become: {possible}": "[{id}] 现为 {old}，只能变为：{possible}",
    "[{id}] lacks: {sections}": "[{id}] 缺少：{sections}",
    "complete it: kb edit {id}": "请补全：kb edit {id}",
    "[{id}] cannot replace itself": "[{id}] 不能取代自己",
    "[{old}] and [{new}] hold in different scopes": "[{old}] 与 [{new}] 的范围不同",
    "amends [{id}]": "部分取代 [{id}]",
    "supersedes [{id}]": "取代 [{id}]",
    "{old} → {new}": "{old} → {new}",
    "[{id}] is {status}: it replaces nothing": "[{id}] 现为 {status}，不能取代别的记录",
    "[{new}] replaces [{old}] wholly": "[{new}] 全部取代 [{old}]",
    "[{old}] replaces [{new}] already": "[{old}] 已取代 [{new}]",
    "no record supersedes [{id}]": "没有取代 [{id}] 的记录",
    "kb supersede {id} --by NEW": "kb supersede {id} --by NEW",
    "confirmed": "已确认",
    "confirmed today already": "今天已确认过",
    "the key {key} cannot be changed": "键 {key} 不可更改",
    "write a new record and: kb supersede": "请写新记录，再运行：kb supersede",
    "this looks like a secret ({rule})": "这像是密钥（{rule}）",
    "take it out": "请删去",
    "until a task needs it": "直到有任务用到它",
    # review, rewrite
    "there is no open review {id}": "没有待决评审 {id}",
    "{id} names several reviews": "{id} 对应多个评审",
    "see: kb review": "见：kb review",
    "decide it: kb review show {id}": "请定夺：kb review show {id}",
    "a person has rejected this before, see {ref}": "此前已有人否决过，见 {ref}",
    "talk to them; then: kb edit {id}": "先与对方商量，再运行：kb edit {id}",
    "{path} is not committed yet": "{path} 尚未提交",
    "commit it: git add {path}": "请提交：git add {path}",
    "[{id}] {title}": "[{id}] {title}",
    "the review and this branch both changed {paths}": "评审与当前分支都改了 {paths}",
    "git merge {branch}": "git merge {branch}",
    "git {command} failed: {problem}": "git {command} 失败：{problem}",
    "there is no remote {remote}": "没有远端 {remote}",
    "git remote add {remote} URL": "git remote add {remote} URL",
    "{tool} failed: {problem}": "{tool} 失败：{problem}",
    "accepted": "已采纳",
    "the review changes {path}, which is no record": "评审改动了 {path}，它不是记录",
    "{branch} is checked out in {path}": "{branch} 已在 {path} 检出",
    "check out the branch that is to have it: git switch -": "检出要合入的分支：git switch -",
    "{path} has changes on the same lines that are not committed": "{path} 在同样的行上有未提交的改动",
    "commit them first: git commit {path}": "请先提交：git commit {path}",
    "mend it on {branch}": "请在 {branch} 上修好",
    "{branch} has just been moved": "{branch} 刚被改动",
    "look again": "请再看一遍",
    "accepted; it replaces {ids}": "已采纳，取代 {ids}",
    "rejected; it is kept under {ref}": "已否决，保留在 {ref}",
    "the MACHINE block was edited by hand since kb wrote it, and this changes the same lines": (
        "kb 写入后 MACHINE 区块被手工改过，而这次改动的是同样的行"
    ),
    "the block was edited by hand; both are in it now": "区块被手工改过；两边的改动都已并入",
    # session, spool, write
    "there is no session {id}": "没有会话 {id}",
    "{id} names several sessions: {choices}": "{id} 对应多个会话：{choices}",
    "see: kb session list": "见：kb session list",
    "use today, yesterday, week or 2026-11-21": "可用 today、yesterday、week 或 2026-11-21",
    "{word} is no day": "{word} 不是日期",
    "the transcript is not a file": "会话记录不是文件",
    "the transcript is larger than {limit} bytes": "会话记录超过 {limit} 字节",
    "the transcript cannot be read: {problem}": "会话记录无法读取：{problem}",
    "the transcript has no message": "会话记录里没有消息",
    "the session is kept and lands with the next call": "会话已暂存，随下一次调用写入",
    "line {line}: a kb block is left out: {problem}": "第 {line} 行：有一个 kb 块未被采用：{problem}",
    "saved already": "已存过档",
    "what was spooled cannot be written: {problem}; it is kept in {path}": (
        "暂存的内容无法写入：{problem}；保留在 {path}"
    ),
    "there is no scope {scope}": "没有范围 {scope}",
    "use global or project/<name>": "请用 global 或 project/<名称>",
    "{path}: {problem}": "{path}：{problem}",
    "mend it first: kb check": "请先修好：kb check",
    "it is committed; {path} stays as you have it": "已提交；{path} 保持你的版本",
    "it is committed; {path} could not be written, the next call tries again": (
        "已提交；{path} 未能写入，下次调用会重试"
    ),
    "git stored other trees than were built": "git 存下的树与所构建的不同",
    "not given: {sections}": "未给出：{sections}",
    "add what is missing": "请补上缺少的内容",
}

STORE: dict[str, str] = {
    "git is not installed": "没有安装 git",
    "install git and try again": "安装 git 后重试",
    "git config --global --add safe.directory PATH, if you trust its owner": (
        "如果信任其所有者：git config --global --add safe.directory PATH"
    ),
    "{path} is not in a git repository": "{path} 不在 git 仓库中",
    "run: kb init": "请运行：kb init",
    "no branch is checked out in {path} (detached HEAD)": "{path} 没有检出分支（游离的 HEAD）",
    "check out a branch: git switch -": "检出一个分支：git switch -",
    "another kb is writing in {path}": "另一个 kb 正在写 {path}",
    "another git process holds {path}": "另一个 git 进程占用着 {path}",
    "if no git process runs, remove that file": "如果没有 git 进程在运行，删除该文件",
    "a {doing} is in progress in {path}": "{path} 正在进行 {doing}",
    "finish it first": "请先完成它",
    "kept in {path}; the next call that can writes it": "已暂存于 {path}；下一次能写入的调用会写入它",
    "{path} cannot be written: {problem}": "{path} 无法写入：{problem}",
    "KB_LLM_CMD is empty": "KB_LLM_CMD 为空",
    "KB_LLM_CMD cannot be read: {problem}": "KB_LLM_CMD 无法解析：{problem}",
    "KB_LLM_CMD cannot be run: {problem}": "KB_LLM_CMD 无法运行：{problem}",
    "KB_LLM_CMD failed with exit code {code}: {problem}": "KB_LLM_CMD 失败，退出码 {code}：{problem}",
    "KB_LLM_CMD took longer than {seconds} seconds": "KB_LLM_CMD 超过了 {seconds} 秒",
    "KB_LLM_CMD printed more than {limit} bytes": "KB_LLM_CMD 输出超过 {limit} 字节",
    "KB_LLM_CMD printed no JSON": "KB_LLM_CMD 没有输出 JSON",
    "the offline extraction is used instead": "改用离线提取",
}

DOORS: dict[str, str] = {
    # cli
    "created": "新建",
    "updated": "更新",
    "appended": "补充",
    "unchanged": "不变",
    "conflict": "矛盾",
    "held": "暂留",
    "refused": "拒绝",
    "⚠️ proposed": "⚠️ 待验证",
    "✅ accepted": "✅ 生效",
    "❌ rejected": "❌ 已否决",
    "❌ deprecated": "❌ 已废弃",
    "❌ superseded": "❌ 已被取代",
    "stopped": "已中止",
    "dropped": "已丢弃",
    "by hand": "手工",
    "cites": "引用",
    "supersedes": "取代",
    "amends": "部分取代",
    "not found": "找不到",
    "edit again?": "再次编辑？",
    "what you wrote is kept in {path}": "你写的内容保存在 {path}",
    "reading": "读取",
    "writing": "写入",
    "(default: {default})": "（默认：{default}）",
    "give --scope or --project, not both": "--scope 与 --project 只能给一个",
    "give a PATH or --here, not both": "PATH 与 --here 只能给一个",
    "give a file, - for stdin, or --kind and --title": "请给出文件、-（标准输入），或 --kind 与 --title",
    "“{item}” is not of the form KEY=VALUE": "“{item}”不是 KEY=VALUE 的形式",
    "left out until it is mended; see: kb check": "修好之前略去；见：kb check",
    "cannot be read: {problem}": "无法读取：{problem}",
    "cannot be written: {problem}": "无法写入：{problem}",
    "the input has more than {limit} bytes": "输入超过 {limit} 字节",
    "there is no such file or folder": "没有这个文件或目录",
    "it is not in the knowledge base {root}": "它不在知识库 {root} 中",
    "the file is no plain file": "不是普通文件",
    "the file is larger than {limit} bytes": "文件超过 {limit} 字节",
    "imported: {new}, unchanged: {same}, no record: {skipped}": "导入 {new}，不变 {same}，不是记录 {skipped}",
    "there is no command {name}": "没有命令 {name}",
    "there is no option {name}": "没有选项 {name}",
    "{name} is missing": "缺少 {name}",
    "{name} must be one of: {choices}": "{name} 只能是：{choices}",
    "{problem}": "{problem}",
    "see: {command} --help": "见：{command} --help",
    "(mended)": "（已修好）",
    "the hooks stand in {path} already": "{path} 中已有这些钩子",
    "hooks written to {path}": "钩子已写入 {path}",
    "no hooks of kb stand in {path}": "{path} 中没有 kb 的钩子",
    "hooks taken out of {path}": "已从 {path} 移除钩子",
    "no hooks are installed; see: kb hooks install claude": "没有安装钩子；见：kb hooks install claude",
    "give --user or --project, not both": "--user 与 --project 只能给一个",
    # doctor
    "git {version}": "git {version}",
    "{path}, on {branch}": "{path}，分支 {branch}",
    "{name}": "{name}",
    "{path}": "{path}",
    "{command}": "{command}",
    "{where}: {message}": "{where}：{message}",
    "{kind}: {problem}": "{kind}：{problem}",
    "mend {path}": "请修好 {path}",
    "install git 2.38 or newer": "安装 git 2.38 或更新版本",
    "make git status work there": "先让 git status 在那里能用",
    "git does not know who you are; commits are made as kb@localhost": "git 不知道你是谁；提交以 kb@localhost 署名",
    "run: git config --global user.name NAME; git config --global user.email ADDRESS": (
        "运行：git config --global user.name 姓名；git config --global user.email 邮箱"
    ),
    "run: git rm -r --cached {path}": "运行：git rm -r --cached {path}",
    "files of {path} are tracked by git": "{path} 里的文件被 git 跟踪了",
    "git ignores {path}": "git 忽略 {path}",
    "git does not ignore {path}": "git 没有忽略 {path}",
    "there is no knowledge base that can be opened": "没有能打开的知识库",
    "the index and the files differ in {n} paths": "索引与文件有 {n} 处不一致",
    "the index differs from {path}": "索引与 {path} 不一致",
    "{n} records": "{n} 条记录",
    "every record can be read": "所有记录都可读",
    "{n} files cannot be read as records: {path}": "{n} 个文件不能读作记录：{path}",
    "{n} reviews are open": "{n} 个评审待决",
    "decide them: kb review": "请定夺：kb review",
    "{n} writes wait for the next call": "{n} 次写入等待下一次调用",
    "write something, or start a session; if they stay, see the repository check": (
        "写点什么，或开始一个会话；若仍在，见“repository”一项"
    ),
    "nothing was set aside": "没有被搁置的内容",
    "{n} spooled files could not be written: {path}": "{n} 个暂存文件无法写入：{path}",
    "read the file, save what it holds by hand, and delete it": "读该文件，手工保存其内容，再删除它",
    "{n} sessions left something more than 30 days ago": "{n} 个会话在 30 天前留下了残余",
    "no hook has failed": "没有钩子失败过",
    "{n} hooks failed, last {event} at {time}: {problem}": "{n} 次钩子失败，最近一次 {event}，{time}：{problem}",
    "mend the cause, then: kb doctor --fix": "修好原因，再运行：kb doctor --fix",
    "run: kb doctor --fix": "运行：kb doctor --fix",
    "the index was damaged and has been thrown away": "索引已损坏，已被丢弃",
    "the index cannot be used: {problem}": "索引无法使用：{problem}",
    "no hooks are installed for {host}": "{host} 没有安装钩子",
    "{host} has no hook at {events}": "{host} 在 {events} 没有钩子",
    "installed for {hosts}": "已为 {hosts} 安装",
    "run: kb hooks install claude": "运行：kb hooks install claude",
    "there is no hook line to run": "没有可运行的钩子命令",
    "{line} runs": "{line} 可以运行",
    "{line} takes longer than {n} seconds": "{line} 超过了 {n} 秒",
    "{line} ends with {code}: {problem}": "{line} 以 {code} 退出：{problem}",
    "KB_LLM_CMD is not set; extraction works offline": "未设 KB_LLM_CMD；离线提取",
    "KB_LLM_CMD names no program: {command}": "KB_LLM_CMD 指向的程序不存在：{command}",
    "set KB_LLM_CMD to a command that can be run, or unset it": "把 KB_LLM_CMD 设为能运行的命令，或取消它",
    "see: kb check": "见：kb check",
    # hosts
    "the hooks cannot be changed without changing more": "改动钩子会牵动别的内容",
    "kb: [{id}] {title} contradicts what is decided; see: kb review show {branch}": (
        "kb：[{id}] {title} 与已有决定矛盾；见：kb review show {branch}"
    ),
    "kb: new: [{id}] {title} ({path}); undo it: kb rm {id}": "kb：新建 [{id}] {title}（{path}）；撤销：kb rm {id}",
    "kb: changed: [{id}] {title} ({path})": "kb：更新 [{id}] {title}（{path}）",
    "there is no host {name}": "没有宿主 {name}",
    "known: {hosts}": "已知：{hosts}",
    "mend the file and try again; nothing was changed": "修好该文件再试；没有改动任何内容",
    "the settings are no JSON object": "设置文件不是 JSON 对象",
    "“hooks” is no JSON object": "“hooks”不是 JSON 对象",
    "the hooks of {event} are no list": "{event} 的钩子不是列表",
    # exchange: adr
    "the file is binary, not markdown": "是二进制文件，不是 markdown",
    "the file is empty": "文件为空",
    "no heading: this is no decision record": "没有标题行：不是决策记录",
    "the file is a template, no decision record": "是模板，不是决策记录",
    "nothing shows a decision record: no number, no status, no section “Context” or “Decision”": (
        "看不出是决策记录：没有编号、状态，也没有“Context”或“Decision”一节"
    ),
    "the file has no title; the file name gives one: {title}": "没有标题；取自文件名：{title}",
    "the file name says number {named}, the title {written}; {named} is kept": (
        "文件名的编号是 {named}，标题是 {written}；采用 {named}"
    ),
    "the file has no status; it is taken as proposed": "没有状态；按 proposed 处理",
    "the status “{status}” is not known; it is taken as proposed": "不认识状态“{status}”；按 proposed 处理",
    "superseded in part: the record stays accepted for the rest": "部分被取代：其余部分仍生效",
    "the date “{date}” names no certain day; it is kept as original_date": (
        "日期“{date}”不能确定到日；保留为 original_date"
    ),
    "{relation} {target}: no imported file answers to that": "{relation} {target}：导入的文件里没有对应者",
    "{relation} {target}: several files answer to that: {paths}": "{relation} {target}：有多个文件对应：{paths}",
    "{id} supersedes it, its own status does not say so": "{id} 取代了它，它自己的状态却没有写明",
    "{id} would supersede it, but is {status}": "{id} 要取代它，但自身是 {status}",
    "superseded, but no imported record supersedes it": "已被取代，但导入的记录里没有取代它的",
    "the number {number} belongs to {path} too": "编号 {number} 也属于 {path}",
    "the id {id} is in use already": "编号 {id} 已被占用",
    "{path} and this file supersede each other": "{path} 与本文件互相取代",
    # exchange: wukong
    "no anchor: no heading such as “## [D001] title”": "没有锚点：缺少“## [D001] 标题”这样的标题行",
    "no kind has the prefix {prefix}": "没有前缀为 {prefix} 的类型",
    "for ADR files: kb import adr": "ADR 文件请用：kb import adr",
    # wiki
    "to be verified": "待验证",
    "in force": "生效",
    "rejected": "已否决",
    "out of force": "已废弃",
    "superseded": "已被取代",
    "Kinds": "类型",
    "Kind": "类型",
    "Scopes": "范围",
    "Scope": "范围",
    "Global": "全局",
    "Tags": "标签",
    "Notes by people": "人工笔记",
    "Cited by": "被引用",
    "no such record": "查无此记录",
    "Date": "日期",
    "Confirmed": "最近确认",
    "Impact paths": "影响路径",
    "Superseded by": "取代者",
    "Supersedes": "取代",
    "Amended by": "修订者",
    "Amends": "修订",
    "Claims": "声明",
    "Occurrences": "出现次数",
    "Sources": "来源",
    "File": "文件",
    "Status": "状态",
    "Home": "首页",
    "All": "合计",
    "Record": "记录",
    "Records: {records} · Sessions: {sessions}": "记录：{records} · 会话：{sessions}",
    "Press / to search: every word must occur; quotes keep a phrase together; a word with - is left out.": (
        "按 / 搜索：每个词都须出现；加引号为整句；词前加 - 为排除。"
    ),
    "… and {number} more.": "……还有 {number} 条。",
    "Nothing has been written yet.": "还没有任何记录。",
    "Open questions": "待决问题",
    "Newest": "最新",
    "Timeline": "时间线",
    "Undated": "无日期",
    "Session": "会话",
    "Sessions": "会话",
    "Project": "项目",
    "Time": "时间",
    "Task": "任务",
    "No session is archived yet.": "还没有归档的会话。",
    "the wiki cannot be built: {problem}": "无法生成 wiki：{problem}",
    "the wiki cannot be served: {problem}": "无法提供 wiki 服务：{problem}",
    "the plugin kb is not switched on": "没有启用插件 kb",
    "add it there under plugins: - kb": "请在其 plugins 下加入：- kb",
    "the wiki cannot be built over the knowledge base itself": "不能把 wiki 生成到知识库本身之上",
    "the folder holds something else than a wiki, which building would delete": (
        "该目录里有 wiki 以外的内容，生成时会被删除"
    ),
    "name an empty or a new folder": "请指定一个空目录或新目录",
}

ZH: dict[str, str] = {**GROUND, **RULES, **CHECKING, **KNOWLEDGE, **STORE, **DOORS}
