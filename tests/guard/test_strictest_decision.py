"""Several answers at one event become one: the strictest wins, and nothing that was said is lost."""

import itertools

from kb.hosts import ASK, DENY, STRICTER, WARN, HookResponse, merge_responses


def test_the_strictest_permission_wins_with_its_reasons() -> None:
    for pair in itertools.permutations(STRICTER, 2):
        made = merge_responses(*(HookResponse(permission=one, reason=f"because {one}") for one in pair))
        winner = max(pair, key=STRICTER.index)
        assert (made.permission, made.reason) == (winner, f"because {winner}")
    assert merge_responses(HookResponse(DENY, "a"), HookResponse(DENY, "b"), HookResponse(ASK, "c")).reason == "a\nb"


def test_all_texts_and_the_last_changes_stay() -> None:
    made = merge_responses(
        HookResponse(context="a", updated_input={"n": 1}), HookResponse(), HookResponse(context="b", message="c")
    )
    assert made == HookResponse("", "", "a\n\nb", "c", {"n": 1})
    assert merge_responses() == HookResponse()


def test_a_warning_is_told_to_both_and_a_denial_stands_for_itself() -> None:
    warned = HookResponse(WARN, "why", "more", "hm")
    assert (warned.model_text, warned.person_text) == ("more\n\nwhy", "hm\n\nwhy")
    denied = HookResponse(DENY, "why", "more")
    assert (denied.model_text, denied.person_text) == ("more", "")
