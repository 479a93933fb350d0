"""ONNX Runtime, for `bench.py`: the protocol of the programs in `protocol`."""

import json
import resource
import sys
import time

import onnxruntime

import values

FEWEST = 3


def main():
    model, inputs, outputs, threads = sys.argv[1:]
    feed = values.read(inputs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    before, start = peak(), time.perf_counter()
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    load = time.perf_counter() - start
    names = [output.name for output in session.get_outputs()]
    start = time.perf_counter()
    first = session.run(names, feed)
    first_time = time.perf_counter() - start
    values.write(outputs, dict(zip(names, first)))
    # Python, numpy and the library itself are there before the model is.
    answer(load_ms=load * 1e3, first_ms=first_time * 1e3, peak_bytes=peak(), before_bytes=before)
    for line in sys.stdin:
        answer(**measured(session, names, feed, float(line)), peak_bytes=peak())


def measured(session, names, feed, seconds):
    times = []
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    while len(times) < FEWEST or time.perf_counter() - start < seconds:
        began = time.perf_counter()
        session.run(names, feed)
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
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def answer(**what):
    print(json.dumps(what), flush=True)


main()
