"""The file of the user's settings keeps its form when a setting is changed."""

from pathlib import Path

import pytest

from aish.settings.user_file import change_setting


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"# mine\r\n[view]\r\nkeys = 'vi'\r\n", b"# mine\r\n[view]\r\nkeys = 'vi'\r\ntheme = \"light\"\r\n"),
        (b"# mine\n[view]\nkeys = 'vi'\n", b"# mine\n[view]\nkeys = 'vi'\ntheme = \"light\"\n"),
        (b"\xef\xbb\xbf[view]\n", b'\xef\xbb\xbf[view]\ntheme = "light"\n'),
        (b"", b'[view]\ntheme = "light"\n'),
    ],
)
def test_line_ends_and_the_mark_of_a_byte_order_stay(tmp_path: Path, before: bytes, after: bytes) -> None:
    """The file may be shared with an editor on another system."""
    path = tmp_path / "config.toml"
    path.write_bytes(before)

    change_setting(path, "view.theme", "light", lambda text: False)

    assert path.read_bytes() == after
