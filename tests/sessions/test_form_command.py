"""The three forms of a session: their sections, their templates, and what proves them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.knowledge_base import KnowledgeBase
from kb.sessions.forms import SECTIONS, find_problems
from kb.sessions.prose import shorten_text
from kb.sessions.render_forms import BadTemplate, render_template
from kb.text.segment import count_words, has_cjk
from tests.support.command_line import run
from tests.support.sessions import Session

SEED = """## 🔸 缩形态上下文

【任务】实现 Code Review Agent 的脱敏模块

【已决策】
- [D001] 使用 Ollama 作为本地 LLM
- [D002] 双层架构：Cloud + Local Container
- [D003] 使用正则 + 规则混合脱敏

【约束】
- [C001] 所有输出必须脱敏
- [C002] Git Token 只在容器内使用

【当前进度】
- 已完成: credentials.py, tools.py
- 进行中: sanitizer.py
- 待处理: agent.py, server.py

【锚点引用】
- 接口: [I001] Sanitizer.sanitize(data) -> Any
- 问题: [P001] 注意递归脱敏嵌套结构

## 你的任务
实现 sanitizer.py，遵循 [I001] 接口定义。

## 注意
如需更多上下文: Read(".wukong/context/current/normal.md")
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    session = Session("给订单服务加上退款接口。要有测试，并且更新文档。")
    session.call("Write", file_path="/w/docs/design.md", content="# 设计\n退款走异步队列")
    session.call(
        "Write", file_path="/w/src/refund.py", content="def refund(order: str, amount: int) -> bool:\n    pass\n"
    )
    session.call("Edit", file_path="/w/src/refund.py", old_string="    pass", new_string="    return queue(order)")
    session.call("Bash", "Exit code 1\nImportError: queue", fails=True, command="pytest tests/test_refund.py -q")
    session.call("Bash", "1 passed", command="pytest tests/test_refund.py -q")
    session.call("Bash", "File exists", fails=True, command="mkdir build")
    session.step("决定：退款走异步队列，因为银行接口很慢，影响整体架构。\n\n# 一个标题\n\n```\n代码\n```")
    session.call("Bash", "[main 1] ok", command='git commit -m "Add the refund endpoint"')
    session.ask("以后提交信息都用英文。继续更新文档。")
    session.step("让我先更新接口文档。", used=120_000)
    return session.write(tmp_path / "t.jsonl")


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("form", ["compact", "normal", "expanded"])
def test_every_form_has_its_sections_and_is_proper(root: Path, path: str, form: str, language: str) -> None:
    (root / "kb.toml").write_text(f'language = "{language}"\n')
    ran = run(root, "form", form, path)
    found, wrong = find_problems(ran.out)
    assert ran.code == 0 and found == form and not [one for one in wrong if not one.is_warning]
    headings = [row for row in ran.out.splitlines() if row.startswith(("### ", "【"))]
    speech = 0 if language == "zh" else 1
    assert [heading.split("】")[0] for heading in headings] == [
        spoken[speech].rstrip("】") for spoken in SECTIONS[form]
    ]
    frame = [heading.split("】")[0] for heading in headings] + ran.out.splitlines()[:1]
    assert language == "zh" or not has_cjk("".join(frame).replace("【", ""))


def test_the_normal_form_says_what_the_session_says(root: Path, path: str) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    out = run(root, "form", "normal", path).out
    for row in (
        "给订单服务加上退款接口。", "| 实现 | Add the refund endpoint |", "src/refund.py", "docs/design.md |",
        "因为银行接口很慢", "- 目标: 以后提交信息都用英文。继续更新文档。", "- 方法: 让我先更新接口文档。",
        "- 问题: Bash mkdir build: File exists", "```python\ndef refund(order: str, amount: int) -> bool\n```",
    ):  # fmt: skip
        assert row.removeprefix("因为") in out, row


def test_the_expanded_form_lists_every_change_and_every_failure(root: Path, path: str) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    out = run(root, "form", "expanded", path).out
    assert "#### /w/src/refund.py (修改, +1 −1)\n```diff\n@@ -1 +1 @@\n-    pass\n+    return queue(order)\n```" in out
    assert "#### /w/src/refund.py (新建, +2 −0)" in out and "#### /w/docs/design.md (新建, +2 −0)" in out
    assert "- Bash pytest tests/test_refund.py -q: ImportError: queue → Bash pytest tests/test_refund.py -q" in out
    assert "- Bash mkdir build: File exists (未解决)" in out and "> # 一个标题" in out
    assert "以后提交信息都用英文" in out.partition("### 用户偏好记录")[2].partition("### 完整锚点列表")[0]


