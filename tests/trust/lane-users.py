#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two ordinary users on the system's bus: each calls every method of org.actord1 on the other's job, and on their own. Runs as root inside the lane.

A row is a method with its arguments, and what the job's owner and another user get. A method of the interface without a row fails the test, so that
each new method gets a decision."""
import json, pwd, subprocess

from trust import *

OK, REFUSED, ELSEWHERE = "ok", "refused", "only in run mode"
USERS = ("tester", "another")

# method, signature and arguments ({job}: the job's number, {uid}: its owner's), what its owner gets, what another user gets
MANAGER_ROWS = [
    ("SubmitJob", "ssa(ss)a{sh}a{sv} [Job]\\nEnvironment=CartPole-v1\\nStopSteps=256 a.conf 0 0 0", OK, OK),  # his own, in both cases
    ("GetJob", "t {job}", OK, OK),
    ("ListJobs", "", OK, OK),
    ("ListJobsFiltered", "a{sv}tu 0 0 10", OK, OK),
    ("ListPriceSheets", "", OK, OK),
    ("GetPriceSheet", "s local", OK, OK),
    ("StopJob", "t {job}", OK, REFUSED),
    ("RemoveJobFiles", "t {job}", OK, REFUSED),
    ("KeepRest", "", ELSEWHERE, ELSEWHERE),
    ("GetQuota", "u {uid}", OK, REFUSED),
    ("GetTotals", "", OK, OK),  # of the caller
]
JOB_ROWS = [
    ("GetSettings", "", OK, OK),
    ("GetText", "", OK, REFUSED),
    ("GetBill", "", OK, OK),
    ("GetBillUnder", "s azure-aci", OK, OK),
    ("GetBeside", "ss azure-aci ec2-nitro", OK, OK),
    ("GetEstimates", "", OK, OK),
    ("GetFleets", "s ec2-minionsrl", OK, OK),
    ("GetSchedulerBill", "", OK, OK),
    ("GetRounds", "tu 0 10", OK, OK),
    ("GetSeries", "tu 0 10", OK, OK),
    ("GetDecisions", "tu 0 10", OK, OK),
    ("CheckDecisions", "", OK, OK),
    ("GetFaults", "u 10", OK, OK),
    ("OpenCheckpoint", "", OK, REFUSED),
    ("Freeze", "", OK, REFUSED),
    ("Thaw", "", OK, REFUSED),
    ("Stop", "", OK, REFUSED),
]
NOT_HERE = {"SubmitJobFile": "a descriptor, which busctl cannot send: actorctl submit does in lane-system.py"}


def as_user(name, *words):
    return subprocess.run(["runuser", "-u", name, "--", "env", "-i", "PATH=/usr/bin:/bin", "LANG=C.UTF-8", *words], capture_output=True, text=True,
                          timeout=60 * PATIENCE, stdin=subprocess.DEVNULL, cwd="/")


def call(name, path, interface, method, arguments, job):
    """What a user gets, and its sentence."""
    words = [w.replace("\\n", "\n") for w in arguments.replace("{job}", str(job)).split(" ") if w]
    r = as_user(name, "busctl", "--system", "call", "org.actord1", path, f"org.actord1.{interface}", method, *words)
    if r.returncode == 0:
        return OK, r.stdout
    if "Only the daemon of a run" in r.stderr:
        return ELSEWHERE, r.stderr.strip()
    # busctl says the error's message alone.
    refused = re.search(r"may not|authorization|Access denied|not permitted|belongs to|job of", r.stderr)
    return (REFUSED if refused else "error"), r.stderr.strip()


def submit(name):
    r = as_user(name, "actorctl", "--system", "submit", "/src/examples/cartpole.conf", "--set", "Job.StopSteps=1000000000", "--set", "Job.StopReturn=",
                "--set", "Scaling.Actors=1", "--set", "Checkpoint.IntervalSec=0.1")
    assert r.returncode == 0, r.stderr
    return int(re.search(r"\d+", r.stdout).group())


def prop(job, name):
    r = subprocess.run(["busctl", "--system", "--json=short", "get-property", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", name],
                       capture_output=True, text=True)
    return json.loads(r.stdout)["data"] if r.returncode == 0 else None


def methods(interface):
    path = "/org/actord1" if interface == "Manager" else f"/org/actord1/job/{jobs[USERS[0]]}"
    r = subprocess.run(["busctl", "--system", "--json=short", "call", "org.actord1", path, "org.freedesktop.DBus.Introspectable", "Introspect"],
                       capture_output=True, text=True, check=True)
    part = re.search(rf'<interface name="org.actord1.{interface}">(.*?)</interface>', json.loads(r.stdout)["data"][0], re.S)[1]
    return set(re.findall(r'<method name="(\w+)"', part))


jobs = {}


@story("the two users are there, each with a job that runs and has a checkpoint")
def settle():
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", USERS[1]], check=True)
    for name in USERS:
        jobs[name] = submit(name)
    for name, job in jobs.items():
        wait_for(f"a checkpoint of {name}'s job", lambda: call(name, f"/org/actord1/job/{job}", "Job", "OpenCheckpoint", "", job)[0] == OK)


@story("every method of the interface has a row")
def complete():
    for interface, rows in ("Manager", MANAGER_ROWS), ("Job", JOB_ROWS):
        equal(sorted(methods(interface) - set(NOT_HERE)), sorted(r[0] for r in rows), f"methods of org.actord1.{interface} and rows")


def try_all(caller, owner, column):
    """The calls in the order of the table: what ends the job comes last."""
    job, wrong = jobs[owner], []
    for interface, path, rows in ("Manager", "/org/actord1", MANAGER_ROWS), ("Job", f"/org/actord1/job/{job}", JOB_ROWS):
        for row in rows:
            if column == 2 and row[0] in ("StopJob", "RemoveJobFiles"):
                continue  # the owner's own come last, below
            seen, said = call(caller, path, interface, row[0], row[1].replace("{uid}", str(pwd.getpwnam(owner).pw_uid)), job)
            if seen != row[column]:
                wrong.append(f"{caller} calls {interface}.{row[0]} on {owner}'s job: {seen} instead of {row[column]}: {said[:200]}")
    return wrong


@story("on another's job each gets the answer of the table, and the job goes on")
def others():
    wrong = try_all(USERS[0], USERS[1], 3) + try_all(USERS[1], USERS[0], 3)
    assert not wrong, "\n".join(wrong)
    equal([prop(job, "State") for job in jobs.values()], ["running", "running"], "states")


@story("on his own each gets what he asks for; a job that has ended is his to remove")
def own():
    wrong = []
    for name in USERS:
        wrong += try_all(name, name, 2)
        wait_for(f"the end of {name}'s job", lambda: prop(jobs[name], "State") == "ended")
        seen, said = call(name, "/org/actord1", "Manager", "RemoveJobFiles", "t {job}", jobs[name])
        if seen != OK:
            wrong.append(f"{name} may not remove his own job: {said}")
    assert not wrong, "\n".join(wrong)


begin()
tell()
