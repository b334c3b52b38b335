"""What a rule of the secrets asks for before it is tried stands in all that it matches."""

import random
import re
import re._parser as parser  # type: ignore[import-not-found]

import pytest

from kb.safety.redaction import redact_text
from kb.safety.secret_rules import SecretRule
from kb.safety.secret_search import RULES
from tests.support import pumps


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.least], ids=lambda rule: rule.name)
def test_what_a_rule_asks_of_a_run_stands_in_all_that_it_matches(rule: SecretRule) -> None:
    pattern = re.compile(rule.pattern.pattern, rule.pattern.flags)
    tree, rng = parser.parse(pattern.pattern, pattern.flags), random.Random(3)
    samples = [pumps.sample(tree, rng, chance) for chance in (0.0, 0.5, 1.0) for _ in range(50)]
    matches = [match[0] for one in samples for text in (one, one * 16) if (match := pattern.search(text))]
    assert len(matches) > 20
    assert all(rule.holds in match and len(match) >= rule.least for match in matches)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("用户名jo，密码Yefalong520；", "用户名jo，密码[redacted:password]；"),
        ("密码SHA256哈希", "密码SHA256哈希"),
        ("口令Token过期", "口令Token过期"),
    ],
)
def test_a_chinese_word_for_password_needs_no_space_before_its_value(text: str, masked: str) -> None:
    assert redact_text(text)[0] == masked
