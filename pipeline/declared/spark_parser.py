"""Spark's own parser on the texts of a document: queries, conditions and schemas, in a small Java of its own.

It starts no session, reads nothing, and knows no tables: what it finds is syntax. Starting it takes a few
seconds.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path as File
from typing import Any

from ...documents.located_yaml import Path, dotted
from ...documents.problem import DocumentProblem
from .. import java
from .document import PipelineDocument
from .reading import LoadedDocument

OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx256m"]
NO_SPARK = "PySpark is not installed: pip install 'pyjs[spark]'"
_PLACE = re.compile(r"\s*(?:SQLSTATE: \w+\s*)?\(line (\d+), pos (\d+)\)\s*$")
QUERY, CONDITION, SCHEMA = "query", "condition", "schema"


class ParserError(RuntimeError):
    """There is no parser here; the text says why."""


def problems(loaded: LoadedDocument) -> list[DocumentProblem]:
    """Return the mistakes in the document's SQL, each with its place. Raises ParserError."""
    texts = list(_texts(loaded.document))
    if not texts:
        return []
    found = []
    with _parsing() as parse:
        for path, kind, text in texts:
            said = parse(kind, text)
            if said:
                found.append(_placed(loaded, path, kind, said))
    return found


def _texts(document: PipelineDocument) -> Iterator[tuple[Path, str, str]]:
    """Yield what Spark will parse: the path, what it is, and the text."""
    for kind, tables in (("sources", document.sources), ("transforms", document.transforms)):
        for name, table in tables.items():
            path: Path = (kind, name)
            if sql := getattr(table, "sql", None):
                yield (*path, "sql"), QUERY, sql.strip().removesuffix(";")
            if shape := getattr(table, "shape", None):
                yield (*path, "schema"), SCHEMA, shape
            if table.decode and table.decode.shape and table.decode.format in {"json", "csv"}:
                yield (*path, "decode", "schema"), SCHEMA, table.decode.shape.strip().rstrip(",")
            for rule, each in table.expect.items():
                yield (*path, "expect", rule), CONDITION, each.sql


def _placed(loaded: LoadedDocument, path: Path, kind: str, said: str) -> DocumentProblem:
    """Return the parser's message at the line of the document that it is about."""
    first = next(line for line in said.splitlines() if line.strip())
    where = _PLACE.search(first)
    place = loaded.place(*path)
    message = _PLACE.sub("", first).strip().rstrip(".")
    if where is None or place is None:
        return loaded.problem(path, message)
    line, column = int(where.group(1)), int(where.group(2)) + 1
    if loaded.in_lines(*path):  # a block: its first line is the one after `|`
        return DocumentProblem(dotted(path), message, place.line + line, place.column)
    return loaded.problem(path, f"{message} (line {line}, column {column} of the {kind})")


@contextlib.contextmanager
def _parsing() -> Iterator[Callable[[str, str], str]]:
    """Provide a function that returns what Spark's parser says of a text, "" if nothing."""
    try:
        import pyspark
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
        from py4j.protocol import Py4JJavaError
    except ImportError:
        raise ParserError(NO_SPARK) from None
    try:
        found = java.find()
    except java.JavaError as error:
        raise ParserError(str(error)) from None
    jars = File(pyspark.__file__).parent / "jars"
    own = next(iter(jars.glob("py4j-*.jar")), None)
    if own is None:
        raise ParserError(f"{jars} has no py4j: a Spark of another kind")
    port, secret = launch_gateway(
        jarpath=str(own),
        classpath=f"{jars}/*",
        javaopts=OPTIONS,
        java_path=str(found.path),
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=secret))
    try:
        parser: Any = gateway.jvm.org.apache.spark.sql.execution.SparkSqlParser()
        calls = {QUERY: parser.parsePlan, CONDITION: parser.parseExpression, SCHEMA: parser.parseTableSchema}

        def parse(kind: str, text: str) -> str:
            try:
                calls[kind](text)
            except Py4JJavaError as error:
                return str(error.java_exception.getMessage())
            return ""

        yield parse
    except TypeError as error:  # a Spark whose parser is elsewhere
        raise ParserError(f"Spark's parser is not where it was: {error}") from None
    finally:
        gateway.shutdown()
