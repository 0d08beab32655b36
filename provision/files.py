"""Documents in files: YAML or JSON, one document in each, or the JSON that `nats` takes with ``--config``.

Promises: all mistakes in all files are found at once, and each names its place. A file is only read.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..documents import located_yaml
from ..documents.located_yaml import LocatedYaml
from ..documents.problem import DocumentError, DocumentProblem
from .defaults import NOT_DECLARED, RESERVED_METADATA
from .identity.model import AccountLimitsSection, AccountSection, UserSection
from .model import ConsumerSection, DomainDocument, KeyValueSection, ObjectStoreSection, StreamSection
from .sections import ProvisionSection

SUFFIXES = (".yaml", ".yml", ".json")
MOST_BYTES = 16 * 1024 * 1024  # of one file
NODES = 200_000  # keys and values in one YAML file
LONGEST_EXAMPLE = 60  # letters of a value that is written in its right form for who wrote it in a wrong one
# What is wrong with a value of another form, in the words of documents, not of Python.
_FORMS = {
    "list_type": "has to be a list",
    "string_type": "has to be a text",
    "dict_type": "has to be names with values: {NAME: VALUE}",
    "model_type": "has to be fields with values: {FIELD: VALUE}",
    "model_attributes_type": "has to be fields with values: {FIELD: VALUE}",
}
PLAN = "pyjs_plan"  # the key that plan files have
# Fields that only configurations of consumers have, and those that only streams' have, to tell them apart.
_OF_CONSUMERS = {"durable_name", "ack_policy", "deliver_policy", "replay_policy", "stream_name"}
_SECTIONS: dict[str, type[ProvisionSection]] = {
    "streams": StreamSection,
    "consumers": ConsumerSection,
    "kv": KeyValueSection,
    "objects": ObjectStoreSection,
    "accounts": AccountSection,
}


def load(paths: Iterable[Path]) -> list[DomainDocument]:
    """Return the documents in files, and in folders with all that is below them.

    Raises DocumentError with all mistakes, OSError.
    """
    documents, mistakes = [], []
    for path in paths:
        for file in _files(path):
            try:
                documents.append(parse(read(file), str(file)))
            except DocumentError as error:
                mistakes.append(error)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise DocumentErrors(mistakes)
    return documents


class DocumentErrors(DocumentError):  # noqa: N818 - several of them
    """Mistakes in several files. `errors` has one of each file."""

    def __init__(self, errors: list[DocumentError]) -> None:
        super().__init__(errors[0].file, errors[0].problems)
        self.errors = errors
        self.args = ("\n".join(map(str, errors)),)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES and each.is_file())
    visible = [each for each in found if not any(p.startswith(".") for p in each.relative_to(path).parts)]
    if not visible:
        raise _mistake(str(path), "has no documents: files that end with .yaml, .yml or .json")
    return visible


def read(file: Path) -> str:
    """Return the text of a file. Raises DocumentError if it is too large or no text, OSError."""
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)  # of a pipe, too, which has no size
    if len(content) > MOST_BYTES:
        raise _mistake(str(file), f"has more than {MOST_BYTES >> 20} MiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _mistake(str(file), "is not UTF-8 text") from None


def _mistake(file: str, message: str, hint: str = "") -> DocumentError:
    return DocumentError(file, [DocumentProblem("", message, hint=hint)])


def parse(text: str, file: str) -> DomainDocument:
    """Return the document in the text of a file. Raises DocumentError."""
    written = _json(text, file) if file.endswith(".json") else located_yaml.read(text, file, NODES)
    value = written.value
    if not isinstance(value, dict):
        raise _mistake(file, "holds no document: keys such as streams, kv, objects")
    if PLAN in value:
        raise _mistake(file, "is a plan and no document", "'pyjs apply FILE' does what it says")
    if _is_of_nats(value):
        return of_value(_from_nats(value, file), file)
    return _checked(written, file)


def of_value(value: Mapping[str, Any], file: str) -> DomainDocument:
    """Return the document that a dict is. file: what mistakes call it. Raises DocumentError."""
    return _checked(LocatedYaml(dict(value), {}), file)


def _checked(written: LocatedYaml, file: str) -> DomainDocument:
    try:
        return DomainDocument.model_validate(written.value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        raise DocumentError(file, [_problem(detail, written) for detail in details]) from None


def _json(text: str, file: str) -> LocatedYaml:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise _mistake(file, f"{key} is there twice in one object")
            found[key] = value
        return found

    try:
        return LocatedYaml(json.loads(text, object_pairs_hook=once), {})
    except json.JSONDecodeError as error:
        problem = DocumentProblem("", f"not JSON: {error.msg}", error.lineno, error.colno)
        raise DocumentError(file, [problem]) from None
    except ValueError as error:  # a number with thousands of digits
        raise _mistake(file, f"not JSON: {error}") from None
    except RecursionError:
        raise _mistake(file, "is nested too deeply") from None


def _problem(detail: ErrorDetails, written: LocatedYaml) -> DocumentProblem:
    path = tuple(part for part in detail["loc"] if part != "[key]")
    message, hint = detail["msg"].removeprefix("Value error, "), ""
    if detail["type"] == "extra_forbidden":
        message = "is no field here"
        near = difflib.get_close_matches(str(path[-1]), _fields(path), n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else ""
    elif detail["type"] in _FORMS:
        message = _FORMS[detail["type"]]
        hint = _as_it_should_be(detail["type"], _at(written.value, path))
    if detail["loc"][-1:] == ("[key]",):
        message = "is no name: it has blanks, dots, wildcards or slashes, or is too long"
    position = written.near(path)
    line, column = (position.line, position.column) if position is not None else (0, 0)
    return DocumentProblem(located_yaml.dotted(path), message, line, column, hint)


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return what stands at a path; None where nothing does."""
    for part in path:
        found = value.get(part) if isinstance(value, dict) else None
        value = value[part] if isinstance(value, list) and isinstance(part, int) else found
    return value


