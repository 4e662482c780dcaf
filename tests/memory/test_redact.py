"""Secrets are found where shells and chats have them, and nothing else is touched."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from world import World

from aish.memory.redact import find, mask, redact

SALT = b"salt of this test"
VALUE = "F4k3" + "q9ZkP2mX7vLr8TnW"  # put together, so that scanners of this repository stay calm


@pytest.mark.parametrize(
    "text",
    [
        "git clone https://" + "ghp" + "_" + VALUE * 2 + "@git.example/app.git",
        "export OPENAI_API_KEY=" + "sk" + "-proj-" + VALUE * 2,
        f"mysqldump -h db -u root -p{VALUE} app",
        f"curl --user=bob:{VALUE} https://x.example",
        f"sshpass -p {VALUE} ssh root@host",
        f"docker login -u acme -p {VALUE}",
        f"echo {VALUE} | sudo -S apt update",
        f"redis-cli -h cache -a {VALUE} ping",
        f"openssl enc -pass pass:{VALUE} -in a",
        f"kubectl create secret generic db --from-literal=password={VALUE}",
        f"postgres://app:{VALUE}@db.internal:5432/app",
        f"Server=db;User Id=sa;Password={VALUE};",
        f'{{"client_secret": "{VALUE}"}}',
        f"<password>{VALUE}</password>",
        f"dbPassword: {VALUE}",
        f"Authorization: Bearer {VALUE}",
        f"Cookie: theme=dark; sid={VALUE}",
        f"machine api.example login bob password {VALUE}",
        f"db.internal:5432:app:app:{VALUE}",
        f"https://x.example/cb?access_token={VALUE}&x=1",
        f"my password is {VALUE}, do not tell",
        f"the api key for the weather service is {VALUE}",
        f"Das Passwort lautet {VALUE}.",
        f"le mot de passe est {VALUE}",
        f"密码是{VALUE}",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{VALUE}\n{VALUE}\n-----END OPENSSH PRIVATE KEY-----",
        f"cat key: -----BEGIN PRIVATE KEY-----\n{VALUE}\n{VALUE}",
    ],
)
def test_a_secret_is_gone_and_the_rest_stays(text: str) -> None:
    """What was around it still tells what the line was about."""
    masked, found = redact(text, SALT)

    assert VALUE not in masked
    assert found
    assert masked.startswith(text[: found[0].start]) and masked.endswith(text[found[-1].end :])


@pytest.mark.parametrize(
    "text",
    [
        "how do I reset my password?",
        "the password field must have 12 characters",
        "token = lexer.next_token()",
        "const apiKey = process.env.API_KEY",
        "PASSWORD=$DB_PASSWORD",
        'curl -H "Authorization: Bearer $TOKEN" http://x',
        "postgres://user:password@localhost/db",
        "password: <your-password>",
        "max_tokens=4096",
        "token_count: 12345678",
        "docker run -p 8080:80 nginx",
        "mkdir -p src/module2/x1",
        "sha256sum e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id=550e8400-e29b-41d4-a716-446655440000",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE2 bob@host",
        "https://git.example/app/commit/9fceb02d0ae598e95dc970b74767f19372d61af8",
        "secretName: db-credentials",
        "compass: north-by-7-degrees",
    ],
)
def test_what_only_talks_of_secrets_is_not_touched(text: str) -> None:
    """A false alarm damages what the user wanted to keep."""
    assert redact(text, SALT) == (text, [])


@given(st.text(max_size=300))
def test_any_text_can_be_masked_twice_without_change(text: str) -> None:
    """What is written again (an import, an edit) must not pile masks on masks."""
    once, _ = redact(text, SALT)

    assert redact(once, SALT)[0] == once


@settings(max_examples=50)
@given(st.text(alphabet="abcXYZ019_-+/", min_size=16, max_size=40))
def test_the_same_secret_has_the_same_mask_and_another_salt_another(value: str) -> None:
    """One can see that two lines had the same secret, and nobody can look it up."""
    assert mask("setting", value, SALT) == mask("setting", value, SALT) != mask("setting", value, b"other")
    assert value not in mask("setting", value, SALT)


def test_a_short_secret_shows_none_of_its_characters() -> None:
    """The last four of eight are half of it."""
    assert "" + "x7Pq" not in mask("chat", "ab1" + "x7Pq", SALT)


def test_no_text_takes_for_ever() -> None:
    """Patterns that back-track would hang the shell on a strange line; this is far above what they need."""
    started = time.monotonic()
    for text in (
        "a" * 100_000,
        "password " * 10_000,
        "x:" * 30_000,
        "-----BEGIN PRIVATE KEY-----" * 2_000,
        "=" * 50_000,
    ):
        find(text)
    assert time.monotonic() - started < 20


def test_the_verb_masks_whole_texts_and_lines_of_json(world: World) -> None:
    """Other programs can use it as a filter."""
    plain = world.aish("redact", given=f"my password is {VALUE}\nok\n")
    lines = world.aish("redact", "--jsonl", given=json.dumps({"text": f"password: {VALUE}"}) + "\n\n")
    wrong = world.aish("redact", "--jsonl", given="[1]\n")

    assert (plain.code, VALUE in plain.out, plain.out.endswith("\nok\n")) == (0, False, True)
    answer = json.loads(lines.out)
    assert (lines.code, VALUE in answer["text"], [one["kind"] for one in answer["found"]]) == (0, False, ["setting"])
    assert (wrong.code, wrong.out) == (2, "") and "line 1" in wrong.err


def test_masks_stay_the_same_from_run_to_run(world: World) -> None:
    """The salt is made once and kept for this user only."""
    first, second = (world.aish("redact", given=f"password: {VALUE}") for _ in range(2))

    assert first.out == second.out
    assert (world.places.data / "salt").stat().st_mode & 0o077 == 0
