"""The child process that fetches weights: `python -m aish.model.pull_child`.

It reads one JSON line with the name of the weights and their directory, prints one for each change of progress and one
at the end, and exits when standard input closes.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from aish.model.index_settings import read_index_settings
from aish.model.package_index import PackageIndex
from aish.model.pull import pull_when_free
from aish.model.weights import CATALOGUE, PullFailed
from aish.values.errors import AishError
from aish.values.text import one_line

_NICE = 10  # the model and the commands of the user come first
_PAUSE_SECONDS = 0.2  # between two reports
_LONGEST = 1000  # characters of a reason


class Reports:
    """Prints progress: every change of the phase and its end, and of the bytes not more than needed."""

    def __init__(self, say: Callable[[dict[str, object]], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._say, self._clock = say, clock
        self._last: tuple[str, int, int] = ("", 0, 0)
        self._when = 0.0

    def __call__(self, phase: str, done: int, size: int) -> None:
        now, report = self._clock(), (phase, done, size)
        soon = phase == self._last[0] and done < size and now - self._when < _PAUSE_SECONDS
        if soon or report == self._last:
            return
        self._last, self._when = report, now
        self._say({"phase": phase, "done": done, "size": size})


def main() -> None:
    options = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(_NICE)
    reports = Reports(_say)
    try:
        home = Path(os.path.expanduser("~"))  # noqa: PTH111  # a Path raises if it is unknown
        index = PackageIndex(read_index_settings(os.environ, home), os.environ)
        path = pull_when_free(
            CATALOGUE[options["weights"]],
            Path(options["directory"]),
            index,
            fetching=lambda done, size: reports("fetching", done, size),
            checking=lambda done, size: reports("checking", done, size),
        )
        _say({"path": str(path)})
    except PullFailed as error:
        _say({"trouble": one_line(error.reason, _LONGEST), "remedy": one_line(error.remedy, _LONGEST)})
    except AishError as error:
        _say({"trouble": one_line(str(error), _LONGEST)})
    except Exception as error:  # the outermost loop of a worker: its reader shows the reason
        _say({"trouble": one_line(f"the download failed: {type(error).__name__}: {error}", _LONGEST)})


def _say(report: dict[str, object]) -> None:
    print(json.dumps(report), flush=True)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main()
