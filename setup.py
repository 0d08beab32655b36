"""The repository's root is the package pyjs, so that its rooms are the first thing one sees."""

from setuptools import find_packages, setup

ROOMS = ("protocol", "keys", "store", "server", "cli", "plugins", "pipeline")

setup(
    package_dir={"pyjs": "."},
    packages=["pyjs"]
    + [f"pyjs.{name}" for name in find_packages(include=[p for room in ROOMS for p in (room, f"{room}.*")])],
)
