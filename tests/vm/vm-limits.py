#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Limits that only a kernel with every cgroup controller enforces. Runs as root in the virtual machine."""
import glob, os, subprocess, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

SO = os.environ.get("ACTORD_GREEDY", os.path.join(BUILD, "tests", "greedy-env.so"))


def conf(*lines):
    path = os.path.join(STATE, "greedy.conf")
    open(path, "w").write(f"[Job]\nEnvironment={SO}\nStopSteps=2000\n[Actor]\nRolloutSteps=64\nRetries=1\nTimeoutSec=30\n" + "\n".join(lines) +
                          "\n[Learner]\nMinibatchSize=32\nEpochs=1\n")
    return path


@story("every limit is enforced here")
def nothing_missing():
    r = run(conf(), timeout=180)
    equal(r.limits_not_enforced, [], "limits that are not enforced")


@story("MemoryMax= ends an actor that takes more, with that reason, and the job says so")
def memory():
    r = run(conf("MemoryMax=64M"), "Environment.Take=256", ok=False, timeout=180)
    equal(r.status, 1, "status")
    assert "memory" in r.json["fault"], r.json["fault"]


@story("an actor that is killed while memory lacks above its own cgroup is started again, and is not said to have exceeded its limit")
def crowded():
    calm = run(conf("MemoryMax=1G"), "Environment.Take=80", "Job.StopSteps=256", timeout=240)
    events = []

    def kills():
        return int(re.search(r"^oom_kill (\d+)$", open(f"{events[0]}/memory.events").read(), re.M)[1])

    def look(p):
        while p.poll() is None:
            for pid in descendants(1, "actord-actor"):
                try:
                    leaf = open(f"/proc/{pid}/cgroup").read().strip().split("::")[-1]
                except OSError:
                    continue
                if not events and leaf.count("/") > 1:
                    events.append("/sys/fs/cgroup" + os.path.dirname(leaf))
                    open(events[0] + "/memory.max", "w").write(str(64 << 20))
            if events and kills() >= 3:  # more than Retries=1
                open(events[0] + "/memory.max", "w").write("max")
                break
            time.sleep(0.02)

    r = run(conf("MemoryMax=1G"), "Environment.Take=80", "Job.StopSteps=256", during=look, timeout=240)
    equal(r.policy_sha256, calm.policy_sha256, "policies")
    rows = sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True)
    words = dict(rows.execute("SELECT f.word, count(*) FROM records r JOIN faults f USING (fault) WHERE r.fault != 0 GROUP BY f.word"))
    assert words.get("host-memory", 0) >= 3 and "out-of-memory" not in words, words


@story("each actor's leaf has the limits of its job: memory, tasks, CPU time, CPUs")
def leaves():
    seen = set()

    def look(p):
        while p.poll() is None and not seen:
            for pid in descendants(1, "actord-actor"):
                try:
                    leaf = "/sys/fs/cgroup" + open(f"/proc/{pid}/cgroup").read().strip().split("::")[-1]
                    seen.add(tuple(open(f"{leaf}/{name}").read().strip() for name in ("memory.max", "pids.max", "cpu.max", "cpuset.cpus")))
                except OSError:
                    pass
            time.sleep(0.02)

    run(conf("MemoryMax=96M", "TasksMax=7", "CPUQuota=50%", "AllowedCPUs=1"), "Environment.Spin=500", during=look, timeout=240)
    assert len(seen) == 1, seen
    memory, tasks, cpu, cpus = seen.pop()
    equal((memory, tasks, cpus), (str(96 << 20), "7", "1"), "limits")
    quota, period = map(int, cpu.split())
    equal(quota * 2, period, "quota and period")


@story("CPUQuota= halves what an actor gets of a CPU")
def quota():
    # An invocation takes a second of CPU time, ten times the kernel's period of 100 ms: a short one that begins late in
    # one period may use the rest of that and the whole of the next one, and so have well over half.
    fast = run(conf(), "Environment.Spin=2000", "Actor.RolloutSteps=512", timeout=240)
    slow = run(conf("CPUQuota=50%"), "Environment.Spin=2000", "Actor.RolloutSteps=512", timeout=240)

    # Of each invocation's own time, which a busy host or the learner does not change.
    def share(r):
        rows = sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True)
        return rows.execute("SELECT sum(cpu_nsec) * 1.0 / sum(end_nsec - start_nsec) FROM records WHERE kind = 2").fetchone()[0]

    assert share(slow) < 0.65 and share(slow) < 0.8 * share(fast), (share(fast), share(slow))
    equal(slow.policy_sha256, fast.policy_sha256, "policies")


@story("AllowedCPUs= keeps actors on the CPUs that were given")
def cpus():
    seen = set()

    def look(p):
        while p.poll() is None:
            for pid in descendants(1, "actord-actor"):
                try:
                    seen.add(re.search(r"Cpus_allowed_list:\s+(\S+)", open(f"/proc/{pid}/status").read()).group(1))
                except OSError:
                    pass
            time.sleep(0.02)

    run(conf("AllowedCPUs=1"), "Environment.Spin=500", during=look, timeout=180)
    assert "1" in seen, seen


tell()
