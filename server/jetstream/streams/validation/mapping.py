"""The rule for a transform's destination, with the reference's texts."""

from __future__ import annotations

from .....protocol.transform import SubjectTransform, TransformError, parse_placeholder

INVALID = "invalid mapping destination: invalid transform"


def mapping_error(source: str, destination: str) -> str:
    """Give why `destination` cannot be made of `source`, "" if it can. An empty one changes nothing."""
    if not destination:
        return ""
    tokens = destination.split(".")
    for place, token in enumerate(tokens):
        if not token or ">" in tokens[:place]:
            return f"{INVALID} in {token}" if token else INVALID
        if any(c in token for c in " \t\r\n\f") and not token.startswith("{{"):
            return INVALID
        try:
            parse_placeholder(token)
        except TransformError as error:
            if "unknown function" in str(error):
                return str(error)
    try:
        SubjectTransform(source, destination)
    except TransformError as error:
        return str(error)
    return ""
