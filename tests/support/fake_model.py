"""A small model of meaning, as a command: words that mean the same point the same way. The first argument is how it
behaves: well, or badly in one way or another."""

import json
import math
import sys
import time

MEANINGS = (
    ("retry", "again", "attempt", "重试", "再试"),
    ("payment", "payments", "money", "invoice", "支付", "付款"),
    ("cache", "memory", "remember", "缓存"),
    ("video", "film", "decoder", "ffmpeg", "视频"),
    ("session", "login", "会话"),
)


def vector(text: str) -> list[float]:
    """Return how much of each meaning stands in *text*, and a little that only it has."""
    text = text.casefold()
    found = [float(sum(text.count(word) for word in words)) for words in MEANINGS]
    found += [2.0 if any(c >= "\u2e80" for c in text) else 0.0, 0.1]
    length = math.sqrt(sum(n * n for n in found))
    return [n / length for n in found]


def answer(request: dict[str, object], how: str) -> str:
    """Return the line for *request*."""
    texts = list(map(str, request["texts"]))  # type: ignore[call-overload]
    if "query" in request:
        asked = vector(str(request["query"]))
        return json.dumps({"scores": [sum(map(float.__mul__, asked, vector(text))) for text in texts]})
    vectors = [vector(text) for text in texts]
    if how == "short" and request["role"] == "query":
        vectors = [one[:-1] for one in vectors]
    if how == "few":
        vectors = vectors[:-1]
    if how in ("NaN", "Infinity", "null", '"x"', "1e300"):
        return json.dumps({"vectors": vectors}).replace("0.0", how)
    if how == "zeros":
        vectors = [[0.0] * len(one) for one in vectors]
    return json.dumps({"vectors": vectors})


def main() -> None:
    """Answer line by line; leave a line for each batch in the file that the second argument names."""
    how = sys.argv[1]
    for line in sys.stdin:
        request = json.loads(line)
        if len(sys.argv) > 2:
            with open(sys.argv[2], "a", encoding="utf-8") as log:
                print(request.get("role", "rerank"), len(request["texts"]), file=log)
        if how == "slow":
            time.sleep(60)
        if how == "dies":
            sys.exit(3)
        print("what?" if how == "talks" else answer(request, how), flush=True)


if __name__ == "__main__":
    main()
