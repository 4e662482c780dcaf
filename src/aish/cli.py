"""The command line: `aish` starts the shell, `aish "…"` answers one question, `aish VERB` does one thing."""

import argparse
import errno
import io
import json
import os
import select
import shlex
import signal
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any

from aish import __version__
from aish.places import PROJECT_FILE, Places, find_places, find_project
from aish.settings.layers import Layer, Loaded, Problem, load, read_arguments, read_environment, read_file
from aish.settings.options import EMBEDDED
from aish.values.errors import AishError, BadUsage
from aish.views.crash import file_report
from aish.views.exit_codes import BUG, INTERRUPTED, STORE, exit_code
from aish.views.prompt import first_prompt
from aish.views.screen import Bar, Screen
from aish.views.themes import theme

VERBS = {  # verb → module and function, loaded when it is used
    "config": ("aish.views.config", "run"),
    "cost": ("aish.views.usage", "run_cost"),
    "doctor": ("aish.views.doctor", "run"),
    "import": ("aish.views.importing", "run"),
    "memory": ("aish.views.memory", "run"),
    "models": ("aish.views.models", "run"),
    "policy": ("aish.views.policy", "run"),
    "recent": ("aish.views.search", "run_recent"),
    "redact": ("aish.views.redact", "run"),
    "route": ("aish.views.route", "run"),
    "search": ("aish.views.search", "run_search"),
    "thread": ("aish.views.search", "run_thread"),
    "tokens": ("aish.views.usage", "run_tokens"),
    "trash": ("aish.views.trash", "run"),
}
READERS = frozenset(["recent", "search", "thread"])  # verbs that need nothing but what was said


def run(arguments: Sequence[str]) -> int:
    """Run and return the exit code. Nothing gets out of here but a code and lines a person can read."""
    _mend_streams()
    screen = Screen()
    try:
        try:
            return _dispatch(list(arguments))
        finally:
            sys.stdout.flush()  # here, where a reader that has gone can still be told from a bug
    except AishError as error:
        screen.note(str(error), warning=True)
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the outermost loop: a bug is told in one line, with the details in a file
        if isinstance(error, BrokenPipeError) or _is_of_a_closed_terminal(error):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads on: as quiet as any other filter
            return 141
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of the result has no place to go
            screen.note(f"cannot write: {error.strerror}", warning=True)
            return STORE
        screen.note(file_report(import_module("aish.memory.secret_hints").may_hold_secret), warning=True)
        return BUG


def _is_of_a_closed_terminal(error: Exception) -> bool:
    """The window was closed under us: whatever touches the terminal fails then, by an error of its own."""
    streams = select.poll()
    for fd in range(3):
        streams.register(fd, 0)
    return error.args[:1] == (errno.EIO,) and any(event & select.POLLHUP for _, event in streams.poll(0))


