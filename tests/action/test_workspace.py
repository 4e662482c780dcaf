"""The workspace of file tools: no path leads out of it."""

import os
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.action.workspace import inside, open_inside, remove_inside, write_inside
from aish.values.errors import Declined, NotFound

OUTSIDE = "^denied: path is outside the agent workspace root$"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a secret beside it."""
    top = tmp_path / "work"
    (top / "sub").mkdir(parents=True)
    (top / "sub" / "note").write_text("a note", encoding="utf-8")
    (tmp_path / "secret").write_text("a secret", encoding="utf-8")
    return top


def read(root: Path, path: str) -> str:
    with os.fdopen(open_inside(root, path), encoding="utf-8") as file:
        return file.read()


def write(root: Path, path: str, text: str) -> None:
    with os.fdopen(open_inside(root, path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)


@pytest.mark.proves("N21")
@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "sub/../../secret",
        "{root}/../secret",
        "{root}-other",
        "/etc/passwd",
        "~/.profile",
        "out",
        "out/",
        "far",
        "up/secret",
        "sub/chain",
        "dangling",
        "/proc/self/root/etc/passwd",
        "zero\0byte",
        "..",
    ],
)
def test_a_path_that_leads_out_is_denied(root: Path, path: str) -> None:
    """However it is written, and whatever links it contains."""
    (root / "out").symlink_to("../secret")
    (root / "far").symlink_to("/etc/passwd")
    (root / "up").symlink_to("..")
    (root / "sub" / "chain").symlink_to("../out")
    (root / "dangling").symlink_to("../not-there-yet")
    (root.parent / "work-other").write_text("x", encoding="utf-8")
    path = path.format(root=root)

    with pytest.raises(Declined, match=OUTSIDE):
        inside(root, path)
    with pytest.raises(Declined, match=OUTSIDE):
        read(root, path)
    with pytest.raises(Declined, match=OUTSIDE):
        write(root, path, "overwritten")

    assert (root.parent / "secret").read_text(encoding="utf-8") == "a secret"
    assert not (root.parent / "not-there-yet").exists()


@pytest.mark.proves("N21")
def test_a_path_that_stays_inside_is_fine(root: Path) -> None:
    """Links inside the workspace belong to it, absolute ones too."""
    (root / "near").symlink_to("sub/note")
    (root / "whole").symlink_to(root / "sub")
    (root.parent / "alias").symlink_to(root)

    for path in (
        "sub/note",
        "./sub/../sub/note",
        "near",
        "whole/note",
        str(root / "sub/note"),
        f"{root}/../alias/near",
    ):
        assert inside(root, path) == root / "sub" / "note"
        assert read(root, path) == "a note"
    assert read(root.parent / "alias", "near") == "a note"
    assert inside(root, ".") == root


def test_a_file_is_made_cut_off_and_written_inside(root: Path) -> None:
    """And no rest of a longer old content stays."""
    write(root, "sub/note", "new")
    write(root, "sub/other", "made")

    assert read(root, "sub/note") == "new"
    assert read(root, "sub/other") == "made"


def test_only_plain_files_are_opened(root: Path) -> None:
    """A pipe would block, and a device might do anything."""
    os.mkfifo(root / "pipe")

    for path, reason in (("pipe", "is not a regular file"), ("sub", "is"), (".", "is the workspace directory")):
        with pytest.raises(Declined, match=reason):
            read(root, path)
    with pytest.raises(Declined, match="sub is a directory"):
        write(root, "sub", "x")


def test_what_is_not_there_is_not_found(root: Path) -> None:
    """That is not the same as being denied."""
    with pytest.raises(NotFound, match="sub/gone does not exist"):
        read(root, "sub/gone")
    with pytest.raises(NotFound):
        write(root, "no/such/directory", "x")


@pytest.mark.proves("N21")
def test_a_directory_swapped_for_a_link_in_the_middle_of_it_leads_nowhere(root: Path) -> None:
    """A directory may be swapped between the check and the open; the swap must not reveal anything outside."""
    outer = root.parent / "outer"
    outer.mkdir()
    (outer / "note").write_text("a secret", encoding="utf-8")
    (root / "link").symlink_to(outer)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (root / "sub").rename(root / "aside")
            (root / "link").rename(root / "sub")
            (root / "sub").rename(root / "link")
            (root / "aside").rename(root / "sub")

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        seen = set()
        for _ in range(1000):
            with suppress(Declined, NotFound):
                seen.add(read(root, "sub/note"))
            with suppress(Declined, NotFound):
                write(root, "sub/made", "x")
    finally:
        stop.set()
        thread.join(10)

    assert seen <= {"a note"}
    assert [path.name for path in outer.iterdir()] == ["note"]


def test_nothing_stays_open_after_a_refusal(root: Path) -> None:
    """A model asks for the wrong thing many times a day."""
    os.mkfifo(root / "pipe")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("pipe", "sub", "sub/gone", "../secret", "no/such/file"):
        with pytest.raises((Declined, NotFound)):
            read(root, path)

    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.proves("N21")
@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(["..", ".", "sub", "up", "out", "loop", "", "~", "note"]), max_size=7), st.booleans())
def test_no_mixture_of_parts_leads_out(parts: list[str], absolute: bool) -> None:
    """Any combination of parts is inside or denied."""
    with TemporaryDirectory() as name:
        root = Path(name).resolve() / "work"
        (root / "sub").mkdir(parents=True)
        (root / "up").symlink_to("..")
        (root / "sub" / "out").symlink_to("/")
        (root / "loop").symlink_to("loop")
        path = ("/" if absolute else "") + "/".join(parts)

        try:
            found = inside(root, path)
        except Declined:
            return

        assert found.is_relative_to(root)
        assert Path(os.path.realpath(found)).is_relative_to(root)


# Writing


@pytest.mark.proves("N21")
@pytest.mark.parametrize("path", ["../new", "out/new", "up/new", "/etc/aish-new", "dangling/new", "zero\0byte"])
def test_nothing_is_written_or_deleted_outside(root: Path, path: str) -> None:
    """Also not a new file, or one in a new directory."""
    (root / "out").symlink_to(root.parent)
    (root / "up").symlink_to("..")
    (root / "dangling").symlink_to("../missing")

    for work in (lambda: write_inside(root, path, b"x"), lambda: remove_inside(root, path)):
        with pytest.raises(Declined, match=OUTSIDE):
            work()
    assert sorted(one.name for one in root.parent.iterdir()) == ["secret", "work"]


def test_a_new_file_never_replaces_one(root: Path) -> None:
    """It may have been created while the user was asked."""
    with pytest.raises(Declined, match="exists now"):
        write_inside(root, "sub/note", b"x")
    assert read(root, "sub/note") == "a note"
    assert [one.name for one in (root / "sub").iterdir()] == ["note"]


def test_a_replaced_file_keeps_its_mode_and_its_links(root: Path) -> None:
    """A link to it leads to the new content."""
    (root / "sub" / "note").chmod(0o640)
    (root / "link").symlink_to("sub/note")

    write_inside(root, "link", b"new", (root / "sub" / "note").stat())

    assert (root / "link").is_symlink()
    assert (root / "sub" / "note").read_bytes() == b"new"
    assert (root / "sub" / "note").stat().st_mode & 0o777 == 0o640


def test_new_directories_are_told_and_can_be_removed_again(root: Path) -> None:
    """Those that are not empty stay."""
    assert write_inside(root, "sub/x/y/z", b"1") == ("sub/x", "sub/x/y")
    (root / "sub" / "x" / "mine").touch()

    remove_inside(root, "sub/x/y/z", ["sub/x/y", "sub/x"])

    assert [one.name for one in (root / "sub" / "x").iterdir()] == ["mine"]


@pytest.mark.proves("N21")
def test_a_directory_swapped_for_a_link_leads_nowhere(root: Path) -> None:
    """Somebody swaps a directory and a link to the outside as fast as possible, while a file in it is written."""
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "real").mkdir()
    (root / "away").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for one, other in (("real", "spare"), ("away", "real"), ("real", "away")):
                with suppress(OSError):  # the writer has made a new directory meanwhile
                    (root / one).rename(root / other)
            if (root / "spare").exists() and (root / "real").exists():
                shutil.rmtree(root / "real", ignore_errors=True)
            with suppress(OSError):
                (root / "spare").rename(root / "real")

    swapping, written = threading.Thread(target=swap), 0
    swapping.start()
    try:
        for number in range(2000):
            with suppress(Declined, NotFound, OSError):
                write_inside(root, f"real/{number}", b"x")
                written += 1
    finally:
        stop.set()
        swapping.join()

    assert list(outside.iterdir()) == []
    assert written > 0