def test_a_form_cites_records_and_nothing_that_waits_in_the_inbox(kb: KnowledgeBase, tmp_path: Path) -> None:
    session = Session("Run the checks")
    session.call("Bash", "Exit code 1\nModuleNotFoundError: No module named 'pika'", fails=True, command="make check")
    session.call("Bash", "ok", command="pip install pika")
    session.call("Bash", "all passed", command="make check")
    path = session.write(tmp_path / "t.jsonl")
    [held] = kb.save_session(path, session="s-1", folder=str(tmp_path), archive=False).verdicts
    assert held.verdict == "held"
    for form in ("compact", "normal", "expanded"):
        assert held.id not in run(Path(kb.root), "form", form, path).out


def test_the_forms_fit_the_situations_and_the_use_of_the_context(root: Path, path: str) -> None:
    for words, title in ((["--for", "agent-start"], "🔸"), (["--for", "handover"], "🔹"), (["--for", "debug"], "🔶"),
                         (["--percent", "40"], "🔶"), (["--percent", "70"], "🔸"), ([], "🔹")):  # fmt: skip
        assert run(root, "form", *words, path).out.startswith(f"## {title}")
    for words in (["--for", "lunch", path], ["compact", "--for", "debug", path], ["compact", path, path]):
        assert run(root, "form", *words).code == 2


@pytest.mark.parametrize("limit", [60, 120, 300])
def test_a_compact_form_can_be_shorter(root: Path, path: str, limit: int) -> None:
    text = run(root, "form", "compact", path, "--limit", str(limit)).out
    assert 0 < count_words(text) <= limit and find_problems(text)[0] == "compact"


def test_secrets_stand_in_no_form(root: Path, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    session = Session(f"deploy with {token}")
    session.call("Write", file_path="/w/a.py", content=f"TOKEN = '{token}'\n")
    session.call("Bash", f"Exit code 1\nbad {token}", fails=True, command=f"curl -H 'X: {token}' https://example.com")
    for form in ("compact", "normal", "expanded"):
        assert token not in run(root, "form", form, session.write(tmp_path / "t.jsonl")).out


# -- limits ----------------------------------------------------------------------------------------


@given(st.text(alphabet="甲乙。，ab .,!?;", max_size=300), st.integers(3, 60))
def test_what_is_shortened_fits_and_begins_as_it_did(text: str, limit: int) -> None:
    short = shorten_text(text, limit)
    assert count_words(short) <= limit
    assert " ".join(text.split()).startswith(short.removesuffix("…"))


def test_whole_sentences_are_kept_then_clauses_then_words() -> None:
    assert shorten_text("先做接口。再写测试。最后更新文档。", 10) == "先做接口。再写测试。"
    assert shorten_text("先做接口，再写测试，最后更新文档", 9) == "先做接口，再写测试…"
    assert shorten_text("one two three four", 3) == "one two three…"
    assert shorten_text("kept as it is", 10) == "kept as it is"


# -- templates -------------------------------------------------------------------------------------


def template(root: Path, text: str, name: str = "compact.md") -> None:
    place = root / "content" / "templates" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def test_a_template_of_ones_own_is_used_and_that_of_the_language_first(root: Path, path: str) -> None:
    template(root, "TASK {{ task }}\n")
    assert run(root, "form", "compact", path).out.startswith("TASK 给订单服务加上退款接口。要有测试，并且更新文档。")
    template(root, "ENGLISH\n", "en/compact.md")
    assert run(root, "form", "compact", path).out == "ENGLISH\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [("one\n{% if task %}\nno end\n", 3), ("one\n{{ tsak }}\n", 2), ("{{ task.__class__ }}", 1), ("{{ 1 / 0 }}", 1),
     ("\n\n{{ task | nonsense }}", 3), ("{{ task.upper() }}", 1), ("{{ 'x' * 9999999999 }}", 1), ("{{ range(9) }}", 1),
     ("{% include 'kb.toml' %}", 1), ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", 1),
     ("{{ '%999999999d' % 1 }}", 1), ("x" * 200_001, 0)],
    ids=["end", "name", "class", "zero", "filter", "method", "large", "range", "include", "endless", "width", "size"],
)  # fmt: skip
def test_a_broken_template_is_named_with_its_line_and_the_built_in_one_used(
    root: Path, path: str, text: str, line: int
) -> None:
    template(root, text)
    ran = run(root, "form", "compact", path)
    place = "content/templates/compact.md"
    assert ran.code == 0 and find_problems(ran.out) == ("compact", [])
    assert (f"{place}:{line}: " if line else f"{place}: ") in ran.error and "built-in" in ran.error
    assert place in run(root, "doctor", "--json").out


