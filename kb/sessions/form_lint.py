"""Prove a form that somebody wrote: its sections, its length, its references (RUYI-55)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb.i18n import Message, msg
from kb.sessions.forms import COMPACT, EXPANDED, LIMIT, NORMAL, NORMAL_LEAST, NORMAL_LIMIT
from kb.text.segment import count_words

TITLES = {
    COMPACT: ("## 🔸 缩形态上下文", "## 🔸 Compact context"),
    NORMAL: ("## 🔹 常形态上下文", "## 🔹 Normal context"),
    EXPANDED: ("## 🔶 巨形态上下文", "## 🔶 Expanded context"),
}
SECTIONS = {
    COMPACT: (("【任务】", "【Task】"), ("【已决策】", "【Decided】"), ("【约束】", "【Constraints】"),
              ("【当前进度】", "【Progress】"), ("【锚点引用】", "【Anchors】")),
    NORMAL: (("### 任务背景", "### Background"), ("### 已完成工作", "### Done"), ("### 关键决策", "### Decisions"),
             ("### 当前焦点", "### Focus"), ("### 接口约定", "### Interfaces"), ("### 注意事项", "### Caveats"),
             ("### 锚点索引", "### Anchors")),
    EXPANDED: (("### 完整会话历史", "### History"), ("### 所有决策及讨论", "### Decisions"),
               ("### 完整代码变更", "### Changes"), ("### 问题与解决", "### Problems"),
               ("### 用户偏好记录", "### Preferences"), ("### 完整锚点列表", "### Anchors")),
}  # fmt: skip
"""The headings of each form, in order, in Chinese and in English (SHI-10, SHI-12, RUYI-02, RUYI-03)."""
BULLETS = {
    COMPACT: (("- 已完成:", "- Done:"), ("- 进行中:", "- In progress:"), ("- 待处理:", "- To do:")),
    NORMAL: (("- 目标:", "- goal:"), ("- 方法:", "- method:"), ("- 进展:", "- progress:"), ("- 问题:", "- problem:")),
    EXPANDED: (),
}
TYPES = {"决策": "D", "约束": "C", "接口": "I", "问题": "P", "偏好": "U", "模式": "M"}
"""What a typed reference may name: `接口: [I001] …`."""
_TYPED = re.compile(r"^-\s*(决策|约束|接口|问题|偏好|模式)\s*[:：]\s*(.*)$")
_REFERENCE = re.compile(r"\[(?:[\w.-]{1,100}:)?([A-Z]{1,2})([0-9]+)\]")


class FormProblem(NamedTuple):
    """What is wrong with a form, and where."""

    line: int
    said: Message
    is_warning: bool = False


def find_problems(text: str) -> tuple[str, list[FormProblem]]:
    """Return which form *text* is ("" for none) and what is wrong with it, by line."""
    rows = text.replace("\r\n", "\n").split("\n")
    for form, titles in TITLES.items():
        starts = [number for number, row in enumerate(rows) if row.strip() in titles]
        if starts:
            end = next((n for n in range(starts[0] + 1, len(rows)) if rows[n].startswith("## ")), len(rows))
            found = [*_check_sections(form, rows, starts[0], end), *_check_size(form, rows[starts[0] : end], starts[0])]
            found += _check_references(rows, starts[0], end) if form != EXPANDED else []
            return form, sorted(found, key=lambda one: one.line)
    return "", [
        FormProblem(
            1, msg("none of the titles stands here: {titles}", titles=", ".join(map(" / ".join, TITLES.values())))
        )
    ]


def _check_sections(form: str, rows: Sequence[str], start: int, end: int) -> Iterator[FormProblem]:
    last = start
    speech = TITLES[form].index(rows[start].strip())
    for spoken in SECTIONS[form]:
        heading = spoken[speech]
        places = [number for number in range(start, end) if rows[number].startswith(spoken)]
        if not places:
            yield FormProblem(last + 1, msg("the section {heading} is missing", heading=heading))
            continue
        if len(places) > 1:
            yield FormProblem(places[1] + 1, msg("the section {heading} stands here twice", heading=heading))
        if places[0] < last:
            yield FormProblem(places[0] + 1, msg("the section {heading} is out of order", heading=heading))
        last = max(last, places[0])
    for words in BULLETS[form]:
        if not any(rows[number].replace("：", ":").startswith(words) for number in range(start, end)):
            yield FormProblem(start + 1, msg("the line {words} is missing", words=words[speech]))
    if form == COMPACT and any(row.strip() in ("【任务】", "【Task】") for row in rows[start:end]):
        yield FormProblem(start + 1, msg("the task is empty"))


def _check_size(form: str, rows: Sequence[str], start: int) -> Iterator[FormProblem]:
    size = count_words("\n".join(rows))
    if form == COMPACT and size > LIMIT:
        yield FormProblem(start + 1, msg("the compact form has {size} words; it must have fewer than {most}",
                                     size=size, most=LIMIT + 1))  # fmt: skip
    if form == NORMAL and not NORMAL_LEAST <= size <= NORMAL_LIMIT:
        problem = msg("the normal form has {size} words; it should have {least} to {most}",
                      size=size, least=NORMAL_LEAST, most=NORMAL_LIMIT)  # fmt: skip
        yield FormProblem(start + 1, problem, is_warning=size < NORMAL_LEAST)


def _check_references(rows: Sequence[str], start: int, end: int) -> Iterator[FormProblem]:
    for number in range(start, end):
        for match in _REFERENCE.finditer(rows[number]):
            if len(match.group(2)) < 3:
                yield FormProblem(number + 1, msg("{reference} is no id: it has three digits or more",
                                              reference=match.group()))  # fmt: skip
        typed = _TYPED.match(rows[number])
        letters = [match.group(1) for match in _REFERENCE.finditer(typed.group(2))] if typed else []
        if typed and letters and TYPES[typed.group(1)] not in letters:
            yield FormProblem(number + 1, msg("{type} names an anchor whose id begins with {letter}",
                                          type=typed.group(1), letter=TYPES[typed.group(1)]))  # fmt: skip
