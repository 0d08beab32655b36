"""The module through which PySpark finds the data source `jetstream` by itself.

Spark looks through the modules it can import for those named `pyspark_*` with a `DefaultSource`. This one is
installed beside the package (setup.py), hence the absolute import.
"""

from pyjs.pipeline.source.datasource import JetStreamSource as DefaultSource

__all__ = ["DefaultSource"]
