"""Judge the parts of one command line: assignments, redirections, and commands by their entries in the table.

Pure: a parsed line and a table in, judgements out. Entries with a `rule` are judged by functions that `policy.py`
passes in, because these judge other commands again.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from aish.action.arguments import PATTERN_FLAGS, Taken, files_of, is_flag, is_short_for, knows, take
from aish.action.command_line import read_line
from aish.action.command_table import CommandRule, CommandTable, Node
from aish.action.command_words import UNKNOWN, CommandWord, UnreadableCommand
from aish.action.line_parts import CommandLine, Dialect, Redirect, Simple
from aish.action.line_variables import NUMBERS
from aish.action.secret_files import is_secret, is_secret_variable, is_wide, normalise
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern
from aish.values.text import one_line
from aish.values.verdicts import SEVERITY, Effect

_MOST_SHELLS = 3  # shells that run other shells
_MOST_WRAPPERS = 10  # commands that run other commands
_MOST_WORDS = 300
_MOST_DIRECTORIES = 6
_MOST_PATTERNS = 80
_PATTERN = frozenset("*?[")
_PROGRAMS = pattern(r"/(?:usr/)?(?:local/)?s?bin/(?=[^/]+$)")
_SINKS = frozenset("/dev/null /dev/stdout /dev/stderr /dev/tty".split())
_NOT_FILES = frozenset(
    "-e --regexp --grep --author --committer -S -G --format --pretty -L -k -t -d".split()
)  # flags whose value is not a file name
_TEXTUAL = frozenset("echo printf test basename dirname tr expr : true false grep egrep fgrep rg git sed awk".split())
_PAGERS = frozenset("less more most man".split())
_SET_OPTIONS = frozenset("pipefail errexit nounset xtrace noglob noclobber".split())  # allexport would change variables
_PROMPTS = frozenset(("-e", "-p", "-s"))  # flags of `read` for a person at the terminal
_SILENT = frozenset(": true false test [".split())  # commands that print nothing
_USED_VARIABLE = pattern(r"\$\{?([A-Za-z_]\w*+)(?!:?\+)", re.ASCII)
_LOCALE = pattern(r"LC_|LANG$|LANGUAGE$|TERM$")
_SET_BY_READ = frozenset(("REPLY", "MAPFILE"))
_ADDRESS = pattern(r"(?:^|=)(?!https?://(?:localhost|127\.0\.0\.1)[:/])\w[\w+.-]*://")
_SECRET = r"\benv\b|secret|token|passw|credential|api_?key|\bkey|\.pem|id_|\.ssh|\brc\b"
_STARTUP = r"rc$|profile$|_login$|/\.git/|authorized_keys|cron|/etc/|\.service$|/autostart/|\.aish"


class Judgement(NamedTuple):
    """What one part of a command line does. `prefix` is what "always allow" would remember for it.

    `overwrites`: it only destroys something if its targets already exist.
    """

    effect: Effect
    reason: str = ""
    targets: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()
    overwrites: bool = False

    @property
    def asks(self) -> bool:
        return bool(self.reason)


READS = Judgement("read")
Rule = Callable[["LineJudge", CommandRule, list[CommandWord], tuple[Simple, ...]], Judgement]


def worst(findings: Iterable[Judgement]) -> Judgement:
    return max(findings, key=lambda one: (one.asks, SEVERITY.index(one.effect)), default=READS)


def judge_text(
    text: str, table: CommandTable, rules: Mapping[str, Rule], depth: int = 0, dialect: Dialect = "bash"
) -> list[Judgement]:
    """Judge all parts of a text that a shell would run."""
    if depth > _MOST_SHELLS:
        return [Judgement("unknown", "it nests too many shells")]
    try:
        line = read_line(text, dialect)
    except UnreadableCommand as trouble:
        return [Judgement("unknown", str(trouble))]
    except RecursionError:
        return [Judgement("unknown", "it is nested too deeply")]
    except UnicodeEncodeError:
        return [Judgement("unknown", "it contains an invalid character")]
    return list(LineJudge(table, rules, line, depth, dialect).findings()) or [READS]


class LineJudge:
    """Judges the parts of one line. It sees the whole line, because a part can depend on the others."""

    def __init__(
        self, table: CommandTable, rules: Mapping[str, Rule], line: CommandLine, depth: int, dialect: Dialect
    ) -> None:
        self._table = table
        self._rules = rules
        self._line = line
        self._depth = depth
        self._dialect = dialect
        self._wrappers = 0
        self._bases: list[str] = []  # directories that the line changes to, each also seen from the one before
        for part in line.parts:
            if part.words and part.words[0].plain in ("cd", "pushd"):
                for text in (text for word in part.words[1:] for text in word.texts):
                    more = [text, *(_below(base, text) for base in self._bases[-1:])]
                    self._bases += [base for base in dict.fromkeys(more) if base not in self._bases]

    def findings(self) -> Iterator[Judgement]:
        if trouble := self._too_much():
            yield Judgement("unknown", trouble)
            return
        if self._line.commented:
            yield Judgement("read", "the text after # is a comment, and does not run")
        for name, word in self._line.bound:
            yield self.assignment(name, word)
        if name := self._shown_variable():
            yield Judgement("read", f"${name} could show a credential")
        for part in self._line.parts:
            for finding in self._part(part):
                yield self._placed(finding)

    def _too_much(self) -> str:
        """Return why checking the line would take long; empty if it would not."""
        words = [word for part in self._line.parts for word in part.words]
        texts = [text for word in (*words, *self._line.mentioned) for text in word.texts]
        if len(texts) > _MOST_WORDS:
            return f"it has {len(texts):,} words, too many to check"
        patterns = sum(not _PATTERN.isdisjoint(text) for text in texts)
        if len(self._bases) > _MOST_DIRECTORIES or patterns * (1 + len(self._bases)) > _MOST_PATTERNS:
            return "it has too many patterns or directories to check"
        return ""

    def _shown_variable(self) -> str:
        """Return the name of a variable with a credential that the line passes on; empty if there is none."""
        own = {name for part in self._line.parts for name, _ in part.assigns} | {name for name, _ in self._line.bound}
        words = [word for _, word in self._line.bound]
        for part in self._line.parts:
            words += [word for _, word in part.assigns]
            words += [redirect.target for redirect in part.redirects if redirect.target]
            words += part.words if part.words and part.words[0].plain not in _SILENT else ()
        names = (name for word in words if "$" in word.raw for name in _USED_VARIABLE.findall(word.raw))
        return next((name for name in names if name not in own and is_secret_variable(name)), "")

    @cached_property
    def names_secret(self) -> bool:
        words = [word for part in self._line.parts for word in part.words]
        return any(self.is_secret(text) for word in (*words, *self._line.mentioned) for text in word.texts)

    def is_secret(self, text: str) -> bool:
        """Could this be the name of a file with a credential, here or in a directory that the line changes to?"""
        return is_secret(text) or any(is_secret(_below(base, text)) for base in self._bases)

    def is_wide(self, text: str) -> bool:
        return is_wide(text) or any(is_wide(_below(base, text)) for base in self._bases)

    def _placed(self, finding: Judgement) -> Judgement:
        """Mark relative targets as unknown if the line has a `cd`: only absolute paths and `~` stay certain."""
        if not self._bases:
            return finding
        return finding._replace(targets=tuple(_seen_from_elsewhere(one) for one in finding.targets))

    def _part(self, part: Simple) -> Iterable[Judgement]:
        for name, word in part.assigns:
            if not (
                name == "IFS" and part.words and part.words[0].plain == "read"
            ):  # it only splits the input of `read`
                yield self.assignment(name, word, exported=bool(part.words))
        for redirect in part.redirects:
            yield self._redirect(redirect)
        if part.words:
            yield self.command(part.words, part.feed)

    def assignment(self, name: str, word: CommandWord, *, exported: bool = False) -> Judgement:
        if name in NUMBERS and not all(re.fullmatch(r"-?\d{1,9}", text, re.ASCII) for text in word.texts):
            return Judgement("unknown", f"{name}= is evaluated where a number is expected")
        plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) and not name.endswith(("path", "_proxy")) and not exported
        path = _LOCALE.match(name) and any("/" in text for text in word.texts)  # of messages, which programs load
        if plain or ((name in self._table.variables or _LOCALE.match(name) or name in _SET_BY_READ) and not path):
            return READS
        return Judgement("unknown", f"{name}= can change what runs")

    def _redirect(self, redirect: Redirect) -> Judgement:
        operator, target = redirect
        if target is None or operator in ("<<", "<<<"):
            return READS
        text = target.plain
        if any(normalise(one).startswith(("/dev/tcp", "/dev/udp")) for one in target.texts):
            return Judgement("send", f"{operator} {target.raw} opens a connection")
        if operator == "<" or (operator == "<&" and text and re.fullmatch(r"\d+-?|-", text)):
            return self.contents("<", [target])
        if text in _SINKS or (operator == ">&" and text and re.fullmatch(r"\d+-?|-", text)):
            return READS
        if re.search(_STARTUP, target.raw):
            return Judgement("unknown", f"{operator} {target.raw} changes what runs later", (target.raw,))
        if operator in (">>", "&>>"):
            return Judgement("change", f"{operator} {target.raw} writes to a file", (target.raw,))
        return Judgement("destroy", f"{operator} {target.raw} overwrites the file", (target.raw,), overwrites=True)

    def command(self, words: Sequence[CommandWord], feed: tuple[Simple, ...] = ()) -> Judgement:
        """Judge one simple command by its entry in the table."""
        self._wrappers += 1
        try:
            if self._wrappers > _MOST_WRAPPERS:
                return Judgement("unknown", "too many commands run each other")
            return self._command(words, feed)
        finally:
            self._wrappers -= 1

    def _command(self, words: Sequence[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        name = words[0].plain
        if name is None:
            return Judgement("unknown", f"the command {words[0].raw} is only known at run time")
        if not re.fullmatch(r"[\w.+@:/\[-]+", name, re.ASCII):
            return Judgement("unknown", f"{words[0].raw} is an unusual name for a command")
        name = _PROGRAMS.sub("", name, count=1) if _PROGRAMS.match(name) else name
        top = self._table.commands.get(name)
        if top is None:
            what = "runs a program by its path" if "/" in name else "is not in the command table"
            return Judgement("unknown", f"{name} {what}")
        node, arguments, before = self._descend(top, [self._settled(word) for word in words[1:]])
        entry = node.entry
        if before.asks:
            return before
        if top.entry and top.entry.project and (entry is None or entry.effect == "read"):
            return Judgement("unknown", f"{name} loads code or settings of the current directory")
        alone = [word.plain for word in arguments] in (["--help"], ["--version"])
        if alone and name != "eval" and not (top.entry and top.entry.project):
            return READS
        if entry is None:
            return Judgement(
                "unknown", f"{' '.join((name, *(word.raw for word in arguments[:1])))} is not in the command table"
            )
        if entry.effect == "read" and name not in _TEXTUAL:
            for word in arguments:
                if any(_ADDRESS.search(text) for text in word.texts):
                    why = entry.because or f"could contact {one_line(word.raw, 60)}"
                    return self.asked(entry._replace(effect="send", flags=None, because=why), arguments)
        if entry.rule or entry.wraps is not None:
            return self._rules[entry.rule or "wrapper"](self, entry, arguments, feed)
        return self.permitted(entry, arguments) if entry.effect == "read" else self.asked(entry, arguments)

    def _settled(self, word: CommandWord) -> CommandWord:
        """Decide whether the file that a word names is known, if it comes from the output of commands."""
        if not word.origins:
            return word
        return word._replace(unknown_file=self._is_unknown_file(word), origins=())

    def _descend(self, node: Node, arguments: list[CommandWord]) -> tuple[Node, list[CommandWord], Judgement]:
        """Find the subcommand. Stop at a flag that is not permitted before it, so that later checks see the flag."""
        best, found = (node, arguments), READS
        while node.below:
            if not (arguments and arguments[0].plain in node.below):
                entry = best[0].entry
                if entry is None or entry.flags is None:
                    break
                taken = take(entry, arguments, stop=True)
                if taken.odd or len(taken.operands) == len(arguments):
                    break
                found = worst((found, self.values(entry, taken)))
                arguments = list(taken.operands)
            word = arguments[0].plain if arguments else None
            if word is None or word not in node.below:
                break
            node, arguments = node.below[word], arguments[1:]
            best = (node, arguments) if node.raw is not None else best
        return *best, found

    def permitted(self, entry: CommandRule, arguments: Sequence[CommandWord]) -> Judgement:
        """Judge a command that reads, if its arguments are permitted."""
        taken = take(entry, arguments)
        trouble = taken.odd or self._misfit(entry, taken)
        if hit := _destroying(entry, arguments, taken):
            trouble = trouble or f"{entry.name} {hit}"
        if trouble:
            effect = "unknown" if taken.odd else entry.otherwise
            return self.asked(entry._replace(effect=effect), arguments, trouble)
        if (found := self.values(entry, taken)).asks:
            return found
        if entry.words == ("read",) and (flags := taken.flags & _PROMPTS):
            return Judgement("read", f"read {min(flags)} asks you to type something")
        if entry.operands in ("files", "text files"):
            files = taken.operands
            if entry.operands == "text files" and not PATTERN_FLAGS & taken.flags and knows(entry, taken.flags):
                files = files[1:]
            found = self.contents(entry.name, files, [word for flag, word in taken.values if flag not in _NOT_FILES])
            if found.asks:
                return found
        elif any(text.startswith("-") and self.is_secret(text) for word in arguments for text in word.texts):
            return Judgement("read", f"{entry.name} could show a credential")
        elif entry.words[0] in ("cd", "pushd") and any(self.is_secret(t) for word in arguments for t in word.texts):
            return Judgement("read", f"{entry.name} changes to a directory of credentials")
        if entry.walks and (entry.walks & taken.flags or "*" in entry.walks):
            for word in taken.operands:
                if any(self.is_wide(text) for text in word.texts):
                    return Judgement("read", f"{entry.name} would search everything in {word.raw}")
        return READS

    def values(self, entry: CommandRule, taken: Taken) -> Judgement:
        """Judge the values of flags by what they are: programs, files or machines."""
        for flag, word in taken.values:
            what = f"{entry.name} {flag} {one_line(word.raw, 60)}"
            if flag in entry.runs:
                return Judgement("unknown", f"{what} runs a program or code")
            if flag in entry.writes:
                return Judgement("change", f"{what} writes to a file", (word.raw,))
            if flag in entry.hosts and not all(_is_local(text) for text in word.texts):
                return Judgement("send", f"{what} contacts another machine")
        if flag := next(iter((entry.runs | entry.writes) & taken.flags), ""):
            return Judgement("unknown", f"{entry.name} {flag} is not known to be read-only")
        return self.contents(entry.name, [word for flag, word in taken.values if flag in entry.reads])

    def _misfit(self, entry: CommandRule, taken: Taken) -> str:
        """Return why the command is not read-only although its flags are permitted; empty if it is."""
        operands = taken.operands
        if entry.needs and not entry.needs & taken.flags:
            return f"{entry.name} without {' or '.join(sorted(entry.needs))}"
        if entry.bundled and any(":" in text or UNKNOWN in text for _, word in taken.values for text in word.texts):
            return f"{entry.name} with an archive on another machine"
        if entry.operands == "none" and operands:
            return f"{entry.name} {operands[0].raw}"
        if entry.most is not None and (
            sum(len(word.texts) for word in operands) > entry.most or any(word.loose or word.glob for word in operands)
        ):
            return f"{entry.name} with more than {entry.most} operands"
        at = next((word.raw for word in operands if any(text[:1] == "@" for text in word.texts)), "")
        options = entry.operands in ("names", "files") and entry.words[0] != "git"  # there @ means HEAD
        if at and options and not (entry.flags and entry.flags.every):
            return f"{entry.name} {at} (which could be a file of options)"
        if entry.shape:
            for word in operands:
                if not all(re.fullmatch(entry.shape, text) for text in word.texts):
                    return f"{entry.name} {word.raw}"
        return _special_misfit(entry, taken)

    def contents(self, name: str, files: Iterable[CommandWord], others: Iterable[CommandWord] = ()) -> Judgement:
        """Judge showing the contents of files: each must be a known file and no credential."""
        files = list(files)
        for word in (*files, *others):
            if any(self.is_secret(text) for text in word.texts):
                return Judgement("read", f"{name} {word.raw} could show a credential")
        for word in files:
            if self._is_unknown_file(word):
                return Judgement("read", f"{name} shows the file {word.raw}, whose name is only known at run time")
        return READS

    def _is_unknown_file(self, word: CommandWord) -> bool:
        return word.unknown_file or any(not self.lists(chain) for chain in word.origins)

    def lists(self, chain: object) -> bool:
        """Do these commands print file names, none of which is a credential?"""
        if self.names_secret or not isinstance(chain, tuple) or not chain:
            return False
        first, *filters = [self._entry(part) for part in chain]
        if first is None or not all(entry and entry.filters for entry in filters):
            return False
        texts = [text for word in chain[0].words for text in word.texts]
        if any(re.search(_SECRET, text, re.IGNORECASE) for part in chain for word in part.words for text in word.texts):
            return False
        if first.words == ("ls",) and any(re.match(r"-\w*[aA]|--a", text) for text in texts):
            return False  # credentials are usually hidden files
        return bool(first.lists & {"*", *texts}) and not any(self.is_wide(text) for text in texts)

    def _entry(self, part: Simple) -> CommandRule | None:
        node = self._table.commands.get(part.words[0].plain or "") if part.words else None
        return self._descend(node, list(part.words[1:]))[0].entry if node else None

    def asked(self, entry: CommandRule, arguments: Sequence[CommandWord], trouble: str = "") -> Judgement:
        """Judge a command that does not run unasked."""
        hit = _destroying(entry, arguments)
        effect: Effect = "destroy" if hit is not None else entry.effect
        if entry.flags is not None and effect != "destroy" and (odd := take(entry, arguments).odd):
            effect, trouble = "unknown", odd
        reason = f"{entry.name}{f' {hit}' if hit is not None else ''} {entry.because}" if entry.because else ""
        if not reason or (effect == "unknown" and trouble):
            reason = f"{trouble or entry.name} is not known to be read-only"
        if effect == "destroy":
            return Judgement(effect, reason, files_of(entry, arguments))
        return Judgement(effect, reason, (), _prefix(entry, effect, arguments))

    def through(self, entry: CommandRule, found: Judgement) -> Judgement:
        """Return the judgement of a command that runs the judged one."""
        if entry.effect == "read" or SEVERITY.index(found.effect) > SEVERITY.index(entry.effect):
            return found._replace(prefix=())
        return Judgement(entry.effect, f"{entry.name} {entry.because}")

    def inner(self, entry: CommandRule, text: str, dialect: Dialect | None = None) -> Judgement:
        """Judge a text that a command passes to a shell."""
        found = judge_text(text, self._table, self._rules, self._depth + 1, dialect or self._dialect)
        return self.through(entry, worst(found))


def _destroying(entry: CommandRule, arguments: Sequence[CommandWord], taken: Taken | None = None) -> str | None:
    """Return the word that makes the command destroy something."""
    if not entry.destroy:
        return None
    if taken and (flags := [one for one in sorted(taken.flags) if is_short_for(entry, one, entry.destroy)]):
        return flags[0]
    texts = (text for word in arguments for text in word.texts)
    return next((text for text in texts if any(is_flag(mark, text) for mark in entry.destroy)), None)


def _special_misfit(entry: CommandRule, taken: Taken) -> str:
    """Return why the words of a few special commands are not harmless."""
    if entry.words == ("set",):
        for flag, word in taken.values:
            if flag == "-o" and word.plain not in _SET_OPTIONS:
                return f"set -o {word.raw}"
    if entry.words[0] in _PAGERS:
        for flag, word in taken.values:
            if any(re.search(r"[\0-\x1f]", text) for text in word.texts):  # it ends a search, and a command follows
                return f"{entry.name} {flag} {word.raw}"
    return ""


def _seen_from_elsewhere(target: str) -> str:
    """Return a target so that it does not name a file of the current directory."""
    if target.lstrip("\"'")[:1] in ("/", "~"):
        return target
    return f"({target})" if target.startswith("find ") else f"$PWD/{target}"


def _below(base: str, path: str) -> str:
    """Return where a path leads from a directory."""
    return normalise(path if path.startswith(("/", "~")) else f"{base}/{path}")


def _is_local(host: str) -> bool:
    """Is this the machine itself, or the path of a socket?"""
    return host in ("localhost", "127.0.0.1", "::1") or host.startswith(("/", "./", "../"))


def _prefix(entry: CommandRule, effect: Effect, arguments: Sequence[CommandWord]) -> tuple[str, ...]:
    """Return the words that "always" may cover. A bare `curl` or `cargo` is not enough: it could do anything."""
    kept = [word.plain for word in arguments if not word.raw.startswith("-")][: entry.keep]
    words = (*entry.words, *(text for text in kept if text is not None))
    too_wide = len(words) < 2 and (effect == "send" or entry.project)
    return () if too_wide or None in kept or effect not in ("change", "send") else words
