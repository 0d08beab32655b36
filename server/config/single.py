"""Options that are given one by one, by keyword, as embedded servers get them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .options import Options


def with_single(options: Options, single: dict[str, Any]) -> Options:
    """Return `options` with single ones set. Raises TypeError for an unknown name."""
    if not single:
        return options
    single = dict(single)
    jetstream = single.pop("jetstream", None)
    if isinstance(jetstream, bool):
        options.jetstream.enabled = jetstream
    elif jetstream is not None:
        options.jetstream = jetstream
    store_dir = single.pop("store_dir", None)
    if store_dir is not None:
        options.jetstream.store_dir = str(store_dir)
        options.jetstream.enabled = jetstream is not False
    known = {f.name for f in fields(Options)}
    for name, value in single.items():
        if name not in known:
            raise TypeError(f"no such option: {name!r}")
        setattr(options, name, value)
    return options
