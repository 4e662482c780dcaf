"""Secrets are found where shells and chats have them, and nothing else is changed."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import cpu_seconds
from world import World

from aish.memory.secret_patterns import find, mask, redact

SALT = b"salt of this test"
VALUE = "F4k3" + "q9ZkP2mX7vLr8TnW"  # concatenated, so that secret scanners do not report this file


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
        f"мой пароль от базы: {VALUE}",
        f"la contraseña del servidor es {VALUE}",
        f"a senha é {VALUE}",
        f"パスワードは{VALUE}です",
        f"use this key: {VALUE}",
        f"I changed the password to {VALUE}.",
        f"here is the password:\n\n```\n{VALUE}\n```",
        f"mysql -u root \\\n  -p{VALUE} app",
        f"- name: DB_PASSWORD\n  value: {VALUE}",
        f"machine x.example\n  login bob\n  password {VALUE}",
        f"CREATE USER 'bob'@'%' IDENTIFIED BY '{VALUE}';",
        f'const apiKey: string = "{VALUE}"',
        f"define('DB_PASSWORD', '{VALUE}');",
        f"docker run -e APP_TOKEN={VALUE} app",
        f"//registry.example/:_authToken={VALUE}",
        f"jdbc:mysql://db/app?user=a&password={VALUE}&ssl=false",
        f"snmpwalk -v3 -u bob -A {VALUE} host",
        f"net use Z: //srv/x /user:bob {VALUE}",
        f"xfreerdp /u:bob /p:{VALUE} /v:host",
        f"sqlplus scott/{VALUE}@db",
        f"sudo -S ls <<< '{VALUE}'",
        f"echo {VALUE} | docker login -u a --password-stdin",
        f"**Password:** `{VALUE}`",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{VALUE}\n{VALUE}\n-----END OPENSSH PRIVATE KEY-----",
        f"cat key: -----BEGIN PRIVATE KEY-----\n{VALUE}\n{VALUE}",
    ],
)
def test_a_secret_is_masked_and_the_rest_stays(text: str) -> None:
    """The text around it still shows what the line was about."""
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
        "--- PASS: TestLogin2 (0.00s)",
        "the password is base64-encoded",
        "'password' => 'required|min:8|confirmed'",
        "cache key: d41d8cd98f00b204e9800998ecf8427e",
        "password = password1",
        "the file starts with -----BEGIN PRIVATE KEY----- and ends with a line like it",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: db-2",
        "忘记密码怎么办？",
        "pin: 13",
        "exit code is 1234",
        "zip code: 90210",
    ],
)
def test_text_about_secrets_is_not_changed(text: str) -> None:
    """A false alarm damages what the user wanted to keep."""
    assert redact(text, SALT) == (text, [])


def test_a_mask_is_not_a_secret() -> None:
    """A mask contains words that precede secrets, and its hash looks like a secret."""
    for kind in ("slack-token", "aws-access-key", "setting"):
        assert find(mask(kind, VALUE[:12], SALT)) == find("password " + mask(kind, VALUE, SALT)) == []


def test_a_password_of_small_letters_and_a_number_is_one() -> None:
    """Most passwords are like that; after other names the value must look more random."""
    assert find("my password is " + "hunt" + "er22") and find("DB_PASSWORD=" + "hunt" + "er22")
    assert not find("the token is " + "utf8x" + "22")


def test_a_pin_is_masked_in_a_sentence_that_states_it() -> None:
    """Four digits are a secret only in such a sentence."""
    assert [one.kind for one in find("The PIN for my card is 48" + "21.")] == ["pin"]
    assert find("four digits such as 48" + "21") == []


def test_a_key_without_its_end_is_masked() -> None:
    """Copied terminal output may have half of it; the text after it is not part of it."""
    talk = "\nthis is what I see on the screen when I open it\n"
    masked, _ = redact("-----BEGIN PRIVATE KEY-----\n" + f"{VALUE * 3}\n" * 5 + talk, SALT)

    assert VALUE not in masked and talk in masked


WORDS = f"password token key {VALUE} https://a: @x = ; & … ` hunt" + "er22 Cookie: ghp" + f"_{VALUE}"
PHRASES = (
    " ",
    "\n",
    ": ",
    '"',
    " is ",
    "mysql -p",
    "echo ",
    "| sudo -S",
    "[masked chat #1234abcd]",
    "-----BEGIN PRIVATE KEY-----",
)
PARTS = st.sampled_from([*WORDS.split(), *PHRASES])


@settings(max_examples=400)
@given(st.text(max_size=300) | st.lists(PARTS, max_size=20).map("".join))
def test_masking_again_changes_nothing(text: str) -> None:
    """Text that is written again (an import, an edit) must not get masks of masks."""
    once, _ = redact(text, SALT)

    assert redact(once, SALT)[0] == once


@settings(max_examples=300)
@given(st.lists(PARTS, max_size=20).map("".join))
def test_findings_never_overlap(text: str) -> None:
    """Each part of the text is masked once."""
    found = find(text)

    assert all(one.end <= other.start for one, other in pairwise(found))
    assert all(0 <= one.start < one.end <= len(text) for one in found)


@settings(max_examples=50)
@given(st.text(alphabet="abcXYZ019_-+/", min_size=16, max_size=40))
def test_the_same_secret_has_the_same_mask_and_another_salt_another(value: str) -> None:
    """One can see that two lines had the same secret, but nobody can look it up."""
    assert mask("setting", value, SALT) == mask("setting", value, SALT) != mask("setting", value, b"other")
    assert value not in mask("setting", value, SALT)


def test_a_short_secret_shows_none_of_its_characters() -> None:
    """The last four of eight characters would be half of it."""
    assert "" + "x7Pq" not in mask("chat", "ab1" + "x7Pq", SALT)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "a",
            " ",
            "@",
            "=",
            "://",
            "a:",
            "x:yyyyyy@",
            "password ",
            "password:\n",
            "token=",
            'password="',
            "eyJaaaaaaaa.",
        ),
        *("-----BEGIN PRIVATE KEY-----", "mysql -p ", "curl -u ", "echo a|", "machine a ", "\\\n", "密码", "sk-", "\n"),
        "2026-11-15 19:09:46 INFO server[12]: id=550e8400-e29b-41d4-a716-446655440000 GET /api/v1/users/42 200\n",
        "The capital of France is Paris, and nobody knows why. ",
    ],
)
def test_the_time_grows_linearly(unit: str) -> None:
    """Patterns that backtrack would hang the shell.

    Four times the text may take nine times as long: far above noise, far below quadratic growth.
    """
    short, long = (unit * (size // len(unit)) for size in (20_000, 80_000))

    assert cpu_seconds(lambda: find(long)) < 9 * cpu_seconds(lambda: find(short)) + 0.1


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
    """The salt is created once, and only this user can read it."""
    first, second = (world.aish("redact", given=f"password: {VALUE}") for _ in range(2))

    assert first.out == second.out
    assert (world.places.data / "salt").stat().st_mode & 0o077 == 0
