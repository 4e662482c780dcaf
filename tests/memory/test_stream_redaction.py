"""A streamed answer is masked before it is complete, and prose is not held back."""

import string
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.memory.secret_patterns import find, redact
from aish.memory.stream_redaction import StreamRedaction

SALT = b"salt of this test"
VALUE = "F4k3" + "q9ZkP2mX7vLr8TnW"  # concatenated, so that secret scanners do not report this file
BODY = "\n".join("MIIE" + VALUE * 3 for _ in range(4))
SECRETS = (
    "ghp" + "_" + VALUE * 2,
    "AKIA" + "IOSFOD" + "NN7QWERTYU",
    f"my password is {VALUE}",
    f"the password for the server is {VALUE}, really",
    f"sshpass -p {VALUE} ssh root@host",
    "sshpass -p swordfish ssh root@host",
    "you login bob with pass swordfish and that is all",
    f"mysql -u root -p{VALUE} app",
    f"echo {VALUE} | sudo -S ls",
    "echo swordfish | sudo -S ls",
    f"https://bob:{VALUE}@host.example/",
    f"password:\n\n{VALUE}",
    f"Password:\n```\n{VALUE}\n```",
    f"curl \\\n  -u bob:{VALUE} \\\n  https://x.example",
    f"- name: DB_PASSWORD\n  value: {VALUE}",
    'passphrase: "Correct horse 9 battery staple"',
    f"密码是{VALUE}。",
    f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----",
    "my pin is 48" + "21",
    f"use {VALUE} as the root password from now on",
    f"nimm '{VALUE}' als neues Root-Passwort",
    f"用 {VALUE} 作为 root 密码",
    f"{VALUE}をパスワードにしてください",
    f"log in with bob / {VALUE}",
    f"\x1b[1mAPI_KEY\x1b[0m={VALUE}",
    f"p\u200bassword: {VALUE}",
    f"private_key: |\n    {VALUE * 3}\n    {VALUE * 3}\n    {VALUE * 3}",
    f"https://x.example/k?X-Amz-Expires=300&X-Amz-Signature={VALUE}{VALUE}",
    f"bob:$6$Zs8kQ1pL${VALUE * 4}:19000:0:99999:7:::",
    f"MY_PAT={VALUE}",
    f"le mdp est {VALUE}",
)
PLAIN = (
    "the capital of France is Paris. x=1 `code` README.md it's naïve 键盘 key 12 https://x.example/a well-known token:"
)
ODD = ("\n", "\n\n", "- ", "İ", "\\\n", "🙂", "password", "getUserName()", "echo")
WORDS = st.sampled_from([*PLAIN.split(), *ODD])
PARTS = st.lists(WORDS | st.sampled_from(SECRETS) | st.text(max_size=8), max_size=14).map(" ".join)


def mask(text: str) -> str:
    return redact(text, SALT)[0]


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in pairwise(places)]


def stream(parts: list[str]) -> list[bytes]:
    """Return the file after each piece, and after the end."""
    stream_redaction, file, states = StreamRedaction(mask), b"", []
    for step in [*parts, None]:
        keep, data = stream_redaction.end() if step is None else stream_redaction.feed(step)
        assert 0 <= keep <= len(file)
        file = file[:keep] + data
        states.append(file)
    return states


@settings(max_examples=300)
@given(PARTS, st.lists(st.integers(0, 5000), max_size=40))
def test_the_final_file_equals_the_masked_whole_text(text: str, cuts: list[int]) -> None:
    """For any pieces: recovery after a crash gives the same text as the journal would have."""
    assert stream(pieces(text, cuts))[-1] == mask(text).encode("utf-8", "replace")


@settings(max_examples=300)
@given(PARTS, st.lists(st.integers(0, 5000), max_size=40))
def test_no_state_of_the_file_has_the_beginning_of_a_secret(text: str, cuts: list[int]) -> None:
    """The program may be killed after any piece."""
    visible = mask(text)
    hidden = [text[found.start : found.end] for found in find(text)]
    starts = [value[:8] for value in hidden if value[:8] not in visible]
    for state in stream(pieces(text, cuts)):
        assert not [start for start in starts if start in state.decode("utf-8")]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", ["", "Here it is: ", "Gut. ", "See `x2` and "])
