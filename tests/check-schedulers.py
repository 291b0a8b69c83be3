#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scheduler is a row of include/schedulers.h and a Scheduler of its name: a throwaway row is all that parser, printer and daemon need."""
import os, re, shlex, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = "include/schedulers.h"
# What the object file of each must hold, with a row more.
READERS = {"lib/settings-print.c": b"throwaway", "lib/settings-text.c": b"throwaway", "daemon/scheduler/scheduler.c": b"scheduler_THROWAWAY"}
os.chdir(ROOT)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def words():
    found = re.findall(r'X\(([A-Z_]+), "([a-z-]+)", ', read(TABLE))
    assert len(found) > 10, found
    return found


def one_more_is_derived():
    flags = subprocess.run(["pkg-config", "--cflags", "glib-2.0"], capture_output=True, text=True).stdout.split()
    compiler = shlex.split(os.environ.get("CC", "cc"))
    with tempfile.TemporaryDirectory(prefix="actord-scheduler-") as folder:
        os.mkdir(os.path.join(folder, "include"))
        lines = read(TABLE).splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if line.startswith("#define SCHEDULERS(X)"))
        lines.insert(at + 1, '        X(THROWAWAY, "throwaway", TRAIT_DECIDES) \\\n')
        with open(os.path.join(folder, TABLE), "w", encoding="utf-8") as f:
            f.writelines(lines)
        for source, word in READERS.items():
            out = os.path.join(folder, "out.o")
            r = subprocess.run([*compiler, "-std=gnu17", "-D_GNU_SOURCE", "-I" + folder, "-I.", *flags, "-Werror=implicit", "-c", "-o", out, source],
                               capture_output=True, text=True)
            assert r.returncode == 0, r.stderr
            with open(out, "rb") as f:
                assert word in f.read(), f"{source} makes nothing of the row"


def nothing_else_lists_them():
    """No second list in C: few schedulers are named where they are not the subject."""
    for room in ("actorctl", "daemon", "include", "invoker", "learner", "lib"):
        for file in sorted(os.listdir(room)):
            path = os.path.join(room, file)
            if path != TABLE and file.endswith((".c", ".h")):
                named = sorted({name for name, _ in words() if re.search(rf"\bSCHEDULER_{name}\b", read(path))})
                assert len(named) < 3, f"{path} has a list of schedulers of its own: {named}"


def the_manual_describes_each():
    text = read("docs/job.conf.5").replace("\\-", "-")
    missing = [word for _, word in words() if not re.search(rf"\b{re.escape(word)}\b", text)]
    assert not missing, missing


CHECKS = [one_more_is_derived, nothing_else_lists_them, the_manual_describes_each]
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
