"""Archive, load, compact, expand, and what a person says in a prompt."""

import json
from pathlib import Path

import pytest

from kb.capture import save_session as saving
from kb.hooks import events
from kb.hosts import HookResponse
from kb.sessions.forms import find_problems
from tests.support.command_line import run
from tests.support.sessions import Session

NAMES = ["存档", "加载", "锚点", "压缩", "展开", "修剪", "修剪报告"]
BIG = "决定：退款走异步队列，因为银行接口很慢，影响整体架构。"


@pytest.fixture
def path(tmp_path: Path) -> str:
    return made(tmp_path / "t.jsonl", "s-1", "给订单服务加上退款接口")


def made(path: Path, session: str, task: str, cwd: str = "/tmp/shop") -> str:
    talk = Session(task)
    talk.step(BIG, used=20_000)
    for _ in range(3):
        talk.read("/w/a.py", "row of text\n" * 60)
    talk.idle(9)
    talk.rows = [row.replace('"s-1"', f'"{session}","cwd":"{cwd}"') for row in talk.rows]
    return talk.write(path)


def archives(root: Path) -> list[Path]:
    return sorted((root / "content" / "sessions").glob("*-*"))


# -- commands --------------------------------------------------------------------------------------


def test_every_command_of_the_protocol_is_listed_and_does_its_work(root: Path, path: str) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    listed = run(root, "--help").out
    for name in (*NAMES, "archive", "load", "compact", "expand", "prune"):
        assert f"  {name} " in listed
    assert run(root, "存档", path).code == 0
    for words in (["加载", "shop"], ["锚点"], ["压缩"], ["展开"], ["修剪"], ["修剪报告"]):
        ran = run(root, *words)
        assert ran.code == 0 and ran.out, words


def test_a_full_archive_holds_all_three_forms_and_the_report(root: Path, path: str) -> None:
    ran = run(root, "archive", "--full", path)
    [folder] = archives(root)
    assert ran.code == 0 and f"content/sessions/{folder.name}" in ran.out
    assert sorted(file.name for file in folder.iterdir()) == [
        "compact.md", "dcp-report.md", "expanded.md", "hui-output.json", "normal.md", "shi-result.json",
    ]  # fmt: skip
    for form in ("compact", "normal", "expanded"):
        text = (folder / f"{form}.md").read_text(encoding="utf-8")
        assert find_problems(text)[0] == form and run(root, "form", form, folder.name).out == text
    assert "[D001]" in (folder / "expanded.md").read_text(encoding="utf-8")


def test_what_was_archived_in_one_form_can_be_archived_in_all(root: Path, path: str) -> None:
    assert run(root, "archive", path).code == 0
    assert "already saved" in run(root, "archive", path).error and len(archives(root)) == 1
    assert run(root, "archive", path, "--full").code == 0
    assert "already saved" in run(root, "archive", path, "--full").error
    assert [(folder / "normal.md").exists() for folder in archives(root)].count(True) == 1


def test_a_large_expanded_form_stays_in_the_clone(root: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "MAX_EXPANDED_BYTES", 500)
    ran = run(root, "archive", "--full", path)
    [folder] = archives(root)
    local = root / ".kb" / "expanded" / f"{folder.name}.md"
    assert str(local) in ran.error and not (folder / "expanded.md").exists()
    assert run(root, "form", "expanded", folder.name).out == local.read_text(encoding="utf-8")
    assert str(local) in run(root, "load", folder.name).error


def test_loading_prints_the_compact_form_and_points_to_the_rest(root: Path, path: str) -> None:
    run(root, "archive", "--full", path)
    [folder] = archives(root)
    for name in (folder.name, "shop", "退款接口"):
        ran = run(root, "load", name)
        assert find_problems(ran.out)[0] == "compact" and "### " not in ran.out
        assert str(folder / "normal.md") in ran.error and str(folder / "expanded.md") in ran.error


def test_a_name_of_several_archives_is_answered_with_a_list(root: Path, path: str, tmp_path: Path) -> None:
    run(root, "archive", path)
    run(root, "archive", made(tmp_path / "u.jsonl", "s-2", "写文档"))
    ran = run(root, "load", "shop")
    assert ran.code == 2 and all(folder.name in ran.error for folder in archives(root))
    assert run(root, "load", "写文档").code == 0
    assert run(root, "load", "nothing-like-it").code == 1


def test_a_form_is_forced_until_the_context_calls_for_another(root: Path, path: str) -> None:
    run(root, "archive", path)
    assert json.loads(run(root, "session", "status", "--json").out)["form"] == "expanded"
    ran = run(root, "compact")
    assert find_problems(ran.out)[0] == "compact" and "until" in ran.error
    told = json.loads(run(root, "session", "status", "--json").out)
    assert (told["form"], told["forced"], told["session"]) == ("compact", True, "s-1")
    assert find_problems(run(root, "expand", "s-1").out)[0] == "expanded"
    run(root, "compact")
    talk = (
        Path(path)
        .read_text(encoding="utf-8")
        .replace('"cache_read_input_tokens":19997', '"cache_read_input_tokens":119997')
    )
    Path(path).write_text(talk, encoding="utf-8")
    told = json.loads(run(root, "session", "status", "--json").out)
    assert (told["form"], told["forced"]) == ("normal", False)
    assert run(root, "session", "status").out == "s-1  60.0%  normal\n"


