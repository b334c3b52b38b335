"""Everything kb says has a Chinese half that takes the same values."""

import re
import tomllib
from pathlib import Path

import pytest
from command_line import run
from conftest import git

from docs.templates import ROOT, calls, literals, missing, placeholders, templates, unreadable
from kb.i18n import msg
from kb.words_zh import ROOMS, ZH

SAID = templates()
FOREIGN = re.compile(r"[A-Za-z][a-z]{3,} [a-z]{2,} [a-z]{2,}")
"""Three English words in a row: a sentence somebody forgot."""


def test_every_template_has_a_chinese_half() -> None:
    lacking = [f"{place}: {template!r}" for template, place in missing().items()]
    assert not lacking, "add to kb/words_zh.py:\n" + "\n".join(lacking)


def test_no_chinese_half_is_stale() -> None:
    stale = sorted(set(ZH) - set(SAID))
    assert not stale, "nobody says any more, take out of kb/words_zh.py:\n" + "\n".join(stale)


@pytest.mark.parametrize("template", [t for t in SAID if t in ZH])
def test_both_halves_take_the_same_values(template: str) -> None:
    assert placeholders(ZH[template]) == placeholders(template)


def test_no_template_stands_in_two_rooms() -> None:
    assert sum(map(len, ROOMS)) == len(ZH)


def test_the_chinese_half_is_chinese() -> None:
    english = [t for t, zh in ZH.items() if t and FOREIGN.search(zh.partition("：")[0]) and not t.startswith("git ")]
    assert english == []


def test_only_the_empty_hint_is_said_by_name() -> None:
    """`KbError` says its caller's hint, which is "" or said already; nothing else may hide a template."""
    assert [place.partition(":")[0] for place in unreadable()] == ["kb/errors.py"]


def test_the_collector_reads_choices_and_leaves_methods_alone() -> None:
    found = [literals(call.args[0]) for call in calls("say('a' if x else 'b'); plan.say(kb, y); said('d'); say(z)")]
    assert found == [["a", "b"], None]


def test_say_is_never_called_by_another_name() -> None:
    sources = [path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")]
    assert not any(re.search(r"words\.say\(|\bsay as \w", source) for source in sources)


def test_a_sentence_is_told_in_both_languages() -> None:
    said = msg("not given: {sections}", sections="why")
    assert (str(said), said.translate("zh")) == ("not given: why", "未给出：why")


def test_what_has_no_chinese_half_stays_english() -> None:
    assert msg("nobody translated {this}", this="it").translate("zh") == "nobody translated it"


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
    from kb.config import HELP
    from kb.settings_zh import SETTINGS_ZH

    assert SETTINGS_ZH.keys() == HELP.keys()
    told = run(chinese, "config").out
    assert all(text in told for text in SETTINGS_ZH.values()) and HELP["repeat"] not in told
    run(tmp_path, "init", "new", "--language", "zh")
    written = (tmp_path / "new/kb.toml").read_text("utf-8")
    assert all(f"# {text}" in written for text in SETTINGS_ZH.values())
    assert tomllib.loads(written) == {"name": "new", "language": "zh"}
