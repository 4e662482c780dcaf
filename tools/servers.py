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
from server_curl import NAMES, compare
from server_liar import URL, Liar
from server_programs import SYSTEM, CannotStart, Programs, install, make_certificates, make_network, missing, versions

from aish.model.estimate import Estimates
from aish.places import find_places

TOP = Path(__file__).parents[1]
PAGE = TOP / "docs" / "servers.md"
AISH = [sys.executable, "-m", "aish"]
LIMIT = 30.0  # seconds for one question
TALK_LIMIT = 400.0  # the same for a model that computes
USUAL_NOTE = (
    r"(?m)^\[aish\] (the context window of .* is not known, |the answer was cut off at its maximum length; ).*$"
)
NETWORK = {"connect_seconds": 3, "first_token_seconds": 3, "silence_seconds": 3, "retries": 1}


TALKS = (
    ("llama.cpp", "straight", 8090, "smollm2"),
    ("litellm", "in front of llama.cpp", 8091, "smollm2"),
    ("litellm", "in front of a server without counts", 8091, "countless"),
)


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


def ask(home: Path, words: Sequence[str], env: Mapping[str, str], limit: float = LIMIT) -> Said:
    """Run `aish --json` once."""
    variables = {"PATH": SYSTEM, "HOME": str(home), "AISH_HOME": str(home), "LANG": "C.UTF-8", "TERM": "dumb", **env}
    started = time.monotonic()
    try:
        done = subprocess.run(
            [*AISH, "--json", *words],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, env=variables, cwd=home, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Said(-1, "", "", limit)
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
        else f"said besides: {besides}" if (besides := re.sub(USUAL_NOTE, "", said.err).strip())
        else ""
    )  # fmt: skip
    return "answers", wrong


def try_case(case: Case) -> Verdict:
    with tempfile.TemporaryDirectory(prefix="aish-servers-") as directory:
        home = Path(directory)
        write_settings(home, {"endpoint": case.endpoint, "model": "tried", **case.preset}, case.network)
        return judge(case, ask(home, ["Which bird stands in the reeds?"], case.env))


QUESTIONS = (
    "What is the capital of France?",
    "And which river flows through it?",
    "Please name three bridges over that river.",
    "Which of these bridges is the oldest one?",
)


def talk(server: str, tried: str, endpoint: str, model: str) -> Verdict:
    """Ask several questions of one conversation with tools: no alarm, and a plausible number of characters a token."""
    with tempfile.TemporaryDirectory(prefix="aish-servers-") as directory:
        home = Path(directory)
        network = {"first_token_seconds": 180, "silence_seconds": 180}
        write_settings(
            home, {"endpoint": endpoint, "model": model, "tools": True, "max_tokens": 40, "window": 8192}, network
        )
        for number, question in enumerate(QUESTIONS):
            given = f"{LONG} {question}" if number in (1, 2) else question  # only such growth can raise the alarm
            said = ask(home, [*(["--continue"] if number else []), given], {}, TALK_LIMIT)
            if said.code == -1 or "Traceback" in said.err or not said.out.startswith("{"):
                return Verdict(server, tried, "", f"question {number + 1}: {said.err.strip()[-200:] or 'no end'}")
            if besides := re.sub(USUAL_NOTE, "", said.err).strip():
                return Verdict(server, tried, "", f"question {number + 1}: said besides: {besides}")
            error = json.loads(said.out)["error"]
            if error and "tool" not in error and "empty" not in error:  # such a small model often does no better
                return Verdict(server, tried, "", f"question {number + 1}: {error}")
        estimates = Estimates(find_places({"AISH_HOME": directory}).token_ratios)
        text = "word " * 200
        ratio = len(text) / estimates.count(model, text)
        few = estimates.count(model, QUESTIONS[0])
    wrong = "" if 2 <= ratio <= 6 and few > 4 else f"{ratio:.1f} characters a token: six words are {few} tokens"
    return Verdict(
        server, tried, f"answers; no alarm; {ratio:.1f} characters a token, so six words are {few} tokens", wrong
    )


LONG = " ".join(f"Line {number} of a list says that bird {number} was seen in the reeds." for number in range(60))


