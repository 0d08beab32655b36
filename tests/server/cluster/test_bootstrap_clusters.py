"""Who bootstraps the meta group of several clusters, and whom it waits for."""

from __future__ import annotations

import pytest
from pyjs.server.cluster.bootstrap import BootstrapExpect
from pyjs.server.cluster.bootstrap_peers import OtherCluster, among_clusters

OWN = BootstrapExpect(servers=frozenset({"own"}))


def other(name: str, server_id: str = "", jetstream: bool = False) -> OtherCluster:
    return OtherCluster(name, (f"{name}:7222",), server_id, jetstream)


@pytest.mark.parametrize("found", [other("A"), other("A", "id", jetstream=True)])
def test_the_cluster_whose_name_comes_first_bootstraps(found: OtherCluster) -> None:
    assert among_clusters(OWN, "B", [found, other("C")]) == BootstrapExpect()


def test_a_cluster_without_jetstream_does_not_count() -> None:
    assert among_clusters(OWN, "B", [other("A", "id"), other("C", "id")]) == OWN


def test_the_first_waits_for_all_others() -> None:
    found = among_clusters(OWN, "A", [other("B"), other("C", "c0", jetstream=True)])
    assert found.servers == {"own"}
    assert found.unreached == ("B:7222",)
    assert found.witnesses == {"c0"}
