"""Search lines in files, as a program of its own: a regular expression can take for ever, and a process can be ended.

Used where ripgrep is not installed. Takes the pattern as its argument and the paths, separated by NUL, on standard
input; prints `path NUL number : line`.
"""

import os
import re
import sys

_MOST_OF_FILE = 32 << 20
_LONGEST_LINE = 300
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def main() -> int:
    try:
        wanted = re.compile(os.fsencode(sys.argv[1]))
    except re.error as error:
        print(f"not a regular expression: {error}", file=sys.stderr)
        return 2
    write = sys.stdout.buffer.write
    for path in filter(None, sys.stdin.buffer.read().split(b"\0")):
        try:
            with open(os.open(path, _FLAGS), "rb") as file:
                data = file.read(_MOST_OF_FILE + 1)
        except OSError:
            continue  # it has been deleted, or may not be read
        if b"\0" in data[:8192] or len(data) > _MOST_OF_FILE:
            continue
        for number, line in enumerate(data.split(b"\n"), start=1):
            if wanted.search(line):
                write(b"%s\0%d:%s\n" % (path, number, line[:_LONGEST_LINE]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
