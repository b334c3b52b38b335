"""Write real sessions in three forms: each must be proper and of its length, and quick.

    KB_BENCH_DATA=… python -m bench.forms [--print]

`transcripts/` holds the sessions. Exits with 1 when a form is not proper. A normal form below 500 字 is told of only.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from kb.capture.prompt_commands import render_transcript_form
from kb.knowledge_base import KnowledgeBase, make
from kb.sessions.forms import FORMS, find_problems
from kb.text.segment import count_words

SECONDS = 2.0


def main() -> int:
    """Print the length of every form; return 1 when one is worse than was promised."""
    data = os.environ.get("KB_BENCH_DATA", "")
    if not data:
        print("KB_BENCH_DATA is not set", file=sys.stderr)
        return 2
    bad = 0
    for language in ("zh", "en"):
        place = Path(tempfile.mkdtemp()) / "kb"
        make(str(place), os.environ, name="bench", language=language)[0].close()
        with KnowledgeBase(str(place), os.environ) as kb:
            for path in sorted((Path(data) / "transcripts").glob("*.jsonl")):
                for form in FORMS:
                    bad += not _proper(kb, path, form)
    print(f"{bad} forms are not as promised")
    return 1 if bad else 0


def _proper(kb: KnowledgeBase, path: Path, form: str) -> bool:
    began = time.perf_counter()
    text = render_transcript_form(kb, str(path), form).text
    took = time.perf_counter() - began
    found, troubles = find_problems(text)
    wrong = [str(one.message) for one in troubles if not one.is_warning]
    print(f"{kb.config.language} {path.stem}: {form} {count_words(text)} 字, {took:.2f} s {'; '.join(map(str, wrong))}")
    if "--print" in sys.argv and form == FORMS[0]:
        print(text)
    return found == form and not wrong and took <= SECONDS


if __name__ == "__main__":
    sys.exit(main())
