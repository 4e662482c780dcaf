"""The prompt and its colours: its content is correct, short and neutralised."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aish.values.snippets import cells
from aish.views.prompt import SIGN, PromptFacts, cut_left, fill, git_branch, plain_sign, short_directory, signs
from aish.views.themes import THEMES, codes, editor_style, theme, wrong_style

FACTS = PromptFacts(
    model="local",
    directory="/home/ada/work",
    home="/home/ada",
    branch="main",
    tokens=1234,
    window=8192,
    cost=0.0123,
    status=2,
)


@pytest.mark.proves("P12")
@pytest.mark.parametrize(
    ("template", "facts", "shown"),
    [
        ("aish> ", FACTS, "aish> "),
        ("{model}|{cwd}|{git}> ", FACTS, "local|~/work|main> "),
        ("{ctx_used} {ctx_pct} {cost} {status} {sign} ", FACTS, f"1.2k 15% $0.012 ✗2 {SIGN} "),
        ("{status} {git} {cost} {ctx_pct} {sign} ", PromptFacts(), f"{SIGN} "),
        ("[{status}]{git}> ", PromptFacts(), "[]> "),
        ("{nothing} {model}{} {Model}> ", FACTS, "{nothing} local{} {Model}> "),
        ("{cwd}\n{sign} ", FACTS, f"~/work\n{SIGN} "),
        ("{model}> ", PromptFacts(model="{cwd}"), "{cwd}> "),
        ("{cost}> ", PromptFacts(cost=12.5), "$12.50> "),
        ("{cost}> ", PromptFacts(cost=0.9996), "$1.00> "),
        ("{ctx_used}> ", PromptFacts(tokens=150_000), "150k> "),
        ("{cwd}> ", PromptFacts(directory="/tmp/a\x1b[2J\u202eb"), "/tmp/a␛[2J�b> "),
        ("{cwd}> ", PromptFacts(directory="/srv/one/" + "deep/" * 9 + "leaf"), "…deep/deep/deep/leaf> "),
        ("{cwd}> ", PromptFacts(directory="/数据/" + "深" * 20), "…" + "深" * 9 + "> "),
    ],
)
def test_a_template_is_filled_with_what_is_true_now(template: str, facts: PromptFacts, shown: str) -> None:
    """Empty values leave no gap, unknown names stay, and no value can control the terminal or act as a template."""
    assert fill(template, facts) == shown


@given(
    columns=st.integers(1, 200),
    name=st.text(max_size=40),
    template=st.lists(
        st.sampled_from(["{model}", "{cwd}", "{git}", "{ctx_pct}", "{sign}", " ", ":", "日"]), max_size=9
    ),
)
@settings(deadline=None, max_examples=100)
def test_a_prompt_leaves_room_to_type(columns: int, name: str, template: list[str]) -> None:
    """This also holds for twenty columns and any directory names."""
    facts = PromptFacts(model=name, directory=name, branch=name, tokens=5, window=9)

    assert cells(fill("".join(template), facts, columns)) <= max(columns - 12, 2)


@pytest.mark.parametrize(
    ("directory", "home", "shown"),
    [
        ("/home/ada", "/home/ada", "~"),
        ("/home/ada/x", "/home/ada/", "~/x"),
        ("/home/adam", "/home/ada", "/home/adam"),
        ("/srv", "/", "/srv"),
        ("/srv", "", "/srv"),
    ],
)
def test_a_home_is_a_tilde(directory: str, home: str, shown: str) -> None:
    """Only the whole home directory becomes a tilde."""
    assert short_directory(directory, home) == shown


@given(text=st.text(max_size=20), columns=st.integers(1, 20))
@settings(deadline=None, max_examples=100)
def test_the_end_of_a_name_is_kept(text: str, columns: int) -> None:
    """Names mostly differ at their end."""
    short = cut_left(text, columns)

    assert cells(short) <= columns
    assert text.endswith(short.removeprefix("…"))


@pytest.mark.parametrize("head", [b"", b"ref: ../../etc/passwd", b"ref: refs/heads/a\nx", b"\xff\0", b"no commit"])
def test_a_head_that_git_did_not_write_is_not_shown(tmp_path: Path, head: bytes) -> None:
    """The prompt follows the same rule as what the model is told about the project."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(head)

    assert git_branch(tmp_path) == ""


