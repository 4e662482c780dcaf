"""Files and variables with credentials are recognised by name, in every way to write a path, and few others are."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.secret_files import (
    _HINTS,
    HOME_SECRETS,
    SYSTEM_SECRETS,
    _name,
    is_secret,
    is_secret_name,
    is_secret_variable,
    is_wide,
    normalise,
)

SECRETS = """
~/.claude/history.jsonl ~/.codex/auth.json /home/ann/.gemini/mcp-oauth-tokens.json ~/.kaggle/other.json
~/.config/doctl/config.yaml ~/.config/hcloud/cli.toml ~/.config/scw/config.yaml ~/.fly/config.yml
~/.config/stripe/config.toml ~/.sentryclirc ~/.config/configstore/update-x.json ~/.config/uv/credentials.toml
~/.config/pypoetry/auth.toml ~/.composer/auth.json ~/.gradle/gradle.properties ~/.m2/settings.xml
~/.nuget/NuGet/NuGet.Config ~/.config/containers/auth.json /root/.kube/config ~/.config/rclone/rclone.conf
~/.mc/config.json ~/.s3cfg ~/.thunderbird/x/prefs.js ~/.local/share/keyrings/login.keyring
~/.local/share/atuin/history.db ~/.local/state/python_history ~/.psql_history ~/.lesshst ~/.config/gh/hosts.yml
/etc/rancher/k3s/k3s.yaml /etc/wireguard/wg0.conf /etc/ssh/ssh_host_rsa_key /run/secrets/db /var/run/secrets/db
/proc/7/environ /proc/self/task/9/environ /proc/1/mem /dev/sda1 /dev/mapper/root .env .env.production api.env
config/master.key prod.tfvars terraform.tfstate terraform.tfstate.backup kubeconfig credentials.json
db-credentials.yml app.secrets.json service-account-7.json id_ed25519 deploy_rsa server.key privkey.pem backup.kdbx
.vault_pass wp-config.php token.json
""".split()
ORDINARY = """
src/tokens.py docs/secrets.md password_reset.html test_credentials.py package-lock.json .env.example .env.sample
src/secrets/vault.py tokenizer.json design-tokens.json keys.py history.py CHANGELOG.md .gitignore .dockerignore
.docker/Dockerfile .claude/settings.json .github/workflows/ci.yml .vscode/settings.json ~/.bashrc ~/.gitconfig
~/.ssh/config ~/.ssh/known_hosts ~/.ssh/id_rsa.pub ~/.config/nvim/init.lua ~/.cargo/config.toml /etc/passwd
/etc/hosts /etc/os-release /etc/ssl/certs/a.pem /proc/cpuinfo /proc/self/status /proc/1/cmdline /proc/net/tcp
/dev/null /dev/stdin /dev/shm/x cert.pem fullchain.pem src/*.py *.json ./*.log /etc/*.conf /etc/*release HEAD~1
origin/main localhost:8080 --format=json cookies.py environ.py
""".split()


@pytest.mark.parametrize("path", SECRETS)
def test_the_usual_places_of_credentials_are_known(path: str) -> None:
    """Each is the file in which some program keeps a key, a token, a password, or what was typed."""
    assert is_secret(path)


@pytest.mark.parametrize("path", ORDINARY)
def test_ordinary_files_are_not_taken_for_credentials(path: str) -> None:
    """A question that is not needed teaches people to answer without reading."""
    assert not is_secret(path)


@pytest.mark.parametrize("path", HOME_SECRETS)
def test_every_place_below_a_home_directory_is_recognised(path: str) -> None:
    """The list is what the sandbox hides; the policy must ask for all of it, in every spelling of the home."""
    for home in ("~", "/home/ann", "/root", "~ann", "/Users/ann", "/proc/self/root/home/ann", "/tmp/../home/ann/."):
        assert is_secret(f"{home}/{path}")
        assert is_secret(f"{home}/{path}/inner") or path.endswith((".json", ".conf"))
        assert is_secret(f"{home}/{path}.bak")
        assert is_secret(f"{home}/{path}".upper())


@pytest.mark.parametrize("path", SYSTEM_SECRETS)
def test_every_place_of_the_system_is_recognised(path: str) -> None:
    """Also from below, because `../../etc` may be the same directory."""
    path = path.replace("*", "x")
    assert is_secret(path)
    assert is_secret(f"../../..{path}")
    assert is_secret(f"/usr/../{path}")
    assert is_secret(f"/proc/self/root{path}")


@pytest.mark.parametrize(
    "path",
    [
        "~/.pgpass~",
        "~/.pgpass.old",
        ".npmrc.save",
        ".env.bak",
        "..npmrc.swp",
        ".credentials.json.swp",
        "~/.ssh.bak/config.txt",
        "secrets.yaml.gz",
        "id_rsa-2024",
        "#.netrc#",
        "~/.bash_history-20240101",
        "terraform.tfstate.1700000000.backup",
    ],
)
def test_backups_of_credentials_are_credentials(path: str) -> None:
    """Editors and people leave copies beside the file."""
    assert is_secret(path)


@pytest.mark.parametrize(
    "path",
    [
        "~/.con*/gh/*",
        "~/.*",
        ".e*",
        "/etc/shad?w",
        "/proc/*/env*",
        "~/.config/*/*",
        "/home/*/.ss[h]/*",
        "cred*.json",
        "*" * 300,
    ],
)
def test_patterns_that_could_match_a_credential_are_credentials(path: str) -> None:
    """What a pattern matches is only known when it runs."""
    assert is_secret(path)


