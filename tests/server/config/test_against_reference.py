"""The same configurations through `nats-server -t -c` and through pyjs.

Both take a configuration, with the same digest, or both refuse it, at the same line. Where pyjs is stricter
on purpose, the case is in STRICTER.
"""

# ruff: noqa: E501  (a case is one line)

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from lib.reference import binary
from pyjs.server.config import ConfigError, load

USER_KEY = "UAAACAQDAQCQMBYIBEFAWDANBYHRAEISCMKBKFQXDAMRUGY4DUPB63NN"
ACCOUNT_KEY = "ADECCNBUEBWZ727OMBFSN7OMK2FPYRM52TJS25TFQWYS76NPOJBN3KU4"

GOOD = {
    "empty map": "port: 4222",
    "equals": "port = 4222",
    "blank": "port 4222",
    "quoted keys": '"port": 4222\n\'host\': "127.0.0.1"',
    "json": '{"port": 4222, "host": "0.0.0.0", "accounts": {"A": {"users": [{"user": "a", "password": "b"}]}}}',
    "braces around": "{\n port: 4222\n}\n",
    "stray brace at the end": "port: 4222\n}\n",
    "semicolons": "port: 4222; host: localhost; debug: true",
    "commas at top": "port: 4222, host: localhost",
    "comments": "# a\n// b\nport: 4222 # c\nhost: localhost // d\n",
    "key case": "PORT: 4222\nJetStream { DOMAIN: hub }",
    "map without separator": "leafnodes {\n port: 7422 }\n",
    "listen without colon": "listen localhost:4223",
    "listen v6": 'listen: "[::1]:4222"',
    "listen port only": "listen: 4333",
    "listen empty host": 'listen: ":4333"',
    "address bare": "listen: 127.0.0.1:4222",
    "size suffixes": "max_payload: 1mb\nmax_pending: 64MiB\nmax_control_line: 4k",
    "bools": "debug: yes\ntrace: Off\nlogtime: TRUE",
    "escapes": 'server_name: "a\\x41"',
    "single quotes": "server_name: 'a\\x41'",
    "bare with escape": "server_name: a\\x41",
    "trailing quote ends a bare string": "server_name: abc'\nport: 1",
    "string over lines": 'accounts { A { users: [{user: "a\nb", password: "c"}] } }',
    "block string": "server_metadata { text: (\n many\n lines\n)\n }",
    "bare url": "leafnodes { remotes [ { url: nats://localhost:7422 } ] }",
    "leaf url of another scheme": 'leafnodes { remotes = [ { url: "leaf://x:7" }, { url: "http://x:7" } ] }',
    "leaf urls": 'leafnodes { remotes = [ { urls: ["nats-leaf://a:b@localhost:7422", "tls://x:7"] } ] }',
    "hash in a bare value": "server_name: a#b",
    "value on the next line in a map": "jetstream {\n domain:\n hub\n}",
    "separator on the next line": "port\n : 4222",
    "durations": 'ping_interval: "1m30s"\nwrite_deadline: 10s',
    "digits then text": "server_name: 1foo",
    "60s": "ping_interval: 60s",
    "2m30s": "ping_interval: 2m30s",
    "suffix before a bracket": "server_tags: [1k]",
    "suffix and digits": "server_name: 1kb5",
    "chunked": "accounts { A { exports: [{service: x, response: chunked}] } }",
    "list of newlines": "server_tags: [\n a\n b, c # d\n\n e\n]",
    "list with blank before the bracket": "server_metadata { a: x }\nserver_tags: [a, b]",
    "variable": "TOKEN: secret\nauthorization { token: $TOKEN }",
    "variable from outer map": "NAME: hub\njetstream { domain: $NAME }",
    "variable map": "U: [{user: a, password: b}]\naccounts { A { users: $U } }",
    "variable inside a map": "accounts { P: x\n A { users: [{user: a, password: $P}] } }",
    "bcrypt bare": "authorization { user: a, password: $2a$11$PWIFAL8RsWyGI3jVZtO9Nu8.6jOxzxfZo7c/W0eLk017hjgUKWrhy }",
    "js size string": 'jetstream { max_mem: "10G", max_file: 100GB, store_dir: "/tmp/x" }',
    "js enabled string": "jetstream: enabled",
    "js off": "jetstream: false",
    "sync always": "jetstream { sync_interval: always }",
    "permissions": (
        "authorization { default_permissions { publish: foo, subscribe: { allow: [a, b], deny: c } }\n"
        ' users: [{user: a, password: b, permissions: {sub: ["a.> q.*"], pub: {deny: ">"},'
        ' allow_responses: {max: 5, expires: "1m"}}}] }'
    ),
    "nkey user": f"authorization {{ users: [{{nkey: {USER_KEY}}}] }}",
    "connection types": 'authorization { users: [{user: a, pass: b, clients: ["standard", WEBSOCKET]}] }',
    "timeouts": 'authorization { timeout: 0.5 }\nleafnodes { authorization { timeout: "2s" } }',
    "account names": "accounts: [A, B]",
    "exports and imports": (
        "accounts { A { exports: [{stream: a.>}, {service: s.*, accounts: [B], response: single,"
        ' threshold: "2s", latency: {sampling: "50%", subject: lat}}] }\n'
        " B { imports: [{stream: {account: A, subject: a.b}, prefix: p},"
        " {service: {account: A, subject: s.x}, to: local}] } }"
    ),
    "account token position": (
        "accounts { A { exports: [{service: s.*, account_token_position: 2}] }\n"
        " B { imports: [{service: {account: A, subject: s.B}}] } }"
    ),
    "mappings": (
        'mappings { foo: bar, "a.*": "b.$1", c: { dest: d, weight: 50% },'
        " e: [{dest: f, weight: 20}, {dest: g, weight: 80%, cluster: x}] }"
    ),
    "account jetstream": "accounts { A { jetstream { max_mem: 1M, max_file: 1G, streams: 5 } } }",
    "account limits": "accounts { A { limits { max_conn: 5, max_subs: 10, max_payload: 1k, max_leafs: 1 } } }",
    "cluster": "cluster { name: c, listen: localhost:6222, routes: [nats-route://localhost:6223] }",
    "cluster compression": "cluster { port: 6222, compression: {mode: s2_auto, rtt_thresholds: [10ms, 20ms]} }",
    "gateway": "gateway { name: A, port: 7222, gateways: [{name: B, url: nats://localhost:7333}] }",
    "websocket": "websocket { port: 8080, no_tls: true }",
    "mqtt": "server_name: a\nmqtt { port: 1883 }\njetstream: true",
    "lame duck": 'lame_duck_duration: "40s"\nlame_duck_grace_period: "5s"',
    "monitoring": "http: 8222\nhttp_base_path: /nats",
    "tags": 'server_tags: "a"\nserver_metadata { a: b }',
    "connection limits": "max_connections: 10\nmax_subscriptions: 5\nmax_sub_tokens: 16",
    "flags": "feature_flags { js_ack_fc_v2: true }",
    "leaf authorization": (
        "accounts { A {} }\nleafnodes { port: 7422, authorization { users: [{user: a, pass: b, account: A}] } }"
    ),
    "remote options": (
        "leafnodes { reconnect: 2s, remotes: [{url: nats://x:7422, hub: true, deny_import: a, deny_exports: [b.>],"
        ' no_randomize: true, first_info_timeout: "2s", compression: off}] }'
    ),
    "default js domain": "default_js_domain { A: hub }\naccounts { A {} }",
    "proxies": f"proxies {{ trusted: [{{key: {USER_KEY}}}] }}",
    "negative int": "max_connections: -1",
    "float timeout": "authorization { timeout: 1.5 }",
}

