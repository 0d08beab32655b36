"""A replicated stream with `compression: s2`: each replica compresses its full blocks, encrypted ones too."""

from __future__ import annotations

from functools import partial
from unittest import mock

import pytest
from lib import stream_cluster
from lib.fake_disk import FakeDisk
from lib.sealed_disk import SealedFakeDisk
from lib.stream_cluster import StreamCluster
from pyjs.store import configs
from pyjs.store.extents.layout import FileHeader
from pyjs.store.file import FileStream

BODIES = [f"message {number} of many that are alike, " * 8 for number in range(150)]


@pytest.mark.parametrize("disk", [FakeDisk, SealedFakeDisk], ids=["in the clear", "encrypted"])
def test_each_replica_compresses_and_all_have_the_same(disk: type[FakeDisk]) -> None:
    small = partial(FileStream, block_size=6000)
    with mock.patch.object(stream_cluster, "FakeDisk", disk), mock.patch.object(configs, "FileStream", small):
        cluster = StreamCluster().start()
        cluster.create(compression="s2")
        cluster.stored(*BODIES)
        cluster.run(60)
        cluster["two"].kill()
        cluster.stored(*BODIES)
        cluster["two"].start()
        assert [body.decode() for _, _, body in cluster.converge()] == BODIES * 2
        for server in cluster.all.values():
            blocks = [bytes(inode.seen) for path, inode in server.disk.seen.items() if path.endswith(".blk")]
            headers = [header for block in blocks for header in FileHeader.copies(block)]
            assert any(header.compressed for header in headers)
