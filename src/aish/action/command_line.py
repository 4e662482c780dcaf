"""Parse a command line into all its simple commands, redirections and assignments, at any nesting level.

Pure: text in, values out. It fails closed: parse errors, unsupported syntax and ambiguous text raise
`UnreadableCommand`.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache

from tree_sitter import Language, Node, Parser

from aish.action.bash_grammar import language
from aish.action.command_words import (
    NUMBER,
    OPEN,
    CommandWord,
    UnreadableCommand,
    ansi_quoted,
    braces,
    hides_expansion,
    joined,
    literal,
    single_quoted,
    source,
    unquoted_string,
    variable,
)
from aish.action.line_parts import CommandLine, Dialect, Redirect, Simple
from aish.action.line_variables import LineVariables, prints_number
from aish.values.patterns import pattern

MOST_PARTS = 20
_GROUPS = frozenset(
    "program list compound_statement subshell do_group if_statement elif_clause else_clause while_statement "
    "negated_command case_item variable_assignments".split()
)
_TOKENS = frozenset("; && || & | |& ( ) { } ;; ;& ;;& ! if then elif else fi while until do done \n".split(" "))
_TESTS = frozenset("[ ] = == != !".split())
_REDIRECTS = frozenset("< > >> >| <> <& >& << <<- <&- >&-".split())  # of every shell
_POSIX_EXPANSION = pattern(r"\$\{#?\w+(?:(?::?[-+]|%%?|##?)[^}]*)?\}")
# Words that mean the same in every shell, also in those that are not like the Bourne shell.
_PLAIN_LINE = pattern(r"(?>(?:[\w./:+,-]++|[ \t]++|\|\|?|&&|;)+)", re.ASCII)
# Commands that evaluate their operands as arithmetic in some of these shells.
_EVALUATING = pattern(r"(?<![\w./-])(?:test|exit|return|break|continue|shift|wait|ulimit|kill)(?![\w./-])")
_NAMED_DESCRIPTOR = pattern(r"(?<!\$)\{\w+\}[<>]|\]\}[<>]")
_MOST_ORIGINS = 50
_MOST_IN_RANGES = 6  # digits of the largest numbers in {1..9}{1..9} together
_ARITHMETIC = frozenset(
    "arithmetic_expansion compound_statement binary_expression unary_expression postfix_expression "
    "parenthesized_expression ternary_expression".split()
)
_NUMERIC_TESTS = frozenset("-eq -ne -lt -le -gt -ge".split())


@cache
def _parser() -> Parser:
    return Parser(Language(language()))


def parse(text: str) -> Node:
    """Return the root of the parse tree. Raises `UnreadableCommand`."""
    root = _parser().parse(text.encode("utf-8")).root_node
    if root.has_error:
        raise UnreadableCommand("it is not a complete command, or it cannot be parsed safely")
    return root


def read_line(text: str, dialect: Dialect = "bash") -> CommandLine:
    """Parse a command line. Raises `UnreadableCommand`."""
    if re.search(r"[^ \t]\\\n", text):
        raise UnreadableCommand("a line is continued in the middle of a word")
    if _NAMED_DESCRIPTOR.search(text):
        raise UnreadableCommand("a redirection sets a variable")
    if dialect == "other" and (_EVALUATING.search(text) or not _PLAIN_LINE.fullmatch(text)):
        raise UnreadableCommand("it is for a shell that is not like bash, and it is more than plain words")
    root = parse(text)
    data = text.encode("utf-8")
    _check_gap(data[: root.start_byte])
    _check_gap(data[root.end_byte :])
    variables = LineVariables()
    for _ in range(3):
        reader = _Reader(data, variables, posix=dialect != "bash")
        reader.statement(root)
        if not variables.late:
            mentioned = (*variables.mentioned, *reader.mentioned)
            return CommandLine(tuple(reader.parts), mentioned, tuple(variables.bound), reader.commented)
        variables.again()
    raise UnreadableCommand("its variables depend on each other")


class _Reader:
    """Walks the tree once."""

    def __init__(self, data: bytes, variables: LineVariables, *, posix: bool) -> None:
        self._data = data
        self._posix = posix
        self.parts: list[Simple] = []
        self.mentioned: list[CommandWord] = []
        self.commented = False
        self._variables = variables
        self._loops = 0

    def statement(self, node: Node, feed: tuple[Simple, ...] = ()) -> tuple[Simple, ...]:
        """Read one statement and return the commands whose output it passes on."""
        kind = node.type
        if kind in ("command", "declaration_command", "unset_command"):
            return self._command(node, feed)
        if kind == "compound_statement" and node.children[0].type == "((":
            self._bash_only("((")
            return self._arithmetic(node)
        if kind == "while_statement":
            return self._in_loop(lambda: self._group(node, feed))
        if kind in _GROUPS:
            return self._group(node, feed)
        if kind == "pipeline":
            for child in self._children(node):
                feed = self.statement(child, feed) if child.is_named else self._token(child, feed)
            return feed
        if kind == "redirected_statement":
            return self._redirected(node, feed)
        if kind == "variable_assignment":
            self._add(Simple(assigns=(self._assign(node),)))
            return ()
        if kind in ("for_statement", "case_statement", "c_style_for_statement"):
            return self._in_loop(lambda: self._loop(node))
        if kind == "test_command":
            single = node.children[0].type == "["
            if not single:
                self._bash_only("[[")
            return self._test(node, single=single)
        if kind == "comment":
            return ()
        if kind == "function_definition":
            raise UnreadableCommand("it defines a function")
        raise UnreadableCommand(f"it contains syntax that is not checked ({kind.replace('_', ' ')})")

    def _bash_only(self, what: str) -> None:
        if self._posix:
            raise UnreadableCommand(f"{what} has another meaning in a shell that is not bash")

    def _in_loop(self, read: Callable[[], tuple[Simple, ...]]) -> tuple[Simple, ...]:
        self._loops += 1
        given = read()
        self._loops -= 1
        return given

    def _group(self, node: Node, feed: tuple[Simple, ...]) -> tuple[Simple, ...]:
        given: tuple[Simple, ...] = ()
        patterns = {one.id for one in node.children_by_field_name("value")} if node.type == "case_item" else ()
        for child in self._children(node):
            if child.id in patterns:
                self._mention(child)
            elif child.is_named:
                given += self.statement(child, feed)
            else:
                self._token(child, ())
        return given

    def _children(self, node: Node) -> Iterator[Node]:
        """Yield the children. Raise if there is text between them, or a comment where the shell would see none."""
        at = node.start_byte
        for child in node.children:
            if child.start_byte > at:
                _check_gap(self._data[at : child.start_byte])
            if child.type == "comment" and self._data[max(child.start_byte - 1, 0)] not in b" \t\n;#":
                raise UnreadableCommand("it is unclear where a comment begins")
            if child.type == "comment":
                line = self._data.rfind(b"\n", 0, child.start_byte) + 1
                self.commented |= bool(self._data[line : child.start_byte].strip())
            at = child.end_byte
            yield child
        _check_gap(self._data[at : node.end_byte])

    def _token(self, node: Node, feed: tuple[Simple, ...]) -> tuple[Simple, ...]:
        if node.type not in _TOKENS:
            raise UnreadableCommand(f"{source(node)!r} is unexpected here")
        if node.type == "&" and self._loops:
            raise UnreadableCommand("a loop starts commands in the background")
        if node.type in ("|&", ";&", ";;&"):
            self._bash_only(node.type)
        after = self._data[node.end_byte : node.end_byte + 1]
        if (node.type in "!{" and after not in b" \t\n") or (node.type.isalpha() and after not in b" \t\n;&|()<>"):
            raise UnreadableCommand(f"{node.type} without a space after it is part of a word")
        return feed

    def _add(self, part: Simple) -> None:
        self.parts.append(part)
        if len(self.parts) > MOST_PARTS:
            raise UnreadableCommand(f"it has more than {MOST_PARTS} parts")

    def _command(self, node: Node, feed: tuple[Simple, ...], more: tuple[CommandWord, ...] = ()) -> tuple[Simple, ...]:
        words: list[CommandWord] = []
        assigns: list[tuple[str, CommandWord]] = []
        redirects: list[Redirect] = []
        for child in self._children(node):
            if child.type == "variable_assignment":
                assigns.append(self._assign(child))
                if words:  # `export X=1`: an operand as well
                    words.append(CommandWord(source(child), (source(child),)))
            elif child.type == "command_name":
                words.append(self._word(child.children[0]))
            elif child.type.endswith("_redirect"):
                redirect, extra = self._redirect(child)
                redirects.append(redirect)
                words += extra
            elif child.type == "variable_name":
                words.append(CommandWord(source(child), (source(child),)))
            else:
                keyword = not child.is_named and child.type.isalpha()
                words.append(CommandWord(child.type, (child.type,)) if keyword else self._word(child))
        self._variables.bind_reader(words)
        part = Simple((*words, *more), tuple(assigns), tuple(redirects), feed)
        self._add(part)
        return (*feed, part)

    def _redirected(self, node: Node, feed: tuple[Simple, ...]) -> tuple[Simple, ...]:
        redirects: list[Redirect] = []
        extra: list[CommandWord] = []
        body, given = None, feed
        for child in self._children(node):
            if child.type == "heredoc_redirect":
                self._here_document(child, redirects, extra)
            elif child.type.endswith("_redirect"):
                redirect, more = self._redirect(child)
                redirects.append(redirect)
                extra += more
            else:
                body = child
        if body is not None and body.type == "command":
            given = self._command(body, feed, tuple(extra))
        elif extra:
            raise UnreadableCommand("there are words after a redirection")
        elif body is not None:
            given = self.statement(body, feed)
        self._add(Simple(redirects=tuple(redirects)))
        return given

    def _redirect(self, node: Node) -> tuple[Redirect, list[CommandWord]]:
        operator, targets = "", []
        for child in self._children(node):
            if child.type == "file_descriptor":
                continue
            if not child.is_named and not operator:
                operator = child.type
            else:
                targets.append(self._word(child))
        if not targets and operator in (">&-", "<&-"):
            return Redirect(operator), []
        if not targets:
            raise UnreadableCommand("a redirection has no target")
        if operator not in _REDIRECTS:
            self._bash_only(operator)
        return Redirect(operator, targets[0]), targets[1:]

    def _here_document(self, node: Node, redirects: list[Redirect], extra: list[CommandWord]) -> None:
        """Read a here-document, with the rest of its first line, which the parser puts inside it."""
        start = body = end = ""
        for child in self._children(node):
            match child.type:
                case "<<" | "<<-" | "&&" | "||" | ";" | "file_descriptor":
                    pass
                case "heredoc_start":
                    start = source(child)
                case "heredoc_body":
                    body = source(child)
                case "heredoc_end":
                    end = source(child)
                case "pipeline":
                    for stage in child.children:
                        if stage.is_named:
                            self.statement(stage, (Simple(),))
                case "file_redirect":
                    redirect, more = self._redirect(child)
                    redirects.append(redirect)
                    extra += more
                case "command":
                    self.statement(child)
                case kind:
                    raise UnreadableCommand(f"a here-document is followed by {kind.replace('_', ' ')}")
        name = start.strip("'\"")
        lines = [line.strip("\t") for line in body.split("\n")]
        if not name.replace("_", "").isalnum() or end.strip() != name or name in lines:
            raise UnreadableCommand("it is unclear where a here-document ends")
        if start == name and any(mark in body for mark in ("`", "$(", "${", "\\")):
            raise UnreadableCommand("a here-document may contain commands")
        redirects.append(Redirect("<<", OPEN._replace(raw=body if start == name else "")))

    def _assign(self, node: Node) -> tuple[str, CommandWord]:
        name, *rest = self._children(node)
        if name.type != "variable_name" or [child.type for child in rest[:1]] not in (["="], ["+="]):
            raise UnreadableCommand("it sets an array element")
        values = [CommandWord("", ("",))]
        if rest[0].type == "+=":
            self._bash_only("+=")
        if len(rest) > 1 and rest[1].type == "array":
            self._bash_only("an array")
            values = [self._word(child) for child in self._children(rest[1]) if child.is_named]
            if any(value.raw.startswith("[") for value in values):
                raise UnreadableCommand("the index of an array is evaluated as arithmetic")
        elif len(rest) > 1:
            values = [self._word(rest[1])]
        if rest[0].type == "+=":
            values.append(OPEN)
        self._variables.assign(source(name), values)
        return source(name), joined(source(node), values[:1]) if len(values) == 1 else OPEN._replace(raw=source(node))

    def _loop(self, node: Node) -> tuple[Simple, ...]:
        given: tuple[Simple, ...] = ()
        values: list[CommandWord] = []
        name = ""
        for child in self._children(node):
            if child.type in ("do_group", "compound_statement", "case_item"):
                if name:
                    self._variables.bind(name, values)
                given += self.statement(child)
            elif child.type == "variable_name":
                name = source(child)
            elif child.type == "select":
                raise UnreadableCommand("select asks you to type something")
            elif node.type == "c_style_for_statement":
                self._bash_only("for ((")
                self._arithmetic(child)
            elif child.is_named and child.type != "comment":
                values.append(self._word(child))
        self.mentioned += values
        return given

    def _test(self, node: Node, *, single: bool) -> tuple[Simple, ...]:
        """Read `[ … ]` or `[[ … ]]`: they run only substitutions, but `[[` evaluates numbers and `-v` subscripts."""
        if node.type == "test_command" and not re.fullmatch(r"\[\[?\s.*\s\]\]?", source(node), re.DOTALL):
            raise UnreadableCommand("brackets without spaces are part of a word")
        for child in self._children(node):
            if child.type.endswith("_expression"):
                parts = child.children
                operators = [part.type if not part.is_named else source(part) for part in parts if not part.child_count]
                if _NUMERIC_TESTS.intersection(operators) and not single:
                    for part in parts:
                        self._arithmetic(part)
                elif "-v" in operators and not source(parts[-1]).isidentifier():
                    raise UnreadableCommand("-v evaluates its argument")
                else:
                    self._test(child, single=single)
            elif not child.is_named and child.type not in _TESTS and single:
                raise UnreadableCommand(f"{child.type} inside [ ] belongs to the shell, not to the test")
            elif child.is_named and child.type != "test_operator":
                self._mention(child)
        return ()

    def _arithmetic(self, node: Node) -> tuple[Simple, ...]:
        """Require numbers in an arithmetic context: other text would be evaluated, and can run commands."""
        kind, raw = node.type, source(node)
        if kind in ("number", "test_operator") or not (node.is_named or node.children):
            return ()
        if kind in ("variable_name", "word", "simple_expansion", "expansion"):
            if not (raw.isdigit() or ((raw[0] == "$" or raw.isidentifier()) and self._variables.holds_number(raw))):
                raise UnreadableCommand(f"{raw} is evaluated as arithmetic, and it may not be a number")
        elif kind in ("command_substitution", "string") and prints_number(raw):
            self._word(node)
        elif kind == "variable_assignment":
            self._variables.bind(source(node.children[0]), [NUMBER])
            self._arithmetic(node.children[-1])
        elif kind in _ARITHMETIC:
            for child in self._children(node):
                self._arithmetic(child)
        else:
            raise UnreadableCommand(f"{raw} is evaluated as arithmetic")
        return ()

    def _mention(self, node: Node) -> None:
        if node.type in ("extglob_pattern", "regex"):
            if hides_expansion(source(node)):
                raise UnreadableCommand(f"{source(node)} is expanded before it is compared")
            return
        self.mentioned.append(self._word(node))

    def _word(self, node: Node, *, quoted: bool = False) -> CommandWord:
        match node.type:
            case "word":
                return self._braces(literal(node))
            case "number" if source(node).lstrip("-").isalnum():
                return CommandWord(source(node), (source(node),))
            case "raw_string":
                return single_quoted(node)
            case "ansi_c_string":
                self._bash_only("$'…'")
                return ansi_quoted(node)
            case "string":
                return self._string(node)
            case "concatenation":
                pieces = [self._piece(child) for child in _touching(node)]
                ranges = [source(child) for child in node.children if child.type == "brace_expression"]
                if sum(max(map(len, re.findall(r"\d+", one)), default=0) for one in ranges) > _MOST_IN_RANGES:
                    raise UnreadableCommand(f"{source(node)} is a very long list")
                word = joined(source(node), pieces)
                unquoted = any(child.type == "word" and "{" in source(child) for child in node.children)
                return self._braces(word) if unquoted else word
            case "simple_expansion" | "expansion":
                return self._expansion(source(node).lstrip(" \t") if quoted else source(node), quoted)
            case "command_substitution" | "process_substitution":
                return self._substitution(node, quoted)
            case "arithmetic_expansion":
                if source(node).startswith("$["):
                    self._bash_only("$[")
                for child in self._children(node):
                    self._arithmetic(child)
                return NUMBER._replace(raw=source(node))
            case "brace_expression":
                self._braces(CommandWord(source(node), (source(node),)))
                return CommandWord(source(node), ("1",))
            case kind:
                raise UnreadableCommand(f"{source(node)!r} ({kind.replace('_', ' ')}) is not checked")

    def _braces(self, word: CommandWord) -> CommandWord:
        if "{" not in word.raw:
            return word
        expanded = braces(word)
        if expanded != word:
            self._bash_only(word.raw)
        return expanded

    def _piece(self, node: Node) -> CommandWord:
        """Read a part of a word. Braces are expanded later, because the next part may close them."""
        return literal(node) if node.type == "word" else self._word(node)

    def _string(self, node: Node) -> CommandWord:
        raw = source(node)
        pieces, at = [], node.start_byte + 1
        data = (node.text or b"")[1:-1]
        for child in node.children[1:-1]:
            if child.type != "string_content":
                pieces.append(self._plain(data[at - node.start_byte - 1 : child.start_byte - node.start_byte - 1]))
                pieces.append(self._word(child, quoted=True))
                at = child.end_byte
        pieces.append(self._plain(data[at - node.start_byte - 1 :]))
        return joined(raw, [piece for piece in pieces if piece.texts != ("",)] or pieces[:1], quoted=True)

    @staticmethod
    def _plain(data: bytes) -> CommandWord:
        text = data.decode("utf-8")
        if hides_expansion(text):
            raise UnreadableCommand(f"{text!r} is expanded")
        return CommandWord(text, (unquoted_string(text),))

    def _expansion(self, raw: str, quoted: bool) -> CommandWord:
        if not variable(raw)[1] and not _POSIX_EXPANSION.fullmatch(raw):
            self._bash_only(raw)
        return self._variables.expand(raw, quoted=quoted)

    def _substitution(self, node: Node, quoted: bool) -> CommandWord:
        given: tuple[Simple, ...] = ()
        if source(node).startswith("`") and "\\" in source(node):
            raise UnreadableCommand("backslashes inside backticks are read twice")
        for child in list(self._children(node))[1:-1]:
            if child.type == "file_redirect":  # $(<file)
                redirect, extra = self._redirect(child)
                if extra:
                    raise UnreadableCommand("there are words after a redirection")
                self._add(Simple(redirects=(redirect,)))
                given = (Simple(),)
            elif child.is_named:
                given += self.statement(child)
            else:
                self._token(child, ())
        if node.type == "process_substitution":
            self._bash_only("<(")
            return CommandWord(source(node), ("/dev/fd/63",))
        if sum(1 + len(word.origins) for part in given for word in part.words) > _MOST_ORIGINS:
            return OPEN._replace(raw=source(node))
        return OPEN._replace(raw=source(node), unknown_file=False, origins=(given,))


def _check_gap(gap: bytes) -> None:
    if gap.replace(b"\\\n", b"").strip(b" \t\n"):
        raise UnreadableCommand(f"{gap.decode('utf-8', 'replace')!r} is skipped by the parser")


def _touching(node: Node) -> Iterator[Node]:
    at = node.start_byte
    for child in node.children:
        if child.start_byte != at:
            raise UnreadableCommand(f"{source(node)!r} has a gap")
        at = child.end_byte
        yield child
