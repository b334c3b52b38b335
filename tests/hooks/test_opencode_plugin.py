"""The plugin for opencode, run by node with the real kb-hook behind it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kb.errors import BadInput
from kb.hooks import install, settings_file
from kb.hosts import HOSTS, resolve_settings_path
from kb.knowledge_base import KnowledgeBase
from tests.support.sealed import DATA
from tests.support.talk import EN

HOST = DATA.parent / "support" / "opencodehost.mjs"
LONG = "\n".join(f"src/part{n:03}/module_{n:03}.py" for n in range(500))


def text(role: str, said: str, number: int = 0) -> dict[str, Any]:
    info = {"id": f"msg_{number}", "role": role, "sessionID": "ses_1", "time": {"created": 1_795_000_000_000}}
    return {"info": info, "parts": [{"type": "text", "text": said}]}


def read(number: int, path: str, output: str, **tokens: int) -> dict[str, Any]:
    info = {"id": f"msg_{number}", "role": "assistant", "sessionID": "ses_1", "modelID": "m",
            "tokens": {"input": tokens.get("input", 10), "cache": {"read": 0, "write": 0}}}  # fmt: skip
    state = {"status": "completed", "input": {"filePath": path}, "output": output}
    call = {"type": "tool", "tool": "read", "callID": f"c{number}", "state": state}
    return {"info": info, "parts": [{"type": "step-start"}, call]}


class Opencode:
    """A host with the plugin installed and a knowledge base behind it."""

    def __init__(self, root: Path, folder: Path, program: str) -> None:
        self.root, self.folder = root, folder
        self.environment = {**os.environ, "HOME": str(folder / "home"), "KB_HOME": str(root)}
        del self.environment["XDG_CONFIG_HOME"]
        self.plugin = Path(resolve_settings_path(HOSTS["opencode"].hooks, "", self.environment))
        change = install.plan_installation(HOSTS["opencode"], str(self.plugin), program, self.environment)
        settings_file.apply_edit(change, self.environment)
        (self.plugin.parent / "package.json").write_text('{"type": "module"}')

    def run(
        self,
        *steps: dict[str, Any],
        messages: list[dict[str, Any]] | None = None,
        parents: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """Let the host go through *steps*."""
        node = shutil.which("node")
        assert node, "the tests of the plugin need node: make browser installs it"
        given = {"plugin": str(self.plugin), "directory": str(self.folder), "messages": messages, "steps": steps,
                 "parents": parents or {}}  # fmt: skip
        done = subprocess.run([node, str(HOST)], input=json.dumps(given), capture_output=True, text=True,
                              env=self.environment, cwd=self.folder, timeout=60, check=False)  # fmt: skip
        assert done.returncode == 0 and done.stderr == "", done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@pytest.fixture
def host(root: Path, tmp_path: Path) -> Opencode:
    """opencode with kb's plugin."""
    code = f'#!/bin/sh\nexec {sys.executable} -c "from kb.hooks import main; main()" "$@"\n'
    program = tmp_path / "a bin" / "kb-hook"
    program.parent.mkdir()
    program.write_text(code)
    program.chmod(0o755)
    return Opencode(root, tmp_path, str(program))


def event(kind: str, **about: Any) -> dict[str, Any]:
    return {"hook": "event", "input": {"event": {"type": kind, "properties": about}}}


