"""A store with one account and user, and its keystore, in a temporary directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyjs.keys.folders.store import OperatorStore, Stores


@pytest.fixture
def store(party: Any, tmp_path: Path) -> OperatorStore:
    made = Stores(tmp_path / "stores").create("OP")
    made.write_operator(party.signed(party.operator_claims(), party.operator))
    made.write_account(party.signed(party.account_claims(), party.operator))
    made.write_user(party.signed(party.user_claims(), party.account))
    return made
