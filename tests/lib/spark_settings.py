"""Settings with which Spark costs a test less processor time; the product's own defaults stay as they are.

A test's Java is short-lived and small. The second compiler costs more than it gives, and what Spark ships
needs no verification. Queries run on a few rows: to generate and compile code for each costs more than to
interpret it, and so do plans that are made again on the way.
"""

from __future__ import annotations

from importlib import metadata

VERSION = tuple(int(part) for part in metadata.version("pyspark").split(".")[:2])
# Spark 4.1 tells a Python source no limits: batches have all there is, and `availableNow` is one of them.
LIMITED = VERSION >= (4, 2)
JAVA_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
QUICK = {
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}
