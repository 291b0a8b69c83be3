#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rules for the shape of our files that no other tool checks."""
import re
from sources import finish, point, read, sources

LINES_MAX = 600
FUNCTION_LINES_MAX = 70
TEMPLATES = ("lib/kernel-wide.h", "lib/normals-wide.h", "lib/one-width.h", "lib/each-width.h", "learner/kernel/convolution-kernel.h",
             "learner/kernel/kernels-wide.h", "learner/tape/tape-wide.h")  # included once per kind of processor
COLUMNS_MAX = 109
SPDX = "SPDX-License-Identifier: LGPL-2.1-or-later"


def functions(text):
    """(line, length) of each function: it opens with a brace at the end of a line that starts in the first column
    (or of the last line of its parameters), and closes with one in the first column."""
    start = None
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"[A-Za-z_].*\)? \{$", line) and not re.match(r"(typedef|struct|enum|union|static const|extern)\b", line):
            start = number
        elif re.match(r"[A-Za-z_].*[,(]$", line) and start is None:
            start = number
        elif line.startswith("}"):
            if start and line == "}":
                yield start, number - start - 1
            start = None
        elif line.endswith(";") and not line.startswith((" ", "\t")):
            start = None


def without_strings(line):
    return re.sub(r'"(\\.|[^"\\])*"', '""', line)


def blanked(text):
    """The text with comments and the contents of strings and characters blanked; lines stay where they are."""
    kept = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
    return kept.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def nested_ternaries(text):
    """The line of each `?` inside another conditional expression, in parentheses or not."""
    open_at, line = [0], 1  # how many `?` each level of brackets has seen
    for letter in blanked(text):
        if letter == "\n":
            line += 1
        elif letter in "([{":
            open_at.append(0)
        elif letter in ")]}":
            if len(open_at) > 1:
                open_at.pop()
            if letter == "}":
                open_at[-1] = 0
        elif letter in ";,":
            open_at[-1] = 0
        elif letter == "?":
            if any(open_at):
                yield line
            open_at[-1] += 1


code = [path for path in sources(".c", ".h") if not path.startswith("examples/")]
scripts = [path for path in sources(".sh", ".py", ".mk", "Makefile", "tests/run", "tests/lane/as-tester", ".ci/run")]
texts = {path: read(path) for path in code + scripts}

point("every file names its licence", [path for path, text in texts.items() if SPDX not in text[:200]])
point("every header is guarded by #pragma once",
      [path for path in code if path.endswith(".h") and "#pragma once" not in texts[path] and path not in TEMPLATES])
point("comments are /* */", [f"{path}:{number}" for path in code
                             for number, line in enumerate(texts[path].split("\n"), 1)
                             if re.search(r"(^|[\s;{}])//", without_strings(line))])
point(f"files have at most {LINES_MAX} lines",
      [f"{path}: {text.count(chr(10))}" for path, text in texts.items() if text.count("\n") > LINES_MAX])
point(f"functions have at most {FUNCTION_LINES_MAX} lines",
      [f"{path}:{line}: {length}" for path in code if path.endswith(".c") and not path.startswith("tests/")
       for line, length in functions(texts[path]) if length > FUNCTION_LINES_MAX])
point("no conditional expression stands within another",
      [f"{path}:{line}" for path in code for line in nested_ternaries(texts[path])])
point(f"lines of C have at most {COLUMNS_MAX} columns",
      [f"{path}:{number}: {len(line)}" for path in code
       for number, line in enumerate(texts[path].split("\n"), 1) if len(line) > COLUMNS_MAX])
point("nothing is left half-done", [path for path in code + scripts if path != "tests/check-shape.py"
                                    and re.search(r"\b(TODO|FIXME|XXX|HACK)\b", texts[path])])
point("lines end without blanks, files with a newline",
      [path for path, text in texts.items() if re.search(r"[ \t]+$", text, re.M) or not text.endswith("\n")])
finish()
