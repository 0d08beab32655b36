"""A session of its own: it reports what it needs, and ends with its Java.

That a real one leaves no process and no file is seen in tests/plugins/pipeline/test_run.py.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyjs.pipeline import java
from pyjs.pipeline.session import SparkError, session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_without_pyspark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with (
        pytest.raises(SparkError, match=r"^PySpark is not installed: pip install 'pyjs\[spark\]'$"),
        session(),
    ):
        pass


def test_without_java_it_says_how_to_install_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(java.JavaError, match="Spark needs Java 17"), session():
        pass


def test_a_session_that_runs_is_not_taken_over(spark: SparkSession) -> None:
    with pytest.raises(SparkError, match="runs in this process already"), session():
        pass
    assert spark.range(3).count() == 3


class Started:
    """A gateway whose process stands for Java: it ends when its input does."""

    def __init__(self) -> None:
        self.proc = subprocess.Popen(["cat"], stdin=subprocess.PIPE, start_new_session=True)

    def shutdown(self) -> None:
        """Nobody is connected yet."""


def test_an_interrupt_while_java_starts_ends_java_too(
    monkeypatch: pytest.MonkeyPatch, needs_java: None
) -> None:
    started: list[Started] = []

    def launch(_conf: object, _streams: object) -> Started:
        signal.raise_signal(signal.SIGINT)  # PySpark alone knows of Java now
        started.append(Started())
        return started[0]

    monkeypatch.setattr("pyspark.java_gateway.launch_gateway", launch)
    for name in ("_active_spark_context", "_gateway"):  # another test's session may be there
        monkeypatch.setattr(f"pyspark.SparkContext.{name}", None)
    asked = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), session():
        pass
    assert started[0].proc.poll() == 0
    assert signal.getsignal(signal.SIGINT) is asked


def test_an_error_that_ends_a_session_keeps_its_text(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session that the tests share stands for a new one; Java cannot be asked any more once that ends."""
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setattr("pyspark.SparkContext.__init__", lambda self, **_: None)
    monkeypatch.setattr("pyspark.sql.SparkSession", lambda _context: spark)
    monkeypatch.setattr(spark, "stop", lambda: monkeypatch.setattr("pyspark.SparkContext._jvm", None))
    with pytest.raises(SparkError) as error, session() as given:
        given.sql("SELECT nothing FROM nowhere")
    assert "TABLE_OR_VIEW_NOT_FOUND" in str(error.value)
    assert "nowhere" in str(error.value)
