"""Make the words with which a visitor turns the wiki from one language to the other: kb/wiki/assets/kb-words.js."""

import json
from collections.abc import Iterator
from pathlib import Path

import kb
from docs.templates import calls, literals, placeholders
from kb.kinds import KINDS, SECTIONS
from kb.words_zh import ZH

PACKAGE = Path(kb.__file__).parent
PATH = PACKAGE / "wiki" / "assets" / "kb-words.js"
SAYING = [*sorted((PACKAGE / "wiki").glob("*.py")), PACKAGE / "knowledge" / "review" / "branches.py"]
NOT_SHOWN = ("build.py", "plugin.py")
THEME = {
    "Search": "搜索",
    "Table of contents": "目录",
    "Back to top": "回到页面顶部",
    "Type to start searching": "键入以开始搜索",
    "Initializing search": "正在初始化搜索引擎",
    "No matching documents": "没有找到符合条件的结果",
    "Light": "浅色",
    "Dark": "深色",
    "Filter this page": "筛选本页",
}
"""What the theme says on every page, and kb.js itself."""


def script() -> str:
    """Return the words as a script: whole texts, and forms with places for values; first English, then Chinese.

    Of two English words for one Chinese word the later one holds: the labels of kinds and sections come last.
    """
    pairs = {text: ZH[text] for text in _said() if text in ZH} | THEME
    pairs |= {
        english: chinese
        for text in [text for text in pairs if "|" in text]
        for english, chinese in zip(text.split("|"), pairs[text].split("|"), strict=True)
    }
    labels = {one.en: one.zh for one in (*SECTIONS, *KINDS)}
    words = sorted(pair for pair in pairs.items() if not placeholders(pair[0]) and pair[0] not in labels)
    forms = [pair for pair in pairs.items() if placeholders(pair[0]) and all(map(_tells, pair))]
    told = {"whole": [*words, *labels.items()], "forms": sorted(forms, key=lambda pair: (-len(pair[0]), pair))}
    return f'kbData("words",{json.dumps(told, ensure_ascii=False, separators=(",", ":"))});\n'


def _said() -> Iterator[str]:
    """Yield what the wiki says on its pages."""
    for path in SAYING:
        if path.name not in NOT_SHOWN:
            for call in calls(path.read_text(encoding="utf-8")):
                yield from literals(call.args[0]) or ()


def _tells(text: str) -> bool:
    """Tell whether *text* says so much beside its values that it cannot be mistaken for something else."""
    for name in placeholders(text):
        text = text.replace(f"{{{name}}}", "")
    return sum(sign.isalpha() for sign in text) > 1
