"""The repository's root is the package pyjs, so that its rooms are the first thing one sees."""

import os
import sys

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

# After setuptools, which brings it: Python 3.12 and newer have none.
from distutils.command.install_data import install_data  # isort: skip

ROOMS = [
    "native",
    "protocol",
    "keys",
    "store",
    "raft",
    "server",
    "documents",
    "provision",
    "client",
    "cli",
    "plugins",
    "pipeline",
]


class BuildPackage(build_py):
    """Leaves this file out: it stands in the package's folder, but is no part of it."""

    def run(self) -> None:
        """Build; an editable install would forget data files."""
        super().run()
        if self.editable_mode:
            self.run_command("install_data")

    def find_package_modules(self, package: str, package_dir: str) -> list[tuple[str, str, str]]:
        """The modules of a package as (package, name, file)."""
        found: list[tuple[str, str, str]] = super().find_package_modules(package, package_dir)
        return [module for module in found if module[:2] != ("pyjs", "setup")]


class InstallBesidePackage(install_data):
    """Installs data files beside the package, where Python looks for modules.

    PySpark lists the modules it can see and takes `pyspark_*` for data sources. An editable install's
    finder lists none, so this one module is copied into place, in a wheel and in an editable install alike.
    """

    def finalize_options(self) -> None:
        """The folder is that of the package."""
        self.set_undefined_options("install", ("install_lib", "install_dir"))
        super().finalize_options()


class BuildCompiled(build_ext):
    """Compiles the twins of `native`. Where that fails, pyjs is installed without them, and is slower."""

    def run(self) -> None:
        """Compile all, or say in one line why nothing was."""
        if not self.extensions:
            return
        try:
            super().run()
        except Exception as error:  # whatever a compiler, or the lack of one, comes with
            self.extensions = []
            tell(error)


def tell(reason: object) -> None:
    """Say in one line why the compiled part is left out. pip shows it with -v."""
    print(f"pyjs: installed without its compiled part: {reason}", file=sys.stderr)  # noqa: T201


def compiled() -> list[Extension]:
    """The compiled modules. `PYJS_PURE=1` leaves them out, and so does an environment without Cython."""
    if os.environ.get("PYJS_PURE", "") not in {"", "0"}:
        tell("PYJS_PURE is set")
        return []
    try:
        from Cython.Build import cythonize
    except ImportError:
        tell("there is no Cython")
        return []
    twins = [Extension(f"pyjs.native.{name}", [f"native/{name}.pyx"]) for name in ("_native", "_blocks")]
    made: list[Extension] = cythonize(twins, build_dir="build", quiet=True)
    return made


setup(
    ext_modules=compiled(),
    package_dir={"pyjs": "."},
    packages=["pyjs"]
    + [f"pyjs.{name}" for name in find_packages(include=[p for room in ROOMS for p in (room, f"{room}.*")])],
    data_files=[("", ["pipeline/pyspark_jetstream.py"])],
    cmdclass={"build_ext": BuildCompiled, "build_py": BuildPackage, "install_data": InstallBesidePackage},
)
