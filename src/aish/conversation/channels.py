"""Channels: which notes and conversations belong to a directory.

A channel is the project of a directory. All worktrees of a repository share one, and the user can link a directory to
any channel. Readers and writers use this one resolver.
"""

from pathlib import Path

from aish.places import find_project
from aish.storage.git_files import git_directory, read_small
from aish.values.channels import channel_of, is_channel_name
from aish.values.errors import BadUsage, StoreTrouble
from aish.values.stores import RecordLog


class Channels:
    """Finds the channel of a directory. Links made by the user are kept in a log; the last one counts."""

    def __init__(self, links: RecordLog) -> None:
        self._links = links

    def at(self, directory: Path) -> str:
        """Return the channel of a directory. Links that cannot be read do not count."""
        root = str(project_root(directory))
        try:
            return self.links().get(root) or channel_of(root)
        except StoreTrouble:
            return channel_of(root)

    def links(self) -> dict[str, str]:
        """Return the channels that the user has linked to directories."""
        found: dict[str, str] = {}
        for record in self._links.read():
            match record:
                case {"directory": str(directory), "channel": str(channel)}:
                    found[directory] = channel if is_channel_name(channel) else ""
        return found

    def link(self, directory: Path, channel: str) -> None:
        """Use this channel in the project of a directory from now on; an empty one removes the link."""
        if channel:
            check_channel(channel)
        self._links.append({"directory": str(project_root(directory)), "channel": channel})


def check_channel(name: str) -> None:
    """Raises `BadUsage` if this cannot be the name of a channel."""
    if not is_channel_name(name):
        raise BadUsage(f"{name!r} is not a valid channel name; use at most 60 letters, digits and -")


def project_root(directory: Path) -> Path:
    """Return the root of the project; for a worktree, the main checkout of its repository.

    Does not run git. Both sides must name each other, as git requires, so that a foreign `.git` file cannot claim to
    belong to another project.
    """
    try:
        root = find_project(directory)
        git = git_directory(root)
    except (OSError, ValueError):  # for example, the path is too long
        return directory
    if git is None or git.parent.name != "worktrees" or git.parent.parent.name != ".git":
        return root
    back = read_small(git / "gitdir")
    return git.parent.parent.parent if back and Path(back) == root / ".git" else root
