"""A person at git in a storm: commits, stashes, branches, merges, and writes lines into records."""

import os
import random
from collections.abc import Callable

from bench.stormacts import Storm
from bench.stormworld import MARK, RECORDS

Act = Callable[[Storm, random.Random], None]


def work(storm: Storm) -> None:
    """Do one thing after the other until *storm* is over, and leave no merge, rebase or cherry-pick half done."""
    chance = random.Random(storm.seed + 13)
    while not storm.over.wait(chance.uniform(0.02, 0.3)):
        act = chance.choice(_ACTS)
        storm.counts[f"person {act.__name__[1:]}"] += 1
        act(storm, chance)
    for words in (("rebase", "--quit"), ("merge", "--abort"), ("cherry-pick", "--quit")):
        storm.git(*words)


def _new_file(storm: Storm) -> str:
    name = f"mine-{len(storm.files)}.txt"
    (storm.world.place / name).write_text(f"{name}\n")
    storm.files.append(name)
    return name


def _commit(storm: Storm, chance: random.Random) -> None:
    name = _new_file(storm)
    storm.git("add", name)
    storm.git("commit", "-qm", f"Add {name}", "--", name)


def _amend(storm: Storm, chance: random.Random) -> None:
    _commit(storm, chance)
    storm.git("commit", "-q", "--amend", "-m", f"Add {storm.files[-1]}, amended")


def _stage(storm: Storm, chance: random.Random) -> None:
    storm.git("add", _new_file(storm))


def _edit(storm: Storm, chance: random.Random) -> None:
    with (storm.world.place / "code.txt").open("a") as file:
        file.write(f"{len(storm.files)}\n")


def _note(storm: Storm, chance: random.Random) -> None:
    """Write a line into a record, as an editor that looks whether the file has changed meanwhile."""
    number = chance.randint(1, RECORDS)
    for path in storm.world.place.glob(f"content/anchors/global/D{number:03}-*.md"):
        text = path.read_bytes()
        note = f"Line {len(storm.notes)} of seed {storm.seed} is a person's."
        half = path.with_name(path.name + ".swp")
        half.write_bytes(text.replace(MARK, MARK + f"\n\n{note}".encode(), 1))
        if MARK in text and path.exists() and path.read_bytes() == text:
            os.replace(half, path)
            storm.notes.append(note)
        else:
            half.unlink()


def _keep(storm: Storm, chance: random.Random) -> None:
    storm.git("commit", "-qm", "Keep", "-a")


def _add(storm: Storm, chance: random.Random) -> None:
    storm.git("add", "-u")


def _stash(storm: Storm, chance: random.Random) -> None:
    if not storm.git("stash", "list").stdout:
        storm.git("stash", "push", "-q", *chance.choice(((), ("--", "code.txt"), ("--", "content"))))


def _unstash(storm: Storm, chance: random.Random) -> None:
    storm.git("stash", "pop", "-q")


def _branch(storm: Storm, chance: random.Random) -> None:
    storm.git("switch", "-q", "-c", f"topic-{storm.counts['person branch']}")


def _home(storm: Storm, chance: random.Random) -> None:
    storm.git("switch", "-q", "main")


def _detach(storm: Storm, chance: random.Random) -> None:
    storm.git("switch", "-q", "--detach")
    storm.over.wait(chance.uniform(0.05, 0.4))
    storm.git("switch", "-q", "main")


def _topic(storm: Storm, chance: random.Random) -> str:
    return f"topic-{chance.randint(1, max(1, storm.counts['person branch']))}"


def _merge(storm: Storm, chance: random.Random) -> None:
    if storm.git("merge", "-q", "--no-edit", _topic(storm, chance)).returncode:
        storm.git("merge", "--abort")


def _cherry_pick(storm: Storm, chance: random.Random) -> None:
    if storm.git("cherry-pick", _topic(storm, chance)).returncode:
        storm.git("cherry-pick", "--abort")


def _rebase(storm: Storm, chance: random.Random) -> None:
    on = storm.git("branch", "--show-current").stdout
    if on.startswith("topic") and storm.git("rebase", "-q", "--autostash", "main").returncode:
        storm.git("rebase", "--quit")


def _look(storm: Storm, chance: random.Random) -> None:
    storm.git(*chance.choice((("status",), ("diff", "HEAD"), ("log", "-3", "--stat"))))


def _pack(storm: Storm, chance: random.Random) -> None:
    storm.git(*chance.choice((("gc", "-q"), ("pack-refs", "--all"))))


def _worktree(storm: Storm, chance: random.Random) -> None:
    place = str(storm.world.top / f"worktree-{storm.counts['person worktree']}")
    if not storm.git("worktree", "add", "-q", "--detach", place).returncode:
        storm.git("worktree", "remove", "--force", place)


_ACTS: tuple[Act, ...] = (
    _commit, _amend, _stage, _edit, _note, _note, _keep, _add, _stash, _unstash, _branch, _home, _detach, _merge,
    _cherry_pick, _rebase, _look, _pack, _worktree,
)  # fmt: skip
