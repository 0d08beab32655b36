"""Subjects: validity, wildcard matching, subsets and collisions.

A subject is a string of tokens separated by ``.``. No token is empty and none contains a blank. In a pattern,
the token ``*`` stands for exactly one token, and ``>``, as the last token, for one or more. Inside a longer
token both characters are ordinary (``a.b*`` is literal), as in nats-server
(server/sublist.go: isValidSubject, subjectIsLiteral).

Everything here is a pure function of strings. Functions that compare subjects expect valid ones and never
raise. A caller that gets a subject from outside checks it with `is_valid` or `is_literal` first.
"""

ANY_TOKEN = "*"  # noqa: S105 - a wildcard, no secret
ANY_REST = ">"
_BLANKS = (" ", "\t", "\r", "\n", "\f", "\0")


def tokenize(subject: str) -> list[str]:
    """Split a subject into its tokens. ``""`` has one empty token."""
    return subject.split(".")


def is_valid(subject: str) -> bool:
    """Return whether `subject` may be subscribed to: no empty token, no blanks, ``>`` only at the end."""
    if not subject or subject[0] == "." or subject[-1] == "." or ".." in subject:
        return False
    for blank in _BLANKS:
        if blank in subject:
            return False
    if ">" not in subject or subject == ">":
        return True
    return not subject.startswith(">.") and ".>." not in subject


def has_wildcard(subject: str) -> bool:
    """Return whether a whole token of `subject` is ``*`` or ``>``."""
    if "*" not in subject and ">" not in subject:
        return False
    tokens = subject.split(".")
    return "*" in tokens or ">" in tokens


def is_literal(subject: str) -> bool:
    """Return whether `subject` is valid and has no wildcard: it may be published to."""
    return is_valid(subject) and not has_wildcard(subject)


def matches(pattern: str, literal: str) -> bool:
    """Return whether `pattern` matches the literal subject."""
    if pattern in {literal, ">"}:
        return True
    if "*" not in pattern and ">" not in pattern:
        return False
    return tokens_match(pattern.split("."), literal.split("."))


def tokens_match(pattern: list[str], literal: list[str]) -> bool:
    """Like `matches`, for subjects that are split already."""
    if pattern[-1] == ANY_REST:
        known = len(pattern) - 1
        if len(literal) <= known:
            return False
    else:
        known = len(pattern)
        if len(literal) != known:
            return False
    for i in range(known):
        token = pattern[i]
        if token not in {ANY_TOKEN, literal[i]}:
            return False
    return True


def is_subset(subject: str, of: str) -> bool:
    """Return whether `of` matches everything that `subject` matches. Both may have wildcards."""
    if of in {subject, ">"}:
        return True
    tokens = subject.split(".")
    for i, other in enumerate(of_tokens := of.split(".")):
        if other == ANY_REST:
            return len(tokens) > i
        if i >= len(tokens) or tokens[i] == ANY_REST:
            return False
        if other not in {ANY_TOKEN, tokens[i]}:
            return False
    return len(tokens) == len(of_tokens)


def collide(a: str, b: str) -> bool:
    """Return whether some literal subject is matched by both patterns."""
    if a == b:
        return True
    a_tokens, b_tokens = a.split("."), b.split(".")
    for left, right in zip(a_tokens, b_tokens, strict=False):
        if ANY_REST in {left, right}:
            return True
        if left != right and ANY_TOKEN not in {left, right}:
            return False
    return len(a_tokens) == len(b_tokens)
