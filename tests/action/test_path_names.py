"""Paths as names: every way to write a path ends in one form, without looking at the disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aish.action.path_names import below, normalized


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("/tmp/../etc/shadow", "/etc/shadow"),
        ("~/.", "~"),
        ("~/./.ssh//id", "~/.ssh/id"),
        ("~/a/../.ssh", "~/.ssh"),
        ("~/../someone/.ssh", "/home/someone/.ssh"),
        ("/../..//x", "/x"),
        ("../../x", "../../x"),
        ("./x", "x"),
        ("./../x", "../x"),
        ("a/..", "."),
        ("/proc/self/root/etc/shadow", "/etc/shadow"),
        ("/proc/1/task/2/root/x", "/x"),
        ("/proc/self/root", "/"),
        ("/proc/self/cwd/.env", ".env"),
        ("/proc/\0/cwd/../x", "../x"),
        ("plain", "plain"),
        ("", ""),
    ],
)
def test_a_detour_leads_to_the_same_name(typed: str, meant: str) -> None:
    """A credential is recognised by its name, and a detour must not hide it."""
    assert normalized(typed) == meant


def test_a_relative_path_is_seen_from_its_directory() -> None:
    """`cd ~/.config; cd gh; cat hosts.yml` shows one file."""
    assert below("~/.config", "gh") == "~/.config/gh"
    assert below("a", "/etc/x") == "/etc/x"
    assert below("/proc/self", "cwd/../x") == "../x"


@given(st.lists(st.sampled_from(["..", ".", "", "a", "~", "proc", "self", "root", "cwd", "\0", "*"]), max_size=12))
def test_a_normal_form_stays_as_it_is(steps: list[str]) -> None:
    """Otherwise a second detour could hide behind the first."""
    once = normalized("/".join(steps))
    assert normalized(once) == once
