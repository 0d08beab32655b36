"""Distinguished names: subjects of certificates as text, and names that people write, compared with them.

A subject is a list of relative names, each a list of (attribute, value), as `ssl` gives it: in the order of
the certificate. Pure. Source: nats-server's server/auth.go: checkClientTLSCertSubject, and internal/ldap.
"""

from __future__ import annotations

import re

Subject = list[list[tuple[str, str]]]
# Relative names in their order, each with the number of its attributes, which are compared without order.
Name = tuple[tuple[int, frozenset[tuple[str, str]]], ...]

_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "postalCode": "POSTALCODE",
    "serialNumber": "SERIALNUMBER",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
}
_COMPONENT = "domainComponent"
# The order in which Go shows a subject, whatever that of the certificate is. It leaves out the rest.
_SHOWN = ("SERIALNUMBER", "CN", "POSTALCODE", "STREET", "ST", "L", "OU", "O", "C")
_SPECIAL = re.compile(r'([,+"\\<>;])')


def distinguished_name(subject: Subject) -> str:
    """Return a certificate's subject in the form of RFC 2253: the last part first."""
    parts = [
        "+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in rdn) for rdn in subject
    ]
    return ",".join(reversed(parts))


def go_subject(subject: Subject) -> str:
    """Return a subject as nats-server writes it to compare it with names of users."""
    known: dict[str, list[str]] = {}
    for name, value in (attribute for rdn in subject for attribute in rdn):
        if name in _SHORT:
            known.setdefault(_SHORT[name], []).append(value)
    # The common and the serial number are single: the last one counts.
    known |= {name: known[name][-1:] for name in ("CN", "SERIALNUMBER") if name in known}
    parts = [
        "+".join(f"{name}={_escaped(value)}" for value in known[name]) for name in _SHOWN if name in known
    ]
    return ",".join(parts)


def domain_components(subject: Subject) -> str:
    """Return the domain components of a subject as they stand behind it in nats-server; "" for none."""
    return ",".join(f"DC={value}" for rdn in subject for name, value in rdn if name == _COMPONENT)


def of_subject(subject: Subject) -> Name | None:
    """Return a subject to compare with `parse`, None if it has attributes that nats-server does not know."""
    known = _SHORT | {_COMPONENT: "DC"}
    if any(name not in known for rdn in subject for name, _ in rdn):
        return None
    return tuple(
        (len(rdn), frozenset((known[name], value) for name, value in rdn)) for rdn in reversed(subject) if rdn
    )


def parse(text: str) -> Name | None:
    """Return a name in the form of RFC 4514, None if it is none."""
    name = []
    for part in _split(text, ","):
        attributes = []
        for item in _split(part, "+"):
            kind, equals, value = item.partition("=")
            if not equals or not kind.strip() or value.startswith("#"):
                return None
            plain = _unescaped(value)
            if plain is None:
                return None
            attributes.append((kind.strip().upper(), plain))
        name.append((len(attributes), frozenset(attributes)))
    return tuple(name)


def _split(text: str, separator: str) -> list[str]:
    """Split a text where the separator is not escaped."""
    parts, part, escaped = [], "", False
    for letter in text:
        if letter == separator and not escaped:
            parts.append(part)
            part = ""
        else:
            part += letter
        escaped = letter == "\\" and not escaped
    return [*parts, part]


def _unescaped(value: str) -> str | None:
    """Return a value without escapes and the blanks around it, None if an escape is broken."""
    raw, kept, at = bytearray(), 0, 0  # `kept`: up to where blanks are not trailing
    text = value.lstrip(" ")
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            following = text[at + 1 : at + 2]
            if following and following in ' "#+,;<=>\\':
                raw += following.encode()
                at += 2
            elif re.fullmatch("[0-9a-fA-F]{2}", text[at + 1 : at + 3]):
                raw.append(int(text[at + 1 : at + 3], 16))
                at += 3
            else:
                return None
            kept = len(raw)
            continue
        raw += letter.encode("utf-8", "surrogateescape")
        at += 1
        if letter != " ":
            kept = len(raw)
    return bytes(raw[:kept]).decode("utf-8", "replace")


def _escaped(value: str) -> str:
    text = _SPECIAL.sub(r"\\\1", value)
    if text.startswith(("#", " ")):
        text = "\\" + text
    return text[:-1] + "\\ " if text.endswith(" ") and len(value) > 1 else text
