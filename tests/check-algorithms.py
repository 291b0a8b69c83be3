#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An algorithm is a word of ALGORITHMS and an Algorithm of its name: a throwaway word is all that parser, printer and learner need."""
import re

from throwaway import Tree, read, sources_of, tell

TABLE = "include/settings.h"
# What the object file of each must hold, with a word more.
READERS = {"lib/settings/print.c": b"throwaway", "lib/settings/text.c": b"throwaway", "learner/algorithm/algorithm.c": b"algorithm_THROWAWAY"}


def words():
    line = next(line for line in read(TABLE).splitlines() if line.startswith("#define ALGORITHMS(X)"))
    found = re.findall(r'X\(([A-Z0-9]+), "([a-z0-9-]+)"\)', line)
    assert len(found) >= 5, found
    return found


def one_more_is_derived():
    tree = Tree()
    tree.edit(TABLE, "#define ALGORITHMS(X)", lambda line: line.rstrip("\n") + ' X(THROWAWAY, "throwaway")\n')
    tree.derives(READERS)


def nothing_else_lists_them():
    """One other list in C: the row of each in lib/algorithm-traits.c."""
    for path in sources_of("actorctl", "daemon", "include", "invoker", "learner", "lib"):
        if path not in (TABLE, "lib/algorithm-traits.c"):
            named = sorted({name for name, _ in words() if re.search(rf"\b(ALGORITHM|algorithm)_{name}\b", read(path))})
            assert len(named) < 3, f"{path} has a list of algorithms of its own: {named}"


def the_manual_describes_each():
    text = read("docs/job.conf.5").replace("\\-", "-")
    missing = [word for _, word in words() if not re.search(rf"\b{re.escape(word)}\b", text)]
    assert not missing, missing


tell(one_more_is_derived, nothing_else_lists_them, the_manual_describes_each)
