#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""An environment's option is a row of include/environment-options.h: with a throwaway row, the catalogue and the environment's parser both have one
more."""
import re

from throwaway import Tree, read, sources_of, tell

TABLE = "include/environment-options.h"
READERS = {"lib/environments.c": b"Throwaway=yes", "actor/envs/pendulum.c": b"Throwaway"}


def keys():
    found = set(re.findall(r"\bX\((\w+), (?:NUMBER|WHOLE|BOOL|WORD), ", read(TABLE)))
    found |= set(re.findall(r"\bMUJOCO_(?:WEIGHT|BOUND)\(X, (\w+), ", read(TABLE)))
    found.discard("key")  # of the macros that make rows
    assert len(found) > 50, found
    return found


def one_more_is_derived():
    tree = Tree()
    tree.edit(TABLE, "#define PENDULUM_OPTIONS(X)", lambda line: line.rstrip().rstrip("\\") + ' X(Throwaway, BOOL, gravity, , , "yes") \\\n')
    tree.derives(READERS)


def no_environment_has_rows_of_its_own():
    """No environment contains a key as a string, or a row of a parser."""
    for path in sources_of("actor", "learner"):
        text = read(path)
        assert path == "actor/envs/option.h" or not re.search(r"\{ *(\.key = )?\"\w+\", *ENV_OPTION_", text), path
        own = sorted(key for key in keys() if f'"{key}"' in text)
        assert not own, f"{path} spells keys of {TABLE}: {own}"


def each_key_has_its_help():
    helps = set(re.findall(r'^ +X\("(\w+)", "', read("include/environments.h"), re.M))
    missing = sorted(keys() - helps)
    assert not missing, missing


tell(one_more_is_derived, no_environment_has_rows_of_its_own, each_key_has_its_help)