def test_anchors_in_full_are_written_by_their_own_template(root: Path, path: str) -> None:
    assert run(root, "archive", path).code == 0
    out = run(root, "form", "expanded", path).out.partition("### Anchors")[2]
    assert "#### [D001] " in out and "**Status**: " in out and "银行接口很慢" in out
    [record] = (root / "content" / "anchors").rglob("D001-*.md")
    record.write_text(record.read_text().replace("## Why", "## Whatever\n\nfree words\n\n## Why", 1))
    assert "**Whatever**\n\nfree words" in run(root, "form", "expanded", path).out
    template(root, "PLATE {{ id }} {{ sections | length }}\n", "anchor.md")
    assert "PLATE D001 " in run(root, "form", "expanded", path).out


def test_the_settings_of_pruning_may_have_a_template_of_their_own(root: Path) -> None:
    text = "dcp:\n  protection:\n    turn_protection: {{ settings['protection.turn_protection'] }}  # ours\n"
    template(root, text, "dcp-config.yaml")
    ran = run(root, "prune", "config")
    assert ran.out == "dcp:\n  protection:\n    turn_protection: 4  # ours\n"
    template(root, "{{ settings[ }}", "dcp-config.yaml")
    ran = run(root, "prune", "config")
    assert ran.code == 1 and "content/templates/dcp-config.yaml:1" in ran.error


def test_a_template_that_a_link_leads_to_is_not_read(root: Path, path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("SECRET")
    (root / "content" / "templates").mkdir()
    (root / "content" / "templates" / "compact.md").symlink_to(tmp_path / "secret.md")
    assert "SECRET" not in run(root, "form", "compact", path).out


def test_a_template_may_loop_choose_and_set() -> None:
    text = "{% set n = 2 %}{% for row in rows if row != 'b' %}{{ loop.index + n }}{{ row | upper }}{% endfor %}"
    assert render_template(text, {"rows": ["a", "b", "c"]}, "t.md") == "3A4C"
    loops = "{% for a in rows %}{% for b in rows %}{% for c in rows %}{{ a }}{% endfor %}{% endfor %}{% endfor %}"
    with pytest.raises(BadTemplate, match="more than"):
        render_template(loops, {"rows": ["x" * 50] * 100}, "t.md")


def test_a_running_session_is_shown_by_the_template_of_the_knowledge_base(kb: KnowledgeBase, path: str) -> None:
    template(Path(kb.root), "MINE {{ task }}\n")
    saved = kb.save_session(path, session="s-1")
    assert saved.compact.startswith("MINE ")


# -- the proof of a form ---------------------------------------------------------------------------


def test_the_worked_example_is_proper(root: Path) -> None:
    ran = run(root, "form", "lint", stdin=SEED.encode())
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [("【约束】\n", "", 5, "【约束】"), ("【约束】", "【任务】x\n【约束】", 10, "twice"),
     ("- 进行中: sanitizer.py\n", "", 1, "进行中"), ("[C001]", "[C1]", 11, "[C1]"),
     ("接口: [I001]", "接口: [D001]", 20, "begins with I"), ("## 🔸", "## 🔹", 1, "titles"),
     ("脱敏模块", "脱敏" * 300, 1, "fewer than 500"), ("实现 Code Review Agent 的脱敏模块", "", 1, "empty")],
)  # fmt: skip
def test_what_is_wrong_with_a_form_is_named_with_its_line(
    root: Path, tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    (tmp_path / "form.md").write_text(SEED.replace(old, new, 1), encoding="utf-8")
    ran = run(root, "form", "lint", str(tmp_path / "form.md"))
    assert ran.code == 1 and any(f":{line}: " in row and said in row for row in ran.out.splitlines()), ran.out


def test_sections_out_of_order_are_named() -> None:
    text = "## 🔶 巨形态上下文\n" + "\n".join(spoken[0] for spoken in reversed(SECTIONS["expanded"]))
    assert any("out of order" in str(one.message) for one in find_problems(text)[1])


def test_a_form_is_read_as_it_was_archived(root: Path, path: str) -> None:
    assert run(root, "session", "save", "--transcript", path).code == 0
    name = json.loads(run(root, "session", "list", "--json").out)[0]["name"]
    assert find_problems(run(root, "form", "compact", name[:12]).out)[0] == "compact"
    ran = run(root, "form", "expanded", name)
    assert ran.code == 1 and "kb archive --full" in ran.error
