"""Rows into a database by their key: a batch that is written again leaves what it left the first time.

A batch goes into a staging table first, by Spark's JDBC writer and many connections. One transaction then
moves it into the table: a row replaces the one with the same key. What a killed batch left in the staging
table is thrown away by the next try. The statements are those of the database: INSERT … ON CONFLICT
(PostgreSQL, SQLite), INSERT … ON DUPLICATE KEY UPDATE (MySQL, MariaDB) or MERGE (others, such as Derby).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .decoding import StepError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ON_CONFLICT, ON_DUPLICATE, MERGE = "on conflict", "on duplicate", "merge"
WAYS = {
    "postgresql": ON_CONFLICT,
    "sqlite": ON_CONFLICT,
    "mysql": ON_DUPLICATE,
    "mariadb": ON_DUPLICATE,
}
QUOTES = {"mysql": ("`", "`"), "mariadb": ("`", "`"), "sqlserver": ("[", "]")}
Connection = Any  # java.sql.Connection
REMOTE = "a sink with a key writes from the driver, which is in the server with Spark Connect"


@dataclass(frozen=True)
class Upsert:
    """The statements that move rows from a staging table into the table of a database.

    url: JDBC's, which says which database it is
    table: as it is written, perhaps with a schema before it
    staging: the table between; it has the columns of the table
    """

    url: str
    table: str
    staging: str
    columns: Sequence[str]
    key: Sequence[str]

    @property
    def database(self) -> str:
        """The kind of database: postgresql, sqlite, derby, …"""
        return self.url.split(":")[1].lower()

    def create(self) -> str:
        """Return the statement that makes the staging table, empty."""
        columns = ", ".join(self._quoted(name) for name in self.columns)
        query = f"SELECT {columns} FROM {self.table} WHERE 1 = 0"  # noqa: S608 - names of the document
        if self.database == "sqlserver":
            return query.replace(" FROM ", f" INTO {self.staging} FROM ", 1)
        if self.database == "derby":
            return f"CREATE TABLE {self.staging} AS {query.removesuffix(' WHERE 1 = 0')} WITH NO DATA"
        return f"CREATE TABLE {self.staging} AS {query}"

    def drop(self) -> str:
        """Return the statement that removes the staging table."""
        return f"DROP TABLE {self.staging}"

    def index(self) -> str:
        """Return the statement that gives the table a unique index of the key."""
        name = "pyjs_" + re.sub(r"\W", "_", f"{self.table}_key".lower())
        return f"CREATE UNIQUE INDEX {name} ON {self.table} ({self._keys()})"

    def without_key(self) -> str:
        """Return the query for the keys of staged rows that are null, in whole or in part."""
        nulls = " OR ".join(f"{self._quoted(name)} IS NULL" for name in self.key)
        return f"SELECT {self._keys()} FROM {self.staging} WHERE {nulls}"  # noqa: S608

    def twice(self) -> str:
        """Return the query for keys that several staged rows have."""
        return f"SELECT {self._keys()} FROM {self.staging} GROUP BY {self._keys()} HAVING COUNT(*) > 1"  # noqa: S608

    def move(self) -> str:
        """Return the statement that inserts the staged rows, or replaces those with the same keys."""
        names = [self._quoted(name) for name in self.columns]
        others = [name for name in names if name not in {self._quoted(key) for key in self.key}]
        way = WAYS.get(self.database, MERGE)
        if way == MERGE:
            return self._merge(names, others)
        insert = (
            f"INSERT INTO {self.table} ({', '.join(names)}) SELECT {', '.join(names)} FROM {self.staging}"  # noqa: S608
        )
        if way == ON_DUPLICATE:
            changes = ", ".join(f"{name} = VALUES({name})" for name in others or names[:1])
            return f"{insert} ON DUPLICATE KEY UPDATE {changes}"
        changes = ", ".join(f"{name} = excluded.{name}" for name in others)
        # SQLite takes ON for the condition of a join, if there is no WHERE before it.
        found = f"{insert} WHERE true ON CONFLICT ({self._keys()}) DO "
        return found + (f"UPDATE SET {changes}" if others else "NOTHING")

    def _merge(self, names: Sequence[str], others: Sequence[str]) -> str:
        same = " AND ".join(f"t.{each} = s.{each}" for each in map(self._quoted, self.key))
        found = f"MERGE INTO {self.table} t USING {self.staging} s ON {same}"
        if others:
            changes = ", ".join(f"{self._target(name)} = s.{name}" for name in others)
            found += f" WHEN MATCHED THEN UPDATE SET {changes}"
        values = ", ".join(f"s.{name}" for name in names)
        found += f" WHEN NOT MATCHED THEN INSERT ({', '.join(names)}) VALUES ({values})"  # noqa: S608
        return found + (";" if self.database == "sqlserver" else "")

    def _target(self, name: str) -> str:
        return name if self.database == "derby" else f"t.{name}"

    def _keys(self) -> str:
        return ", ".join(self._quoted(name) for name in self.key)

    def _quoted(self, name: str) -> str:
        first, last = QUOTES.get(self.database, ('"', '"'))
        return f"{first}{name.replace(last, last * 2)}{last}"


def staging_table(table: str, pipeline: str, sink: str) -> str:
    """Return the name of the staging table of a sink: beside its table, and of this pipeline alone."""
    schema, dot, _ = table.rpartition(".")
    return f"{schema}{dot}pyjs_{re.sub(r'[^a-z0-9]', '_', f'{pipeline}_{sink}'.lower())}"


def newest(frame: DataFrame, key: Sequence[str], newest_by: str) -> DataFrame:
    """Return one row for each key: the one with the greatest value in a column; any, of equal ones."""
    from pyspark.sql import Window, functions

    order = functions.col(f"`{newest_by}`").desc_nulls_last()
    number = functions.row_number().over(Window.partitionBy(*(f"`{name}`" for name in key)).orderBy(order))
    return frame.withColumn("__pyjs_rank", number).where("__pyjs_rank = 1").drop("__pyjs_rank")


def require_keys(connection: Connection, moving: Upsert) -> None:
    """Raise StepError if the staging table has two rows of one key, or a key that is null."""
    for statement, said, hint in (
        (moving.without_key(), "a row has no key", "leave such rows out, by WHERE or expect"),
        (
            moving.twice(),
            "a batch has several rows of one key",
            "newest: COLUMN takes the row in which that column is greatest",
        ),
    ):
        found = _first(connection, statement)
        if found is not None:
            shown = ", ".join(f"{name}={value}" for name, value in zip(moving.key, found, strict=True))
            raise StepError(f"{said}: {shown}", hint)


@contextlib.contextmanager
def connected(frame: DataFrame, url: str, options: Mapping[str, str]) -> Iterator[Connection]:
    """Provide a JDBC connection of the driver, by the driver that Spark uses.

    Raises StepError with Spark Connect, and what JDBC raises.
    """
    jvm: Any = getattr(frame.sparkSession, "_jvm", None)
    if jvm is None:
        raise StepError(REMOTE, "without the key it appends")
    properties = jvm.java.util.Properties()
    for name in ("user", "password"):
        if options.get(name):
            properties.setProperty(name, options[name])
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if named := options.get("driver"):
        gateway: Any = frame.sparkSession.sparkContext._gateway
        new = gateway.new_array
        made = loader.loadClass(named).getDeclaredConstructor(new(jvm.java.lang.Class, 0))
        driver = made.newInstance(new(jvm.java.lang.Object, 0))
    else:
        driver = jvm.java.sql.DriverManager.getDriver(url)
    connection = driver.connect(url, properties)
    try:
        yield connection
    finally:
        connection.close()


def execute(connection: Connection, *statements: str) -> None:
    """Execute statements as one transaction."""
    connection.setAutoCommit(False)
    statement = connection.createStatement()
    try:
        for each in statements:
            statement.executeUpdate(each)
        connection.commit()
    except Exception:
        with contextlib.suppress(Exception):  # the first error is the one that counts
            connection.rollback()
        raise
    finally:
        statement.close()


def exists(connection: Connection, table: str) -> bool:
    """Return whether there is a table of this name."""
    try:
        columns(connection, table)
    except Exception:  # of each database its own; what else is wrong shows itself with the next statement
        return False
    return True


def columns(connection: Connection, table: str) -> list[str]:
    """Return the names of a table's columns."""
    connection.setAutoCommit(True)  # a failure may spoil a transaction
    statement = connection.createStatement()
    try:
        found = statement.executeQuery(f"SELECT * FROM {table} WHERE 1 = 0").getMetaData()  # noqa: S608
        return [str(found.getColumnName(number)) for number in range(1, found.getColumnCount() + 1)]
    finally:
        statement.close()


def _first(connection: Connection, query: str) -> list[str] | None:
    """Return the first row that a query finds, as texts."""
    connection.setAutoCommit(True)
    statement = connection.createStatement()
    try:
        statement.setMaxRows(1)
        found = statement.executeQuery(query)
        width = found.getMetaData().getColumnCount()
        return [str(found.getString(number)) for number in range(1, width + 1)] if found.next() else None
    finally:
        statement.close()
