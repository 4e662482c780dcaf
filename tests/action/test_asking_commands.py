"""Commands that ask the user for words are announced, so that nobody takes their question for one of aish."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.asking_commands import who_asks

pytestmark = pytest.mark.proves("P4")


@pytest.mark.parametrize(
    ("command", "name", "what"),
    [
        ("sudo apt update", "sudo", "your password"),
        ("cd /tmp && sudo rm x", "sudo", "your password"),
        ("env A=1 nice -n 5 sudo ls", "sudo", "your password"),
        ("/usr/bin/sudo ls", "sudo", "your password"),
        ("su - root", "su", "your password"),
        ("su -c 'ls -l'", "su", "your password"),
        ("ssh host uptime", "ssh", "passphrase"),
        ("scp a host:b", "scp", "passphrase"),
        ("ssh-keygen -t ed25519", "ssh-keygen", "a passphrase"),
        ("gpg --sign file", "gpg", "a passphrase"),
        ("passwd", "passwd", "your password"),
        ("docker login registry.example.org", "docker", "your login"),
        ("mysql -u root -p shop", "mysql", "your password"),
        ("git push origin main", "git", "a user name and a password"),
        ("git -C /tmp pull", "git", "a user name and a password"),
        ("gh auth login", "gh", "your login"),
        ("curl -u name https://example.org", "curl", "your password"),
        ("read -p 'Name: ' x", "read", "a line"),
        ("read -s x", "read", "a line that it does not show"),
        ("read -rsp '[aish] your password: ' x; echo $x", "read", "a line that it does not show"),
        ("bash -c 'read -s x'", "read", "a line that it does not show"),
        ("bash -c \"bash -c 'sudo ls -l'\"", "sudo", "your password"),
        ("""python3 -c 'import getpass; getpass.getpass("[aish] ")'""", "python3", "a line"),
        ("if true; then sudo ls; fi", "sudo", "your password"),
        ("x=$(sudo cat f)", "sudo", "your password"),
        ("f() { sudo ls; }; f", "sudo", "your password"),
        ("timeout 5 ssh host", "ssh", "passphrase"),
        ("whiptail --inputbox a 8 40", "whiptail", "an answer"),
        ("sudo ssh host", "ssh", "passphrase"),
    ],
)
def test_a_command_that_asks_is_named_with_what_it_asks_for(command: str, name: str, what: str) -> None:
    """Also inside others, and if the command cannot be parsed."""
    said = who_asks(command)
    assert f"{name} may ask for" in said and what in said
    assert said.endswith("the command asks, not aish, and what you type then goes to the command")


@pytest.mark.parametrize(
    "command",
    [
        "ls -l",
        "echo sudo",
        "grep -r ssh .",
        "man read",
        "sudo -n true",
        "ssh -o BatchMode=yes host uptime",
        "git status",
        "git log --oneline push",
        "git commit -m push",
        "docker ps",
        "docker login --password-stdin example.org",
        "echo x | read y",
        "read x < file",
        "while read line; do echo $line; done < file",
        "cat f | while read -r x; do echo $x; done",
        "read -u 3 x",
        "mysql -pword shop",
        "curl -u name:word https://example.org",
        "python3 -c 'print(1)'",
        "gpg --list-keys",
        "",
    ],
)
def test_a_command_that_does_not_ask_is_not_announced(command: str) -> None:
    """A needless sentence at every command would not be read."""
    assert who_asks(command) == ""


def test_two_that_ask_are_both_named_once() -> None:
    said = who_asks("sudo ls; sudo cat x; ssh host")
    assert said.count("sudo may ask") == said.count("ssh may ask") == 1


@given(st.text(st.sampled_from("sudo read ssh;|&<>()'\"$` \n-\\{}"), max_size=60))
@settings(max_examples=150, deadline=None)
def test_any_text_is_taken(command: str) -> None:
    assert isinstance(who_asks(command), str)


@pytest.mark.parametrize("command", ["sudo " * 100_000, "env " * 4_000 + "sudo ls", "(" * 50_000, "read;" * 20_000])
def test_no_command_takes_long(command: str) -> None:
    began = time.process_time()
    who_asks(command)
    assert time.process_time() - began < 1
