"""The table of `bench.py --wasm`."""

import tables

OURS, PEER = "ours", "web"


def table(rows):
    """Times of both engines and their ratios, first call, memory and size."""
    lines = [
        "Each cell: onnx-embed / onnxruntime-web.",
        "",
        "| model | kind | later calls, ms | ratio | of the least times | first call, ms | peak, MB | module, MB |",
        "| --- | --- | --- | ---: | ---: | --- | --- | --- |",
    ]
    ratios = []
    for row in rows:
        own, peer = (row["engines"].get(engine, {}) for engine in (OURS, PEER))
        if "ms" not in own or "ms" not in peer or own["wrong"]:
            lines.append(f"| {row['model']} | {row['kind']} |" + " - |" * 6)
            continue
        of = own["wall_ms"] / peer["wall_ms"], own["least_ms"] / peer["least_ms"]
        ratios.append(of)

        def both(key, unit=1.0, digits="{:.0f}"):
            return " / ".join(digits.format(each[key] / unit) for each in (own, peer))

        cells = [both("wall_ms", 1.0, "{:.3g}"), *(f"{share:.2f}" for share in of), both("first_ms")]
        cells += [both("peak_bytes", 1e6), both("program_bytes", 1e6, "{:.1f}")]
        lines.append(f"| {row['model']} | {row['kind']} | {' | '.join(cells)} |")
    if ratios:
        means = (f"{tables.mean([of[place] for of in ratios]):.2f}" for place in (0, 1))
        lines.append(f"| geometric mean of {len(ratios)} | | | {' | '.join(means)} |" + " |" * 3)
    return "\n".join(lines)


def into(path, rows):
    path.write_text(tables.replaced(path.read_text(), "wasm", table(rows)))
