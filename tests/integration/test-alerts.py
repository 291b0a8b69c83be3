#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""How a job informs others: by CostAlert= in the journal, and by OnEnd= through the user's manager."""
from bus import *
import wire

MODEL = [("Job.StopReturn", ""), ("Job.StopSteps", "60000"), ("Scaling.Actors", "2"), ("Billing.Clock", "model"), ("Checkpoint.IntervalSec", "0.2")]
SHORT = [("Job.StopReturn", ""), ("Job.StopSteps", "512")]


def said(bus, word):
    return [line for line in open(bus.dir + "/log") if word in line]


@story("each amount of CostAlert= is told once when the full total reaches it, also by a daemon that was killed meanwhile")
def alerts():
    with Bus() as bus:
        whole = bus.submit(overrides=MODEL)
        equal(bus.ended(whole), "finished", "result")
        full = bus.ctl("bill", whole, "--json").json["full"]
        amounts = [full * share for share in (0.1, 0.4, 0.8)]
        job = bus.submit(overrides=[*MODEL, ("Job.CostAlert", ", ".join(f"{a:.12f}USD" for a in [*amounts[::-1], 10 * full]))])
        wait_for("the first amount", lambda: said(bus, f"Job {job} has cost"))
        bus.stop(signal.SIGKILL)
        before = len(said(bus, f"Job {job} has cost"))
        bus.start()
        equal(bus.ended(job), "finished", "result")
        lines = said(bus, f"Job {job} has cost")
        # A warning that was written when the kill came may be written again.
        told = [float(line.split("has reached CostAlert=")[1].rstrip(".\n")) for line in lines]
        equal(sorted(set(told)), [round(a, 9) for a in amounts], "amounts that were told")
        assert len(told) <= 4, (before, lines)
        for line, amount in zip(lines, told):
            assert float(line.split("has cost ")[1].split()[0]) >= amount, line
        bus.stop()
        bus.start()
        equal(len(said(bus, f"Job {job} has cost")), len(told), "after one more restart")
        for value, reason in (("0.5EUR", "the price sheet aws-lambda-x86 is in USD"), ("0.5USD, 1EUR", "use one currency"), ("1, 1", "twice"),
                              ("1,2,3,4,5,6,7,8,9", "more than 8"), ("much", "an amount of money")):
            try:
                bus.submit(overrides=[*SHORT, ("Job.CostAlert", value)])
                raise AssertionError(value)
            except BusError as e:
                assert reason in e.text, (value, e.text)
    run = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopReturn=", "--set", "Job.StopSteps=4096", "--set", "Job.CostAlert=0.000000001, 0.000000002, 100",
              "--set", "Job.OnEnd=tell.service")
    equal(len(re.findall("CostAlert=0[.]00000000[12] USD is reached: the run has cost ", run.err)), 2, run.err)
    assert "100" not in run.err and "OnEnd=tell.service: a run starts no unit" in run.err, run.err


@story("OnEnd= asks the user's manager for a unit when a job has ended, once, with the job's number and how it ended in its name")
def on_end():
    with Bus() as bus:
        lost = bus.submit(overrides=[*SHORT, ("Job.OnEnd", "tell.service")])
        bus.ended(lost)
        wait_for("it is told that there is no manager", lambda: said(bus, f"OnEnd=tell.service of job {lost} was not started: "))
        manager = wire.Wire(bus.env["DBUS_SESSION_BUS_ADDRESS"])
        equal(manager.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus", "RequestName", "su", "org.freedesktop.systemd1", 4), [1], "the manager's name")
        job = bus.submit(overrides=[*SHORT, ("Job.OnEnd", "tell@%j-%r.service")])
        asked = lambda: manager.serve("o", "/org/freedesktop/systemd1/job/1")
        equal(asked(), ("StartUnit", [f"tell@{job}-finished.service", "replace"]), "what the manager is asked")
        wait_for("it is told that the unit starts", lambda: said(bus, f"OnEnd=tell@{job}-finished.service of job {job} starts."))
        equal(bus.ended(job), "finished", "result")
        stopped = bus.submit(overrides=[*ENDLESS, ("Job.OnEnd", "tell@%r.service")])
        wait_for("a round", lambda: bus.get(stopped, "Round") > 0)
        bus.ctl("stop", stopped)
        equal(asked()[1], ["tell@interrupted.service", "replace"], "also when it is stopped")
        for unit in "../evil.service", "tell", "a b.service", "%u.service", "@x.service", ".service":
            try:
                bus.submit(overrides=[*SHORT, ("Job.OnEnd", unit)])
                raise AssertionError(unit)
            except BusError as e:
                assert "write the name of a unit" in e.text, (unit, e.text)


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    skip_all("dbus-daemon or busctl is not installed")
tell()
