"""The agent words what its session settled: asked once, its quotes proved, its answer through the gate."""

import json
from pathlib import Path
from typing import Any

import pytest

from kb.capture.handover import build_question
from kb.capture.openings import KIND_NAMES, Opening, find_openings
from kb.capture.proposals import add_proposals, confirm_proposal
from kb.records.candidate import build_candidates
from kb.records.model import Evidence
from kb.sessions.transcript import parse_transcript
from kb.text.segment import estimate_tokens
from kb.writing.inbox import list_held
from tests.hooks.test_hooks import Host
from tests.support.command_line import run
from tests.support.sealed import git
from tests.support.talk import answered, called, said

EN = {
    "ask": "Which records survive when two collide?",
    "agent": "I'd keep the newest record whenever two collide. Shall that be the rule for every import?",
    "person": "No, the record with more filled fields survives, and a tie keeps the primary one.",
    "title": "The fuller record survives a collision in imports",
}
ZH = {
    "ask": "两条记录冲突时保留哪条？",
    "agent": "我建议冲突时一律保留最新的记录。所有导入都按这个规则吗？",
    "person": "不对，保留非空字段更多的那条，相同时保留主记录。",
    "title": "导入冲突时保留字段更多的记录",
}
BOTH = pytest.mark.parametrize("talk", [EN, ZH], ids=["en", "zh"])
SESSION = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"


@pytest.fixture
def host(root: Path, tmp_path: Path) -> Host:
    """A host whose every Stop is read."""
    configure(root, "pause = 0\n")
    return Host(root, tmp_path / "work")


def configure(root: Path, lines: str) -> None:
    with (root / "kb.toml").open("a", encoding="utf-8") as file:
        file.write(lines)
    git(root, "commit", "-qam", "Set it")


def talk_of(host: Host, talk: dict[str, str], *more: str) -> str:
    """Let a session settle something, up to the end of its turn, and return its transcript."""
    path = host.folder.parent / "t.jsonl"
    path.write_text(said("user", talk["ask"]) + said("assistant", talk["agent"]) + "".join(more))
    host.send("user-prompt", SESSION, str(path), prompt=talk["ask"])
    host.send("stop", SESSION, str(path))
    grow(path, said("user", talk["person"]), said("assistant", "Done."))
    host.send("user-prompt", SESSION, str(path), prompt=talk["person"])
    return str(path)


def grow(path: Path, *rows: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(rows))


def write(host: Host, *candidates: dict[str, Any], session: str = SESSION) -> tuple[int, list[dict[str, Any]]]:
    """Hand candidates over as an agent does, and return the exit code and the verdicts."""
    data = json.dumps(candidates, ensure_ascii=False).encode()
    done = run(host.folder, "write", "-", "--session", session, "--json", stdin=data, KB_HOME=str(host.root))
    return done.code, json.loads(done.out)


def waiting(host: Host, *options: str) -> list[dict[str, Any]]:
    """Return what `kb learn next` prints as JSON."""
    found = json.loads(run(host.folder, "learn", "next", "--json", *options, KB_HOME=str(host.root)).out)
    return [opening for session in found for opening in session["openings"]]


def candidate(talk: dict[str, str], *quotes: str, **more: Any) -> dict[str, Any]:
    given = {"kind": "decision", "title": talk["title"], "decision": talk["person"]}
    return {**given, "evidence": [{"quote": quote} for quote in quotes], **more}


@BOTH
def test_the_agent_is_asked_once_and_its_proven_answer_is_written(host: Host, talk: dict[str, str]) -> None:
    path = talk_of(host, talk)
    assert host.send("stop", SESSION, path).output.get("decision") is None, "by default nothing is held up"
    asked = host.send("user-prompt", SESSION, path, prompt="go on").context
    assert "kb learn next --session 1b9d6bcd" in asked and estimate_tokens(asked) <= 80
    [opening] = waiting(host, "--session", "1b9d6bcd")
    assert opening["kind"] == "correction" and opening["quotes"][-1] == {"line": 3, "quote": talk["person"]}
    code, [verdict] = write(host, candidate(talk, talk["person"]))
    assert (code, verdict["verdict"]) == (0, "created") and waiting(host) == []
    assert "the session contains its quotes" in verdict["reasons"][-1]
    grow(Path(path), said("user", "go on"), said("assistant", "Done."))
    host.send("stop", SESSION, path)
    assert host.send("user-prompt", SESSION, path, prompt="go on").context == ""
    assert len(host.kb().records()) == 1, "the rules do not write it a second time"


