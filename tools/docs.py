"""Write the pages that are generated from the code, or check that they are up to date (`--check`)."""

import sys
from pathlib import Path

from aish.commands.manual import manual

PAGES = {Path("docs/commands.md"): manual}


def main() -> int:
    stale = [page for page, write in PAGES.items() if not page.exists() or page.read_text(encoding="utf-8") != write()]
    if "--check" in sys.argv:
        for page in stale:
            print(f"{page} is out of date; run: make docs")
        return 1 if stale else 0
    for page in stale:
        page.write_text(PAGES[page](), encoding="utf-8")
        print(f"written: {page}")
    return 0


sys.exit(main())
