"""Streamed answers in the APIs of Anthropic, Google and OpenAI (Responses), for the fake server."""

import json
from typing import Any

from fake_server import Say


def events(*given: dict[str, Any], named: bool = True) -> Say:
    """Return server-sent events, one piece each."""
    return Say(
        pieces=[
            (f"event: {one['type']}\n" if named else "").encode() + f"data: {json.dumps(one)}\n\n".encode()
            for one in given
        ]
    )


def anthropic_answer(*texts: str, blocks: tuple[dict[str, Any], ...] = (), stop: str = "end_turn") -> Say:
    """Return text, or `blocks` of content, each streamed in pieces."""
    usage = {"input_tokens": 20, "cache_read_input_tokens": 400, "cache_creation_input_tokens": 30, "output_tokens": 1}
    parts: list[dict[str, Any]] = []
    for place, block in enumerate(blocks or ({"type": "text", "pieces": texts},)):
        pieces = block.get("pieces", ())
        start = {key: value for key, value in block.items() if key not in ("pieces", "signature")}
        empty: dict[str, dict[str, Any]] = {
            "text": {"text": ""},
            "thinking": {"thinking": ""},
            "tool_use": {"input": {}},
        }
        start |= empty.get(block["type"], {})
        parts.append({"type": "content_block_start", "index": place, "content_block": start})
        named = {"text": "text", "thinking": "thinking", "tool_use": "partial_json"}.get(block["type"], "")
        kind = {"partial_json": "input_json_delta"}.get(named, f"{named}_delta")
        parts += [
            {"type": "content_block_delta", "index": place, "delta": {"type": kind, named: piece}} for piece in pieces
        ]
        if signature := block.get("signature"):
            delta = {"type": "signature_delta", "signature": signature}
            parts.append({"type": "content_block_delta", "index": place, "delta": delta})
        parts.append({"type": "content_block_stop", "index": place})
    return events(
        {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": usage}},
        {"type": "ping"},
        *parts,
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )


def gemini_answer(*texts: str, parts: tuple[dict[str, Any], ...] = (), stop: str = "STOP") -> Say:
    """Return text, or `parts` of content, one chunk each."""
    usage = {
        "promptTokenCount": 450,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 2,
        "cachedContentTokenCount": 400,
    }
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
        for part in parts or tuple({"text": text} for text in texts)
    ]
    chunks.append({"candidates": [{"content": {"parts": []}, "finishReason": stop}], "usageMetadata": usage})
    return events(*chunks, named=False)


def responses_answer(
    *texts: str,
    items: tuple[dict[str, Any], ...] = (),
    status: str = "completed",
    details: dict[str, Any] | None = None,
) -> Say:
    """Return text, or events of other `items` with the text after them."""
    usage = {"input_tokens": 450, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 400}}
    response = {"object": "response", "status": status, "usage": usage, "incomplete_details": details}
    said = [
        {"type": "response.output_text.delta", "output_index": 9, "content_index": 0, "delta": text} for text in texts
    ]
    return events(
        {"type": "response.created", "response": {"status": "in_progress"}},
        *items,
        *said,
        {"type": f"response.{status}", "response": response},
    )
