"""The content of this server's INFO for routes."""

from __future__ import annotations

import json
import random
from typing import Any

from pyjs.server.client.info import InfoDocument
from pyjs.server.config.options import Options
from pyjs.server.config.options.cluster import ClusterOptions
from pyjs.server.identity import ServerIdentity
from pyjs.server.route.info import RouteDocuments


def test_it_says_what_is_so_now() -> None:
    options = Options()
    options.cluster = ClusterOptions(name="C", port=6222)
    options.jetstream.domain = "hub"
    identity = ServerIdentity.new("a", 0, random.randbytes)
    clients = InfoDocument(options, identity, 4222)
    documents = RouteDocuments(options, identity, clients)

    def reported() -> dict[str, Any]:
        found = json.loads(documents.info().removeprefix(b"INFO "))
        return {key: found[key] for key in ("jetstream", "domain", "ldm") if key in found}

    assert reported() == {}
    clients.jetstream = clients.lame_duck = True
    assert reported() == {"jetstream": True, "domain": "hub", "ldm": True}
    clients.jetstream = clients.lame_duck = False
    assert reported() == {}
