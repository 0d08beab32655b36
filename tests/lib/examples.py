"""How much a test tries: fewer examples, seeds and messages in a usual run than under `make soak`.

The profile in conftest.py decides. What has a share of its examples or is counted by `more` grows alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import settings

Test = TypeVar("Test", bound=Callable[..., None])
USUAL = settings.get_profile("pyjs").max_examples


def one_in(share: int, **more: Any) -> settings:
    """Return settings with a `share`-th of the profile's examples, for examples that are whole scenarios.

    more: other settings, such as `stateful_step_count`
    """
    return settings(max_examples=max(1, settings().max_examples // share), **more)


def more(usual: int) -> int:
    """Return `usual`; under `make soak` as many times that as there are more examples."""
    return usual * settings().max_examples // USUAL


def size(usual: int, soak: int) -> int:
    """Return `usual`, under `make soak` `soak`: of something large whose `usual` size proves as much."""
    return usual if settings().max_examples == USUAL else soak


def seeds(usual: int) -> Callable[[Test], Test]:
    """Run a test once for each `seed` from 0 on; `make soak` has it go on with the seeds after those."""
    each = pytest.mark.parametrize("seed", range(more(usual)))
    return lambda test: pytest.mark.soak(each(test))
