#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A daemon with many ended jobs in its ledger: its time to start and to list them, and its memory; and how long another caller waits during a flood of lists.

usage: tests/bench/ended.py [JOBS]     (100000)"""
import os, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from bus import *
from rows import fill
from wire import Wire

N = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
PATH = "/org/actord1"


def rss_mib(pid):
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS")) / 1024


def times(wire, n, *words):
    found = []
    for _ in range(n):
        begin = time.monotonic()
        wire.call("org.actord1", *words)
        found.append((time.monotonic() - begin) * 1000)
    return sorted(found)


def say(what, found):
    print(f"{what:44} median {found[len(found) // 2]:8.2f} ms   p99 {found[int(len(found) * 0.99)]:8.2f} ms", flush=True)


with Bus() as bus:
    first = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "2000")])
    bus.ended(first)
    bus.stop()
    fill(bus, first, N)
    begin = time.monotonic()
    bus.start(wait=False)
    while not bus.has_name():
        pass
    print(f"{N} ended jobs: started in {time.monotonic() - begin:.3f} s, {rss_mib(bus.daemon.pid):.1f} MiB", flush=True)
    address = bus.env["DBUS_SESSION_BUS_ADDRESS"]
    with Wire(address) as wire:
        say("GetManagedObjects", times(wire, 20, PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"))
        say("ListJobs (200 of them)", times(wire, 100, PATH, MANAGER, "ListJobs"))
        say("ListJobsFiltered, 100 rows", times(wire, 100, PATH, MANAGER, "ListJobsFiltered", "a{sv}tu", [], 0, 100))
        say("ListJobsFiltered, nothing fits", times(wire, 100, PATH, MANAGER, "ListJobsFiltered", "a{sv}tu", [("tag", ("s", "x"))], 0, 100))
        say("GetAll of an ended job, each another", sorted(sum((times(wire, 1, f"{PATH}/job/{i}", "org.freedesktop.DBus.Properties", "GetAll", "s", JOB)
                                                                 for i in range(2, 102)), [])))
        flood = [Wire(address) for _ in range(60)]
        calls = [(w, [w.send("org.actord1", PATH, MANAGER, "ListJobs") for _ in range(15)]) for w in flood]
        say("a job's state during 900 lists of 60 callers",
            times(wire, 50, f"{PATH}/job/{first}", "org.freedesktop.DBus.Properties", "Get", "ss", JOB, "State"))
        for w, serials in calls:
            for serial in serials:
                w.answer(serial)
            w.close()
    print(f"afterwards {rss_mib(bus.daemon.pid):.1f} MiB")