BAD = {
    "unknown key": "\n\nfoo: bar",
    "unknown key in a block": "jetstream {\n  domian: hub\n}",
    "unknown key in a list of maps": "leafnodes { remotes: [\n {\n  url: nats://x:1\n  accout: A }\n] }",
    "two separators": "port == 1",
    "colon first": ": 1",
    "two entries on a line in a map": "jetstream { domain: a store_dir: b }",
    "unclosed map": "jetstream {\n domain: a\n",
    "unclosed list": "server_tags: [a, b\n",
    "unclosed quote": 'server_name: "abc',
    "unclosed single quote": "server_name: 'abc",
    "unclosed block": "server_metadata { a: (\n b\n",
    "bad escape": 'server_name: "a\\q"',
    "bad hex": 'server_name: "a\\xZZ"',
    "key without value": "port: 4222\nhost",
    "value missing at the line end": "port:\n4222",
    "dash and text": "server_name: -abc",
    "digits dash text": "server_name: 1-foo",
    "latency of a stream of answers": "accounts { A { exports: [{service: x, response: chunked, latency: l}] } }",
    "a point first": "authorization { timeout: .5 }",
    "float without digits": "authorization { timeout: 1.x }",
    "integer overflow": "max_payload: 99999999999999999999",
    "leading comma in a list": "server_tags: [, a]",
    "wrong type int": 'port: "4222"',
    "wrong type bool": 'debug: "true"',
    "wrong type string": "server_name: 5",
    "wrong type map": "jetstream: 5",
    "wrong type list": "leafnodes { remotes: {url: x} }",
    "bad listen": "listen: localhost",
    "bad listen port": 'listen: "localhost:abc"',
    "server name with blanks": 'server_name: "a b"',
    "duration without unit": 'ping_interval: "30"',
    "duration as integer": "ping_interval: 30",
    "duration days": 'ping_interval: "1d"',
    "strict duration as integer": "lame_duck_duration: 60",
    "lame duck too short": 'lame_duck_duration: "5s"',
    "quoted js size": 'jetstream { max_file: "10GB" }',
    "max payload too big": "max_payload: 4GB",
    "max_sub_tokens": "max_sub_tokens: 300",
    "unset variable": "port: 1\nserver_name: $PYJS_TEST_UNSET",
    "variable used before it is set": "server_name: $LATER\nLATER: a",
    "missing include": "port: 1\ninclude ./nowhere.conf",
    "include of a number": "include 5",
    "stray bracket in a map": "jetstream { ] }",
    "duplicate user": "authorization { users: [{user: a, pass: b}, {user: a, pass: c}] }",
    "duplicate user over accounts": "accounts { A { users: [{user: a, pass: b}] }\n B { users: [{user: a, pass: c}] } }",
    "user and users": "authorization { user: a, pass: b\n users: [{user: c, pass: d}] }",
    "token and users": "authorization { token: a\n users: [{user: c, pass: d}] }",
    "user and token": "authorization { user: a, pass: b, token: c }",
    "user without name": "authorization { users: [{password: b}] }",
    "bad nkey": "authorization { users: [{nkey: UABC}] }",
    "nkey and password": f"authorization {{ users: [{{nkey: {USER_KEY}, password: x}}] }}",
    "users not a list": "authorization { users: {user: a} }",
    "bad connection type": "authorization { users: [{user: a, pass: b, clients: [FOO]}] }",
    "bad permission subject": "authorization { users: [{user: a, pass: b, permissions: {pub: a..b}}] }",
    "unknown permission key": "authorization { users: [{user: a, pass: b, permissions: {\npubish: a}}] }",
    "bad queue": 'authorization { users: [{user: a, pass: b, permissions: {sub: "a b c"}}] }',
    "reserved account": "accounts { $G {} }",
    "account is no map": "accounts { A: 5 }",
    "duplicate account": "accounts: [A, A]",
    "bad account nkey": "accounts { A { nkey: foo } }",
    "import of unknown account": "accounts { A { imports: [{stream: {account: B, subject: x}}] } }",
    "import not exported": "accounts { A {}\n B { imports: [{stream: {account: A, subject: x}}] } }",
    "import not allowed": (
        "accounts { A { exports: [{stream: x, accounts: [C]}] }\n C {}\n"
        " B { imports: [{stream: {account: A, subject: x}}] } }"
    ),
    "export to unknown account": "accounts { A { exports: [{stream: x, accounts: [Z]}] } }",
    "export of both": "accounts { A { exports: [{stream: x, service: y}] } }",
    "response on a stream": "accounts { A { exports: [{stream: x, response: single}] } }",
    "unknown response type": "accounts { A { exports: [{service: x, response: many}] } }",
    "bad sampling": "accounts { A { exports: [{service: x, latency: {sampling: 200, subject: l}}] } }",
    "import without subject": "accounts { A {}\n B { imports: [{stream: {account: A}}] } }",
    "mapping weight": "mappings { a: {dest: b, weight: 150} }",
    "mapping weights": "mappings { a: [{dest: b, weight: 60}, {dest: c, weight: 60}] }",
    "mapping without weight": "mappings { a: {dest: b} }",
    "mapping destination twice": "mappings { a: [{dest: b, weight: 10}, {dest: b, weight: 20}] }",
    "mapping of a bad subject": 'mappings { "a..b": c }',
    "mapping of a wildcard that is not there": 'mappings { "a.*": "b.$2" }',
    "account js string": "accounts { A { jetstream: sure } }",
    "account js size string": 'accounts { A { jetstream { max_mem: "1G" } } }',
    "cluster name with blanks": 'cluster { name: "a b" }',
    "leaf min version": 'leafnodes { min_version: "2.7.0" }',
    "remotes twice": "leafnodes { remotes: [{url: nats://x:1}, {url: nats://x:1}] }",
    "bad remote nkey": "leafnodes { remotes: [{url: nats://x:1, nkey: SUABC}] }",
    "tls without key": "tls { cert_file: nowhere.pem }",
    "tls unknown key": "tls {\n certfile: a }",
    "tls min version": 'tls { min_version: "1.1" }',
    "pinned certs": "tls { pinned_certs: [abc] }",
    "resolver type": "resolver { type: foo, dir: /tmp }",
    "resolver full with ttl": 'resolver { type: full, dir: /tmp/pyjs-resolver, ttl: "1m" }',
    "trusted keys": "trusted_keys: [abc]",
    "mqtt max_ack_pending": "mqtt { max_ack_pending: 70000 }",
    "empty": "",
}

