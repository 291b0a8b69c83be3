#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A new scheduler needs a row of include/schedulers.h, and a Scheduler of that name: with a throwaway row, parser, printer and daemon need no other
change."""
import re

from throwaway import Tree, read, sources_of, tell

TABLE = "include/schedulers.h"
# Strings that each object file must hold after a row is added.
READERS = {"lib/settings/print.c": b"throwaway", "lib/settings/text.c": b"throwaway", "daemon/scheduler/scheduler.c": b"scheduler_THROWAWAY"}


def words():
    found = re.findall(r'X\(([A-Z_]+), "([a-z-]+)", ', read(TABLE))
    assert len(found) > 10, found
    return found


def one_more_is_derived():
    tree = Tree()
    tree.edit(TABLE, "#define SCHEDULERS(X)", lambda line: line + '        X(THROWAWAY, "throwaway", TRAIT_DECIDES) \\\n')
    tree.derives(READERS)


def nothing_else_lists_them():
    """There is no second list in C: only a few schedulers are named outside of their own files."""
    for path in sources_of("actorctl", "daemon", "include", "invoker", "learner", "lib"):
        if path != TABLE:
            named = sorted({name for name, _ in words() if re.search(rf"\bSCHEDULER_{name}\b", read(path))})
            assert len(named) < 3, f"{path} has a list of schedulers of its own: {named}"


def the_manual_describes_each():
    text = read("docs/job.conf.5").replace("\\-", "-")
    missing = [word for _, word in words() if not re.search(rf"\b{re.escape(word)}\b", text)]
    assert not missing, missing


tell(one_more_is_derived, nothing_else_lists_them, the_manual_describes_each)
