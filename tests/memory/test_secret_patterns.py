"""Secrets are found where shells and chats have them, and nothing else is changed."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import cpu_seconds
from world import Ran, World

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
        f"    client-key-data: {VALUE * 3}",
        f"password: |\n  {VALUE}\nhost: otter",
        "private_key: |\n" + f"    {VALUE * 3}\n" * 50 + "next: x",
        f"GITHUB_PAT={VALUE}",
        f'"azure_pat": "{VALUE}"',
        f"\x1b[31mAPI_KEY\x1b[0m={VALUE}",
        f"p\u200bass\u2060word: \x1b[1m{VALUE}\x1b[0m",
        f"␛[31mpassword␛[0m: {VALUE}",
        f"https://x.example/k?X-Amz-Expires=300&X-Amz-Signature={VALUE}{VALUE}",
        f"https://x.example/o?X-Goog-Expires=1&X-Goog-Signature={VALUE}{VALUE}",
        f"https://x.example/c?sv=2022-11-02&sr=b&sig={VALUE}%2F{VALUE}%3D&se=2026",
        f"https://x.example/x?Expires=1&Signature={VALUE}~{VALUE}__&Key-Pair-Id=K1",
        f"root:$6$Zs8kQ1pL${VALUE * 4}:19000:0:99999:7:::",
        f"bob:$y$j9T$F5Jx5fExrK..1${VALUE}{VALUE}:19000:0:99999:7:::",
        f"bob:{VALUE}:19000:0:99999:7:::",
        f"admin:$apr1$H6uskkkW${VALUE}ab",
        f"$2b$12${VALUE}{VALUE}{VALUE[:13]}",
        f"$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHQ${VALUE}",
        f"pw is {VALUE}",
        f"use {VALUE} as the root password",
        f"log in with bob / {VALUE}",
        f"sign in as bob with password {VALUE}",
        f"nimm {VALUE} als Root-Passwort",
        f"melde dich mit bob / {VALUE} an",
        f"utilise {VALUE} comme mot de passe",
        f"le mdp est {VALUE}",
        f"le mot de passe root est {VALUE}",
        f"mude a senha para {VALUE}",
        f"поменяй пароль на {VALUE}",
        f"usa {VALUE} como contraseña",
        f"use {VALUE} como senha",
        f"usa {VALUE} come password",
        f"用 {VALUE} 作为 root 密码",
        f"密码改为{VALUE}",
        f"パスワードを{VALUE}に変更しました",
        f"используй {VALUE} как пароль",
        rf'{{"content":"password: {VALUE}\nhost: x\n"}}',
        rf'{{"content":"{{\"token\": \"{VALUE}\"}}"}}',
        f"Verification Token\n{VALUE}\n",
        f"WEATHER_KEY={VALUE}",
        f"用户名bob，密码{VALUE}",
        f'var dbPassword string = "{VALUE}"',
        f"ADMIN_PASSWORD?={VALUE}",
        f"wpa_passphrase={VALUE}",
        f"bindpw {VALUE}",
        f"| API key | `{VALUE}` |",
        f"Password (admin): {VALUE}",
        f"the wifi password at the office is {VALUE}.",
        f"lösenordet är {VALUE}",
        f"jelszó: {VALUE}",
        f"كلمة المرور: {VALUE}",
        f"סיסמה: {VALUE}",
        f'client.setApiKey("{VALUE}")',
        f"the API key:\n\n{VALUE}\n",
        f"jdbc:oracle:thin:bob/{VALUE}@db:1521/app",
        f"SET PASSWORD FOR 'bob'@'%' = PASSWORD('{VALUE}');",
        f"kinit bob <<< {VALUE}",
        rf"""expect -c 'send "{VALUE}\r"'""",
        f"user: bob pass: {VALUE}",
        f"wp config create --dbuser=bob --dbpass={VALUE}",
        f"rabbitmqadmin -u bob -p {VALUE} list queues",
        f'<add key="Password" value="{VALUE}"/>',
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
        f"certificate-authority-data: {VALUE * 3}",
        "description: |\n  some words about a password",
        "Pat is 42x7 and Sam",
        "use bcrypt12 as the password hasher",
        "log in with Google / GitHub",
        "sign in with email/password2",
        "the pw is too short",
        "the password in RFC2617 is hashed",
        "passwords in Python3.11 are strings",
        "das Passwort ist falsch",
        "le mot de passe est incorrect",
        "密码不能为空",
        "パスワードを変更する",
        "> Change user account and password expiry information.",
        "certificate via authorization, installing it",
        "headers.get('authorization', default)",
        ":param cookie: The cookie header",
        "docker run -e MONGO=some-mongo -p 8081:8081 mongo-express",
        "FUNC:_ZNSs4_Rep26_M_set@GLIBCXX_3.4",
        "2014-08-22:BF7CEF794F9.000003F0@mail.test",
        "pass capture_output=True to capture both",
        "reset the password:\n\n`tool -f {{path/to/file1}} -p`",
        "- ADMIN_PASSWORD=\n- ADMIN_USER=adm1n",
        "token = TEST_DATA_BASE64",
        "getpass(prompt='Password: ', stream=None)",
        "awk '{print $1$2}'",
        # words, also of other languages, where a value would be
        '"New Password": "Nova senha de 2 fatores",',
        "the topics are authorization, token validation, 2FA",
        'the lexer says: error token is "12#Loading"',
        "| Key Decisions2024 | Token Costs |",
        "Passwort vergessen: Bitte E-Mail-2 prüfen",
        # identifiers and expressions
        "COST_INPUT_PER_TOKEN = COST_INPUT_PER_1M / 1_000_000",
        "const nextToken = page.meta?.next_token2",
        "restore cache with key: setup-tool-1-x86_64-unknown-linux-gnu-3.12-9d0ea1b7",
        "after_reset_password=on_after_reset_password2",
        "config = {secret: settings.appSecret2, token: opts.token || null}",
        "{token:e,factory:e.Fac2,providedIn:t.providedIn}",
        "func Load(token *oauth2.Token)",
        "--- PASS: TestSplitLines/with_10000_records (0.03s)",
        "TEST_PASSWORD: test-only-password-for-ci-2-never-deployed",
        # ids and hashes
        '"run_key": "9fceb02d0ae598e95dc970b74767f19372d61af89fceb02d0ae598e95dc970b7"',
        "uploaded, file_key: file_v2_8d1c2f33-7421-4cf8-9ea8-72e992eec64a",
        '"encrypted_key": "pQMVA9_PtoRe7xXW1139NzzN1UhiFoio8lGto9cf0t8"',
        # lines that follow a name, and lines of a history file
        ": 1720700019:0;cat server.key\n: 1720700032:0;cd src2",
        "class TestReadToken:\n    @pytest.mark.asyncio2\n    def test_it(): ...",
        "h1:4UOEnMCrxsSqQ940WnTiD6qJ63le2ev3xfyagutxiPw=\ngithub.com/x/gax-go/v2 v2.11",
        # escaped line ends
        r'{"content":"for token ID\n\n2. Send it","text":"the password fields.\n+Desktop2 app"}',
        r'{"old":"appSecret = creds.appSecret;\n  if (x1) {","new":"token: documentId2,\n"}',
        r"\n## Key Takeaways2\nProvide three",
        # samples and settings that are no secrets
        "Cookie: theme=dark2; visitor=yes",
        "postgres://postgres:postgres@localhost/db",
        '"authorization": "Bearer SANITIZED"',
        "ANTHROPIC_API_KEY: " + "sk" + "-ant-test-key-for-ci-only-never-used",
        "monitor=desc:VX3211-4K,3840x2160@60,0x0,1.5",
        r'{"PWD": "\/home\/user2\/Documents\/code2\/Aa-b"}',
        "headers = {'Authorization': 'Bearer some-token-from-header'}",
        "hasClientSecret: !!clientSecret2,",
        'kubectl create secret generic x --from-literal=url="postgresql://..."',
        "bearer token: token123",
        "APP_RPC_SECRET=\nAPP_2_ADMIN_TOKEN=\nX=1",
        '"data": "TIAR91Pk3LZHl5wLeCXWF9Kunbe7ZLD5tgDYBN9QzJWvhZz-' + "sk" + '-B2R5cA5wwDdzaTrGNFdSIbYd5TvJJ0"',
    ],
)
def test_text_about_secrets_is_not_changed(text: str) -> None:
    """A false alarm damages what the user wanted to keep."""
    assert redact(text, SALT) == (text, [])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("OPENAI_API_KEY=" + "sk" + "-proj-" + VALUE * 2, "OpenAI key"),
        ("sk" + "-ant-" + VALUE * 3, "Anthropic key"),
        (f"aws_secret_access_key={VALUE * 2}", "AWS secret key"),
        (f"GITHUB_TOKEN={VALUE}", "GitHub token"),
        (f"GITHUB_PAT={VALUE}", "GitHub token"),
        (f"api_key={VALUE}", "API key"),
        (f"my password is {VALUE}", "password"),
        (f"https://bob:{VALUE}@x.example/", "password in a URL"),
        (f"$2b$12${VALUE}{VALUE}{VALUE[:13]}", "password hash"),
        (f"client-key-data: {VALUE}", "private key"),
        ("npm" + f"_{VALUE * 2}", "npm token"),
        ("x-api-key: 110201543:AA" + f"Hd{VALUE}{VALUE}", "Telegram token"),  # more exact than "access token"
        ("$pbkdf2_sha256$1000$f4k3$" + f"{VALUE}", "password hash"),  # another kind of hash begins with $pbkdf2
    ],
)
def test_a_mask_names_the_secret_as_a_person_would(text: str, kind: str) -> None:
    """ "chat" and "setting" are places, not secrets."""
    masked, (found,) = redact(text, SALT)

    assert found.kind == kind and f"[masked {kind} " in masked


@pytest.mark.parametrize("noise", ["\u200b", "\u2060", "\ufeff", "\x1b[1m", "\u202e"])
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_noise_inside_the_name_or_the_value_hides_nothing(noise: str, data: st.DataObject) -> None:
    """A terminal shows both the same."""
    text = f"db_password: {VALUE}"
    place = data.draw(st.integers(0, len(text)))
    masked, found = redact(text[:place] + noise + text[place:], SALT)

    assert len(found) == 1 and VALUE[:8] not in masked and VALUE[-8:] not in masked


def test_a_mask_is_not_a_secret() -> None:
    """A mask contains words that precede secrets, and its hash looks like a secret."""
    for kind in ("Slack token", "AWS access key", "password", "slack-token"):
        assert find(mask(kind, VALUE[:12], SALT)) == find("password " + mask(kind, VALUE, SALT)) == []


def test_a_password_of_small_letters_and_a_number_is_one() -> None:
    """Most passwords are like that; after other names the value must look more random."""
    assert find("my password is " + "hunt" + "er22") and find("DB_PASSWORD=" + "hunt" + "er22")
    assert find("my password is " + "password" + "123")  # a sample, and what people take
    assert not find("the token is " + "utf8x" + "22")


@pytest.mark.parametrize(
    "value",
    [
        "Summer_" + "Rain22",
        "Tr0ub" + "4dor3",
        "gallery" + "2024!",
        "correct-horse" + "-battery-staple",
        "8*oz" + "xS78",
        "blue_sky" + "_2020",
        "grafana_admin" + "_2023",
    ],
)
def test_a_password_that_a_person_chose_is_one(value: str) -> None:
    """Words in a password do not make it a label."""
    for text in (f"DB_PASSWORD={value}", f'"password": "{value}"', f"my password is {value}"):
        assert value not in redact(text, SALT)[0]


def test_a_password_after_a_chinese_word_needs_no_sign() -> None:
    """Its parts may look like abbreviations."""
    value = "Ab4_" + "9lXcd-69WX"
    assert value not in redact(f"用户名 bob，密码{value}", SALT)[0]


def test_text_without_blanks_after_a_value_is_not_part_of_it() -> None:
    """Chinese has no blanks between words."""
    text = f"api_key：{VALUE}已经修改"
    assert redact(text, SALT)[0].endswith("]已经修改") and VALUE not in redact(text, SALT)[0]


@pytest.mark.parametrize(
    "text",
    ["password = user_input_2", "password: hashed_value_1", 'password="reset_password_2"', "passwd: etc/shadow/1"],
)
def test_a_name_with_a_number_is_no_password_in_code(text: str) -> None:
    """Without quotes it is a variable; with "password" or a path in it, it is what something is called."""
    assert find(text) == []


def test_a_spanish_key_word_is_no_password() -> None:
    """The same word means "password" where it is a noun, and "essential" after one."""
    for text in ("Pregunta clave: ¿Querés seguir?", 'palabras clave: "img2img"', "Punto clave para hoy: ¡Tejé2!"):
        assert find(text) == []
    assert VALUE not in redact(f"la clave: {VALUE}", SALT)[0]


def test_a_phrase_with_a_number_is_the_password_of_a_network() -> None:
    assert [one.kind for one in find('psk="my house is' + ' green 7"')] == ["password"]


def test_an_escaped_line_end_ends_a_value() -> None:
    """In JSON, the line after the password is not part of it."""
    text = rf'{{"out":"DB_PASSWORD={VALUE}\nDB_HOST=otter\n"}}'
    masked, (found,) = redact(text, SALT)

    assert text[found.start : found.end] == VALUE and masked.endswith(r"\nDB_HOST=otter\n" + '"}')


def test_a_pin_is_masked_in_a_sentence_that_states_it() -> None:
    """Four digits are a secret only in such a sentence."""
    assert [one.kind for one in find("The PIN for my card is 48" + "21.")] == ["PIN"]
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
    assert mask("secret", value, SALT) == mask("secret", value, SALT) != mask("secret", value, b"other")
    assert value not in mask("secret", value, SALT)


def test_a_short_secret_shows_none_of_its_characters() -> None:
    """The last four of eight characters would be half of it."""
    assert "" + "x7Pq" not in mask("password", "ab1" + "x7Pq", SALT)


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
            "\x1b[1m",
            "p\u200b",
            "log in with a/",
            "$6$a$",
            "a as the password ",
            "用a作为",
            "password: |\n  ",
            "\n    " + "aB3" * 20,
        ),
        "-----BEGIN PRIVATE KEY-----\n" + "Ab: " * 40,
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


def test_a_line_with_very_many_names_is_still_searched() -> None:
    """Each name takes time, so that many of them are searched in a simpler way; passwords are found all the same."""
    words = " ".join(f"token=word{number}" for number in range(400))
    masked, _ = redact(f"{words} password={VALUE} token={VALUE}", SALT)

    assert masked.startswith(words) and VALUE not in masked


def test_an_option_is_found_wherever_its_program_is_named_first() -> None:
    """A program that is named again and again is searched once for each command."""
    again = "mysql " * 40
    assert VALUE not in redact(f"{again} -p{VALUE}; ls | curl -s x; curl -u bob:{VALUE} x", SALT)[0]


def test_a_program_that_is_named_again_in_a_sentence_may_have_another_option() -> None:
    """No sign ends a command in a sentence, and both options are secrets."""
    text = f"try `curl -u ann:{VALUE[:9]} x`, then `curl -u bob:{VALUE[9:]} x`"
    masked = redact(text, SALT)[0]
    assert VALUE[:9] not in masked and VALUE[9:] not in masked


@pytest.mark.parametrize("value", ["2026_winterOtter", "123_goOtter", "|x7Kq2Lw9", "#a1b2c3"])
@pytest.mark.parametrize("text", ["mysql -p{} shop", "curl -u bob:{} x", "https://bob:{}@x.example"])
def test_a_password_may_begin_like_a_migration_or_a_colour(text: str, value: str) -> None:
    """Where the context is sure, no value is kept because of its first characters."""
    assert value not in redact(text.format(value), SALT)[0]


def test_the_verb_masks_whole_texts_and_lines_of_json(world: World) -> None:
    """Other programs can use it as a filter."""
    plain = world.aish("redact", given=f"my password is {VALUE}\nok\n")
    lines = world.aish("redact", "--jsonl", given=json.dumps({"text": f"password: {VALUE}"}) + "\n\n")
    wrong = world.aish("redact", "--jsonl", given="[1]\n")

    assert (plain.code, VALUE in plain.out, plain.out.endswith("\nok\n")) == (0, False, True)
    answer = json.loads(lines.out)
    assert (lines.code, VALUE in answer["text"], [one["kind"] for one in answer["found"]]) == (0, False, ["password"])
    assert (wrong.code, wrong.out) == (2, "") and "line 1" in wrong.err


def test_the_verb_says_why_it_masked_and_where_nothing_was_found(world: World) -> None:
    """A person can see what was taken for a secret, and the reasons show none of it."""
    given = f"ls -l\npwd\ncurl https://bob:{VALUE}@x.example?token={VALUE}9\nok\n"
    said = world.aish("redact", "--explain", given=given)
    answer = json.loads(world.aish("redact", "--json", given=given).out)
    wrong = world.aish("redact", "--jsonl", "--explain", given="")

    assert said.out.startswith("lines 1 to 2: nothing found\nline 3: [masked password in a URL …8TnW #")
    assert "  rule:    password in a URL near “://”\n  context: https://bob:\n" in said.out
    assert "  value:   20 characters, upper and lower case, 6 digits, mostly random\n" in said.out
    assert said.out.endswith("line 4: nothing found\n") and VALUE not in said.out
    assert [(one["line"], one["kind"]) for one in answer["found"]] == [(3, "password in a URL"), (3, "token")]
    assert VALUE not in json.dumps(answer) and answer["text"].startswith("ls -l\npwd\ncurl https://bob:[masked ")
    assert (wrong.code, wrong.out) == (2, "")


def test_the_command_masks_a_file_too(world: World) -> None:
    """The name of a file is what people type first. The file stays as it is."""
    path = world.directory / "notes.txt"
    path.write_text(f"password: {VALUE}\n", encoding="utf-8")

    named, explained = world.aish("redact", str(path)), world.aish("redact", "--explain", str(path))
    gone = world.aish("redact", f"{path}.old")

    assert named == world.aish("redact", given=path.read_text(encoding="utf-8"))
    assert named.code == 0 and VALUE not in named.out and VALUE in path.read_text(encoding="utf-8")
    assert explained.out.startswith("line 1: [masked password ")
    assert gone == Ran(4, "", f"[aish] cannot read {path}.old: No such file or directory\n")


def test_masks_stay_the_same_from_run_to_run(world: World) -> None:
    """The salt is created once, and only this user can read it."""
    first, second = (world.aish("redact", given=f"password: {VALUE}") for _ in range(2))

    assert first.out == second.out
    assert (world.places.data / "salt").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        'see <a href="mailto:1otter1@example.org">',
        "        <md:Mail>otter.7@company.example</md:Mail>",
        'proxyPass = "http://127.0.0.1:8043";',
        '"/etc/passwd", "php://filter/convert.base64-encode/resource=7"',
        '"did:key:z6MkT' + 'ZckvQz29eJtUR4u9bkNu8jihg1sSvknUZMm1xq2stn9"',
        'ciphers = "RC4:MD5:PSK:aECDH:EDH-DSS-DES-CBC3-SHA:EDH-RSA-DES-CBC3"',
        '("shop_stages_password", "0005_auto_20260402_2221"),',
        "ask-password: '#/components/schemas/PasswordQuestion2'",
        '{"pass": "#44cc44", "fail": "#cc4444"}',
        'grep -E "api|PASSWORD=|TOKEN=|Bearer 1"',
        r"com.1password.1password\nkService1Access|com.otter.writing2\nend",
        "310 mail-api-key: LOGS/c7d2069e-c561-4759-8adf-b0745be78c29.jsonl",
        "User Login → Password entered → stored",
        "Signing Key: 8D357AFBEA94CD48BC19" + "82CCBDDE13F749C6CF8A",
        "FROM golang:1.23.12-alpine@sha256:0f1e",
        "mysql -u admin -p`cat /etc/app/shadow` app",
        "mailer+https://ACCESS_KEY:SECRET_KEY@default",
        "https://api.example/list?page_token=eyJvZmZzZXQiOiI1MCJ9",
        "Version=6.0.0.0, Culture=neutral, PublicKeyToken=a0b1c2d3e4f50617",
        'Authorization: "token #{options[:app_token]}"',
        "'Password: '.$input->getArgument('password')",
        "# wpa_passphrase\n\n> Generates the key of a network",
        "queue: policy=otter token=1a2b3c4 finished",
        "selectors for both login and password passed as arguments",
        "declare const secret: Uint8Array",
        'smtp_password = "smtp password"',
        "guardado bajo la clave `supply-chain-activity-logs`.",
        "`http-prompt localhost --auth {{usuario:contraseña}}`",
        "// response of `IntrospectToken`: IntrospectedOAuth2Token",
        'assert public_key.key == "rHXYIm/JzMRL' + 'sG6814/8GKmJRlSYQh7FIOdCvHNODys="',
    ],
)
def test_what_only_looks_like_a_name_and_its_value_stays(text: str) -> None:
    """Addresses, paths, references, lists of ciphers and patterns of public projects; none of them is a secret."""
    assert find(text) == []


@pytest.mark.parametrize(
    "rest",
    ['\'\'\'\nkeywords = ["PRIVATE KEY"]\nid = "somethingratherlong"', '" },\n]).toBe(true);\nexpectSomethingLong()'],
)
def test_the_begin_marker_of_a_key_in_code_masks_nothing(rest: str) -> None:
    """Scanners for secrets and their tests name the marker; what follows is code."""
    assert find("-----BEGIN PGP PRIVATE KEY BLOCK-----" + rest) == []


@pytest.mark.parametrize(
    "lead", ["\n", "\n   13→", '\\n" +\n    "', "\n> ", "\n+", "\nProc-Type: 4,ENCRYPTED\n\n", "\\n"]
)
def test_a_key_is_found_behind_signs_of_code_and_numbers_of_lines(lead: str) -> None:
    body = "MIIEpAIBAAKCAQEA" + "1234567890"
    assert body not in redact(f"-----BEGIN RSA PRIVATE KEY-----{lead}{body}\n", SALT)[0]


@pytest.mark.parametrize("lead", ["-", "# ", " * ", "// ", "12-", "a/key.pem:", "app-1 2026-11-18: ", "│ ", "<br>"])
def test_a_key_is_found_behind_the_signs_of_diffs_comments_and_logs(lead: str) -> None:
    """They are before each line of it, so that nothing but the form of its lines tells that it is one."""
    body = "MIIEpAIBAAKCAQEA7x" + "1q9ZkT0vJ4hL2uYbW8sRcXfNgPd5eAm3Ki6Oz+B/VQwElDtHnG"
    lines = ["-----BEGIN RSA PRIVATE KEY-----", body, "-----END RSA PRIVATE KEY-----"]
    assert body not in redact("".join(f"{lead}{line}\n" for line in lines), SALT)[0]


def test_the_begin_marker_of_a_key_before_hashes_masks_nothing() -> None:
    """Scanners are shown with the names and the checksums of what they found."""
    text = (
        "-----BEGIN PRIVATE KEY-----' found:\n  - deploy/ansible/roles/certificates/files\n  - "
        + "0123456789abcdef" * 4
    )
    assert find(text) == []


def test_a_number_before_the_word_password_may_be_part_of_a_name() -> None:
    """Only 1Password, the program, is no name of a password."""
    assert "hunter" + "22" not in redact("user1password=hunter" + "22", SALT)[0]


def test_the_mask_of_an_encrypted_token_covers_all_its_parts() -> None:
    token = ".".join(["eyJ" + "hbGciOiJSU0EtT0FFUCJ9", VALUE, VALUE[:16], VALUE * 2, VALUE[4:]])
    assert redact(f"try {token} now", SALT)[0].startswith("try [masked JWT …8TnW #")
    assert VALUE not in redact(f"try {token} now", SALT)[0]


def test_each_password_of_one_command_is_masked() -> None:
    first, second = "hunter" + "22xk", "Otter" + "-4711"
    masked = redact(f"keytool -importkeystore -srcstorepass {first} -deststorepass {second} -noprompt", SALT)[0]
    assert first not in masked and second not in masked


def test_a_password_in_the_body_of_a_form_may_have_a_number_sign() -> None:
    """In a URL, the fragment begins there."""
    assert "#otter" not in redact("curl -d 'user=bob&password=Walnut_82" + "51#otter' x.example", SALT)[0]
    assert "#otter" in redact("https://x.example/?token=" + VALUE + "#otter", SALT)[0]


@pytest.mark.parametrize(
    "token",
    [
        "sk" + "_" + "0123456789abcdef" * 3,
        "fc" + "-" + "9f8e7d6c5b4a3f2e" * 2,
        "pcsk" + "_" + VALUE * 3,
        "xoxc" + "-123456789012-" + VALUE,
        "sb_sec" + "ret_" + VALUE + VALUE[:11],
        "rzp" + "_live_" + VALUE[:14],
        "sntr" + "ys_" + VALUE * 3,
        "sqp" + "_" + "9f8e7d6c5b" * 4,
        "CCI" + "PAT_" + VALUE + "_" + "9f8e7d6c5b" * 4,
        "pat" + VALUE[:14] + "." + "9f8e7d6c5b4a3f2e" * 4,
        "pat" + "-na1-9f8e7d6c-5b4a-4f2e-9d8c-7b6a5f4e3d2c",
        "oauth" + ":" + "kx93mwq1zt" * 3,
        "glpat" + "-" + VALUE + ".01.k3x9mwq1z",
    ],
)
def test_a_token_is_found_by_its_form_alone(token: str) -> None:
    """It stands in a sentence that says nothing about secrets."""
    assert redact(f"i pasted {token} there", SALT)[0].endswith("] there")
    assert token[-8:] not in redact(f"i pasted {token} there", SALT)[0]


@pytest.mark.parametrize(
    "text",
    [
        "please log in with the password {} for the test box",
        "the password should be {} from now on",
        "Password → {}",
        "user: bob\npass: {}",
        "können wir das Passwort {} nehmen?",
    ],
)
@pytest.mark.parametrize("value", ["rEed-4021", "Heron" + "5193#reed"])
def test_a_password_that_a_person_would_choose_is_masked_where_it_is_told(text: str, value: str) -> None:
    """It has a word in it, so that signs, capitals and digits have to tell."""
    assert value not in redact(text.format(value), SALT)[0]


@pytest.mark.parametrize(
    "text",
    [
        "--- PASS: TestKettle2 (0.01s)",
        "the password module2 needs",
        "id_rsa-passphrase\n */src/*/id_rsa.pub\n",
        "--pass:|--pw:|pass:|user:|login:",
    ],
)
def test_what_only_follows_such_a_word_is_kept(text: str) -> None:
    """Names of tests, of programs and of files."""
    assert find(text) == []