@BOTH
@pytest.mark.parametrize("confirmed", [True, False], ids=["confirmed", "pending"])
def test_what_is_proposed_to_the_person_is_not_asked_of_the_agent(
    host: Host, talk: dict[str, str], confirmed: bool
) -> None:
    path = talk_of(host, talk)
    host.send("stop", SESSION, path)
    assert len(waiting(host)) == 1
    kb = host.kb()
    given = build_candidates(candidate(talk, talk["person"]))
    [proposal] = add_proposals(kb, given, folder=str(host.folder), session=SESSION)
    if confirmed:
        assert confirm_proposal(kb, proposal).verdict == "created"
    assert "not recorded" not in host.send("user-prompt", SESSION, path, prompt="go on").context
    assert waiting(host) == [] and waiting(host, "--session", SESSION[:8]) == []


def test_a_rule_that_the_gate_holds_is_not_asked_of_the_agent(host: Host) -> None:
    rule = {**EN, "agent": "Charges are logged.", "person": "Card numbers must not be written to the log."}
    path = talk_of(host, rule)
    host.send("stop", SESSION, path)
    assert [held.candidate.title for held in list_held(host.kb())] == [rule["person"].rstrip(".")]
    assert waiting(host) == [] and waiting(host, "--session", SESSION[:8]) == []
    assert "not recorded" not in host.send("user-prompt", SESSION, path, prompt="go on").context


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("length", [5, 70, 300])
def test_a_question_has_80_tokens_at_most(host: Host, language: str, length: int) -> None:
    configure(host.root, f'language = "{language}"\n')
    for phrase in ("不对，冲突时一律保留非空字段更多的那条记录，", "No, keep the fuller record. "):
        quote = (phrase * 20)[:length]
        for kind in KIND_NAMES:
            one = Opening(kind, 99_999, (Evidence(quote, SESSION, 12_345),))
            for count in (1, 12):
                asked = build_question(host.kb(), SESSION, [one] * count)
                assert estimate_tokens(asked) <= 80 and quote[:5] in asked and "12345" in asked
                assert "kb learn next --session 1b9d6bcd" in asked


@BOTH
def test_a_failure_is_named_with_the_line_of_its_quote(host: Host, talk: dict[str, str]) -> None:
    configure(host.root, f'language = "{"en" if talk is EN else "zh"}"\n')
    error = "ModuleNotFoundError: No module named 'numpyx'"
    done = [("pytest -q", error, True), ("ls", "src", False), ("pip install numpyx", "Installed numpyx", False),
            ("cat setup.py", "x", False), ("pytest -q", "1 passed in 0.1s", False)]  # fmt: skip
    rows = [said("user", talk["ask"])]
    for number, (command, output, is_error) in enumerate(done):
        call = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": is_error}
        for role, block in (("assistant", call), ("user", result)):
            rows.append(json.dumps({"type": role, "message": {"role": role, "content": [block]}}) + "\n")
    path = host.folder.parent / "f.jsonl"
    path.write_text("".join((*rows, said("assistant", "Done."))))
    host.send("user-prompt", SESSION, str(path), prompt=talk["ask"])
    found = find_openings(parse_transcript(path.read_bytes()))
    assert [(one.kind, one.line, one.quotes[-1].line) for one in found] == [("failure", 11, 3)]
    asked = build_question(host.kb(), SESSION, found)
    assert ("line 3:" in asked or "第 3 行" in asked) and "numpyx" in asked and "11" not in asked


