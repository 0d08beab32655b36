"""The usual JDBC driver of a database, by its URL."""

from __future__ import annotations

# Java finds drivers by itself, but not those that Spark loads as packages or jars.
DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "sqlite": "org.sqlite.JDBC",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "h2": "org.h2.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "oracle": "oracle.jdbc.OracleDriver",
}


def usual(url: str) -> str:
    """Return the class of the driver, "" if Java finds it without a name."""
    return DRIVERS.get(url.split(":")[1].lower() if ":" in url else "", "")
