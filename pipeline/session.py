"""A Spark session of its own, as pyjs starts it: quiet, with this Python, and leaving nothing behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import java
from .scratch import scratch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

END_SECONDS = 20.0  # how long Spark's Java may take to end by itself
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
DAEMON = {"spark.python.daemon.module": "pyjs.pipeline.daemon"}  # its workers begin with all that is imported
QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
# Without the file for Java's own tools, which remains when Java is killed.
LOGGING = f"-XX:-UsePerfData -Dlog4j2.configurationFile={Path(__file__).parent / 'log4j2.properties'}"
# A session on this machine alone talks to nobody else.
LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
MISSING = "PySpark is not installed: pip install 'pyjs[spark]'"


class SparkError(RuntimeError):
    """Spark cannot be started, or has failed; the text says why."""


@contextlib.contextmanager
def session(
    name: str = "pyjs",
    *,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> Iterator[SparkSession]:
    """Provide a session that knows the source `jetstream`; it ends, with its Java, when the block does.

    Python workers run with this interpreter, unless PYSPARK_PYTHON says otherwise.

    settings: Spark's settings, which take precedence over those of pyjs
    log: the file for Java's output; by default that goes to this process' standard error

    Raises SparkError if PySpark is missing, if a session runs already, if Spark does not start, and for an
    error of Spark's that leaves the block; java.JavaError if there is no suitable Java.
    """
    try:
        from pyspark import SparkConf, SparkContext
        from pyspark.errors.exceptions.captured import CapturedException
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession
    except ImportError:
        raise SparkError(MISSING) from None
    from . import register

    java.find()
    if SparkContext._active_spark_context is not None:
        raise SparkError("a Spark session runs in this process already: use it, with pyjs.pipeline.register")
    with contextlib.ExitStack() as last:
        output = last.enter_context(log.open("ab")) if log else None
        own = last.enter_context(scratch())
        conf = SparkConf().setAppName(name).setMaster(master)
        conf.setAll(list(_settings(master, settings or {}, str(own)).items()))
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # PySpark makes Ctrl-C cancel its jobs; the handler from before is restored.
        last.callback(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        try:
            if SparkContext._gateway is None:
                # In a session of its own: a signal to our process group is ours to handle, Java ends after
                # us.
                streams = {"stdout": output or sys.__stderr__, "stderr": output, "start_new_session": True}
                with _interrupts_later():
                    gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]
                    last.callback(_end, gateway)
            else:
                gateway = SparkContext._gateway  # left by an earlier session, and not ours to end
            context = SparkContext(conf=conf, gateway=gateway)
        except Exception as error:
            seen = f"; see {log}" if log else ""
            raise SparkError(f"Spark did not start: {_first_line(error)}{seen}") from error
        spark = SparkSession(context)
        last.callback(spark.stop)
        register(spark)
        try:
            yield spark
        except CapturedException as error:
            # Its text is asked of the Java that ends now.
            raise SparkError(str(error)).with_traceback(error.__traceback__) from None


def _settings(master: str, given: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return all settings: the given ones, and those of pyjs for the others."""
    settings = QUIET | DAEMON
    options = LOGGING
    if master.startswith("local"):
        settings.update(LOCAL)
        settings["spark.local.dir"] = folder
        options += f" -Djava.io.tmpdir={folder}"
    settings.update(given)
    settings[JAVA_OPTIONS] = f"{options} {given.get(JAVA_OPTIONS, '')}".strip()
    return settings


@contextlib.contextmanager
def _interrupts_later() -> Iterator[None]:
    """Delay a Ctrl-C to the end of the block; a second one takes effect at once.

    While Java starts, only PySpark has its process. If PySpark is interrupted then, Java never ends: once it
    has started it notices that it is not needed, but to end it needs what PySpark has removed by then.
    """
    seen: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        seen.append(number)
        if len(seen) > 1:
            signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if seen:
        signal.raise_signal(signal.SIGINT)


def _end(gateway: Any) -> None:
    """End Spark's Java and wait for it; PySpark itself leaves that to the end of the process."""
    from pyspark import SparkContext

    java_process: subprocess.Popen[bytes] = gateway.proc
    with contextlib.suppress(Exception):  # it may be gone
        gateway.shutdown()
    assert java_process.stdin is not None
    with contextlib.suppress(OSError):
        java_process.stdin.close()  # upon which it ends
    try:
        java_process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        java_process.kill()
        java_process.wait()
    if SparkContext._gateway is gateway:
        SparkContext._gateway = SparkContext._jvm = None


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
