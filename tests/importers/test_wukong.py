"""The single-file form of anchors: what is read, what comes back byte for byte, and the short form."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.errors import BadRecord
from kb.importers.wukong import USER_HEADING, parse_anchors, parse_impact_paths, render_anchors
from kb.records.model import Record, Section, Status
from kb.records.record_file import read
from kb.records.record_file import render as render_file
from kb.records.short_form import render_short_form, summarise_section

SHORT_HEADINGS = """## [D001] 使用 Ollama 作为本地 LLM

**日期**: 2024-01-15
**状态**: ✅ 生效

### Decision
使用 Ollama 作为代码审查的本地 LLM 后端。

### Alternatives
| 方案 | 优点 | 缺点 |
|------|------|------|
| OpenAI API | 能力强 | 成本高、数据出境 |
| Ollama | 免费、本地 | 需部署 |

### Why
1. 成本低
2. 数据本地化
3. 满足合规

### Impact
- `src/llm/`: LLM 接口模块
- `docker-compose.yaml`: 需要 Ollama 容器

### Rollback
设置 `LLM_BACKEND=openai`
"""
LONG_HEADINGS = """## [D001] 使用 Ollama 作为本地 LLM

**ID**: D001
**日期**: 2024-01-15
**状态**: ✅ 生效 / ⚠️ 待验证 / ❌ 已废弃

### Decision (决策)
使用 Ollama 作为代码审查的本地 LLM 后端。

### Alternatives (备选方案)
| 方案 | 优点 | 缺点 |
|------|------|------|
| OpenAI API | 能力强 | 成本高、数据出境 |
| Ollama 本地 | 免费、数据本地 | 需要部署维护 |
| Claude API | 能力强 | 合规考虑 |

### Why (理由)
1. 成本: 本地运行零 API 费用
2. 隐私: 代码数据不出本地
3. 合规: 满足企业数据安全要求

### Impact (影响范围)
- `src/llm/`: LLM 接口模块
- `docker-compose.yaml`: 需要添加 Ollama 容器
- 部署流程: 需要 GPU 支持

### Verification (验证方式)
```bash
# 验证 Ollama 正常工作
curl http://localhost:11434/api/generate -d '{"model": "codellama"}'
# 验证审查功能
pytest tests/writing/test_reviews.py -v
```

### Rollback (回滚方式)
1. 修改 `src/llm/config.py` 切换回 OpenAI
2. 删除 docker-compose 中的 Ollama 服务
3. 设置环境变量 `LLM_BACKEND=openai`
"""
MANY = """# 项目锚点

> 由工具维护

## [U001] 以后都用中文回答

**创建时间**: 2024-02-01
**状态**: ⚠️ 待验证
**优先级**: 高

### 决策
回答用中文。

---

## 说明

下面是检查清单。

## [CK001] 发布前检查

**状态**: ❌ 已废弃
**类型**: 检查清单

### Decision
```markdown
## [D999] 这是例子，不是锚点
```

#### 步骤
1. 跑测试

### 参考
见 [D001]。

## [DN012] Refunds

- **Status**: ✅ Accepted
- **Date**: 2024-03-01

A refund takes 14 days.

### Decision

Refund within 14 days.

### Why

The law says so.

---

## 附录
完
"""
ENGLISH = """## [C001] Mask personal data

**Date**: 2024-01-15
**Status**: ✅ Accepted
**Tags**: privacy, api
**Supersedes**: P003

### Decision
Every answer is masked.

### Why
The law.
"""
UNEVEN = """

## [D001] 使用 JWT 做认证
**状态**: ✅ 生效
### 决策

接口统一用 JWT


### 理由
无状态
### 影响范围

## [D002] 会话改存服务端



**状态**: ✅ 生效

### 决策
会话存 Redis
\x20
---
## [D003] 密码加盐

**状态**: ✅ 生效

### 决策
### 理由
泄露也无妨


---\x20



"""
TIGHT = """## [C001] Mask personal data
**Status**: ✅ Accepted
### Decision
Every answer is masked.
### Why

