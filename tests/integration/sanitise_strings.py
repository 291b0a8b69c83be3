# SPDX-License-Identifier: LGPL-2.1-or-later
"""Characters that drive a terminal or hide what is written, and the strings that a user can set."""
import os, re

from story import ROOT

ESCAPE = "\x1b]0;owned\x07\x1b[31m\r\b"                      # C0: a title, a colour, the line anew
DEL = "\x7f"
C1 = "\u009b31m\u0085\u0090"                                 # a terminal's second set, in UTF-8
TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
BREAKS = "\u2028\u2029"
HIDES = "\u200b\u200c\u2060\ufeff"
INVALID = b"\xff\xc3\x28\x9b31m"                             # not UTF-8; the last is a control sequence to an 8-bit terminal
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f" + TURNS + BREAKS + HIDES + "]")
# Of these, the first group is refused in a job file's values before anything else is; the others go on.
GROUPS = {"C0": (ESCAPE + DEL).encode(), "beyond": (C1 + TURNS + BREAKS + HIDES).encode(), "invalid": INVALID}


def strings():
    """The settings whose value is a text, or begins with one, as the table has them."""
    table = open(os.path.join(ROOT, "include", "settings.h")).read()
    rows = re.findall(r"X\((\w+), (\w+), (string|policy|money|cpuset|counts|convolutions|u32list|matrix)\b", table)
    assert len(rows) >= 10 and ("Job", "Environment", "string") in rows, rows
    return [(section, key) for section, key, _ in rows]
