"""The fence of a goal, without a judge in front of it: destructive commands change nothing outside its directories."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

from aish.acting.command_fences import CHANGING, CommandFences
from aish.action.command_runner import run_captured
from aish.action.fence.availability import trouble
from aish.action.fence.fence import Kind

pytestmark = pytest.mark.proves("P10")
KINDS = [
    pytest.param(kind, marks=pytest.mark.skipif(bool(trouble(kind)), reason=trouble(kind) or "there is one"))
    for kind in ("landlock", "bubblewrap")
]
# Each one changes something in the decoy directory $OUT, or in $HOME, if nothing stops it. They run in the workspace,
# where `link` leads to $OUT, `file-link` to a file in it, and `hard` holds a file to copy from.
COMMANDS = r"""
rm -f "$OUT/a.txt"
rm -rf "$OUT"/*
rm -rf ../outside/sub
rm -r link/sub
cd "$OUT" && rm a.txt
cd ../outside; rm -f -- *.txt
find "$OUT" -type f -delete
find "$OUT" -name '*.txt' -exec rm {} +
find link/ -name b.txt -delete
find "$OUT" -type f -print0 | xargs -0 rm -f
unlink "$OUT/a.txt"
rmdir "$OUT/empty"
mv "$OUT/a.txt" gone.txt
mv "$OUT/a.txt" "$OUT/c.txt"
mv mine.txt "$OUT/a.txt"
mv -t "$OUT" mine.txt
mv "$OUT/sub" .
cp mine.txt "$OUT/a.txt"
cp mine.txt link/a.txt
cp mine.txt file-link
cp -r src/. "$OUT/"
cp --remove-destination mine.txt "$OUT/a.txt"
install -m 777 mine.txt "$OUT/a.txt"
echo gone > "$OUT/a.txt"
echo more >> "$OUT/a.txt"
: > link/a.txt
echo x > file-link
echo x | tee "$OUT/a.txt"
echo x | tee -a link/sub/b.txt
exec 3> "$OUT/a.txt"
exec 3<> "$OUT/a.txt"; echo zz >&3
cat mine.txt >| "$OUT/a.txt"
truncate -s 0 "$OUT/a.txt"
truncate -s +9 link/a.txt
dd if=/dev/zero of="$OUT/a.txt" bs=1 count=3
dd if=mine.txt of=file-link conv=notrunc
shred -n 1 "$OUT/a.txt"
split -b 1 mine.txt "$OUT/part-"
sed -i s/a/b/ "$OUT/a.txt"
sed -n 'w ../outside/a.txt' mine.txt
sed -i.bak s/a/b/ link/a.txt
perl -e 'unlink "$ENV{OUT}/a.txt"'
perl -pi -e s/a/b/ "$OUT/a.txt"
perl -e 'open F, ">", "../outside/a.txt"; print F "x"'
python3 -c 'import os; os.remove(os.environ["OUT"] + "/a.txt")'
python3 -c 'import shutil; shutil.rmtree("../outside/sub")'
python3 -c 'import pathlib; pathlib.Path("link/a.txt").write_text("x")'
python3 -c 'import os; os.truncate("link/a.txt", 0)'
python3 -c 'import os; os.rename("mine.txt", "../outside/a.txt")'
python3 -c 'import os; os.chmod("../outside/a.txt", 0o777)'
python3 -c 'import os; os.utime("../outside/a.txt", (1, 1))'
python3 -c 'import os; fd = os.open("..", 0); os.unlink("outside/a.txt", dir_fd=fd)'
awk 'BEGIN { print "x" > "../outside/a.txt" }'
awk 'BEGIN { system("rm ../outside/a.txt") }'
tar -cf "$OUT/a.txt" mine.txt
tar -cf t.tar a.txt && tar -xf t.tar -C "$OUT"
tar -cf t.tar mine.txt && tar -xf t.tar -C ../outside
tar --remove-files -cf t.tar -C "$OUT" a.txt
ln -s /nowhere "$OUT/new-link"
ln -sfn mine.txt "$OUT/a.txt"
ln mine.txt "$OUT/hard"
ln -s "$OUT" again && rm -r again/sub
ln "$OUT/a.txt" mine-too && echo x > mine-too
chmod 000 "$OUT/a.txt"
chmod -R a+rwx "$OUT"
touch -t 200001010000 "$OUT/a.txt"
mkdir -p "$OUT/new/deep"
mkfifo "$OUT/pipe"
git -C ../outside/repo clean -fdxq
git -C "$OUT/repo" checkout -q -- .
git --git-dir="$OUT/repo/.git" --work-tree="$OUT" checkout -q -f
git init -q "$OUT/fresh"
bash -c 'rm "$OUT"/a.txt'
sh -c 'cd ..; echo x > outside/a.txt'
(cd / && rm -f "$OUT/a.txt")
setsid rm -f "$OUT/a.txt"
nohup rm -f "$OUT/a.txt" 2>/dev/null
(sleep 0.1; rm -f "$OUT/a.txt") & wait
printf 'x' | sh -c 'cat > ~/notes.txt'
rm -f ~/notes.txt
echo alias ls=rm >> "$HOME/.bashrc"
cp mine.txt "$HOME/.profile"
mkdir -p ~/.config/autostart && cp mine.txt ~/.config/autostart/x.desktop
mv ~/notes.txt .
rm -rf "$HOME"/*
rsync -a --delete src/ ../outside/
""".strip().splitlines()


class Grounds(NamedTuple):
    """A workspace, and beside it a decoy directory and a home."""

    top: Path
    work: Path
    out: Path
    home: Path

    @property
    def env(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        quiet = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
        return {**kept, **quiet, "HOME": str(self.home), "OUT": str(self.out)}

    def outside(self, narrowed: bool) -> str:
        """Return a fingerprint of everything that the goal must not change."""
        parts = [self.out, self.home, *([self.work / "docs"] if narrowed else [])]
        return hashlib.sha256(repr([_tree(part) for part in parts]).encode()).hexdigest()


def _tree(top: Path) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in (".", *sorted(names), *folders):
            path = Path(folder, name)
            about = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            link = str(path.readlink()) if path.is_symlink() else ""
            found.append((str(path), about.st_mode, about.st_nlink, about.st_mtime_ns, link, content))
    return found


def make(top: Path) -> Grounds:
    """Make the grounds anew."""
    if top.exists():
        for folder, _, _ in os.walk(top):
            Path(folder).chmod(0o700)
        shutil.rmtree(top)
    made = Grounds(top, top / "work", top / "outside", top / "home")
    for path in (made.work / "src", made.work / "docs", made.out / "sub", made.out / "empty", made.home):
        path.mkdir(parents=True)
    for path in (made.work / "mine.txt", made.work / "a.txt", made.work / "src/s.txt", made.work / "docs/d.txt"):
        path.write_text("mine aa\n", encoding="ascii")
    for path in (made.out / "a.txt", made.out / "sub/b.txt", made.home / "notes.txt"):
        path.write_text("a text that must stay\n", encoding="ascii")
    (made.work / "link").symlink_to(made.out)
    (made.work / "file-link").symlink_to(made.out / "a.txt")
    repository = made.out / "repo"
    repository.mkdir()
    (repository / "kept.txt").write_text("a\n", encoding="ascii")
    git = "git init -q . && git add . && git -c user.name=x -c user.email=x@y commit -qm x && echo b > kept.txt"
    run_captured(f"{git} && echo x > untracked", env=made.env, directory=str(repository), fence=None)
    return made


def run(grounds: Grounds, fences: CommandFences | None, command: str, only: tuple[Path, ...] | None = None) -> int:
    """Run a command in the workspace, in the fence of a goal or without one. An unset variable ends it."""
    command = f"set -u; {command}"
    if fences is None:
        return run_captured(command, env=grounds.env, directory=str(grounds.work), fence=None).status
    permit = CHANGING._replace(only=only or (grounds.work,), attended=False, seconds=20)
    with fences.around(permit, grounds.env, str(grounds.work), grounds.work) as (fence, env):
        assert fence
        return run_captured(command, env=env, directory=str(grounds.work), fence=fence).status


def installed(command: str) -> bool:
    words = command.replace("(", " ").replace("|", " ").split()
    names = "rsync perl python3 git awk shred tar install".split()
    return all(shutil.which(name) for name in names if name in words)


def test_without_a_fence_each_command_has_an_effect_outside(tmp_path: Path) -> None:
    """The control: otherwise the test below would prove nothing. It runs in a throwaway directory."""
    silent = []
    for command in filter(installed, COMMANDS):
        grounds = make(tmp_path / "grounds")
        before = grounds.outside(narrowed=False)
        run(grounds, None, command)
        if grounds.outside(narrowed=False) == before:
            silent.append(command)
    assert silent == []
    assert len(COMMANDS) > 60


@pytest.mark.parametrize("kind", KINDS)
def test_in_the_fence_of_a_goal_no_byte_outside_changes(tmp_path: Path, kind: Kind) -> None:
    """Neither names, contents, modes nor times."""
    fences = CommandFences(kind, [], home=tmp_path / "grounds/home", has_secret=lambda text: False)
    grounds = make(tmp_path / "grounds")
    before, changed = grounds.outside(narrowed=False), []
    for command in filter(installed, COMMANDS):
        run(grounds, fences, command)
        if grounds.outside(narrowed=False) != before:
            changed.append(command)
            grounds = make(tmp_path / "grounds")
            before = grounds.outside(narrowed=False)
        for name in ("mine.txt", "a.txt"):
            (grounds.work / name).write_text("mine aa\n", encoding="ascii")
    assert changed == []


@pytest.mark.parametrize("kind", KINDS)
def test_narrowed_to_a_directory_the_rest_of_the_project_stays(tmp_path: Path, kind: Kind) -> None:
    """The directory itself can be changed: the fence stops what is outside, not everything."""
    fences = CommandFences(kind, [], home=tmp_path / "grounds/home", has_secret=lambda text: False)
    grounds = make(tmp_path / "grounds")
    before, only = grounds.outside(narrowed=True), (grounds.work / "src",)
    for command in (
        "rm -r docs",
        "cp mine.txt docs/d.txt",
        "echo x > docs/d.txt",
        "mv docs src/",
        "ln docs/d.txt src/d && echo x > src/d",
        "ln -s ../docs src/way && rm src/way/d.txt",
        "chmod 000 docs/d.txt",
        'python3 -c \'import os; os.rename("docs/d.txt", "src/d.txt")\'',
    ):
        assert run(grounds, fences, command, only) != 0, command
        assert grounds.outside(narrowed=True) == before, command
    assert run(grounds, fences, "rm src/s.txt && mkdir src/new && echo x > src/new/y && mv src/new/y src/", only) == 0
    assert (grounds.work / "src/y").read_text(encoding="ascii") == "x\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_directory_that_leads_out_of_the_project_is_never_writable(tmp_path: Path, kind: Kind) -> None:
    """Also if a link took its place after the user agreed."""
    fences = CommandFences(kind, [], home=tmp_path / "grounds/home", has_secret=lambda text: False)
    grounds = make(tmp_path / "grounds")
    before = grounds.outside(narrowed=False)
    for only in ((grounds.work / "link",), (grounds.out,), (grounds.top,), (Path("/"),), (grounds.work / "nothing",)):
        assert run(grounds, fences, 'echo x > "$OUT/a.txt"', only) != 0
        assert run(grounds, fences, "echo x > mine.txt", only) != 0
    assert grounds.outside(narrowed=False) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_command_of_a_goal_ends_with_its_time(tmp_path: Path, kind: Kind) -> None:
    """Also if it ignores everything that asks it to end."""
    fences = CommandFences(kind, [], home=None, has_secret=lambda text: False)
    grounds = make(tmp_path / "grounds")
    permit = CHANGING._replace(only=(grounds.work,), attended=False, seconds=0.5)
    with fences.around(permit, grounds.env, str(grounds.work), grounds.work) as (fence, env):
        done = run_captured("trap '' INT TERM HUP; sleep 60", env=env, directory=str(grounds.work), fence=fence)
    assert done.status == 124 and done.wants
