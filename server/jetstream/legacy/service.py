"""What `legacy_api` adds to the JetStream of one account: the API of 2020, and stream templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .api import OldApi
from .template_api import TemplateApi
from .templates import StreamTemplates

if TYPE_CHECKING:
    from ....store.configs import AccountDirectory
    from ..account.account import JetStreamAccount
    from ..api.request import ApiEndpoint


class LegacyService:
    """Serves one account.

    endpoints: the requests of the API that it adds, by the subject after `$JS.API.`.
    """

    def __init__(self, account: JetStreamAccount, directory: AccountDirectory | None) -> None:
        """directory: where the templates are; None in a cluster, which has none."""
        templates = None if directory is None else StreamTemplates(account, directory)
        account.templates = templates
        self.endpoints: dict[str, ApiEndpoint] = TemplateApi(templates).endpoints()
        self._old_api = OldApi(account.account, account.host)

    def start(self) -> None:
        """Serve the old subjects."""
        self._old_api.start()

    def stop(self) -> None:
        """Serve them no longer. The templates end with the account."""
        self._old_api.stop()
