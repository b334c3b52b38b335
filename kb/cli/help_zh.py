"""The Chinese half of the help texts; the key is the paragraph as it stands in the source, on one line."""

from __future__ import annotations

COMMANDS_ZH: dict[str, str] = {
    "Make a knowledge base.": "新建知识库。",
    "Hand candidates to the gate.": "把候选交给闸门。",
    "List records.": "列出记录。",
    "Print a record.": "显示一条记录。",
    "Find records.": "搜索记录。",
    "Answer a question with evidence.": "带证据地回答问题。",
    "Tell agents by files how to use kb.": "用文件告诉智能体如何使用 kb。",
    "Tell what to read before a piece of work.": "动手之前该读什么。",
    "Tell how to find an answer: read, or have a pack made.": "怎样找到答案：直接读，或用上下文包。",
    "Write MEMORY.md and the conventions anew.": "重新生成 MEMORY.md 与约定。",
    "Make the vectors by which search finds meaning.": "生成按意思搜索所用的向量。",
    "Print the hint for a moment of work.": "显示某一时机的惯性提示。",
    "Print the commits of a record.": "显示一条记录的提交。",
    "Tell the life of a record.": "讲述一条记录的来历。",
    "Tell what a record cites and what cites it.": "显示一条记录引用什么、被什么引用。",
    "Edit a record in your editor.": "用编辑器修改一条记录。",
    "Give a record another status.": "改变一条记录的状态。",
    "Replace a record by a newer one.": "用更新的记录取代旧记录。",
    "Say that a record still holds.": "确认一条记录仍然成立。",
    "Show how a record is verified, and run it.": "显示一条记录如何验证，并执行。",
    "Take a record out of force.": "让一条记录失效。",
    "List and decide open reviews.": "列出并裁决待审的冲突。",
    "Bring this clone and a remote together.": "让本克隆与远端一致。",
    "Give records new numbers.": "给记录重新编号。",
    "Mend what a merge lost.": "修复合并丢失的内容。",
    "See what the gate keeps back.": "查看闸门留下的候选。",
    "Tell what the guard would say.": "显示守卫会怎么说。",
    "See and decide what is proposed to be kept.": "查看并决定提议写入的内容。",
    "Save, list and load sessions.": "保存、列出、加载会话。",
    "Archive a session.": "存档会话。",
    "Print an archived session to go on from.": "显示归档会话，以便继续。",
    "Show the running session in its compact form.": "以缩形态显示当前会话。",
    "Show the running session in its expanded form.": "以巨形态显示当前会话。",
    "Print a session in one of its three forms.": "以三态之一显示会话。",
    "Build an agent's context, or tell how full it is.": "拼装上下文，或显示其使用情况。",
    "Prune a session's transcript.": "修剪会话的转录文件。",
    "Check the records.": "检查记录。",
    "Prepare the removal of a secret.": "准备清除泄露的机密。",
    "Take over records of other tools.": "导入其他工具的记录。",
    "Change between the two layouts of the context.": "在两种上下文布局之间切换。",
    "Write records in another tool's form.": "导出为其他工具的格式。",
    "Build or serve the wiki.": "生成或提供 wiki。",
    "Connect an agent host.": "接入智能体宿主。",
    "Serve agents over MCP.": "通过 MCP 为智能体提供服务。",
    "Print the context for a sub-agent.": "显示给分身的上下文。",
    "Look at seeds, karma and preferences.": "查看种子、业力与偏好。",
    "Explain the settings.": "解释设置。",
    "Check that everything works.": "检查一切是否正常。",
    "Merge a record, for git.": "供 git 合并记录。",
}
SESSIONS_ZH: dict[str, str] = {
    "Save, list and load the sessions of agents.": "保存、列出、加载智能体的会话。",
    "Put what a session decided through the gate and archive it under content/sessions/.": (
        "把会话的决定交给闸门，并存档到 content/sessions/。"
    ),
    "Retire old archives.": "清理旧归档。",
    "Take archives that are older than an age out of the checkout, in one commit; those that a record cites stay.": (
        "用一个提交把早于给定时长的归档移出检出目录；被记录引用的保留。"
    ),
    "History keeps them. An expanded form that was too large for git was only in this clone, and goes for good.": (
        "历史中仍有。因太大而只留在本克隆的巨形态则彻底删除。"
    ),
    "How old: 180d, 26w, 6m or 1y.": "时长：180d、26w、6m 或 1y。",
    "Only tell which.": "只显示会移除哪些。",
    "The session's JSONL file.": "会话的 JSONL 文件。",
    "The session's id (default: the one in the file).": "会话编号（默认：文件里的）。",
    "The folder the session worked in (default: the one in the file).": "会话的工作目录（默认：文件里的）。",
    "With the normal and the expanded form as well.": "同时存常形态与巨形态。",
    "Print what the library returns, as JSON.": "以 JSON 显示结果。",
    "List archived sessions.": "列出归档会话。",
    "List the archived sessions of a project, oldest first; in the knowledge base itself, those of all.": (
        "列出一个项目的归档会话，旧的在前；在知识库自身的目录里，列出所有项目的。"
    ),
    "Of this project (default: the one you are in).": "看这个项目的（默认：当前项目）。",
    "Of all projects.": "看所有项目的。",
    "today, yesterday, week, or a day (2026-11-21).": "今天、昨天、本周，或某一天（2026-11-21）。",
    "Print the compact form of an archived session, with pointers to the rest; a unique part of its name will do.": (
        "显示归档会话的缩形态及其余文件的位置；名字的唯一部分即可。"
    ),
    "Tell how a running session stands.": "显示当前会话的状态。",
    "Tell how full the context of a running SESSION is and in which form it is shown.": (
        "显示会话 SESSION 的上下文使用情况与所用形态。"
    ),
    "With --budget it may be a transcript: its richest form that fits is printed, with every anchor that it cites.": (
        "带 --budget 时也可以是会话记录文件：打印放得下的最完整的形态，保留其引用的全部锚点。"
    ),
    "Compress a transcript into so many tokens instead.": "改为把会话记录压缩到这么多 token 以内。",
    "SESSION is its id or the beginning of it; without it, the last session of this project.": (
        "SESSION 是会话编号或其开头；省略则取本项目最近的会话。"
    ),
    "Archive the session of TRANSCRIPT, a JSONL file, under content/sessions/; 存档 is the same.": (
        "把 TRANSCRIPT（JSONL 文件）的会话存档到 content/sessions/；即“存档”。"
    ),
    "What it decided goes through the gate. Without TRANSCRIPT, the last session of this project. An expanded form of "
    "more than 200,000 bytes stays in this clone.": (
        "会话的决定交给闸门。省略 TRANSCRIPT 则取本项目最近的会话。超过 200,000 字节的巨形态只留在本克隆。"
    ),
    "The same, as an option.": "同上，以选项给出。",
    "Print the compact form of the archived session NAME, with pointers to the rest; 加载 is the same.": (
        "显示归档会话 NAME 的缩形态及其余文件的位置；即“加载”。"
    ),
    "NAME is a unique part of the archive's name, or words of its task.": "NAME 是存档名的唯一部分，或任务里的词。",
    "Show a running SESSION in its compact form until the use of its context calls for another; 压缩 is the same.": (
        "以缩形态显示会话 SESSION，直到上下文使用情况需要另一种；即“压缩”。"
    ),
    "Show a running SESSION in its expanded form until the use of its context calls for another; 展开 is the same.": (
        "以巨形态显示会话 SESSION，直到上下文使用情况需要另一种；即“展开”。"
    ),
    "Look at the records in one of three views: 种子库 seeds by kind, 业力库 karma by label, 偏好库 preferences.": (
        "以三种视图查看记录：种子库 seeds、业力库 karma、偏好库 prefs。"
    ),
}
FORMS_ZH: dict[str, str] = {
    "Print a session in one of its three forms: compact (< 500 words), normal (500 to 2000) or expanded.": (
        "以三态之一显示会话：compact（缩，< 500 字）、normal（常，500–2000 字）、expanded（巨）。"
    ),
    "SOURCE is a transcript, or (part of) the name of an archived session; without it, the last session of this "
    "project. Without FORM and --for, how full the context is decides. `kb form lint FILE` proves a form that somebody "
    "wrote.": (
        "SOURCE 是转录文件，或归档会话名（的一部分）；省略则取本项目最近的会话。不给 FORM 与 --for 时按使用情况选择。"
        "`kb form lint FILE` 检查他人写的形态。"
    ),
    "agent-start (compact), handover (normal) or debug (expanded).": (
        "agent-start（缩）、handover（常）或 debug（巨）。"
    ),
    "Print background, related records and domain knowledge.": "显示项目背景、相关记录与领域知识。",
    "Print what an agent reads before it answers: the project's background, related records, domain knowledge.": (
        "显示智能体回答之前要读的：项目背景、相关记录、领域知识。"
    ),
    "Relevance is how much of what was asked a record speaks of.": "相关度是一条记录谈到了所问内容的多少。",
    "Related records, at most.": "相关记录的条数上限。",
    "Only what answers, as a numbered list.": "只显示能回答的记录，编号列出。",
    "Estimate the tokens of FILE, or of stdin, and count its words and CJK characters.": (
        "估算 FILE 或标准输入的 token 数，并数其字数。"
    ),
    "Estimate the tokens of a text.": "估算一段文本的 token 数。",
    "Words of a compact form, at most.": "缩形态的字数上限。",
    "How full the context is, to choose the form by.": "上下文使用百分比，据此选择形态。",
    "Build what an agent is given to work with, or tell how full its context is.": (
        "拼装交给智能体的上下文，或显示上下文使用情况。"
    ),
    "Print the records that answer a question, within a budget.": "在预算内显示回答问题的记录。",
    "Print the records that answer a question, within a budget of tokens: whole ones or their short forms.": (
        "在 token 预算内显示回答问题的记录：完整的或缩略的。"
    ),
    "The best stand first, none is cut, and the budget is never exceeded. Where no record is about the question, "
    "nothing is printed.": "最相关的在前，不截断任何一条，绝不超出预算。没有相关记录时什么也不显示。",
    "What the work is about.": "工作的内容。",
    "Answer a question with evidence: quotes word for word, what is not known, what the code says otherwise.": (
        "带证据地回答问题：逐字引文、尚不知道的、与代码不符的。"
    ),
    "YAML, or JSON with --json. Nothing is invented: what no record says is an open question with where to look. The "
    "code is asked about paths, symbols, versions of manifests, ports and names of variables; the rest is left to a "
    "person.": (
        "输出 YAML，--json 则为 JSON。绝不编造：记录没有说的列为开放问题，并指出去哪里找。"
        "路径、符号、清单中的版本、端口、环境变量名与代码核对，其余留给人判断。"
    ),
    "Tell what to read before a piece of work, by what somebody wants to do; none for small talk and other things.": (
        "按想做什么给出动手前该读的文件；闲聊与无关的事为 none。"
    ),
    "The same words always lead to the same files: records about them, the conventions when unsure and in five "
    "situations (choosing a technology, creating a module, architecture, shared code, refactoring), and the kinds that "
    "help.": (
        "同样的话总是得到同样的文件：相关记录；不确定时以及五种场景（技术选型、创建新模块/组件、架构决策、修改公共模块、重构迁移）"
        "下的约定；以及有帮助的类型。"
    ),
    "Tell how to find an answer: which one to three files to read directly, or that they are too many or too long.": (
        "怎样找到答案：直接读哪 1–3 个文件，或者文件太多、太长。"
    ),
    "More than 3 files or 300 lines are for the reader: `kb pack`. An answer cites what it was read from.": (
        "超过 3 个文件或 300 行交给 reader：`kb pack`。回答须引用出处。"
    ),
    "Write memory-bank/MEMORY.md and memory-bank/details/patterns.md anew, for agents that read files.": (
        "为只读文件的智能体重新生成 memory-bank/MEMORY.md 与 memory-bank/details/patterns.md。"
    ),
    "MEMORY.md has routing rules, the drill-down protocol, write safety and at most 8 quick answers. What stands in "
    "the USER block stays; a second run changes nothing. content/templates/memory.md and patterns.md replace the "
    "templates.": (
        "MEMORY.md 含路由规则、下钻协议、写入安全与至多 8 条常见问答。USER 区块的内容保持不变；再次运行不会有改动。"
        "content/templates/memory.md 与 patterns.md 可替换模板。"
    ),
    "Write nothing; leave with 1 where a file is not up to date.": "不写入；有文件过期则退出码为 1。",
    "Also over a MACHINE block that somebody has edited.": "即使有人改过 MACHINE 区块也重新生成。",
    "Tell agents by files how to use kb: a protocol block in AGENTS.md or CLAUDE.md, and a skill.": (
        "用文件告诉智能体如何使用 kb：AGENTS.md 或 CLAUDE.md 中的协议区块，以及一个 skill。"
    ),
    "The folder of skills (default: .claude/skills).": "skill 的目录（默认：.claude/skills）。",
    "The file for the block (repeatable; default: those there).": "放区块的文件（可重复；默认：已有的）。",
    "For the user, in ~/.claude, instead of the project around.": "为用户安装到 ~/.claude，而不是当前项目。",
    "Write the block and the skill.": "写入区块与 skill。",
    "Write the protocol block and the skill, and show what that changes; again, it changes nothing.": (
        "写入协议区块与 skill，并显示改动；再次运行不会有改动。"
    ),
    "The block goes into AGENTS.md, CLAUDE.md and GEMINI.md where they are, else into a new AGENTS.md. What stands "
    "around it stays byte for byte. A file of the skill that somebody has edited is left alone.": (
        "区块写入已有的 AGENTS.md、CLAUDE.md、GEMINI.md；都没有时新建 AGENTS.md。"
        "区块之外逐字节不变。被人改过的 skill 文件不动。"
    ),
    "Take the block and the skill out.": "移除区块与 skill。",
    "Take the protocol block and the skill out; what stands around the block stays byte for byte.": (
        "移除协议区块与 skill；区块之外逐字节不变。"
    ),
    "Show what stands where.": "显示各处的状态。",
    "Show where block and skill stand and whether they are up to date; leave with 1 where they drift apart.": (
        "显示区块与 skill 在哪里、是否最新；两者漂移时退出码为 1。"
    ),
    "Drift is a block and a skill that speak of different versions of the protocol; then the block holds.": (
        "漂移指区块与 skill 的协议版本不同；此时以区块为准。"
    ),
    "Print the JSON schema of a pack.": "显示 pack 的 JSON schema。",
    "Check a pack that a reader wrote, JSON or YAML.": "检查 reader 写的 pack（JSON 或 YAML）。",
    "Tokens, at most.": "token 上限。",
    "Only this kind.": "只要这一类型。",
    "Tell how full the context is.": "显示上下文使用情况。",
    "Tell how full the context is by the usage fields of TRANSCRIPT, and what that calls for.": (
        "按 TRANSCRIPT 的 usage 字段显示上下文使用情况，以及该做什么。"
    ),
    "Below 50% the expanded form, from 50% the normal one, from 70% the compact one and a reminder, from 85% pruning, "
    "above 95% an archive. Without TRANSCRIPT, the last session of this project.": (
        "低于 50% 巨形态，50% 起常形态，70% 起缩形态并提醒，85% 起修剪，高于 95% 存档。省略则取本项目最近的会话。"
    ),
    "How full it is, where that is known already.": "已知的使用百分比。",
    "The model, for the size of its context (see context_windows).": "模型名，用于确定窗口大小（见 context_windows）。",
}
PRUNING_ZH: dict[str, str] = {
    "Prune a session's transcript: `kb prune FILE` is `kb prune transcript FILE`.": (
        "修剪会话的转录文件：`kb prune FILE` 即 `kb prune transcript FILE`。"
    ),
    "Report what can be pruned; write a pruned copy.": "报告可修剪的内容；写出修剪后的副本。",
    "Report what is stale in TRANSCRIPT, a JSONL file, and with --out write a copy without it.": (
        "报告 TRANSCRIPT（JSONL 文件）里过时的内容；--out 写出去掉它们的副本。"
    ),
    "Repeated calls, writes that were read again, inputs of old failures and overlong search results go; the last "
    "turns, what cites anchors and files protected by name stay. TRANSCRIPT itself never changes. Without it, the "
    "last session of this project. Needs no knowledge base; where there is one, its dcp-config.yaml holds and the "
    "report is kept.": (
        "去掉：重复调用、已被重新读取的写入、旧失败的输入、过长的搜索结果；保留：最近几轮、引用锚点的段落、按名保护的文件。"
        "TRANSCRIPT 本身不变；省略则取本项目最近的会话。不需要知识库；有则用其 dcp-config.yaml，并保存报告。"
    ),
    "Write the pruned transcript to this file; - is stdout.": "把修剪后的转录写到该文件；- 为标准输出。",
    "Only these: dedup, supersede, errors, truncate; commas or several times.": (
        "只用这些策略：dedup、supersede、errors、truncate；可用逗号或多次给出。"
    ),
    "Also list what may be dropped, and drop what is safe.": "同时列出可丢弃的内容，并丢弃安全的。",
    "Drop it although the settings ask for confirmation.": "即使设置要求确认也丢弃。",
    "Name every cut and every text that was kept, and what it costs.": "逐项列出修剪与保留，以及代价。",
    "How full the context is (default: by the transcript).": "上下文使用百分比（默认按转录文件）。",
    "Show the newest report.": "显示最近的报告。",
    "Show the report of the newest pruning.": "显示最近一次修剪的报告。",
    "Show or check the settings of pruning.": "显示或检查修剪设置。",
    "Print every key of dcp-config.yaml with the value that holds, as such a file; or prove FILE.": (
        "以 dcp-config.yaml 的格式显示全部键及其当前值；或检查 FILE。"
    ),
    "The file stands at the root of the knowledge base, beside kb.toml.": "该文件位于知识库根目录，与 kb.toml 并列。",
    "Only prove the file; 2 where it cannot be used.": "只检查文件；不可用时退出码为 2。",
}
RECORDS_ZH: dict[str, str] = {
    "Make a knowledge base at PATH, here, or for yourself; complete one that is there.": (
        "在 PATH、当前位置，或为自己新建知识库；已有的会被补全。"
    ),
    "Without any of the three: where --kb or $KB_HOME says, the one around the current folder, or, outside every "
    "repository, ~/.kb.": (
        "三者都不给时：--kb 或 $KB_HOME 所指之处、当前文件夹所在的知识库；不在任何仓库里时则是 ~/.kb。"
    ),
    "In ~/.kb, for yourself in all projects.": "放在 ~/.kb，供自己在所有项目中使用。",
    "With --ci: where kb is installed from, with a tag, in place of the setting install_from.": (
        "与 --ci 同用：从哪里安装 kb，带标签；优先于设置 install_from。"
    ),
    "In the current folder, inside the code repository that is there.": "放在当前文件夹，即所在的代码仓库之内。",
    "What it is called.": "知识库的名称。",
    "Language of headings and messages.": "标题与消息的语言。",
    "Add what runs kb check and shows the wiki: workflows for the remote's host, a pre-commit configuration.": (
        "加上运行 kb check 与展示 wiki 的文件：远端托管平台的工作流与 pre-commit 配置。"
    ),
    "See kb layout migrate.": "见 kb layout migrate。",
    "Hand candidates to the gate: from a JSON file, from stdin (-), or from the options.": (
        "把候选交给闸门：来自 JSON 文件、标准输入（-）或各选项。"
    ),
    "Exit 0: written. 3: something was refused or held. 4: a review was opened.": (
        "退出码 0：已写入；3：有候选被拒绝或暂留；4：开了一个评审。"
    ),
    "Print the JSON schema of a candidate and stop.": "输出候选的 JSON schema 后结束。",
    "One of: decision, constraint, interface, pitfall, pattern, preference, checklist, domain-note (or the "
    "prefix, or 决策…).": (
        "种类之一：decision、constraint、interface、pitfall、pattern、preference、checklist、domain-note（或"
        "前缀，或 决策……）。"
    ),
    "What was decided about what.": "就什么作出了什么决定。",
    "What holds from now on.": "从现在起成立的内容。",
    "What else was considered.": "还考虑过什么。",
    "The reasons.": "理由。",
    "A path it is about (repeatable).": "涉及的路径（可重复）。",
    "How to check that it holds.": "如何验证它成立。",
    "How to undo it.": "如何撤回。",
    "A tag (repeatable).": "标签（可重复）。",
    "global or project/<name> (default: the project you are in).": "global 或 project/<名称>（默认：所在项目）。",
    "Short for --scope project/<name>.": "即 --scope project/<名称>。",
    "What it weighs on (repeatable).": "影响哪些方面（可重复）。",
    "A checkable fact (repeatable).": "可核对的事实（可重复）。",
    "What it does not contradict.": "它与哪条并不矛盾。",
    "An id it replaces (repeatable).": "被它取代的编号（可重复）。",
    "An id it replaces in part (repeatable).": "被它部分取代的编号（可重复）。",
    "The id of the record whose sections these are; kind and title are its own.": (
        "这些小节所属记录的编号；类别与标题取自该记录。"
    ),
    "Useful in other projects.": "对其他项目也有用。",
    "Self-check: will it affect a later decision?": "自检：会影响以后的决定吗？",
    "Self-check: worth looking up?": "自检：值得查阅吗？",
    "Self-check: does it prevent a repeat?": "自检：能避免重犯吗？",
    "The session it comes from.": "它来自哪个会话。",
    "The program that hands it in.": "提交它的程序。",
    "Name every record, and print every remark.": "逐条列出记录与说明。",
    "Show every verdict, write nothing.": "只显示裁定，不写入。",
    "Only of this project, and the global ones; in the knowledge base itself, all.": (
        "只列本项目的和全局的；在知识库自身的目录里，列出全部。"
    ),
    "List records by scope and id, all or those that the options name.": "按范围与编号列出记录：全部，或选项所指的。",
    "Only this kind (name, prefix or 决策…).": "只要此种类（名称、前缀或 决策……）。",
    "Only this category.": "只要此类别。",
    "Only this status.": "只要此状态。",
    "global or project/<name>.": "global 或 project/<名称>。",
    "Only with this tag.": "只要带此标签的。",
    "Only from this day on (2026-11-21), or today, yesterday, week.": (
        "只要从此日起的（2026-11-21），或 today、yesterday、week。"
    ),
    "As a markdown table: decision, date, reason.": "以 markdown 表格显示：决策、日期、理由。",
    "Print the file of a record, or its short form.": "显示一条记录的文件或其短形式。",
    "Only title, why, impact and rollback.": "只显示标题、理由、影响与回滚。",
    "With --short: all six ADR fields.": "与 --short 合用：全部六个 ADR 字段。",
    "Find records by words of their title, tags or text, Chinese or English, best first.": (
        "按标题、标签或正文中的词搜索记录，中英文皆可，最相关的在前。"
    ),
    "What holds all the words stands first; where that is no answer yet, what holds some of them follows. Without "
    "words, all that a filter wants, the newest first.": (
        "含全部词的在前；不够时再列含部分词的。不给词则列出符合筛选的全部，新的在前。"
    ),
    "Only this kind.": "只要此种类。",
    "Only up to this day.": "只要到此日为止的。",
    "Only what governs this file: records that name it or a folder it is in.": (
        "只要管着此文件的：提到它或其上层文件夹的记录。"
    ),
    "Tell how the words were understood and what each score is made of.": "说明如何理解这些词、每个分数由什么组成。",
    "At most so many.": "最多多少条。",
    "Print the T1 hint (before work: pitfalls, constraints, patterns) or the T2 hint (after the plan: decisions).": (
        "显示 T1 惯性提示（动手前：陷阱、约束、模式）或 T2（定方案后：决策）。"
    ),
    "Only records that hold this word, as a whole (repeatable).": "只要含有这个词（整词）的记录（可重复）。",
    "For the moment avatar: 眼 耳 鼻 舌 身 意, or an English alias.": (
        "avatar 时机用：眼 耳 鼻 舌 身 意，或英文别名。"
    ),
    "The task in words: records that are about it.": "任务描述：与之相关的记录。",
    "The folder whose project is meant (default: here).": "指哪个文件夹的项目（默认：当前）。",
    "Print who changed a record, when and with which operation, newest first.": (
        "显示谁在何时以何操作改了一条记录，新的在前。"
    ),
    "With what each commit changed.": "连同每个提交的改动。",
    "Tell the life of a record from git.": "从 git 讲述一条记录的来历。",
    "播种 seeded, 休眠 dormant, 成熟 matured, 果报 fruited, 更新 updated, 废弃 obsolete.": (
        "播种、休眠、成熟、果报、更新、废弃。"
    ),
    "Tell what a record cites, supersedes and amends, and what does so to it; dangling citations are marked.": (
        "显示一条记录引用、取代、修订什么，以及什么对它如此；悬空的引用会标出。"
    ),
    "Edit a record in $EDITOR; it is checked on saving and opened again at the error.": (
        "用 $EDITOR 修改一条记录；保存时检查，有错则在出错处重新打开。"
    ),
    "A person has decided it (for scripts, without a terminal).": "由人决定（用于没有终端的脚本）。",
    "It takes a person.": "须由人来做。",
    "Do here what merging the pull request would do. It takes a person.": (
        "在本地做合并请求被合并时的事。须由人来做。"
    ),
    "Taking an accepted record out of force is a person's decision: from a program it becomes a review.": (
        "让一条生效的记录失效须由人决定：由程序提出时成为评审。"
    ),
    "Only you take an accepted record out of force (--supersedes, --amends, --updates): from a program, or as JSON, "
    "that becomes a review.": (
        "只有您能让一条生效的记录失效（--supersedes、--amends、--updates）：由程序或以 JSON 提出时成为评审。"
    ),
    "What others commit meanwhile stays. What you type lies under .kb/edits/ until it is committed.": (
        "期间他人提交的内容保持不变。你输入的内容在提交之前保存在 .kb/edits/ 中。"
    ),
    "Give a record another status, where the table of transitions allows it.": (
        "在状态转换表允许时改变一条记录的状态。"
    ),
    "The reason; it goes into the record and the commit.": "理由；写入记录与提交。",
    "Replace a record by a newer one; both ends are written in one commit.": (
        "用更新的记录取代旧记录；两端在一个提交中写好。"
    ),
    "The id of the record that replaces it.": "取代它的记录的编号。",
    "Only in part: the old one stays in force for the rest.": "只取代一部分：其余部分旧记录仍有效。",
    "Stamp a record as found true today; `kb check` counts its age from there.": (
        "记下今天确认一条记录成立；`kb check` 从此日起算其年龄。"
    ),
    "Print the Verification section of a record and the commands in it; with --run, run them.": (
        "显示一条记录的验证小节及其中的命令；加 --run 则执行。"
    ),
    'Commands are what stands in shell blocks and behind "$ ". Nothing else in kb runs what a record says. The '
    "result is written into the record; exit 1 when a command fails, 5 when nobody has said yes.": (
        "命令即 shell 代码块中与“$ ”之后的内容。kb 别处从不执行记录里写的东西。结果写入记录；命令失败退出码 1"
        "，无人同意退出码 5。"
    ),
    "Run the commands, after showing them and asking.": "显示命令并询问后执行。",
    "With --run: you have read the commands, do not ask.": "与 --run 合用：已读过命令，不再询问。",
    "Where they run (default: the top of the repository).": "在何处执行（默认：仓库顶层）。",
    "Seconds for each command.": "每条命令的秒数上限。",
    "Mark a record deprecated. The file stays: what was once decided can be looked up; its number is not reused.": (
        "把一条记录标为废弃。文件保留，曾经的决定仍可查；编号不再使用。"
    ),
    "The reason.": "理由。",
    "List the open reviews: contradictions that a person decides. Merging the branch is accepting it.": (
        "列出待审的冲突，由人裁决。合并分支即接受。"
    ),
    "Print both sides of a review beside each other, why they contradict, and the diff.": (
        "并排显示冲突双方、为何矛盾以及差异。"
    ),
    "Print both sides of a review beside each other.": "并排显示冲突双方。",
    "Merge a review into this branch.": "把待审分支并入本分支。",
    "Do here what closing the pull request would do; the branch stays readable under refs/kb/rejected/.": (
        "在本地做合并请求被关闭时的事；分支仍可在 refs/kb/rejected/ 下读到。"
    ),
    "Close a review.": "关闭一个待审冲突。",
    "Push the branch of a review and print the command that opens the pull or merge request.": (
        "推送待审分支，并显示创建合并请求的命令。"
    ),
    "Push a review and open its request.": "推送待审分支并创建请求。",
    "Where to.": "推送到哪里。",
    "Run gh or glab, where it is installed.": "执行已安装的 gh 或 glab。",
    "Fetch, put what is new here upon what is new there, and push: the branch, open reviews and the inbox.": (
        "取回，把本地新内容接到远端新内容之上，再推送：分支、待审冲突与收件箱。"
    ),
    "Nothing is forced, and nothing that is published is rewritten. A record whose number was taken meanwhile "
    "gets the next free one, and what cites it follows. Without a connection nothing happens and nothing is lost. "
    "Where the branch takes no pushes, the commits go to a branch for a pull request. Exit 5 where a person has "
    "to decide.": (
        "绝不强推，已发布的不改写。编号已被占用的记录得到下一个空号，引用随之更新。没有网络时什么也不发生，什"
        "么也不丢。分支不接受推送时，提交进入供合并请求用的分支。需要人决定时退出码 5。"
    ),
    "With which remote (default: that of the branch, else origin).": "与哪个远端（默认：分支的远端，否则 origin）。",
    "Send what the remote does not have.": "发送远端没有的内容。",
    "Renumber the younger of every two records that have one number, or the record that ID means.": (
        "给同号两条记录中较新的一条重新编号，或给 ID 所指的记录。"
    ),
    "One commit: the file, its front and title, and every citation that means the record. The old number stays an "
    "alias. A citation of which history does not say which of the two it means stays as it is and is named.": (
        "一个提交：文件、frontmatter、标题及所有指它的引用。旧编号保留为别名。历史说不清指哪一条的引用保持原样并列出。"
    ),
    "Only tell what would change.": "只显示会改变什么。",
    "Merge records again that were merged without kb, as by the button of a code host, in one commit.": (
        "对没有经过 kb 的合并（如托管平台的合并按钮）重新合并记录，用一个提交。"
    ),
    "A record is merged anew from the parents of the merge where it still stands as its lines were put together, "
    "or has conflict markers or a section twice. What both sides decided differently is named for you: exit 5.": (
        "记录若仍是逐行拼出的样子、含冲突标记或重复小节，就从合并的双亲重新合并。双方决定不同之处会列出：退出码 5。"
    ),
    "Look through all merges, not only those since the last time.": "检查全部合并，而不只是上次之后的。",
    "See what the gate keeps back. Seen again in another session, a candidate comes out by itself.": (
        "查看闸门留下的候选。在另一会话中再次出现时会自动放行。"
    ),
    "List what is held: name, how often it was seen, kind and title.": "列出留下的候选：名称、出现次数、种类与标题。",
    "List what is held.": "列出留下的候选。",
    "Print one held candidate with the reasons and its sightings, as JSON.": (
        "以 JSON 显示一个留下的候选、理由与出现记录。"
    ),
    "Print one held candidate.": "显示一个留下的候选。",
    "Let a held candidate through the gate on your word; duplicates and contradictions are still looked for.": (
        "凭你的话放行一个留下的候选；仍会查重复与矛盾。"
    ),
    "Let a held candidate through.": "放行一个留下的候选。",
    "Forget a held candidate; the history of the inbox keeps it.": "丢弃一个留下的候选；收件箱的历史中仍有。",
    "Forget a held candidate.": "丢弃一个留下的候选。",
    "Check files, ids, links, statuses, blocks, secrets and what the records speak of; exit 1 on errors.": (
        "检查文件、编号、链接、状态、区块、机密以及记录所说之事；有错误时退出码 1。"
    ),
    "With PATH only what is found in that file, or below that folder, counts; the links are still checked against "
    "all.": ("给 PATH 时只计该文件或该文件夹下的发现；链接仍对照全部记录检查。"),
    "With --against the changed records are told in short, with those that are like them, what they contradict "
    "there and on other open branches, the ids that are taken on both sides, and what will hold after the merge. "
    "Exit 1 on errors in what changes, not on those that are there anyway.": (
        "加 --against 则简述改动的记录、与之相似的、在那边与其他开放分支上相矛盾的、双方都占用的编号，以及合"
        "并后什么成立。只有改动中的错误才使退出码为 1。"
    ),
    "Tell what merging the checkout into REVISION (origin/main) changes, and what is against it.": (
        "说明把检出内容并入 REVISION（origin/main）会改变什么、有何妨碍。"
    ),
    "Mend in the checkout what can be mended safely.": "在检出目录中修复可安全修复的。",
    "Lines to read, JSON, the annotations of a GitHub workflow, or a comment for a pull request.": (
        "供阅读的文本、JSON、GitHub 工作流注解，或合并请求的评论。"
    ),
    "Short for --format json.": "即 --format json。",
    "Let warnings fail too.": "警告也算失败。",
    "Find a secret that got in by hand and prepare what removes it from the history; nothing of that is run.": (
        "找出手工写进来的机密，并备好从历史中清除的步骤；一步也不执行。"
    ),
    "The secret is asked for without an echo, or read from stdin; it is never given on the command line. Exit "
    "code 5: it was found, and a person goes on.": (
        "机密以不回显方式询问，或从标准输入读取；绝不写在命令行上。退出码 5：已找到，由人继续。"
    ),
    "Take over the records of other tools. Importing the same again changes nothing.": (
        "导入其他工具的记录。重复导入不改变任何内容。"
    ),
    "Import decision records: Nygard, MADR 2 to 4, adr-tools, log4brains.": (
        "导入决策记录：Nygard、MADR 2 至 4、adr-tools、log4brains。"
    ),
    "PATH is a file, or a folder whose markdown files are read. What is no decision record is named with the "
    "reason, and the others go on. Numbers, dates, statuses and links between the records are kept.": (
        "PATH 是文件，或读取其中 markdown 的文件夹。不是决策记录的会连同原因列出，其余照常。编号、日期、状态"
        "与记录间链接都保留。"
    ),
    "Import decision records.": "导入决策记录。",
    "Import the anchors of FILE, in which each stands under its `## [D001] title`.": (
        "导入 FILE 中的锚点，每条位于各自的 `## [D001] 标题` 之下。"
    ),
    "Import an anchors.md.": "导入 anchors.md。",
    "Change between the layout of a user (content/ alone) and that of one project (.wukong/context/ beside it).": (
        "在用户布局（仅 content/）与项目布局（另有 .wukong/context/）之间切换。"
    ),
    "Change to LAYOUT in one commit; nothing is lost either way.": "用一个提交切换到 LAYOUT；两个方向都不丢内容。",
    "`project` writes .wukong/context/ (anchors.md, dcp-config.yaml, templates/ and sessions/), `user` removes "
    "it. Both take back first what only that tree has; an anchor that was edited there stops them.": (
        "`project` 写出 .wukong/context/（anchors.md、dcp-config.yaml、templates/、sessions/），`user` 移除它"
        "。两者都先取回只在该树中的内容；其中被修改过的锚点会使其停下。"
    ),
    "Change to a layout.": "切换布局。",
    "Only tell which files.": "只显示哪些文件。",
    "Write records in the form of another tool.": "以其他工具的格式写出记录。",
    "Write the anchors of a scope (default: all) as one file, oldest first; `kb import wukong` reads it back equal.": (
        "把一个范围（默认：全部）的锚点写成一个文件，旧的在前；`kb import wukong` 可原样读回。"
    ),
    "Write an anchors.md.": "写出 anchors.md。",
    "Where to (default: stdout).": "写到哪里（默认：标准输出）。",
    "Build or serve the wiki: a page for every record, session, kind and tag, with links and a search.": (
        "生成或提供 wiki：每条记录、会话、种类与标签各有一页，带链接与搜索。"
    ),
    "Build the wiki as files that a browser opens, and print the path of the first page.": (
        "把 wiki 生成为浏览器可打开的文件，并显示首页路径。"
    ),
    "Build the wiki.": "生成 wiki。",
    "Fail where a citation or a link leads nowhere.": "引用或链接落空时失败。",
    "Use the mkdocs.yml of the knowledge base; it runs the plugins, hooks and templates that it names.": (
        "使用知识库的 mkdocs.yml；其中所列的插件、钩子与模板会被执行。"
    ),
    "Show what a branch changes.": "显示一个分支改变了什么。",
    "What it is to be merged into.": "要合并到的修订。",
    "Where the whole wiki is, for links that leave.": "完整 wiki 的地址，供指向预览之外的链接使用。",
    "Write a report of what merging changes, with both sides, and the pages of the changed records alone.": (
        "写出合并所改变内容的报告（两侧对照），以及仅有变化的记录的页面。"
    ),
    "Show the wiki in a browser until you stop it; it follows the records as they change.": (
        "在浏览器中显示 wiki，直到你停止；记录改变时随之更新。"
    ),
    "Serve the wiki.": "提供 wiki。",
    "Where it listens.": "监听地址。",
    "Write kb's hooks into the settings of an agent host, take them out, or show them.": (
        "把 kb 的钩子写入智能体宿主的设置、取出或显示。"
    ),
    "Write kb's hooks into the settings of HOST and show what that changes; again, it changes nothing.": (
        "把 kb 的钩子写入 HOST 的设置并显示改动；再次执行不改变任何内容。"
    ),
    "Folders that kb has made go as well when they are empty; for opencode, so do the additions to prompts.": (
        "kb 建立的文件夹若已为空也一并移除；对 opencode，提示词中的补充也一并移除。"
    ),
    "HOST is claude, codex, gemini, copilot, cursor or opencode.": (
        "HOST 是 claude、codex、gemini、copilot、cursor 或 opencode。"
    ),
    "Only these events, separated by commas.": "只安装这些事件，以逗号分隔。",
    "For opencode: the prompts of these agents instead of the hooks (sisyphus,atlas).": (
        "用于 opencode：改动这些智能体的提示词，而不是钩子（sisyphus,atlas）。"
    ),
    "Write a Claude Code plugin.": "写出 Claude Code 插件。",
    "Write a folder that is a marketplace of Claude Code with one plugin: kb's hooks for everybody who adds it.": (
        "写出一个文件夹：它是只有一个插件的 Claude Code 市场，添加它的人都会得到 kb 的钩子。"
    ),
    "The folder to write.": "要写出的文件夹。",
    "How the plugin calls kb-hook.": "插件如何调用 kb-hook。",
    "Offer kb's MCP server as well.": "同时提供 kb 的 MCP 服务器。",
    "Write the hooks.": "写入钩子。",
    "In the settings of the user (the default).": "写入用户的设置（默认）。",
    "In the settings of the project around.": "写入所在项目的设置。",
    "Show what would change and change nothing.": "只显示会改变什么。",
    "Take kb's hooks out of the settings of HOST; what was there before and besides stays as it was.": (
        "把 kb 的钩子从 HOST 的设置中取出；其余内容保持原样。"
    ),
    "Take the hooks out.": "取出钩子。",
    "Show which hooks of kb stand in the settings of the user and of the project around, for every host.": (
        "显示每个宿主的用户设置与所在项目的设置中有哪些 kb 钩子。"
    ),
    "Show the hooks.": "显示钩子。",
    "Print compact form, hints, task and a pointer to more: what a sub-agent's prompt begins with.": (
        "显示缩形态、惯性提示、任务与更多内容的指引：分身提示词的开头。"
    ),
    "Its role: 眼 耳 鼻 舌 身 意, or an English alias.": "角色：眼 耳 鼻 舌 身 意，或英文别名。",
    "Its task.": "任务。",
    "The session that calls it, by the beginning of its id (default: the last one of this project that runs).": (
        "调用它的会话，给出编号的开头即可（默认：本项目最近的进行中会话）。"
    ),
    "shi: hints by moment; ruyi: one list of anchors.": "shi：按时机的惯性提示；ruyi：一张锚点表。",
    "Print every setting of kb.toml with its value here, its default and what it means.": (
        "显示 kb.toml 的每项设置：当前值、默认值与含义。"
    ),
    "Look at git, the repository, the index, the spool, the hooks and more; exit 1 where something failed.": (
        "检查 git、仓库、索引、暂存队列、钩子等；有失败时退出码 1。"
    ),
    "Mend what is safe to mend: the index, old failures, leftovers.": "修复可安全修复的：索引、旧故障、残留。",
    "Merge the files OURS and THEIRS, which both come from BASE, and write the result over OURS.": (
        "合并都来自 BASE 的 OURS 与 THEIRS，结果写入 OURS。"
    ),
    "git calls this as kb merge-driver %O %A %B %P; kb init tells it to. PATH is how the record is called. Exit "
    "0: merged, 1: conflicts stand between markers, above 128: nothing was written.": (
        "git 以 kb merge-driver %O %A %B %P 调用它，由 kb init 设定。PATH 是记录的路径。退出码 0：已合并，1："
        "标记之间留有冲突，大于 128：什么也没写。"
    ),
}
PROPOSALS_ZH: dict[str, str] = {
    "Tell which mode the guard is in here, what it wants to have been read, and the risk of writing each PATH.": (
        "显示守卫在此处的模式、要求先读什么，以及写入各 PATH 的风险。"
    ),
    "Print risk.yaml with the defaults, every key with its meaning, and stop.": (
        "打印带默认值的 risk.yaml，每个键附说明，然后结束。"
    ),
    "See and decide what is proposed to be kept. In a session, answer mb:write or mb:no instead.": (
        "查看并决定提议写入的内容。在会话里可直接回复 mb:write 或 mb:no。"
    ),
    "List what is proposed.": "列出待确认的提议。",
    "List what is proposed and not decided: name, kind and title.": "列出尚未裁决的提议：名称、类型、标题。",
    "Print one proposal.": "显示一条提议。",
    "Print one proposal with what it would write and what became of it, as JSON.": (
        "以 JSON 显示一条提议：会写入什么，结果如何。"
    ),
    "Propose candidates.": "提议候选。",
    "Propose the candidates in a JSON file, or on stdin (-); the person is asked at the end of the turn.": (
        "提议 JSON 文件或标准输入（-）里的候选；本轮结束时询问用户。"
    ),
    "The session at whose next turn the person is asked (default: any).": "在哪个会话的下一轮询问用户（默认：任意）。",
    "Write what is proposed.": "写入提议的内容。",
    "Write what is proposed (NAME, or all). It takes a person: at a terminal, or with the code that was shown.": (
        "写入提议的内容（NAME，或全部）。须由用户本人操作：在终端里，或用显示过的确认码。"
    ),
    "Drop what is proposed.": "放弃提议的内容。",
    "Drop what is proposed (NAME, or all); it is not proposed again. It takes a person, as confirm does.": (
        "放弃提议的内容（NAME，或全部），不会再次提议。与 confirm 一样须由用户本人操作。"
    ),
    "The code that was shown with the proposal.": "随提议显示的确认码。",
}
VECTORS_ZH: dict[str, str] = {
    "Make the vectors by which search finds what is meant beside what is said; needs an embedder in the settings.": (
        "生成向量，使搜索除字面之外也按意思查找；需在设置中指定 embedder。"
    ),
    "Give every record a vector that has none, in batches.": "分批为没有向量的记录生成向量。",
    "What was made stays when this is broken off; the next call goes on. Records that have not changed are not "
    "embedded again. Other commands go on meanwhile.": (
        "中断时已生成的保留，下次接着做。没有改动的记录不再重做。其间其他命令照常。"
    ),
    "Give every record a vector that has none.": "为没有向量的记录生成向量。",
    "Forget the vectors there are first.": "先丢弃已有的向量。",
    "Tell which embedder is used, whether it can be, and how many records have a vector.": (
        "显示使用哪个 embedder、是否可用，以及多少记录已有向量。"
    ),
    "Tell how things stand with the vectors.": "显示向量的状况。",
    "Print the vector of TEXT as JSON.": "以 JSON 输出 TEXT 的向量。",
    "Print the vector of a text.": "输出一段文本的向量。",
    "As a text that is searched; without it, as a question.": "按被搜索的文本处理；不加则按提问处理。",
    "Forget all vectors; search goes on by words. `kb vectors build` makes them again.": (
        "丢弃全部向量；搜索仍按字面进行。`kb vectors build` 可重新生成。"
    ),
    "Forget all vectors.": "丢弃全部向量。",
}
PAST_ZH: dict[str, str] = {
    "Load the words of a trade.": "载入行业用词。",
    "List the groups of words that mean the same here, or load more; search, contexts and packs find by them.": (
        "列出此处的同义词组，或载入更多；搜索、上下文和证据包据此查找。"
    ),
    "Add groups of words.": "添加词组。",
    "Add the groups in FILE, one on a line like `- [退款, refund, chargeback]`, to content/synonyms.yaml.": (
        "把 FILE 中的词组（每行一组，如 `- [退款, refund, chargeback]`）加入 content/synonyms.yaml。"
    ),
    "As the records stood at the end of this day.": "按这一天结束时的记录。",
    "As the records stood at this commit, tag or branch.": "按这个提交、标签或分支时的记录。",
    "With --as-of or --at, the records as they stood then, from git's history.": (
        "用 --as-of 或 --at 时，取自 git 历史中当时的记录。"
    ),
    "Only what this agent, or this author of a commit, wrote or changed.": "只要此智能体或此提交作者写过或改过的。",
    "Tell what became of the records between two commits.": "讲述两个提交之间记录的变化。",
    "Tell what was decided, superseded, deprecated, rejected or edited between two commits, tags or branches.": (
        "讲述两个提交、标签或分支之间新决定、被取代、已废弃、已否决和已修改的记录。"
    ),
    "The release notes of decisions, as markdown. A alone means A..HEAD.": (
        "即决策的发布说明，以 markdown 输出。只给 A 时指 A..HEAD。"
    ),
    "Tell what happened lately, and what waits.": "讲述近来发生的事和等待处理的事。",
    "Tell what became of the records since a day, which reviews are open, what is stale and what nobody used.": (
        "讲述某日以来记录的变化、待评审的冲突、过时的记录和无人使用的记录。"
    ),
    "What was used is what this clone has handed to agents; other clones count for themselves.": (
        "“使用”指本克隆交给过智能体；其他克隆各自统计。"
    ),
    "From this day on: 7d, 2026-11-21, week.": "从这一天起：7d、2026-11-21、week。",
    "Tell what depends on a record.": "讲述依赖一条记录的内容。",
    "Tell what would need a look if a record changed: records, code that cites it, files it is about, sessions.": (
        "讲述一条记录若有改动需要查看什么：其他记录、引用它的代码、它涉及的文件、会话。"
    ),
    "Code cites a record as `[D001]` or `kb:D001`; it is looked for in the projects on this machine.": (
        "代码以 `[D001]` 或 `kb:D001` 引用记录；在本机已知的项目中查找。"
    ),
}
MCP_ZH: dict[str, str] = {
    "Serve the knowledge base to agents over the Model Context Protocol, on stdin and stdout or over HTTP.": (
        "通过 Model Context Protocol 为智能体提供知识库：经标准输入输出，或经 HTTP。"
    ),
    "Over HTTP on this machine, for who has the token.": "在本机经 HTTP 提供，须持有令牌。",
    "Where --http listens (default: 127.0.0.1:8735).": "--http 监听的地址（默认 127.0.0.1:8735）。",
    "Let --address be one that other machines reach.": "允许 --address 是其他机器能访问的地址。",
    "A further name by which clients call it.": "客户端使用的其他名称。",
    "Make a new token; the old one lets nobody in any more.": "生成新令牌；旧令牌随即失效。",
    "Connect a client.": "接入客户端。",
    "Write kb's server into the settings of CLIENT and show the change.": (
        "把 kb 的服务器写入 CLIENT 的设置，并显示改动。"
    ),
    "CLIENT is claude, codex, gemini, copilot, cursor or opencode. Everything else in the file stays as it is; again, "
    "it changes nothing. With kb --kb PATH, that knowledge base is served wherever the client works.": (
        "CLIENT 是 claude、codex、gemini、copilot、cursor 或 opencode。文件中其余内容保持不变；再次执行不会有改动。"
        "用 kb --kb PATH 时，无论客户端在哪里工作都提供该知识库。"
    ),
    "In the user's own settings (the default).": "写入用户自己的设置（默认）。",
    "In the settings of the project around.": "写入所在项目的设置。",
    "Take the server out.": "移除服务器。",
    "Take kb's server out of the settings of CLIENT; what was there before and besides stays as it was.": (
        "从 CLIENT 的设置中移除 kb 的服务器；原有的和其他的内容保持不变。"
    ),
}
ROOT_ZH: dict[str, str] = {
    "A git-backed markdown knowledge base for engineering teams and their coding agents.": (
        "以 git 为后盾的 markdown 知识库，供工程团队及其编程智能体使用。"
    ),
    "Data goes to stdout, words to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 refused or held by the gate, 4 a "
    "review was opened, 5 a person is needed.": (
        "数据写到标准输出，话语写到标准错误。退出码：0 完成，1 失败，2 用法有误，3 被闸门拒绝或暂留，"
        "4 开了评审，5 需要由人来做。"
    ),
    "The knowledge base (default: the one around the current folder, else ~/.kb).": (
        "知识库（默认：当前文件夹所在的，否则 ~/.kb）。"
    ),
}
"""The help of kb itself, which is no command in the table."""

HELP_ZH: dict[str, str] = {
    **COMMANDS_ZH,
    **RECORDS_ZH,
    **SESSIONS_ZH,
    **FORMS_ZH,
    **PRUNING_ZH,
    **PAST_ZH,
    **VECTORS_ZH,
    **MCP_ZH,
    **PROPOSALS_ZH,
}
