"""`aish models check`: try what a model can do, print its card, and remember it."""

import json

from aish.conversation.model_check import ModelCheck
from aish.model.model_cards import Finding, ModelCard
from aish.program import Program
from aish.prompt.base import base_text
from aish.values.errors import StoreTrouble
from aish.values.events import Failed
from aish.values.text import foreign, one_line
from aish.views.event_loop import run_loop
from aish.views.exit_codes import MODEL, NOTHING, OK
from aish.views.screen import Screen


def run(program: Program, name: str, *, as_json: bool) -> int:
    """Check one model. Raises `NotFound`."""
    session, backend, screen = program.session(model=name), program.backend(name), Screen()

    async def check() -> ModelCard | Failed:
        try:
            return await ModelCheck(session, backend, base_text(backend.prompt_form)).run()
        finally:
            await program.close()

    if not as_json:
        screen.note(f"trying {backend.label}; this takes about a minute, at most two and a half")
    card = run_loop(check())
    if isinstance(card, Failed):
        if as_json:
            print(json.dumps({"name": name, "error": card.reason}))
        else:
            screen.note(f"could not try {name}: {card.reason}", warning=True)
        return NOTHING if card.trouble == "declined" else MODEL
    try:
        program.cards.keep(backend.identity, card.over(program.cards.of(backend.identity)))
    except StoreTrouble as error:
        screen.note(f"the result is not remembered: {error}", warning=True)
    if as_json:
        print(json.dumps({"name": name, "model": backend.identity, **_record(card)}))
    else:
        for line in card_lines(card):
            screen.say(line)
        if backend.tools is not None and card.tools.able not in (None, backend.tools):
            screen.note(f"your setting models.{name}.tools = {str(backend.tools).lower()} is used anyway")
    return OK


def card_lines(card: ModelCard) -> list[str]:
    """Return the card for people: what was tried, the result, and what was seen."""
    window = f"{card.window_tokens:,} tokens" if card.window_tokens else "unknown"
    speed = f"{card.tokens_per_second:g} tokens a second" if card.tokens_per_second else "unknown"
    first = f"{card.first_token_seconds:.2f} s" if card.first_token_seconds else "unknown"
    rows = [
        ("calls tools", _word(card.tools), card.tools.text),
        ("answers in JSON", _word(card.json), card.json.text),
        ("keeps to CMD:", _word(card.commands), card.commands.text),
        ("languages", _word(card.languages), card.languages.text),
        ("window", window, card.window.text),
        ("speed", speed, ""),
        ("first token", first, ""),
    ]
    return [f"{what:<16} {result:<22} {one_line(foreign(text), 200)}".rstrip() for what, result, text in rows]


def _word(found: Finding) -> str:
    return "unknown" if found.able is None else "yes" if found.able else "no"


def _record(card: ModelCard) -> dict[str, object]:
    found = {name: {"able": one.able, "text": one.text} for name, one in card._asdict().items() if hasattr(one, "able")}
    numbers = (card.window_tokens, card.tokens_per_second, card.first_token_seconds)
    names = ("window_tokens", "tokens_per_second", "first_token_seconds")
    return {**found, **{name: number or None for name, number in zip(names, numbers, strict=True)}}
