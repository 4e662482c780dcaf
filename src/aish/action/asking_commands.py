"""Say who asks, if a command will ask the user for words while it runs: a password, a passphrase, a line.

What such a command shows is its own text, and may look like a question of aish. The user is told before it starts. A
name in the table is enough: being told once too often is harmless.

Pure: text in, text out.
"""

import re
from collections.abc import Iterator, Sequence

from aish.action.command_line import read_line
from aish.action.command_words import UnreadableCommand
from aish.action.line_parts import Simple
from aish.values.named_tuple import NamedTuple
from aish.values.patterns import pattern

_LONGEST = 20_000  # characters; longer commands are not parsed
_DEEPEST = 3  # shells inside shells
_PASSWORD, _LOGIN, _KEY = "your password", "a user name and a password", "a password or a passphrase"
_SHELLS = frozenset("sh bash dash zsh ksh fish".split())
_INTERPRETERS = pattern(r"(?:python|perl|ruby|node|php|pypy)[\d.]*")
_READS_A_LINE = pattern(r"\binput\(|getpass|<STDIN>|\bgets\b|readline|raw_input")
_WRAPPERS = frozenset(
    "env nohup time timeout nice ionice chrt stdbuf command exec builtin setsid script watch xargs strace unbuffer "
    "parallel flock systemd-run".split()
)


class Asker(NamedTuple):
    """What a program asks for: always, or only with an option or subcommand of `when`; not with a word of `never`.

    A subcommand is one of the first `depth` operands.
    """

    what: str
    when: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    depth: int = 1


def _askers() -> Iterator[tuple[str, Asker]]:
    """Yield the programs that ask for words, by name."""
    for name, never in {
        "sudo": "-n --non-interactive -k -K",
        "doas": "-n",
        "su": "",
        "pkexec": "",
        "sudoedit": "-n",
    }.items():
        yield name, Asker(_PASSWORD, never=tuple(never.split()))
    for name in "passwd chsh chfn newgrp login kinit kpasswd smbpasswd vncpasswd grub-mkpasswd-pbkdf2 mkpasswd".split():
        yield name, Asker(_PASSWORD, never=("-S", "--status", "-l", "--version", "--help"))
    for name in "ssh scp sftp sshfs ssh-copy-id mosh autossh sshuttle".split():
        yield name, Asker(_KEY, never=("BatchMode=yes", "-oBatchMode=yes", "-V"))
    for (
        name
    ) in "ssh-add ssh-keygen gpg gpg2 openssl age cryptsetup veracrypt pass minisign signify ansible-vault".split():
        yield (
            name,
            Asker("a passphrase", never=("--list-keys", "-k", "--verify", "-l", "-L", "-lf", "--version", "version")),
        )
    for name in "ftp telnet smbclient lftp certbot twine vault htpasswd ldappasswd".split():
        yield name, Asker(_LOGIN, never=("--version", "--help", "-b", "-V"))
    for (
        name
    ) in "docker podman npm yarn pnpm cargo gh glab az gcloud aws heroku oc fly flyctl netlify vercel snap".split():
        words = ("login", "adduser", "configure", "init", "publish", "register", "refresh-token")
        yield name, Asker("your login", when=words, never=("--password-stdin",), depth=2)
    for name in "mysql mariadb mysqldump mysqladmin mongosh mongo mongodump".split():
        yield name, Asker(_PASSWORD, when=("-p", "--password"))
    for name, when in {
        "psql": "-W --password",
        "pg_dump": "-W --password",
        "createdb": "-W --password",
        "redis-cli": "--askpass",
        "ldapsearch": "-W",
        "ldapmodify": "-W",
        "wget": "--ask-password",
        "curl": "-u --user -U --proxy-user",
        "zip": "-e --encrypt -er -re",
        "7z": "-p",
        "ansible": "-k -K --ask-pass --ask-become-pass --ask-vault-pass",
        "ansible-playbook": "-k -K --ask-pass --ask-become-pass --ask-vault-pass",
    }.items():
        yield name, Asker(_PASSWORD, when=tuple(when.split()))
    yield "git", Asker(_LOGIN, when=("push", "pull", "fetch", "clone", "ls-remote", "submodule", "credential"))
    yield "hg", Asker(_LOGIN, when=("push", "pull", "clone"))
    yield "svn", Asker(_LOGIN, when=("checkout", "co", "update", "up", "commit", "ci"))
    for name in "dialog whiptail zenity kdialog gum fzf systemd-ask-password ssh-askpass pinentry".split():
        yield name, Asker("an answer", never=("--version", "--help"))


