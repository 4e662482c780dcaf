"""The command line: `aish` starts the shell, `aish "…"` answers one question, `aish VERB` does one thing."""

import errno
import io
import json
import os
import select
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aish import __version__, doors, opening
from aish.places import find_places
from aish.values.errors import AishError, BadUsage
from aish.verbs import VERBS
from aish.views.arguments import Options, VerbArguments
from aish.views.exit_codes import BUG, INTERRUPTED, STORE, exit_code
from aish.views.screen import Screen
from aish.views.start import Start
from aish.views.themes import theme

if TYPE_CHECKING:
    from aish.conversation.session import Session
    from aish.program import Program


_COMMON = {"--set": "KEY=VALUE", "--model": "NAME"}  # options that every verb has


def run(arguments: Sequence[str]) -> int:
    """Run and return the exit code. Every error becomes a code and a message for people."""
    _mend_streams()
    screen = Screen()
    try:
        try:
            return _dispatch(list(arguments))
        finally:
            sys.stdout.flush()  # here, where a closed pipe can be told from a bug
    except AishError as error:
        screen.note(str(error), warning=True)
        return exit_code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # the outermost level: a bug is reported in one line, with the details in a file
        if isinstance(error, BrokenPipeError) or _is_of_a_closed_terminal(error):
            os.dup2(
                os.open(os.devnull, os.O_WRONLY), 1
            )  # the reader has closed the pipe: end silently, as other filters do
            return 141
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the rest of the output cannot be written
            screen.note(f"cannot write: {error.strerror}", warning=True)
            return STORE
        screen.note(doors.crash_report(), warning=True)
        return BUG


def _is_of_a_closed_terminal(error: Exception) -> bool:
    """Was the terminal closed? Then every use of it fails, each with an error of its own."""
    streams = select.poll()
    for fd in range(3):
        streams.register(fd, 0)
    return error.args[:1] == (errno.EIO,) and any(event & select.POLLHUP for _, event in streams.poll(0))


