"""A scripted model behind the HTTP interfaces of Anthropic, OpenAI and Google, on the loopback only.

    python -m bench.hosts.model --port 8400 --log FOLDER --script FILE

FILE is JSON: a list of `[pattern, [step, …]]`. The last prompt that matches a pattern starts its steps, and the k-th
answer after it is the k-th step: the server keeps no state, so hosts may retry and resume. A step is a list of
`["text", words]` and `["tool", name, arguments]` with the names of Claude Code's tools. Every request is written to
FOLDER/NNN-<purpose>.json.
"""

import argparse
import json
import re
import threading
import time
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from bench.hosts.model_requests import ModelRequest, translate_call

_MODELS = ("fake-model", "claude-sonnet-4-5", "claude-haiku-4-5")
_LOCK = threading.Lock()
Block = tuple[Any, ...]


def choose_step(script: list[Any], asked: ModelRequest) -> list[list[Any]]:
    """Return the blocks of the scripted answer to *asked*."""
    for at in range(len(asked.turns) - 1, -1, -1):
        turn = asked.turns[at]
        if turn.role != "user" or turn.is_result:
            continue
        for pattern, steps in script:
            if re.search(pattern, turn.text):
                done = sum(later.role == "assistant" for later in asked.turns[at + 1 :])
                return steps[done] if done < len(steps) else [["text", "Done."]]
    return [["text", "OK."]]


def answer_side_request(asked: ModelRequest) -> str:
    """Return an answer to what a host asks beside the session: a title, who speaks next, how hard a prompt is."""
    keys = ("output_config", "output_format", "generationConfig", "text")
    schema = json.dumps(next((asked.body[key] for key in keys if asked.body.get(key)), {}))
    if "complexity_score" in schema + asked.system:
        values = {"complexity_reasoning": "simple", "complexity_score": 10, "model_choice": "flash"}
        return json.dumps({**values, "reasoning": "simple"})
    if '"next_speaker"' in schema:
        return json.dumps({"reasoning": "done", "next_speaker": "user"})
    if '"title"' in schema or "title" in asked.system.lower()[:3000]:
        is_json = "json" in (schema + asked.system).lower()
        return json.dumps({"title": "Shop refunds"}) if is_json else "Shop refunds"
    return "ok"