def test_an_opening_is_asked_about_once_in_a_dozen_turns(host: Host) -> None:
    path = talk_of(host, EN)
    asked = 0
    for _ in range(12):
        host.send("stop", SESSION, path)
        asked += "kb learn next" in host.send("user-prompt", SESSION, path, prompt="go on").context
        grow(Path(path), said("user", "go on"), said("assistant", "Done."))
    assert asked == 1 and len(waiting(host)) == 1, "it stays open for who looks"


def test_a_long_discussion_is_not_asked_about_at_every_turn(host: Host) -> None:
    path = talk_of(host, EN)
    asked = []
    for number in range(6):
        host.send("stop", SESSION, path)
        asked.append("kb learn next" in host.send("user-prompt", SESSION, path, prompt="next").context)
        question, answer = f"What is the limit of queue {number}?", f"Limit {number}00, and the rest is dropped."
        grow(Path(path), said("assistant", question), said("user", answer), said("assistant", "Done."))
    assert asked == [True, False, False, True, False, False]


@BOTH
def test_a_quote_that_nobody_said_is_held_and_named(host: Host, talk: dict[str, str]) -> None:
    path = talk_of(host, talk)
    host.send("stop", SESSION, path)
    wrong = "the newest record survives in every case" if talk is EN else "任何情况下都保留最新的记录"
    code, [verdict] = write(host, candidate(talk, talk["person"], wrong, affects_future=True))
    assert (code, verdict["verdict"]) == (3, "held") and wrong in verdict["reasons"][0]
    assert len(waiting(host)) == 1 and host.kb().records() == []


def test_what_is_asked_for_again_is_the_whole_quote(host: Host) -> None:
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)
    assert write(host, candidate(EN, "a tie"))[1][0]["verdict"] == "held", "two words stand in every session"
    wrapped = EN["person"].replace("fields ", "fields\n   ")
    assert write(host, candidate(EN, wrapped))[1][0]["verdict"] == "created", "line ends are no other words"


CHOICES = pytest.mark.parametrize(
    ("question", "reply"),
    [("Shall I use semicolons or commas as the separator?", "Semicolons."), ("分隔符用分号还是逗号？", "分号。")],
    ids=["en", "zh"],
)


@CHOICES
def test_a_short_answer_is_the_persons_word_with_its_question(host: Host, question: str, reply: str) -> None:
    talk = {**EN, "agent": question, "person": reply, "title": f"{reply[:-1]} CSV"}
    path = talk_of(host, talk)
    host.send("stop", SESSION, path)
    [opening] = waiting(host)
    assert (opening["kind"], opening["quotes"][-1]["quote"]) == ("choice", reply)
    filled = {**opening["example"], "title": talk["title"], "decision": f"CSV: {reply}"}
    assert write(host, {**filled, "why": ""})[1][0]["verdict"] == "created" and waiting(host) == []
    [record] = host.kb().records()
    assert record.status == "accepted", "a person said it, so that no section is missed"
    assert f"> {reply}\n>\n> — {SESSION}, line 3" in record.section("evidence")


@CHOICES
def test_a_short_quote_alone_is_said_to_be_too_short(host: Host, question: str, reply: str) -> None:
    talk = {**EN, "agent": question, "person": reply, "title": f"{reply[:-1]} CSV"}
    path = talk_of(host, talk)
    host.send("stop", SESSION, path)
    code, [verdict] = write(host, candidate(talk, reply, decision=f"CSV exports separate their fields so: {reply}"))
    assert (code, verdict["verdict"]) == (3, "held") and len(waiting(host)) == 1
    assert "too short" in verdict["reasons"][0] and reply in verdict["reasons"][0]


@pytest.mark.parametrize(("agent", "yes"), [
    ("I'd keep the newest record whenever two collide. Shall I?", "Yes, go ahead."),
    ("我建议冲突时一律保留最新的记录。可以吗？", "可以"),
])  # fmt: skip
def test_a_bare_yes_is_no_word_of_the_persons_own(host: Host, agent: str, yes: str) -> None:
    talk = {**EN, "agent": agent, "person": yes}
    path = talk_of(host, talk)
    host.send("stop", SESSION, path)
    given = {**candidate(talk, agent, yes), "decision": "The newest record survives when two collide in an import."}
    assert write(host, given)[1][0]["verdict"] == "created"
    assert [record.status for record in host.kb().records()] == ["proposed"]


