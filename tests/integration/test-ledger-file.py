#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The ledger's files: the write-ahead file is cut, a reader that keeps it is named, and a start that reads the whole ledger asks for its time."""
import re

from bus import *

SHORT = [("Job.StopReturn", ""), ("Job.StopSteps", "2000")]
READER = """import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN")
print(db.execute("SELECT count(*) FROM jobs").fetchone()[0], flush=True)
sys.stdin.read()"""


def path(bus):
    return bus.dir + "/state/actord/ledger.sqlite"


def wal(bus):
    return os.stat(path(bus) + "-wal").st_size


def log(bus):
    return open(bus.dir + "/log").read()


def write(bus, n):
    """A person's change of the ledger, which lies in the write-ahead file first."""
    db = sqlite3.connect(path(bus), timeout=30 * PATIENCE)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("CREATE TABLE notes (text BLOB)")
    db.execute("INSERT INTO notes VALUES (zeroblob(?))", (n,))
    db.commit()
    return db


@story("the write-ahead file is cut to nothing when the daemon has nothing to write")
def idle():
    with Bus() as bus:
        equal(bus.ended(bus.submit(overrides=SHORT)), "finished", "a job")
        assert wal(bus) > 0
        wait_for("it is cut", lambda: wal(bus) == 0, 60)
        equal(bus.ended(bus.submit(overrides=SHORT)), "finished", "the next job")
        wait_for("it is cut again", lambda: wal(bus) == 0, 60)


@story("a reader's transaction that keeps the write-ahead file is reported once, with its process and its time; when it has ended the file is cut")
def pinned():
    with Bus() as bus:
        reader = subprocess.Popen([sys.executable, "-c", READER, path(bus)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        equal(reader.stdout.readline().strip(), "0", "jobs that it sees")
        db = write(bus, 20 << 20)
        running = bus.submit(overrides=ENDLESS)
        wait_for("it is said", lambda: "cannot be truncated" in log(bus), 60)
        said = next(line for line in log(bus).splitlines() if "cannot be truncated" in line)
        name = open(f"/proc/{reader.pid}/comm").read().strip()
        assert re.search(r"has grown to 2\d MiB .* process " + f"{reader.pid} \\({name}\\) has been reading .* since " + r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d or longer",
                         said), said
        assert "End that transaction, or the process." in said, said
        # The daemon tries again and again, but logs it once; the job goes on meanwhile.
        steps = bus.get(running, "EnvSteps")
        wait_for("the job goes on", lambda: bus.get(running, "EnvSteps") > steps)
        time.sleep(11)
        equal(log(bus).count("cannot be truncated"), 1, "times that it was said")
        assert wal(bus) > 20 << 20, wal(bus)
        reader.communicate("")
        wait_for("it is cut", lambda: wal(bus) < 16 << 20, 60)
        wait_for("that is said", lambda: "been truncated again" in log(bus))
        db.close()


@story("a start that reads the whole ledger asks the service manager for time by its size first; one after an end in order does not")
def extended():
    with Bus(kept=True) as bus:
        heard = []

        def start():
            """The messages until the daemon was ready."""
            heard.clear()
            bus.start(wait=False)

            def ready():
                try:
                    while True:
                        heard.extend(bus.keeper.socket.recv(4096).decode().splitlines())
                except BlockingIOError:
                    return "READY=1" in heard
            wait_for("it is ready", ready, 60)
            return [int(line.split("=")[1]) for line in heard[:heard.index("READY=1")] if line.startswith("EXTEND_TIMEOUT_USEC=")]

        bus.ended(bus.submit(overrides=SHORT))
        write(bus, 20 << 20).close()
        bus.stop()
        equal(start(), [], "time that was asked for after an end in order")
        bus.stop(signal.SIGKILL)
        size = os.stat(path(bus)).st_size >> 20
        assert size >= 20, size
        equal(start(), [60000000 + size * 1000000], "time that was asked for")
        assert any(line.startswith(f"STATUS=Reading the whole ledger ({size} MiB)") for line in heard), heard
        wait_for("it serves", bus.has_name)


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
