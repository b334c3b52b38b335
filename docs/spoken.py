"""Make the words with which a visitor turns the wiki from one language to the other: kb/wiki/assets/kb-words.js."""

import json
from pathlib import Path

import kb
from docs.templates import placeholders, templates
from kb.kinds import KINDS, SECTIONS
from kb.words_zh import ZH

PATH = Path(kb.__file__).parent / "wiki" / "assets" / "kb-words.js"
SAID_IN = ("kb/wiki/", "kb/knowledge/review/branches.py")
NOT_SHOWN = ("kb/wiki/build.py", "kb/wiki/plugin.py")
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
    "Copied": "已复制",
}
"""What the theme says on every page, and kb.js itself."""


def script() -> str:
    """Return the words as a script: whole texts, and forms with places for values; first English, then Chinese."""
    said = [
        text for text, place in templates().items() if place.startswith(SAID_IN) and not place.startswith(NOT_SHOWN)
    ]
    pairs = {text: ZH[text] for text in said if text in ZH} | THEME
    pairs |= {one.en: one.zh for one in (*SECTIONS, *KINDS)}
    heads = [
        word for text in pairs if "|" in text for word in zip(text.split("|"), pairs[text].split("|"), strict=True)
    ]
    whole = {text: chinese for text, chinese in [*pairs.items(), *heads] if not placeholders(text) and text != chinese}
    forms = {text: pairs[text] for text in pairs if placeholders(text) and _tells(text) and _tells(pairs[text])}
    told = {"whole": sorted(whole.items()), "forms": sorted(forms.items(), key=lambda pair: (-len(pair[0]), pair))}
    return f'kbData("words",{json.dumps(told, ensure_ascii=False, separators=(",", ":"))});\n'


def _tells(text: str) -> bool:
    """Tell whether *text* says so much beside its values that it cannot be mistaken for something else."""
    for name in placeholders(text):
        text = text.replace(f"{{{name}}}", "")
    return sum(sign.isalpha() for sign in text) > 1