_ASKERS = dict(_askers())


def who_asks(command: str) -> str:
    """Return a sentence that says which program may ask the user for what; empty if none is known to ask."""
    asked = list(dict.fromkeys(_asked(command, 0)))
    if not asked:
        return ""
    told = "; ".join(f"{name} may ask for {what}" for name, what in asked)
    return f"{told}: the command asks, not aish, and what you type then goes to the command"


def _asked(command: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield programs, and what they ask for."""
    try:
        parts = read_line(command).parts if len(command) <= _LONGEST else None
    except UnreadableCommand:
        parts = None
    if parts is None:
        yield from _guessed(command)
        return
    given = False  # a redirection of a whole group is a part of its own, after the commands of the group
    for part in reversed(parts):
        given = given or (not part.words and _has_input(part))
    for part in parts:
        words = [word.plain if word.plain is not None else word.raw for word in part.words]
        yield from _of_words(words, depth, fed=given or bool(part.feed) or _has_input(part))


def _has_input(part: Simple) -> bool:
    return any(redirect.operator.startswith("<") for redirect in part.redirects)


def _of_words(words: Sequence[str], depth: int, *, fed: bool) -> Iterator[tuple[str, str]]:
    """Yield what one simple command asks for. `fed`: its input does not come from the terminal."""
    while words:
        name, rest = words[0].rpartition("/")[2], words[1:]
        if name in ("read", "select", "mapfile", "readarray") and not fed:
            if not any(re.match(r"-\w*u", word) for word in rest):
                secret = any(re.match(r"-\w*s", word) for word in rest)
                yield name, "a line that it does not show" if secret else "a line"
            return
        if name in _SHELLS or name in ("eval", "ssh", "su", "watch"):
            for text in rest:
                if depth < _DEEPEST and re.search(r"\s", text):
                    yield from _asked(text, depth + 1)
        if _INTERPRETERS.fullmatch(name) and not fed and any(_READS_A_LINE.search(word) for word in rest):
            yield name, "a line"
        if (asker := _ASKERS.get(name)) and _does_ask(asker, rest):
            yield name, asker.what
        if name not in _WRAPPERS and name not in ("sudo", "doas"):
            return
        words = _inner(rest)


def _does_ask(asker: Asker, rest: Sequence[str]) -> bool:
    if any(word in asker.never for word in rest):
        return False
    pairs = zip(rest, [*rest[1:], ""], strict=False)
    subcommands = _operands(rest)[: asker.depth]
    flagged = any(word in asker.when and word[0] == "-" and not _has_secret(word, after) for word, after in pairs)
    return not asker.when or flagged or any(word in asker.when for word in subcommands)


def _operands(rest: Sequence[str]) -> list[str]:
    """Return the words that are no options, without the values of the options that git has before its subcommand."""
    before = ["", *rest[:-1]]
    return [word for word, flag in zip(rest, before, strict=False) if word[:1] != "-" and flag not in ("-C", "-c")]


def _has_secret(flag: str, after: str) -> bool:
    """Return whether the password is in the command itself, as in `curl -u name:word`."""
    return flag in ("-u", "--user", "-U", "--proxy-user") and ":" in after


def _inner(words: Sequence[str]) -> Sequence[str]:
    """Return the command that another one runs: from its first word that is known, or after its options."""
    known = (*_WRAPPERS, *_ASKERS, *_SHELLS, "read", "sudo", "doas")
    for place, word in enumerate(words):
        if word.rpartition("/")[2] in known or _INTERPRETERS.fullmatch(word):
            return words[place:]
    return ()


def _guessed(command: str) -> Iterator[tuple[str, str]]:
    """Yield the names in a command that cannot be parsed, where they may begin a command."""
    for found in re.finditer(r"(?:^|[\s;&|(`{!\"'/])([\w.-]+)(?=[\s;&|)`\"']|$)([^;&|\n]*)", command[:_LONGEST]):
        name, rest = found[1], found[2].split()
        if name == "read" and not command[: found.start(1)].rstrip().endswith("|"):
            yield name, "a line"
        elif (asker := _ASKERS.get(name)) and (not asker.when or set(asker.when).intersection(rest)):
            yield name, asker.what
