"""`dcp-config.yaml`: every key, its default, and what is said of a mistake."""

from pathlib import Path
from typing import Any

import pytest

from kb.sessions.dcp_settings import (
    KEYS,
    BadDcpSettings,
    DcpSettings,
    find_line,
    format_settings,
    load_root_settings,
    load_settings_file,
    parse_settings,
)

SEED = """# DCP 配置
dcp:
  enabled: true

  # 自动策略
  auto_strategies:
    deduplication: true
    supersede_writes: true
    purge_errors: true
    truncation: true

  # 保护机制
  protection:
    turn_protection: 4          # 最近4轮不修剪
    anchor_protection: true     # 锚点内容保护
    protected_patterns:         # 保护的文件模式
      - "*.md"
      - "anchors.md"
      - "requirements.md"
      - "design.md"

  # 截断配置
  truncation:
    grep_max_tokens: 50000
    grep_headroom: 0.5          # 保留50%剩余空间
    glob_max_files: 200
    read_chunk_size: 1000       # 分块读取行数

  # AI辅助
  ai_assisted:
    discard_enabled: true
    require_confirmation: false  # 自动执行或需要确认

  # 错误清理
  error_purge:
    turns_before_purge: 4
    keep_error_message: true
"""


def at(tmp_path: Path, text: str) -> DcpSettings:
    (tmp_path / "dcp-config.yaml").write_text(text, encoding="utf-8")
    return load_root_settings(str(tmp_path))


def test_the_documented_file_says_the_defaults(tmp_path: Path) -> None:
    assert at(tmp_path, SEED) == DcpSettings()


def test_without_a_file_or_with_an_empty_one_the_defaults_hold(tmp_path: Path) -> None:
    assert load_root_settings(str(tmp_path)) == at(tmp_path, "") == at(tmp_path, "dcp:\n") == DcpSettings()


def test_every_setting_has_a_key_and_every_key_changes_its_setting(tmp_path: Path) -> None:
    assert [key.field for key in KEYS] == list(DcpSettings._fields)
    for key in KEYS:
        default = getattr(DcpSettings(), key.field)
        other: Any = not default if isinstance(default, bool) else default / 2 if isinstance(default, float) else 7
        if isinstance(default, tuple):
            other = (key.choices or ("x",))[:1]
        elif isinstance(default, str):
            other = key.choices[1]
        changed = DcpSettings()._replace(**{key.field: other})
        assert changed != DcpSettings() and at(tmp_path, format_settings(changed)) == changed


def test_the_older_places_of_a_key_are_read(tmp_path: Path) -> None:
    text = (
        "deduplication:\n  enabled: false\npurge_errors:\n  turns_before_purge: 6\nturn_protection:\n  applies_to: []\n"
    )
    assert at(tmp_path, text) == DcpSettings()._replace(deduplication=False, turns_before_purge=6, applies_to=())


MISTAKES = [
    ("turn_protection: 4 ", "turn_protectoin: 4 ", 14, "protection.turn_protectoin", "protection.turn_protection"),
    ("turn_protection: 4 ", "turn_protection: four ", 14, "from 0 to 10000000", "kb prune config"),
    ("turn_protection: 4 ", "turn_protection: -1 ", 14, "-1", "kb prune config"),
    ("turn_protection: 4 ", "turn_protection: true ", 14, "True", "kb prune config"),
    ("grep_headroom: 0.5 ", "grep_headroom: 1.5 ", 25, "from 0 to 1", "kb prune config"),
    ("discard_enabled: true", "discard_enabled: 1", 31, "true or false", "kb prune config"),
    ('- "design.md"', "- 7", 16, "list of words", "kb prune config"),
    ("error_purge:", "error_purge: 4\n  eror_purge:", 35, "error_purge", "kb prune config"),
    ("dcp:", "dpc:", 2, "dpc", "kb prune config"),
    ("  enabled: true", "  enabled: true\n  enabled: true", 4, "twice", "kb prune config"),
    ("  enabled: true", "  enabled: true\n  deduplication:\n    enabled: true", 9, "twice", "kb prune config"),
    ("  enabled: true", "  enabled: &a true", 3, "YAML", "kb prune config"),
    ("turn_protection: 4 ", "turn_unit: hour ", 14, "step, prompt", "kb prune config"),
]


@pytest.mark.parametrize(("old", "new", "line", "named", "hint"), MISTAKES, ids=[new for _, new, *_ in MISTAKES])
def test_a_mistake_is_named_with_file_line_and_the_next_step(
    old: str, new: str, line: int, named: str, hint: str, tmp_path: Path
) -> None:
    assert SEED.count(old) == 1
    with pytest.raises(BadDcpSettings) as caught:
        at(tmp_path, SEED.replace(old, new))
    assert (caught.value.line, caught.value.exit_code) == (line, 2)
    assert named in str(caught.value) and str(tmp_path / "dcp-config.yaml") in str(caught.value)
    assert hint in caught.value.hint.translate("en") and hint in caught.value.hint.translate("zh")


def test_a_file_that_is_no_text_or_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"dcp:\n  enabled: \xff\n")
    for path in (tmp_path / "a.yaml", tmp_path):
        with pytest.raises(BadDcpSettings, match=str(path)):
            load_settings_file(str(path))


def test_a_key_in_braces_is_found_at_the_line_above_it() -> None:
    assert find_line(("truncation", "x"), "dcp:\n  enabled: true\n  truncation: {x: 1}\n") == 3
    with pytest.raises(BadDcpSettings):
        parse_settings({"dcp": [1]}, "dcp: [1]\n")
