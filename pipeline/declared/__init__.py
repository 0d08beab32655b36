"""Declared pipelines: a YAML document of sources, transforms and sinks, checked, run on Spark, recorded.

`reading.load` makes a `LoadedDocument` of a file or reports what is wrong in it, and where. `run.play` runs
it on a Spark session. `record` keeps what every run did in a folder of its own, and `report` makes a page of
it. Only `tables`, `sinks` and `run` need PySpark.
"""
