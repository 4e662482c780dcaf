"""What the user allows a goal before it starts: paths, programs, the network, and how much it may use.

Pure: values in, answers out. Nothing that a model, a file or a tool says is an argument of these rules.
"""

import posixpath
import shlex
from collections.abc import Iterable, Mapping, Sequence

from aish.values.errors import BadUsage
from aish.values.named_tuple import NamedTuple
from aish.values.text import counted, exactly, one_line

WHOLE = "."  # the path that stands for the whole project
_MOST_STEPS, _MOST_MINUTES = 1_000, 24 * 60.0
_MOST_TOKENS, _MOST_DOLLARS = 1_000_000_000, 10_000.0
_SYSTEM = ("/usr/local/bin/", "/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/")
FLAGS = ("network",)
VALUES = ("paths", "programs", "steps", "minutes", "tokens", "dollars")


class Envelope(NamedTuple):
    """What a goal may do without another question.

    `paths` are directories of the project, relative to its top. `programs` may be started by commands that change
    something. Looking is always allowed; destroying something, and what cannot be understood, never is.
    """

    paths: tuple[str, ...] = (WHOLE,)
    programs: tuple[str, ...] = ()
    network: bool = False
    steps: int = 8
    minutes: float = 10.0
    tokens: int = 200_000
    dollars: float = 0.5


def covers_path(envelope: Envelope, path: str) -> bool:
    """May a file be changed? `path` is relative to the top of the project, with all links followed."""
    if posixpath.isabs(path) or ".." in path.split("/"):
        return False
    return any(one == WHOLE or path == one or path.startswith(f"{one}/") for one in envelope.paths)


def missing_programs(envelope: Envelope, programs: Iterable[str]) -> tuple[str, ...]:
    """Return the programs that a command would start and that are not allowed."""
    known = set(map(program_name, envelope.programs))
    return tuple(dict.fromkeys(name for one in programs if (name := program_name(one)) not in known))


def program_name(word: str) -> str:
    """Return the name of a program: `/usr/bin/make` is `make`, but `./make` is another one."""
    start = next((start for start in _SYSTEM if word.startswith(start)), "")
    rest = word.removeprefix(start)
    return word if "/" in rest else rest


def with_programs(envelope: Envelope, programs: Iterable[str]) -> Envelope:
    return envelope._replace(programs=tuple(dict.fromkeys((*envelope.programs, *programs))))


def with_path(envelope: Envelope, path: str) -> Envelope:
    return envelope if covers_path(envelope, path) else envelope._replace(paths=(*envelope.paths, path))


def described(envelope: Envelope, project: str) -> str:
    """Say in one line what a goal may do. Without a project no file may be changed."""
    where = ", ".join(one_line(exactly(path), 60) for path in envelope.paths) if project else ""
    of = f" (project {one_line(exactly(project), 60)})" if envelope.paths == (WHOLE,) else ""
    names = ", ".join(one_line(exactly(name), 40) for name in envelope.programs)
    return "; ".join(
        [
            f"change files in {where}{of}" if where else "change no file, because there is no project here",
            f"run {names}" if names else "run no program that changes something",
            "use the network" if envelope.network else "use no network",
            f"take {counted(envelope.steps, 'step')}, {amount(envelope.minutes)} minutes, "
            f"{envelope.tokens:,} tokens, ${envelope.dollars:.2f}",
        ]
    )


def amount(number: float) -> str:
    """Return a number without needless digits."""
    return f"{number:.2f}".rstrip("0").rstrip(".") if number != int(number) else f"{int(number)}"


def as_options(envelope: Envelope) -> str:
    """Return the envelope as options, for the user to edit. `read_options` reads them."""
    words = ["--paths", ",".join(envelope.paths), "--programs", ",".join(envelope.programs)]
    words += ["--steps", str(envelope.steps), "--minutes", f"{envelope.minutes:g}"]
    words += ["--tokens", str(envelope.tokens), "--dollars", f"{envelope.dollars:g}"]
    return shlex.join([*words, *(["--network"] if envelope.network else [])])


