"""Configuration as files: streams, consumers and buckets declared in documents, planned and applied.

    documents = load([Path("jetstream/")])
    declared = declare(documents, owner="team-a")
    observed = await observe(declared, client_api(nc))
    plan = make(declared, observed, time.time_ns())
    result = await apply(plan, client_api(nc))

The documents, what is declared, the observed state and the plan are values, made by pure functions; only
`observe` and `apply` speak to servers. Each name below is imported when it is first used, so that `import
pyjs.provision` costs nothing. docs/provision.md describes the documents.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .applying import Result as Result
    from .applying import apply as apply
    from .applying import refuse_losses as refuse_losses
    from .comparison import Change as Change
    from .declared import Declared as Declared
    from .declared import Id as Id
    from .declared import declare as declare
    from .errors import ConflictError as ConflictError
    from .errors import LossError as LossError
    from .errors import ProvisionError as ProvisionError
    from .errors import StateChangedError as StateChangedError
    from .errors import UnreadableError as UnreadableError
    from .exporting import Exported as Exported
    from .exporting import export as export
    from .files import load as load
    from .files import parse as parse
    from .model import DomainDocument as DomainDocument
    from .model import schema as schema
    from .observed_state import ObservedState as ObservedState
    from .plan import Action as Action
    from .plan import ChangePlan as ChangePlan
    from .plan import Verb as Verb
    from .planner import make as make
    from .servers import client_api as client_api
    from .servers import observe as observe
    from .servers import read_domain as read_domain

_WHERE = {
    "applying": "Result apply refuse_losses",
    "comparison": "Change",
    "declared": "Declared Id declare",
    "errors": "ConflictError LossError ProvisionError UnreadableError StateChangedError",
    "exporting": "Exported export",
    "files": "load parse",
    "model": "DomainDocument schema",
    "plan": "Action ChangePlan Verb",
    "planner": "make",
    "servers": "client_api read_domain observe",
    "observed_state": "ObservedState",
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names.split()}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_MODULES)
