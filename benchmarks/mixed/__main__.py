"""One scenario as a process: see `benchmarks.mixed`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict

from .consuming import consumed, filtered, pulled
from .copying import copied
from .core import core, requests, spread
from .gets import got
from .meter import Measured
from .publishing import stored

SCENARIOS: dict[str, Callable[..., Measured]] = {
    "consumed": consumed,
    "copied": copied,
    "core": core,
    "filtered": filtered,
    "got": got,
    "pulled": pulled,
    "requests": requests,
    "spread": spread,
    "stored": stored,
}


def main() -> None:
    name, port, options = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    print(json.dumps(asdict(SCENARIOS[name](port, **options))))


if __name__ == "__main__":
    main()
