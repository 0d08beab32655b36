"""An operator environment in the folders of nsc, for `pyjs nsc` to work on."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pyjs.keys import Keystore, Stores, Workspace
from pyjs.keys.folders.locations import NscDirectories

from .operator_fixture import OperatorEnv


def written(
    env: OperatorEnv, folder: Path, *, url: str = "", now: Callable[[], int] = time.time_ns
) -> Workspace:
    """Write an environment's operator, accounts and the user `sys` with all seeds (`-H folder`).

    url: of the account server

    Writing again brings the store up to date.
    """
    if url:
        env.claims.nats.account_server_url = url
        env.claims.nats.operator_service_urls = [url] if url.startswith("nats") else []
        env.token = env.sign(env.claims, env.key)
    stores, keystore = Stores(folder), Keystore(folder)
    store = stores.open("OP") if "OP" in stores.names() else stores.create("OP")
    store.write_operator(env.token)
    for pair in (env.key, env.signing, env.admin.key):
        if pair is not None:
            keystore.add(pair)
    for account in env.accounts:
        store.write_account(account.token())
        for pair in (account.key, *account.signing):
            keystore.add(pair)
    store.write_user(env.admin.token)
    keystore.write_credentials("OP", "SYS", "sys", env.admin.token, env.admin.key.seed)
    return Workspace.open(NscDirectories.locate({"HOME": str(folder)}, folder, all_dirs=str(folder)), now=now)


def add_user(workspace: Workspace, env: OperatorEnv, account: str, name: str) -> None:
    """Add a user of one of its accounts, with seed and credentials."""
    owner = next(one for one in env.accounts if one.claims.name == account)
    user = owner.user(name)
    workspace.keystore.add(user.key)
    workspace.store().write_user(user.token)
    workspace.keystore.write_credentials("OP", account, name, user.token, user.key.seed)
