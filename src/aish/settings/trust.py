"""Project files that the user trusts: by path and content, so that a changed file has to be trusted again."""

from pathlib import Path

from aish.storage.lines import LineFile
from aish.values.errors import NotFound, StoreTrouble


class Trust:
    """Which `.aish.toml` files may set anything. An append-only file; the last word on a path counts."""

    def __init__(self, path: Path) -> None:
        self._lines = LineFile(path, first=lambda: {"meta": {"format": 1, "what": "trusted project files"}})

    def holds(self, file: Path) -> bool:
        try:
            known = {str(record.get("path")): record.get("sha256") for record in self._lines}
            digest = known.get(str(file.resolve()))
            return digest is not None and digest == _digest(file)  # a stranger's file is not even read
        except (OSError, StoreTrouble):
            return False

    def give(self, file: Path) -> None:
        """Trust the file as it is now."""
        try:
            digest = _digest(file)
        except OSError as error:
            raise NotFound(f"cannot read {file}: {error.strerror or error}") from error
        self._lines.append({"path": str(file.resolve()), "sha256": digest})

    def take(self, file: Path) -> None:
        """Trust the file no longer."""
        self._lines.append({"path": str(file.resolve()), "sha256": None})


def _digest(file: Path) -> str:
    import hashlib  # loads OpenSSL, which most runs never need

    return hashlib.sha256(file.read_bytes()).hexdigest()
