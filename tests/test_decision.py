"""Several answers at one event become one: the strictest wins, and nothing that was said is lost."""

import itertools

from kb.guard.response import ASK, DENY, STRICTER, WARN, Decision, joined


def test_the_strictest_permission_wins_with_its_reasons() -> None:
    for pair in itertools.permutations(STRICTER, 2):
        made = joined(*(Decision(permission=one, reason=f"because {one}") for one in pair))
        winner = max(pair, key=STRICTER.index)
        assert (made.permission, made.reason) == (winner, f"because {winner}")
    assert joined(Decision(DENY, "a"), Decision(DENY, "b"), Decision(ASK, "c")).reason == "a\nb"


def test_all_texts_and_the_last_changes_stay() -> None:
    made = joined(Decision(context="a", updated_input={"n": 1}), Decision(), Decision(context="b", message="c"))
    assert made == Decision("", "", "a\n\nb", "c", {"n": 1})
    assert joined() == Decision()


def test_a_warning_is_told_to_both_and_a_denial_stands_for_itself() -> None:
    warned = Decision(WARN, "why", "more", "hm")
    assert (warned.told_model, warned.told_person) == ("more\n\nwhy", "hm\n\nwhy")
    denied = Decision(DENY, "why", "more")
    assert (denied.told_model, denied.told_person) == ("more", "")
