"""The command that finds a model and uses it at once."""

import os

from aish.commands.model_setup import (
    SetupRecord,
    chosen,
    find_models,
    listing,
    nothing_found,
    weights_here,
    write_presets,
)
from aish.commands.shell import COMMANDS, Shell
from aish.intake.commands import Arguments
from aish.model.discovery import FoundModel, choose_model
from aish.settings.user_file import adopt, file_settings
from aish.values.person import NOBODY


@COMMANDS.add("setup", argument="[NAME [MODEL]]")
async def set_up(shell: Shell, arguments: Arguments) -> str:
    """Find a model that could answer, write its preset, and use it at once.

    It asks the usual servers on this machine (Ollama, llama.cpp, LM Studio, …) for their best model, looks for keys in
    the environment (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, …) and for files that Ollama, LM Studio, llama.cpp or the
    Hugging Face cache keep, and lists the weights of `aish models pull`. Nothing is written before you choose. A key is
    never written: the preset has the name of its variable. With NAME and MODEL it also takes another model of a server
    that is set up already. `aish setup` does the same outside the shell.
    """
    program, words = shell.program, arguments.text.split()
    found = await find_models(program.loaded, os.environ, words)
    choices = [*found, *weights_here(program.places, os.environ)]
    one = chosen(choices, words, program.loaded) if words else await _ask(shell, found, choices)
    if one is None:
        return "nothing was changed; :setup asks again"
    if one.is_missing:
        return f"{one.name} is not installed; run: aish models pull {one.name}, and then: :setup {one.name}"
    one, trouble = (one, "") if len(words) > 1 else await choose_model(one)
    write_presets(program.places.config_file, [one], one.preset)
    await _use(shell, one)
    told = [f"{one.about}; it answers from now on"]
    return "\n".join([*told, trouble] if trouble else told)


async def _ask(shell: Shell, found: list[FoundModel], choices: list[FoundModel]) -> FoundModel | None:
    """Let the user choose; a no is remembered, so that it is not offered again by itself."""
    loaded = shell.program.loaded
    head = "" if found else f"{nothing_found(loaded)}\n"
    question = f"{head}{listing(choices)}\nwhich one shall answer? [1 to {len(choices)}, Enter: none] "
    answer = await shell.person.line(question)
    if answer.strip().lower() in ("", "n", "no", NOBODY):
        SetupRecord(shell.program.places.setup_record).decline(found)
        return None
    return chosen(choices, answer.split(), loaded)


async def _use(shell: Shell, one: FoundModel) -> None:
    program = shell.program
    fresh = file_settings(program.places.config_file)
    for key in (f"models.{one.preset}", "model"):
        adopt(program.settings, fresh, key)
    await program.close_backend(one.preset)
    shell.session.model = one.preset
    path = str(program.places.config_file)
    program.loaded = program.loaded._replace(origins={**program.loaded.origins, "model": path})
