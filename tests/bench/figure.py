# SPDX-License-Identifier: LGPL-2.1-or-later
"""A figure for the table of `make bench`, from a script in Python; tests/bench/figure.h is the same for C."""
import json, os


def note(name, unit, value, **beside):
    """`beside`: limit=, or peer= and peer_value=, in the same unit."""
    if path := os.environ.get("BENCH_FIGURES"):
        with open(path, "a") as f:
            print(json.dumps({"name": name, "unit": unit, "value": value, **beside}), file=f)
