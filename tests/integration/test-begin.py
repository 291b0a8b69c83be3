#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A life that cannot begin: it is tried again while the cause may pass, and meanwhile the job can end like any other."""
import resource

from bus import *


def limit_free(bus, n):
    """n more descriptors, and no others, may the daemon open."""
    held = {int(fd) for fd in os.listdir(f"/proc/{bus.daemon.pid}/fd")}
    limit = next(k for k in range(4096) if k - len([fd for fd in held if fd < k]) == n)
    return resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def comm(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return ""


def log(bus):
    return open(bus.dir + "/log", errors="replace").read()


def killed_invoker(bus, job, life):
    wait_for("rounds", lambda: bus.get(job, "Life") == life and bus.state(job) == "running" and bus.get(job, "Round") > 1
             or bus.state(job) == "ended")
    if bus.state(job) == "ended":
        raise Skip("the job ended before its invoker was killed")
    os.kill(bus.processes("actord-invoker")[0], signal.SIGKILL)


@story("a job whose model's directory was not kept fails with a reason, and is not tried again")
def not_kept():
    with Bus() as bus:
        r = bus.ctl("submit", os.path.join(EXAMPLES, "balance.conf"), "--set", "Job.StopSteps=100000000", ok=False)
        if r.status != 0:
            raise Skip("no such job here: " + r.err.strip())
        job = bus.jobs()[0][0]
        wait_for("rounds", lambda: bus.get(job, "Round") > 0 or bus.state(job) == "ended")
        if bus.state(job) == "ended":
            raise Skip("no such job here: " + bus.get(job, "Fault"))
        bus.stop(signal.SIGKILL)
        for pid in bus.processes("actord-invoker"):
            os.kill(pid, signal.SIGKILL)
        bus.start()
        wait_for("that is said", lambda: "was not kept" in bus.get(job, "Fault"))
        equal(bus.ended(job, 20), "failed", "result")
        fault = bus.get(job, "Fault")
        assert fault.endswith("submit the job again"), fault


@story("a job that never began ends at once when it is told to, with nothing left over and no start in the log")
def never_began():
    with Bus() as bus:
        before = resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE)
        # Enough to take the job, and too few to begin it.
        for n in range(1, 12):
            limit_free(bus, n)
            try:
                job = bus.submit(overrides=ENDLESS)
                break
            except BusError:
                resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, before)
        else:
            raise AssertionError("no job was taken")
        wait_for("it cannot begin, or has begun", lambda: bus.get(job, "Fault") or
                 bus.state(job) == "running")
        if bus.state(job) == "running":
            raise Skip(f"it begins with the {n} descriptors that it is taken with")
        fault = bus.get(job, "Fault")
        assert "could not be had: Too many open files" in fault and fault.endswith("; this is tried again"), fault
        equal(bus.get(job, "Life"), 0, "lives")
        bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
        resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, before)
        equal(bus.ended(job, 20), "interrupted", "result")
        equal([line for line in log(bus).splitlines() if "starts, life" in line or "left something behind" in line], [], "the log")


@story("RuntimeMaxSec= ends a job also while its next life cannot begin")
def runtime():
    with Bus() as bus:
        job = bus.submit(overrides=[*ENDLESS, ("Job.RuntimeMaxSec", "12"), ("Checkpoint.IntervalSec", "1000000")])
        # Each life without a checkpoint is followed by a longer pause.
        for life in 1, 2, 3, 4:
            killed_invoker(bus, job, life)
        wait_for("the life is over", lambda: f"Job {job} goes on in life 5" in log(bus))
        before = limit_free(bus, 0)
        wait_for("it cannot begin, or has begun", lambda: "tried again" in bus.get(job, "Fault") or bus.get(job, "Life") == 5 or
                 bus.state(job) != "starting")
        if "tried again" not in bus.get(job, "Fault"):
            resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, before)
            raise Skip("the next life began before the limit was set, or the time was over")
        wait_for("it is to end", lambda: bus.state(job) != "starting")
        assert "has run for RuntimeMaxSec=" in log(bus)
        resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, before)
        equal((bus.ended(job), bus.get(job, "Life")), ("runtime-exceeded", 4), "result and life")


def stopped_reader(bus, job):
    """Kills invokers until the process that reads the next life's checkpoint is there to be stopped; the life that is over then."""
    path = f"/proc/{bus.daemon.pid}/task/{bus.daemon.pid}/children"
    while bus.state(job) != "ended":
        life = bus.get(job, "Life")
        for pid in bus.processes("actord-invoker"):
            os.kill(pid, signal.SIGKILL)
        while bus.get(job, "Life") == life and bus.state(job) != "ended":
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                for pid in map(int, open(path).read().split()):
                    if comm(pid) == "actord-verify":
                        os.kill(pid, signal.SIGSTOP)
                        return life
    raise Skip("the time was over before a checkpoint was seen to be read")


@story("RuntimeMaxSec= ends a job also between two lives, while the checkpoint that the next one begins with is read")
def runtime_between_lives():
    with Bus() as bus:
        # Large enough that a process of its own compares the file with its digest.
        job = bus.submit(overrides=[*ENDLESS, ("Job.RuntimeMaxSec", "20"), ("Checkpoint.IntervalSec", "0.5"), ("Learner.HiddenLayers", "1024 1024")])
        wait_for("a checkpoint", lambda: "has a checkpoint of round" in log(bus) or bus.state(job) == "ended")
        life = stopped_reader(bus, job)
        equal((bus.ended(job), bus.get(job, "Life")), ("runtime-exceeded", life), "result and life")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
