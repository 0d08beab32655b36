"""The questions of `stream add`, in the documentation's words and order.

A flag answers its question. Without a terminal the defaults are used; `Stream Name` and `Subjects to consume`
have none. Answers change the configuration that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable

from ...cli import prompt
from ...cli.errors import UsageError
from ...cli.param import DURATION, SIZE, split_list
from ...cli.render import go_span
from ...cli.setting import Given
from ...protocol import subject
from ...protocol.api.stream import StreamConfig
from .options import MAX_MSG_SIZE, limit

UNLIMITED = "-1"
DUPLICATES = 120_000_000_000  # the window of two minutes that is offered
REQUIRED_SIZE = "256MB"  # offered if the account demands a size

STORAGE_CHOICES = (("file", "file"), ("memory", "memory"))
RETENTION_CHOICES = (("Limits", "limits"), ("Interest", "interest"), ("Work Queue", "workqueue"))
RETENTION_FLAG = {"limits": "limits", "interest": "interest", "workqueue": "work"}
DISCARD_CHOICES = (("New", "new"), ("Old", "old"))


async def ask(config: StreamConfig, given: Given, *, requires_size: bool, defaults: bool) -> None:
    """Ask everything that `given` leaves open; with `defaults`, only for name and subjects."""
    copies = bool(given.get("mirror") or given.get("source"))
    if not config.name:
        config.name = await prompt.text("Stream Name", flag="<STREAM>", required=True)
    if given.get("mirror") and config.subjects:
        raise UsageError("mirrors cannot listen for messages on subjects", "leave --subjects away")
    if not config.subjects and not copies:
        await prompt.text(
            "Subjects to consume",
            flag="--subjects",
            required=True,
            check=lambda answer: _set_subjects(config, answer),
            explain="Subjects of the messages to store, separated by blanks or commas; wildcards are allowed."
            " Settable using --subjects",
        )
    if defaults:
        _take_defaults(config, given, requires_size)
        return
    await _policies(config, given)
    await _limits(config, given, requires_size)
    if given.get("replicas") is None:
        config.num_replicas = await prompt.text(
            "Replicas",
            flag="--replicas",
            default="1",
            check=_whole(minimum=1),
            explain="When clustered, how many replicas of the data to keep. Settable using --replicas",
        )


def _take_defaults(config: StreamConfig, given: Given, requires_size: bool) -> None:
    if not given.get("max_bytes") and requires_size:
        config.max_bytes = SIZE.convert(REQUIRED_SIZE, None, None)
    if given.get("dupe_window") is None and not given.get("mirror"):
        config.duplicate_window = _window(config)


async def _policies(config: StreamConfig, given: Given) -> None:
    if given.get("storage") is None:
        config.storage = await prompt.choose(
            "Storage backend",
            STORAGE_CHOICES,
            flag="--storage",
            default="file",
            explain="Where the messages are kept: on disk or in memory. Settable using --storage",
        )
    if given.get("retention") is None:
        config.retention = await prompt.choose(
            "Retention Policy",
            RETENTION_CHOICES,
            flag="--retention",
            default="limits",
            noted=RETENTION_FLAG,
            explain="Messages are kept within limits of size and age (Limits), as long as Consumers want "
            "them (Interest), or until any one worker handled them (Work Queue)",
        )
    if given.get("discard") is None:
        config.discard = await prompt.choose(
            "Discard Policy",
            DISCARD_CHOICES,
            flag="--discard",
            default="old",
            explain="At a limit, New refuses further messages and Old removes the oldest ones",
        )


async def _limits(config: StreamConfig, given: Given, requires_size: bool) -> None:
    if not given.get("max_msgs"):
        config.max_msgs = await _ask_limit(
            "Stream Messages Limit",
            "--max-msgs",
            "How many messages to keep, -1 for unlimited. Settable using --max-msgs",
        )
    if not given.get("max_msgs_per_subject") and config.subjects:
        config.max_msgs_per_subject = await _ask_limit(
            "Per Subject Messages Limit",
            "--max-msgs-per-subject",
            "How many messages to keep of each subject, -1 for unlimited. "
            "Settable using --max-msgs-per-subject",
        )
    if not given.get("max_bytes"):
        answer = await prompt.text(
            "Message size limit",
            flag="--max-bytes",
            default=REQUIRED_SIZE if requires_size else UNLIMITED,
            check=_size_if(requires_size),
            explain="The size of all messages together, -1 for unlimited. Settable using --max-bytes",
        )
        config.max_bytes = limit(answer)
    if given.get("max_age") is None:
        answer = await prompt.text(
            "Maximum message age limit",
            flag="--max-age",
            default=UNLIMITED,
            check=_span,
            explain="How old messages may become, such as 30s, 12h, 7d or 1y; -1 for unlimited. "
            "Settable using --max-age",
        )
        config.max_age = max(0, answer)
    if not given.get("max_msg_size"):
        answer = await prompt.text(
            "Maximum individual message size",
            flag="--max-msg-size",
            default=UNLIMITED,
            check=_message_size,
            explain="The largest message that is accepted, -1 for unlimited. Settable using --max-msg-size",
        )
        config.max_msg_size = limit(answer)
    if given.get("dupe_window") is None and not given.get("mirror"):
        window = _window(config)
        answer = await prompt.text(
            "Duplicate tracking time window",
            flag="--dupe-window",
            default="2m" if window == DUPLICATES else go_span(window),
            check=_span,
            explain="For how long a second message with the same Nats-Msg-Id is a duplicate. "
            "Settable using --dupe-window",
        )
        config.duplicate_window = max(0, answer)


async def _ask_limit(message: str, flag: str, help_text: str) -> int:
    answer = await prompt.text(message, flag=flag, default=UNLIMITED, check=_whole(), explain=help_text)
    return limit(answer)


def _window(config: StreamConfig) -> int:
    """Return the duplicate window to offer: two minutes, but no longer than messages live."""
    return min(config.max_age, DUPLICATES) if config.max_age > 0 else DUPLICATES


def _set_subjects(config: StreamConfig, answer: str) -> str:
    subjects = split_list(answer)
    wrong = [each for each in subjects if not subject.is_valid(each)]
    if wrong or not subjects:
        raise ValueError(f'"{" ".join(wrong)}" is not a valid subject')
    config.subjects = subjects
    return answer


def _whole(minimum: int | None = None) -> Callable[[str], int]:
    def check(answer: str) -> int:
        try:
            value = int(answer)
        except ValueError:
            raise ValueError(f'"{answer}" is not a whole number') from None
        if minimum is not None and value < minimum:
            raise ValueError(f"it must be {minimum} or more")
        return value

    return check


def _span(answer: str) -> int:
    return DURATION.convert(answer, None, None)


def _size_if(required: bool) -> Callable[[str], int]:
    def check(answer: str) -> int:
        value = SIZE.convert(answer, None, None)
        if required and value <= 0:
            raise ValueError("the account's settings demand a size")
        return value

    return check


def _message_size(answer: str) -> int:
    value = SIZE.convert(answer, None, None)
    if value > MAX_MSG_SIZE:
        raise ValueError(f"it is too big: {MAX_MSG_SIZE} bytes are the most")
    return value