def test_without_a_session_there_is_nothing_to_show(root: Path) -> None:
    for words in (["compact"], ["expand"], ["archive"], ["session", "status"], ["form"]):
        ran = run(root, *words)
        assert ran.code == 1 and "no session is known here" in ran.error


def test_the_transcript_is_given_once(root: Path, path: str) -> None:
    assert run(root, "archive", path, "--transcript", path).code == 2


# -- prompts ---------------------------------------------------------------------------------------


def prompt(root: Path, path: str, text: str) -> HookResponse:
    payload = {"session_id": "s-1", "transcript_path": path, "prompt": text, "cwd": "/tmp/shop"}
    return events.handle_event("UserPromptSubmit", payload, str(root))


def test_each_phrase_does_its_work_when_it_is_the_prompt(root: Path, path: str) -> None:
    assert find_problems(prompt(root, path, "简要概括").context)[0] == "compact"
    told = prompt(root, path, "请详细说说。").context
    place = root / ".kb" / "active" / "s-1" / "expanded.md"
    assert find_problems(told)[0] == "normal" and told.rstrip().endswith(f"→ {place}")
    assert find_problems(place.read_text(encoding="utf-8"))[0] == "expanded"
    assert "no session of this project is archived yet" in prompt(root, path, "加载上下文").context
    told = prompt(root, path, "存档一下").message
    [folder] = archives(root)
    assert f"continue {folder.name}" in told and (folder / "expanded.md").exists()
    loaded = prompt(root, path, "加载上下文！").context
    assert find_problems(loaded.partition("\n→")[0])[0] == "compact" and str(folder / "normal.md") in loaded
    for text in ("修剪上下文", "修剪", "Prune the context."):
        assert "| Deduplication | 2 repeated reads |" in prompt(root, path, text).message


def test_the_bare_words_and_english_do_the_same(root: Path, path: str) -> None:
    for text in ("压缩", "sum up briefly"):
        assert find_problems(prompt(root, path, text).context)[0] == "compact"
    for text in ("展开", "Expand the context"):
        assert find_problems(prompt(root, path, text).context.partition("\n→")[0])[0] == "normal"
    for text in ("存档", "archive this session"):
        assert prompt(root, path, text).message and len(archives(root)) == 1
    assert find_problems(prompt(root, path, "load the context").context.partition("\n→")[0])[0] == "compact"


@pytest.mark.parametrize(
    "text",
    ["他说“存档一下”是什么意思？", "先存档一下，再继续写测试", "修剪上下文 是怎么实现的", "继续", "继续写退款的测试",
     "修剪一下这个函数", "压缩图片", "展开这个列表",
     "continue", "继续实现 nothing-like-it", "继续1", "继续2026", "继续测试退款", "continue s", "continue testing"],
)  # fmt: skip
def test_the_same_words_within_a_prompt_do_nothing(root: Path, path: str, text: str) -> None:
    run(root, "archive", path)
    before = len(archives(root))
    told = prompt(root, path, text)
    assert "Compact context" not in told.context and told.message == "" and len(archives(root)) == before


def test_an_archive_is_gone_on_with_by_its_name(root: Path, path: str, tmp_path: Path) -> None:
    run(root, "archive", path, "--full")
    [folder] = archives(root)
    for text in (f"继续{folder.name}", "继续 shop", "continue shop.", "继续“shop”"):
        told = prompt(root, path, text).context
        assert told.startswith("## 🔸") and str(folder / "normal.md") in told and str(folder / "expanded.md") in told
        assert "### " not in told
    run(root, "archive", made(tmp_path / "u.jsonl", "s-2", "写文档"))
    told = prompt(root, path, "继续shop").context
    assert all(f"- {folder.name}: " in told for folder in archives(root)) and "Compact context" not in told


@pytest.mark.parametrize("words", ["继续 worker", "继续库存", "continue worker", "Continue: worker", "继续 库存"])
def test_words_of_its_task_name_an_archive_and_of_two_of_a_session_the_later(
    root: Path, tmp_path: Path, words: str
) -> None:
    path = made(tmp_path / "w.jsonl", "s-7", "修复 worker 库存同步")
    run(root, "archive", path)
    talk = Session("修复 worker 库存同步")
    talk.step(BIG, used=20_000)
    talk.ask("再加一个索引")
    Path(path).write_bytes(talk.data().replace(b'"s-1"', b'"s-7","cwd":"/tmp/shop"'))
    run(root, "archive", path)
    first, last = sorted(archives(root), key=lambda one: one.name)
    told = prompt(root, path, words).context
    assert told.startswith("## 🔸") and str(last) in told and str(first) not in told
    done = run(root, "load", "worker")
    assert (done.code, done.out.startswith("## 🔸")) == (0, True) and str(last) in done.error
    assert run(root, "load", first.name).code == 0


def test_a_phrase_without_a_transcript_is_answered_with_what_is_missing(root: Path) -> None:
    for text in ("存档一下", "详细说说", "修剪上下文"):
        told = prompt(root, "", text)
        assert told.context == "" and "transcript" in told.message
