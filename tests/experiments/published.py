# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by the scripts of docs/experiments: cells, which are lines of a file, and tables, which stand between two marks of a page.

A file or page is named by its path, which begins at docs/experiments if it is relative."""
import csv, fcntl, os, sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("ACTORD_BUILD", os.path.join(ROOT, "build"))
DOCS = os.path.join(ROOT, "docs", "experiments")


def read(name):
    path = os.path.join(DOCS, name)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def write(name, columns, rows):
    """Whole or not at all."""
    path = os.path.join(DOCS, name)
    with open(path + ".new", "w", encoding="utf-8", newline="") as f:
        out = csv.DictWriter(f, columns, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)
    os.rename(path + ".new", path)


def change(name, columns, rows_now):
    """Writes rows_now(), which reads the file, while no other program does so."""
    with open(os.path.join(BUILD, os.path.basename(name) + ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write(name, columns, rows_now())


def table(head, lines):
    """Its first column is of words, and all others are of numbers."""
    def line(fields):
        return f"| {' | '.join(map(str, fields))} |"

    return "\n".join([line(head), "|---" + "|--:" * (len(head) - 1) + "|", *map(line, lines)])


def put(page, tables, write_it):
    """Puts {mark: text} between the marks of a page. False: other texts stand there; write_it decides whether they stay."""
    path = os.path.join(DOCS, page)
    with open(path, encoding="utf-8") as f:
        old = f.read()
    new = old
    for mark, text in tables.items():
        first, last = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->\n"
        before, rest = new.split(first, 1)
        new = f"{before}{first}{text}\n{last}{rest.split(last, 1)[1]}"
    if write_it:
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)
    return new == old


def publish(page, tables, check, words):
    """Puts the tables into the page; with `check`, only ends the program if others stand there. words: with these it would write them."""
    if not put(page, tables, not check) and check:
        sys.exit(f"{page}: run {sys.argv[0]} {words}".rstrip())
