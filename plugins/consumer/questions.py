"""The questions of `consumer add`, in the documentation's words and order.

A flag answers its question. Without a terminal, and with `--defaults`, the defaults are used; the name has
none. Answers change the configuration that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable

from ...cli import prompt
from ...cli.jetstream import is_name
from ...cli.param import split_list
from ...cli.setting import Given
from ...protocol import subject
from ...protocol.api.consumer import ConsumerConfig
from .options import filter_by, start_at

ACK_CHOICES = (("explicit", "explicit"), ("all", "all"), ("none", "none"))
REPLAY_CHOICES = (("instant", "instant"), ("original", "original"))

# The documentation shows this for the answer 0. The servers of that time took it; those of today would take
# 1,000.
MAX_ACK_PENDING = 20_000


async def ask(config: ConsumerConfig, given: Given, *, name: str, defaults: bool) -> None:
    """Ask everything that `given` leaves open; with `defaults`, only for the name."""
    ephemeral = bool(given.get("ephemeral"))
    if not name and not ephemeral:
        name = await prompt.text(
            "Consumer name",
            flag="<CONSUMER>",
            required=True,
            check=_name,
            explain="What the Consumer is called when it is used. Settable using the argument <CONSUMER>",
        )
    if ephemeral:
        config.name = name
    else:
        config.durable_name = name
    if not given.get("pull") and not given.get("target") and not defaults:
        config.deliver_subject = await prompt.text(
            "Delivery target (empty for Pull Consumers)",
            flag="",
            default="",
            check=_target,
            explain="Messages are pushed to this subject; without one, they are delivered when asked for. "
            "Settable using --target and --pull",
        )
        if prompt.interactive():
            prompt.note(*(("--target", config.deliver_subject) if config.deliver_subject else ("--pull",)))
    if given.get("ack") is None:
        config.ack_policy = "none" if config.deliver_subject else "explicit"
    if not defaults:
        await _policies(config, given)
        await _limits(config, given)
    if config.ack_policy == "none" and given.get("max_deliver") is None:
        config.max_deliver = -1


async def _policies(config: ConsumerConfig, given: Given) -> None:
    if given.get("deliver") is None:
        await prompt.text(
            "Start policy (all, new, last, 1h, msg sequence)",
            flag="--deliver",
            default="all",
            check=_start(config),
            explain="Deliver all messages, only new ones, from the last one, the last one of each subject "
            "(subject), those of the last hour, or from a sequence. Settable using --deliver",
        )
    if given.get("ack") is None and config.deliver_subject:
        config.ack_policy = await prompt.choose(
            "Acknowledgement policy",
            ACK_CHOICES,
            flag="--ack",
            default="none",
            explain="Messages that are not acknowledged are delivered again: each has to be (explicit), one "
            "also stands for those before it (all), or none has to be. Settable using --ack",
        )
    if given.get("replay") is None:
        config.replay_policy = await prompt.choose(
            "Replay policy",
            REPLAY_CHOICES,
            flag="--replay",
            default="instant",
            explain="Deliver as fast as possible, or at the pace at which the messages came. "
            "Settable using --replay",
        )
    if not given.get("filter"):
        await prompt.text(
            "Filter Stream by subject (blank for all)",
            flag="--filter",
            default="",
            check=_filters(config),
            explain="Only messages of these subjects, separated by blanks or commas; wildcards are allowed. "
            "Settable using --filter",
        )


async def _limits(config: ConsumerConfig, given: Given) -> None:
    if not given.get("max_deliver"):
        config.max_deliver = await prompt.text(
            "Maximum Allowed Deliveries",
            flag="--max-deliver",
            default=str(config.max_deliver or -1),
            check=_deliveries(len(config.backoff)),
            explain="How often a message is delivered that nobody acknowledges, -1 for unlimited. "
            "Settable using --max-deliver",
        )
    pending = (
        given.get("max_pending") if given.get("max_pending") is not None else given.get("max_outstanding")
    )
    if pending is None and config.ack_policy != "none":
        config.max_ack_pending = await prompt.text(
            "Maximum Acknowledgements Pending",
            flag="--max-pending",
            default="0",
            check=_whole,
            explain=f"With this many messages not acknowledged, nothing more is delivered; 0 for "
            f"{MAX_ACK_PENDING:,}. Settable using --max-pending",
        )


def _name(answer: str) -> str:
    if not is_name(answer):
        raise ValueError("a name has no blanks, dots, wildcards or slashes")
    return answer


def _target(answer: str) -> str:
    if answer and not subject.is_literal(answer):
        raise ValueError(f'"{answer}" is not a subject that can be delivered to')
    return answer


def _start(config: ConsumerConfig) -> Callable[[str], str]:
    def check(answer: str) -> str:
        start_at(config, answer)
        return answer

    return check


def _filters(config: ConsumerConfig) -> Callable[[str], str]:
    def check(answer: str) -> str:
        filter_by(config, split_list(answer))
        return answer

    return check


def _whole(answer: str) -> int:
    try:
        return int(answer)
    except ValueError:
        raise ValueError(f'"{answer}" is not a whole number') from None


def _deliveries(waits: int) -> Callable[[str], int]:
    def check(answer: str) -> int:
        value = _whole(answer)
        if 0 < value < waits:
            raise ValueError(f"the backoff has {waits} waits: allow as many deliveries, or more")
        return value or -1

    return check