The law."""
FILES = [("zh", SHORT_HEADINGS), ("zh", LONG_HEADINGS), ("zh", MANY), ("zh", f"{SHORT_HEADINGS}\n{LONG_HEADINGS}"),
         ("zh", UNEVEN), ("en", TIGHT), ("en", ENGLISH), ("en", f"{ENGLISH}\n---\n\n{ENGLISH}")]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), FILES)
def test_a_file_comes_back_byte_for_byte(language, text):
    assert render_anchors(parse_anchors(text), language) == text


@pytest.mark.parametrize(("language", "text"), FILES)
def test_a_file_comes_back_through_the_store(language, text):
    stored = [read(render_file(record, language).encode()) for record in parse_anchors(text)]
    assert render_anchors(stored, language) == text


@pytest.mark.parametrize("row", ["####x ##### y", "    #### code", "text\n\n     ##### deep"])
def test_number_signs_that_head_nothing_stay_as_they_are(row):
    text = f"## [D001] T\n\n**Status**: ✅ Accepted\n\n### Decision\n\n{row}\n"
    assert render_anchors(parse_anchors(text), "en") == text


def test_blank_lines_follow_what_has_changed_since():
    first, second, third = parse_anchors(UNEVEN)
    text = UNEVEN.rstrip("\n")
    assert render_anchors([first, second], "zh") == text[: text.index("---") + 4], "the last of a file ends it"
    assert render_anchors([third, first], "zh").endswith("### 影响范围\n\n"), "what was first may come last"
    (ending,) = parse_anchors("## [P001] 甲\n# 尾")
    assert render_anchors([ending, first], "zh").startswith("## [P001] 甲\n# 尾\n\n\n\n## [D001]")
    added = first._replace(sections=(*first.sections, Section("rollback", "", "改回")))
    assert "### 决策\n接口统一用 JWT\n\n### 理由\n" in render_anchors([added], "zh"), "another section: the usual form"
    filled = [s._replace(text="登录") if s.name == "impact" else s for s in first.sections]
    again = parse_anchors(render_anchors([first._replace(sections=tuple(filled)), second], "zh"))
    assert [again[0].section("impact"), again[1].section("decision")] == ["登录", "会话存 Redis"]
    emptied = [s._replace(text="") if s.name == "why" else s for s in first.sections]
    assert "### 理由\n\n### 影响范围\n" in render_anchors([first._replace(sections=tuple(emptied)), second], "zh")


@pytest.mark.parametrize(
    "gaps", ["x", [1, 2], [1, -1, 0, 2, 0], [1, True, 0, 2, 0], [10**9, 2, 0, 2, 0], {"a": 1}, None]
)
def test_line_ends_that_no_file_can_have_had_are_passed_over(gaps):
    (record,) = parse_anchors("## [C001] a\n\n**状态**: ✅ 生效\n\n### 决策\n甲\n\n### 理由\n乙\n")
    broken = record._replace(extra={"anchors_md": {"gaps": gaps}})
    assert render_anchors([broken], "zh").replace("\n", "") == render_anchors([record], "zh").replace("\n", "")
    assert parse_anchors(render_anchors([broken], "zh"))[0].sections == record.sections
    assert len(render_anchors([broken], "zh")) < 200


def test_both_heading_variants_mean_the_same():
    (one,), (other,) = parse_anchors(SHORT_HEADINGS), parse_anchors(LONG_HEADINGS)
    assert [s.name for s in one.sections] == ["decision", "alternatives", "why", "impact", "rollback"]
    assert [s.name for s in other.sections[1:]] == [
        "decision",
        "alternatives",
        "why",
        "impact",
        "verification",
        "rollback",
    ]
    assert one.section("decision") == other.section("decision")
    assert one.impact == other.impact == ("src/llm/", "docker-compose.yaml")
    assert (one.id, one.kind, one.title, one.date) == ("D001", "decision", "使用 Ollama 作为本地 LLM", "2024-01-15")
    assert (one.status, other.status) == (Status.ACCEPTED, Status.PROPOSED)
    assert other.sections[0] == Section("", "前言", "**状态**: ✅ 生效 / ⚠️ 待验证 / ❌ 已废弃")
    assert other.section("verification").startswith("```bash\n# 验证")


def test_many_anchors_and_what_stands_between():
    records = parse_anchors(MANY, "project/shop")
    assert [(r.id, r.kind, r.status, r.date) for r in records] == [
        ("U001", "preference", "proposed", "2024-02-01"),
        ("CK001", "checklist", "deprecated", ""),
        ("DN012", "domain-note", "accepted", "2024-03-01"),
    ]
    assert {record.scope for record in records} == {"project/shop"}
    assert records[0].sections[0] == Section("", "前言", "**优先级**: 高")
    assert records[1].section("decision") == "```markdown\n## [D999] 这是例子，不是锚点\n```\n\n### 步骤\n1. 跑测试"
    assert records[1].sections[1] == Section("", "参考", "见 [D001]。")
    assert records[2].sections[0] == Section("", "Preamble", "A refund takes 14 days.")
    assert render_anchors(records, "zh", "project/shop") == MANY


def test_changes_show_and_the_rest_stays():
    records = parse_anchors(MANY)
    records[0] = records[0]._replace(status=Status.ACCEPTED, id="U002", tags=("语言",))
    changed = MANY.replace("[U001]", "[U002]").replace("**状态**: ⚠️ 待验证", "**状态**: ✅ 生效")
    changed = changed.replace("**优先级**: 高", "**标签**: 语言\n**优先级**: 高")
    assert render_anchors(records, "zh") == changed


def test_crlf_and_byte_order_mark_read_the_same():
    assert parse_anchors("\ufeff" + MANY.replace("\n", "\r\n")) == parse_anchors(MANY)


@pytest.mark.parametrize("text", ["", "# Title\n", "## D001 no brackets\n", "```\n## [D001] in code\n```\n"])
def test_a_file_without_anchors_is_refused(text):
    with pytest.raises(BadRecord, match="no anchor"):
        parse_anchors(text, path="anchors.md")


def test_an_unknown_prefix_is_refused_with_its_line():
    with pytest.raises(BadRecord, match="XY") as caught:
        parse_anchors("# a\n\n## [XY001] b\n", path="anchors.md")
    assert (caught.value.path, caught.value.line) == ("anchors.md", 3)


def test_a_kind_may_be_named_instead():
    (record,) = parse_anchors("## [X001] b\n\n**类型**: 约束\n**状态**: 生效\n")
    assert (record.kind, record.status) == ("constraint", "accepted")
    assert render_anchors([record], "zh") == "## [X001] b\n\n**类型**: 约束\n**状态**: 生效\n"


FULL = Record(
    "D007", "interface", "Title 标题", scope="project/shop", status=Status.SUPERSEDED, date="2024-01-15",
    tags=("a", "b, c"), impact=("src/x/",), supersedes=("D001", "D002"), amends=("C001",),
    coexists_with={"D003": "理由: \"x\""}, claims={"a.b": "1"}, occurrences=3, sources=("s [1]",),
    confirmed="2024-02-02",
    extra={"nav": [1, {"x": None}]}, sections=(Section("decision", "", "x"), Section("", "旁注", "### y\n# z")),
    user="# mine\n\n### more\n",
)  # fmt: skip


@pytest.mark.parametrize(("language", "heading"), [("zh", "Decision (决策)"), ("en", "Decision")])
def test_every_field_survives(language, heading):
    (again,) = parse_anchors(render_anchors([FULL], language))
    assert again == FULL._replace(
        sections=(Section("decision", heading, "x"), Section("", "旁注", "### y\n### z")), user=FULL.user
    )


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("- `src/llm/`: LLM\n- `a.py`\n* **`b/c`** x\n", ("src/llm/", "a.py", "b/c")),
        ("1. `LLM_BACKEND` is set\n- `make test`\n- 部署\n`src/x.py` not an item", ()),
        ("- `a.py`: 1\n- `a.py`: 2", ("a.py",)),
    ],
)
def test_impact_items_give_paths(text, paths):
    assert parse_impact_paths(text) == paths


# -- laws -----------------------------------------------------------------------------------------

line = st.one_of(
    st.text(st.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp"), blacklist_characters="<"), max_size=20),
    st.sampled_from(
        ["### x", "#### y", "###### z", "####### w", "- [D001]", "1. a", "| a |", "    ## code", "", "##x"]
    ),
).filter(
    lambda row: (
        not re.match(r" {0,3}##?(?:[ \t]|$)", row) and "```" not in row and "~~~" not in row and row.strip() != "---"
    )
)
fence = st.sampled_from(["```\n## [D001] no\n### no\n```", "~~~md\n---\n# no\n~~~", "- a\n  ```\n  ## b\n  ```"])
body = st.lists(st.one_of(line, fence), min_size=1, max_size=5).map(lambda rows: "\n".join(rows).strip("\n"))
word = st.text(
    st.characters(whitelist_categories=("Lu", "Ll", "Lo", "Nd"), blacklist_characters="#"), min_size=1, max_size=8
)
NAMES = ["decision", "alternatives", "why", "impact", "verification", "rollback"]


@st.composite
def records(draw):
    """Draw a record with the fields that the file form maps."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=4))
    parts = [Section(name, "", draw(body)) for name in names]
    parts += [Section("", f"x{draw(word)}", draw(body))] if draw(st.booleans()) else []
    prefix, kind = draw(st.sampled_from([("D", "decision"), ("CK", "checklist"), ("P", "pitfall"), ("D", "pattern")]))
    record = Record(
        f"{prefix}{draw(st.integers(1, 2000)):03d}",
        kind,
        draw(word),
        status=draw(st.sampled_from(Status)),
        date=draw(st.sampled_from(["", "2024-01-15"])),
        tags=tuple(draw(st.lists(st.one_of(word, st.sampled_from(["a, b", "[x]", "、"])), max_size=3))),
        claims=draw(st.dictionaries(word, word, max_size=2)),
        sections=tuple(parts),
        user=draw(st.sampled_from(["", "# mine\n\n## [D001] not an anchor\n"])),
    )
    return record._replace(impact=draw(st.sampled_from([parse_impact_paths(record.section("impact")), ("a/b",)])))


