#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A property of a job is stated once: a throwaway row and its value are all that daemon and actorctl need to have one more."""
import os, re, shlex, subprocess, sys, tempfile
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE, VALUES = "include/job-properties.h", "daemon/job-properties.c"
# What makes something of the rows: the words that must be in the object file.
READERS = {"daemon/job-bus.c": b"ThrowawayNumber", VALUES: b"ThrowawayNumber", "actorctl/job-status.c": b"ThrowawayNumber"}
os.chdir(ROOT)


def rows():
    with open(TABLE) as f:
        found = re.findall(r"X\((\w+), (\w+), (\w+), (NEVER|STATE|ROUND)\)", f.read())
    assert len(found) > 40, found
    return found


def contract_has_the_rows():
    """Names, types, order, and whether changes are announced."""
    interface = next(i for i in ElementTree.parse("units/org.actord1.xml").getroot() if i.get("name") == "org.actord1.Job")
    written = [(p.get("type"), p.get("name"), any(a.get("value") == "const" for a in p.findall("annotation"))) for p in interface.findall("property")]
    table = [(kind, name, changes == "NEVER") for kind, name, _, changes in rows()]
    assert written == table, (sorted(set(written) - set(table)), sorted(set(table) - set(written)), "or their order differs")


def is_spelled_nowhere_else():
    """No second list in C: a property's name as a string is nowhere in the two programs, but in conversation about one property."""
    names = [name for _, name, _, _ in rows()]
    for room in ("daemon", "actorctl", "lib", "include"):
        for file in sorted(os.listdir(room)):
            if file.endswith((".c", ".h")):
                with open(os.path.join(room, file)) as f:
                    text = f.read()
                found = [n for n in names if f'"{n}"' in text]
                assert len(found) < 5, f"{room}/{file} has a list of properties of its own: {found}"


class Tree:
    """The two files with one property more, before the tree's own."""

    def __init__(self, value=True):
        self.dir = tempfile.TemporaryDirectory(prefix="actord-property-")
        self.edit(TABLE, "#define JOB_PROPERTIES(X)", lambda line: line.replace("\\", "X(t, ThrowawayNumber, throwaway, ROUND) \\"))
        self.edit(VALUES, "VALUE_IS(Id, ", lambda line: line + "VALUE_IS(ThrowawayNumber, job->row.id)\n" if value else line)

    def edit(self, path, begins, change):
        with open(path) as f:
            lines = f.readlines()
        assert sum(line.startswith(begins) for line in lines) == 1, path
        os.makedirs(os.path.dirname(os.path.join(self.dir.name, path)))
        with open(os.path.join(self.dir.name, path), "w") as f:
            f.writelines(change(line) if line.startswith(begins) else line for line in lines)

    def compile(self, source):
        flags = subprocess.run(["pkg-config", "--cflags", "glib-2.0", "libsystemd", "sqlite3", "json-glib-1.0"], capture_output=True, text=True)
        edited, out = os.path.join(self.dir.name, source), os.path.join(self.dir.name, "out.o")
        return out, subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu17", "-D_GNU_SOURCE", "-I" + self.dir.name, "-I.", *flags.stdout.split(),
                                    "-Werror=implicit", "-c", "-o", out, edited if os.path.exists(edited) else source], capture_output=True, text=True)


def one_more_is_derived():
    tree = Tree()
    for source, word in READERS.items():
        out, r = tree.compile(source)
        assert r.returncode == 0, r.stderr
        with open(out, "rb") as f:
            assert word in f.read(), f"{source} makes nothing of the row"


def one_without_a_value_does_not_compile():
    _, r = Tree(value=False).compile(VALUES)
    assert r.returncode != 0 and "ThrowawayNumber" in r.stderr, r.stderr


CHECKS = [contract_has_the_rows, is_spelled_nowhere_else, one_more_is_derived, one_without_a_value_does_not_compile]
print(f"1..{len(CHECKS)}")
failed = 0
for i, check in enumerate(CHECKS, 1):
    name = check.__name__.replace("_", " ")
    try:
        check()
        print(f"ok {i} - {name}")
    except AssertionError as e:
        failed = 1
        print(f"not ok {i} - {name}\n# {e}")
sys.exit(failed)
