"""Wiring: builds the program from settings and places, and a backend from a preset."""

import os
from pathlib import Path

from aish.adapters import load_adapter
from aish.memory.redaction import Redaction
from aish.model.addresses import model_identity, query_of
from aish.model.backend import Backend
from aish.model.cost import Price
from aish.model.embedded import MODEL_NAME, EmbeddedModel, LlamaProcess
from aish.model.http import Patience, Reach
from aish.model.keys import key_finder
from aish.model.known_windows import known_window
from aish.model.machine import weights_file
from aish.model.openai_chat import OpenAIChat
from aish.model.prompt_states import PromptStates
from aish.model.scripted import ScriptedModel
from aish.model.streamed_api import StreamedApi
from aish.model.tokenizer import Ability, FindServer, Server, Tokenizer
from aish.model.weights import prompt_form
from aish.places import Places, model_directories
from aish.program import Program
from aish.settings.layers import Loaded
from aish.settings.options import Preset, PriceTag

FREE = Price(input=0.0, output=0.0)
_abilities: dict[str, Ability] = {}  # the known tokenizer abilities of each endpoint, for this process


def build(loaded: Loaded, places: Places, cwd: Path, redaction: Redaction) -> Program:
    """Build the program for this process."""

    def weights(preset: Preset) -> Path:
        chosen = preset.file(loaded.settings.embedded.path)
        return weights_file(chosen, preset.model, model_directories(places, os.environ), os.environ)

    return Program(
        loaded=loaded, places=places, make_backend=make_backend, find_weights=weights, redaction=redaction, cwd=cwd
    )


def make_backend(program: Program, name: str, preset: Preset) -> Backend:
    """Build the backend of a preset, with adapter, tokenizer and price."""
    makers = {"embedded": _embedded, "scripted": _scripted}
    return makers.get(preset.kind, _served)(program, name, preset)


def _served(program: Program, name: str, preset: Preset) -> Backend:
    """Build the backend of a model on a server."""
    adapter: type[StreamedApi] = OpenAIChat if preset.kind == "openai" else load_adapter(preset.kind)
    key = key_finder(env=preset.api_key_env, file=preset.api_key_file, command=preset.api_key_command)
    model = preset.model or name
    chat = adapter(
        endpoint=preset.address.partition("?")[0],  # the query goes with every request
        model=model,
        key=key,
        patience=_patience(program, _reach(program, preset)),
        retries=program.settings.network.retries,
        temperature=preset.temperature,
    )

    async def server() -> Server:
        return Server(chat.endpoint, key, _reach(program, preset))

    price = _price(program.settings.prices.get(model) or program.settings.prices.get(name))
    return Backend(
        name=name,
        model_name=model,
        endpoint=chat.endpoint,
        model=chat,
        tokenizer=_tokenizer(program, model, server),
        price=price,
        max_tokens=preset.max_tokens,
        window=preset.window or (0 if preset.kind == "openai" else known_window(model)),
        server=server,
        use_tool_role=preset.use_tool_role,
        tools=None if preset.tools is None else bool(preset.tools),
        identity=model_identity(preset.kind, name, endpoint=preset.address, model=preset.model),
    )


def _embedded(program: Program, name: str, preset: Preset) -> Backend:
    options = program.settings.embedded
    weights = program.find_weights(preset)
    window = preset.window or options.window
    states = PromptStates(program.places.prompt_states) if program.places.lasting else None
    process = LlamaProcess(weights, program.places.model_log, window=window, threads=options.threads, states=states)

    async def server() -> Server:
        address = await process.address()

        async def key() -> str:
            return address.key

        return Server(address.url, key)

    tokenizer = _tokenizer(program, MODEL_NAME, server)
    tokenizer.local = True
    form = prompt_form(weights, preset.tools)
    model = EmbeddedModel(process, patience=_patience(program), temperature=preset.temperature)
    return Backend(
        name=name,
        model_name=MODEL_NAME,
        endpoint=MODEL_NAME,
        model=model,
        tokenizer=tokenizer,
        price=FREE,
        max_tokens=preset.max_tokens or 512,
        window=window,
        server=server,
        use_tool_role=preset.use_tool_role,
        tools=None if preset.tools is None else bool(preset.tools),
        offers_tools=form == "run",  # models this small rarely call other tools correctly
        takes_grammar=True,
        prompt_form=form,
        prepare=model.prepare,
        load_seconds=lambda: process.load_seconds,
        identity=model_identity(preset.kind, name, weights=weights.name),
    )


def _scripted(program: Program, name: str, preset: Preset) -> Backend:
    return Backend(
        name=name,
        model_name=name,
        endpoint=f"script:{name}",
        model=ScriptedModel(preset.answers, pause=preset.pause),
        tokenizer=Tokenizer(model=name, estimates=program.estimates),
        price=_price(program.settings.prices.get(name)),
        max_tokens=preset.max_tokens,
        window=preset.window or 0,
        use_tool_role=preset.use_tool_role,
        tools=None if preset.tools is None else bool(preset.tools),
        identity=model_identity(preset.kind, name),
    )


def _tokenizer(program: Program, model: str, server: FindServer) -> Tokenizer:
    options = program.settings.tokenize
    return Tokenizer(
        model=model,
        estimates=program.estimates,
        server=server,
        mode=options.use_endpoint,
        timeout=options.timeout_ms / 1000,
        abilities=_abilities,
    )


def _patience(program: Program, reach: Reach | None = None) -> Patience:
    network = program.settings.network
    return Patience(network.connect_seconds, network.first_token_seconds, network.silence_seconds, reach or Reach())


def _reach(program: Program, preset: Preset) -> Reach:
    return Reach(
        headers=preset.headers,
        query=query_of(preset.endpoint),
        ca_file=preset.ca_file or program.settings.network.ca_file,
        client_cert=preset.client_cert,
        client_key=preset.client_key,
    )


def _price(tag: PriceTag | None) -> Price | None:
    return Price(input=tag.input, output=tag.output, cached=tag.cached) if tag else None
