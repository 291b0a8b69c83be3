# SPDX-License-Identifier: LGPL-2.1-or-later
"""Which files the checks look at (like tests/sources.sh), and the few words of TAP that they need."""
import os, subprocess, sys

count = failures = 0


def sources(*suffixes):
    """Paths from the top of the tree of what git tracks, or of all that a release holds."""
    try:
        listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        listed = [os.path.relpath(os.path.join(top, name)) for top, _, names in os.walk(".") for name in names]
        listed = [path for path in listed if not path.startswith(("build", "."))]
    return sorted(path for path in listed if path.endswith(suffixes) and os.path.isfile(path))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def point(what, complaints):
    """One test point; it passes where there is nothing to complain about."""
    global count, failures
    count += 1
    failures += bool(complaints)
    print(f"{'not ' if complaints else ''}ok {count} - {what}")
    for complaint in complaints:
        print(f"# {complaint}")


def finish():
    print(f"1..{count}")
    sys.exit(1 if failures else 0)
