"""What the tests of the codec share: golden files, and texts as nobody would like to read them."""

import re

from hypothesis import strategies as st

from kb.records.blocks import MARKERS
from kb.records.record_file import MACHINE_END, USER_END, USER_START
from tests.support.sealed import DATA

_CASE = re.compile(r"(?ms)^(?P<title>[^\n]+)\n\.\n(?P<given>.*?)^\.\n(?P<expected>.*?)^\.\n")


def golden(name: str) -> list[tuple[str, str, str]]:
    """Return the cases (title, input, expected) of the golden file *name*: each part ends with a line of one dot."""
    text = (DATA / "golden" / f"{name}.txt").read_text(encoding="utf-8")
    cases = [(match["title"], match["given"], match["expected"]) for match in _CASE.finditer(text)]
    assert len(cases) == len(re.findall(r"(?m)^\.$", text)) // 3, name
    return cases


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
ROWS = st.sampled_from(
    [
        "", "  ", "text", "中文 text  ", "\x0c", "a\u2028b", "\x85", "\xa0", "- item", "  more", "1. one", "   sub",
        "> quote", "```", "````", "~~~", "~~~~ sh", "```py", "``` a`b", " ```", "  ```", "   ~~~", "    ```",
        "\t```", "- ```", "1. ~~~", "> ```", "> ~~~ x", "- - ```", "text ```", "`` ` ``", "~~~ ```", "* * *", "-",
        "- ", "#", "##", "# One", "## Decision", "## 理由（Why）", "### Three", " ## in", "  # in", "    ## code",
        "## C#", "## x ##", "##### five", "===", "---", "...", "## Why\tx", "=======", "<<<<<<< HEAD", ">>>>>>> x",
        "<!--", "-->", "<!-- note -->", "<pre>", "</div>", "<div>", *MARKERS, f"  {MACHINE_END}", f"{USER_END}  ",
        f"    {USER_END}", f"x {USER_END}", f"- {USER_START}", "[a]: b 'c",
    ]
)  # fmt: skip


NASTY = TEXT | st.sampled_from(
    [
        "", "no", "Yes", "null", "~", "1e3", "0x1", "0o7", "1_000", "12:30", "=", "<<", " a", "a ", "- x", "key: v",
        "#x", "a #x", "a: b", "&a", "*a", "!t", "|", ">", "%", "@", "`", "'", '"', "it's", "[a", "{a}", "a, b", "?",
        "? a", "---", "...", "2026-01-02", "2026-13-45", "2026-01-02 10:00", "😀", "👩\u200d💻", "\u202eabc", "\x07",
        "a\nb", "a\r\nb", "\x85", "\u2028", "\ufeff", ".inf", "1.10", "007", "+1", "-0", "y", "N", "off", "\x00",
        "选用 PostgreSQL", "用「引号」的题目：为什么？", "a-b_c", "x" * 2000, "\ufffe", "\t", "\xa0",
    ]
)  # fmt: skip
"""Words that YAML, a shell or a terminal reads as something else."""


@st.composite
def texts(draw: st.DrawFn, max_size: int = 10) -> str:
    """Draw a text of rows that mean something in markdown, in one line ending or many."""
    rows = draw(st.lists(ROWS | st.text(st.characters(exclude_categories=["Cs"]), max_size=8), max_size=max_size))
    if draw(st.booleans()):
        end = draw(ENDS)
        text = "".join(row + end for row in rows)
    else:
        text = "".join(row + draw(ENDS) for row in rows)
    return text if draw(st.booleans()) else text[:-1]
