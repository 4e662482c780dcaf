"""Project files that the user trusts, by path and content: a changed file has to be trusted again."""

from pathlib import Path

from aish.storage.lines import open_log
from aish.values.errors import NotFound, StoreTrouble
from aish.values.stores import Health, RecordLog


class Trust:
    """Which project files may set anything. The last record about a path counts."""

    def __init__(self, where: Path | RecordLog) -> None:
        self._log = open_log(where, "trusted project files")

    def holds(self, file: Path) -> bool:
        """Is the file trusted, with the content it has now? No, if that cannot be found out."""
        try:
            known = {str(record.get("path")): record.get("sha256") for record in self._log.read()}
            digest = known.get(str(file.resolve()))
            return digest is not None and digest == _digest(file)  # an unknown file is not read
        except (OSError, StoreTrouble):
            return False

    def give(self, file: Path, shown: str = "") -> None:
        """Trust the file as it is now, or as it was when it had the digest `shown`."""
        digest = shown or self.digest(file)
        self._log.append({"path": str(file.resolve()), "sha256": digest})

    def take(self, file: Path) -> None:
        """Stop trusting the file."""
        self._log.append({"path": str(file.resolve()), "sha256": None})

    def digest(self, file: Path) -> str:
        """Return the digest of the file as it is now. Raises `NotFound`."""
        try:
            return _digest(file)
        except OSError as error:
            raise NotFound(f"cannot read {file}: {error.strerror or error}") from error

    def health(self) -> Health:
        return self._log.health()


def _digest(file: Path) -> str:
    import hashlib  # loads OpenSSL, which most runs never need

    return hashlib.sha256(file.read_bytes()).hexdigest()