def said(prompt: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": prompt, "id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1"}]
    return {"hook": "chat.message", "input": {"sessionID": "ses_1", **more}, "output": {"parts": parts}}


SYSTEM = {"hook": "experimental.chat.system.transform", "input": {"sessionID": "ses_1"}, "output": {"system": ["s"]}}
QUESTION = "Do API responses have to go through the Sanitizer?"


def test_what_one_session_decides_the_next_is_told(host: Opencode) -> None:
    messages = [text("user", "build it"), text("assistant", EN, 1)]
    first = host.run(event("session.idle", sessionID="ses_1"), messages=messages)
    assert "[D001]" in first["shown"][0]
    with KnowledgeBase(str(host.root), os.environ) as kb:
        (record,) = kb.records()
    assert "Sanitizer" in record.title
    (copy,) = (host.folder / "home" / ".local" / "state" / "kb" / "opencode").iterdir()
    assert copy.stat().st_mode & 0o077 == 0, "a session may hold secrets"
    later = host.run(event("session.created", info={"id": "ses_1"}), said(QUESTION), SYSTEM)
    assert "Knowledge base" in later["results"][-1]["output"]["system"][1]
    assert "[D001]" in hint_of(later["results"][1])


def hint_of(result: dict[str, Any]) -> str:
    """Return what kb has put behind the prompt, "" for nothing."""
    added = result["output"]["parts"][1:]
    assert all(part["synthetic"] and part["id"] > "prt_1" and part["messageID"] == "msg_1" for part in added)
    return "".join(part["text"] for part in added)


def test_the_system_prompt_stays_the_same_so_that_it_is_cached(host: Opencode) -> None:
    host.run(event("session.idle", sessionID="ses_1"), messages=[text("user", "go"), text("assistant", EN, 1)])
    write = {"tool": "write", "sessionID": "ses_1", "callID": "c1", "args": {}}
    before = {"hook": "tool.execute.before", "input": write,
              "output": {"args": {"filePath": str(host.folder / "auth.py"), "content": "x"}}}  # fmt: skip
    after = {"hook": "tool.execute.after", "input": write, "output": {"output": "Wrote file."}}
    told = host.run(event("session.created", info={"id": "ses_1"}), SYSTEM, said(QUESTION), SYSTEM, before, after,
                    {**SYSTEM, "output": {"system": ["s"]}}, said("hello"), SYSTEM)  # fmt: skip
    systems = [r["output"]["system"] for r in told["results"] if "system" in r["output"]]
    assert len(systems) == 4 and all(one == systems[0] for one in systems) and len(systems[0]) == 2
    assert "[D001]" in hint_of(told["results"][2]) and hint_of(told["results"][7]) == ""


def test_a_warning_stands_behind_the_result_of_its_call(host: Opencode, tmp_path: Path) -> None:
    script = '#!/bin/sh\ncat >/dev/null; [ $1 = pre-tool ] && echo \'{"context": "read it first"}\' || echo "{}"\n'
    (tmp_path / "a bin" / "kb-hook").write_text(script)
    call = {"tool": "edit", "sessionID": "ses_1", "callID": "c1", "args": {}}
    steps = [{"hook": "tool.execute.before", "input": call, "output": {"args": {}}},
             {"hook": "tool.execute.after", "input": call, "output": {"output": "Edited."}},
             {"hook": "tool.execute.after", "input": call, "output": {"output": "Again."}}]  # fmt: skip
    told = host.run(*steps)
    assert [r["output"].get("output") for r in told["results"]] == [None, "Edited.\n\nread it first", "Again."]


def test_a_resumed_session_gets_its_start_and_a_sub_agent_none(host: Opencode) -> None:
    host.run(event("session.idle", sessionID="ses_0"), messages=[text("user", "go"), text("assistant", EN, 1)])
    told = host.run(said("hello"), SYSTEM, {**said("look"), "input": {"sessionID": "ses_2"}},
                    {**SYSTEM, "input": {"sessionID": "ses_2"}, "output": {"system": ["s"]}},
                    messages=[text("user", "go")], parents={"ses_2": "ses_1"})  # fmt: skip
    systems = [r["output"]["system"] for r in told["results"] if "system" in r["output"]]
    assert "Knowledge base" in systems[0][1] and systems[1] == ["s"]


def test_the_first_prompt_waits_for_a_slow_start(host: Opencode, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    (tmp_path / "a bin" / "kb-hook").write_text(
        f"#!/bin/sh\ncat >/dev/null; [ $1 = session-start ] && sleep 1.5; echo $1 >> '{calls}'; "
        'echo "{\\"context\\": \\"told at $1\\"}"\n'
    )
    told = host.run({**event("session.created", info={"id": "ses_1"}), "background": True}, said("hello"), SYSTEM)
    assert told["results"][2]["output"]["system"] == ["s", "told at session-start"]
    assert calls.read_text() == "session-start\nuser-prompt\n", "begun once, and before the prompt"


def test_what_the_person_is_asked_stays_in_the_conversation(host: Opencode, tmp_path: Path) -> None:
    script = '#!/bin/sh\ncat >/dev/null; [ $1 = stop ] || [ $1 = subagent-stop ] && echo \'{"message": "keep it?"}\'\n'
    (tmp_path / "a bin" / "kb-hook").write_text(script)
    way = {"agent": "build", "model": {"providerID": "p", "modelID": "m"}}
    child = event("session.created", info={"id": "ses_2", "parentID": "ses_1"})
    told = host.run(child, said("go", **way), event("session.idle", sessionID="ses_1"),
                    event("session.idle", sessionID="ses_2"), messages=[text("user", "go")])  # fmt: skip
    assert told["shown"] == ["keep it?"] * 2, "of a sub-agent as well, for a moment"
    (left,) = told["left"]
    parts = [{"type": "text", "text": "keep it?", "ignored": True}]
    assert left == {"session": "ses_1", "noReply": True, "parts": parts, **way}, "the model does not read it"
    program = tmp_path / "a bin" / "kb-hook"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/called'\n")
    host.run({**said("x"), "output": {"parts": parts}})
    assert not (tmp_path / "called").exists(), "its own words are no prompt"


def test_a_question_that_was_handed_on_is_not_asked_again(host: Opencode) -> None:
    host.run(event("session.idle", sessionID="ses_1"), messages=[text("user", "go"), text("assistant", EN, 1)])
    same, other = f"memory_reader: look\nuser_question: {QUESTION}", "user_question: Must responses be sanitized by it?"
    elsewhere = {**said(other + " Sanitizer"), "input": {"sessionID": "ses_3"}}
    told = host.run(said(QUESTION), said("hello"), said(same), elsewhere)
    hints = [bool(hint_of(result)) for result in told["results"]]
    assert hints == [True, False, False, True], "only the very same question is passed over"


def test_whether_an_orchestrator_asks_by_itself_is_looked_up_once_a_minute(host: Opencode, tmp_path: Path) -> None:
    path, calls = host.plugin.parent.parent / "oh-my-opencode.json", tmp_path / "calls"
    amended = '{"agents": {"sisyphus": {"prompt_append": "<!-- KB:sisyphus -->"}}}'
    program = tmp_path / "a bin" / "kb-hook"
    program.write_text(f"#!/bin/sh\ncat >/dev/null; [ $1 = user-prompt ] || exit 0\n"
                       f"echo x >> '{calls}'; echo '{amended}' > '{path}'\n")  # fmt: skip
    asked = [{**said("how?", agent="Sisyphus"), "wait": wait} for wait in (0, 59_000, 2_000)]
    host.run(*asked)
    assert calls.read_text() == "x\nx\n", "asked, asked within the minute though it is amended now, and then no more"
    host.run(said("how?", agent="build"))
    assert calls.read_text() == "x\n" * 3, "other agents do not ask by themselves"


def test_a_search_is_shortened_before_the_model_reads_it(host: Opencode) -> None:
    step = {"hook": "tool.execute.after", "input": {"tool": "glob", "sessionID": "ses_1", "args": {"pattern": "*"}}}
    told = host.run({**step, "output": {"output": LONG, "title": "t"}}, {**step, "output": {"output": "a.py"}})
    first, second = (r["output"]["output"] for r in told["results"])
    assert first.count("module_") == 200 and "narrow the search" in first and second == "a.py"


def test_a_denied_call_throws_and_a_changed_one_keeps_its_object(host: Opencode, tmp_path: Path) -> None:
    program = tmp_path / "a bin" / "kb-hook"
    step = {"hook": "tool.execute.before", "input": {"tool": "read", "sessionID": "ses_1"}}
    program.write_text('#!/bin/sh\ncat >/dev/null; echo \'{"input": {"filePath": "/b", "limit": 9}}\'\n')
    (changed,) = host.run({**step, "output": {"args": {"filePath": "/a", "old": 1}}})["results"]
    assert changed["output"]["args"] == {"filePath": "/b", "limit": 9} and changed["same"]
    program.write_text('#!/bin/sh\ncat >/dev/null; echo \'{"deny": "read patterns.md first"}\'\n')
    (denied,) = host.run({**step, "output": {"args": {}}})["results"]
    assert denied["thrown"] == "read patterns.md first"


def test_before_a_compaction_the_compact_form_goes_with_it(host: Opencode) -> None:
    step = {"hook": "experimental.session.compacting", "input": {"sessionID": "ses_1"}, "output": {"context": []}}
    told = host.run(step, messages=[text("user", "build the shop"), text("assistant", EN, 1)])
    assert "Sanitizer" in told["results"][0]["output"]["context"][0]


def test_live_messages_are_pruned_when_the_context_is_nearly_full_and_stay_so(host: Opencode) -> None:
    rows = "".join(f"{n}: a row of the file\n" for n in range(1500))
    step = {"hook": "experimental.chat.messages.transform", "output": {}}

    def session(used: int) -> list[dict[str, Any]]:
        calls = [read(n, "/w/a.py", rows) for n in range(1, 5)]
        idle = [text("assistant", f"step {n}", n) for n in range(5, 19)]
        return [text("user", "go"), *calls, *idle, read(19, "/w/b.py", "x", input=used)]

    roomy, full, after = (json.loads(json.dumps(session(used))) for used in (100_000, 180_000, 100_000))
    told = host.run(*({**step, "output": {"messages": one}} for one in (roomy, full, after)))
    outs = [r["output"]["messages"] for r in told["results"]]
    assert outs[0] == session(100_000), "nothing below 85 %"
    reads = [m["parts"][1]["state"]["output"] for m in outs[1][1:5]]
    assert [one.startswith("[kb: ") for one in reads] == [True, True, True, False] and reads[3] == rows
    assert outs[2][1:5] == outs[1][1:5], "what was taken out does not come back"
    assert outs[1][5:] == session(180_000)[5:], "nothing else changes"


@pytest.mark.parametrize("script", ["exit 1", "echo not json", "kill -9 $$", "echo 7", "echo null"])
def test_whatever_kb_does_the_agent_goes_on(host: Opencode, tmp_path: Path, script: str) -> None:
    (tmp_path / "a bin" / "kb-hook").write_text(f"#!/bin/sh\n{script}\n")
    steps = [event("session.created", info={"id": "ses_1"}), said("hello"), SYSTEM, event("session.idle"),
             {"hook": "tool.execute.before", "input": {"tool": "read"}, "output": {"args": {"a": 1}}},
             {"hook": "experimental.session.compacting", "input": {"sessionID": "x"}, "output": {"context": []}},
             ]  # fmt: skip
    told = host.run(*steps, messages=None)
    assert [r["thrown"] for r in told["results"]] == [""] * len(steps) and told["shown"] == []
    assert told["results"][4]["output"] == {"args": {"a": 1}}


def test_a_program_that_is_gone_and_events_that_are_not_wanted_cost_nothing(host: Opencode, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "a bin")
    assert host.run(said("hello"), SYSTEM)["results"][1]["output"] == {"system": ["s"]}
    change = install.plan_installation(HOSTS["opencode"], str(host.plugin), "kb-hook", host.environment, ["stop"])
    settings_file.apply_edit(change, host.environment)
    assert [hook.event for hook in install.read_hooks(HOSTS["opencode"], str(host.plugin))] == ["session.idle"]


def test_a_file_of_somebody_else_is_left(host: Opencode) -> None:
    host.plugin.write_text("export const Mine = async () => ({})\n")
    for call in (lambda: install.plan_installation(HOSTS["opencode"], str(host.plugin), "kb-hook", {}),
                 lambda: install.plan_removal(HOSTS["opencode"], str(host.plugin), {})):  # fmt: skip
        with pytest.raises(BadInput):
            call()
    assert install.read_hooks(HOSTS["opencode"], str(host.plugin)) == []
