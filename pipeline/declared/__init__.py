"""Declared pipelines: a YAML document of sources, transforms and sinks, checked, run on Spark, recorded.

`reading.load` makes a `Document` of a file or says what is wrong in it, and where. `run.Run` plays it on a
Spark session. `record` keeps what every run did in a folder of its own, `report` draws it. Only `tables`,
`sinks` and `run` need PySpark.
"""
