"""A session of its own: it reports what it needs, and leaves nothing running."""

from __future__ import annotations

import os
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

PROGRAM = """
import signal, sys
from pathlib import Path
from pyspark import SparkContext
from pyjs.pipeline.session import SparkError, session

asked = signal.getsignal(signal.SIGINT)
try:
    quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    settings = {"spark.driver.memory": "512m", "spark.driver.extraJavaOptions": quick}
    with session("a test", master="local[1]", settings=settings, log=Path("java.log")) as spark:
        process = SparkContext._gateway.proc
        print(spark.conf.get("spark.app.name"), process.poll(), *[p.name[:11] for p in Path("tmp").iterdir()])
        spark.sql("SELECT nothing FROM nowhere")
except SparkError as error:
    print("TABLE_OR_VIEW_NOT_FOUND" in str(error), "nowhere" in str(error))
print(process.poll() is not None, list(Path("tmp").iterdir()), signal.getsignal(signal.SIGINT) is asked)
"""


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
    with pytest.raises(KeyboardInterrupt), session():
        pass
    assert started[0].proc.poll() == 0


@pytest.mark.timeout(600)
def test_its_java_and_its_files_end_with_it_and_errors_keep_their_text(
    tmp_path: Path, needs_java: None
) -> None:
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["a test None pyjs-spark-", "True True", "True [] True"], done.stderr
    assert "Traceback" not in done.stderr
