"""Decide whether a command may run unasked: it must be fully understood, and the table must list it as read-only.

Pure: a text and a table in, a verdict out. Nothing is executed, and no input makes it raise.
"""

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from aish.action.arguments import Taken, is_flag, knows, take, unwrap
from aish.action.command_line import CommandLine, Redirect, Simple, read_line
from aish.action.command_table import CommandRule, CommandTable, Node
from aish.action.command_words import UNKNOWN, CommandWord, UnreadableCommand
from aish.action.inline_scripts import awk_only_prints, python_only_prints, sed_only_prints, sql_only_reads
from aish.action.secret_files import is_secret, is_wide, secrets_in
from aish.values.text import one_line
from aish.values.verdicts import SEVERITY, Effect, Verdict

_LONGEST, _LONGEST_UNASKED = 1_000_000, 20_000  # characters: refuse above the first, ask above the second
_MOST_NESTED = 3  # shells that run other shells
_PROGRAMS = re.compile(r"/(?:usr/)?(?:local/)?s?bin/(?=[^/]+$)")
_SINKS = frozenset("/dev/null /dev/stdout /dev/stderr /dev/tty".split())
_PATTERN_FLAGS = frozenset("-e --regexp -f --file".split())  # with one of these flags the first operand is a file
_NOT_FILES = frozenset(
    "-e --regexp --grep --author --committer -S -G --format --pretty -L -k -t -d".split()
)  # flags whose value is not a file name
_TEXTUAL = frozenset("echo printf test basename dirname tr expr : true false grep egrep fgrep rg git sed awk".split())
_ADDRESS = re.compile(r"(?:^|=)(?!https?://(?:localhost|127\.0\.0\.1)[:/])\w[\w+.-]*://")
_SECRET = r"\benv\b|secret|token|passw|credential|api_?key|\bkey|\.pem|id_|\.ssh|\brc\b"
_STARTUP = r"rc$|profile$|_login$|/\.git/|authorized_keys|cron|/etc/|\.service$|/autostart/|\.aish"
_EXEC_FLAGS = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


class Judgement(NamedTuple):
    """What one part of a command line does. `prefix` is what "always allow" would remember for it."""

    effect: Effect
    reason: str = ""
    targets: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()

    @property
    def asks(self) -> bool:
        return bool(self.reason)


READS = Judgement("read")


def judge(command: str, table: CommandTable, allowed: Collection[tuple[str, ...]] = ()) -> Verdict:
    """Return whether the command may run. `allowed` are the prefixes that the user always allows."""
    if not command.strip():
        return Verdict("refuse", "unknown", "the command is empty")
    if "\0" in command or len(command) > _LONGEST:
        return Verdict("refuse", "unknown", "it contains a NUL byte or more than a million characters")
    if trouble := _invisible(command):
        return Verdict("ask", "unknown", trouble)
    findings = _judge(command, table, 0)
    asking = [one for one in findings if one.asks and not _is_allowed(one, allowed)]
    if not asking:
        effect: Effect = max((one.effect for one in findings), key=SEVERITY.index, default="read")
        return Verdict("run", effect, "it only reads" if effect == "read" else "you always allow it")
    worst = max(asking, key=lambda one: SEVERITY.index(one.effect))
    offered = () if any(not one.prefix for one in asking) else tuple(dict.fromkeys(one.prefix for one in asking))
    hit = tuple(dict.fromkeys(target for one in asking if one.effect == worst.effect for target in one.targets))
    return Verdict("ask", worst.effect, one_line(worst.reason, 160), hit, offered)


def _invisible(command: str) -> str:
    """Return a reason to ask if the user could not see all of the text; empty if there is none."""
    if len(command) > _LONGEST_UNASKED:
        return f"it has {len(command):,} characters, too many to review"
    if command.isascii() and command.isprintable():
        return ""
    for mark in command:
        kind = unicodedata.category(mark)
        if mark not in "\n\t" and (kind[0] == "C" or (kind[0] == "Z" and mark != " ")):
            return f"it contains an invisible character (U+{ord(mark):04X})"
    return ""


