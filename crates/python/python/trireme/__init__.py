"""Trireme: a main-memory OLTP engine whose design is chosen at run time.

``run``, ``compare``, ``sweep`` and ``check`` call the command of the same name, and answer data frames.
``Database`` is the engine in this process: a serializable, durable store.
"""

from ._trireme import Aborted, Error, Exists, __version__
from .command import CommandError, check, command, compare, run, sweep
from .database import Database, Table, Transaction

__all__ = [
    "Aborted",
    "CommandError",
    "Database",
    "Error",
    "Exists",
    "Table",
    "Transaction",
    "__version__",
    "check",
    "command",
    "compare",
    "run",
    "sweep",
]