def named(record):
    """Return a record's sections as (name or heading, text)."""
    return [(s.name or s.heading, s.text) for s in record.sections]


@settings(deadline=None)
@given(st.lists(records(), min_size=1, max_size=3), st.sampled_from(["zh", "en"]))
def test_what_is_written_is_read_again(originals, language):
    text = render_anchors(originals, language)
    again = parse_anchors(text)
    assert [named(record) for record in again] == [named(record) for record in originals]
    bare = [record._replace(sections=(), extra={}) for record in again]
    assert bare == [record._replace(sections=()) for record in originals]
    assert render_anchors(again, language) == text


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(line, fence, st.sampled_from(["## [D001] a", "### Why", "### x", "---", "**状态**: ✅"])), max_size=12
    )
)
def test_no_line_of_any_file_is_lost(rows):
    text = "## [D000] first\n" + "\n".join(rows) + "\n"
    out = render_anchors(parse_anchors(text), "zh").split("\n")
    assert [row for row in out if row.strip()] == [row for row in text.split("\n") if row.strip()]


blank = st.integers(0, 3).map(lambda n: "\n" * n)
rows = st.sampled_from(
    ["**状态**: ✅ 生效\n", "**日期**: 2024-01-15\n**状态**: ✅ 生效\n", "说明\n", "- a\n\n- b\n", ""]
)


