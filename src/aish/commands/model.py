"""Commands about the model: choose one, show what is sent to it, and show the cost."""

from aish.commands.shell import COMMANDS, Shell
from aish.context.token_counts import PER_MESSAGE, PromptSize
from aish.conversation.lineage import last_turn_before
from aish.conversation.prompt import prompt_size
from aish.intake.commands import Arguments
from aish.model.addresses import model_identity
from aish.model.cost import ModelCall, by_model, cost_line, total
from aish.model.model_cards import tools_word
from aish.model.weights import prompt_form
from aish.settings.options import Preset
from aish.values.errors import BadUsage
from aish.values.text import counted


@COMMANDS.add("model", argument="[NAME]")
async def choose_model(shell: Shell, arguments: Arguments) -> str:
    """List the models, or switch to another one.

    The conversation continues. The next question goes to the new model, and tokens are counted for it at once.
    `tools` says whether a model can call tools, or gets commands only; if that is unknown, `aish models check NAME`
    finds it out.
    """
    words = arguments.text
    if not words:
        rows = []
        for name, preset in shell.program.presets().items():
            mark = "*" if name == shell.session.model else " "
            what = preset.address or {"embedded": "runs inside aish", "scripted": "plays a script"}.get(preset.kind, "")
            tools = _tools(shell, name, preset)
            rows.append(f"{mark} {name:<12} {preset.model:<28} tools: {tools:<8} {what}".rstrip())
        return "\n".join(rows)
    backend = shell.program.backend(words)
    shell.session.model, shell.model_was_switched = words, True
    return f"now using {backend.label}; tools: {_tools(shell, words, shell.program.presets()[words])}"


def _tools(shell: Shell, name: str, preset: Preset) -> str:
    """Return whether the model of a preset can call tools."""
    weights = shell.program.find_weights(preset) if preset.kind == "embedded" else None
    file = weights.name if weights else ""
    identity = model_identity(preset.kind, name, endpoint=preset.address, model=preset.model, weights=file)
    run_form = weights is not None and prompt_form(weights, preset.tools) == "run"
    return tools_word(preset.tools, shell.program.cards.takes_tools(identity), run_form=run_form)


@COMMANDS.add("context")
async def show_context(shell: Shell, arguments: Arguments) -> str:
    """Show the prompt as it would be sent now: its parts, their tokens and their share of the budget.

    The budget is `context.token_budget`, by default the window of the model, capped by money. When it is full, the
    oldest exchanges are dropped from the prompt. The journal keeps them.
    """
    backend = shell.session.backend
    size = await prompt_size(shell.session, backend)
    budget, why = await shell.session.endpoints.budget(backend)
    price = backend.price
    cost = "price unknown" if price is None else f"${size.total * price.input / 1e6:.4f} to send"
    lines = [f"{size.total:,} of {budget:,} tokens ({percent(size.total, budget)}), {cost}"]
    lines += draw(size, budget, shell.width)
    return "\n".join([*lines, f"budget: {budget:,} tokens, {why}", *_front_lines(size)])


@COMMANDS.add("tokens", argument="[TEXT]")
async def show_tokens(shell: Shell, arguments: Arguments) -> str:
    """Count the tokens of TEXT or of the current prompt, and show how they were counted."""
    words = arguments.text
    backend = shell.session.backend
    count = await backend.tokenizer.count(words) if words else (await prompt_size(shell.session, backend)).total
    how = {"yes": "counted by the model's server", "no": "estimated", "unknown": "estimated"}[backend.tokenizer.ability]
    return f"{count:,} tokens ({how})"


@COMMANDS.add("cost", argument="[detail|all]")
async def show_cost(shell: Shell, arguments: Arguments) -> str:
    """Show the cost of this conversation.

    It also counts the turns that left the prompt, and what their summaries cost.

    `detail` splits it by model and kind of call, `all` covers all conversations. Prices come from the settings
    (`[prices]`). A model without a price is shown as unknown, never as free.
    """
    words = arguments.text
    if words not in ("", "detail", "all"):
        raise BadUsage("expected :cost, :cost detail or :cost all")
    costs = shell.session.services.costs
    calls = list(costs.all()) if words == "all" else costs.of(shell.session.journal.id)
    lines = [cost_line("total", total(calls))]
    if words != "all":
        lines += _left_prompt(shell, calls)
    if words:
        lines += [cost_line(f"{model}, {category}", part) for (model, category), part in by_model(calls).items()]
    if words == "detail":
        backend = shell.session.backend
        size = await prompt_size(shell.session, backend)
        budget = (await shell.session.endpoints.limits(backend)).token_budget
        share = percent(size.total, budget).replace(" ", "")
        lines.append(f"[estimated session ctx: {size.total} tokens; token_budget={budget} ({share} used)]")
    return "\n".join(lines)


def _front_lines(size: PromptSize) -> list[str]:
    """Return the texts that go in front of the next message, besides output that is held."""
    return ["with the next question:", *(block.text for block in size.front)] if size.front else []


def _left_prompt(shell: Shell, calls: list[ModelCall]) -> list[str]:
    """Return a line about turns that left the prompt, and what their summaries cost."""
    session = shell.session
    left = last_turn_before(session, len(session.history.exchanges())) if session.recorder.conversation else 0
    summaries = total(call for call in calls if call.category == "summary")
    if not left and not summaries.calls:
        return []
    line = f"{counted(left, 'turn')} left the prompt; the journal has them (:history)"
    return [line, *([cost_line("summaries, in the total", summaries)] if summaries.calls else [])]


def draw(size: PromptSize, budget: int, width: int) -> list[str]:
    """Return one row for each part of the prompt, with a bar for its share of the budget."""
    marks = PER_MESSAGE * (2 if size.blocks else 1)
    turns = sum(exchange.turns for exchange in size.exchanges)
    parts = [(block.name, block.tokens) for block in size.blocks]
    parts += [("tools", size.tools)] if size.tools else []
    parts += [(f"{turns} turns", sum(exchange.tokens for exchange in size.exchanges))] if turns else []
    parts += [("held output", size.held)] if size.held else []
    parts += [(block.name, block.tokens) for block in size.front]
    parts += [("marks", marks), ("free", max(budget - size.total, 0))]
    room = max(min(width, 100) - 32, 10)
    rows = []
    for name, tokens in parts:
        full = min(round(room * tokens / max(budget, 1)), room)
        bar = ("░" if name == "free" else "█") * full
        rows.append(f"{name:<12} {bar:<{room}} {tokens:>7,} {percent(tokens, budget):>6}")
    return rows


def percent(part: int, whole: int) -> str:
    return f"{100 * part / max(whole, 1):.0f} %"
