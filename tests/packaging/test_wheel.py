"""The sdist contains every source, and the wheel works without the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from pyjs.native import FORM

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ("tests/", "benchmarks/", "docs/", "examples/", ".ci/", "setup.py")
WITHOUT_CYTHON = "import sys; sys.modules['Cython'] = sys.modules['Cython.Build'] = None"
NOT_SHIPPED = {".gitignore"}


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.splitlines() if (ROOT / name).exists()]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is tracked."""
    folder = tmp_path_factory.mktemp("source")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def dist(source: Path) -> Path:
    """The folder of the source distribution, built from that copy, and of the wheel, built from it."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check"]
    unoptimized = {
        **os.environ,
        "CFLAGS": "-O0",
    }  # what the compiler makes is the same, in a third of the time
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False, env=unoptimized)
    assert done.returncode == 0, done.stdout + done.stderr
    return source / "dist"


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    (built,) = dist.glob("*.whl")
    return built


def test_the_source_distribution_holds_everything(dist: Path) -> None:
    (built,) = dist.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        shipped = {name.partition("/")[2] for name in archive.getnames()}
    assert set(tracked()) - shipped == NOT_SHIPPED


def test_it_holds_every_module_and_no_test(wheel: Path) -> None:
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("pyjs/")}
    modules = {f"pyjs/{name}" for name in tracked() if name.endswith(".py") and not name.startswith(OUTSIDE)}
    assert modules <= shipped
    assert {name for name in shipped - modules if name.endswith(".py")} == set()
    assert "pyjs/pipeline/log4j2.properties" in shipped
    assert {"pyjs/py.typed", "pyjs/protocol/errors/js_errors.json"} <= shipped


def pyspark_modules(site: Path) -> str:
    """What PySpark takes for data sources when this folder is on the path, as it looks for them."""
    program = (
        "import pkgutil; print([m.name for m in pkgutil.iter_modules() if m.name.startswith('pyspark_')])"
    )
    isolated = [sys.executable, "-S", "-c", program]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(isolated, env=environment, capture_output=True, text=True, check=True, cwd=site)
    return done.stdout


def test_pyspark_finds_the_source_of_it(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    assert pyspark_modules(tmp_path) == "['pyspark_jetstream']\n"


def test_pyspark_finds_the_source_of_an_editable_install(source: Path, tmp_path: Path) -> None:
    program = "import sys; from setuptools import build_meta; print(build_meta.build_editable(sys.argv[1]))"
    command = [sys.executable, "-c", program, str(tmp_path)]
    pure = {**os.environ, "PYJS_PURE": "1"}  # the compiled part has no say in what PySpark finds
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False, env=pure)
    assert done.returncode == 0, done.stdout + done.stderr
    zipfile.ZipFile(tmp_path / done.stdout.split()[-1]).extractall(tmp_path / "site")
    assert pyspark_modules(tmp_path / "site") == "['pyspark_jetstream']\n"


@pytest.mark.parametrize(
    ("before", "because"),
    [
        ("import os; os.environ['CC'] = 'no-such-compiler'", "'no-such-compiler'"),
        (WITHOUT_CYTHON, "no Cython"),
        ("import os; os.environ['PYJS_PURE'] = '1'", "PYJS_PURE"),
    ],
    ids=["compiler", "Cython", "asked"],
)
def test_what_cannot_be_compiled_is_left_out_and_told_in_one_line(
    source: Path, tmp_path: Path, before: str, because: str
) -> None:
    program = f"{before}; import sys, runpy; sys.path.insert(0, '.'); runpy.run_path('setup.py')"
    command = [sys.executable, "-c", program, "-q", "build_ext", "--build-lib", str(tmp_path)]
    environment = {name: value for name, value in os.environ.items() if name != "PYJS_PURE"}
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("pyjs:")]
    assert len(told) == 1, done.stderr
    assert told[0].startswith("pyjs: installed without its compiled part: ")
    assert because in told[0]
    assert list(tmp_path.rglob("*.so")) == []


def test_a_server_runs_from_it(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    program = """
import pyjs
from pyjs.server.embed import serve
assert "site" in pyjs.__file__, pyjs.__file__
with serve(jetstream=True) as server:
    print(server.call(lambda s: s.jetstream.running), pyjs.native.FORM)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"True {FORM}\n", done.stderr