def _mend_streams() -> None:
    """Replace closed streams by /dev/null, and characters that the encoding lacks by question marks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115  # for the rest of the run
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["help"] and (arguments[1:] == [] or (len(arguments) == 2 and arguments[1] in VERBS)):
        arguments = [*arguments[1:], "--help"]
    place = _find_verb(arguments)
    if place is not None:
        if "--json" in arguments:  # only the object of an answer is printed in any case
            doors.release_signals()
        return _run_verb(arguments[:place], arguments[place], arguments[place + 1 :])
    options = _parser().parse_args(arguments)
    if options.version:
        print(f"aish {__version__}")
        return 0
    if options.c is not None:  # first on the command line, it never comes here
        raise BadUsage("-c is for your own shell and comes first: aish -c COMMAND; nothing was run")
    if "--json" in arguments and not options.json:
        doors.release_signals()
    question = " ".join(options.question)
    if options.question and not options.print and (meant := doors.meant_verb(options.question, VERBS)):
        raise BadUsage(meant)
    if question or options.print or _is_piped(options):
        return _one_shot(options, question)
    if options.json:
        doors.release_signals()
    return _shell(options)


def _find_verb(arguments: list[str]) -> int | None:
    """The place of the verb: it is the first word that is neither a common option nor the value of one."""
    place = 0
    while place < len(arguments):
        word = arguments[place]
        if word in VERBS:
            return place
        if word != "--json" and word.partition("=")[0] not in _COMMON:
            return None
        place += 2 if word in _COMMON else 1
    return None


def _run_verb(before: list[str], name: str, after: list[str]) -> int:
    """Run a verb. Common options may be before it or after it, but not inside a command line or after `--`."""
    verb = VERBS[name]
    end = 0 if verb.takes_command_line else [*after, "--"].index("--")
    given, rest = _take_common([*before, *after[:end]])
    return verb.run(_start(given), [*rest, *after[end:]])


def _take_common(words: list[str]) -> tuple[list[str], list[str]]:
    """The settings that common options give, and the other words. Raises `BadUsage`."""
    given, rest, left = [], [], iter(words)
    for word in left:
        name, sign, value = word.partition("=")
        if name not in _COMMON:
            rest.append(word)
            continue
        value = value if sign else next(left, "")
        if not value:
            raise BadUsage(f"{name} needs a value: {name} {_COMMON[name]}")
        given.append(value if name == "--set" else _model_setting(value))
    return given, rest


def _model_setting(name: str) -> str:
    return f"model={json.dumps(name)}"


def _one_shot(options: Options, question: str) -> int:
    program = opening.open_program(_start(_given(options)))
    session = _session(program, options)
    view = program.settings.view
    screen = doors.open_answer_screen(view.color, show_reasoning=view.show_reasoning)
    explains = not options.print
    return doors.answer_once(program, session, screen, question, as_json=options.json, explains=explains)


def _is_piped(options: Options) -> bool:
    """Is there a text on standard input that is one question? /dev/null is none."""
    try:
        return not options.lines and not stat.S_ISCHR(os.fstat(0).st_mode)
    except OSError:
        return False


def _shell(options: Options) -> int:
    import signal  # here, because verbs do not need it

    start = _load_start(_given(options))
    view = start.settings.view
    styles = theme(view.theme, view.colors)
    screen = Screen(view.color, styles=styles)
    rich = sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    _report(screen, start)
    if lost := _lost_directory(start.cwd):
        screen.note(lost, warning=True)
    if sys.stdin.isatty() and sys.stdout.isatty() and _is_first_start(start, options):
        screen.say(doors.first_screen(start, screen.width))
    if rich and not (options.continued or options.resume):  # show the prompt before the editor is loaded
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # until there is a line that Ctrl-C can clear
        prompt = doors.first_prompt(view.prompt, start.settings.model, start.cwd, screen.width)
        sys.stdout.write(screen.styled(prompt, "prompt"))
        sys.stdout.flush()
    with doors.hide_typed_keys(rich=rich):
        program = opening.open_program(start)
        session = _session(program, options)
        line_editor = doors.load_line_editor() if rich else None
    answers = doors.open_answer_screen(view.color, show_reasoning=view.show_reasoning, styles=styles)
    if rich and view.markdown:
        answers.load_stream = lambda: doors.open_markdown(answers, sys.stdout.write)
    user_shell = doors.open_user_shell(start, answers, login=options.login)
    history = doors.open_history(program, session, user_shell)
    editor = doors.open_editor(program, user_shell, answers, line_editor, history)
    if rich:
        sys.stdout.write("\r")
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return doors.open_repl(program, session, editor, answers, user_shell, history).run()


def _is_first_start(start: Start, options: Options) -> bool:
    signs = (start.places.sessions, start.places.setup_record)
    known = any(os.path.exists(path) for path in signs)  # noqa: PTH110  # a Path raises if it may not look
    return not (known or options.continued or options.resume)


def _start(given: Sequence[str]) -> Start:
    start = _load_start(given)
    _report(Screen(start.settings.view.color), start)
    return start


def _load_start(given: Sequence[str]) -> Start:
    places, cwd = find_places(os.environ), _working_directory()
    return Start(opening.open_settings(places, cwd, given), places, cwd)


def _session(program: "Program", options: Options) -> "Session":
    session = program.session(remembers=not options.no_memory)
    if options.continued or options.resume:
        _, notices = session.resume(program.conversations.find(options.resume))
        for notice in notices:
            Screen().note(notice.text, warning=notice.warning)
    return session


def _report(screen: Screen, start: Start) -> None:
    for problem in start.loaded.problems:
        screen.note(str(problem), warning=True)
    if not start.places.lasting:
        screen.note("there is no home directory, so nothing is stored permanently; set HOME or AISH_HOME", warning=True)


def _given(options: Options) -> list[str]:
    return [*options.set, *([_model_setting(options.model)] if options.model else [])]


def _parser() -> VerbArguments:
    parser = VerbArguments(
        "aish",
        "A conversational shell that remembers. Without a question it starts the shell, or explains what is piped in.",
        epilog="verbs: " + ", ".join(VERBS) + "   (aish VERB --help)\n"
        "exit codes: 0 ok, 1 nothing found or declined, 2 usage, 3 no model, 4 store, 70 a bug, 130 interrupted",
        allow_abbrev=False,
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="set a value for this run")
    parser.add_argument("--model", default="", metavar="NAME", help="the model preset to use")
    parser.add_argument("question", nargs="*", help="a question; piped standard input is sent with it")
    parser.add_argument(
        "-p", "--print", action="store_true", help="answer once and exit; the question may come from a pipe"
    )
    parser.add_argument(
        "--lines", action="store_true", help="on a pipe: each line is a question or a : command, as in the shell"
    )
    parser.add_argument("--json", action="store_true", help="print the answer and its metadata as JSON")
    parser.add_argument("--continue", dest="continued", action="store_true", help="continue the newest conversation")
    parser.add_argument("--resume", default="", metavar="ID", help="continue a conversation by its number, name or id")
    parser.add_argument(
        "--no-memory", action="store_true", help="do not record this conversation, and do not use memory"
    )
    parser.add_argument("-l", "--login", action="store_true", help="start your own shell as a login shell")
    parser.add_argument("-i", action="store_true", help="start the shell, as without options; other shells have it")
    parser.add_argument("-c", metavar="COMMAND", help="run a command in your own shell, without aish")
    parser.add_argument("-V", "--version", action="store_true", help="print the version")
    return parser


def _working_directory() -> Path:
    """The current directory; if it was deleted or cannot be entered, the home directory, or else the root."""
    for there in (Path.cwd, Path.home):
        try:
            directory = there()
            if os.access(directory, os.X_OK):
                return directory
        except (OSError, RuntimeError):
            continue
    return Path("/")


def _lost_directory(cwd: Path) -> str:
    """Say that aish did not start in the current directory; empty if it did."""
    try:
        if Path.cwd() == cwd:
            return ""
        reason = "cannot be entered"
    except OSError:
        reason = "no longer exists"
    return f"the current directory {reason}; this shell starts in {cwd}"
