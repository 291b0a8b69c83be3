#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A service whose disk gets full: jobs pause, a stop waits, and no record is lost."""
import contextlib, shutil, signal

from bus import *

LEDGER_PENDING_MAX = 8192  # daemon/ledger/private.h
STOP_SEC = 15              # STOP_TIMEOUT_USEC + EXIT_TIMEOUT_USEC of daemon/job.h: an invoker that has not ended by then is killed


@contextlib.contextmanager
def small_disk(config=""):
    """A daemon whose state is on a disk of 16 MB, and a way to fill that: fill() and unfill().

    When the disk is full, three jobs have some 4 MB in their spools and in the daemon. All of it must fit
after unfill()."""
    if os.geteuid() != 0:
        raise Skip("mounting a small disk needs root")
    bus = Bus(config)
    os.makedirs(bus.dir + "/state")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "small", bus.dir + "/state"], capture_output=True).returncode != 0:
        raise Skip("a small disk cannot be mounted here")

    def fill():
        with open(bus.dir + "/state/filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))
        wait_for("the daemon says that its disk is full", lambda: "cannot be written" in open(bus.dir + "/log").read())

    try:
        with bus:
            yield bus, fill, lambda: os.unlink(bus.dir + "/state/filler")
    finally:
        subprocess.run(["umount", "-l", bus.dir + "/state"])
        shutil.rmtree(bus.dir, ignore_errors=True)


@story("a full disk: the daemon says so, the job pauses, nothing is lost, and it goes on when there is room")
def full_disk():
    with small_disk() as (bus, fill, unfill):
        calm = bus.submit(overrides=LONG)
        equal(bus.ended(calm), "finished", "result")
        policy, rounds = bus.get(calm, "PolicySHA256"), bus.get(calm, "Round")
        job = bus.submit(overrides=LONG + [("Checkpoint.IntervalSec", "1000")])
        wait_for("a round", lambda: bus.get(job, "Round") > 0)
        fill()
        time.sleep(1)
        assert bus.state(job) != "ended"
        unfill()
        assert bus.ended(job) == "finished", bus.get(job, "Fault")
        assert "can be written again" in open(bus.dir + "/log").read()
        assert (bus.get(job, "PolicySHA256"), bus.get(job, "Round"), bus.get(job, "Life")) == (policy, rounds, 1)
        check_ledger(bus, job)


@story("a stop on a full disk waits for the records that the daemon has no room for, and for the last checkpoint, which may take seconds then")
def full_disk_stopped():
    fast = [("Job.StopReturn", ""), ("Job.StopSteps", "4000000"), ("Scaling.Actors", "4"), ("Actor.RolloutSteps", "4"),
            ("Learner.MinibatchSize", "16"), ("Learner.Epochs", "1"), ("Checkpoint.IntervalSec", "1000")]
    with small_disk("MaxJobs=3\n") as (bus, fill, unfill):
        jobs = [bus.submit(overrides=fast) for _ in range(3)]
        for job in jobs:
            wait_for("a round", lambda: bus.get(job, "Round") > 0)
        fill()
        waiting = {}

        def stand_still():
            before = dict(waiting)
            for job in jobs:
                words = bus.get(job, "Waiting").split()
                waiting[job] = int(words[0]) if words and words[0].isdigit() else 0
            time.sleep(0.5)
            return waiting == before and min(waiting.values()) > 0
        wait_for("the daemon and the spools hold all that they can", stand_still, 120)
        assert sum(waiting.values()) > LEDGER_PENDING_MAX, f"all of {waiting} is in the daemon's hands: this tests nothing"
        for job in jobs:
            bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
        time.sleep(STOP_SEC + 2)
        learners = bus.processes("actord-learner")            # as slow as on a busy host
        for pid in learners:
            os.kill(pid, signal.SIGSTOP)
        unfill()
        wait_for("the daemon writes again", lambda: "can be written again" in open(bus.dir + "/log").read())
        time.sleep(4)
        for pid in learners:
            os.kill(pid, signal.SIGCONT)
        for job in jobs:
            equal(bus.ended(job), "interrupted", f"result of job {job}")
            equal(bus.get(job, "Life"), 1, f"life of job {job}")
            assert bus.get(job, "PolicySHA256"), f"job {job} ended without its last checkpoint"
            check_ledger(bus, job)


@story("an invoker that had to wait for a full disk, and then hangs, is killed at once")
def full_disk_hung():
    exit_sec = 10  # EXIT_TIMEOUT_USEC of daemon/job-watch.h: the time for a last checkpoint, which a hung invoker is not given
    with small_disk("InvokerTimeoutSec=2\n") as (bus, fill, unfill):
        job = bus.submit(overrides=ENDLESS + [("Checkpoint.IntervalSec", "1000")])
        wait_for("a round", lambda: bus.get(job, "Round") > 0)
        fill()
        bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
        time.sleep(STOP_SEC + 2)
        invoker = bus.processes("actord-invoker")[0]
        os.kill(invoker, signal.SIGSTOP)
        since = time.monotonic()
        wait_for("the invoker is killed", lambda: invoker not in bus.processes("actord-invoker"), 60)
        took = time.monotonic() - since
        unfill()
        assert took < exit_sec, f"killed after {took:.1f} s"
        bus.ended(job)
        check_ledger(bus, job)


tell()
