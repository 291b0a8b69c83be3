#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The hot functions execute as many instructions as tests/data/instructions.tsv says, within 3 %. So a loop that is no longer vectorised, or
that copies more, is found even on a busy host. callgrind counts the fixed work of tests/bench/instructions.c.

    tests/check-instructions.py --write     after an intended change"""
import os, re, subprocess, sys, tempfile

from sources import finish, point

BUILD = os.environ.get("B", "build")
PROGRAM = os.path.join(BUILD, "bench", "instructions")
TABLE = "tests/data/instructions.tsv"
MOST = 0.03
HEAD = """# Instructions of fixed work (tests/bench/instructions.c), counted by callgrind; tests/check-instructions.py compares, and writes with --write.
# Numbers of another compiler, C library or optimisation are not compared with these.
"""


def skip(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(77)


def kind_of_build():
    """The properties that two builds must share before their numbers can be compared."""
    return dict(line.split(" ", 1) for line in subprocess.run([PROGRAM], capture_output=True, text=True, check=True).stdout.splitlines())


def look():
    if subprocess.run(["sh", "-c", "command -v valgrind && command -v callgrind_annotate"], capture_output=True).returncode != 0:
        skip("valgrind is missing: packaging/dependencies.sh test")
    if not os.path.exists(PROGRAM):
        skip(f"{PROGRAM} is missing: make {PROGRAM}")
    kind = kind_of_build()
    if kind["width"] != "avx2":
        skip("this CPU has no AVX2, and the numbers are of vectors of eight")
    return kind


def count():
    """function: instructions, with those of what it calls"""
    with tempfile.TemporaryDirectory(prefix="actord-callgrind-") as directory:
        out = os.path.join(directory, "out")
        r = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", PROGRAM, "count"], capture_output=True, text=True)
        if r.returncode != 0:
            sys.exit(f"{PROGRAM} under callgrind ended with {r.returncode}: {r.stderr[-800:]}")
        listing = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", "--auto=no", "--show-percs=no", out],
                                 capture_output=True, text=True, check=True).stdout
    counts = {}
    for number, name in re.findall(r"^\s*([\d,]+)(?: \([^)]*\))?\s+\S+:hot_(\w+)", listing, re.M):
        counts[name] = max(int(number.replace(",", "")), counts.get(name, 0))
    return counts


def read_table():
    kind, counts = {}, {}
    with open(TABLE) as f:
        for line in f:
            if line.startswith("#="):
                word, value = line[2:].split(maxsplit=1)
                kind[word] = value.strip()
            elif not line.startswith("#"):
                name, number = line.split()
                counts[name] = int(number)
    return kind, counts


def write_table(kind, counts):
    with open(TABLE, "w") as f:
        f.write(HEAD + "".join(f"#= {word} {value}\n" for word, value in kind.items()))
        f.write("".join(f"{name}\t{n}\n" for name, n in sorted(counts.items())))


def differences(expected, counted):
    if expected.keys() != counted.keys():
        yield f"functions of {TABLE} and of {PROGRAM}: {sorted(expected.keys() ^ counted.keys())}; --write after a change that is meant"
    for name in expected.keys() & counted.keys():
        change = counted[name] / expected[name] - 1
        if abs(change) > MOST:
            yield f"{name}: {counted[name]} instructions, {change:+.1%} of {expected[name]}; --write after a change that is meant"


def main():
    kind = look()
    if sys.argv[1:] == ["--write"]:
        write_table(kind, count())
        return
    known, expected = read_table()
    other = [f"{word} {kind[word]} and not {known.get(word)}" for word in kind if kind[word] != known.get(word)]
    if other:
        skip(f"this build is of {', '.join(other)}")
    point(f"hot functions execute as many instructions as {TABLE} says, within {MOST:.0%}", list(differences(expected, count())))
    finish()


main()
