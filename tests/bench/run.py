#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `make bench` runs: the scripts of tests/bench, whose figures it then shows in one table, each beside its limit and its peer, if it has these,
and beside the figure of the last run. Figures are lines of JSON that the scripts leave in $BENCH_FIGURES (tests/bench/figure.h).

    run.py [--scripts=DIRECTORY] [--json=FILE] [NAME...]      NAME: gradient, learn, ...; all by default

FILE (build/bench.json by default) has the newest value of each figure; figures of scripts that do not run this time stay as they were."""
import argparse, datetime, glob, json, os, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# A limit that another script measures: the speed of the environment alone limits that of a job on it.
LIMIT_OF = {
    "CartPole-v1, invocations of 8 x 32": "CartPole-v1, bare loop",
    "Pendulum-v1, invocations of 4 x 1024": "Pendulum-v1, bare loop",
    "Hopper-v4, invocations of 1 x 2048": "Hopper-v4, bare loop",
    "Hopper-v4, invocations of 8 x 256": "Hopper-v4, bare loop",
}
SEEN_CHANGE = 0.05  # smaller changes are a host's noise


def arguments():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--scripts", default=HERE)
    parser.add_argument("--json", default=os.path.join(os.environ.get("B", "build"), "bench.json"))
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def scripts(directory, names):
    found = {os.path.basename(path)[:-3]: path for path in sorted(glob.glob(os.path.join(directory, "*.sh")))}
    if unknown := [name for name in names if name not in found]:
        sys.exit(f"{directory} has no {', '.join(name + '.sh' for name in unknown)}; there are {' '.join(found)}")
    return [found[name] for name in names or found]


def run(paths):
    """The figures of these scripts, by name; the first that fails ends it all."""
    with tempfile.NamedTemporaryFile("r", prefix="actord-bench-") as figures:
        for path in paths:
            print(f"== {os.path.relpath(path)}", flush=True)
            r = subprocess.run([path], env={**os.environ, "BENCH_FIGURES": figures.name})
            if r.returncode != 0:
                sys.exit(f"{path} ended with {r.returncode}: no figure was kept")
        return {f["name"]: f for f in map(json.loads, figures)}


def load(path):
    try:
        with open(path) as f:
            return {figure["name"]: figure for figure in json.load(f)["figures"]}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError):
        sys.exit(f"{path} has no figures of an earlier run: remove it, or name another file by --json=")


def with_limits(figures):
    for name, figure in figures.items():
        other = figures.get(LIMIT_OF.get(name))
        if other:
            figure["limit"] = other["value"]
    return figures


def keep(path, figures):
    part = path + ".part"
    with open(part, "w") as f:
        json.dump({"figures": sorted(figures.values(), key=lambda f: f["name"])}, f, indent=1)
        f.write("\n")
    os.replace(part, path)


def is_better(figure, change):
    return (change > 0) == figure["unit"].endswith("/s")


def compared(figure, last):
    """"+12 % better" than the last run; "": there was none, or it had another unit."""
    if not last or last["unit"] != figure["unit"] or not last["value"]:
        return ""
    change = figure["value"] / last["value"] - 1
    if abs(change) < SEEN_CHANGE:
        return "as before"
    return f"{change:+.0%} {'better' if is_better(figure, change) else 'WORSE'}"


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def row(figure, last):
    limit = figure.get("limit")
    peer = figure.get("peer_value")
    return (figure["name"], f"{number(figure['value'])} {figure['unit']}",
            f"{figure['value'] / limit:.0%} of {number(limit)}" if limit else "",
            f"{figure['value'] / peer:.2f} x {figure['peer']}" if peer else "", compared(figure, last))


def show(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for cells in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip())


def main():
    options = arguments()
    last = load(options.json)
    measured = run(scripts(options.scripts, options.names))
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    for figure in measured.values():
        figure["measured"] = now
    figures = with_limits({**last, **measured})
    keep(options.json, figures)
    if measured:
        print(f"== {len(measured)} figures, kept in {options.json}")
        show([("FIGURE", "VALUE", "LIMIT", "PEER", "LAST RUN"), *(row(figures[name], last.get(name)) for name in measured)])


main()