def test_the_beginning_of_a_session_names_it_and_another_proves_nothing(host: Host) -> None:
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)
    assert write(host, candidate(EN, EN["person"]), session="unheard-of")[1][0]["verdict"] == "held"
    [verdict] = write(host, candidate(EN, EN["person"]), session="1b9d6bcd")[1]
    assert verdict["verdict"] == "created" and git(host.root, "grep", "-c", SESSION, "HEAD", "--", "content")


def test_a_contradiction_opens_a_review_as_ever(host: Host) -> None:
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)
    claim = {"claims": {"imports.survivor": "fullest"}}
    assert write(host, candidate(EN, EN["person"], **claim))[1][0]["verdict"] == "created"
    other = {**candidate(EN, EN["person"], claims={"imports.survivor": "newest"}), "title": "Imports keep the newest"}
    code, [verdict] = write(host, other)
    assert (code, verdict["verdict"]) == (4, "conflict")


def test_a_person_who_approves_everything_still_does(host: Host) -> None:
    configure(host.root, 'approval = "person"\n')
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)
    assert write(host, candidate(EN, EN["person"]))[1][0]["verdict"] == "held"


def test_what_a_tool_printed_proves_a_pitfall_only(host: Host) -> None:
    error = "error: the lock file names another registry"
    request = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "npm ci"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": error, "is_error": True}
    rows = [{"type": "assistant", "message": {"role": "assistant", "content": [request]}},
            {"type": "user", "message": {"role": "user", "content": [result]}}]  # fmt: skip
    path = talk_of(host, EN, *(json.dumps(row) + "\n" for row in rows))
    host.send("stop", SESSION, path)
    given = {"title": "npm ci fails with a lock file of another registry", "decision": "Write the lock file anew."}
    pitfall = {**given, "kind": "pitfall", "evidence": [{"quote": error}]}
    assert write(host, {**pitfall, "kind": "constraint"})[1][0]["verdict"] == "held"
    assert write(host, pitfall)[1][0]["verdict"] == "created"


def test_quotes_of_an_ended_session_are_looked_up_in_its_archive(host: Host) -> None:
    path = talk_of(host, EN)
    host.send("pre-compact", SESSION, path)
    host.send("session-end", SESSION, path)
    host.send("session-start", "another", source="startup")
    full = run(
        host.folder, "session", "save", "--transcript", path, "--session", SESSION, "--full", KB_HOME=str(host.root)
    )
    assert full.code == 0
    Path(path).unlink()
    assert write(host, candidate(EN, "nobody ever said these words"))[1][0]["verdict"] == "held"
    assert write(host, candidate(EN, EN["person"]))[1][0]["verdict"] == "created"


# -- stop, off, resumed ----------------------------------------------------------------------------


def test_a_turn_is_held_up_once_where_the_settings_want_that(host: Host) -> None:
    configure(host.root, 'handover = "stop"\n')
    path = talk_of(host, EN)
    assert host.send("stop", SESSION, path, stop_hook_active=True).output == {}, "it would go on for ever"
    held_up = host.send("stop", SESSION, path).output
    assert held_up["decision"] == "block" and "kb learn next" in held_up["reason"]
    assert host.send("stop", SESSION, path).output == {}
    for number in range(4):
        grow(Path(path), said("assistant", f"How long is lease {number}?"), said("user", f"{number} hours, at most."),
             said("assistant", "Done."))  # fmt: skip
    assert host.send("stop", SESSION, path).output == {}, "once in a session"
    assert "kb learn next" in host.send("user-prompt", SESSION, path, prompt="go on").context


def test_nobody_is_asked_where_the_settings_say_off(host: Host) -> None:
    configure(host.root, 'handover = "off"\n')
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)
    assert host.send("user-prompt", SESSION, path, prompt="go on").context == "" and waiting(host) == []


