"""The engine as a store in this process.

::

    with trireme.Database("orders", durability="sync") as db:
        orders = db.table("orders", key=int)

        def order(tx):
            tx.insert(orders, 7, {"item": "oar", "count": 180})
            return tx.get(orders, 6)

        before = db.transact(order)   # durable when this returns

The function is called again whenever its transaction met another one: it must have no effect but on the database. Its transaction is used by the thread that called
``transact``, until the function returns. A process that is forked cannot use what was opened before.
"""

import json

from . import _trireme

_KEYS = {int: "int", str: "str", bytes: "bytes"}


def _bytes(value):
    # `bytes(5)` would be five zeros.
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"a value {value!r}: allowed: bytes, bytearray, memoryview")
    return bytes(value)


class Table:
    """A table that is open: the kind of its keys, and how values become bytes."""

    def __init__(self, inner, encode, decode):
        self._inner, self._encode, self._decode = inner, encode, decode

    @property
    def name(self):
        """Its name."""
        return self._inner.name

    def __repr__(self):
        return repr(self._inner)


class Transaction:
    """What a function can do that ``Database.transact`` calls. It ends with the function."""

    def __init__(self, inner):
        self._inner = inner

    def get(self, table, key, default=None):
        """The value of this key, or ``default``."""
        found = self._inner.get(table._inner, key)
        return default if found is None else table._decode(found)

    def insert(self, table, key, value):
        """Adds a row. ``Exists`` if there is one of this key."""
        self._inner.insert(table._inner, key, table._encode(value))

    def put(self, table, key, value):
        """Adds a row, or gives the one of this key another value."""
        self._inner.put(table._inner, key, table._encode(value))

    def remove(self, table, key):
        """Removes the row of this key; whether there was one."""
        return self._inner.remove(table._inner, key)

    def range(self, table, first=None, last=None, limit=None):
        """Keys and values in the order of the keys, from ``first`` on and before ``last``, at most ``limit`` of them."""
        return [(key, table._decode(value)) for key, value in self._inner.range(table._inner, first, last, limit)]


class Database:
    """A database in a folder, or in memory only.

    ``durability``: ``none``, ``buffered``, ``group`` or ``sync``; ``protocol``: that of its transactions, all of which are serializable.
    """

    def __init__(self, folder=None, *, durability="group", protocol="silo", slots=None, memory_limit=None):
        self._inner = _trireme.Database(
            folder, durability=durability, protocol=protocol, slots=slots, memory_limit=memory_limit
        )

    def table(self, name, key=int, value=None, hashed=None):
        """The table of this name, which is made if there is none. No name has a ``/``.

        ``key``: ``int`` (64 bits), ``str`` or ``bytes``. ``value``: ``None`` for what JSON can say, ``bytes`` for bytes as they are. ``hashed``: for about how many rows it is
        hashed, found faster, by ``int`` keys and without an order.
        """
        if key not in _KEYS:
            raise ValueError(f"key {key!r}: allowed: int, str, bytes")
        if value not in (None, bytes):
            raise ValueError(f"value {value!r}: allowed: None, bytes")
        inner = self._inner.table(name, _KEYS[key], hashed)
        if value is bytes:
            return Table(inner, _bytes, bytes)
        return Table(inner, lambda value: json.dumps(value, separators=(",", ":")).encode(), json.loads)

    def transact(self, function):
        """Calls ``function`` with a transaction until it commits; what it answered, durable."""
        return self._inner.transact(lambda inner: function(Transaction(inner)))

    def drop_table(self, name):
        """Drops the table of this name."""
        self._inner.drop_table(name)

    def tables(self):
        """The names of the tables."""
        return self._inner.tables()

    def stats(self):
        """Commits, roll-backs, aborts by reason, and the bytes of memory that are taken."""
        return self._inner.stats()

    def verify(self):
        """Whether tables and log agree: how many rows were looked at."""
        return self._inner.verify()

    def checkpoint(self):
        """Takes a checkpoint; how many rows it has."""
        return self._inner.checkpoint()

    def backup_to(self, folder):
        """Writes a copy into this folder while the database goes on; its bytes."""
        return self._inner.backup_to(folder)

    def close(self):
        """Closes it; what was committed is durable. While another thread uses it, that is refused, and it stays open."""
        self._inner.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
