#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Programs that hang: each has a deadline, and after it the job begins its next life and ends with the same policy. A program
that only waits, or was stopped together with its watcher, is left alone."""
from bus import *

# Some seconds of rounds, of which a second is repeated at most.
JOB_SETS = [("Job.Environment", "Hopper-v4"), ("Job.StopReturn", ""), ("Job.StopSteps", "40000"), ("Actor.RolloutSteps", "512"),
            ("Learner.MinibatchSize", "64"), ("Checkpoint.IntervalSec", "0.3")]


def begun(bus, job, rounds=5):
    wait_for("some rounds", lambda: bus.get(job, "Round") >= rounds or bus.state(job) == "ended", 60)
    assert bus.state(job) != "ended", "the job was too short"


def stopped(watched, watcher, sec):
    """Stops a process that another waits for, then its watcher, as a debugger or a sleeping host does; the watcher continues first."""
    os.kill(watched, signal.SIGSTOP)
    time.sleep(1)  # by now it has been given work
    os.kill(watcher, signal.SIGSTOP)
    time.sleep(sec)
    os.kill(watcher, signal.SIGCONT)
    time.sleep(0.3)
    os.kill(watched, signal.SIGCONT)


def calm(bus):
    job = bus.submit(overrides=JOB_SETS)
    equal(bus.ended(job, 120), "finished", "results")
    equal(bus.get(job, "Life"), 1, "lives of a job that nothing happened to")
    return bus.get(job, "PolicySHA256")


@story("an invoker that hangs is noticed; the job goes on in its next life, to the same policy")
def invoker():
    with Bus(config="InvokerTimeoutSec=2\n") as bus:
        want = calm(bus)
        job = bus.submit(overrides=JOB_SETS)
        begun(bus, job)
        os.kill(bus.processes("actord-invoker")[0], signal.SIGSTOP)
        wait_for("the next life", lambda: bus.get(job, "Life") == 2, 30)
        assert re.search(r"did not answer for \d+ s", bus.get(job, "Fault")), bus.get(job, "Fault")
        equal(bus.ended(job, 120), "finished", "results")
        equal(bus.get(job, "PolicySHA256"), want, "policies")


@story("a learner that hangs is noticed within its TimeoutSec=; the job goes on in its next life, to the same policy")
def learner():
    with Bus() as bus:
        want = calm(bus)
        job = bus.submit(overrides=JOB_SETS + [("Learner.TimeoutSec", "3")])
        begun(bus, job)
        os.kill(bus.processes("actord-learner")[0], signal.SIGSTOP)
        wait_for("the next life", lambda: bus.get(job, "Life") == 2, 30)
        assert "the learner did not answer within [Learner] TimeoutSec= (3 s)" in bus.get(job, "Fault"), bus.get(job, "Fault")
        equal(bus.ended(job, 120), "finished", "results")
        equal(bus.get(job, "PolicySHA256"), want, "policies")


# Where the learner acts, for actors that have less time than it: what the fault may say. A fused one that was learning has the learner's time.
LATE = r"did not answer within \[Learner\] TimeoutSec= \(15 s\)"
ACTS = {"single-learner-fine": LATE, "environments": LATE, "central": LATE,
        "fused": LATE + r"|took longer to act than \[Actor\] TimeoutSec= gives its actors"}


@story("a learner that hangs while it acts for actors: it is named, not the actors that wait for it, and the job goes on in its next life")
def acts():
    # Rounds are nearly all acting: one epoch of large minibatches.
    sets = ENDLESS + [("Job.Environment", "Hopper-v4"), ("Actor.RolloutSteps", "64"), ("Actor.TimeoutSec", "9"), ("Scaling.Actors", "2"),
                      ("Learner.TimeoutSec", "15"), ("Learner.Epochs", "1"), ("Learner.MinibatchSize", "1024"), ("Checkpoint.IntervalSec", "0.3")]
    with Bus(config="MaxJobs=4\n") as bus:
        jobs = {d: bus.submit(overrides=sets + [("Distribution.Policy", d)] + ([("Distribution.Learners", "2")] if d == "central" else []))
                for d in ACTS}
        for job in jobs.values():
            begun(bus, job)
        for pid in bus.processes("actord-learner"):
            os.kill(pid, signal.SIGSTOP)
        for distribution, job in jobs.items():
            wait_for(f"the next life under {distribution}", lambda: bus.get(job, "Life") == 2, 40)
            assert re.search(f"the learner ({ACTS[distribution]})", bus.get(job, "Fault")), (distribution, bus.get(job, "Fault"))
            equal(bus.get(job, "InvocationsRetried"), 0, f"actors that were blamed under {distribution}")
            before = bus.get(job, "Round")
            wait_for("more rounds", lambda: bus.get(job, "Round") > before + 1, 30)


@story("a daemon that was stopped for longer than an invoker may be silent kills nothing")
def daemon():
    with Bus(config="InvokerTimeoutSec=4\n") as bus:
        job = bus.submit(overrides=ENDLESS)
        begun(bus, job)
        for _ in range(2):
            stopped(bus.processes("actord-invoker")[0], bus.daemon.pid, 6)
            before = bus.get(job, "Round")
            wait_for("more rounds", lambda: bus.get(job, "Round") > before, 30)
        equal(bus.get(job, "Life"), 1, "lives")


@story("an invoker that was stopped for longer than its learner and actors may take kills neither")
def absent():
    with Bus(config="InvokerTimeoutSec=infinity\n") as bus:
        job = bus.submit(overrides=ENDLESS + [("Learner.TimeoutSec", "4"), ("Actor.TimeoutSec", "4")])
        begun(bus, job)
        for comm in "actord-learner", "actord-actor":
            stopped(bus.processes(comm)[0], bus.processes("actord-invoker")[0], 6)
            before = bus.get(job, "Round")
            wait_for("more rounds", lambda: bus.get(job, "Round") > before, 30)
        equal(bus.get(job, "Life"), 1, "lives")
        equal(bus.get(job, "InvocationsRetried"), 0, "retries")


@story("a stop waits for the update that the learner has begun, however long it takes, and the checkpoint has its round; a second stop does not wait")
def long_update():
    with Bus() as bus:
        waited, left = (bus.submit(overrides=ENDLESS + [("Checkpoint.IntervalSec", "100000")]) for _ in range(2))
        for job in waited, left:
            begun(bus, job)
        learners = bus.processes("actord-learner")
        for pid in learners:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(1)  # by now each has been given work
        for job in waited, left:
            bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
        time.sleep(17)  # longer than a stop waits for a round, and for the end of an invoker that does nothing
        for job in waited, left:
            equal((bus.state(job), bus.get(job, "Waiting")), ("ending", "its learner has not finished what it has begun"), "the job")
        bus.call("/org/actord1", MANAGER, "StopJob", "t", left)
        equal(bus.ended(left, 30), "interrupted", "the one that was given up")
        assert "given up before its learner had finished what it had begun" in bus.get(left, "Fault"), bus.get(left, "Fault")
        for pid in bus.processes("actord-learner"):
            os.kill(pid, signal.SIGCONT)
        equal(bus.ended(waited, 30), "interrupted", "the one that was stopped")
        equal((bus.get(waited, "Fault"), bus.get(waited, "Life")), ("", 1), "fault and lives")
        newest = bus.ledger().execute("SELECT max(round) FROM checkpoints WHERE job = ?", (waited,)).fetchone()[0]
        equal(newest, bus.get(waited, "Round"), "the last checkpoint")


@story("an invoker whose daemon does not come back ends after OrphanTimeoutSec=; the next daemon has the job go on in its next life, to the same policy")
def orphan():
    with Bus(config="OrphanTimeoutSec=3\n") as bus:
        want = calm(bus)
        job = bus.submit(overrides=JOB_SETS)
        begun(bus, job)
        bus.stop(signal.SIGKILL)
        assert bus.processes("actord-invoker"), "it did not wait for its daemon"
        wait_for("its invoker ends", lambda: not bus.processes("actord-invoker"), 30)
        assert "OrphanTimeoutSec=" in open(bus.dir + "/log").read(), "it ended without a word"
        bus.start()
        equal(bus.ended(job, 120), "finished", "results")
        equal((bus.get(job, "Life"), bus.get(job, "PolicySHA256")), (2, want), "lives and policies")


@story("an invoker that waits for a slow environment answers, and is left alone")
def slow():
    path = os.path.join(STATE, "slow.conf")
    shared_library(HOSTILE, name="hostile.so")
    with open(path, "w") as f:
        f.write("[Job]\nEnvironment=./hostile.so\nStopSteps=512\n[Environment]\nHow=slow\n[Actor]\nRolloutSteps=64\nEnvsPerActor=4\n")
    with Bus(config="InvokerTimeoutSec=1\n") as bus:
        bus.ctl("submit", path)
        job = bus.jobs()[0][0]
        wait_for("a round of some seconds", lambda: bus.get(job, "Round") >= 1, 60)
        equal(bus.get(job, "Life"), 1, "lives")


tell()
