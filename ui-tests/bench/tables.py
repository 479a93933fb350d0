"""The tables of `bench.py`."""

import re
from math import exp, log
from pathlib import Path

from engines import NAMES, REFERENCES

VENDORS = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}

# A column.
OF_BEST = "onnx-embed / best other"

# Two threads are not expected to help where a call takes less.
LONG_MS = 10


def ratio(row, engine):
    """Time over ONNX Runtime's, where both are right."""
    reference = next((name for name in REFERENCES if name in row["engines"]), "ort")
    own, peer = row["engines"].get(engine, {}), row["engines"].get(reference, {})
    if "ms" not in own or "ms" not in peer or own["wrong"]:
        return None
    return own["ms"] / peer["ms"]


def of_best(row):
    """Time of onnx-embed over the best time of the other engines that are right."""
    results = {engine: result for engine, result in row["engines"].items() if "ms" in result and not result["wrong"]}
    others = [result["ms"] for engine, result in results.items() if engine != "ours"]
    return results["ours"]["ms"] / min(others) if "ours" in results and others else None


def line(row):
    """What is printed while the benchmark runs."""
    cells = []
    for engine, result in row["engines"].items():
        if "problem" in result:
            cells.append(f"{engine} - ({result['problem'][:60]})")
        else:
            wrong = f" WRONG {result['distance']:.2g}" if result["wrong"] else ""
            share = ratio(row, engine)
            cells.append(f"{engine} {result['ms']:.3f}" + (f" x{share:.2f}" if share else "") + wrong)
    size = " {} {}".format(*row["grows"]) if row["grows"] else ""
    return f"{row['model']}{size} ({row['threads']}): " + ", ".join(cells)


def mean(ratios):
    return exp(sum(map(log, ratios)) / len(ratios)) if ratios else None


