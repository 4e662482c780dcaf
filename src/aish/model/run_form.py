"""The prompt and the form of answers for small models: one command after `run: `, or plain words.

Pure: a request in, a request out, and pieces of an answer in, events out. The text is fixed, so that a model reads it
once and its state is kept (`prompt_states.py`). Models of one or two billion parameters learn the form from the
examples; a grammar of llama.cpp keeps them to it. With schemas of tools in the prompt they answer at random.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from aish.values.events import ChatRequest, Failed, Finished, ModelEvent, TextPiece, ToolPiece
from aish.values.named_tuple import NamedTuple
from aish.values.text import clip, room_for
from aish.values.turns import SURROUNDINGS_MARK, Message

Messages = tuple[Message, ...]

RUN_TOOL = "run_command"
PREFIX = "run: "
_HOW = """\
You are aish, an assistant in the user's terminal. Answer every message in one of two ways.
1. `run: COMMAND`, one shell command, whenever the user wants something looked up, counted, shown, made or changed on \
this machine. You cannot know what is in files, so look. You will be told what it printed.
2. Plain words, short and exact: general knowledge, what a command means, how something is done, and what the user has \
told you. If you do not know, say so."""
# A question, the answer, and after a command perhaps `> ` with its status, if not 0, and what it printed, and the words
# about that. General ones of each kind; names of files differ, so that none is taken for one that is there.
_EXAMPLES = r"""
How long has this machine been running?
run: uptime -p
> up 3 days, 2 hours
It has been running for 3 days and 2 hours.

What is a prime number?
A whole number above 1 that only 1 and itself divide.

how many files are in docs
run: find docs -type f | wc -l

I work on the billing service.
Noted: you work on the billing service.

Where is the word retry used?
run: grep -rn retry .

who changed todo.txt last?
run: git log -1 --format='%an, %ar: %s' -- todo.txt
> Lee, 2 days ago: Add two tasks
Lee did, 2 days ago, in the commit "Add two tasks".

What does tar -tzf do?
It lists the files in a gzip-compressed tar archive without extracting them.

how many warnings are in the logs?
run: grep -rhi warning logs | wc -l
> 14
There are 14 warnings in the logs.

what's in invoice.tgz
run: tar -tzf invoice.tgz

what is the biggest file here
run: find . -type f -not -path './.git/*' -printf '%s %p\n' | sort -rn | head -n 1
> 91234 ./media/intro.mp4
It is media/intro.mp4 with 91,234 bytes.

Difference between a process and a thread?
A process has its own memory; the threads of a process share it.

put all pdf files into a folder called papers
run: mkdir -p papers && mv -- *.pdf papers/

our api is called falcon
Noted: your api is called falcon.

falcon listens on 7070, the old one was on 6060
Noted: falcon listens on 7070.

on which port is falcon?
Falcon is on port 7070.

total of the price column in data/items.csv
run: awk -F, 'NR==1 {for (i=1; i<=NF; i++) if ($i=="price") c=i; next} {s+=$c} END {print s}' data/items.csv
> 412.5
The prices add up to 412.5.

Wie viele Zeilen JavaScript gibt es in lib?
run: find lib -name '*.js' -exec cat {} + | wc -l

What is the capital of Kenya?
Nairobi.

is anything not committed?
run: git status --short
>  M app.js
Yes, app.js has changes that are not committed.

which service do i work on?
You work on the billing service.

change the version in package.json to 2.1.0
run: sed -i 's/"version": *"[^"]*"/"version": "2.1.0"/' package.json

how do I undo the last commit but keep the changes?
With git reset --soft HEAD~1; the changes stay in the index.

how many orders are in orders.csv, it has a header
run: tail -n +2 orders.csv | wc -l

Is node installed?
run: node --version
>127 bash: node: command not found
No, node is not installed.

make run.sh executable
run: chmod +x run.sh

I prefer dark themes and short lines.
Noted: you prefer dark themes and short lines.

unpack invoice.tgz into a new folder bills
run: mkdir -p bills && tar -xzf invoice.tgz -C bills

what is the name of my cat?
You have not told me the name of your cat.

which word comes most often in todo.txt?
run: grep -oiE '[a-z]+' todo.txt | sort | uniq -c | sort -rn | head -n 1

delete all .tmp files
run: find . -name '*.tmp' -type f -delete

are any two pictures the same?
run: find . -type f \( -name '*.jpg' -o -name '*.png' \) -exec md5sum {} + | sort | uniq -w32 -D

which cpu is in here
run: lscpu | grep 'Model name'

What does rm -i do?
It asks before it removes each file.

rename 'my list.txt' to list.txt
run: mv 'my list.txt' list.txt

which timeout does docs/setup.json set?
run: grep -n timeout docs/setup.json
> 3:  "timeout": 30,
It sets a timeout of 30.

