"""The version of pyjs, in one place, and that of the reference.

NATS_VERSION is the release of nats-server whose protocols and APIs are spoken: clients and tools switch
features on by it.
"""

__version__ = "0.1.0"
NATS_VERSION = "2.15.1"
