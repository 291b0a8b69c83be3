#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs that have ended are rows of the ledger: no longer enumerated, but everything can be asked of them, and lists tell of them."""
from bus import *

MANAGER_PATH, SHORT = "/org/actord1", [("Job.StopReturn", ""), ("Job.StopSteps", "2000")]


def path(job):
    return f"/org/actord1/job/{job}"


def everything(bus, job):
    """All properties, and what the methods answer that only read."""
    properties = {k: v["data"] for k, v in bus.call(path(job), "org.freedesktop.DBus.Properties", "GetAll", "s", JOB)[0].items()}
    asked = (["GetSettings"], ["GetText"], ["GetBill"], ["GetEstimates"], ["GetRounds", "tu", 0, 100], ["GetSeries", "tu", 0, 100],
             ["GetDecisions", "tu", 0, 100], ["CheckDecisions"], ["GetFaults", "u", 10], ["GetSchedulerBill"])
    answers = [bus.call(path(job), JOB, *words) for words in asked]
    # What the job's cgroup counted is in no record.
    properties.pop("CPUScopeNSec")
    return {**properties, **{method[0]: answer for method, answer in zip(asked, answers)}}


def differences(a, b):
    """NaN comes as null, so that what is not known equals itself."""
    return {k: (a.get(k), b.get(k)) for k in a.keys() | b.keys() if a.get(k) != b.get(k)}


def objects(bus):
    tree = bus.call(MANAGER_PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0]
    return sorted(int(p.rsplit("/", 1)[1]) for p in tree if p.startswith("/org/actord1/job/"))


@story("an ended job is no object of the tree, but its path answers everything as it did, also for the next daemon")
def rows():
    with Bus() as bus:
        first = bus.submit(overrides=SHORT)
        assert bus.ended(first) == "finished"
        second = bus.submit(overrides=ENDLESS)
        wait_for("the first one leaves the tree", lambda: objects(bus) == [second])
        before = everything(bus, first)
        equal((before["Environment"], before["State"]), ("CartPole-v1", "ended"), "the job")
        equal(bus.call(MANAGER_PATH, MANAGER, "GetJob", "t", first), [path(first)], "its path")
        tree = bus.call(path(first), "org.freedesktop.DBus.Introspectable", "Introspect")[0]
        assert JOB in tree, tree
        listed = bus.jobs()
        equal([row[0] for row in listed], [first, second], "jobs in the list")
        bus.stop()
        bus.start()
        equal(differences(everything(bus, first), before), {}, "after a restart")
        equal(bus.jobs()[0], listed[0], "the list after a restart")
        equal(objects(bus), [second], "objects after a restart")


@story("an ended job that KeepJobs= has forgotten is not listed, and its path still answers")
def forgotten():
    with Bus("KeepJobs=1\n") as bus:
        jobs = [bus.submit(overrides=SHORT) for _ in range(2)]
        wait_for("both end", lambda: [(row[0], row[2]) for row in bus.jobs()] == [(jobs[1], "ended")])
        equal(bus.get(jobs[0], "Result"), "finished", "the forgotten one")
        equal(bus.get(jobs[0], "Unit"), "", "its unit, which is gone")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
