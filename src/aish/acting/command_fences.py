"""The fences for commands of the model: which files are hidden, which variables are passed on, and how to enter one."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from aish.action.fence.availability import Wanted, isolating_kind, kind, why
from aish.action.fence.bounds import FenceName, changing, looking, protected
from aish.action.fence.environment import NO_UPDATES, looking_environment, temporary_places, without_secrets
from aish.action.fence.fence import Fence, Kind, fenced
from aish.action.fence.hidden_files import KnownSecrets, SecretFiles, in_home
from aish.action.fence.wants import Want
from aish.action.fence.watcher import repository_of, run_by_git
from aish.action.secret_files import HOME_SECRETS, SYSTEM_SECRETS, is_secret_name, is_secret_variable
from aish.memory.redaction import Redaction
from aish.places import Places, home_directory
from aish.settings.options import CommandSettings
from aish.storage.git_files import git_directory, read_bounded
from aish.values.errors import StoreTrouble
from aish.values.named_tuple import NamedTuple

_KEYS = frozenset(".ssh .gnupg .password-store keyrings .mozilla google-chrome chromium shadow".split())
_MOST_SETTINGS = 1 << 16  # bytes that are read of the settings of a repository


class Permit(NamedTuple):
    """What a command was allowed. Without a fence it can do all that the user can."""

    fence: FenceName | None
    network: bool = False
    may_change: tuple[Path, ...] = ()  # protected paths that the user allowed by name
    may_read: tuple[Path, ...] = ()  # hidden paths that the user allowed after seeing their names
    only: tuple[Path, ...] | None = None  # the directories of the project that it may change; None: all of it
    attended: bool = True  # the user looks at it: keys go to the command, and the usual fence is enough
    seconds: float = 0  # how long it may run; 0: no limit of its own


LOOKING = Permit("looking")
CHANGING = Permit("changing")
UNFENCED = Permit(None)


class CommandFences:
    """Makes the fences of one place. `own` are the directories of aish, which every fence hides.

    `has_secret` tells whether a text such as `NAME=value` holds a secret. `passed_on` are the names of variables that
    the user adds for commands that run unasked.
    """

    def __init__(
        self,
        wanted: Wanted,
        own: Sequence[Path],
        *,
        home: Path | None,
        has_secret: Callable[[str], bool],
        passed_on: Collection[str] = (),
        seconds: float = 300,
    ) -> None:
        self._wanted, self._own, self._home = wanted, tuple(own), home
        self._has_secret, self._passed_on, self._seconds = has_secret, passed_on, seconds
        self._secrets = SecretFiles(is_secret_name)
        known = [KnownSecrets(Path("/"), SYSTEM_SECRETS)]
        self._known = [*known, KnownSecrets(home, HOME_SECRETS)] if home else known

    @property
    def kind(self) -> Kind | None:
        return kind(self._wanted)

    @property
    def unattended_kind(self) -> Kind | None:
        """The kind of fence for commands that nobody looks at one by one."""
        return isolating_kind(self._wanted)

    @property
    def trouble(self) -> str:
        """Why there is no fence, or not the usual one; empty if there is nothing to say."""
        return why(self._wanted)

    @contextmanager
    def around(
        self, permit: Permit, env: Mapping[str, str], directory: str, project: Path
    ) -> Iterator[tuple[Fence | None, dict[str, str]]]:
        """Yield the fence for a command and its environment. Without a kind of fence there is none.

        Raises:
            StoreTrouble: the fence cannot be made.
        """
        found = self.kind if permit.attended else self.unattended_kind
        if permit.fence is None or found is None:
            yield None, self._looking_env(env, "/tmp", project) if permit.fence == "looking" else dict(env)
            return
        unasked = permit.fence == "looking"
        secrets = self._all_secrets(project, directory) if unasked else self._known_secrets()
        hidden = [*self._own, *(path for path in secrets if path not in permit.may_read)]
        if unasked:
            seconds = min(self._seconds, permit.seconds) if permit.seconds else self._seconds
            bounds = looking(hidden, seconds=seconds, network=permit.network)
        else:
            bounds = changing(
                project,
                hidden,
                home=self._home,
                network=permit.network,
                may_change=permit.may_change,
                only=permit.only,
                seconds=permit.seconds,
            )
            if permit.network and permit.attended and (agent := env.get("SSH_AUTH_SOCK")):
                bounds = bounds._replace(sockets=(Path(agent),))  # what is sent by ssh needs the user's key
        try:
            with fenced(bounds, found) as fence:
                private = str(fence.private)
                if unasked:
                    yield fence, self._looking_env(env, private, project)
                else:
                    passed = env if permit.attended else self._without_secrets(env)
                    yield fence, {**passed, **temporary_places(private), **NO_UPDATES}
        except OSError as error:
            raise StoreTrouble(f"cannot make the fence for a command: {error.strerror or error}") from error

    @contextmanager
    def around_server(self, permit: Permit, project: Path) -> Iterator[tuple[Fence, dict[str, str]]]:
        """Yield the fence for a server and the variables that it needs. It has no limit of time.

        Raises:
            StoreTrouble: there is no fence here, or it cannot be made.
        """
        found = self.kind
        if found is None:
            raise StoreTrouble(f"its fence cannot be made: {self.trouble or 'fences are switched off'}")
        if permit.fence == "looking":
            bounds = looking([*self._own, *self._all_secrets(project, str(project))], network=permit.network)
        else:
            bounds = changing(project, [*self._own, *self._known_secrets()], home=self._home, network=permit.network)
        limits = bounds.limits._replace(seconds=0, processor_seconds=0)
        try:
            with fenced(bounds._replace(limits=limits), found) as fence:
                yield fence, temporary_places(str(fence.private))
        except OSError as error:
            raise StoreTrouble(f"its fence cannot be made: {error.strerror or error}") from error

    def needs_word(self, path: str, project: Path) -> Path | None:
        """Return the protected path that a path belongs to, or itself if it holds some; None if neither."""
        if run_by_git(path):
            git = Path(repository_of(path))
            if not (git / "HEAD").exists():  # it made a repository, which needs all of these files
                return git
        wanted = Path(path)
        for one in protected(Path(os.path.realpath(project))):
            if one == wanted or one in wanted.parents:
                return one
            if wanted in one.parents:
                return wanted
        return wanted if run_by_git(path) else None

    def _without_secrets(self, env: Mapping[str, str]) -> dict[str, str]:
        """Leave out variables with secrets: nobody looks at each command. Those that the user named stay."""
        return without_secrets(env, self._passed_on, is_secret_variable, self._has_secret)

    def _looking_env(self, env: Mapping[str, str], private: str, project: Path) -> dict[str, str]:
        git = git_directory(project)
        return looking_environment(
            env,
            private,
            repository=_settings_of(git) if git else "",
            extra=self._passed_on,
            is_secret_name=is_secret_variable,
            has_secret=self._has_secret,
        )

    def _known_secrets(self) -> list[Path]:
        return [path for known in self._known for path in known.existing()]

    def _all_secrets(self, project: Path, directory: str) -> list[Path]:
        """Return what a command that runs unasked cannot read: also secrets of projects."""
        found = [*self._known_secrets(), *self._secrets.below(project)]
        if self._home and project != self._home:
            found += in_home(self._home, self._secrets)
        if not Path(directory).is_relative_to(project):
            found += self._secrets.below(Path(directory), depth=3)
        return found

    def is_own(self, path: Path) -> bool:
        """Does a path belong to aish itself? No fence shows it."""
        return any(path == one or one in path.parents for one in self._own)


def _settings_of(git: Path) -> str:
    """Return the settings of a repository; if they are too long to be read, as if they named a program."""
    data = read_bounded(git / "config", _MOST_SETTINGS)
    return "[include]" if data is None else data.decode("utf-8", "replace")


def open_fences(options: CommandSettings, places: Places, redaction: Redaction) -> CommandFences:
    """Return the fences of this user."""
    own = [places.data, places.state, places.config, places.cache]
    return CommandFences(
        options.sandbox,
        own,
        home=home_directory(),
        has_secret=lambda text: redaction.text(text) != text,
        passed_on=options.pass_variables,
        seconds=options.unasked_seconds,
    )


def next_permit(want: Want, permit: Permit, fences: CommandFences, directory: str, project: Path) -> Permit | None:
    """Return the permit that allows a command what a fence stopped; None if no fence allows it."""
    if want.kind in ("reach", "listen"):
        return permit._replace(network=True)
    if want.kind == "limit":
        return permit._replace(fence="changing") if permit.fence == "looking" else None
    if want.kind not in ("write", "read"):
        return None
    path = os.path.join(os.path.realpath(directory), os.path.expanduser(want.path))  # noqa: PTH111, PTH118  # as text
    if want.kind == "read":
        if fences.is_own(Path(path)) or _KEYS.intersection(Path(path).parts):  # what a command prints is not enough
            return None
        return permit._replace(may_read=(*permit.may_read, Path(path)))
    top, home = os.path.realpath(project), os.path.realpath(home_directory())
    if not path.startswith(f"{top}/") or f"{home}/".startswith(f"{top}/"):
        return None
    permit = permit._replace(fence="changing")
    if permit.only is not None and not any(Path(path).is_relative_to(one) for one in permit.only):
        permit = permit._replace(only=(*permit.only, _existing(Path(path).parent)))
    if found := fences.needs_word(path, project):
        return permit._replace(may_change=tuple(dict.fromkeys((*permit.may_change, found))))
    return permit


def _existing(directory: Path) -> Path:
    """Return the directory, or the nearest one above it that exists: a fence cannot open what is not there."""
    return next(one for one in (directory, *directory.parents) if one.is_dir())