def _is_allowed(finding: Judgement, allowed: Collection[tuple[str, ...]]) -> bool:
    return any(finding.prefix[: len(one)] == one for one in allowed if one)


def _judge(command: str, table: CommandTable, depth: int) -> list[Judgement]:
    if depth > _MOST_NESTED:
        return [Judgement("unknown", "it nests too many shells")]
    try:
        line = read_line(command)
    except UnreadableCommand as trouble:
        return [Judgement("unknown", str(trouble))]
    except RecursionError:
        return [Judgement("unknown", "it is nested too deeply")]
    except UnicodeEncodeError:
        return [Judgement("unknown", "it contains an invalid character")]
    line_judge = _LineJudge(table, line, depth)
    return [line_judge.placed(finding) for part in line.parts for finding in line_judge.part(part)] or [READS]


class _LineJudge:
    """Judges the parts of one line. It sees the whole line, because a part can depend on the others."""

    def __init__(self, table: CommandTable, line: CommandLine, depth: int) -> None:
        self._table = table
        self._depth = depth
        self._line = line
        self._bases = [
            text
            for part in line.parts
            if part.words and part.words[0].plain in ("cd", "pushd")
            for word in part.words[1:]
            for text in word.texts
        ]

    @cached_property
    def _names_secret(self) -> bool:
        words = [word for part in self._line.parts for word in part.words]
        return any(is_secret(text) for word in (*words, *self._line.mentioned) for text in word.texts)

    def placed(self, finding: Judgement) -> Judgement:
        """Mark relative targets as unknown if the line has a `cd`: only absolute paths and `~` stay certain."""
        if not self._bases:
            return finding
        return finding._replace(
            targets=tuple(one if one.lstrip("\"'")[:1] in ("/", "~") else f"$PWD/{one}" for one in finding.targets)
        )

    def part(self, part: Simple) -> Iterable[Judgement]:
        for name, word in part.assigns:
            if not (
                name == "IFS" and part.words and part.words[0].plain == "read"
            ):  # it only splits the input of `read`
                yield self._assignment(name, word, exported=bool(part.words))
        for redirect in part.redirects:
            yield self._redirect(redirect)
        if part.words:
            yield self.command(part.words, part.feed)

    def _assignment(self, name: str, word: CommandWord, *, exported: bool) -> Judgement:
        plain = re.fullmatch(r"[a-z_][a-z0-9_]*", name) and not name.endswith(("path", "_proxy")) and not exported
        if plain or name in self._table.variables or name.startswith("LC_"):
            return READS
        return Judgement("unknown", f"{name}= can change what runs")

    def _redirect(self, redirect: Redirect) -> Judgement:
        operator, target = redirect
        if target is None or operator == "<<<":
            return READS
        text = target.plain
        if text is not None and text.startswith(("/dev/tcp", "/dev/udp")):
            return Judgement("send", f"{operator} {target.raw} opens a connection")
        if operator == "<" or (operator == "<&" and text and re.fullmatch(r"\d+-?|-", text)):
            return self._contents("<", [target])
        if text in _SINKS or (operator == ">&" and text and re.fullmatch(r"\d+-?|-", text)):
            return READS
        if re.search(_STARTUP, target.raw):
            return Judgement("unknown", f"{operator} {target.raw} changes what runs later", (target.raw,))
        if operator in (">>", "&>>"):
            return Judgement("change", f"{operator} {target.raw} writes to a file", (target.raw,))
        return Judgement("destroy", f"{operator} {target.raw} overwrites the file", (target.raw,))

    def command(self, words: Sequence[CommandWord], feed: tuple[Simple, ...] = ()) -> Judgement:
        """Judge one simple command by its entry in the table."""
        name = words[0].plain
        if name is None:
            return Judgement("unknown", f"the command {words[0].raw} is only known at run time")
        if not re.fullmatch(r"[\w.+@:/\[-]+", name, re.ASCII):
            return Judgement("unknown", f"{words[0].raw} is an unusual name for a command")
        name = _PROGRAMS.sub("", name, count=1) if _PROGRAMS.match(name) else name
        node = self._table.commands.get(name)
        if node is None:
            what = "runs a program by its path" if "/" in name else "is not in the command table"
            return Judgement("unknown", f"{name} {what}")
        if node.entry and node.entry.project:
            return self._project(node.entry, words[1:])
        node, arguments = self._descend(node, list(words[1:]))
        entry = node.entry
        if [word.plain for word in arguments] in (["--help"], ["--version"]) and name != "eval":
            return READS
        if entry is None:
            return Judgement(
                "unknown", f"{' '.join((name, *(word.raw for word in arguments[:1])))} is not in the command table"
            )
        if entry.effect == "read" and name not in _TEXTUAL:
            for word in arguments:
                if any(_ADDRESS.search(text) for text in word.texts):
                    why = entry.because or f"could contact {one_line(word.raw, 60)}"
                    return self._asked(entry._replace(effect="send", flags=None, because=why), arguments)
        if entry.rule:
            rule: Callable[[CommandRule, list[CommandWord], tuple[Simple, ...]], Judgement] = getattr(
                self, f"_{entry.rule}"
            )
            return rule(entry, arguments, feed)
        if entry.wraps is not None:
            return self._wrapper(entry, arguments, feed)
        return self._permitted(entry, arguments) if entry.effect == "read" else self._asked(entry, arguments)

    def _project(self, entry: CommandRule, arguments: Sequence[CommandWord]) -> Judgement:
        """Judge a command that loads code or settings of the current directory, whatever its arguments are."""
        because = f"{entry.name} loads code or settings of the current directory"
        node, rest = self._descend(self._table.commands[entry.words[0]], list(arguments))
        if node.entry is None or node.entry.effect == "read":
            return Judgement("unknown", because)
        return self._asked(node.entry, rest)

    def _descend(self, node: Node, arguments: list[CommandWord]) -> tuple[Node, list[CommandWord]]:
        """Find the subcommand. Stop at a flag that is not permitted before it, so that later checks see the flag."""
        best = node, arguments
        while node.below:
            flags = best[0].entry.flags if best[0].entry else None
            at = 0
            while (
                at < len(arguments) and (text := arguments[at].plain or "").startswith("-") and text not in node.below
            ):
                long = text.split("=")[0]
                if flags is None or not (flags.every or text in flags.bare or long in flags.valued):
                    return best
                at += 2 if long in flags.valued and "=" not in text else 1
            word = arguments[at].plain if at < len(arguments) else None
            if word is None or word not in node.below:
                return best
            node, arguments = node.below[word], arguments[at + 1 :]
            best = (node, arguments) if node.raw is not None else best
        return best

    def _permitted(self, entry: CommandRule, arguments: Sequence[CommandWord]) -> Judgement:
        taken = take(entry, arguments)
        trouble = taken.odd or self._misfit(entry, taken)
        if hit := next((t for word in arguments for t in word.texts for mark in entry.destroy if is_flag(mark, t)), ""):
            trouble = trouble or f"{entry.name} {hit}"
        if trouble:
            effect = "unknown" if taken.odd else entry.otherwise
            return self._asked(entry._replace(effect=effect, flags=None), arguments, trouble)
        if (found := self._values(entry, taken)).asks:
            return found
        if entry.operands in ("files", "text files"):
            files = taken.operands
            if entry.operands == "text files" and not _PATTERN_FLAGS & taken.flags and knows(entry, taken.flags):
                files = files[1:]
            found = self._contents(entry.name, files, [word for flag, word in taken.values if flag not in _NOT_FILES])
            if found.asks:
                return found
        elif any(text.startswith("-") and is_secret(text) for word in arguments for text in word.texts):
            return Judgement("read", f"{entry.name} could show a credential")
        elif entry.words[0] in ("cd", "pushd") and any(is_secret(text) for word in arguments for text in word.texts):
            return Judgement("read", f"{entry.name} changes to a directory of credentials")
        if entry.walks and (entry.walks & taken.flags or "*" in entry.walks):
            for word in taken.operands:
                if any(is_wide(text) for text in word.texts):
                    return Judgement("read", f"{entry.name} would search everything in {word.raw}")
        return READS

    def _values(self, entry: CommandRule, taken: Taken) -> Judgement:
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
        return self._contents(entry.name, [word for flag, word in taken.values if flag in entry.reads])

    def _misfit(self, entry: CommandRule, taken: Taken) -> str:
        """Return why the command is not read-only although its flags are permitted; empty if it is."""
        operands = taken.operands
        if entry.needs and not entry.needs & taken.flags:
            return f"{entry.name} without {' or '.join(sorted(entry.needs))}"
        if entry.bundled and any(":" in text for _, word in taken.values for text in word.texts):
            return f"{entry.name} with an archive on another machine"
        if entry.operands == "none" and operands:
            return f"{entry.name} {operands[0].raw}"
        if entry.most is not None and (
            sum(len(word.texts) for word in operands) > entry.most or any(word.loose or word.glob for word in operands)
        ):
            return f"{entry.name} with more than {entry.most} operands"
        if entry.shape:
            for word in operands:
                if not all(re.fullmatch(entry.shape, text) for text in word.texts):
                    return f"{entry.name} {word.raw}"
        return ""

    def _contents(self, name: str, files: Iterable[CommandWord], others: Iterable[CommandWord] = ()) -> Judgement:
        """Judge showing the contents of files: each must be a known file and no credential."""
        files = list(files)
        for word in (*files, *others):
            for text in word.texts:
                if is_secret(text) or any(is_secret(f"{base}/{text}") for base in self._bases):
                    return Judgement("read", f"{name} {word.raw} could show a credential")
        for word in files:
            if self._is_unknown_file(word):
                return Judgement("read", f"{name} shows the file {word.raw}, whose name is only known at run time")
        return READS

    def _is_unknown_file(self, word: CommandWord) -> bool:
        return word.unknown_file or any(not self._lists(chain) for chain in word.origins)

    def _lists(self, chain: object) -> bool:
        """Do these commands print file names, none of which is a credential?"""
        if self._names_secret or not isinstance(chain, tuple) or not chain:
            return False
        first, *filters = [self._entry(part) for part in chain]
        if first is None or not all(entry and entry.filters for entry in filters):
            return False
        texts = [text for word in chain[0].words for text in word.texts]
        if any(re.search(_SECRET, text, re.IGNORECASE) for part in chain for word in part.words for text in word.texts):
            return False
        if first.words == ("ls",) and any(re.match(r"-\w*[aA]|--a", text) for text in texts):
            return False  # credentials are usually hidden files
        return bool(first.lists & {"*", *texts}) and not any(is_wide(text) for text in texts)

    def _entry(self, part: Simple) -> CommandRule | None:
        node = self._table.commands.get(part.words[0].plain or "") if part.words else None
        return self._descend(node, list(part.words[1:]))[0].entry if node else None

    def _asked(self, entry: CommandRule, arguments: Sequence[CommandWord], trouble: str = "") -> Judgement:
        """Judge a command that does not run unasked."""
        texts = [text for word in arguments for text in word.texts]
        hit = next((text for text in texts for mark in entry.destroy if is_flag(mark, text)), None)
        effect: Effect = "destroy" if hit is not None else entry.effect
        operands = tuple(word.raw for word in arguments if not word.raw.startswith("-"))
        if entry.flags is not None and effect != "destroy" and (odd := take(entry, arguments).odd):
            effect, trouble = "unknown", odd
        reason = f"{entry.name}{f' {hit}' if hit is not None else ''} {entry.because}" if entry.because else ""
        if not reason or (effect == "unknown" and trouble):
            reason = f"{trouble or entry.name} is not known to be read-only"
        if effect == "destroy":
            return Judgement(effect, reason, operands)
        return Judgement(effect, reason, (), _prefix(entry, effect, arguments))

    def _wrapper(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        """Judge a command that runs its remaining arguments as another command."""
        rest, trouble = unwrap(entry, arguments)
        if trouble:
            return Judgement("unknown", f"{trouble} is not known to be read-only")
        if not rest:
            return Judgement("unknown", f"{entry.name} has no command that can be checked")
        return self._through(entry, self.command(rest, feed))

    @staticmethod
    def _through(entry: CommandRule, found: Judgement) -> Judgement:
        if entry.effect == "read" or SEVERITY.index(found.effect) > SEVERITY.index(entry.effect):
            return found._replace(prefix=())
        return Judgement(entry.effect, f"{entry.name} {entry.because}")

    def _env(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        rest, trouble = unwrap(entry, arguments)
        while rest and "=" in (text := rest[0].plain or ""):
            found = self._assignment(text.split("=")[0], rest[0], exported=True)
            if found.asks:
                return found
            rest = rest[1:]
        if trouble:
            return Judgement("unknown", f"{trouble} is not known to be read-only")
        return self._through(entry, self.command(rest, feed)) if rest else READS

    def _command(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        """`command -v ls` prints where a command is; `command ls` runs it."""
        if arguments and arguments[0].plain in ("-v", "-V"):
            return READS
        return self._wrapper(entry, arguments, feed)

    def _joined(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        """`eval` and `watch` pass their arguments to a shell as one text."""
        rest, trouble = unwrap(entry, arguments)
        texts = [word.plain for word in rest]
        if trouble or not texts or None in texts:
            return Judgement("unknown", f"{trouble or entry.name} runs a text that is only known at run time")
        return self._inner(entry, " ".join(text for text in texts if text))

    def _inner(self, entry: CommandRule, text: str) -> Judgement:
        found = max(_judge(text, self._table, self._depth + 1), key=lambda one: (one.asks, SEVERITY.index(one.effect)))
        return self._through(entry, found)

    def _shell(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        texts = [word.plain for word in arguments]
        if len(texts) < 2 or not re.fullmatch(r"-[eul]*c", texts[0] or "") or texts[1] is None:
            return Judgement("unknown", f"{entry.name} runs commands that cannot be checked")
        found = self._inner(entry, texts[1])
        if "l" in (texts[0] or "") and not found.asks:
            return Judgement("unknown", f"{entry.name} -l runs the login scripts")
        return found

    def _xargs(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        rest, trouble = unwrap(entry, arguments)
        if trouble:
            return Judgement("unknown", f"{trouble} is not known to be read-only")
        flags = [word.plain or "" for word in arguments[: len(arguments) - len(rest)]]
        fed = bool(feed) and self._lists(feed)
        item = CommandWord("(the input of xargs)", (UNKNOWN,), loose=True, unknown_file=not fed)
        mark = next(
            (flags[at + 1] if text == "-I" else text[2:] for at, text in enumerate(flags) if text[:2] == "-I"), ""
        )
        if not rest:
            return READS
        if mark:
            return self._through(entry, self.command([_filled(word, mark, item) for word in rest], ()))
        return self._through(entry, self.command([*rest, item], ()))

    def _find(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        """Judge `find` and the commands that it runs for each match."""
        own: list[CommandWord] = []
        wide = any(is_wide(text) for word in arguments for text in word.texts)
        item = CommandWord("(a match of find)", (f"./{UNKNOWN}",), unknown_file=wide or self._names_secret)
        at, found = 0, []
        while at < len(arguments):
            if arguments[at].plain in _EXEC_FLAGS:
                end = next(
                    (to for to in range(at, len(arguments)) if arguments[to].plain in (";", "+")), len(arguments)
                )
                if end == at + 1 or end == len(arguments):
                    return Judgement("unknown", "find runs a command that does not end in ; or +")
                found.append(self.command([_filled(word, "{}", item) for word in arguments[at + 1 : end]]))
                at = end + 1
            else:
                own.append(arguments[at])
                at += 1
        found.append(self._permitted(entry, own))
        worst = max(found, key=lambda one: (one.asks, SEVERITY.index(one.effect)))
        return worst._replace(prefix=())

    def _sed(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        return self._scripted(entry, arguments, ("-e", "--expression"), sed_only_prints)

    def _awk(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        return self._scripted(entry, arguments, (), awk_only_prints)

    def _scripted(
        self,
        entry: CommandRule,
        arguments: list[CommandWord],
        options: Collection[str],
        harmless: Callable[[str], bool],
    ) -> Judgement:
        """Judge a command whose first operand, or the value of one of these options, is a script."""
        taken = take(entry, arguments)
        if taken.odd:
            return self._asked(entry._replace(effect="unknown", flags=None), arguments, taken.odd)
        scripts, files = [word for flag, word in taken.values if flag in options], list(taken.operands)
        if not scripts:
            scripts, files = files[:1], files[1:]
        for script in scripts or [CommandWord("", ())]:
            if script.plain is None or not harmless(script.plain):
                return Judgement("unknown", f"{entry.name} runs a script that is not known to only print: {script.raw}")
            for name in secrets_in(script.plain):
                return Judgement("read", f"{entry.name} could show a credential: {name}")
        return self._contents(entry.name, files)

    def _sql(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        """Judge a database client by its queries: values of options, or for sqlite3 the operands after the first."""
        taken = take(entry, arguments)
        queries = [word for flag, word in taken.values if flag in ("-c", "-e", "--command", "--execute")]
        if entry.name == "sqlite3":
            queries = list(taken.operands[1:])
            if (found := self._contents(entry.name, taken.operands[:1])).asks:
                return found
        for query in queries:
            text = query.plain
            if text is None or not (
                sql_only_reads(text)
                or re.fullmatch(r"(\\(d[a-zA-Z]{0,3}|l)\+?|\.(tables|schema|databases|indexes))( [\w.]+)?", text)
            ):
                loss = re.search(r"\b(drop|delete|truncate|update|alter)\b", query.raw, re.IGNORECASE)
                effect: Effect = "destroy" if loss else "unknown"
                return Judgement(
                    effect, f"{entry.name} runs {one_line(query.raw, 60)}, which is not known to be read-only"
                )
        if taken.odd or not (queries or "-l" in taken.flags):
            return Judgement("unknown", f"{taken.odd or entry.name} is not known to be read-only")
        return READS

    def _python(self, entry: CommandRule, arguments: list[CommandWord], feed: tuple[Simple, ...]) -> Judgement:
        texts = [word.plain for word in arguments]
        if texts[:1] == ["-c"] and len(texts) > 1 and texts[1] is not None:
            if python_only_prints(texts[1]):
                return READS
        elif texts[:1] == ["-m"] and len(texts) > 1 and texts[1] in ("pip", "json.tool"):
            return self.command(arguments[1:], feed)
        elif texts in (["-V"], ["-VV"]):
            return READS
        return Judgement("unknown", f"{entry.name} runs a program that is not known to be read-only")


def _is_local(host: str) -> bool:
    """Is this the machine itself, or the path of a socket?"""
    return host in ("localhost", "127.0.0.1", "::1") or host.startswith(("/", "./", "../"))


def _prefix(entry: CommandRule, effect: Effect, arguments: Sequence[CommandWord]) -> tuple[str, ...]:
    """Return the words that "always" may cover. A bare `curl` is not enough: it could send anything anywhere."""
    kept = [word.plain for word in arguments if not word.raw.startswith("-")][: entry.keep]
    words = (*entry.words, *(text for text in kept if text is not None))
    if None in kept or effect not in ("change", "send") or (effect == "send" and len(words) < 2):
        return ()
    return words


def _filled(word: CommandWord, mark: str, item: CommandWord) -> CommandWord:
    """Return the word with the placeholder replaced by the item that `find` or `xargs` inserts."""
    if all(mark not in text for text in word.texts):
        return word
    texts = tuple(text.replace(mark, item.texts[0]) for text in word.texts)
    return item._replace(raw=word.raw, texts=texts, loose=item.loose or word.plain != mark)
