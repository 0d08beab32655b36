"""Client libraries over WebSocket: nats-py, and nats.js in Node and in a real browser.

nats.js is looked for in the folder that `PYJS_NATS_JS` names, or among Node's global packages. Without it,
Node or Chromium, tests are skipped.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from lib.process import ServerProcess

HERE = Path(__file__).parent / "web"
PEMS = Path(__file__).parents[1] / "server" / "config" / "pem"
CONFIG = """
listen: 127.0.0.1:<client>
server_name: S
jetstream { store_dir: "<store>", max_mem: 100MB, max_file: 100MB }
websocket { listen: 127.0.0.1:<ws>, %s }
"""
PLAIN = CONFIG % "no_tls: true, compression: true"
SECURE = CONFIG % f'tls {{ cert_file: "{PEMS}/server.pem", key_file: "{PEMS}/server-key.pem" }}'
SIZES = [*(number * 10 for number in range(1000)), 900_000]
Serve = Callable[[str], ServerProcess]


@pytest.mark.parametrize("secure", [False, True])
def test_nats_py(serve: Serve, unique: str, secure: bool) -> None:
    pytest.importorskip("aiohttp", reason="nats-py needs aiohttp for WebSocket: pip install aiohttp")
    server = serve(SECURE if secure else PLAIN)
    url = f"{'wss' if secure else 'ws'}://127.0.0.1:{server.ports['ws']}"
    words = [sys.executable, str(HERE / "client.py"), url, unique, *([f"{PEMS}/ca.pem"] if secure else [])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def node_modules() -> Path:
    """The folder whose `node_modules` has nats.js."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed")
    named = os.environ.get("PYJS_NATS_JS")
    folders = [Path(named)] if named else []
    npm = shutil.which("npm")
    if npm is not None and not named:
        found = subprocess.run([npm, "root", "-g"], capture_output=True, text=True, check=False)
        folders.append(Path(found.stdout.strip()).parent)
    for folder in folders:
        if (folder / "node_modules" / "@nats-io" / "nats-core").is_dir():
            return folder
    pytest.skip("nats.js is not installed: npm install -g @nats-io/nats-core ws")


def check(result: dict[str, Any]) -> None:
    assert result.pop("sizes", result) == SIZES
    assert result == {"server": "S", "reply": "hello", "color": "blue"}


def test_nats_js_in_node(serve: Serve, node_modules: Path) -> None:
    server = serve(PLAIN)
    words = ["node", str(HERE / "node.js"), str(node_modules), f"ws://127.0.0.1:{server.ports['ws']}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    check(json.loads(done.stdout))


def test_nats_js_in_a_browser(serve: Serve, node_modules: Path, tmp_path: Path) -> None:
    """The page comes from another origin than the server, which allows that one."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    results: queue.Queue[dict[str, Any]] = queue.Queue()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.path.partition("#")[0].lstrip("/")
            path = (node_modules if wanted.startswith("node_modules/") else HERE) / wanted
            found = path.is_file()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html" if wanted.endswith("html") else "text/javascript")
            self.end_headers()
            if found:
                self.wfile.write(path.read_bytes())

        def do_POST(self) -> None:
            results.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as pages:
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{pages.server_address[1]}"
        server = serve(CONFIG % f'no_tls: true, compression: true, allowed_origins: ["{here}"]')
        words = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-dev-shm-usage",
        ]
        page = f"{here}/page.html#ws://127.0.0.1:{server.ports['ws']}"
        process = subprocess.Popen(
            [browser, *words, f"--user-data-dir={tmp_path}", page],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            check(results.get(timeout=60))
        finally:
            os.killpg(process.pid, 9)
            process.wait()
            pages.shutdown()
