"""The application, tested in one process: web requests, JetStream, and the disk."""

import pytest
from app import app
from fastapi.testclient import TestClient


def test_an_order_is_there_after_a_restart(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STORE", str(tmp_path))
    with TestClient(app) as client:
        assert client.post("/orders", json={"item": "coffee"}).json() == {"order": 1}
    with TestClient(app) as client:
        assert client.get("/orders/1").json() == {"item": "coffee"}
        assert client.post("/orders", json={"item": "tea"}).json() == {"order": 2}


def test_it_uses_a_server_that_is_there(jetstream_server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NATS_URL", jetstream_server.url)
    with TestClient(app) as client:
        assert client.post("/orders", json={"item": "coffee"}).status_code == 201