@pytest.mark.proves("P12")
def test_the_branch_is_read_from_the_files_of_git(tmp_path: Path) -> None:
    """It works on a branch, below the root of a work tree, at a commit, and in a second work tree."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "src").mkdir()
    head = tmp_path / "repo" / ".git" / "HEAD"
    head.write_text("ref: refs/heads/feature/one\n", encoding="utf-8")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").write_text("gitdir: ../repo/.git\n", encoding="utf-8")

    assert git_branch(tmp_path / "repo") == "feature/one"
    assert git_branch(tmp_path / "repo" / "src") == "feature/one"
    assert git_branch(tmp_path / "tree") == "feature/one"
    head.write_text("0123456789abcdef0123456789abcdef01234567\n", encoding="utf-8")
    assert git_branch(tmp_path / "repo") == "0123456"
    head.write_text("ref: refs/remotes/origin/main\n", encoding="utf-8")
    assert git_branch(tmp_path / "repo") == ""
    head.unlink()
    assert git_branch(tmp_path / "repo") == ""
    head.mkdir()
    assert git_branch(tmp_path / "repo") == ""


def test_every_kind_of_line_has_a_sign_of_its_own_also_without_unicode() -> None:
    """Some users cannot rely on colours."""
    for kinds in (signs(), signs(unicode=False)):
        assert set(kinds) == {"", "command", "question", "ask", "colon"}
        assert len(set(kinds.values())) == 5
    assert all(sign.isascii() for sign in signs(unicode=False).values())
    assert plain_sign(fill("aish{sign} ", PromptFacts())) == "aish> "


@pytest.mark.proves("P12")
def test_own_colours_stand_over_a_theme_and_mistakes_are_told() -> None:
    """An invalid style leaves the style of the theme."""
    own = {"command": "underline #ff8800", "unknown": "purple", "nothing": "red", "ask": "bright-red"}
    chosen = theme("light", own)

    assert chosen["command"] == "underline #ff8800"
    assert chosen["unknown"] == THEMES["light"]["unknown"]
    assert set(chosen) == set(THEMES["light"]) == set(THEMES["plain"])
    assert wrong_style("command", own["command"]) == ""
    assert wrong_style("unknown", "purple").startswith("'purple' is not a colour; use bold, dim")
    assert wrong_style("nothing", "red").startswith("unknown name 'nothing'; use one of: prompt")


@pytest.mark.parametrize(
    ("style", "numbers", "words"),
    [
        ("", "", ""),
        ("bold cyan", "1;36", "bold ansicyan"),
        ("bright-red", "91", "ansibrightred"),
        ("white", "37", "ansigray"),
        ("bright-white", "97", "ansiwhite"),
        ("bright-black", "90", "ansibrightblack"),
        ("underline #ff8800", "4;38;2;255;136;0", "underline #ff8800"),
    ],
)
def test_a_style_means_the_same_on_the_screen_and_in_the_editor(style: str, numbers: str, words: str) -> None:
    """One style in the settings serves two renderers."""
    assert (codes(style), editor_style(style)) == (numbers, words)


@pytest.mark.proves("P12")
def test_without_colours_no_theme_has_any() -> None:
    """NO_COLOR overrides the settings; bold and underline are allowed."""
    plain = theme("dark", {"command": "red"}, colors=False)

    assert all(codes(style) in ("", "1", "2", "4", "7") for style in plain.values())
    assert plain["command"] != plain["unknown"]
