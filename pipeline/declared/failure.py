"""The root cause of an error of Spark in one line, out of a long chain of Java exceptions and tracebacks."""

from __future__ import annotations

import re

LONGEST = 400  # characters
_CAUSED = re.compile(r"^\s*Caused by: (?P<what>.+)$", re.MULTILINE)
_JAVA_CLASS = re.compile(r"^(?:[a-z_]\w*\.)+(?P<name>[A-Z]\w*)(?::\s*|$)")
_PYTHON_ERROR = re.compile(r"^(?:'?(?:[A-Za-z_]\w*\.)*(?P<name>[A-Z]\w*)): (?P<what>.+)$")
_TRACEBACK = "Traceback (most recent call last):"
_STATE = re.compile(r"\s*SQLSTATE: \w{5}\s*$")
# Exceptions whose name says nothing that their text does not say.
_PLAIN = {
    "Exception",
    "RuntimeException",
    "SparkException",
    "Error",
    "ValueError",
    "RuntimeError",
    "AnalysisException",
}
_CLASS = re.compile(r"\[([A-Z_]+)(?:\.[A-Z_]+)*\] ")
_WRAPPERS = {"STREAM_FAILED", "TASK_WRITE_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "INTERNAL_ERROR"}
HINTS = (
    (
        re.compile(
            r"DATA_SOURCE_NOT_FOUND[^\n]*\bdelta\b|Failed to find data source: delta|io\.delta\.",
            re.IGNORECASE,
        ),
        "Delta needs its package, for this Spark: spark: {packages: ['io.delta:delta-spark_4.2_2.13:4.4.0']}",
    ),
    (
        re.compile(
            r"NoSuchMethodError[^\n]*\n(?:[^\n]*\n){0,3}[^\n]*org\.apache\.spark\.sql\.delta\.|"
            r"IncompatibleClassChangeError: class org\.apache\.iceberg"
        ),
        "this release of Delta or Iceberg is for another Spark: leave its package out of spark: packages, "
        "and 'pyjs pipeline check' says which Spark has one",
    ),
    (
        re.compile(r"DATA_SOURCE_NOT_FOUND|AVRO_NOT_LOADED|(AVRO|KAFKA)_DATA_SOURCE_NOT_ENABLED"),
        "a format that Spark does not bring needs its package: spark: {packages: [GROUP:NAME:VERSION]}",
    ),
    (
        re.compile(r"No suitable driver|ClassNotFoundException[^\n]*(?:[Dd]river|jdbc)"),
        "JDBC needs a driver: spark: {packages: ['org.postgresql:postgresql:42.7.4']}, or jars: [FILE]",
    ),
    (
        re.compile(r"unresolved dependency|Unresolved dependencies|download failed"),
        "see spark: packages, and the network",
    ),
    (re.compile(r"PATH_ALREADY_EXISTS"), "mode: overwrite replaces what is there, mode: append adds to it"),
    (
        re.compile(r"Append output mode not supported|STREAMING_OUTPUT_MODE\.UNSUPPORTED_OPERATION"),
        "give the source a watermark on the column of the window, or the sink outputMode: update or complete",
    ),
    (
        re.compile(r"Timed out while waiting for the Python worker|Python worker failed to connect back"),
        "the machine is too busy: Spark gives Python ten seconds to start; run it again",
    ),
    (
        re.compile(r"STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY[^\n]*/offsets should"),
        "if it was killed as its first batch began, nothing was written: remove this checkpoint",
    ),
    (re.compile(r"TABLE_OR_VIEW_NOT_FOUND"), "a query may name the sources and the transforms above it"),
)


def describe(error: BaseException) -> tuple[str, str]:
    """Return the root cause in one short line, and a hint (perhaps empty)."""
    said = whole(error)
    hint = next((hint for pattern, hint in HINTS if pattern.search(said)), "")
    return root(said), hint


def root(text: str) -> str:
    """Return the line of an error's text that says what happened."""
    said = _of_python(text) or _of_class(text) or _of_java(text) or _first(text)
    said = _STATE.sub("", " ".join(said.split()))
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def whole(error: BaseException) -> str:
    """Return an error's text, those of the errors that caused it, and Java's stack trace if there is one."""
    texts = [str(error) or type(error).__name__]
    for attribute in ("_stackTrace", "stackTrace", "_server_stacktrace"):
        found = getattr(error, attribute, None)
        if isinstance(found, str):
            texts.append(found)
    cause = error.__cause__ or getattr(error, "_cause", None)
    if isinstance(cause, BaseException) and cause is not error:
        texts.append(f"Caused by: {whole(cause)}")
    return "\n".join(texts)


def _of_python(text: str) -> str:
    """Return the error line of the last Python traceback, "" if there is none."""
    _, found, after = text.rpartition(_TRACEBACK)
    if not found:
        return ""
    lines = after.splitlines()[1:]
    for line in lines:
        if line and not line.startswith((" ", "\t", "+", "|", "^")):
            match = _PYTHON_ERROR.match(line)
            if match is None:
                return line
            name = match.group("name")
            said = match.group("what")
            return said if name in _PLAIN or name.endswith(_OWN) else f"{name}: {said}"
    return ""


# The texts of our own errors need no class name.
_OWN = (
    "OptionError",
    "ClientError",
    "NoServers",
    "ConnectionLost",
    "AuthorizationError",
    "NotPermitted",
    "TimedOut",
    "NoResponders",
    "TooLarge",
    "UnknownStream",
    "ShortRead",
    "DataLoss",
    "Recreated",
    "BeyondEnd",
    "SinkError",
)


def _of_class(text: str) -> str:
    """Return the first line if it names an error class that says what is wrong, else ""."""
    first = _first(text)
    found = _CLASS.match(first)
    return first if found and found.group(1) not in _WRAPPERS else ""


def _of_java(text: str) -> str:
    """Return the innermost `Caused by`, without the class where the text says enough."""
    causes = [match.group("what") for match in _CAUSED.finditer(text)]
    telling_causes = [cause for cause in causes if _JAVA_CLASS.sub("", cause).strip()]
    return _bare(telling_causes[-1]) if telling_causes else ""


def _first(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _bare(lines[0]) if lines else "it failed without a word"


def _bare(line: str) -> str:
    match = _JAVA_CLASS.match(line)
    if match is None:
        return line
    name, rest = match.group("name"), line[match.end() :].strip()
    if not rest:
        return name
    return rest if name in _PLAIN or rest.startswith("[") else f"{name}: {rest}"