def inside(work: Path, only: str) -> int:
    """Start everything, and try all cases. What this process starts sees the same network."""
    make_network(work, NAMES)
    make_certificates(work)
    verdicts: list[Verdict] = []
    if only in ("", "curl"):
        number, meant, others = compare()
        result = f"the same as with curl, except: {'; '.join(meant)}; loopback never uses a proxy"
        tried = f"{number} settings of the variables and addresses: which proxy is asked, how, and for what"
        verdicts.append(
            Verdict("curl", tried, result, "; ".join(others[:5]) and f"{len(others)} differences: {others[:5]}")
        )
        print("\n".join([told(verdicts[-1]), *others]), flush=True)
    with Programs(work) as programs:
        Liar()
        programs.start_model()
        programs.start_nginx()
        programs.start_proxies()
        programs.start_http2()
        if not only or only in ("llama.cpp", "litellm"):
            programs.start_llama(next((Path(sys.prefix) / "share/aish/models").glob("*.gguf")))
            programs.start_litellm(f"{URL}/countless/v1")
            for server, tried, port, model in TALKS:
                verdicts.append(
                    talk(server, f"{tried}; four questions with tools", f"http://127.0.0.1:{port}/v1", model)
                )
                print(told(verdicts[-1]), flush=True)
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


def write_page(verdicts: Sequence[Verdict]) -> None:
    """Replace the part of the page that is behind the heading."""
    known = {**versions(), "a scripted liar": "", "a lying proxy": "", "none": ""}
    lines = [
        HEADING,
        "",
        f"`make servers` wrote this part on {datetime.now(UTC):%Y-%m-%d}: {len(verdicts)} cases, "
        f"{sum(bool(verdict.fault) for verdict in verdicts)} not as they should be. It starts the",
        "programs themselves in a network of their own, where nginx and the proxies listen on addresses that are not",
        "loopback, and asks with `aish --json`. It expects an answer, or one line that names the cause, with exit",
        "code 3; never a password, a traceback, or more than 30 seconds. Timeouts were set to 3 seconds, retries to 1.",
        "aimock stands behind nginx and the proxies. Ollama, vLLM and LM Studio were not tried; their tests follow",
        "what they document.",
    ]
    for server in dict.fromkeys(verdict.server for verdict in verdicts):
        lines += [
            "",
            f"### {SPOKEN.get(server, server)} {known[server]}".rstrip(),
            "",
            "| what was tried | result |",
            "|---|---|",
        ]
        for verdict in verdicts:
            if verdict.server == server:
                result = f"**{verdict.fault}** {verdict.result}" if verdict.fault else verdict.result
                lines.append(f"| {verdict.tried} | {_cell(result)} |")
    before = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    PAGE.write_text(before + "\n".join(lines) + "\n", encoding="utf-8")


def _cell(text: str) -> str:
    text = re.sub(r"/\S*/aish-servers-\w+/", "", " ".join(text.split()))
    return text.replace("|", "/").replace("<", "&lt;")


HEADING = "## What was tried"
SPOKEN = {
    "none": "No server or proxy",
    "a scripted liar": "A scripted server that lies",
    "a lying proxy": "A proxy that lies",
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the ways to a server with real servers and proxies.")
    parser.add_argument("--only", default="", metavar="WORDS", help="cases with these words; the page is not written")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        try:
            return inside(options.inside, options.only)
        except CannotStart as trouble:
            print(f"{trouble}; the network of the check needs root, or user namespaces")
            return 2
    if away := missing():
        print(away)
        return 2
    try:
        install()
    except CannotStart as trouble:
        print(f"not installed: {trouble}")
        return 2
    with tempfile.TemporaryDirectory(prefix="aish-servers-") as directory:
        network = ["unshare", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        network += [sys.executable, __file__, "--inside", directory]  # whatever it starts ends with it
        env = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{SYSTEM}"}
        done = subprocess.run([*network, "--only", options.only], env=env, check=False)
        if done.returncode:
            return 2
        verdicts = [
            Verdict(*one) for one in json.loads((Path(directory) / "verdicts.json").read_text(encoding="utf-8"))
        ]
    faults = [verdict for verdict in verdicts if verdict.fault]
    print(f"{len(verdicts)} cases, {len(faults)} not as they should be")
    if not options.only:
        write_page(verdicts)
        print(f"written to {PAGE.relative_to(TOP)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
