"""Check the ways to a server with real servers and proxies, and write the table in docs/servers.md.

    python tools/servers.py [--only WORDS]

nginx, tinyproxy and microsocks are packages of Debian; pproxy, litellm and aimock are installed from PyPI and npm.
All run in a network of their own, without any way out, so this needs root or user namespaces. For each case,
`aish --json` asks one question in a directory of its own. Exits with 1 if one did not go as it should.
Not part of the tests: registries may be out of reach.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from server_cases import PASSWORD, Case, cases
from server_liar import Liar
from server_programs import CannotStart, Programs, SYSTEM, install, make_certificates, make_network, missing, versions
TOP = Path(__file__).parents[1]
PAGE = TOP / "docs" / "servers.md"
AISH = [sys.executable, "-m", "aish"]
LIMIT = 30.0  # seconds for one question
NETWORK = {"connect_seconds": 3, "first_token_seconds": 3, "silence_seconds": 3, "retries": 1}


class Said(NamedTuple):
    """What one run of aish did."""

    code: int
    out: str
    err: str
    seconds: float


class Verdict(NamedTuple):
    """A case and what came of it; `fault` is empty if it went as it should."""

    server: str
    tried: str
    result: str
    fault: str = ""


def ask(home: Path, words: Sequence[str], env: Mapping[str, str]) -> Said:
    """Run `aish --json` once."""
    variables = {"PATH": SYSTEM, "HOME": str(home), "AISH_HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", **env}
    started = time.monotonic()
    try:
        done = subprocess.run(
            [*AISH, "--json", *words],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, env=variables, cwd=home, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Said(-1, "", "", LIMIT)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    return Said(done.returncode, out, err, time.monotonic() - started)


def write_settings(home: Path, preset: Mapping[str, Any], network: Mapping[str, Any]) -> None:
    def lines(values: Mapping[str, Any]) -> str:
        return "".join(f"{name} = {_toml(value)}\n" for name, value in values.items())

    text = f'model = "tried"\n[network]\n{lines({**NETWORK, **network})}[models.tried]\n{lines(preset)}'
    (home / "config").mkdir(exist_ok=True)
    (home / "config" / "config.toml").write_text(text, encoding="utf-8")


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + "}"
    return json.dumps(value)


def judge(case: Case, said: Said) -> Verdict:
    """Say whether one question went as it should."""
    result, fault = _judge(case, said)
    return Verdict(case.server, case.tried, result, fault)


def _judge(case: Case, said: Said) -> tuple[str, str]:
    if said.code == -1:
        return "", f"no end within {LIMIT:.0f} s"
    if "Traceback" in said.err + said.out:
        return "", f"a traceback: {said.err.strip()[-200:]}"
    try:
        told = json.loads(said.out)
    except ValueError:
        return "", f"no JSON object, exit code {said.code}: {said.out[-200:]!r} {said.err[-200:]!r}"
    error = told["error"] or ""
    if PASSWORD in said.out + said.err:
        return error, "the password is printed"
    if case.named:
        wrong = (
            "no error" if not error
            else f"exit code {said.code}" if said.code != 3
            else "more than one line" if "\n" in error
            else "more than 400 characters" if len(error) > 400
            else f"not {case.named!r}" if not re.search(case.named, error)
            else ""
        )  # fmt: skip
        return error or told["answer"], wrong
    wrong = (
        f"exit code {said.code}: {error}" if said.code or error
        else f"state {told['state']}" if told["state"] != "complete"
        else f"the answer is {told['answer'][:100]!r}" if case.answer not in told["answer"]
        else f"said besides: {said.err.strip()}" if said.err.strip()
        else ""
    )  # fmt: skip
    return "answers", wrong


def try_case(case: Case) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="aish-servers-") as directory:
        home = Path(directory)
        write_settings(home, {"endpoint": case.endpoint, "model": "tried", **case.preset}, case.network)
        return judge(case, ask(home, ["Which bird stands in the reeds?"], case.env))


def inside(work: Path, only: str) -> int:
    """Start everything, and try all cases. What this process starts sees the same network."""
    make_network(work)
    make_certificates(work)
    verdicts: list[Verdict] = []
    with Programs(work) as programs:
        Liar()
        programs.start_model()
        programs.start_nginx()
        programs.start_proxies()
        programs.start_http2()
        wanted = [case for case in cases(work) if only in f"{case.server} {case.tried}"]
        with ThreadPoolExecutor(4) as pool:  # most of the time is waiting
            for verdict in pool.map(try_case, wanted):
                verdicts.append(verdict)
                print(told(verdict), flush=True)
    (work / "verdicts.json").write_text(json.dumps(verdicts), encoding="utf-8")
    return 0


def told(verdict: Verdict) -> str:
    mark = f"\n  FAULT {verdict.fault}" if verdict.fault else ""
    return f"{verdict.server}: {verdict.tried}: {verdict.result}{mark}"


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the ways to a server with real servers and proxies.")
    parser.add_argument("--only", default="", metavar="WORDS", help="cases with these words; the page is not written")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options.inside, options.only)
    if away := missing():
        print(away)
        return 2
    try:
        install()
    except CannotStart as trouble:
        print(f"not installed: {trouble}")
        return 2
    with tempfile.TemporaryDirectory(prefix="aish-servers-") as directory:
        network = ["unshare", "--map-root-user", "--net", "--mount", sys.executable, __file__, "--inside", directory]
        env = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{SYSTEM}"}
        done = subprocess.run([*network, "--only", options.only], env=env, check=False)
        if done.returncode:
            print("the network for the check could not be made; it needs root, or user namespaces")
            return 2
        verdicts = [Verdict(*one) for one in json.loads((Path(directory) / "verdicts.json").read_text(encoding="utf-8"))]
    faults = [verdict for verdict in verdicts if verdict.fault]
    print(f"{len(verdicts)} cases, {len(faults)} not as they should be")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
