"""How many examples a property test tries: a share of what the profile in conftest.py allows."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def one_in(share: int, **more: Any) -> settings:
    """Return settings with a `share`-th of the profile's examples, for examples that are whole scenarios.

    more: other settings, such as `stateful_step_count`
    """
    return settings(max_examples=max(1, settings().max_examples // share), **more)