@st.composite
def uneven(draw):
    """Draw a file with any number of blank lines anywhere."""
    parts = [draw(blank), draw(st.sampled_from(["", "# 锚点\n"])), draw(blank)]
    for number in range(draw(st.integers(1, 3))):
        parts += [f"## [D00{number}] 甲\n", draw(blank), draw(rows), draw(blank)]
        for heading in draw(st.lists(st.sampled_from(["Decision", "理由", "旁注"]), unique=True)):
            parts += [f"### {heading}\n", draw(blank), draw(rows), draw(blank)]
        parts += [draw(st.sampled_from(["", "\n---\n", "\n \n--- \n"])), draw(blank)]
    return "".join([*parts, draw(st.sampled_from(["", "# 尾\n", "尾"]))])


@settings(deadline=None)
@given(uneven())
def test_every_blank_line_comes_back(text):
    stored = [read(render_file(record, "zh").encode()) for record in parse_anchors(text)]
    assert render_anchors(parse_anchors(text), "zh") == render_anchors(stored, "zh") == text


# -- the short form -------------------------------------------------------------------------------

SHORT = """[D001] 使用 Ollama 作为本地 LLM
- Why: 成本低、数据本地化、满足合规
- Impact: src/llm/, docker-compose.yaml
- Rollback: 设置 LLM_BACKEND=openai"""
STRICT = """[D001] 使用 Ollama 作为本地 LLM
- Decision: 使用 Ollama 作为代码审查的本地 LLM 后端。
- Alternatives: OpenAI API, Ollama
- Why: 成本低、数据本地化、满足合规
- Impact: src/llm/, docker-compose.yaml
- Verification: （未写）
- Rollback: 设置 LLM_BACKEND=openai"""