@pytest.mark.parametrize("source", ["compact", "resume"])
def test_what_was_found_before_a_compaction_is_asked_after_it(host: Host, source: str) -> None:
    path = talk_of(host, EN)
    host.send("pre-compact", SESSION, path, trigger="auto")
    if source == "resume":
        host.send("session-end", SESSION, path)
    assert "kb learn next" in host.send("session-start", SESSION, path, source=source).context
    assert "kb learn next" not in host.send("session-start", SESSION, path, source=source).context
    assert host.send("user-prompt", SESSION, path, prompt="go on").context == ""


@pytest.mark.parametrize("with_quote", [True, False], ids=["quoted", "bare"])
def test_a_resumed_session_is_told_what_it_handed_over_after_its_end(host: Host, with_quote: bool) -> None:
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)
    host.send("session-end", SESSION, path)
    quotes = [EN["person"]] if with_quote else []
    assert write(host, candidate(EN, *quotes, affects_future=True))[0] == 0
    context = host.send("session-start", SESSION, path, source="resume").context
    assert f"written since then:\n- [D001] {EN['title']}" in context
    grow(Path(path), said("user", "and the docs"), said("assistant", "Done."))
    host.send("stop", SESSION, path)
    again = host.send("session-start", SESSION, path, source="resume").context
    assert EN["title"] in again and "written since then" not in again


def test_what_is_skipped_in_one_session_waits_in_another(host: Host) -> None:
    for session in (SESSION, "2" + SESSION[1:]):
        path = host.folder.parent / f"{session}.jsonl"
        path.write_text(said("user", EN["ask"]) + said("assistant", EN["agent"]) + said("user", EN["person"]))
        host.send("user-prompt", session, str(path), prompt=EN["person"])
        host.send("stop", session, str(path))
    first, second = waiting(host)
    assert first["quotes"] == second["quotes"] and first["name"] != second["name"]
    assert run(host.folder, "learn", "skip", first["name"], KB_HOME=str(host.root)).code == 0
    assert [one["name"] for one in waiting(host)] == [second["name"]]


# -- people look -----------------------------------------------------------------------------------


@BOTH
def test_a_person_reads_the_evidence_and_says_that_it_is_nothing(host: Host, talk: dict[str, str]) -> None:
    path = talk_of(host, talk)
    host.send("stop", SESSION, path)
    assert "kb learn next" in run(host.folder, "inbox", KB_HOME=str(host.root)).error
    printed = run(host.folder, "learn", "next", KB_HOME=str(host.root)).out
    assert talk["person"] in printed and f"kb write - --session {SESSION}" in printed
    [name] = [opening["name"] for opening in waiting(host)]
    assert name in printed and f"kb learn skip {name}" in printed
    assert run(host.folder, "learn", "skip", name, KB_HOME=str(host.root)).code == 0
    assert waiting(host) == [] and host.send("user-prompt", SESSION, path, prompt="go on").context == ""
    assert "nothing waits" in run(host.folder, "learn", "next", KB_HOME=str(host.root)).error
    unknown = run(host.folder, "learn", "skip", "0000", KB_HOME=str(host.root))
    assert unknown.code == 1 and "kb learn next" in unknown.error


def test_the_printed_example_is_an_answer(host: Host) -> None:
    """What stands in the example, with the places filled in, goes through."""
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)
    [opening] = waiting(host)
    filled = {**opening["example"], "title": EN["title"], "decision": EN["person"], "why": "Stripped copies are newer."}
    assert write(host, filled)[1][0]["verdict"] == "created"


def test_a_secret_in_a_quote_is_kept_nowhere(host: Host) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    talk = {**EN, "person": f"No, I meant the token {token} here, and the other one goes away."}
    path = talk_of(host, talk)
    host.send("stop", SESSION, path)
    assert len(waiting(host)) == 1
    kept = [file for file in (host.root / ".kb").rglob("*") if file.is_file() and token.encode() in file.read_bytes()]
    assert kept == []
    quote = waiting(host)[0]["quotes"][-1]["quote"]
    assert write(host, candidate(EN, quote))[1][0]["verdict"] == "created", "a masked quote is found as well"


