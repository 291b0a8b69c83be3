#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Text that drives a terminal or hides what is written, sent through every string that a user can set, never reaches the journal: in a mount
namespace, sockets of the test take the places of journald's and of the service manager's."""
import ctypes, struct

# Before this process starts anything else: an ordinary user gets a mount namespace only within a user namespace.
libc = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 0x40000
JOURNAL = "/run/systemd/journal/socket"


def hide_run():
    """Gives this process and its children an empty /run. Returns the reason if that is impossible."""
    import os
    uid, gid = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if uid else 0)) < 0:
        return "no mount namespace can be made here"
    if uid:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            open("/proc/self/" + name, "w").write(text)
    if libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) < 0 or libc.mount(b"none", b"/run", b"tmpfs", 0, None) < 0:
        return "nothing can be mounted here"
    os.makedirs(os.path.dirname(JOURNAL))
    return None


REFUSED = hide_run()

from bus import *                                            # noqa: its directories may lie in /run
from sanitise_strings import FORBIDDEN, GROUPS, strings


class Listener:
    """A sender waits when the queue is full, so a thread empties it."""

    def __init__(self, path):
        self.path, self.heard = path, []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while True:
            data, fds, *_ = socket.recv_fds(self.socket, 1 << 20, 4)
            for fd in fds:                                   # a large one comes as a descriptor
                data += os.pread(fd, 1 << 20, 0)
                os.close(fd)
            if data == b"end":
                return
            self.heard.append(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b"end", self.path)
        self.thread.join()
        self.socket.close()
        os.unlink(self.path)


def fields(data):
    """Parses one entry in the journal's own protocol: NAME=value, or NAME, a length and a value that may have line breaks."""
    while data:
        line, _, rest = data.partition(b"\n")
        if b"=" in line:
            name, _, value = line.partition(b"=")
            data = rest
        else:
            n = struct.unpack("<Q", rest[:8])[0]
            name, value, data = line, rest[8:8 + n], rest[9 + n:]
        yield name.decode(), value


def check(entries):
    """Returns {name: values}."""
    seen = {}
    for entry in entries:
        for name, value in fields(entry):
            assert re.fullmatch("[A-Z][A-Z0-9_]*", name), name
            text = value.decode()                            # it is UTF-8, or this says so
            found = FORBIDDEN.search(text) or "\n" in text and name != "SYSLOG_TIMESTAMP"
            assert not found, (name, found, text[:400])
            seen.setdefault(name, []).append(text)
    return seen


class JournalBus(Bus):
    """Its daemon takes its stderr for a stream of the journal's."""

    def start(self, wait=True):
        with open(self.dir + "/log", "a") as f:
            log = os.fstat(f.fileno())
        self.env["JOURNAL_STREAM"] = f"{log.st_dev}:{log.st_ino}"
        super().start(wait)


def submissions():
    """What is set: a list for each string of a user's and each group of characters."""
    for evil in GROUPS.values():
        evil = evil.decode(errors="replace").replace("\0", "")
        for section, key in strings():
            yield [(f"{section}.{key}", "a" + evil)]
        yield [("Environment.a" + evil.replace("=", ""), "b" + evil)]
        yield [("Job." + evil.replace("=", ""), "1")]


def submit_file(bus, evil, environment):
    """A job of files with such names, that do not load."""
    folder = os.path.join(STATE, evil)
    os.makedirs(folder, exist_ok=True)
    file = os.path.join(folder, environment.split(":")[-1])
    if file.endswith(".so"):                                 # a library, and no environment
        shutil.copy(os.path.join(BUILD, "env-swmm.so"), file)
    else:
        with open(file, "w") as f:
            f.write(f"<mujoco>{evil}")
    with open(os.path.join(folder, evil + ".conf"), "w") as f:
        f.write(f"[Job]\nEnvironment={environment}\n" + ("[Environment]\nReward=alive 1\n" if ":" in environment else ""))
    bus.ctl("submit", f.name)
    job = max(row[0] for row in bus.jobs())
    equal(bus.ended(job), "failed", environment.encode())


@story("whatever a user sets, what the daemon tells the journal is one line of harmless characters")
def every_string():
    if REFUSED:
        raise Skip(REFUSED)
    n = 0
    with Listener(JOURNAL) as journal:
        with JournalBus("MaxJobs=1\n") as bus:
            for overrides in submissions():
                try:
                    job = bus.submit(overrides=[("Job.StopSteps", "300"), ("Job.StopReturn", ""), *overrides])
                except BusError:
                    continue
                bus.ended(job)
                n += 1
            evil = "x" + GROUPS["beyond"].decode()
            for environment in f"./{evil}.so", f"mujoco:{evil}.xml":
                submit_file(bus, evil, environment)
                n += 1
            job = bus.submit(overrides=LONG + [("Job.Description", evil)])
            wait_for("it runs", lambda: bus.state(job) == "running")
            for pid in bus.processes("actord-invoker"):
                os.kill(pid, signal.SIGKILL)
            wait_for("its next life", lambda: bus.get(job, "Life") == 2)
            bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
            bus.ended(job)
    seen = check(journal.heard)
    print(f"# {n} submissions were taken, {len(seen['MESSAGE'])} entries came", flush=True)
    assert n >= 4 and len(seen["MESSAGE"]) >= 3 * n, (n, seen["MESSAGE"])
    assert any("\\xe2\\x80\\xae" in text for text in seen["ACTORD_ENVIRONMENT"] + seen["MESSAGE"]), seen["ACTORD_ENVIRONMENT"]


@story("a daemon that cannot start tells its service manager so in one line")
def status():
    if REFUSED:
        raise Skip(REFUSED)
    path = os.path.join(STATE, "notify")
    evil = "/proc/none\nWATCHDOG=trigger\nMAINPID=1\n" + (GROUPS["C0"] + GROUPS["beyond"]).decode().replace("/", "")
    with Listener(path) as manager:
        r = subprocess.run([os.path.join(BUILD, "actord"), "--user"], env=dict(os.environ, XDG_STATE_HOME=evil, NOTIFY_SOCKET=path, JOURNAL_STREAM="",
                           DBUS_SESSION_BUS_ADDRESS="unix:path=/none", XDG_RUNTIME_DIR=STATE), capture_output=True, timeout=60 * PATIENCE)
    said = [d.decode() for d in manager.heard]
    assert r.returncode != 0 and said, (r, said)
    for text in said:
        lines = text.rstrip("\n").split("\n")
        assert all(re.match("(STATUS|ERRNO|READY|STOPPING|WATCHDOG_USEC)=", line) for line in lines), text
        assert not FORBIDDEN.search(text), text
    assert not FORBIDDEN.search(r.stderr.decode()), r.stderr


tell()
