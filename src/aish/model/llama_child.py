"""The child process that runs llama.cpp: `python -m aish.model.llama_child`.

It reads one JSON line with its options, prints one with its address, and exits when standard input closes.
"""

import json
import os
import sys
import threading

import xllamacpp

_CACHE = 128  # megabytes for prompts that had to leave for another one: after a side question they come back


def main() -> None:
    os.umask(0o077)  # files that llama.cpp writes are private
    options = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    server = xllamacpp.Server(_parameters(options))  # keep a reference: garbage collection would stop the server
    print(json.dumps({"url": server.listening_address, "engine": xllamacpp.__version__}), flush=True)
    threading.Event().wait()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def _parameters(options: dict[str, object]) -> "xllamacpp.CommonParams":
    params = xllamacpp.CommonParams()
    params.model.path = options["weights"]
    params.model_alias = {"embedded"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options["key"]]
    params.n_ctx = options["window"]
    params.n_parallel = 1
    # An abandoned request ends after the batch that is being read: 0.6 s instead of 20, and reading is as fast.
    params.n_batch = params.n_ubatch = 64
    params.n_cache_reuse = 32  # when turns leave, those after them are moved instead of being read again
    params.cache_ram_mib = _CACHE
    params.no_extra_bufts = options["no_repacking"]
    params.slot_save_path = options["states"]
    params.warmup = False  # the first prompt warms it up
    params.use_jinja = True
    params.ui = False
    params.sampling.temp = 0.2  # tuned for a small model: it rambles when higher, and repeats itself when lower
    params.sampling.top_p = 0.9
    if options["rambles"]:  # not for models that write code and JSON, which repeat themselves
        params.sampling.penalty_repeat = 1.05
        params.sampling.dry_multiplier = 0.8  # small models tend to repeat whole sentences
        params.sampling.dry_allowed_length = 4
        params.sampling.dry_penalty_last_n = 1024
    if options["threads"]:
        params.cpuparams.n_threads = options["threads"]
    return params


if __name__ == "__main__":
    main()