STRICTER = {
    # The reference sees it or not, as it happens to come by the keys of the map.
    "prefix and to": (
        "accounts { A { exports: [{stream: x}] }\n"
        " B { imports: [{stream: {account: A, subject: x}, prefix: p, to: t}] } }"
    ),
    # what nats-server only finds when it starts
    "no_auth_user unknown": "no_auth_user: x\nauthorization { users: [{user: a, pass: b}] }",
    "system account unknown": "accounts { A {} }\nsystem_account: B",
    "remote account unknown": "leafnodes { remotes: [{url: nats://x:1, account: NONE}] }",
    "max_payload over max_pending": "max_payload: 2m\nmax_pending: 1m",
    "grace over duration": 'lame_duck_duration: "30s"\nlame_duck_grace_period: "40s"',
    "http and https": "http: 8222\nhttps: 8223",
    "bad domain": "jetstream { domain: a.b }",
    "port out of range": "port: 70000",
    "compression mode": "leafnodes { compression: fastest }",
    # slips that nats-server's lexer takes as something else
    "unclosed brace around": "{ port: 4222\n",
    "lone slash": 'server_name: "a" /\nport: 1',
    "suffix nobody knows": "max_payload: 1kbb\nport: 4",
    "overflow by suffix": "max_payload: 9999999999g",
    "number before a bracket": "server_tags: [a, 2]\n, 3 ]",
}


