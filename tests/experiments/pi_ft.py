#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""PI-FT where its optimum is known: docs/experiments/pi-ft.md.

pi_ft.py run     the cells, by build/bench/pi-ft: docs/experiments/pi-ft.csv, a second's work
pi_ft.py table   writes the tables into the page
pi_ft.py check   fails if the page's tables are not those of the cells"""
import argparse, os, subprocess
from published import BUILD, DOCS, read
from trainings import publish

CELLS, PAGE = "pi-ft.csv", "pi-ft.md"


def run():
    r = subprocess.run([os.path.join(BUILD, "bench", "pi-ft")], capture_output=True, text=True, check=True)
    with open(os.path.join(DOCS, CELLS), "w", encoding="utf-8") as f:
        f.write(r.stdout)


def descents():
    lines = ["| passes | beta | of theory's limit | an error leaves, in theory | measured | R² | iterations to 1e-8 |", "|--:|--:|--:|--:|--:|--:|--:|"]
    for cell in read(CELLS):
        comes = cell["iterations"] != "0"
        measured = (cell["ratio"], cell["r_squared"], cell["iterations"]) if comes else ("–", "–", "never")
        lines.append(f"| {cell['passes']} | {float(cell['beta']):.4g} | {float(cell['beta']) / float(cell['least_near']):.2f} | {cell['predicted']} | "
                     f"{' | '.join(measured)} |")
    return "\n".join(lines)


def limits():
    lines = ["| passes | theory's limit | least beta that comes to 1e-8 | ratio |", "|--:|--:|--:|--:|"]
    for passes, near, least in dict.fromkeys((cell["passes"], float(cell["least_near"]), float(cell["least"])) for cell in read(CELLS)):
        lines.append(f"| {passes} | {near:.4f} | {least:.4f} | {least / near:.2f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "table", "check"))
    args = parser.parse_args()
    if args.what == "run":
        run()
    else:
        publish(PAGE, {"descents": descents(), "limits": limits()}, args.what == "check")


if __name__ == "__main__":
    main()
