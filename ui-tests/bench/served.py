"""The protocol of the programs in `protocol`, for engines that are called from Python."""

import json
import resource
import sys
import time
from pathlib import Path

import values

FEWEST = 3


def serve(load):
    """`load(model, inputs, threads)` returns a function that computes the outputs by name."""
    model, inputs, outputs, threads = sys.argv[-4:]
    feed = values.read(inputs)
    before, start = peak(), time.perf_counter()
    call = load(Path(model), feed, int(threads))
    load_time = time.perf_counter() - start
    loaded = reported("VmRSS:")
    start = time.perf_counter()
    first = call()
    first_time = time.perf_counter() - start
    values.write(outputs, first)
    # Python, numpy and the library itself are there before the model is.
    own = {"peak_bytes": peak(), "loaded_bytes": loaded, "before_bytes": before}
    answer(load_ms=load_time * 1e3, first_ms=first_time * 1e3, **own)
    for line in sys.stdin:
        if line.startswith("idle "):
            time.sleep(float(line.removeprefix("idle ")))
            answer(held_bytes=reported("VmRSS:"))
        else:
            answer(**measured(call, float(line)), peak_bytes=peak())


def measured(call, seconds):
    times = []
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    while len(times) < FEWEST or time.perf_counter() - start < seconds:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    times.sort()
    return {
        "runs": len(times),
        "median_ms": times[len(times) // 2] * 1e3,
        "least_ms": times[0] * 1e3,
        "cpu_ms": used * 1e3 / len(times),
        "faults": (after.ru_minflt - before.ru_minflt) / len(times),
    }


def peak():
    # The record of `getrusage` begins with that of the process that started this one.
    return reported("VmHWM:")


def reported(name):
    """A size in bytes that the system reports about this process."""
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith(name))
    return int(line.split()[1]) * 1024


def answer(**what):
    print(json.dumps(what), flush=True)
