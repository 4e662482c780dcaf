"""The command that finds a model and uses it at once."""

import os

from aish.commands.model_setup import SetupRecord, chosen, find_models, listing, nothing_found, write_presets
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.model.discovery import FoundModel, choose_model
from aish.settings.user_file import adopt, file_settings
from aish.values.errors import NotFound
from aish.values.person import NOBODY


@COMMANDS.add("setup", argument="[NAME [MODEL]]")
async def set_up(shell: Shell, arguments: Arguments) -> str:
    """Find a model that could answer, write its preset, and use it at once.

    It asks the usual servers on this machine (Ollama, llama.cpp, LM Studio, …) and looks for keys in the environment
    (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, …). Nothing is written before you choose. A key is never written: the preset
    has the name of its variable. With NAME and MODEL it also takes another model of a server that is set up already.
    `aish setup` does the same outside the shell.
    """
    settings, words = shell.program.settings, arguments.text.split()
    found = await find_models(settings, os.environ, words)
    if not found and not words:
        raise NotFound(nothing_found(settings))
    one = chosen(found, words, settings) if words else await _ask(shell, found)
    if one is None:
        return "nothing was changed; :setup asks again"
    one, trouble = (one, "") if len(words) > 1 else await choose_model(one)
    write_presets(shell.program.places.config_file, [one], one.name)
    await _use(shell, one)
    told = [f"{one.about}; it answers from now on"]
    return "\n".join([*told, trouble] if trouble else told)


async def _ask(shell: Shell, found: list[FoundModel]) -> FoundModel | None:
    """Let the user choose; a no is remembered, so that it is not offered again by itself."""
    if len(found) == 1:
        answer = "1" if await shell.person.confirm(f"use {found[0].about}?") else ""
    else:
        answer = await shell.person.line(f"{listing(found)}\nwhich one shall answer? [1 to {len(found)}, Enter: none] ")
    if answer.strip().lower() in ("", "n", "no", NOBODY):
        SetupRecord(shell.program.places.setup_record).decline(found)
        return None
    return chosen(found, answer.split(), shell.program.settings)


async def _use(shell: Shell, one: FoundModel) -> None:
    program = shell.program
    fresh = file_settings(program.places.config_file)
    for key in (f"models.{one.name}", "model"):
        adopt(program.settings, fresh, key)
    await program.close_backend(one.name)
    shell.session.model = one.name
    path = str(program.places.config_file)
    program.loaded = program.loaded._replace(origins={**program.loaded.origins, "model": path})
