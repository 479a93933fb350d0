"""The table of `web.py`."""

import re
from math import exp, log
from statistics import median

import tables

OURS, PEER = "onnx-embed", "onnxruntime-web"

# A larger share of the largest element and an output is wrong.
WRONG = 1e-3


def figures(row):
    """What each engine took, with the median of the rounds and the ratio of ours in them."""
    ours, peer = row["engines"][OURS], row["engines"][PEER]
    shares = [one / other for one, other in zip(ours["rounds"], peer["rounds"])]
    return ours, peer, median(shares)


def line(row):
    if "problem" in row:
        return f"{row['model']}: {row['problem']}"
    ours, peer, share = figures(row)
    both = (f"{median(each['rounds']):.2f} ms {each['dispatches']} launches" for each in (ours, peer))
    wrong = " WRONG" if is_wrong(row) else ""
    return f"{row['model']}: {' / '.join(both)}, x{share:.2f}, differ by {row['distance']}{wrong}"


def is_wrong(row):
    # JSON has no word for what is no number.
    return row["distance"] is None or row["distance"] > WRONG


def table(rows):
    lines = [
        f"Each cell: {OURS} / {PEER}.",
        "",
        "| model | kind | later calls, ms | ratio | first call, ms | open and load, ms | launches | pipelines | shaders, KB "
        "| wasm memory, MB | GPU buffers, MB |",
        "| --- | --- | --- | ---: | --- | --- | --- | --- | --- | --- | --- |",
    ]
    shares = []
    for row in rows:
        if "problem" in row or is_wrong(row):
            lines.append(f"| {row['model']} | {row['kind']} |" + " - |" * 9)
            continue
        ours, peer, share = figures(row)
        shares.append(share)

        def both(value, digits="{:.0f}"):
            return " / ".join(digits.format(value(each)) for each in (ours, peer))

        cells = [
            both(lambda each: median(each["rounds"])),
            f"{share:.2f}",
            both(lambda each: each["firstMs"]),
            both(lambda each: each["openMs"] + each["loadMs"]),
            both(lambda each: each["dispatches"]),
            both(lambda each: each["pipelines"]),
            both(lambda each: each["shaderBytes"] / 1e3),
            both(lambda each: each["memoryBytes"] / 1e6),
            both(lambda each: each["bufferBytes"] / 1e6, "{:.1f}"),
        ]
        lines.append(f"| {row['model']} | {row['kind']} | {' | '.join(cells)} |")
    if shares:
        mean = exp(sum(map(log, shares)) / len(shares))
        lines.append(f"| geometric mean of {len(shares)} | | | {mean:.2f} |" + " |" * 7)
    return "\n".join(lines)


def into(path, name, rows):
    path.write_text(tables.replaced(path.read_text(), name, table(rows)))


def profile(model, result):
    """The kernels of each engine by the time that they took in a call."""
    if "problem" in result:
        return f"{model.name}: {result['problem']}"
    lines = []
    for engine, launches in result["profiles"].items():
        total = sum(launch["us"] for launch in launches)
        lines.append(f"{model.name}, {engine}: {len(launches)} launches, {total / 1e3:.2f} ms")
        groups = {}
        for launch in launches:
            groups.setdefault(kernel(launch), []).append(launch)
        for name, group in sorted(groups.items(), key=lambda item: -sum(launch["us"] for launch in item[1])):
            cost = sum(launch["us"] for launch in group)
            counts = " ".join(sorted({"x".join(map(str, launch["workgroups"])) for launch in group}))
            lines.append(f"  {cost / 1e3:8.2f} ms {len(group):4} {name}  [{counts[:160]}]")
    return "\n".join(lines)


def kernel(launch):
    size = re.search(r"@workgroup_size\(([^)]*)\)", launch.get("code", ""))
    names = (launch.get("label"), launch.get("pipeline"), launch.get("entryPoint"))
    return " ".join(filter(None, names)) + (f" ({size[1]})" if size else "")
