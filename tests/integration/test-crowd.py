#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Many submissions at once: none is refused that fits the limits, the jobs of a connection keep their order, a caller that leaves is forgotten."""
import contextlib, resource

from bus import *
from wire import Refused, Wire

PLUGIN = [("Job.Environment", "./mine.so")]


class Crowd(Bus):
    """A daemon whose only place is taken, so that each further job waits."""

    def __enter__(self):
        super().__enter__()
        self.first = self.submit(overrides=ENDLESS)
        wait_for("the place is taken", lambda: self.state(self.first) == "running")
        return self

    def __exit__(self, *error):
        if not error[0]:
            # Jobs that wait are stopped first, so that none of them starts.
            with self.connect() as wire:
                calls = [wire.send("org.actord1", "/org/actord1", MANAGER, "StopJob", "t", row[0]) for row in reversed(self.jobs()) if row[2] != "ended"]
                for call in calls:
                    wire.answer(call)
        super().__exit__(*error)

    def connect(self):
        return Wire(self.env["DBUS_SESSION_BUS_ADDRESS"])

    def copying(self):
        return [p for p in descendants(self.daemon.pid) if processes().get(p, (0, ""))[1] == "actord-copy"]


def some_file(n):
    path = os.path.join(STATE, f"plugin-{n}")
    with open(path, "wb") as f:
        f.truncate(n)
    return os.open(path, os.O_RDONLY)


@story("110 submissions at once, each with a file to be copied: all are accepted, and those of a connection are numbered in their order")
def copies():
    with Crowd("MaxJobs=1\nMaxJobsPerUser=200\n") as bus:
        fd, wires = some_file(20000), [bus.connect() for _ in range(11)]
        calls = [(w, [w.submit(JOB_TEXT, PLUGIN, files=[("environment", fd)]) for _ in range(10)]) for w in wires]
        ids = [[w.answer(c)[0] for c in serials] for w, serials in calls]
        for own in ids:
            equal(own, sorted(own), "the order of a connection's jobs")
        every = sorted(i for own in ids for i in own)
        equal(every, list(range(bus.first + 1, bus.first + 111)), "numbers")
        equal(sorted(row[0] for row in bus.jobs() if row[2] == "queued"), every, "queued jobs")
        equal(bus.ledger().execute("SELECT count(*) FROM jobs WHERE state = 'queued'").fetchone(), (110,), "rows")
        for w in wires:
            w.close()
        os.close(fd)


@story("a call without a file does not overtake one of the same connection that waits for its copy")
def order():
    with Crowd("MaxJobs=1\n") as bus, bus.connect() as wire:
        fd = some_file(64 << 20)
        calls = [wire.submit(JOB_TEXT, PLUGIN, files=[("environment", fd)]), wire.submit(JOB_TEXT, ENDLESS)]
        ids = [wire.answer(c)[0] for c in calls]
        equal(ids, sorted(ids), "numbers")
        os.close(fd)


def hold(bus, wire, fd):
    """A call whose copy does not end: its process is stopped while it copies."""
    for _ in range(50):
        call = wire.submit(JOB_TEXT, PLUGIN, files=[("environment", fd)])
        pids, until = [], time.monotonic() + 2
        while not pids and time.monotonic() < until:  # a copy may have ended before it is seen
            pids = bus.copying()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        time.sleep(0.05)
        if pids and pids[0] in bus.copying():
            return call
        job = wire.answer(call)[0]
        bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
    raise Skip("a copy of half a gibibyte takes no time here")


@story("a caller that leaves the bus is forgotten, with the calls that waited and the copy that was under way; others go on")
def leaves():
    with Crowd("MaxJobs=1\nMaxJobsPerUser=200\n") as bus:
        fd, gone = some_file(500 << 20), bus.connect()
        hold(bus, gone, fd)
        for _ in range(20):
            gone.submit(JOB_TEXT, ENDLESS)
        with bus.connect() as other:
            # Another connection of the same user is not held up; its answer shows that the earlier calls have been read.
            job = other.answer(other.submit(JOB_TEXT, ENDLESS))[0]
        before = len(bus.jobs())
        gone.close()
        wait_for("its copy is gone", lambda: not bus.copying())
        with bus.connect() as other:
            next_job = other.answer(other.submit(JOB_TEXT, ENDLESS))[0]
        equal(next_job, job + 1, "the next number")
        equal(len(bus.jobs()), before + 1, "jobs")
        assert not [d for d in os.listdir(bus.dir + "/state/actord/jobs") if not d.isdigit()], "half a directory is left"
        os.close(fd)


@story("calls beyond the limit of those that wait get the error Busy, and actorctl tries again until there is room")
def patience():
    with Crowd("MaxJobs=1\n") as bus, bus.connect() as wire:
        fd = some_file(500 << 20)
        hold(bus, wire, fd)
        # Room for eight calls: each may bring eight descriptors, and half of all are for calls.
        old = resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, (128, old[1]))
        waiting = [wire.submit(JOB_TEXT, ENDLESS) for _ in range(7)]
        wire.call("org.actord1", "/org/actord1", MANAGER, "ListJobs")  # a connection's calls keep their order: those wait now
        with bus.connect() as other:
            try:
                other.answer(other.submit(JOB_TEXT, ENDLESS))
                raise AssertionError("a ninth call had room")
            except Refused as e:
                equal(e.name, "org.actord1.Error.Busy", e.text)
        path = os.path.join(STATE, "job.conf")
        with open(path, "w") as f:
            f.write(JOB_TEXT)
        client = subprocess.Popen([CTL, "--user", "submit", path, "--set=Job.StopReturn=", "--set=Job.StopSteps=1000000000"], env=bus.env,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        assert client.poll() is None, client.communicate()
        for pid in bus.copying():
            os.kill(pid, signal.SIGCONT)
        out, err = client.communicate(timeout=60)
        assert client.returncode == 0 and out.strip().isdigit() and not err, (client.returncode, out, err)
        ids = [wire.answer(c)[0] for c in waiting]
        equal(ids, sorted(ids), "numbers")
        resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, old)
        os.close(fd)


@story("a call brings eight descriptors at most, however many its caller sends; a handle behind them names none")
def descriptors():
    with Crowd("MaxJobs=1\n") as bus, bus.connect() as wire:
        fd, many = some_file(500 << 20), [os.open("/dev/null", os.O_RDONLY) for _ in range(16)]
        hold(bus, wire, fd)
        n_open = lambda: len(os.listdir(f"/proc/{bus.daemon.pid}/fd"))
        before = n_open()
        submit = lambda wire, files: wire.send("org.actord1", "/org/actord1", MANAGER, "SubmitJob", "ssa(ss)a{sh}a{sv}", JOB_TEXT, "test.conf",
                                               ENDLESS, files, [], fds=many)
        waiting = [submit(wire, []) for _ in range(20)]
        wire.call("org.actord1", "/org/actord1", MANAGER, "ListJobs")  # those wait now
        assert n_open() - before <= 8 * 20, (before, n_open())
        with bus.connect() as other:
            try:
                other.answer(submit(other, [("environment", 8)]))
                raise AssertionError("a ninth descriptor was there")
            except Refused:
                pass
        for pid in bus.copying():
            os.kill(pid, signal.SIGCONT)
        for call in waiting:
            assert wire.answer(call)[0] > 0
        for f in [fd, *many]:
            os.close(f)


tell()
