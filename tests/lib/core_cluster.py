"""Three servers of one cluster, each of either implementation; the second and third know only the first."""

from __future__ import annotations

from .pool import START
from .servers import ACCOUNTS, Servers

COMBINATIONS = [
    ("reference", "reference", "reference"),
    ("pyjs", "pyjs", "pyjs"),
    ("reference", "pyjs", "pyjs"),
    ("pyjs", "reference", "reference"),
    ("pyjs", "reference", "pyjs"),
]
CONFIG = (
    ACCOUNTS
    + """
listen: 127.0.0.1:<client>
server_name: {name}
cluster {{
    name: mesh
    listen: 127.0.0.1:<route>
    routes: [{routes}]
    authorization {{ user: router, password: secret }}
}}
"""
)


class Mesh(Servers):
    """The servers s0, s1 and s2."""

    def __init__(self, *implementations: str) -> None:
        super().__init__()
        routes = ""
        try:
            for number, implementation in enumerate(implementations):
                config = CONFIG.format(name=f"s{number}", routes=routes)
                self.servers.append(START[implementation](config))
                routes = f"nats-route://router:secret@127.0.0.1:{self.servers[0].ports['route']}"
            self.joined()
        except BaseException:
            self.close()
            raise
