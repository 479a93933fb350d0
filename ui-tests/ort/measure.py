"""Runs a program, and prints its times in seconds and the most memory that it held, as JSON.

    python3 measure.py OUTPUT PROGRAM [ARGUMENT..]

The memory of a process counts that of the process which started it: this one is small.
"""

import json
import os
import subprocess
import sys
import time

start = time.perf_counter()
with open(sys.argv[1], "w") as output:
    process = subprocess.Popen(sys.argv[2:], stdout=output)
_, status, used = os.wait4(process.pid, 0)
measured = {
    "status": os.waitstatus_to_exitcode(status),
    "elapsed": time.perf_counter() - start,
    "processor": used.ru_utime + used.ru_stime,
    "megabytes": used.ru_maxrss / 1024,
}
print(json.dumps(measured))