def _as_it_should_be(kind: str, value: Any) -> str:
    """Return how a short value is written in the form that is needed; empty if that is not known."""
    if value is None and kind.startswith("model"):
        return "write {} to have the defaults"
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    if not plain or len(str(value)) > LONGEST_EXAMPLE:
        return ""
    text = json.dumps(str(value), ensure_ascii=False)
    return {"list_type": f"write [{text}]", "string_type": f"write {text}"}.get(kind, "")


def _fields(path: tuple[str | int, ...]) -> list[str]:
    """Return the fields that there are where an unknown one was found."""
    if len(path) == 1:
        return list(DomainDocument.model_fields)
    section = _SECTIONS.get(str(path[0]), StreamSection)
    if "consumers" in path:
        section = ConsumerSection
    elif "users" in path:
        section = UserSection
    elif "limits" in path:
        section = AccountLimitsSection
    return list(section.model_fields)


def _is_of_nats(value: Mapping[str, Any]) -> bool:
    """Return whether this is a configuration as `nats` reads and writes it."""
    if isinstance(value.get("config"), dict):
        return True
    return not set(value) & set(DomainDocument.model_fields) and bool({"name", "durable_name"} & set(value))


def _from_nats(value: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return a configuration of `nats`, or the information with one in it, as a document."""
    config = dict(value["config"]) if isinstance(value.get("config"), dict) else dict(value)
    stream = str(config.pop("stream_name", "") or value.get("stream_name", ""))
    if isinstance(config.get("metadata"), dict):
        kept = {
            key: text for key, text in config["metadata"].items() if not key.startswith(RESERVED_METADATA)
        }
        config["metadata"] = kept
    given = {key: item for key, item in config.items() if item is not None and key not in NOT_DECLARED}
    if not stream and not set(config) & _OF_CONSUMERS:
        return {"streams": {str(config.get("name", "")): given}}
    name = str(config.get("durable_name") or "")
    if not name:
        raise _mistake(file, "is an ephemeral consumer: only durable ones can be declared")
    stream = stream or _stream_of_file(file, name)
    if not stream:
        raise _mistake(
            file,
            "does not say which stream the consumer is of",
            'add "stream_name", or call the file stream_<STREAM>_consumer_<NAME>.json',
        )
    return {"consumers": {stream: {name: given}}}


def _stream_of_file(file: str, consumer: str) -> str:
    """Return the stream that the name of a file tells, as backups of `nats` name them."""
    stem, end = Path(file).stem, f"_consumer_{consumer}"
    found = stem.startswith("stream_") and stem.endswith(end)
    return stem.removeprefix("stream_").removesuffix(end) if found else ""
