"""A search is parsed into words, phrases, exclusions, speakers, a channel and times, and never fails."""

from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import cpu_seconds

from aish.memory.finding.query import Query, read_query

NOW = datetime(2026, 11, 18, 15, 20, tzinfo=ZoneInfo("Europe/Berlin"))  # a Wednesday


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=NOW.tzinfo)


@pytest.mark.proves("N8")
def test_a_query_with_every_operator_is_parsed() -> None:
    """Only the remaining words are searched for by words and meaning."""
    query = read_query('docker "port  forwarding" -compose role:me in:ops since:2026-05 until:May what failed?', NOW)

    assert query == Query(
        words="docker what failed?",
        phrases=("port forwarding",),
        without=("compose",),
        roles=frozenset({"user"}),
        channel="ops",
        since=day("2026-05-01"),
        until=day("2026-06-01"),
    )


@pytest.mark.proves("N8")
def test_times_in_plain_language_are_not_search_words() -> None:
    """A time that may be the topic stays a word too; both keep their position in the original text."""
    text = "role:me what did May say last Tuesday about the 2023 budget"
    query = read_query(text, NOW)

    assert query.words == "what did May say about the 2023 budget"
    assert [(text[span.begin : span.end], span.sure) for span in query.times] == [
        ("May", False),
        ("last Tuesday", True),
        ("2023", False),
    ]
    assert (query.since, query.until) == (None, None)


@pytest.mark.parametrize(
    "text", ['"two words"', "“two words”", "„two words“", "„two words”", "«two words»", '" two\twords "']
)
def test_a_phrase_may_stand_in_the_quotes_of_any_keyboard(text: str) -> None:
    """Word processors and phones change quotes while the user types."""
    query = read_query(f"a {text} b", NOW)

    assert (query.words, query.phrases) == ("a b", ("two words",))


def test_times_and_operators_inside_a_phrase_are_words_of_it() -> None:
    """A quoted text is taken literally."""
    query = read_query('"since yesterday in:ops -this"', NOW)

    assert query == Query(phrases=("since yesterday in:ops -this",))


@pytest.mark.parametrize("text", ['a 5" pipe', "say “hello", '"', "it's", '""', "„a", "don't \"stop"])
def test_an_unclosed_quote_is_a_character_like_any_other(text: str) -> None:
    """Nothing after it is lost."""
    query = read_query(text, NOW)

    assert query.phrases == ()
    assert query.words == text.replace('""', "")


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("network -docker", ("docker",)),
        ("network -Docker -docker, -ssh", ("Docker", "docker", "ssh")),
        ('-"docker compose"', ("docker compose",)),
        ("-größe -不要 -錯", ("größe", "不要", "錯")),
        ("-foo -foo", ("foo",)),
        ("kettle -name -type -go -c", ("name", "type", "go", "c")),
        ("parser -foo.py -no-verify -c++ -utf-8", ("foo.py", "no-verify", "c++", "utf-8")),
        ("git -rebase", ("rebase",)),
        ("docker -name", ("name",)),
    ],
)
def test_a_dash_before_a_word_leaves_it_out(text: str, without: tuple[str, ...]) -> None:
    """Also as the only part of a search."""
    assert read_query(text, NOW).without == without


@pytest.mark.parametrize(
    "text",
    [
        *(
            "ls -v",
            "ls -la",
            "kill -9",
            "minus -5",
            "git --force",
            "git commit -am x",
            "tar -xzf a.tgz",
            "find . -name x",
        ),
        *("well-known", "a - b", "-", "--", "-a/b", "-dfoo=1", "rm -rf /", "---word"),
    ],
)
def test_the_options_of_a_command_are_words(text: str) -> None:
    """Users ask about commands."""
    assert read_query(text, NOW) == Query(words=text)


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        ("role:user", {"user"}),
        ("ROLE:Me", {"user"}),
        ("role:you", {"assistant"}),
        ("role:ai role:tool", {"assistant", "tool"}),
        ("role:assistant,tool", {"assistant", "tool"}),
    ],
)
def test_a_role_may_be_me_or_you(text: str, roles: set[str]) -> None:
    """ "me" is the user, and "you" is the assistant."""
    assert read_query(f"a {text} b", NOW) == Query(words="a b", roles=frozenset(roles))


