#!/usr/bin/env python3
"""Draws two sets of texts or vectors: the points, the strongest matches of the plan, the outliers.

Usage: scripts/draw_drift.py LATTICE A B OUT.svg [FLAG...]     (needs numpy)

A and B are as for `lattice drift`: files of texts or .npy. Flags go to `lattice drift`, too. The plane is that of the two
directions in which both sets together differ most.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

WIDTH, HEIGHT, MARGIN = 640, 420, 36
COLOURS = "#1f77b4", "#d62728"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def vectors_of(program, file, folder):
    if file.endswith(".npy"):
        return file
    out = f"{folder}/{pathlib.Path(file).stem}.npy"
    run(program, "embed", "-i", file, "--format", "npy", "--output", out)
    return out


def points_of(*files):
    """The sets in one plane, as places in the picture."""
    sets = [np.load(file) for file in files]
    both = np.concatenate([x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12) for x in sets])
    both -= both.mean(0)
    plane = both @ np.linalg.svd(both, full_matrices=False)[2][:2].T
    low, high = plane.min(0), plane.max(0)
    at = MARGIN + (plane - low) / np.maximum(high - low, 1e-12) * (np.array([WIDTH, HEIGHT]) - 2 * MARGIN)
    return np.split(at, [len(sets[0])])


def picture(report, sets, names):
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           f'font-size="13"><rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    for match in report["matches"]:
        (x, y), (u, v) = sets[0][match["source"]], sets[1][match["target"]]
        yield f'<path d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}" stroke="#999"/>'
    for points, side, colour in zip(sets, ("source", "target"), COLOURS):
        for record in report[side]["records"]:
            x, y = points[record["index"]]
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}" fill-opacity="0.7"/>'
            if record.get("outlier"):
                yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" fill="none" stroke="{colour}"/>'
    for i, (name, colour) in enumerate(zip(names, COLOURS)):
        yield f'<text x="{MARGIN + 170 * i}" y="20" fill="{colour}">{pathlib.Path(name).name}</text>'
    yield (f'<text x="{MARGIN}" y="{HEIGHT - 10}">divergence {report["divergence"]:.3f}, noise {report["chance"]:.3f}, '
           f'p-value {report["p_value"]:.2g}</text></svg>')


def main():
    program, first, second, out, *flags = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        files = [vectors_of(program, file, folder) for file in (first, second)]
        report = json.loads(run(program, "drift", *files, "--json", *flags))
        lines = picture(report, points_of(*files), (first, second))
        pathlib.Path(out).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