def _mend_streams() -> None:
    """Streams that were closed become /dev/null; characters that an encoding lacks become question marks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # for the rest of the run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _dispatch(arguments: list[str]) -> int:
    if any(word in VERBS for word in arguments):
        options, rest = _common().parse_known_args(arguments)
        if rest[:1] == ["--json"]:  # most verbs take it, and a question that is a verb was not meant
            rest = [*rest[1:], "--json"]
        if rest and rest[0] in VERBS:
            module, name = VERBS[rest[0]]
            opened = _library(options) if rest[0] in READERS else _program(options)
            return int(getattr(import_module(module), name)(opened, rest[1:]))
    options = _parser().parse_args(arguments)
    if options.version:
        print(f"aish {__version__}")
        return 0
    question = " ".join(options.question)
    if question or options.print:
        return _one_shot(options, question)
    return _shell(options)


def _one_shot(options: argparse.Namespace, question: str) -> int:
    program = _program(options)
    session = _session(program, options)
    one_shot: Any = import_module("aish.views.one_shot")
    screen = _answer_screen(program.settings.view.color, show_reasoning=program.settings.view.show_reasoning)
    return int(one_shot.run(program, session, screen, question, as_json=options.json))


def _shell(options: argparse.Namespace) -> int:
    places, cwd = find_places(os.environ), _working_directory()
    loaded = load_settings(places, cwd, _given(options))
    view = loaded.settings.view
    styles = theme(view.theme, view.colors)
    screen = Screen(view.color, styles=styles)
    rich = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    _report(screen, loaded, places)
    if rich and not (options.continued or options.resume):  # the prompt is there before the editor is
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # until there is a line that Ctrl-C can clear
        sys.stdout.write(screen.styled(first_prompt(view.prompt, loaded.settings.model, cwd, screen.width), "prompt"))
        sys.stdout.flush()
    with import_module("aish.views.keys").lines(wanted=False) if rich else nullcontext():  # the editor shows them
        program = _build(loaded, places, cwd)
        session = _session(program, options)
        line_editor = import_module("aish.views.line_editor") if rich else None
    screen = _answer_screen(view.color, show_reasoning=view.show_reasoning, styles=styles)
    if rich and view.markdown:
        screen.load_stream = lambda: _markdown(screen)
    repl, comfort = import_module("aish.views.repl"), import_module("aish.views.editor_setup")
    user_shell = import_module("aish.views.user_shell").PromptShell(
        loaded.settings.commands.shell, cwd, screen, places.state
    )
    editor = comfort.make_editor(program, session, user_shell, screen, line_editor)
    if rich:
        sys.stdout.write("\r")
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return int(repl.Repl(program, session, editor, screen, user_shell).run())


def _answer_screen(color: str, **how: Any) -> Any:
    """The screen for answers, which needs more than the first prompt does."""
    return import_module("aish.views.answers").AnswerScreen(color, **how)


def _markdown(screen: Screen) -> Any:
    stream = import_module("aish.views.markdown").MarkdownStream
    return stream(
        sys.stdout.write, width=lambda: screen.size.columns, height=lambda: screen.size.lines, color=screen.colors
    )


def _program(options: argparse.Namespace) -> Any:
    return _build(*_surroundings(options))


def _library(options: argparse.Namespace) -> Any:
    library = import_module("aish.opening").open_library(*_surroundings(options))
    library.progress = Bar
    return library


def _surroundings(options: argparse.Namespace) -> tuple[Loaded, Places, Path]:
    places, cwd = find_places(os.environ), _working_directory()
    loaded = load_settings(places, cwd, _given(options))
    _report(Screen(loaded.settings.view.color), loaded, places)
    return loaded, places, cwd


def _build(loaded: Loaded, places: Places, cwd: Path) -> Any:
    program = import_module("aish.wiring").build(loaded, places, cwd)
    program.progress = Bar
    return program


def _session(program: Any, options: argparse.Namespace) -> Any:
    session = program.session(remembers=not options.no_memory)
    if options.continued or options.resume:
        _, notices = session.resume(program.conversations.find(options.resume))
        for notice in notices:
            Screen().note(notice.text, warning=notice.warning)
    return session


def load_settings(places: Places, cwd: Path, given: Sequence[str]) -> Loaded:
    """The settings for this directory: files, environment and arguments, and what is wrong with them."""
    user, problems = read_file(places.config_file)
    layers: list[Layer | None] = [user]
    project_file = find_project(cwd) / PROJECT_FILE
    if os.access(project_file, os.R_OK) and project_file.is_file():  # a pipe or device would never end
        if import_module("aish.settings.trust").Trust(places.trusted).holds(project_file):
            project, more = read_file(project_file)
            layers.append(project)
            problems += more
        else:
            hint = f"is ignored until you trust it: aish config trust {shlex.quote(str(project_file.parent))}"
            problems.append(Problem(origin=str(project_file), message=hint))
    arguments, more = read_arguments(given)
    layers += [read_environment(os.environ), arguments]
    loaded = load([layer for layer in layers if layer])
    known = [EMBEDDED, *loaded.settings.models]
    if loaded.settings.model not in known:  # only from the command line: others were reported and replaced
        raise BadUsage(f"there is no model {loaded.settings.model!r}; there are: {', '.join(known)}")
    return Loaded(settings=loaded.settings, origins=loaded.origins, problems=(*problems, *more, *loaded.problems))


def _given(options: argparse.Namespace) -> list[str]:
    return [*options.set, *([f"model={json.dumps(options.model)}"] if options.model else [])]


def _report(screen: Screen, loaded: Loaded, places: Places) -> None:
    for problem in loaded.problems:
        screen.note(str(problem), warning=True)
    if not places.lasting:
        screen.note("there is no home directory, so nothing is kept for long; set HOME or AISH_HOME", warning=True)


def _common() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set a value for this run")
    parser.add_argument("--model", default="", metavar="NAME", help="the model preset to use")
    return parser


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="aish",
        parents=[_common()],
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="A conversational shell that remembers. Without a question it starts the shell.",
        epilog="verbs: " + ", ".join(VERBS) + "   (aish VERB --help)\n"
        "exit codes: 0 ok, 1 nothing found or declined, 2 usage, 3 no model, 4 store, 70 a bug, 130 interrupted",
    )
    parser.add_argument("question", nargs="*", help="a question; standard input is sent along if it is piped")
    parser.add_argument("-p", "--print", action="store_true", help="answer once and exit; the question may be piped in")
    parser.add_argument("--json", action="store_true", help="the answer and its circumstances as JSON")
    parser.add_argument("--continue", dest="continued", action="store_true", help="go on with the newest conversation")
    parser.add_argument(
        "--resume", default="", metavar="ID", help="go on with that number, name or id of a conversation"
    )
    parser.add_argument("--no-memory", action="store_true", help="keep nothing of this conversation")
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    return parser


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:  # it was deleted under us
        return Path("/")