def read_options(text: str, before: Envelope) -> Envelope:
    """Return the envelope that edited options describe. The network is allowed only if its option is there.

    Raises:
        BadUsage: the text names an unknown option, or a value is wrong.
    """
    try:
        words = shlex.split(text)
    except ValueError:
        raise BadUsage("a quote is not closed") from None
    given: dict[str, str] = {}
    while words:
        name = words.pop(0).removeprefix("--")
        if name in FLAGS:
            given[name] = ""
        elif name not in VALUES:
            raise BadUsage(f"there is no option {one_line(name, 40)}; there are: {_known()}")
        elif not words:
            raise BadUsage(f"--{name} needs a value")
        else:
            given[name] = words.pop(0)
    return apply(before._replace(network=False), given)


def _known() -> str:
    return ", ".join(f"--{name}" for name in (*VALUES, *FLAGS))


def apply(envelope: Envelope, options: Mapping[str, str]) -> Envelope:
    """Return the envelope with these options. Raises `BadUsage`."""
    if "network" in options:
        envelope = envelope._replace(network=True)
    if "paths" in options:
        envelope = envelope._replace(paths=tuple(dict.fromkeys(map(_path, _names(options["paths"])))) or (WHOLE,))
    if "programs" in options:
        envelope = envelope._replace(programs=_names(options["programs"]))
    if "steps" in options:
        envelope = envelope._replace(steps=int(_number("steps", options["steps"], _MOST_STEPS, whole=True)))
    if "tokens" in options:
        envelope = envelope._replace(tokens=int(_number("tokens", options["tokens"], _MOST_TOKENS, whole=True)))
    if "minutes" in options:
        envelope = envelope._replace(minutes=_number("minutes", options["minutes"], _MOST_MINUTES))
    if "dollars" in options:
        envelope = envelope._replace(dollars=_number("dollars", options["dollars"], _MOST_DOLLARS))
    return envelope


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def _path(text: str) -> str:
    """Return a path of the project in its usual form. Raises `BadUsage` for one that leads out of it."""
    path = posixpath.normpath(text)
    if posixpath.isabs(path) or path.split("/")[0] in ("..", "~") or "\0" in path:
        raise BadUsage(f"{one_line(exactly(text), 60)} is not in the project; name directories below it")
    return path


def _number(name: str, text: str, most: float, *, whole: bool = False) -> float:
    plain = text.replace("_", "").replace("$", "")
    try:
        number = float(int(plain) if whole else float(plain))
    except (ValueError, OverflowError):
        raise BadUsage(f"--{name} needs a {'whole ' if whole else ''}number, got {one_line(text, 40)!r}") from None
    if not 0 < number <= most:
        raise BadUsage(f"--{name} must be more than 0 and at most {most:,.0f}")
    return number


class GoalText(NamedTuple):
    """A goal in the user's words, and the command that tells whether it is reached; empty: the model tells."""

    goal: str
    until: str = ""


def read_goal(text: str) -> GoalText:
    """Read `GOAL [until 'COMMAND']`. `until` counts only with a quoted command that ends the line.

    Raises:
        BadUsage: there is no goal, or the quote after the last `until` is not closed.
    """
    words: Sequence[str] = text.split()
    goal, until, unclosed = text.strip(), "", False
    for place in _untils(text):
        rest = text[place:].split(None, 1)[1]
        try:
            quoted = shlex.split(rest)
            unclosed = False
        except ValueError:
            unclosed = True
            continue
        if len(quoted) == 1:
            goal, until = text[:place].strip(), quoted[0].strip()
            if not until:
                raise BadUsage("the command after until is empty")
            break
    if unclosed and not until:
        raise BadUsage("the quote after until is not closed; write: :goal GOAL until 'COMMAND'")
    goal = _unquoted(goal)
    if not words or not goal:
        raise BadUsage("say what the goal is: :goal GOAL until 'COMMAND'")
    return GoalText(goal, until)


def _unquoted(goal: str) -> str:
    """Return a goal without quotes around all of it, as people write for a shell."""
    quote = goal[:1]
    inner = goal[1:-1]
    whole = len(goal) > 1 and quote in ("'", '"') and goal.endswith(quote) and quote not in inner
    return inner.strip() if whole else goal


def _untils(text: str) -> list[int]:
    """Return where the word `until` is followed by a quote."""
    places, start = list[int](), 0
    while (place := text.find("until", start)) >= 0:
        start = place + 1
        before, after = text[:place], text[place + len("until") :]
        alone = (not before or before[-1].isspace()) and after[:1].isspace()
        if alone and after.lstrip()[:1] in ("'", '"'):
            places.append(place)
    return places
