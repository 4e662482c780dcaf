"""The child process that runs llama.cpp: `python -m aish.model.llama_child`, spoken to over its pipes.

It reads one JSON line with its orders, prints one with its address, and ends when its standard input does.
"""

import json
import os
import sys
import threading

import xllamacpp


def main() -> None:
    orders = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    server = xllamacpp.Server(_parameters(orders))  # kept in a name: it stops when it is collected
    print(json.dumps({"url": server.listening_address}), flush=True)
    threading.Event().wait()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def _parameters(orders: dict[str, object]) -> "xllamacpp.CommonParams":
    params = xllamacpp.CommonParams()
    params.model.path = orders["weights"]
    params.model_alias = {"embedded"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [orders["key"]]
    params.n_ctx = orders["window"]
    params.n_parallel = 1
    params.use_jinja = True
    params.ui = False
    params.sampling.temp = 0.2  # what suits so small a model: hotter it rambles, colder it repeats itself
    params.sampling.top_p = 0.9
    params.sampling.penalty_repeat = 1.05
    params.sampling.dry_multiplier = 0.8  # whole sentences that come again are what it falls into
    params.sampling.dry_allowed_length = 4
    params.sampling.dry_penalty_last_n = 1024
    if orders["threads"]:
        params.cpuparams.n_threads = orders["threads"]
    return params


if __name__ == "__main__":
    main()
