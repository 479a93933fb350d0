// Runs a program for WASI with the words after its path, for `bench.py --wasm`.

import { openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { WASI } from "node:wasi";

const [program, ...words] = process.argv.slice(2);
// Opened anew, because reads of node's own descriptor do not wait.
const stdin = openSync("/dev/stdin", "r");
const wasi = new WASI({ version: "preview1", args: [program, ...words], preopens: { "/": "/" }, stdin });
const { instance } = await WebAssembly.instantiate(await readFile(program), wasi.getImportObject());
process.exitCode = wasi.start(instance);