def reference(path: Path) -> tuple[bool, str]:
    done = subprocess.run([binary(), "-t", "-c", str(path)], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stderr


def ours(path: Path) -> tuple[bool, list[int], str]:
    """Whether a check passes, the lines of the problems, the digest or the text."""
    try:
        options = load(str(path))
    except ConfigError as error:
        return False, [p.position.line for p in error.problems if p.position], str(error)
    if options.warnings:
        return False, [w.position.line for w in options.warnings if w.position], str(options.warnings)
    return True, [], options.config_digest


def write(directory: Path, text: str) -> Path:
    path = directory / "server.conf"
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", GOOD)
def test_what_the_reference_takes_is_taken_with_the_same_digest(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, GOOD[name])
    valid, text = reference(path)
    assert valid, text
    passed, _, result = ours(path)
    assert passed, result
    assert f"({result})" in text


# The reference puts the error of these at the closing brace, or at another of several culprits.
OTHER_LINE = {
    "duplicate user over accounts",
    "unclosed map",
    "unclosed list",
    "unclosed block",
    "value missing at the line end",
    "key without value",
    "unknown permission key",
    "import not exported",
    "import not allowed",
    "import of unknown account",
    "export to unknown account",
    "import without subject",
    "user and users",
    "token and users",
}


@pytest.mark.parametrize("name", BAD)
def test_what_the_reference_refuses_is_refused_at_the_same_line(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, BAD[name])
    valid, text = reference(path)
    assert not valid, text
    passed, lines, result = ours(path)
    assert not passed, "accepted"
    found = re.search(rf"{re.escape(str(path))}:(\d+)", text) or re.search(r"line (\d+)", text)
    if found and name not in OTHER_LINE:
        assert int(found.group(1)) in lines, f"reference: {text}\nours: {result}"


@pytest.mark.parametrize("name", STRICTER)
def test_stricter_than_a_check_by_the_reference(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, STRICTER[name])
    assert not ours(path)[0]
