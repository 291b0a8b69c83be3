#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How one user's flood of calls delays another user: the time from a call to its answer, compared with an idle bus, and how many
calls of the flood were answered in between. Each client of the flood calls again as soon as it has its answer.

usage: tests/bench/flood.py [CLIENTS] [CALLS]     (60 and 400)
As root, user 65534 makes the flood; else both are connections of one user, which take turns, too."""
import os, select, struct, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from bus import *
from rows import fill
from wire import Refused, Wire

CLIENTS, CALLS = [int(sys.argv[i]) if len(sys.argv) > i else n for i, n in ((1, 60), (2, 400))]
PATH, FLOODER = "/org/actord1", 65534 if os.geteuid() == 0 else None


def flood(address, kinds, job, n_clients, pipe):
    """Calls for ever; writes a byte for each answer."""
    wires = [Wire(address, FLOODER) for _ in range(n_clients)]
    memory, pages = os.memfd_create("text"), {}
    os.write(memory, b"[Job]\nEnvironment=None\n")

    def call(wire):
        kind = kinds[wire.serial % len(kinds)]
        if kind == "list":
            wire.send("org.actord1", PATH, MANAGER, "ListJobs")
        elif kind == "objects":
            wire.send("org.actord1", PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        elif kind == "bill":
            wire.send("org.actord1", f"{PATH}/job/{job}", JOB, "GetBill")
        else:  # a text with mistakes in it, and a descriptor that the gate must keep meanwhile
            wire.send("org.actord1", PATH, MANAGER, "SubmitJob", "ssa(ss)a{sh}a{sv}", "[Job]\nEnvironment=None\n", "x.conf", [],
                      [("environment", 0)], [], fds=[null])

    def left(wire):
        """Does not parse the answer, which may be long."""
        data = pages.setdefault(wire, bytearray())
        data += wire.socket.recv(1 << 20)
        n = 0
        while len(data) >= 16:
            body, fields = struct.unpack_from("<I4xI", data, 4)
            size = 16 + fields + -fields % 8 + body
            if len(data) < size:
                break
            n += data[1] in (2, 3)
            del data[:size]
        return n

    null = os.open("/dev/null", os.O_RDONLY)
    by_fd = {w.socket.fileno(): w for w in wires}
    for wire in wires:
        call(wire)
    while True:
        for fd in select.select(list(by_fd), [], [])[0]:
            for _ in range(left(by_fd[fd])):
                os.write(pipe, b".")
                call(by_fd[fd])


def measure(wire, job, n, answered=None):
    """Times in milliseconds, and answers of the flood meanwhile."""
    found, between = [], []
    for _ in range(n):
        if answered:
            answered()
        begin = time.monotonic()
        wire.call("org.actord1", f"{PATH}/job/{job}", "org.freedesktop.DBus.Properties", "Get", "ss", JOB, "State")
        found.append((time.monotonic() - begin) * 1000)
        between.append(answered() if answered else 0)
        time.sleep(0.002)
    return sorted(found), sorted(between)


def at(row, share):
    return row[min(len(row) - 1, int(len(row) * share))]


with OpenBus("MaxJobs=1\n") as bus:
    job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "2000")])
    bus.ended(job)
    bus.stop()
    fill(bus, job, 1000)
    bus.start()
    address = bus.env["DBUS_SESSION_BUS_ADDRESS"]
    with Wire(address) as wire:
        idle, _ = measure(wire, job, CALLS)
        print(f"{'idle':32} median {at(idle, .5):7.2f} ms   p99 {at(idle, .99):7.2f} ms", flush=True)
        for name, kinds in (("list", ["list"]), ("GetManagedObjects", ["objects"]), ("GetBill", ["bill"]), ("a submission that is refused", ["submit"]),
                            ("all of them", ["list", "objects", "bill", "submit"])):
            read, write = os.pipe()
            os.set_blocking(read, False)
            child = os.fork()
            if child == 0:
                os.close(read)
                os.nice(5)
                flood(address, kinds, job, CLIENTS, write)
            os.close(write)

            def answered():
                n = 0
                while True:
                    try:
                        n += len(os.read(read, 1 << 16))
                    except BlockingIOError:
                        return n
            wait_for("the flood", lambda: answered() > 0)
            begin, n_all = time.monotonic(), 0
            found, between = measure(wire, job, CALLS, answered)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            print(f"{CLIENTS} clients: {name:28} median {at(found, .5):7.2f} ms   p99 {at(found, .99):7.2f} ms   "
                  f"{at(found, .5) / at(idle, .5):5.1f} x idle   answered in between: median {at(between, .5)}, p99 {at(between, .99)}", flush=True)
            wait_for("the flood is over", lambda: at(measure(wire, job, 5)[0], 1) < 1000)
