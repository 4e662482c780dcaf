"""The environment of a command that runs unasked: a short list of variables, and settings that keep programs quiet.

Pure: variables in, variables out.
"""

import re
from collections.abc import Callable, Collection, Mapping

_KEPT = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TERM COLORTERM COLUMNS LINES PWD OLDPWD HOSTNAME HOSTTYPE OSTYPE
    NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR LS_COLORS LSCOLORS EZA_COLORS GREP_COLORS TERMINFO TERMINFO_DIRS
    XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS XDG_SESSION_TYPE XDG_CURRENT_DESKTOP
    VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT PYENV_VERSION NVM_DIR NVM_BIN GOPATH GOROOT CARGO_HOME
    RUSTUP_HOME JAVA_HOME MAVEN_HOME GRADLE_HOME ANDROID_HOME GEM_HOME GEM_PATH RBENV_ROOT NODE_PATH BUN_INSTALL
    PNPM_HOME DENO_INSTALL ASDF_DIR MISE_DATA_DIR HOMEBREW_PREFIX HOMEBREW_CELLAR HOMEBREW_REPOSITORY MANPATH INFOPATH
    EDITOR VISUAL SSH_CONNECTION SSH_TTY CI KUBECONFIG DOCKER_CONTEXT AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION
    MAKELEVEL SHLVL container WSL_DISTRO_NAME
    """.split()
)
# Settings of git that run a program or talk to another machine, switched off; they override those of the repository.
_GIT = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.alternateRefsCommand": "false",
    "credential.helper": "",
    "interactive.diffFilter": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "log.showSignature": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "maintenance.auto": "false",
    "gc.auto": "0",
}
_QUIET = {
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "LESSSECURE": "1",
    "LESSHISTFILE": "-",
    "PYTHONSAFEPATH": "1",  # modules of the current directory are not imported
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PIP_NO_INPUT": "1",
    "GOTOOLCHAIN": "local",
    "GOFLAGS": "-mod=mod",
    "CARGO_NET_OFFLINE": "true",
    "npm_config_ignore_scripts": "true",
    "npm_config_offline": "true",
    "INPUTRC": "/dev/null",
}
# Programs that look for updates of themselves would seem to need the network.
NO_UPDATES = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "npm_config_update_notifier": "false",
    "NO_UPDATE_NOTIFIER": "1",
    "HOMEBREW_NO_AUTO_UPDATE": "1",
}


# Shows a difference as git would, in place of a program that a repository names. No setting switches that off.
_PLAIN_DIFF = """sh -c 'echo "diff --git a/$1 b/$1"; diff -u --label "a/$1" --label "b/$1" "$2" "$5"; exit 0' diff"""
_NAMES_DIFF = re.compile(r"^\s*(\[diff\]\s*)?external\s*=|^\s*\[include", re.MULTILINE | re.IGNORECASE)


def looking_environment(
    env: Mapping[str, str],
    private: str,
    *,
    repository: str = "",
    extra: Collection[str] = (),
    is_secret_name: Callable[[str], bool],
    has_secret: Callable[[str], bool],
) -> dict[str, str]:
    """Return the variables for a command that runs unasked.

    `repository` is the text of the settings of the repository. `extra` are names that the user adds to the list.
    Variables with the name or the value of a secret are left out.
    """
    usual = {name: value for name, value in env.items() if name in _KEPT or name.startswith("LC_") or name in extra}
    kept = without_secrets(usual, (), is_secret_name, has_secret)
    diff = {"GIT_EXTERNAL_DIFF": _PLAIN_DIFF} if _NAMES_DIFF.search(repository) else {}
    return {**kept, **_QUIET, **NO_UPDATES, **diff, **_git_settings(), **temporary_places(private)}


def without_secrets(
    env: Mapping[str, str],
    named: Collection[str],
    is_secret_name: Callable[[str], bool],
    has_secret: Callable[[str], bool],
) -> dict[str, str]:
    """Return the variables without those whose name or value is a secret; those that are `named` stay."""
    long = ("PATH", "LS_COLORS")  # searching them takes time, and they hold no secrets

    def is_secret(name: str, value: str) -> bool:
        return is_secret_name(name) or (name not in long and has_secret(f"{name}={value}"))

    return {name: value for name, value in env.items() if name in named or not is_secret(name, value)}


def temporary_places(private: str) -> dict[str, str]:
    """Return the variables that make programs use the private directory for temporary files and caches."""
    places = dict.fromkeys(("TMPDIR", "TMP", "TEMP"), private)
    return {**places, "XDG_CACHE_HOME": f"{private}/cache", "XDG_RUNTIME_DIR": f"{private}/run"}


def _git_settings() -> dict[str, str]:
    found = {"GIT_CONFIG_COUNT": str(len(_GIT))}
    for number, (key, value) in enumerate(_GIT.items()):
        found[f"GIT_CONFIG_KEY_{number}"], found[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return found


def says_nothing(name: str) -> bool:
    """Is this a variable that the fence itself sets, so that a change of it is not the user's?"""
    return (
        name in _QUIET
        or re.fullmatch(r"GIT_(CONFIG_\w+|EXTERNAL_DIFF)|TMPDIR|TMP|TEMP|XDG_(CACHE_HOME|RUNTIME_DIR)", name)
        is not None
    )