@pytest.mark.parametrize(
    ("talk", "person"),
    [
        (EN, "Hmm, I think that makes sense, it feels safer to keep the newest record of the two."),
        (ZH, "嗯，我觉得可能保留最新的那条会安全一些。"),
    ],
    ids=["en", "zh"],
)
def test_what_a_session_only_weighs_is_held(host: Host, talk: dict[str, str], person: str) -> None:
    path = talk_of(host, {**talk, "person": person})
    host.send("stop", SESSION, path)
    quotes = (talk["agent"], person)
    code, [verdict] = write(host, candidate(talk, *quotes, why="it is safer", affects_future=True))
    assert (code, verdict["verdict"]) == (3, "held") and "nobody decides it" in " ".join(verdict["reasons"])
    grow(Path(path), said("user", talk["person"]), said("assistant", "OK."))
    code, [verdict] = write(host, candidate(talk, *quotes, talk["person"], why="it is safer"))
    assert (code, verdict["verdict"]) == (0, "created"), "with the words that settle it it is written"


def test_a_rule_without_a_reason_needs_a_persons_word(host: Host) -> None:
    rule = "Every export is written in UTF-8 without a byte order mark."
    path = talk_of(host, {**EN, "agent": f"{EN['agent']} {rule}"})
    host.send("stop", SESSION, path)
    own = {**candidate(EN, rule), "kind": "constraint", "title": "Exports are UTF-8 without a BOM", "decision": rule}
    assert write(host, own)[1][0]["verdict"] == "held"
    assert write(host, {**own, "why": "Excel of the customer breaks on it."})[1][0]["verdict"] == "created"


def test_the_next_question_need_not_wait_for_one_that_was_answered_meanwhile(host: Host) -> None:
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)  # a question is prepared
    write(host, candidate(EN, EN["person"]))
    assert "kb learn next" not in host.send("user-prompt", SESSION, path, prompt="go on").context
    more = said("assistant", "Do we round half cents up or down?") + said("user", "Down.") + said("assistant", "OK.")
    grow(Path(path), said("user", "go on"), more)
    host.send("user-prompt", SESSION, path, prompt="Down.")
    host.send("stop", SESSION, path)
    assert "kb learn next" in host.send("user-prompt", SESSION, path, prompt="and now the docs").context


# -- whose word, about what ------------------------------------------------------------------------


@pytest.fixture
def shop(host: Host) -> Host:
    """A host whose project has code."""
    (host.folder / "sync").mkdir()
    (host.folder / "sync" / "merge.py").write_text("def merge_records(ours, theirs):\n    return ours\n", "utf-8")
    (host.folder / "sync" / "other.py").write_text("def load():\n    return merge_records\n", "utf-8")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
        git(host.folder, *words)
    return host


def test_a_persons_word_is_accepted_and_an_agents_waits_for_its_sections(host: Host) -> None:
    backup = "The backup of the customer base starts at two in the morning."
    path = talk_of(host, {**EN, "agent": f"{EN['agent']} {backup}"})
    host.send("stop", SESSION, path)
    write(host, candidate(EN, EN["person"]))
    own = {**candidate(EN, backup), "title": "Backups run at night", "why": "The tapes are changed at three."}
    write(host, {**own, "decision": backup})
    assert {record.title: str(record.status) for record in host.kb().records()} == {
        EN["title"]: "accepted",
        "Backups run at night": "proposed",
    }


