"""Callouts on a fake clock: how many questions wait, how long, and what a late or strange answer does."""

from __future__ import annotations

import pytest
from lib.callout_service import assigned, response
from lib.fake_wire import ClientsFixture
from pyjs.keys import AuthorizationRequestClaims, KeyPair, KeyRole, decode
from pyjs.protocol.reserved import AUTH_CALLOUT
from pyjs.server.accounts.auth import ClientCredentials
from pyjs.server.accounts.subscription import Message
from pyjs.server.callout import callouts
from pyjs.server.callout.callouts import Callouts, CalloutTarget
from pyjs.server.callout.request import Login
from pyjs.server.callout.response import Assigned

ISSUER = KeyPair.create(KeyRole.ACCOUNT)


class Scene:
    """Callouts whose questions are kept, and their results by number."""

    def __init__(self) -> None:
        self.place = ClientsFixture()
        clients = self.place.clients
        self.account = self.place.registry.global_account
        self.callouts = Callouts(
            self.place.options, clients.identity, self.place.clock, clients.log, self.place.random.randbytes
        )
        self.questions: list[Message] = []
        self.results: list[Assigned] = []

    def listen(self) -> None:
        self.account.subscribe(AUTH_CALLOUT, self.questions.append)

    def ask(self, **given: str) -> None:
        target = CalloutTarget(self.account, ISSUER.public_key)
        self.callouts.ask(target, Login(ClientCredentials(**given)), self.results.append)

    def answer(self, number: int = 0) -> None:
        question = self.questions[number]
        request = decode(question.body.decode(), AuthorizationRequestClaims)
        self.account.publish(question.reply, response(request, ISSUER, assigned(request, ISSUER, "$G")))

    @property
    def why(self) -> str:
        (result,) = self.results
        assert result.user is None
        return result.why


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_only_so_many_questions_wait(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callouts, "MOST_WAITING", 2)
    scene.listen()
    for _ in range(3):
        scene.ask(user="ann")
    assert scene.why == "too many logins wait for auth callouts"
    assert (len(scene.questions), len(scene.callouts)) == (2, 2)
    scene.answer()
    scene.ask(user="ann")
    assert len(scene.questions) == 3


def test_a_question_ends_with_its_time(scene: Scene) -> None:
    scene.listen()
    scene.ask(user="ann")
    scene.place.clock.advance(scene.place.options.auth_timeout)
    assert "not received in time" in scene.why
    assert len(scene.callouts) == 0
    scene.answer()
    assert len(scene.results) == 1


def test_nobody_listens(scene: Scene) -> None:
    scene.ask(user="ann")
    assert "no auth callout service" in scene.why
    assert len(scene.callouts) == 0


def test_a_seed_for_a_password_is_sent_to_nobody(scene: Scene) -> None:
    scene.listen()
    scene.ask(user="ann", password=KeyPair.create(KeyRole.USER).seed)
    assert scene.why.startswith("Error encoding auth request")
    assert scene.questions == []


def test_bytes_that_are_no_text_are_asked_about_like_others(scene: Scene) -> None:
    scene.listen()
    scene.ask(user="\udcff")
    scene.answer()
    assert scene.results[0].user is not None
