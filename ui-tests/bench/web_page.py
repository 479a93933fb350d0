"""A page in headless Chromium: what it is served and what it answers."""

import http.server
import json
import subprocess
import tempfile
import threading
from pathlib import Path
from urllib.parse import urlencode

import numpy

import values

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-webgpu",
    "--enable-precise-memory-info",
]

# Seconds after which a page is given up.
LONGEST = 900


def resized(array, shape):
    """An array, or ids of tokens or a mask of ones in another shape than the recorded one."""
    if shape is None:
        return array
    size = int(numpy.prod(shape))
    if array.max() > 1:
        return numpy.arange(1000, 1000 + size, dtype=array.dtype).reshape(shape)
    return numpy.ones(shape, array.dtype)


def visit(browser, folders, inputs, query):
    """What the page posts: `folders` by the first part of their addresses."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        profile = Path(profile)
        values.write(profile / "inputs", inputs)
        answers, done = [], threading.Event()
        handler = serving({**folders, "values": profile}, answers, done)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/index.html?{urlencode(query)}"
        words = [browser, *FLAGS, f"--user-data-dir={profile / 'user'}", address]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        done.wait(LONGEST)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
        server.shutdown()
        server.server_close()
    return json.loads(answers[0]) if answers else {"problem": f"no answer in {LONGEST} s"}


def serving(folders, answers, done):
    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {
            **http.server.SimpleHTTPRequestHandler.extensions_map,
            ".wasm": "application/wasm",
            ".mjs": "text/javascript",
        }

        def translate_path(self, path):
            first, _, rest = path.partition("?")[0].lstrip("/").partition("/")
            folder, rest = (folders[first], rest) if rest and first in folders else (folders[""], first)
            self.directory = str(folder)
            return super().translate_path(f"/{rest}")

        def log_message(self, *_):
            pass

        def end_headers(self):
            # Pages have SharedArrayBuffer, and clocks of 5 µs, with these.
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            super().end_headers()

        def do_POST(self):
            answers.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()
            done.set()

    return Handler
