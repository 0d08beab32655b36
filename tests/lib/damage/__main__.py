"""Print the tables of docs/trust.md: every kind of file, damaged in every way.

PYTHONPATH=tests python -m lib.damage
"""

from __future__ import annotations

import sys

from lib.damage.pages import page

if __name__ == "__main__":
    sys.stdout.write(f"{page()}\n")