def summary(rows, engines):
    """Geometric means of the ratios: of all models, of those that are quantized, of those that all compute."""
    rows = [row for row in rows if not row["grows"]]
    lines = ["| models | threads | " + " | ".join(NAMES[engine] for engine in engines) + f" | {OF_BEST} |"]
    lines.append("| --- | ---: |" + " ---: |" * (len(engines) + 1))
    for threads in sorted({row["threads"] for row in rows}):
        of = [row for row in rows if row["threads"] == threads]
        groups = {
            "all": of,
            "floats": [row for row in of if not row["quantized"]],
            "quantized": [row for row in of if row["quantized"]],
            "computed by all": [row for row in of if all(ratio(row, engine) for engine in engines)],
        }
        for name, group in groups.items():
            cells = []
            columns = [[ratio(row, engine) for row in group] for engine in engines]
            for column in [*columns, [of_best(row) for row in group]]:
                ratios = [share for share in column if share]
                cells.append(f"{mean(ratios):.2f} of {len(ratios)}" if ratios else "-")
            lines.append(f"| {name} | {threads} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def changes(rows):
    """Times of another checkout and of this one, their ratio, and that of the least times."""
    lines = ["| model | threads | before, ms | now, ms | now / before | of the least times |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: |")
    ratios = {}
    for row in rows:
        now, before = (row["engines"].get(engine, {}) for engine in ("ours", "before"))
        if "ms" not in now or "ms" not in before:
            problem = now.get("problem") or before.get("problem", "not measured")
            lines.append(f"| {row['model']} | {row['threads']} | {problem} | | | |")
            continue
        of = now["ms"] / before["ms"], now["least_ms"] / before["least_ms"]
        ratios.setdefault(row["threads"], []).append(of)
        cells = f"{before['ms']:.3g} | {now['ms']:.3g} | {of[0]:.2f} | {of[1]:.2f}"
        lines.append(f"| {row['model']} | {row['threads']} | {cells} |")
    for threads, each in ratios.items():
        of = [mean([pair[place] for pair in each]) for place in (0, 1)]
        lines.append(f"| geometric mean of {len(each)} | {threads} | | | {of[0]:.3f} | {of[1]:.3f} |")
    return "\n".join(lines)


def times(rows, engines):
    """Milliseconds of ONNX Runtime and the ratios of the others."""
    others = [engine for engine in engines if engine != "ort"]
    names = " | ".join([*(NAMES[engine] for engine in others), OF_BEST])
    lines = [f"| model | kind | threads | ONNX Runtime, ms | {names} |"]
    lines.append("| --- | --- | ---: | ---: |" + " ---: |" * (len(others) + 1))
    for row in rows:
        peer = row["engines"].get("ort", {}).get("ms")
        cells = []
        for engine in others:
            result, share = row["engines"].get(engine, {}), ratio(row, engine)
            cells.append(f"{share:.2f}" if share else "wrong" if result.get("wrong") else "-")
        cells.append(f"{share:.2f}" if (share := of_best(row)) else "-")
        time = f"{peer:.3g}" if peer else "-"
        lines.append(f"| {row['model']} | {row['kind']} | {row['threads']} | {time} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def costs(rows, engines):
    """Load, first call, peak memory, faults, size and build, with one thread."""
    lines = [
        "| model | load, ms | first call, ms | peak, MB | page faults a call | program, MB | build, s |",
        "| --- | --- | --- | --- | --- | --- | ---: |",
    ]
    for row in rows:
        if row["threads"] != min(other["threads"] for other in rows):
            continue
        results = [row["engines"].get(engine, {}) for engine in engines]

        def cells(key, unit=1.0, digits="{:.1f}"):
            each = [digits.format(result[key] / unit) if result.get(key) is not None else "-" for result in results]
            return " / ".join(each)

        build = f"{row['build_s']:.0f}" if row.get("build_s") else "-"
        lines.append(
            f"| {row['model']} | {cells('load_ms')} | {cells('first_ms')} | {cells('peak_bytes', 1e6, '{:.0f}')} | "
            f"{cells('faults', 1.0, '{:.0f}')} | {cells('program_bytes', 1e6)} | {build} |"
        )
    order = " / ".join(NAMES[engine] for engine in engines)
    return f"Each cell: {order}.\n\n" + "\n".join(lines)


def threads(rows, engines):
    """How many times as fast two threads are as one, where a call takes long enough."""
    lines = ["| model | " + " | ".join(NAMES[engine] for engine in engines) + " |"]
    lines.append("| --- |" + " ---: |" * len(engines))
    by_key = {(row["model"], row["threads"]): row["engines"] for row in rows}
    for (model, count), one in by_key.items():
        two = by_key.get((model, 2))
        if count != 1 or two is None or one.get("ort", {}).get("ms", 0) < LONG_MS:
            continue
        cells = []
        for engine in engines:
            walls = [results.get(engine, {}).get("wall_ms") for results in (one, two)]
            cells.append(f"{walls[0] / walls[1]:.2f}" if all(walls) else "-")
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def growth(rows, engines):
    """Ratios by the size that grows, our time over that size, page faults, and the memory after a rest over that after loading."""
    others = [engine for engine in engines if engine != "ort"]
    names = " | ".join(NAMES[engine] for engine in others)
    order = " / ".join(NAMES[engine] for engine in engines)
    lines = [
        f"Faults and memory: {order}.\n",
        f"| model | size | threads | ONNX Runtime, ms | {names} | onnx-embed, ms of each "
        "| page faults a call | memory after a rest / after loading |",
    ]
    lines.append("| --- | --- | ---: | ---: |" + " ---: |" * (len(others) + 1) + " --- | --- |")
    for row in rows:
        name, size = row["grows"]
        results = [row["engines"].get(engine, {}) for engine in engines]
        peer, own = (row["engines"].get(engine, {}).get("ms") for engine in ("ort", "ours"))
        cells = [f"{share:.2f}" if (share := ratio(row, engine)) else "-" for engine in others]
        time, each = f"{peer:.3g}" if peer else "-", f"{own / size:.3g}" if own else "-"
        faults = " / ".join(f"{result['faults']:.0f}" if "faults" in result else "-" for result in results)
        held = " / ".join(
            f"{result['held_bytes'] / result['loaded_bytes']:.2f}" if result.get("held_bytes") else "-" for result in results
        )
        begin = f"| {row['model']} | {name} {size} | {row['threads']} | {time}"
        lines.append(f"{begin} | {' | '.join(cells)} | {each} | {faults} | {held} |")
    return "\n".join(lines)


def classical(rows, engines):
    """Ratios of classical models by the number of rows, and geometric means."""
    others = [engine for engine in engines if engine != "ort"]
    sizes = sorted({row["grows"][1] for row in rows})
    keys = [(size, engine) for size in sizes for engine in others]
    names = [f"{NAMES[engine]}, {size:,} row{'s' * (size > 1)}" for size, engine in keys]
    lines = [f"| model | threads | ONNX Runtime, ms | {' | '.join(names)} |"]
    lines.append("| --- | ---: | ---: |" + " ---: |" * len(keys))
    groups, ratios = {}, {}
    for row in rows:
        groups.setdefault((row["model"], row["threads"]), {})[row["grows"][1]] = row
    for (model, count), group in groups.items():
        times = [group.get(size, {}).get("engines", {}).get("ort", {}).get("ms") for size in sizes]
        cells = [" / ".join(f"{time:.3g}" if time else "-" for time in times)]
        for size, engine in keys:
            share = ratio(group[size], engine) if size in group else None
            ratios.setdefault((count, size, engine), []).extend([share] if share else [])
            cells.append(f"{share:.2f}" if share else "-")
        lines.append(f"| {model} | {count} | {' | '.join(cells)} |")
    for count in sorted({count for count, _, _ in ratios}):
        means = [mean(ratios.get((count, *key), [])) for key in keys]
        cells = [f"{share:.2f}" if share else "-" for share in means]
        lines.append(f"| geometric mean | {count} | | {' | '.join(cells)} |")
    return "\n".join(lines)


def vendor():
    """The vendor of the processor, of which BENCHMARKS.md has tables of their own."""
    lines = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").is_file() else ""
    return next((name for word, name in VENDORS.items() if word in lines), "other")


def into(path, rows, engines):
    """Replaces the tables between the marks for which there are rows."""
    text = path.read_text()
    tabular = [row for row in rows if row["kind"] == "classical"]
    grown = [row for row in rows if row["grows"] and row not in tabular]
    rows = [row for row in rows if not row["grows"]]
    parts = {}
    if rows:
        of = vendor()
        parts |= {f"means {of}": summary(rows, engines), f"times {of}": times(rows, engines)}
        parts |= {"threads": threads(rows, engines), "costs": costs(rows, engines)}
    if grown:
        parts |= {"growth": growth(grown, engines)}
    if tabular:
        parts |= {"classical": classical(tabular, engines)}
    for name, table in parts.items():
        text = replaced(text, name, table)
    path.write_text(text)


def replaced(text, name, table):
    begin, end = f"<!-- bench: {name} -->", "<!-- end -->"
    pattern = re.compile(f"({re.escape(begin)}\n).*?({re.escape(end)})", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"BENCHMARKS.md has no place for {begin}")
    return pattern.sub(lambda found: found[1] + "\n" + table + "\n" + found[2], text, count=1)
