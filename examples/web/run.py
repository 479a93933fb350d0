"""Builds the page and shows it, or draws digits on it in headless Chromium.

    python3 examples/web/run.py                     builds and serves the page
    python3 examples/web/run.py --check             draws all digits on it, and fails where one is read wrongly
    python3 examples/web/run.py --dev --check       the same with unoptimized code, as CI does

Needs cargo with a standard library for wasm32 (`rustup target add wasm32-unknown-unknown`), or the library's source;
for checks Chromium. Otherwise Python alone.
"""

import argparse
import http.server
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from check import check, picture

HERE = Path(__file__).resolve().parent
TRIPLE = "wasm32-unknown-unknown"
DEVICES = ["flex", "webgpu"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--dev", action="store_true", help="the development profile")
    arguments.add_argument("--device", action="append", choices=DEVICES, help="only this module")
    arguments.add_argument("--no-build", action="store_true", help="with what an earlier call has built")
    arguments.add_argument("--check", action="store_true", help="draw digits in headless Chromium")
    arguments.add_argument("--digit", action="append", metavar="DIGIT", help="only this one")
    arguments.add_argument("--screenshot", action="store_true", help="write screenshot.png")
    arguments.add_argument("--browser", default="chromium", metavar="PROGRAM")
    arguments.add_argument("--port", type=int, default=8000)
    options = arguments.parse_args()

    devices = options.device or DEVICES
    profile = "debug" if options.dev else "release"
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "target")).absolute()
    folder = target / "page" / profile
    shutil.copytree(HERE / "page", folder, dirs_exist_ok=True)
    if not options.no_build:
        for device in devices:
            build(device, target, profile, folder / device)

    headless = options.check or options.screenshot
    server = serve(folder, 0 if headless else options.port)
    address = f"http://127.0.0.1:{server.server_port}/"
    if not headless:
        print(f"{address} shows {folder}, which any server of files can have")
        server.serve_forever()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    problems = check(options.browser, address, devices, folder, options.digit) if options.check else []
    if options.screenshot:
        picture(options.browser, address, HERE / "screenshot.png", devices[0])
    sys.exit("\n".join(problems) or 0)


def build(device, target, profile, folder):
    """The module for a device, and the JavaScript that loads it."""
    environment = os.environ | {"CARGO_TARGET_DIR": str(target)}
    words = ["--lib", "--target", TRIPLE, "--no-default-features", "--features", device]
    if profile == "release":
        words.append("--release")
    sysroot = Path(output("rustc", "--print", "sysroot"))
    if not (sysroot / "lib/rustlib" / TRIPLE).is_dir():
        # The compiler of a distribution has the library's source alone, and its linker under another name.
        words += ["-Z", "build-std=std,panic_abort"]
        environment["RUSTC_BOOTSTRAP"] = "1"
        if not shutil.which("rust-lld"):
            environment["CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER"] = "wasm-ld"
    # Flags of .cargo/config.toml count in this folder.
    run("cargo", "build", *words, env=environment)
    module = target / TRIPLE / profile / "web.wasm"
    run("cargo", "run", "--quiet", "--package", "bindgen", "--", module, folder, env=environment)


def run(*words, **settings):
    if subprocess.run(words, cwd=HERE, **settings).returncode:
        sys.exit(f"failed: {' '.join(map(str, words))}")


def output(*words):
    return subprocess.run(words, cwd=HERE, check=True, capture_output=True, text=True).stdout.strip()


def serve(folder, port):
    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {".wasm": "application/wasm"}

        def __init__(self, *words):
            super().__init__(*words, directory=folder)

        def end_headers(self):
            # Clocks of 5 µs instead of 100.
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            super().end_headers()

        def log_message(self, *_):
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    main()
