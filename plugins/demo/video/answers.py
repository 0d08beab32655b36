"""The answers that the video types at the questions of `stream add` and `consumer add`.

They have the form in which they stay on the screen.
"""

from __future__ import annotations

_LIMITS = """\
? Storage backend file
? Retention Policy Limits
? Discard Policy Old
? Stream Messages Limit -1
"""
_SIZES = """\
? Message size limit -1
? Maximum message age limit -1
? Maximum individual message size -1
"""
_WINDOW = "? Duplicate tracking time window 2m\n"

SUBJECTS = f"{_LIMITS}? Per Subject Messages Limit -1\n{_SIZES}{_WINDOW}"
CONSUMER = """\
? Replay policy instant
? Filter Stream by subject (blank for all)
? Maximum Allowed Deliveries -1
? Maximum Acknowledgements Pending 0
"""


def mirror_of_domain(domain: str) -> str:
    """Return the answers for a mirror of a stream in another domain."""
    return f"""{_LIMITS}{_SIZES}\
? Adjust mirror start No
? Import mirror from a different JetStream domain Yes
? Foreign JetStream domain name {domain}
? Delivery prefix
"""


def mirror_of_account(api: str, deliver: str) -> str:
    """Return the answers for a mirror of a stream in another account.

    It has an imported API and a delivery prefix.
    """
    return f"""{_LIMITS}{_SIZES}\
? Adjust mirror start No
? Import mirror from a different JetStream domain No
? Import mirror from a different account Yes
? Foreign account API prefix {api}
? Foreign account delivery prefix {deliver}
"""


def sources_of_domains(stream: str, *domains: str) -> str:
    """Return the answers for sources: the same stream of several domains."""
    return f"{_LIMITS}{_SIZES}{_WINDOW}" + "".join(
        f"""\
? Adjust source "{stream}" start No
? Import "{stream}" from a different JetStream domain Yes
? {stream} Source foreign JetStream domain name {domain}
? {stream} Source foreign JetStream domain delivery prefix
"""
        for domain in domains
    )


def sources_of_accounts(stream: str, *prefixes: tuple[str, str]) -> str:
    """Return the answers for sources: the same stream of several accounts.

    prefixes: (API prefix, delivery prefix) of each account.
    """
    return f"{_LIMITS}{_SIZES}{_WINDOW}" + "".join(
        f"""\
? Adjust source "{stream}" start No
? Import "{stream}" from a different JetStream domain No
? Import "{stream}" from a different account Yes
? {stream} Source foreign account API prefix {api}
? {stream} Source foreign account delivery prefix {deliver}
"""
        for api, deliver in prefixes
    )
