#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the files of a folder that call each other in a circle, by the symbols of their object files: a file that takes a symbol from another one
needs it, and files that need each other can only be read together. Also checks which files of daemon/ may call which."""
import collections, os, re, subprocess, sys
from sources import finish, point, read, sources

# The greatest number of files in a circle that is allowed. A room that is not listed may have no circle. Lower a number when a circle becomes smaller.
CEILINGS = {}
BUILD = os.path.join(os.environ.get("ACTORD_BUILD", "build"), "o")


def symbols(path):
    """The symbols that an object file defines for others, and those that it needs from others."""
    defined, needed = set(), set()
    for line in subprocess.run(["nm", "-g", path], capture_output=True, text=True, check=True).stdout.splitlines():
        kind, name = line.split()[-2:]
        (needed if kind == "U" else defined).add(name)
    return defined, needed


def arrows(paths):
    """file -> file -> the names that the first takes from the second."""
    tables = {path: symbols(os.path.join(BUILD, path[:-2] + ".o")) for path in paths}
    owner = {name: path for path, (defined, _) in tables.items() for name in defined}
    found = {path: collections.defaultdict(list) for path in paths}
    for path, (_, needed) in tables.items():
        for name in sorted(needed & owner.keys()):
            if owner[name] != path:
                found[path][owner[name]].append(name)
    return found


def reached(graph, start):
    seen, stack = set(), [start]
    while stack:
        for path in graph[stack.pop()]:
            if path not in seen:
                seen.add(path)
                stack.append(path)
    return seen


def largest_circle(graph):
    ways = {path: reached(graph, path) for path in graph}
    circles = [{other for other in ways[path] if path in ways[other]} for path in graph if path in ways[path]]
    return sorted(max(circles, key=len, default=()))


def complaints(graph, ceiling):
    circle = largest_circle(graph)
    if len(circle) <= ceiling:
        return
    yield f"{len(circle)} files call each other in a circle, {ceiling} may:"
    for path in circle:
        for other in circle:
            if names := graph[path].get(other):
                yield f"{path} needs of {other}: {', '.join(names[:3])}{' ...' if names[3:] else ''}"


def rows_of(room):
    """The list of the architecture page after the sentence that names this check: the files and folders of each row, from the top down."""
    text = read("docs/ARCHITECTURE.md").split("(`tests/check-circles.py` reads this list):\n\n")[1].split("\n\n")[0]
    return [[f"{room}/{name}" for name in re.findall(r"\S+(?:\.c|/)(?!\S)", row)] for row in re.split(r"\n    (?=\S)", "\n" + text)[1:]]


def wrong_ways(room, paths):
    """Finds calls from a file to one of a row above its own, files that a row names but that do not exist, and files in no row."""
    rows = rows_of(room)
    named = {name: n for n, row in enumerate(rows) for name in row}
    row_of = {path: named.get(path, named.get(os.path.dirname(path) + "/")) for path in paths}
    yield from (f"{path} stands in no row" for path in paths if row_of[path] is None)
    yield from (f"{name} does not exist" for name in named if not os.path.exists(name))
    if None in row_of.values():
        return
    for path, others in arrows(paths).items():
        for other, names in others.items():
            if row_of[other] < row_of[path]:
                yield f"{path} calls upward, {other}: {', '.join(names[:3])}"


rooms = collections.defaultdict(list)
for source in sources(".c"):
    if os.path.exists(os.path.join(BUILD, source[:-2] + ".o")) and not source.startswith("tests/"):
        rooms[source.split("/")[0]].append(source)
if not rooms:
    print(f"1..0 # SKIP there are no object files in {BUILD}: make")
    sys.exit(77)
for name, files in sorted(rooms.items()):
    most = CEILINGS.get(name, 0)
    point(f"{name}/: {f'at most {most} files call' if most else 'no files call'} each other in a circle",
          list(complaints(arrows(files), most)))
point("files of daemon/ call downward, by the rows of docs/ARCHITECTURE.md", list(wrong_ways("daemon", rooms["daemon"])))
finish()
