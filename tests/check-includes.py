#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The direction of includes: include <- lib <- sandbox, actor <- programs, and programs never include each other."""
import functools, os, re
from sources import finish, point, read, sources

PROGRAMS = ("daemon", "spawner", "invoker", "learner", "actorctl", "cluster")
MAY = {
    "include": {"include"},
    "lib": {"include", "lib"},
    "sandbox": {"include", "lib", "sandbox"},
    "actor": {"include", "lib", "actor"},
    **{program: {"include", "lib", program} for program in PROGRAMS},
}
# The places where processes of different rooms become one program: actors are forked without exec, a distribution
# may run acting and learning as one fragment, and a module does so with a whole job inside an actor.
ALSO = {"invoker/fork.c": {"sandbox", "actor"}, "learner/job/loop.c": {"actor"}, "learner/fused.c": {"actor"}, "learner/job/env-job.c": {"actor"}}
GLIB = re.compile(r"^(glib|gio|json-glib|gobject)\b")
MANAGER = re.compile(r"^daemon/manager\.h$")
OF_A_JOB = re.compile(r"^daemon/((job|bill|decisions|disk|descriptors|commit|spending|users|long-call|hold)\b.*|.*/.*)\.[ch]$")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
LIB_CONTROL = set(re.search(r"^LIB_CONTROL := (.*)$", read("Makefile"), re.M)[1].split())


def room(path):
    return path.split("/")[0]


def on_control_side(path):
    return room(path) in ("daemon", "actorctl") or path in LIB_CONTROL


def includes(path):
    return [(kind == '"', name) for kind, name in INCLUDE.findall(read(path))]


def check_direction(path):
    for own, name in includes(path):
        if own and "/" not in name:
            yield f'{path} includes "{name}" without its room'
        elif own and room(name) not in MAY[room(path)] | ALSO.get(path, set()):
            yield f'{path} includes "{name}"'


@functools.cache
def way_to(pattern, path):
    """The chain of our headers by which a file reaches a header that matches, or the header itself; "" if it does not."""
    for own, name in includes(path):
        if pattern.match(name):
            return f"{path} includes {name}"
        if own and os.path.exists(name) and name != path and (way := way_to(pattern, name)):
            return f"{path}: {way}"
    return ""


files = [path for path in sources(".c", ".h") if room(path) in MAY]
for name in MAY:
    point(f"{name}/ includes only {', '.join(sorted(MAY[name]))}",
          [text for path in files if room(path) == name for text in check_direction(path)])
point("nothing on the data side reaches GLib",
      [way_to(GLIB, path) for path in files
       if path.endswith(".c") and not on_control_side(path) and way_to(GLIB, path)])
point("no file about one job knows the manager of all", [way_to(MANAGER, path) for path in files if OF_A_JOB.match(path) and way_to(MANAGER, path)])
point("nothing is computed by OpenBLAS", [f"{path} includes <cblas.h>" for path in files for _, name in includes(path) if name == "cblas.h"])
point("lib/ never logs", [path for path in files if room(path) == "lib" and
                          re.search(r"\b((syslog|sd_journal_\w+|g_warning|g_message|perror) *\(|fprintf *\( *stderr)", read(path))])
point("the installed header needs nothing of ours",
      [name for own, name in includes("include/actord/env.h") if own])
finish()
