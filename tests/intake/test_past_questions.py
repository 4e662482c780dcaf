"""Which questions are about past conversations, in five languages, and which only sound like it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import cpu_seconds

from aish.intake.past_questions import asks_about_past, shows_past

RECENT = [
    "summarise my recent conversations",
    "Summarize our chats from last week, please.",
    "give me a recap of what we discussed this week",
    "summary of my last 20 conversations",
    "Could you sum up the conversations we had in May?",
    "an overview of my chats",
    "recap our sessions",
    "what have we talked about lately?",
    "What did I work on yesterday?",
    "what have I been working on this month?",
    "fasse unsere letzten Gespräche zusammen",
    "Worüber haben wir letzte Woche gesprochen?",
    "Was habe ich gestern gemacht?",
    "Kannst du meine Unterhaltungen von heute zusammenfassen?",
    "résume mes conversations récentes",
    "De quoi avons-nous parlé hier ?",
    "Qu’avons-nous fait cette semaine ?",
    "fais un résumé de nos échanges",
    "resume mis conversaciones recientes",
    "¿De qué hablamos ayer?",
    "¿Qué hicimos la semana pasada?",
    "总结一下我最近的对话",
    "我们昨天聊了什么？",
    "最近我们聊了些什么",
    "summarise my week",
    "Recap yesterday.",
    "give me a summary of the last few days",
    "what was I working on yesterday?",
    "what have I been up to lately?",
    "Fasse zusammen, was ich diese Woche gemacht habe",
    "fass bitte zusammen, was wir gestern besprochen haben",
    "Woran habe ich letzte Woche gearbeitet?",
    "worüber haben wir diese Woche geredet?",
    "résume ce que j'ai fait cette semaine",
    "Résume ce qu’on a dit hier",
    "qu'est-ce que j'ai fait cette semaine ?",
    "de quoi on a parlé hier ?",
    "resume lo que hice esta semana",
    "haz un resumen de lo que hicimos ayer",
    "总结我这周的工作",
    "上周我做了什么",
]
THIS = [
    "summarise this conversation",
    "Please give me a summary of this chat so far.",
    "recap this session",
    "fasse dieses Gespräch zusammen",
    "résume cette conversation",
    "resume esta conversación",
    "总结这次对话",
    "总结一下这个对话",
]
SAID = [
    "what did we decide about the database?",
    "When did we agree on the release date?",
    "which editor did I say I prefer",
    "did I tell you about the cat?",
    "have we ever talked about backups?",
    "why did we settle on port 8080",
    "what was it that we decided in the end?",
    "Do you remember what we said about the cellar?",
    "as we discussed, what is next?",
    "last time we had a plan for the garden, what was it?",
    "Was haben wir über die Datenbank beschlossen?",
    "was habe ich zu den Terminen gesagt?",
    "Qu'avons-nous décidé pour le jardin ?",
    "¿Qué decidimos sobre el puerto?",
    "我们关于数据库决定了什么？",
    "我们上次讨论过备份吗",
    "Qu'est-ce qu'on a décidé pour le jardin ?",
]
NEITHER = [
    "",
    "   ",
    "🙂",
    "list the files here",
    "summarise README.md",
    "summarise this file",
    "summarise the discussion in issue 42",
    "give me an overview of the talks at PyCon",
    "what is a conversation?",
    "what is the TCP session timeout?",
    "write a chat server in Go",
    "remember that the cat is called Miso",
    "how do I say hello in French?",
    "how would you say this more politely?",
    "how do you decide between a list and a tuple?",
    "did you mean to say 'commit'?",
    "what did the compiler say",
    "why did the build fail?",
    "what did I do wrong in this code?",
    "what should I do about the failing test?",
    "Zusammenfassung dieser Datei bitte",
    "Was ist ein Gespräch?",
    "résume ce fichier",
    "comment dire bonjour",
    "resume este archivo",
    "总结这个文件",
    "你好",
    "summarise this week's commits",
    "summarise the last few days of the log",
    "recap yesterday's incident report",
    "fasse zusammen, was in der Datei steht",
    "qu'est-ce que j'ai fait de travers ?",
    "résume ce que fait cette fonction",
    "resume lo que hace esta función",
    "总结这周的日志",
]


@pytest.mark.proves("N5")
@pytest.mark.parametrize("typed", RECENT)
def test_a_wish_for_what_was_said_of_late_is_understood(typed: str) -> None:
    """In any supported language: a model without tools cannot reach the turns in another way."""
    assert asks_about_past(typed) == "recent"


@pytest.mark.proves("N6")
@pytest.mark.parametrize("typed", THIS)
def test_a_wish_for_a_summary_of_this_conversation_is_told_from_that_of_others(typed: str) -> None:
    """It must not bring turns of other conversations."""
    assert asks_about_past(typed) == "this"


@pytest.mark.parametrize("typed", SAID)
def test_a_question_for_something_that_was_said_is_understood(typed: str) -> None:
    """It is answered by a search, not by the newest turns."""
    assert asks_about_past(typed) == "said"


@pytest.mark.parametrize("typed", NEITHER)
def test_a_question_about_anything_else_brings_nothing(typed: str) -> None:
    """Doubt means no: unrequested turns take up context and confuse small models."""
    assert asks_about_past(typed) == ""


@pytest.mark.parametrize("typed", [RECENT[0], THIS[0], SAID[0]])
def test_how_it_is_written_does_not_matter(typed: str) -> None:
    """Letter case, newlines and repeated blanks make no difference. A long paste is never about the past."""
    kind = asks_about_past(typed)

    assert asks_about_past(typed.upper()) == kind
    assert asks_about_past("  " + typed.replace(" ", "\n  ") + "\n") == kind
    assert asks_about_past(f"{typed} {'log line ' * 50}") == ""


@settings(max_examples=60)
@given(
    st.text(max_size=450) | st.lists(st.sampled_from("did we say what my summarise 总结 chats".split())).map(" ".join)
)
def test_any_text_gets_an_answer(typed: str) -> None:
    """The check runs on every line that goes to a model."""
    assert asks_about_past(typed) in ("recent", "this", "said", "")


@pytest.mark.parametrize(
    "command",
    [
        "aish search kiln",
        "aish recent --by thread | head -3",
        "cd work && aish thread 12/3",
        "AISH_HOME=/srv/a /usr/local/bin/aish --json search 'two words'",
        "aish --set finding.meaning=false search kiln",
        "echo $(aish search kiln)",
        "python3 -m aish recent",
        "ls\naish search x;",
    ],
)
def test_a_command_that_shows_what_was_said_is_known(command: str) -> None:
    """Its output is already in the journals, however the command was started."""
    assert shows_past(command)


@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "grep -rn 'aish search' docs",
        "cat aish search.txt",
        "aish doctor",
        "aish searching",
        "aish import recent.json",
        "mkaish search",
        "aish memory list --all",
    ],
)
def test_other_commands_show_something_new(command: str) -> None:
    """A command that only contains the word aish is indexed like any other."""
    assert not shows_past(command)


def test_a_long_script_takes_no_longer() -> None:
    """The check runs on every command, before the next prompt appears."""
    short, long = ("echo aish;" + "a=a;" * count for count in (2_000, 20_000))
    assert not shows_past(long)
    assert cpu_seconds(lambda: shows_past(long)) < 20 * cpu_seconds(lambda: shows_past(short)) + 0.05