def count_tokens(value: object) -> int:
    """Return about how many tokens *value* has."""
    return max(1, len(json.dumps(value, ensure_ascii=False)) // 4)


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one session."""

    protocol_version = "HTTP/1.1"
    log: Path
    script: list[Any]
    number = 0

    def log_message(self, *_: Any) -> None:
        """Print nothing: the requests are in files."""

    def do_HEAD(self) -> None:
        """Answer a host that asks whether anybody listens."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        """Name the models."""
        rows = [{"id": name, "object": "model", "type": "model", "display_name": name} for name in _MODELS]
        self._send_json({"object": "list", "data": rows, "models": []} if "/models" in self.path else {})

    def do_POST(self) -> None:
        """Keep the request and answer it as the script says."""
        size = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(size) if size else self._read_chunks()
        if self.headers.get("content-encoding") == "zstd":
            import zstandard

            raw = zstandard.ZstdDecompressor().stream_reader(raw).read()
        body = json.loads(raw or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self._send_json({"input_tokens": count_tokens(body.get("messages"))})
        if path.endswith(":countTokens"):
            return self._send_json({"totalTokens": count_tokens(body.get("contents"))})
        ends = {"/messages": "anthropic", "/responses": "responses", "/chat/completions": "chat"}
        protocol = next((ends[end] for end in ends if path.endswith(end)), "gemini" if "enerateContent" in path else "")
        if not protocol:
            self._keep(body, "other")
            return self._send_json({})
        asked = ModelRequest(protocol, body)
        number = self._keep(body, asked.purpose)
        if asked.purpose == "compact":
            blocks = [["text", "<summary>\nThe person and the agent worked on refunds.\n</summary>"]]
        elif asked.purpose == "side":
            blocks = [["text", answer_side_request(asked)]]
        else:
            blocks = choose_step(self.script, asked)
        written = [(*block[:1], *translate_call(asked.tools, *block[1:])) if block[0] == "tool" else tuple(block)
                   for block in blocks]  # fmt: skip
        getattr(self, f"_send_{protocol}")(asked, written, number)
        return None

    def _keep(self, body: Any, purpose: str) -> int:
        with _LOCK:
            Handler.number += 1
            number = Handler.number
        row = {"path": self.path, "time": time.time(), "body": body}
        (self.log / f"{number:03d}-{purpose}.json").write_text(json.dumps(row, ensure_ascii=False), encoding="utf-8")
        return number

    def _read_chunks(self) -> bytes:
        data = b""
        if "chunked" in (self.headers.get("transfer-encoding") or ""):
            while size := int(self.rfile.readline().strip() or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        return data

    def _send_json(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: Iterable[Any], *, named: bool = True) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("cache-control", "no-cache")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events:
            if named:
                self.wfile.write(f"event: {event['type']}\n".encode())
            text = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"data: {text}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    # -- one answer in each protocol ---------------------------------------------------------------

    def _send_anthropic(self, asked: ModelRequest, blocks: list[Block], number: int) -> None:
        made: list[dict[str, Any]] = []
        for at, block in enumerate(blocks):
            if block[0] == "text":
                made.append({"type": "text", "text": block[1]})
            else:
                call = {"type": "tool_use", "id": f"toolu_{number:04d}{at:02d}", "name": block[1], "input": block[2]}
                made.append(call)
        stop = "tool_use" if any(block["type"] == "tool_use" for block in made) else "end_turn"
        tokens = count_tokens([asked.body.get(key) for key in ("system", "messages", "tools")])
        usage = {"input_tokens": tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        usage |= {"output_tokens": count_tokens(made), "service_tier": "standard"}
        about = {"id": f"msg_{number:06d}", "type": "message", "role": "assistant", "model": asked.body.get("model")}
        about |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        if not asked.body.get("stream"):
            return self._send_json({**about, "content": made, "stop_reason": stop})
        events: list[dict[str, Any]] = [{"type": "message_start", "message": about}]
        for at, block in enumerate(made):
            if block["type"] == "text":
                empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_start", "index": at, "content_block": empty})
            events.append({"type": "content_block_delta", "index": at, "delta": delta})
            events.append({"type": "content_block_stop", "index": at})
        end = {"stop_reason": stop, "stop_sequence": None}
        events += [{"type": "message_delta", "delta": end, "usage": usage}, {"type": "message_stop"}]
        return self._stream(events)

    def _send_chat(self, asked: ModelRequest, blocks: list[Block], number: int) -> None:
        text = "".join(block[1] for block in blocks if block[0] == "text")
        calls = [
            {
                "index": at,
                "id": f"call_{number:04d}{at:02d}",
                "type": "function",
                "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
            }
            for at, (_, name, given) in enumerate(block for block in blocks if block[0] == "tool")
        ]
        counts = {"prompt_tokens": count_tokens(asked.body.get("messages")), "completion_tokens": count_tokens(blocks)}
        usage = {**counts, "total_tokens": sum(counts.values())}
        about = {"id": f"chatcmpl-{number:06d}", "created": int(time.time()), "model": asked.body.get("model")}
        reason = "tool_calls" if calls else "stop"
        if not asked.body.get("stream"):
            message = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return self._send_json({**about, "object": "chat.completion", "choices": [choice], "usage": usage})
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": text}]
        deltas += [{"tool_calls": [call]} for call in calls]
        rows = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
        rows.append({"index": 0, "delta": {}, "finish_reason": reason})
        chunk = {**about, "object": "chat.completion.chunk"}
        events = [{**chunk, "choices": [row]} for row in rows]
        return self._stream([*events, {**chunk, "choices": [], "usage": usage}, "[DONE]"], named=False)

    def _send_responses(self, asked: ModelRequest, blocks: list[Block], number: int) -> None:
        items: list[dict[str, Any]] = []
        for at, block in enumerate(blocks):
            if block[0] == "text":
                part = {"type": "output_text", "text": block[1], "annotations": []}
                row = {"type": "message", "id": f"msg_{number:04d}{at:02d}", "role": "assistant", "content": [part]}
            else:
                space, _, name = block[1].rpartition("::")
                row = {"id": f"fc_{number:04d}{at:02d}", "call_id": f"call_{number:04d}{at:02d}", "name": name}
                if asked.tools.get(block[1], {}).get("x-type") == "custom":
                    row |= {"type": "custom_tool_call", "input": block[2]}
                else:
                    row |= {"type": "function_call", "arguments": json.dumps(block[2])}
                row |= {"namespace": space} if space else {}
            items.append({**row, "status": "completed"})
        counts = {"input_tokens": count_tokens(asked.body.get("input")), "output_tokens": count_tokens(items)}
        usage: dict[str, Any] = {**counts, "total_tokens": sum(counts.values())}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        about = {"id": f"resp_{number:06d}", "object": "response", "created_at": int(time.time()), "output": []}
        about |= {"status": "in_progress", "model": asked.body.get("model")}
        final = {**about, "status": "completed", "output": items, "usage": usage}
        if not asked.body.get("stream"):
            return self._send_json(final)
        events: list[dict[str, Any]] = [{"type": "response.created", "response": about}]
        for at, item in enumerate(items):
            place = {"item_id": item["id"], "output_index": at}
            added = {**item, "status": "in_progress"}
            if item["type"] == "message":
                part, place = item["content"][0], {**place, "content_index": 0}
                events += [
                    {"type": "response.output_item.added", "output_index": at, "item": {**added, "content": []}},
                    {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
                    {"type": "response.output_text.delta", **place, "delta": part["text"]},
                    {"type": "response.output_text.done", **place, "text": part["text"]},
                    {"type": "response.content_part.done", **place, "part": part},
                ]
            else:
                key = "arguments" if item["type"] == "function_call" else "input"
                kind = "function_call_arguments" if key == "arguments" else "custom_tool_call_input"
                events += [
                    {"type": "response.output_item.added", "output_index": at, "item": {**added, key: ""}},
                    {"type": f"response.{kind}.delta", **place, "delta": item[key]},
                    {"type": f"response.{kind}.done", **place, key: item[key]},
                ]
            events.append({"type": "response.output_item.done", "output_index": at, "item": item})
        events.append({"type": "response.completed", "response": final})
        return self._stream({**event, "sequence_number": at} for at, event in enumerate(events))

    def _send_gemini(self, asked: ModelRequest, blocks: list[Block], number: int) -> None:
        parts: list[dict[str, Any]] = []
        for block in blocks:
            if block[0] == "text":
                parts.append({"text": block[1]})
            else:
                call = {"name": block[1], "args": block[2], "id": f"call_{number:04d}{len(parts):02d}"}
                parts.append({"functionCall": call, "thoughtSignature": "c2ln"})
        prompt, out = count_tokens(asked.body.get("contents")), count_tokens(parts)
        usage = {"promptTokenCount": prompt, "candidatesTokenCount": out, "totalTokenCount": prompt + out}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        value = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake", "responseId": f"r{number}"}
        if "streamGenerateContent" in self.path:
            return self._stream([value], named=False)
        return self._send_json(value)


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--script", type=Path, required=True)
    given = parser.parse_args()
    given.log.mkdir(parents=True, exist_ok=True)
    Handler.log, Handler.script = given.log, json.loads(given.script.read_text(encoding="utf-8"))
    server = ThreadingHTTPServer(("127.0.0.1", given.port), Handler)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main()
