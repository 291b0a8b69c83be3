#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A property of a job is stated once: with a throwaway row and its value, daemon and actorctl have one property more."""
import re
import xml.etree.ElementTree as ElementTree

from throwaway import Tree, read, sources_of, tell

TABLE, VALUES = "include/job-properties.h", "daemon/job-properties.c"
# The object files that are made from the rows, and the words that each must hold.
READERS = {"daemon/job-bus.c": b"ThrowawayNumber", VALUES: b"ThrowawayNumber", "actorctl/job-status.c": b"ThrowawayNumber"}


def rows():
    found = re.findall(r"X\((\w+), (\w+), (\w+), (NEVER|STATE|ROUND)\)", read(TABLE))
    assert len(found) > 40, found
    return found


def contract_has_the_rows():
    """Names, types, order, and whether changes are announced."""
    interface = next(i for i in ElementTree.parse("units/org.actord1.xml").getroot() if i.get("name") == "org.actord1.Job")
    written = [(p.get("type"), p.get("name"), any(a.get("value") == "const" for a in p.findall("annotation"))) for p in interface.findall("property")]
    table = [(kind, name, changes == "NEVER") for kind, name, _, changes in rows()]
    assert written == table, (sorted(set(written) - set(table)), sorted(set(table) - set(written)), "or their order differs")


def is_spelled_nowhere_else():
    """There is no second list in C: the two programs contain a property's name as a string only where they handle that one property."""
    names = [name for _, name, _, _ in rows()]
    for path in sources_of("daemon", "actorctl", "lib", "include"):
        text = read(path)
        found = [n for n in names if f'"{n}"' in text]
        assert len(found) < 5, f"{path} has a list of properties of its own: {found}"


def tree_with_one_more(value=True):
    tree = Tree()
    tree.edit(TABLE, "#define JOB_PROPERTIES(X)", lambda line: line.replace("\\", "X(t, ThrowawayNumber, throwaway, ROUND) \\"))
    tree.edit(VALUES, "VALUE_IS(Id, ", lambda line: line + "VALUE_IS(ThrowawayNumber, job->row.id)\n" if value else line)
    return tree


def one_more_is_derived():
    tree_with_one_more().derives(READERS)


def one_without_a_value_does_not_compile():
    _, r = tree_with_one_more(value=False).compile(VALUES)
    assert r.returncode != 0 and "ThrowawayNumber" in r.stderr, r.stderr


tell(contract_has_the_rows, is_spelled_nowhere_else, one_more_is_derived, one_without_a_value_does_not_compile)
