"""Everything kb says is in the Chinese catalogue, and takes the same values there."""

import re
import tomllib
from pathlib import Path

import pytest

from docs import messages
from kb.config import HELP
from kb.i18n import LOCALE, load_translations, msg
from tests.support.command_line import run
from tests.support.sealed import git

FOREIGN = re.compile(r"[A-Za-z][a-z]{3,} [a-z]{2,} [a-z]{2,}")
"""Three English words in a row: a sentence somebody forgot."""


def test_the_catalogue_has_what_kb_says_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert messages.main(["--check"]) == 0, capsys.readouterr().out


def test_the_compiled_catalogue_is_of_this_source() -> None:
    known = load_translations("zh")
    stale = [m.id for m in messages.read_catalogue() if isinstance(m.id, str) and known.gettext(m.id) != m.string]
    assert [text for text in stale if text] == [], "python -m docs.messages --compile"


def test_faults_are_found() -> None:
    catalogue = messages.read_catalogue()
    catalogue.add("nobody translated {this}", flags=[messages.FORMAT], locations=[("kb/a.py", None)])
    catalogue.add("a {place}", "一个 {name}", flags=[messages.FORMAT], locations=[("kb/b.py", None)])
    catalogue.add(("{count} apple", "{count} apples"), ("{number} 个",), flags=[messages.FORMAT])
    assert messages.find_faults(catalogue) == [
        "kb/a.py: not translated: 'nobody translated {this}'",
        "kb/b.py: other placeholders: 'a {place}'",
        ": other placeholders: '{count} apple'",
    ]


def test_chinese_is_chinese() -> None:
    texts = [(m.id, m.string) for m in messages.read_catalogue() if m.id and messages.FORMAT in m.flags]
    english = [text for text, zh in texts if isinstance(zh, str) and FOREIGN.search(zh.partition("：")[0])]
    assert [text for text in english if not text.startswith("git ")] == []


def test_only_the_empty_hint_is_no_literal() -> None:
    """`KbError` makes a message of its caller's hint, which is "" or one already; nothing else may hide a template."""
    assert [place.partition(":")[0] for place in messages.find_unreadable()] == ["kb/errors.py"]


def test_the_extraction_reads_choices_and_plurals_and_leaves_methods_alone() -> None:
    source = "msg('a' if x else 'b'); plan.msg(kb, y); text('d'); msg(z); msg('{count} c', '{count} cs', count=1)"
    found = [messages.read_templates(call) for call in messages.find_calls(source)]
    assert found == [["a", "b"], None, [("{count} c", "{count} cs")]]


def test_msg_is_never_called_by_another_name() -> None:
    sources = [path.read_text(encoding="utf-8") for path in messages.PACKAGE.rglob("*.py")]
    assert not any(re.search(r"i18n\.msg\(|\bmsg as \w", source) for source in sources)


def test_a_message_is_said_in_both_languages() -> None:
    message = msg("not given: {sections}", sections="why")
    assert (str(message), message.translate("zh")) == ("not given: why", "未给出：why")


def test_a_message_inside_a_message_is_translated_too() -> None:
    inner = msg("not given: {sections}", sections="why")
    assert msg("{problem}", problem=inner).translate("zh") == "未给出：why"


@pytest.mark.parametrize(("count", "text"), [(0, "0 apples"), (1, "1 apple"), (2, "2 apples")])
def test_english_has_a_plural(count: int, text: str) -> None:
    assert str(msg("{count} apple", "{count} apples", count=count)) == text


def test_what_is_not_translated_stays_english() -> None:
    message = msg("nobody translated {count}", "nobody translated these {count}", count=2)
    assert message.translate("zh") == "nobody translated these 2"
    assert msg("").translate("zh") == ""


def test_the_catalogue_goes_with_the_package() -> None:
    assert Path(LOCALE, "zh", "LC_MESSAGES", "kb.mo").is_file()


# -- no sentence is half in English --------------------------------------------------------------------


@pytest.fixture
def chinese(root: Path) -> Path:
    """Return a knowledge base whose language is Chinese."""
    with (root / "kb.toml").open("a") as file:
        file.write('\nlanguage = "zh"\n')
    git(root, "commit", "-qam", "Speak Chinese")
    return root


def test_statuses_and_areas_are_named_in_chinese(chinese: Path) -> None:
    given = {"decision": "统一使用 FastAPI。", "alternatives": "Flask。", "why": "异步性能好。", "impact": "kb.toml",
             "verification": "跑压测。", "rollback": "换回 Flask。", "area": "architecture"}  # fmt: skip
    options = [word for name, text in given.items() for word in (f"--{name}", text)]
    ran = run(chinese, "write", "--kind", "decision", "--title", "后端统一使用 FastAPI 框架", *options)
    assert "影响大：架构" in ran.error and "影响大：性能（“性能”）" in ran.error and "architecture" not in ran.error
    ran = run(
        chinese,
        "write",
        "--kind",
        "pattern",
        "--title",
        "重试时退避",
        "--decision",
        "失败后加倍等待。",
        "--why",
        "免得压垮对方。",
    )
    assert "可复用：模式" in ran.error
    assert "生效 → 已废弃" in run(chinese, "status", "D001", "deprecated").error
    assert "?" not in run(chinese, "review").out
    assert "生效 → 已废弃" in run(chinese, "status", "D001", "deprecated", "--yes").error
    assert "现为已废弃" in run(chinese, "status", "D001", "proposed").error


def test_risks_are_named_in_chinese(chinese: Path) -> None:
    run(
        chinese,
        "write",
        "--kind",
        "preference",
        "--title",
        "回复用中文",
        "--decision",
        "一律用中文回复。",
        "--reusable",
    )
    told = run(chinese, "guard", "src/a.py", "src/auth/login.py").out
    assert "src/a.py：低风险" in told and "高风险" in told and "low" not in told and "high" not in told


def test_settings_are_explained_in_chinese(chinese: Path, tmp_path: Path) -> None:
    texts = [load_translations("zh").gettext(text) for text in HELP.values()]
    told = run(chinese, "config").out
    assert all(text in told for text in texts) and HELP["repeat"] not in told
    run(tmp_path, "init", "new", "--language", "zh")
    written = (tmp_path / "new/kb.toml").read_text("utf-8")
    assert all(f"# {text}" in written for text in texts)
    assert tomllib.loads(written) == {"name": "new", "language": "zh"}
