# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by the checks of tables: a tree whose table has one more, throwaway row; the sources compiled in it; and a list of checks as TAP."""
import os, shlex, subprocess, tempfile

from sources import finish, point, read, sources


class Tree:
    """Files of the tree that were edited, before the tree's own."""

    def __init__(self):
        self.dir = tempfile.TemporaryDirectory(prefix="actord-row-")

    def edit(self, path, begins, change):
        """change() of the one line that begins so."""
        lines = read(path).splitlines(keepends=True)
        assert sum(line.startswith(begins) for line in lines) == 1, f"{path} has not one line that begins with {begins}"
        edited = os.path.join(self.dir.name, path)
        os.makedirs(os.path.dirname(edited), exist_ok=True)
        with open(edited, "w", encoding="utf-8") as f:
            f.writelines(change(line) if line.startswith(begins) else line for line in lines)

    def compile(self, source):
        """The object file, and the compiler's result."""
        flags = subprocess.run(["pkg-config", "--cflags", "glib-2.0", "libsystemd", "sqlite3", "json-glib-1.0"], capture_output=True, text=True)
        edited, out = os.path.join(self.dir.name, source), os.path.join(self.dir.name, "out.o")
        return out, subprocess.run([*shlex.split(os.environ.get("CC", "cc")), "-std=gnu17", "-D_GNU_SOURCE", "-I" + self.dir.name, "-I.", *flags.stdout.split(),
                                    "-Werror=implicit", "-c", "-o", out, edited if os.path.exists(edited) else source], capture_output=True, text=True)

    def derives(self, readers):
        """Checks that the object file of each source holds its word."""
        for source, word in readers.items():
            out, r = self.compile(source)
            assert r.returncode == 0, r.stderr
            with open(out, "rb") as f:
                assert word in f.read(), f"{source} makes nothing of the row"


def sources_of(*rooms):
    """Paths of their C files, inner rooms included."""
    return [path for path in sources(".c", ".h") if path.split("/")[0] in rooms]


def tell(*checks):
    for check in checks:
        try:
            check()
            complaints = []
        except AssertionError as e:
            complaints = str(e).splitlines() or ["an assertion does not hold"]
        point(check.__name__.replace("_", " "), complaints)
    finish()


os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
