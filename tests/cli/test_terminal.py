"""Colours, the pager, completion and the man page: what a person at a terminal has, and a pipe has not."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.cli import group, prints, terminal
from kb.cli.help_commands import render_man_page
from tests.support.command_line import run, run_at_terminal

RECORD = {
    "kind": "decision", "title": "Use PostgreSQL for orders", "decision": "Orders live in PostgreSQL.",
    "why": "One database to run.", "impact_areas": ["architecture"], "scope": "global",
}  # fmt: skip


@pytest.fixture
def place(root: Path) -> Path:
    """A knowledge base with one record."""
    assert run(root, "write", "-", stdin=json.dumps(RECORD).encode()).code == 0
    return root


@pytest.fixture
def colours() -> Iterator[None]:
    prints.start_colours()
    yield
    prints._mark = ""


# -- colours -----------------------------------------------------------------------------------------


def test_a_terminal_has_colours_and_a_pipe_has_none(place: Path) -> None:
    shown = run_at_terminal(place, "list", TERM="xterm", PAGER="")
    assert "\x1b[1mD001" in shown.out
    assert "\x1b[33m⚠️ proposed\x1b[0m" in shown.out
    assert "\x1b" not in run(place, "list").out


@pytest.mark.parametrize("environment", [{"TERM": "xterm", "NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_turned_off(place: Path, environment: dict[str, str]) -> None:
    assert "\x1b" not in run_at_terminal(place, "list", PAGER="", **environment).out


def test_an_agent_gets_plain_text_at_its_terminal(place: Path) -> None:
    assert "\x1b" not in run_at_terminal(place, "list", TERM="xterm", CLAUDECODE="1").out


def test_what_a_search_found_is_coloured_where_it_was_enclosed(place: Path) -> None:
    shown = run_at_terminal(place, "search", "orders", TERM="xterm", PAGER="").out
    assert "\x1b[33mOrders\x1b[0m" in shown
    assert "«" not in shown


def test_the_headings_of_a_record_are_bold_and_its_text_is_whole(place: Path) -> None:
    shown = run_at_terminal(place, "show", "D001", TERM="xterm", PAGER="").out
    assert "\x1b[1m## Decision\x1b[0m" in shown
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m"):
        shown = shown.replace(code, "")
    assert shown == run(place, "show", "D001").out


def test_a_record_cannot_colour(colours: None, capsys: pytest.CaptureFixture[str]) -> None:
    class Stream:
        def write(self, text: str) -> int:
            return sys.stdout.write(text)

    stream = Stream()
    prints.sanitise_stream(stream)  # type: ignore[arg-type]
    stream.write(prints.paint("a \x1b[31mtitle", "bold"))
    assert capsys.readouterr().out == "\x1b[1ma ⟨U+001B⟩[31mtitle\x1b[0m"


# -- the pager ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "environment", "pager"),
    [
        (["list"], {"PAGER": "cat -n"}, ["cat", "-n"]),
        (["--kb", "show", "list"], {"PAGER": "cat -n"}, ["cat", "-n"]),
        (["list"], {"PAGER": "cat -n", "KB_PAGER": ""}, []),
        (["list"], {"PAGER": "cat"}, []),
        (["list"], {"PAGER": "a 'quote"}, []),
        (["list"], {"PAGER": "there-is-no-such-pager"}, []),
        (["list", "--json"], {"PAGER": "cat -n"}, []),
        (["--no-pager", "list"], {"PAGER": "cat -n"}, []),
        (["new", "list"], {"PAGER": "cat -n"}, []),
        ([], {"PAGER": "cat -n"}, []),
    ],
)
def test_which_pager_is_wanted(words: list[str], environment: dict[str, str], pager: list[str]) -> None:
    assert terminal.choose_pager(words, {"TERM": "xterm", **environment}) == pager
    assert terminal.choose_pager(words, {"TERM": "dumb", **environment}) == []


def test_a_terminal_reads_through_the_pager(place: Path) -> None:
    shown = run_at_terminal(place, "list", TERM="xterm", PAGER="cat -n", NO_COLOR="1")
    assert shown.out.startswith("     1\tD001")
    assert shown.code == 0


def test_a_pager_that_is_closed_early_is_no_error(place: Path) -> None:
    shown = run_at_terminal(place, "help", "man", TERM="xterm", PAGER="head -1")
    assert "Traceback" not in shown.out
    assert len(shown.out.splitlines()) == 1


def test_an_error_never_goes_through_the_pager(place: Path) -> None:
    shown = run_at_terminal(place, "show", "D999", TERM="xterm", PAGER="sed s/^/page:/", NO_COLOR="1")
    assert shown.code == 1 and "page:" not in shown.out and "there is no record D999" in shown.out


def test_what_is_said_beside_a_page_stands_below_it(capfd: pytest.CaptureFixture[str]) -> None:
    with open(os.dup(1), "w", encoding="utf-8", buffering=1) as errors:
        paged = terminal.PagedOutput(["sed", "s/^/page:/"], errors)
        errors.write("before\n")
        paged.write("text\n")
        errors.write("a note\n")
        paged.write("more\n")
        paged.finish()
    assert capfd.readouterr().out == "before\npage:text\npage:more\na note\n"


def test_a_pager_that_cannot_be_started_costs_nothing(place: Path, tmp_path: Path) -> None:
    broken = tmp_path / "pager"
    broken.write_text("no program", "utf-8")
    broken.chmod(0o755)
    shown = run_at_terminal(place, "list", TERM="xterm", PAGER=str(broken), NO_COLOR="1")
    assert shown.code == 0 and shown.out.startswith("D001")


def test_options_before_the_command_reach_it(place: Path) -> None:
    assert run(place, "--no-pager", "list").out == run(place, "list").out


# -- limits ------------------------------------------------------------------------------------------


def test_a_list_can_be_cut_and_says_how_much_is_left(place: Path) -> None:
    second = {**RECORD, "title": "Amounts are integer cents", "decision": "Amounts are integer cents.", "why": "Sums."}
    assert run(place, "write", "-", stdin=json.dumps(second).encode()).code == 0
    shown = run(place, "list", "-n", "1")
    assert len(shown.out.splitlines()) == 1
    assert shown.error == "1 more: raise --limit\n"
    assert len(run(place, "list", "--newest").out.splitlines()) == 2


# -- completion --------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_each_shell(place: Path, shell: str) -> None:
    assert f"_KB_COMPLETE={shell}_complete" in run(place, "completion", shell).out


def complete(place: Path, shell: str, words: str) -> list[str]:
    code = "from kb.cli import main\nmain()"
    asked = {"_KB_COMPLETE": f"{shell}_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    ran = subprocess.run([sys.executable, "-c", code], cwd=place, env={**os.environ, **asked}, capture_output=True)
    assert ran.stderr == b""
    return [line for line in ran.stdout.decode().splitlines() if line]


def test_ids_are_completed_with_their_titles(place: Path) -> None:
    assert complete(place, "zsh", "kb show d") == ["plain", "D001", RECORD["title"]]
    assert complete(place, "bash", "kb edit D") == ["plain,D001"]


def test_commands_and_choices_are_completed(place: Path) -> None:
    assert "plain,supersede" in complete(place, "bash", "kb su")
    assert "plain,accepted" in complete(place, "bash", "kb list --status ac")


def test_no_base_is_nothing_to_complete(tmp_path: Path) -> None:
    assert complete(tmp_path, "bash", "kb show D") == []


def test_bash_loads_the_script(place: Path) -> None:
    script = place / "completion.bash"
    script.write_text(run(place, "completion", "bash").out, encoding="utf-8")
    ran = subprocess.run(["bash", "-c", f". {script}; complete -p kb"], capture_output=True, text=True)
    assert "-F _kb_completion kb" in ran.stdout, ran.stderr


# -- topics and the man page -------------------------------------------------------------------------


def test_near_twins_are_explained(place: Path) -> None:
    shown = run(place, "help", "context").out
    assert all(name in shown for name in ("kb hint", "kb route", "kb drill", "kb pack", "kb context build"))
    assert "kb digest" in run(place, "help", "past").out
    assert "kb expand" in run(place, "help", "forms").out


def test_an_unknown_topic_names_those_there_are(place: Path) -> None:
    shown = run(place, "help", "statuse")
    assert shown.code == 2
    assert "statuses" in shown.error


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_man_page_has_every_command(language: str) -> None:
    page = "\n".join(render_man_page(language))
    assert all(f"\n.SS kb {name}" in page for name in group.COMMANDS)
    assert "\n.B 3" in page


def test_the_man_page_is_fresh() -> None:
    page = Path(__file__).parents[2] / "docs/kb.1"
    assert page.read_text(encoding="utf-8") == "\n".join(render_man_page()) + "\n", "run: make docs"