def test_the_short_form():
    (record,) = parse_anchors(SHORT_HEADINGS)
    assert render_short_form(record, "zh") == SHORT
    assert render_short_form(record, "zh", strict=True) == STRICT
    assert "- Verification: (not stated)" in render_short_form(record, "en", strict=True)


def test_the_short_form_of_a_record_without_reasons():
    assert render_short_form(Record("U001", "preference", "Answer\nbriefly"), "en") == "[U001] Answer briefly"
    briefly = Record("U001", "preference", "Brief", sections=(Section("decision", "", "Be brief. Always."),))
    assert render_short_form(briefly, "en") == "[U001] Brief\n- Decision: Be brief."


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("One. Two.", "One."),
        ("第一句。第二句。", "第一句。"),
        ("- a, b\n- c", "a, b; c"),
        ("- **fast**\n- [cheap](https://example.org)", "fast, cheap"),
        ("```sh\n# check\nmake test\n```", "make test"),
        ("See `x`:\n\n```\n- no item\n```", "See x:"),
        ("| Option | Good |\n|---|---|\n| A | yes |\n| B | no |", "A, B"),
        ("", ""),
    ],
)
def test_a_section_in_a_line(text, line):
    assert summarise_section(text) == line


@given(st.text(max_size=300), st.sampled_from(["impact", "why", ""]))
def test_a_line_is_short(text, name):
    line = summarise_section(text, name)
    assert len(line) <= 60
    assert "\n" not in line


def test_items_are_kept_whole_while_they_fit():
    assert summarise_section("- " + "a" * 40 + "\n- " + "b" * 40) == "a" * 40 + ", …"


def test_user_notes_stand_under_their_heading():
    assert f"### {USER_HEADING}\n#### mine\n" in render_anchors([FULL], "zh")


def test_the_short_form_of_a_checklist_has_its_items() -> None:
    items = "- [ ] run the tests\n- [x] tag it"
    for name, heading in (("decision", "Decision"), ("", "Items")):
        sections = (Section(name, heading, items), Section("why", "Why", "It was missed once."))
        said = render_short_form(Record("CK001", "checklist", "Before a release", sections=sections), "en")
        assert said.splitlines()[1] == "- Decision: run the tests, tag it"
    said = render_short_form(Record("D001", "decision", "One", sections=(Section("", "Items", items),)), "en")
    assert said == "[D001] One"