@pytest.mark.parametrize("text", ["--file=.env", "HEAD:.env", "host:~/.ssh/x", "@.npmrc", "a,.env", "x .env"])
def test_a_credential_inside_a_word_is_found(text: str) -> None:
    """Programs take file names behind `=`, `:`, `@` and `,`."""
    assert is_secret(text)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a//b/./c/../d", "a/b/d"),
        ("/..//etc/./x", "/etc/x"),
        ("/proc/self/root/etc/x", "/etc/x"),
        ("/proc/12/task/12/root/../etc/x", "/etc/x"),
        ("/proc/self/cwd/x", "x"),
        ("/proc/self/cwd/../x", "../x"),
        ("~/a/../b", "~/b"),
        ("~/../b", "/home/b"),
        ("../../x", "../../x"),
        ("a/..", "."),
        ("/var/run/x", "/run/x"),
        ("plain", "plain"),
    ],
)
def test_a_path_is_normalised_before_it_is_judged(path: str, expected: str) -> None:
    """The same file has many names."""
    assert normalise(path) == expected


@given(st.text(alphabet="./~ab*", max_size=30))
def test_normalising_twice_changes_nothing(path: str) -> None:
    """Otherwise a path could be written so that one pass does not reveal it."""
    assert normalise(normalise(path)) == normalise(path)


@pytest.mark.parametrize(
    "path",
    """~ ~/. ~/.config ~/.config/ ~/.local/share ~/.cache ~/.cargo /home/ann/. /home/ann/x/.. ~/../ann / .. ~/*
    /proc/self/root""".split(),
)
def test_a_search_through_a_home_directory_is_wide(path: str) -> None:
    """It would show every credential in it."""
    assert is_wide(path)


@pytest.mark.parametrize(
    "path", ". src ~/code ~/code/.github /etc /var/log /usr/share .github ~/.config/nvim ../lib".split()
)
def test_a_search_through_a_project_is_not_wide(path: str) -> None:
    """These are the searches of every day."""
    assert not is_wide(path)


@pytest.mark.parametrize(
    "name",
    """AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID GH_TOKEN OPENAI_API_KEY PGPASSWORD MYSQL_PWD GH_PAT
    DATABASE_URL MONGODB_URI SECRET_KEY_BASE SENTRY_DSN GOOGLE_APPLICATION_CREDENTIALS BORG_PASSPHRASE
    REDISCLI_AUTH api_key SLACK_WEBHOOK_URL""".split(),
)
def test_variables_that_hold_credentials_are_known(name: str) -> None:
    """Printing one is showing a credential."""
    assert is_secret_variable(name)


@pytest.mark.parametrize(
    "name",
    """PATH HOME PWD OLDPWD SHELL LANG TERM EDITOR SSH_AUTH_SOCK KEYBOARD DISPLAY GOPATH AUTHOR
    GIT_AUTHOR_NAME key MAX_TOKENS token_count TOKENIZERS_PARALLELISM NODE_ENV VIRTUAL_ENV XAUTHORITY KEYMAP""".split(),
)
def test_ordinary_variables_are_not_taken_for_credentials(name: str) -> None:
    """People look at these every day."""
    assert not is_secret_variable(name)


def test_the_test_of_a_bare_name_agrees_with_the_test_of_a_path() -> None:
    """The sandbox uses the first to scan a project, the policy the second."""
    for path in (*SECRETS, *ORDINARY):
        if "/" not in path and "*" not in path and not is_secret(path):
            assert not is_secret_name(path)
    assert all(map(is_secret_name, (".env", "id_rsa", "server.pem", "terraform.tfstate", ".npmrc", "credentials.json")))
    assert not any(map(is_secret_name, ("main.py", "README.md", ".env.example", "tokens.py", "package-lock.json")))


@pytest.mark.parametrize(
    "piece",
    [
        "a-",
        ".",
        "~",
        "/",
        "../",
        "a/",
        "*a",
        "[a",
        ".bak",
        "=a",
        "secret_",
        "x.pem.",
        ".env.",
        "/proc/x/root",
        "id_rsa_",
        "kubeconfig_",
        "public",
        "-",
        "*/",
        "A_",
        "PASSWORD",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    """The time is linear in the length, also when almost everything matches."""
    text = (piece * 20_000)[:20_000] + "!"
    start = time.process_time()
    for test in (is_secret, is_wide, is_secret_name, is_secret_variable):
        test(text)
    assert time.process_time() - start < 0.2


@settings(max_examples=1500)
@given(name=st.from_regex(_name(), fullmatch=True))
def test_each_name_of_a_file_with_credentials_has_a_hint(name: str) -> None:
    """Names without a hint are not compared with the list: a hint that is missing would show a credential."""
    assert any(hint in name for hint in _HINTS)
