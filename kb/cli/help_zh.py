"""The Chinese half of the help texts: one line for every command, and all there is on sessions, forms and pruning.

The key is the paragraph as it stands in the source, on one line. What has no half here is shown in English.
"""

from __future__ import annotations

import copy
from inspect import cleandoc

import click

COMMANDS_ZH: dict[str, str] = {
    "Make a knowledge base.": "新建知识库。",
    "Hand candidates to the gate.": "把候选交给闸门。",
    "List records.": "列出记录。",
    "Print a record.": "显示一条记录。",
    "Find records.": "搜索记录。",
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
    "Save, list and load sessions.": "保存、列出、加载会话。",
    "Archive a session.": "存档会话。",
    "Print an archived session to go on from.": "显示归档会话，以便继续。",
    "Show the running session in its compact form.": "以缩形态显示当前会话。",
    "Show the running session in its expanded form.": "以巨形态显示当前会话。",
    "Print a session in one of its three forms.": "以三态之一显示会话。",
    "Tell how full an agent's context is.": "显示上下文使用情况。",
    "Prune a session's transcript.": "修剪会话的转录文件。",
    "Check the records.": "检查记录。",
    "Prepare the removal of a secret.": "准备清除泄露的机密。",
    "Take over records of other tools.": "导入其他工具的记录。",
    "Write records in another tool's form.": "导出为其他工具的格式。",
    "Build or serve the wiki.": "生成或提供 wiki。",
    "Connect an agent host.": "接入智能体宿主。",
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
    "The session's JSONL file.": "会话的 JSONL 文件。",
    "The session's id (default: the one in the file).": "会话编号（默认：文件里的）。",
    "The folder the session worked in (default: the one in the file).": "会话的工作目录（默认：文件里的）。",
    "With the normal and the expanded form as well.": "同时存常形态与巨形态。",
    "Print what the library returns, as JSON.": "以 JSON 显示结果。",
    "List archived sessions.": "列出归档会话。",
    "List the archived sessions, oldest first.": "列出归档会话，旧的在前。",
    "Only of this project.": "只看这个项目。",
    "today, yesterday, week, or a day (2026-11-21).": "今天、昨天、本周，或某一天（2026-11-21）。",
    "Print the compact form of an archived session, with pointers to the rest; a unique part of its name will do.": (
        "显示归档会话的缩形态及其余文件的位置；名字的唯一部分即可。"
    ),
    "Tell how a running session stands.": "显示当前会话的状态。",
    "Tell how full the context of a running SESSION is and in which form it is shown.": (
        "显示会话 SESSION 的上下文使用情况与所用形态。"
    ),
    "SESSION is its id or the beginning of it; without it, the session that kb heard of last.": (
        "SESSION 是会话编号或其开头；省略则取最近的会话。"
    ),
    "Archive the session of TRANSCRIPT, a JSONL file, under content/sessions/; 存档 is the same.": (
        "把 TRANSCRIPT（JSONL 文件）的会话存档到 content/sessions/；即“存档”。"
    ),
    "What it decided goes through the gate. Without TRANSCRIPT, the session that kb heard of last. An expanded form of "
    "more than 200,000 bytes stays in this clone.": (
        "会话的决定交给闸门。省略 TRANSCRIPT 则取最近的会话。超过 200,000 字节的巨形态只留在本克隆。"
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
    "Print a session in one of its three forms: compact (缩, < 500 字), normal (常, 500 to 2000) or expanded (巨).": (
        "以三态之一显示会话：compact（缩，< 500 字）、normal（常，500–2000 字）、expanded（巨）。"
    ),
    "SOURCE is a transcript, or (part of) the name of an archived session; without it, the session that kb heard of "
    "last. Without FORM and --for, how full the context is decides. `kb form lint FILE` proves a form that somebody "
    "wrote.": (
        "SOURCE 是转录文件，或归档会话名（的一部分）；省略则取最近的会话。不给 FORM 与 --for 时按上下文使用情况选择。"
        "`kb form lint FILE` 检查他人写的形态。"
    ),
    "agent-start (compact), handover (normal) or debug (expanded).": (
        "agent-start（缩）、handover（常）或 debug（巨）。"
    ),
    "How full the context is, to choose the form by.": "上下文使用百分比，据此选择形态。",
    "Tell how full the context of an agent is, and what that calls for.": "显示上下文使用情况，以及该做什么。",
    "Tell how full the context is.": "显示上下文使用情况。",
    "Tell how full the context is by the usage fields of TRANSCRIPT, and what that calls for.": (
        "按 TRANSCRIPT 的 usage 字段显示上下文使用情况，以及该做什么。"
    ),
    "Below 50% the expanded form, from 50% the normal one, from 70% the compact one and a reminder, from 85% pruning, "
    "above 95% an archive. Without TRANSCRIPT, the session that kb heard of last.": (
        "低于 50% 巨形态，50% 起常形态，70% 起缩形态并提醒，85% 起修剪，高于 95% 存档。省略 TRANSCRIPT 则取最近的会话。"
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
    "session that kb heard of last. Needs no knowledge base; where there is one, its dcp-config.yaml holds and the "
    "report is kept.": (
        "去掉：重复调用、已被重新读取的写入、旧失败的输入、过长的搜索结果；保留：最近几轮、引用锚点的段落、按名保护的文件。"
        "TRANSCRIPT 本身不变；省略则取最近的会话。不需要知识库；有则用其 dcp-config.yaml，并保存报告。"
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
HELP_ZH: dict[str, str] = {**COMMANDS_ZH, **SESSIONS_ZH, **FORMS_ZH, **PRUNING_ZH}


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a help text, each on one line."""
    return [" ".join(part.split()) for part in cleandoc(text).split("\n\n")]


def in_chinese(text: str | None) -> str | None:
    """Return the help *text* with every paragraph in Chinese that has a Chinese half."""
    return "\n\n".join(HELP_ZH.get(part, part) for part in paragraphs(text)) if text else text


def translated(command: click.Command) -> click.Command:
    """Return a copy of *command* that explains itself in Chinese, with the commands below it."""
    made = copy.copy(command)
    made.help, made.short_help = in_chinese(command.help), in_chinese(command.short_help)
    made.params = [copy.copy(param) for param in command.params]
    for param in made.params:
        if isinstance(param, click.Option):
            param.help = in_chinese(param.help)
    if isinstance(made, click.Group):
        made.commands = {name: translated(one) for name, one in made.commands.items()}
    return made
