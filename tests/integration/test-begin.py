#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A life that cannot begin is tried again as long as the cause may pass. Meanwhile the job can end like any other."""
import contextlib, resource, struct

from bus import *


def limit_free(bus, n):
    """Lets the daemon open n more descriptors, and no more."""
    held = {int(fd) for fd in os.listdir(f"/proc/{bus.daemon.pid}/fd")}
    limit = next(k for k in range(4096) if k - len([fd for fd in held if fd < k]) == n)
    return resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def comm(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return ""


def signal_to(pid, number):
    """Sends a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


UNKNOWN = 2**64 - 1


def begins_from(bus, job):
    """The newest life in the notes: its number, and the counters of the job's cgroup when it began (LaunchAnswer of include/launch.h)."""
    answer = open(f"{bus.dir}/actord/jobs/{job}.launch", "rb").read()
    nsec, _, life = struct.unpack_from("=QQQ", answer, 24)
    return life, nsec


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
            signal_to(pid, signal.SIGKILL)
        bus.start()
        wait_for("that is said", lambda: "was not kept" in bus.get(job, "Fault"))
        equal(bus.ended(job, 20), "failed", "result")
        fault = bus.get(job, "Fault")
        assert fault.endswith("submit the job again"), fault


@story("a job that never began ends at once when it is told to, with nothing left over and no start in the log")
def never_began():
    with Bus() as bus:
        before = resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE)
        # Enough descriptors to take the job, but too few to begin it.
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
        assert "is not available: Too many open files" in fault and fault.endswith("; actord tries again"), fault
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
        wait_for("the life is over, or the time", lambda: f"Job {job} goes on in life 5" in log(bus) or bus.state(job) == "ended")
        before = limit_free(bus, 0)
        wait_for("it cannot begin, or has begun", lambda: "tries again" in bus.get(job, "Fault") or bus.get(job, "Life") == 5 or
                 bus.state(job) != "starting")
        if "tries again" not in bus.get(job, "Fault"):
            resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, before)
            raise Skip("the next life began before the limit was set, or the time was over")
        wait_for("it is to end", lambda: bus.state(job) != "starting")
        assert "has reached RuntimeMaxSec= and is stopped" in log(bus)
        resource.prlimit(bus.daemon.pid, resource.RLIMIT_NOFILE, before)
        equal((bus.ended(job), bus.get(job, "Life")), ("runtime-exceeded", 4), "result and life")


def state_of(pid):
    """The letter of its state in /proc; Z: it is gone."""
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(") ")[2][0]
    except OSError:
        return "Z"


def is_held(pid, over):
    """Stops the process that reads a checkpoint. Returns whether it stands still and has not answered before that."""
    signal_to(pid, signal.SIGSTOP)
    wait_for("it stands still, or is gone", lambda: state_of(pid) in "TZX")
    # Twice: the daemon reads a waiting answer by the second call at the latest.
    if state_of(pid) == "T" and comm(pid) == "actord-verify" and not over() and not over():
        return True
    signal_to(pid, signal.SIGCONT)
    return False


def stop_reader(bus, over):
    """Stops the process that reads the next life's checkpoint as soon as it starts; None: over() held first."""
    path = f"/proc/{bus.daemon.pid}/task/{bus.daemon.pid}/children"
    if not os.path.exists(path):
        raise Skip("this kernel does not list a process's children")
    while not over():
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            for pid in map(int, open(path).read().split()):
                if comm(pid) == "actord-verify" and is_held(pid, over):
                    return pid
    return None


def n_checkpoints(bus, job):
    return log(bus).count(f"Job {job} has a checkpoint of round")


