"""Fill a scratch world with traps: settings and files that run code or hold secrets, for every kind of program."""

import bz2
import gzip
import io
import lzma
import os
import sqlite3
import subprocess
import tarfile
import zipfile
from pathlib import Path

from scratch import Scratch, secret

# Files of the home with secrets of the user.
_HOME_SECRETS = """
    .ssh/id_rsa .ssh/id_ed25519 .aws/credentials .netrc .kaggle/kaggle.json .config/gh/hosts.yml .docker/config.json
    .kube/config .npmrc .pypirc .git-credentials .pgpass .gnupg/private-keys-v1.d/a.key .config/gcloud/credentials.db
    .azure/accessTokens.json .bash_history .zsh_history .python_history .local/share/fish/fish_history .vault-token
    .claude/.credentials.json .config/rclone/rclone.conf .terraform.d/credentials.tfrc.json .cargo/credentials.toml
""".split()
_PROJECT_SECRETS = ".env .env.local id_rsa server.pem credentials.json terraform.tfstate .npmrc deploy/.env".split()
VARIABLES = {
    "AWS_SECRET_ACCESS_KEY": secret("aws"),
    "GITHUB_TOKEN": secret("github"),
    "DATABASE_URL": f"postgres://app:{secret('database')}@localhost/app",
    "MY_PASSWORD": secret("password"),
    "SSH_AUTH_SOCK": "/nowhere",
}


def fill(made: Scratch) -> None:
    """Write everything. Whatever runs code of the project makes the file `canary` in it."""
    trap = f"touch '{made.project}/canary'"
    for path in _HOME_SECRETS:
        made.write(f"home/{path}", f"{secret(Path(path).name)}\n", 0o600)
    for path in _PROJECT_SECRETS:
        made.write(f"project/{path}", f"API_TOKEN={secret(Path(path).name)}\n", 0o600)
    for path in ("data/memory.jsonl", "config/config.toml", "state/log", "cache/index", "salt"):
        made.write(f"own/{path}", f"{secret('own')}\n", 0o600)
    _sources(made, trap)
    _data(made)
    _repository(made, trap)
    os.mkfifo(made.project / "fifo")
    (made.project / "link-to-key").symlink_to(made.home / ".ssh/id_rsa")
    (made.project / "link-to-home").symlink_to(made.home)


def _sources(made: Scratch, trap: str) -> None:
    call = f"import os; os.system({trap!r})\n"
    for path, text in {
        "README.md": "# A project\n\nText about nothing, to be searched and shown.\n",
        "notes.txt": "one\ntwo\nthree\n",
        "-rf": "a file with an odd name\n",
        "a b.txt": "a file with a space\n",
        "src/app.py": "def main():\n    print('app')\n",
        "src/main.c": "int main(void) { return 0; }\n",
        "src/lib.js": "module.exports = 1;\n",
        "data.json": '{"a": [1, 2, 3]}\n',
        "data.csv": "a,b\n1,2\n",
        "data.xml": "<a><b>1</b></a>\n",
        "data.yaml": "a: 1\n",
        "opts": "-o canary --output=canary\n",
        "list": "README.md\nnotes.txt\n",
        "package.json": f'{{"name": "x", "scripts": {{"test": "{trap}", "build": "{trap}"}}}}\n',
        "pyproject.toml": "[project]\nname = 'x'\nversion = '1'\n"
        "[build-system]\nrequires = []\nbuild-backend = 'evil'\nbackend-path = ['.']\n",
        "conftest.py": call,
        "setup.py": call,
        "evil.py": call,
        "pip.py": call,
        "json.py": call,
        "sitecustomize.py": call,
        "manage.py": call,
        "tox.ini": f"[testenv]\ncommands = {trap}\n",
        "noxfile.py": call,
        "Makefile": f"x := $(shell {trap})\nall:\n\t{trap}\n",
        "CMakeLists.txt": f"execute_process(COMMAND {trap})\n",
        "justfile": f"default:\n  {trap}\nx := `{trap}`\n",
        "Rakefile": f"system({trap!r})\n",
        "Gemfile": f"system({trap!r})\n",
        "Cargo.toml": "[package]\nname = 'x'\nversion = '0.1.0'\nedition = '2021'\nbuild = 'build.rs'\n",
        "build.rs": 'fn main() { std::fs::write("canary", "").unwrap(); }\n',
        "src/main.rs": "fn main() {}\n",
        ".cargo/config.toml": "[build]\nrustc-wrapper = './evil'\n[alias]\ntree = 'run'\n",
        "go.mod": "module x\n",
        ".envrc": f"{trap}\n",
        ".eslintrc.js": f"require('child_process').execSync({trap!r});\n",
        "jest.config.js": f"require('child_process').execSync({trap!r});\n",
        ".mocharc.js": f"require('child_process').execSync({trap!r});\n",
        ".vimrc": f"silent !{trap}\n",
        ".gdbinit": f"shell {trap}\n",
        ".lldbinit": f"platform shell {trap}\n",
        ".psqlrc": f"\\! {trap}\n",
        ".sqliterc": f".shell {trap}\n",
        "e.yaml": f"users: [{{name: a, user: {{exec: {{command: sh, args: ['-c', \"{trap}\"]}}}}}}]\n",
        "x.uu": "begin 644 canary\n#86)C\n`\nend\n",
        "x.patch": "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# A project\n+# Changed\n",
        "script.awk": f'BEGIN {{ system("{trap}") }}\n',
        "script.sed": "w canary\n1e touch canary\n",
        "commands.gdb": f"shell {trap}\n",
    }.items():
        made.write(f"project/{path}", text)
    made.write("home/.sqliterc", f".shell {trap}\n")
    made.write(
        "home/.gitconfig", f"[core]\n\tpager = {trap}\n[alias]\n\tst = !{trap}\n[user]\n\tname = a\n\temail = a@b\n"
    )
    for name in ("evil", "bin/ls", "bin/cat", "bin/git", "bin/grep", "bin/python3", "bin/less", "gradlew", "mvnw"):
        made.write(f"project/{name}", f"#!/bin/sh\n{trap}\n", 0o755)
    made.write("project/node_modules/.bin/eslint", f"#!/bin/sh\n{trap}\n", 0o755)