save the sorted lines of todo.txt as sorted.txt
run: sort todo.txt > sorted.txt

where does the link current lead
run: readlink current

commit everything with the message fix totals
run: git add -A && git commit -m 'fix totals'

Qui a inventé le téléphone ?
Alexander Graham Bell, en 1876.

which report changed last
run: ls -t reports | head -n 1
> june.txt
june.txt changed last.

thanks!
You are welcome.
"""
FIXED = f"{_HOW}\n{_EXAMPLES}".strip()
_KNOWN = "What you know about me and my work:"
_KEPT = "I will answer from that when you ask about it."
# Words do not begin as a command does. A command has one line, unless the shell needs more: a here-document, a line
# that goes on after a backslash, or a block.
_LINES = r"""
words ::= first ("\n" rest)*
first ::= [^\nr] rest | "r" [^\nu] rest | "ru" [^\nn] rest
rest ::= [^\n]*
"""
_COMMAND = r"""
command ::= "run: " ([^\n]+ | rest open ("\n" [^\n]+)+)
open ::= "<<" [^\n]+ | "\\" | "do" | "then" | "{" | "("
"""
_WORDS = f"root ::= words{_LINES}"
_EITHER = f"root ::= command | words{_LINES}{_COMMAND}"
_MOST_OUTPUT = 150  # tokens of what a command printed, about: two cores read 40 to 90 a second
_MOST_QUESTION, _MOST_CHARS = 400, 450
_WHERE = "where am I, and what is here?"
_DONE = "Done. The command printed nothing."
_ANY_COMMAND, _FEW = "foo-bar", 4
_NOT_RUN = "The command was not run."


class _Result(NamedTuple):
    """How a command ended. `reason`: why it did not run."""

    status: object = 0
    printed: str = ""
    reason: str = ""


def is_in_form(request: ChatRequest) -> bool:
    """Is this a request of a conversation whose prompt begins with the fixed text? A side question is not.

    The prompt carries the text, although `openings` writes it anew, so that its tokens are counted.
    """
    first = request.messages[0]
    return bool(first["role"] == "system" and str(first["content"]).startswith(FIXED))


def known_answer(request: ChatRequest) -> str:
    """Return what is to be said without asking the model, after a command that printed nothing or did not run."""
    last = request.messages[-1]
    if last["role"] != "tool":
        return ""
    result = _result(str(last.get("content") or ""))
    if result.reason:
        return _NOT_RUN
    return "" if result.status or result.printed.strip() else _DONE


def in_words(request: ChatRequest) -> ChatRequest:
    """Return a request in this form whose answer can only be words."""
    return request._replace(grammar=_WORDS)


def about_any(request: ChatRequest, command: str) -> ChatRequest:
    """Return the same question about a command that nobody knows: is it to be run, or is the question about it?

    Small models run a command that stands in the question because they know it.
    """
    *before, asked = request.messages
    flat = " ".join(str(asked["content"]).split()).replace(" ".join(command.split()), _ANY_COMMAND)
    return request._replace(messages=(*before, asked | {"content": flat}), max_tokens=_FEW)


def question_of(request: ChatRequest) -> str:
    """Return what the user asked, without what was brought in front of it; nothing after a result."""
    last = request.messages[-1]
    return str(last["content"]).rstrip().rpartition("\n\n")[2] if last["role"] == "user" else ""


def _quotes(question: str, command: str) -> bool:
    """Does a command of several words stand in the question, with words around it?

    One word may be there by chance: "what is the date?".
    """
    flat, wanted = " ".join(question.split()), " ".join(command.split())
    return len(wanted.split()) > 1 and wanted in flat and flat != wanted


def in_run_form(request: ChatRequest) -> ChatRequest:
    """Return a request for an answer in this form. After a result the model has to answer in words."""
    messages, asked = [*openings(request)[0]], ""
    for number, one in enumerate(request.messages[1:]):
        if facts := _facts_in(one):  # told before the question: beside it, it looks like the answer
            messages += _here(facts) if number else ()  # the first ones are in the opening
            one = one | {"content": str(one["content"])[len(facts) :].lstrip("\n")}
        if one["role"] == "user":
            asked = str(one["content"])
        messages.append(_told(one, asked))
    grammar = _WORDS if request.messages[-1]["role"] == "tool" else _EITHER
    return request._replace(messages=tuple(messages), tools=(), grammar=grammar, stop=())


def openings(request: ChatRequest) -> tuple[Messages, ...]:
    """Return the beginnings that later requests share, in this form and the longest first; the last is always the same.

    What is known of the user is not in the first message, so that all conversations begin with the same ones.
    """
    found: list[Messages] = [({"role": "system", "content": _HOW}, *_examples())]
    if facts := _facts_in(request.messages[1] if len(request.messages) > 1 else {}):
        found.append((*found[-1], *_here(facts)))
    if known := str(request.messages[0]["content"]).removeprefix(FIXED).strip():
        found.append((*found[-1], {"role": "user", "content": f"{_KNOWN}\n{known}"}, _said(_KEPT)))
    return tuple(reversed(found))


def _examples() -> Iterator[Message]:
    for example in _EXAMPLES.strip().split("\n\n"):
        question, *lines = example.split("\n")
        yield {"role": "user", "content": question}
        for line in lines:
            if line.startswith(">"):
                status, _, printed = line[1:].partition(" ")
                yield _given(_Result(int(status or 0), printed), question)
            else:
                yield _said(line)


def _told(message: Message, asked: str) -> Message:
    """Return a message of the conversation in this form."""
    content = str(message.get("content") or "")
    if message["role"] == "tool":
        question = asked.rstrip().rpartition("\n\n")[2][-_MOST_QUESTION:]  # without what was recalled for it
        return _given(_result(content), question)
    if message["role"] == "assistant":
        calls = message.get("tool_calls") or ()
        command = _object(calls[0]["function"]["arguments"]).get("command") if calls else None
        return _said(f"{PREFIX}{command}" if command else content)
    return message


def _facts_in(message: Message) -> str:
    """Return what a message of the user says about the surroundings, in front of the question."""
    content = str(message.get("content") or "")
    return content.partition("\n\n")[0] if content.startswith(SURROUNDINGS_MARK) else ""


def _here(facts: str) -> list[Message]:
    """Return the directory and its files as a command that was run: told in words, they are answered with words."""
    told = dict(row.partition(": ")[::2] for row in facts.split("\n")[1:])
    where = str(_value(told.get("directory", "")) or ".")
    printed = _Result(printed="\n".join(filter(None, (where, told.get("files", "")))))
    return [
        {"role": "user", "content": _WHERE},
        _said(f"{PREFIX}pwd && ls"),
        _given(printed, _WHERE),
        _said(f"You are in {where}."),
    ]


def _said(text: str) -> Message:
    return {"role": "assistant", "content": text}


def _result(content: str) -> _Result:
    """Read what the tool returned."""
    found = _object(content)
    if "reason" in found:
        return _Result(reason=str(found["reason"]))
    if "output" in found:
        return _Result(found.get("status"), str(found["output"]))
    return _Result(printed=str(found.get("text") or found.get("note") or content))  # it was too long, or is words


def _given(result: _Result, question: str) -> Message:
    """Return a result as a message of the user, with the question that it is for: small models forget it."""
    printed = result.printed.strip()
    printed = clip(printed, min(room_for(printed, _MOST_OUTPUT), _MOST_CHARS))
    if result.reason:
        text = f"It was not run: {result.reason}"
    elif result.status:
        text = f"It failed with exit status {result.status}:\n{printed}"
    else:
        text = f"It printed:\n{printed}" if printed else "It printed nothing."
    return {"role": "user", "content": f"{text}\n\nSo, in one sentence: {question}"}


def _object(text: str) -> dict[str, Any]:
    value = _value(text or "{}")
    return value if isinstance(value, dict) else {}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class RunReader:
    """Reads an answer in this form as it arrives: words are passed on at once, a command becomes a call.

    Where no command can be run, it is shown as a proposal. A command that stands in the question is held in `quoted` at
    the end: the question may be about it.
    """

    def __init__(self, *, can_run: bool, question: str = "") -> None:
        self._can_run, self._question = can_run, question
        self.quoted = ""
        self._text = ""  # what is not passed on yet: the beginning, or the whole of a command
        self._words = False

    def read(self, event: ModelEvent) -> list[ModelEvent]:
        match event:
            case TextPiece(text) if not self._words:
                self._text += text
                if PREFIX.startswith(self._text) or self._text.startswith(PREFIX):
                    return []
                self._words = True
                return [TextPiece(self._text)]
            case Finished(reason):
                told = self._end(whole=reason == "stop")
                return [] if self.quoted else [*told, event]
            case Failed():
                return [*self._end(whole=False), event]
        return [event]

    def _end(self, *, whole: bool) -> list[ModelEvent]:
        """Return the command, unless it was cut off: half of one may be another command."""
        if self._words or not self._text:
            return []
        command = re.sub(r"^`(.*)`$", r"\1", self._text.removeprefix(PREFIX).strip())
        if not self._text.startswith(PREFIX):
            return [TextPiece(self._text)]
        if not whole or not command:
            return []
        self.quoted = command if _quotes(self._question, command) else ""
        return self.proposed(command)

    def proposed(self, command: str) -> list[ModelEvent]:
        """Return a command as a call, or as a proposal where none can be run."""
        if not self._can_run:
            return [TextPiece(f"CMD: {command}")]
        return [ToolPiece(0, "", RUN_TOOL, json.dumps({"command": command}, ensure_ascii=False))]