def between_lives(bus, sets=()):
    """A job whose life has ended while the checkpoint for its next life is being read: returns the job, its life and the process that reads.
    The file is large enough that a process of its own reads it. Each life that the test ends has written a checkpoint, so it may end any
    number of them. If a job ends before a reader is caught, another job follows."""
    job, seen = None, 0
    for _ in range(60):
        if not job or bus.state(job) == "ended":
            job, seen = bus.submit(overrides=[*ENDLESS, ("Checkpoint.IntervalSec", "0.5"), ("Learner.HiddenLayers", "1024 1024"), *sets]), 0
        wait_for("a new checkpoint", lambda: n_checkpoints(bus, job) > seen or bus.state(job) == "ended")
        seen = n_checkpoints(bus, job)
        life = bus.get(job, "Life")
        for pid in bus.processes("actord-invoker"):
            signal_to(pid, signal.SIGKILL)
        reader = stop_reader(bus, lambda: bus.get(job, "Life") > life or bus.state(job) == "ended")
        if reader:
            return job, life, reader
        # The life that has begun meanwhile goes on from the newest checkpoint of that time.
        wait_for("it runs", lambda: bus.state(job) in ("running", "ended"))
        seen = n_checkpoints(bus, job)
    raise AssertionError("no reader of a checkpoint was caught between two lives")


@story("RuntimeMaxSec= ends a job also between two lives, while the checkpoint that the next one begins with is read")
def runtime_between_lives():
    with Bus() as bus:
        job, life, _ = between_lives(bus, [("Job.RuntimeMaxSec", "20")])
        equal((bus.ended(job), bus.get(job, "Life")), ("runtime-exceeded", life), "result and life")


@story("a life that the ledger does not take is not launched, and is tried again")
def no_row():
    with Bus() as bus:
        job, life, reader = between_lives(bus)
        path = bus.dir + "/state/actord/ledger.sqlite"
        os.rename(path, path + ".away")
        os.kill(reader, signal.SIGCONT)
        wait_for("it cannot begin, or begins", lambda: f"starts, life {life + 1}" in log(bus) or "its row in the ledger" in bus.get(job, "Fault"))
        assert f"starts, life {life + 1}" not in log(bus), "a life was launched that no row tells of"
        os.rename(path + ".away", path)
        wait_for("it goes on", lambda: bus.get(job, "Life") == life + 1 and bus.state(job) == "running")


@story("a daemon that is killed between two lives: the next one knows what the job's cgroup had counted by then")
def killed_between_lives():
    for _ in range(10):
        with Bus() as bus:
            job, life, _ = between_lives(bus)
            noted = begins_from(bus, job)
            if noted[1] == UNKNOWN:
                raise Skip("no cgroup can be made here")
            equal(noted[0], life + 1, "the life whose beginning is noted")
            bus.stop(signal.SIGKILL)
            bus.start(wait=False)
            # The next life may begin before the reader of its checkpoint is seen.
            if stop_reader(bus, lambda: f"starts, life {life + 1}" in log(bus)):
                equal(begins_from(bus, job), noted, "the life, and what was counted before it")
                return
    raise AssertionError("no reader of a checkpoint was caught after the daemon's restart")


@story("a job that ends before a life has repeated the rounds of the life before: they are on the bill, but no rounds of the job")
def unrepeated():
    sets = ENDLESS + [("Job.Environment", "Hopper-v4"), ("Actor.RolloutSteps", "512"), ("Checkpoint.IntervalSec", "1000")]
    for _ in range(5):
        with Bus() as bus:
            job = bus.submit(overrides=sets)
            wait_for("some rounds", lambda: bus.get(job, "Round") >= 20, 60)
            killed = bus.get(job, "Round")
            os.kill(bus.processes("actord-invoker")[0], signal.SIGKILL)
            wait_for("a round of the next life", lambda: bus.get(job, "Life") == 2 and bus.get(job, "Round") > 0, 60)
            bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
            equal(bus.ended(job), "interrupted", "results")
            last = bus.get(job, "Round")
            rounds = series(bus, job)
            equal([row["round"] for row in rounds], list(range(1, last + 1)), "rounds")
            equal(rounds[-1]["env_steps"], bus.get(job, "EnvSteps"), "steps")
            lines = {line[0]: line[1] for line in bus.call(f"/org/actord1/job/{job}", JOB, "GetBill")[4]}
            assert lines.get("retries", 0) > 0, lines
            # On a busy host the next life may have repeated all rounds before it was told to stop.
            if last < killed:
                return
    raise AssertionError(f"life 2 was at round {last} when it stopped, and life 1 was killed at round {killed}")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
