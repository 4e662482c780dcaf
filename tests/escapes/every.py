"""All attempts. Importing a module of this package adds its attempts."""

from escapes import files, kernel, processes, races, sockets
from escapes.ground import ATTEMPTS, FENCED_ONLY

MODULES = (files, races, processes, sockets, kernel)

__all__ = ["ATTEMPTS", "FENCED_ONLY", "MODULES"]
