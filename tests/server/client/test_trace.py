"""The trace log, in the format of nats-server."""

from __future__ import annotations

from lib.fake_wire import ClientsFixture
from pyjs.server.config.options import Options


class Lines:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def trace(self, text: str) -> None:
        self.lines.append(text.partition(" - ")[2].partition(" - ")[2])

    def debug(self, text: str) -> None:
        pass

    info = warning = error = debug


def test_every_line_and_payload_is_shown_but_no_secret() -> None:
    fixture = ClientsFixture(Options(trace=True, max_traced_msg_len=4))
    log = Lines()
    fixture.clients.log = log
    client = fixture.connected(user="me", **{"pass": 'secret"x', "sig": "secret"})
    client.says("SUB a q 1\r\nPING\r\nPUB a r 6\r\nab\x00def\r\nUNSUB 1 5\r\n")
    client.says("HPUB a 12 14\r\nNATS/1.0\r\n\r\nhi\r\n")
    assert "secret" not in "".join(log.lines)
    assert log.lines[0].startswith("->> [INFO {")
    assert log.lines[1].startswith("<<- [CONNECT {")
    assert '"pass": "[REDACTED]"' in log.lines[1]
    lines = [line for line in log.lines[2:] if "INFO" not in line]
    assert lines == [
        "<<- [SUB a q 1]",
        "<<- [PING]",
        "->> [PONG]",
        "<<- [PUB a r 6]",
        '<<- MSG_PAYLOAD: ["ab\\x00d..."]',
        "->> [MSG a 1 r 6]",
        '->> MSG_PAYLOAD: ["ab\\x00d..."]',
        "<<- [UNSUB 1 5]",
        "<<- [HPUB a 12 14]",
        '<<- MSG_PAYLOAD: ["NATS..."]',
        "->> [HMSG a 1 12 14]",
        '->> MSG_PAYLOAD: ["NATS..."]',
    ]


def test_a_secret_of_the_wrong_kind_is_one_all_the_same() -> None:
    fixture = ClientsFixture(Options(trace=True))
    log = Lines()
    fixture.clients.log = log
    client = fixture.client()
    client.says('CONNECT {"jwt": ["secret", "secret"], "sig":17, "pass" :{"a": "secret"}, "name": "n"}\r\n')
    line = log.lines[1]
    assert line.startswith('<<- [CONNECT {"jwt": "[REDACTED]", "sig":"[REDACTED]", "pass" :"[REDACTED]"')
    assert "secret" not in line and "17" not in line and '"name": "n"' in line


def test_a_reload_switches_it_on_and_off() -> None:
    fixture = ClientsFixture()
    log = Lines()
    fixture.clients.log = log
    client = fixture.connected()
    client.says("SUB a 1\r\nPUB a 0\r\n\r\n")
    fixture.reload(Options(host="127.0.0.1", trace=True))
    client.says("PUB a 0\r\n\r\n")
    assert len(log.lines) == 2
    fixture.reload(Options(host="127.0.0.1"))
    client.says("PUB a 0\r\n\r\n")
    assert len(log.lines) == 2


def test_an_account_counts_what_its_clients_send_and_receive() -> None:
    fixture = ClientsFixture()
    client = fixture.connected()
    client.says("SUB a 1\r\nSUB a 2\r\nPUB a 3\r\nxyz\r\n")
    account = fixture.registry.global_account
    assert (account.in_msgs, account.in_bytes, account.out_msgs, account.out_bytes) == (1, 3, 2, 6)