def test_a_channel_may_have_blanks_in_quotes() -> None:
    """The last one counts, because there can be only one."""
    assert read_query('x In:"my project"', NOW) == Query(words="x", channel="my project")
    assert read_query("in:a in:#b x", NOW) == Query(words="x", channel="b")


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("since:yesterday", "2026-11-17", ""),
        ("until:yesterday", "", "2026-11-18"),
        ("after:yesterday", "2026-11-18", ""),
        ("before:yesterday", "", "2026-11-17"),
        ('Since:"last tuesday"', "2026-11-17", ""),
        ("since:last tuesday", "2026-11-17", ""),
        ("since:2 weeks ago", "2026-11-04", ""),
        ("since:May 2024 until:Jun 2024", "2024-05-01", "2024-07-01"),
        ("since:2024 since:2025 until:May until:June", "2025-01-01", "2026-06-01"),
        ("since:3d", "2026-11-15T15:20", ""),
        ("before:14:30", "", "2026-11-18T14:30"),
    ],
)
def test_bounds_are_read_with_and_without_quotes(text: str, since: str, until: str) -> None:
    """Of two bounds the narrower one counts, and words after a bound stay words."""
    query = read_query(f"{text} report", NOW)

    assert query == Query(words="report", since=day(since) if since else None, until=day(until) if until else None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("until:gestarn", 'unknown time "gestarn" after until:; try until:2026-05-08, until:yesterday or until:3d'),
        ("since:2026-02-30", 'unknown time "2026-02-30" after since:'),
        ("role:boss", 'unknown role "boss"; try role:user, role:assistant or role:tool'),
    ],
)
def test_an_invalid_operator_is_reported(text: str, says: str) -> None:
    """It is not searched for, because no turn contains it; the rest of the query still counts."""
    query = read_query(f"{text} report", NOW)

    assert query.words == "report"
    (trouble,) = query.trouble
    assert trouble.startswith(says)


@pytest.mark.parametrize(
    "text", ["", "  ", "since:", "role: in:", "pip install x", "http://in:80", "(in:x)", "登in:x", "😀", "a*b? [x] ^$"]
)
def test_text_without_operators_stays_words(text: str) -> None:
    """Also an empty query, and characters with a meaning elsewhere."""
    assert read_query(text, NOW) == Query(words=text.strip())


def test_characters_that_cannot_be_indexed_are_removed_from_a_query() -> None:
    """Control characters and half characters would fail later, far from the place of the mistake."""
    query = read_query('a\x00b \ud83d c "d\x07e" -foo\x1bbar in:x\udc00', NOW)

    assert query == Query(words="a b c bar", phrases=("d e",), without=("foo",), channel="x")


PARTS = st.sampled_from(
    [
        *'role: in: since: until: " “ ” „ « » - -- word -word yesterday May 2 weeks ago user me , ( ) * 昨天'.split(),
        "\0",
        "\ud800",
    ]
)


@settings(max_examples=150, deadline=None)
@given(
    st.one_of(
        st.text(st.characters(), max_size=80), st.lists(PARTS, max_size=14).map("".join), st.lists(PARTS).map(" ".join)
    )
)
def test_any_text_is_a_query(text: str) -> None:
    """There is never an error; all parts can be written as UTF-8, and all times are in the text."""
    query = read_query(text, NOW)

    for part in (query.words, query.channel, *query.phrases, *query.without, *query.trouble):
        part.encode("utf-8")
        assert "\x00" not in part
    assert query.words == " ".join(query.words.split())
    assert all(0 <= span.begin < span.end <= len(text) for span in query.times)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.from_regex(r"[b-df-hj-np-tv-z]{4,9}", fullmatch=True), min_size=1, max_size=8))
def test_plain_words_are_left_as_they_are(words: list[str]) -> None:
    """Most questions have no operator and no time."""
    assert read_query(" ".join(words), NOW) == Query(words=" ".join(words))


def test_the_rest_of_a_long_text_is_words_and_is_parsed_quickly() -> None:
    """For example when a log is pasted into the search."""
    texts = ["“" * 100_000, '"a' * 50_000, "since:x a b c " * 7_000, "-" * 100_000, "\x00 " * 50_000, 'in:"a' * 20_000]
    for text in texts:
        tenth = cpu_seconds(partial(read_query, text[: len(text) // 10], NOW))
        assert cpu_seconds(partial(read_query, text, NOW)) < 20 * tenth + 0.05
    query = read_query("yesterday " + "word " * 20_000 + "-left role:me", NOW)

    assert query.words.endswith("word -left role:me")
    assert (len(query.times), query.without, query.roles) == (1, (), frozenset())


def test_a_quote_in_a_whole_sentence_is_not_required() -> None:
    """In a whole sentence a quote is only part of the subject; in a short query it is a filter."""
    few, sentence = 'show "must go on"', 'who told me that "must go on" is overrated?'

    assert read_query(few, NOW).phrases == ("must go on",)
    assert read_query(sentence, NOW).phrases == ()
    assert read_query(sentence, NOW).words == "who told me that is overrated? must go on"