def test_what_the_session_speaks_of_is_what_the_record_is_about(shop: Host) -> None:
    talk = {**EN, "agent": "merge_records returns ours. I'd keep the newest instead. Shall that be the rule?"}
    path = talk_of(shop, talk)
    shop.send("stop", SESSION, path)
    write(shop, candidate(talk, talk["person"]))
    [record] = shop.kb().records()
    assert record.impact == ("sync/merge.py",)
    edit = {"file_path": str(shop.folder / "sync/merge.py"), "old_string": "return ours", "new_string": "return theirs"}
    done = shop.raw("pre-tool", json.dumps({"session_id": "later", "cwd": str(shop.folder), "hook_event_name":
                    "PreToolUse", "tool_name": "Edit", "tool_input": edit}).encode())  # fmt: skip
    assert "[D001]" in done.context, "it is told before the next edit"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("merge_records keeps the newest record on a collision", "merge_records keeps the newest record of two."),
         ("merge_records counts filled fields", "Supersedes the newest-record rule: merge_records counts fields.")),
        (("merge_records 冲突时保留最新的记录", "merge_records 冲突时一律保留最新的记录。"),
         ("merge_records 按非空字段数取舍", "取代之前的保留最新记录规则：merge_records 按非空字段数取舍。")),
    ],
    ids=["en", "zh"],
)  # fmt: skip
def test_an_amendment_opens_a_review_of_the_rule_that_it_takes_back(
    host: Host, first: tuple[str, str], second: tuple[str, str]
) -> None:
    path = talk_of(host, EN)
    host.send("stop", SESSION, path)
    write(host, {**candidate(EN, EN["person"]), "title": "Exports run at night", "decision": "Exports run at 2 a.m."})
    before, after = (
        {**candidate(EN, EN["person"]), "title": title, "decision": decision} for title, decision in (first, second)
    )
    [old] = write(host, before)[1]
    code, [new] = write(host, after)
    assert (old["verdict"], new["verdict"], code) == ("created", "conflict", 4)
    [review] = host.kb().reviews()
    assert review.against == (old["id"],) and host.kb().record(old["id"]).status == "accepted", "a person decides"


def test_what_was_edited_and_tested_for_it_completes_a_record(shop: Host) -> None:
    path = shop.folder.parent / "t.jsonl"
    path.write_text(said("user", "Look at sync/other.py and fix it") + said("assistant", "Reading it.")
                    + said("user", EN["person"])
                    + called("Edit", {"file_path": str(shop.folder / "sync" / "merge.py"), "old_string": "a",
                                      "new_string": "b"}, "c1") + answered("c1")
                    + called("Bash", {"command": "pytest -q tests"}, "c2") + answered("c2", "3 passed")
                    + said("assistant", "Done."))  # fmt: skip
    shop.send("user-prompt", SESSION, str(path), prompt=EN["person"])
    shop.send("stop", SESSION, str(path))
    code, [verdict] = write(shop, candidate(EN, EN["person"]))
    assert code == 0
    [record] = shop.kb().sync_index().find_by_id(verdict["id"])
    assert (record.impact, record.section("verification")) == (("sync/merge.py",), "`pytest -q tests`")


def test_what_is_refused_or_declined_stays_in_its_session(host: Host) -> None:
    path = talk_of(host, EN)
    refused = {
        "kind": "decision",
        "title": "For this PR only skip the changelog",
        "decision": "For this PR only skip it.",
    }
    declined = {"kind": "decision", "title": "The button of the export is green", "decision": "It is green now.",
                "affects_future": False, "reference_value": False, "prevents_repeat": False}  # fmt: skip
    code, verdicts = write(host, refused, declined)
    assert (code, [one["verdict"] for one in verdicts]) == (3, ["refused", "refused"])
    assert "it stays in session" in verdicts[1]["reasons"][-1]
    seen = run(host.folder, "inbox", "--seen", KB_HOME=str(host.root)).out
    assert f"{refused['title']}  (refused when it was submitted)" in seen and declined["title"] in seen
    grow(Path(path), said("user", "Maybe we're going with Redis later."), said("assistant", "OK."))
    host.send("stop", SESSION, path)
    assert "going with Redis later" in run(host.folder, "inbox", "--seen", KB_HOME=str(host.root)).out
    host.send("session-end", SESSION, path)
    host.send("session-start", "another", source="startup")
    with host.kb() as kb:
        [archive] = kb.sessions()
        report = json.loads(kb.session_file(archive.name, "shi-result.json"))["anchors_skipped"]
    assert {refused["title"], declined["title"]} <= {row["title"] for row in report}