def _data(made: Scratch) -> None:
    project, text = made.project, b"some text\n" * 20
    with sqlite3.connect(project / "x.db") as database:
        database.execute("create table t (a)")
        database.execute("insert into t values (1), (2)")
    database.close()
    for name, data in (
        ("a.gz", gzip.compress(text)),
        ("a.bz2", bz2.compress(text)),
        ("a.xz", lzma.compress(text)),
        ("a.pdf", b"%PDF-1.1\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"),
        ("a.bin", bytes(range(256))),
        ("a.o", Path("/bin/true").read_bytes()[:4096]),
    ):
        (project / name).write_bytes(data)
    with zipfile.ZipFile(project / "a.zip", "w") as packed:
        packed.writestr("canary", "x")
        packed.writestr("../canary", "x")
    with tarfile.open(project / "a.tar.gz", "w:gz") as archive:
        for name in ("canary", "../canary", "README.md"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"x"))


def _repository(made: Scratch, trap: str) -> None:
    """A repository whose settings run the trap wherever git can be told to run something."""
    env = {"PATH": os.environ["PATH"], "HOME": str(made.top), "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=made.project, env=env, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", "README.md", "notes.txt", "src", "data.json", "a.bin")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "One")
    made.write("project/.gitattributes", "*.md diff=evil filter=evil\n*.bin diff=evil\n* merge=evil\n")
    made.write("project/notes.txt", "one\ntwo\nfour\n")
    settings = f"""
[core]
	pager = {trap}
	fsmonitor = {trap}; false
	editor = {trap}
	sshCommand = {trap}
	hooksPath = hooks
[diff]
	external = {trap}
[diff "evil"]
	textconv = {trap}; cat
	command = {trap}
[filter "evil"]
	clean = {trap}; cat
	smudge = {trap}; cat
	process = {trap}
[merge "evil"]
	driver = {trap}
[alias]
	st = !{trap}
	log = !{trap}
[credential]
	helper = !{trap}
[gpg]
	program = ./evil
[log]
	showSignature = true
[sequence]
	editor = {trap}
[remote "origin"]
	url = ext::sh -c '{trap}'
"""
    with (made.project / ".git/config").open("a", encoding="utf-8") as file:
        file.write(settings)
    for place in (".git/hooks", "hooks"):
        for name in ("pre-commit", "post-checkout", "post-index-change", "fsmonitor-watchman", "reference-transaction"):
            made.write(f"project/{place}/{name}", f"#!/bin/sh\n{trap}\n", 0o755)
