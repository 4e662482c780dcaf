"""Python loads this first in every process of a story of the first start, and only there (see tests/first_start.py).

It gives the machine of the story its memory and disk, the catalogue small weights, and the child process an engine that
needs no real ones. All of it is told by MACHINE_DOUBLE, a JSON object. tools/pictures.py uses it too, with a download
that only seems to happen.
"""

import http.server
import json
import os
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

_NAMES = {"qwen2.5-coder-1.5b": "QWEN_LARGE", "qwen2.5-coder-0.5b": "QWEN_SMALL", "smollm2-135m": "SMOLLM2"}


def adapt(double: dict[str, Any]) -> None:
    from aish.model import weights

    for name, changes in double["weights"].items():
        if "more_parts" in changes:
            changes["more_parts"] = tuple(weights.WheelPart(*part) for part in changes["more_parts"])
        changed = weights.CATALOGUE[name]._replace(**changes)
        setattr(weights, _NAMES[name], changed)
        weights.CATALOGUE[name] = changed
    weights.shared_directory = lambda: Path(double["shared"])

    from aish.model import machine

    machine.available_memory = lambda root=Path("/"): double["memory"]
    machine._free_disk = lambda directory: double["disk"]


class Engine:
    """Stands in for llama.cpp: it says which weights answer, and writes down what each was asked."""

    def __init__(self, parameters: Any) -> None:
        double, weights = json.loads(os.environ["MACHINE_DOUBLE"]), Path(parameters.model.path).name
        if weights in double["too_large"]:
            with open(double["asked"], "a", encoding="utf-8") as file:
                file.write(f"{weights}: cannot be loaded\n")
            print("error loading model: unable to allocate CPU buffer", file=sys.stderr, flush=True)
            raise RuntimeError("it does not fit")

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))) or b"{}")
                if self.path.partition("?")[0].endswith("/chat/completions"):
                    self.answer(asked)
                else:
                    self.send(b"{}", "application/json", 404)

            do_GET = do_POST

            def answer(self, asked: dict[str, Any]) -> None:
                if asked.get("max_tokens") != 1:  # reading a prompt in advance is no question
                    with open(double["asked"], "a", encoding="utf-8") as file:
                        file.write(f"{weights}: {asked['messages'][-1]['content'].splitlines()[-1]}\n")
                chunks = [
                    {"choices": [{"index": 0, "delta": {"content": double["answers"].get(weights, weights)}}]},
                    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
                ]
                lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
                self.send("".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream")

            def send(self, data: bytes, kind: str, status: int = 200) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *words: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_address[1]}"


class Pull:
    """Stands in for a download: it reports its progress, and leaves a file of the right size that is a hole."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds  # until it is done; None: it is not done while anybody looks

    def __call__(self, weights: Any, directory: Path, index: Any, *, fetching: Any, checking: Any) -> Path:
        fetching(weights.size * 20 // 1000, weights.size)
        time.sleep(2.5)
        fetching(weights.size * 34 // 1000, weights.size)
        time.sleep(self._seconds or 1000)
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / str(weights.file)
        with path.open("wb") as file:
            file.write(b"GGUF")
            file.truncate(weights.size)
        return path


class Parameters(types.SimpleNamespace):
    """Takes every option that the child sets."""

    def __init__(self) -> None:
        super().__init__(model=types.SimpleNamespace(), sampling=types.SimpleNamespace())
        self.cpuparams = types.SimpleNamespace()


if "MACHINE_DOUBLE" in os.environ and any(Path(word).name.startswith("aish") for word in sys.orig_argv):
    _double = json.loads(os.environ["MACHINE_DOUBLE"])
    adapt(_double)
    if "aish.model.pull_child" in sys.orig_argv and "pull" in _double:
        from aish.model import pull

        pull.pull_when_free = Pull(_double["pull"])  # type: ignore[assignment]
    if "aish.model.llama_child" in sys.orig_argv and not _double["real"]:
        sys.modules["xllamacpp"] = types.SimpleNamespace(  # type: ignore[assignment]
            Server=Engine, CommonParams=Parameters, __version__="0"
        )