def test_a_secret_streamed_letter_by_letter_is_never_in_the_file(secret: str, before: str) -> None:
    """Models stream small pieces; a pattern could miss a secret at each border."""
    text = f"{before}{secret}\nThat was it.\n"
    hidden = [text[found.start : found.end] for found in find(text)]
    assert hidden
    states = stream(list(text))

    assert states[-1].decode() == mask(text)
    for state in states:
        assert not [value for value in hidden if value[:8] in state.decode()]


def test_prose_is_in_the_file_as_soon_as_it_was_fed() -> None:
    """The file exists so that a killed program loses nothing that was shown."""
    text = "Paris is the capital of France. It's on the Seine (a river), and in 2024 it had the games.\n\nAsk me more! "
    stream_redaction, file = StreamRedaction(mask), b""
    for place, letter in enumerate(text, start=1):
        keep, data = stream_redaction.feed(letter)
        assert keep == len(file)
        file += data
        assert file.decode() == text[:place]


def test_an_unusual_word_is_in_the_file_once_it_is_finished() -> None:
    """Only text that could still become a token is held back."""
    stream_redaction = StreamRedaction(mask)

    assert stream_redaction.feed("see git_rev") == (0, b"see ")
    assert stream_redaction.feed("_parse2") == (4, b"")
    assert stream_redaction.feed(" for ") == (4, b"git_rev_parse2 for ")


def test_plain_words_near_a_secret_are_in_the_file_too() -> None:
    """A paragraph about passwords is shown for a while before it ends."""
    states = stream(["You can change your password by clicking ", "on the link ", "in the mail "])

    assert states[2] == b"You can change your password by clicking on the link in the mail "


def test_a_private_key_is_held_back_until_its_end() -> None:
    """Before that, its end is unknown."""
    stream_redaction = StreamRedaction(mask)
    begin, end = "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"
    states = [
        stream_redaction.feed(part) for part in ("Key:\n", f"{begin}\n", BODY, f"\n{BODY}\n", f"{end}\n", "Fine, then.")
    ]

    assert states[1:4] == [(5, b"")] * 3
    assert states[4][1].startswith(b"-----BEGIN PRIVATE KEY-----\n[masked private key #")
    assert states[5][1] == b"Fine, then."


def test_the_patterns_run_only_where_a_secret_is_possible() -> None:
    """The patterns are loaded when first needed, and most answers never need them."""
    asked: list[str] = []

    def remember(text: str) -> str:
        asked.append(text)
        return text

    stream_redaction = StreamRedaction(remember)
    for piece in ("Paris is the ", "capital of France.\n", "def f(x):\n", "    return x + 1\n", "Done."):
        stream_redaction.feed(piece)
    stream_redaction.end()
    assert asked == []
    stream_redaction.feed("password: x\n")
    assert asked


@pytest.mark.parametrize(
    "unit", ["word and ", "line of words\n", "password ", "aB3", "the key is Xy9 and so on; ", "、这是"]
)
def test_a_piece_costs_the_same_however_long_the_answer_is(unit: str) -> None:
    """The second half of a long answer may not take much longer than the first; three times is far above noise."""
    stream_redaction, halves = StreamRedaction(mask), []
    for _ in range(2):
        started = time.thread_time()
        for _ in range(12_000 // len(unit)):
            stream_redaction.feed(unit)
        halves.append(time.thread_time() - started)

    assert halves[1] < 3 * halves[0] + 0.1


def test_a_very_long_line_reaches_the_file() -> None:
    """Some answers are one line; a crash must not lose all of it."""
    letters = string.ascii_letters + string.digits
    for unit in ("token x1 ", letters, "password is x-1. "):
        states = stream([unit] * (30_000 // len(unit)))
        assert len(states[-2]) > 20_000
