"""The picture of operator, accounts and users: a card for each, to the right of the one that signed it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import pytest
from lib.operator_fixture import OperatorEnv
from lib.operator_store import written
from pyjs.keys import KeyRole, Workspace
from pyjs.keys.workspace.accounts import AccountEdits, add_account, edit_account
from pyjs.keys.workspace.diagram.object import DiagramOptions
from pyjs.keys.workspace.diagram.scene import Arrow, Box, Scene, Text
from pyjs.keys.workspace.diagram.sheet import object_picture
from pyjs.keys.workspace.diagram.svg import svg
from pyjs.keys.workspace.edits import SigningKeys
from pyjs.keys.workspace.permissions import PermissionEdits, UserEdits
from pyjs.keys.workspace.users import add_user

ALL = DiagramOptions(users=True, keys=True, detail=True)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    env = OperatorEnv()
    env.account("TEAM", limits={"conn": 7})
    workspace = written(env, tmp_path)
    add_user(workspace, "ann", account="TEAM")
    workspace = add_account(workspace, "a <b> & 'c' of a rather long name that has to be broken").workspace
    edit_account(workspace, "TEAM", AccountEdits(signing_keys=SigningKeys(add=("generate",))))
    may = UserEdits(permissions=PermissionEdits(allow_pub=("orders.>",)))
    add_user(workspace, "bob", account="TEAM", edits=may)
    return workspace


def _picture(workspace: Workspace, shown: DiagramOptions) -> Scene:
    return object_picture(workspace.store(), workspace.keystore, workspace.now(), shown)


def _cards(scene: Scene) -> list[Box]:
    return [shape for shape in scene.shapes if isinstance(shape, Box) and shape.edge]


def _texts(scene: Scene) -> list[str]:
    return [shape.text for shape in scene.shapes if isinstance(shape, Text)]


def test_each_has_a_card_and_an_arrow_from_who_signed_it(workspace: Workspace) -> None:
    store = workspace.store()
    users = sum(len(store.users(account)) for account in store.accounts())
    for shown, count in ((DiagramOptions(), len(store.accounts())), (ALL, len(store.accounts()) + users)):
        scene = _picture(workspace, shown)
        assert len(_cards(scene)) == 1 + count
        arrows = [shape for shape in scene.shapes if isinstance(shape, Arrow)]
        assert len(arrows) == count and all(arrow.points[0][0] < arrow.points[-1][0] for arrow in arrows)


def test_nothing_lies_over_anything_else_or_outside(workspace: Workspace) -> None:
    scene = _picture(workspace, ALL)
    cards = _cards(scene)
    for one, two in combinations(cards, 2):
        apart = one.x + one.width <= two.x or two.x + two.width <= one.x
        assert apart or one.y + one.height <= two.y or two.y + two.height <= one.y
    assert all(card.x + card.width < scene.width and card.y + card.height < scene.height for card in cards)


def test_limits_permissions_and_keys_are_reported_and_no_seed(workspace: Workspace) -> None:
    reported = _texts(_picture(workspace, ALL))
    for text in ("Max Client Connections = 7", "user permissions", "orders.>", "account signing keys"):
        assert text in reported
    assert any(text.endswith(" stored") for text in reported)
    drawn = ET.fromstring(svg(_picture(workspace, ALL)))
    keys = workspace.keystore.keys(KeyRole.OPERATOR, KeyRole.ACCOUNT, KeyRole.USER)
    assert len(keys) > 4
    for key in keys:
        assert workspace.keystore.get(key).seed not in ET.tostring(drawn, encoding="unicode")
