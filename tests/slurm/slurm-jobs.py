#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs of an ordinary user on a Slurm cluster: the same policy on any number of nodes, whatever becomes of them, and Slurm's own account of what they cost."""
from cluster import *

PROGRAMS = os.path.join(CLUSTER, "actord")
JOB = ("Job.Seed=3", "Actor.RolloutSteps=256", "Scaling.Actors=8", "Scaling.KeepAliveSec=1")
MINUTES = 2
# A job must outlast the start of its nodes, on a host of any speed.
JOB_SECONDS = 5


def install():
    """Where an ordinary user sees it, whatever the build folder's mode: on the head as on the nodes, as a home directory would be."""
    if os.path.exists(PROGRAMS):
        return
    os.mkdir(PROGRAMS)
    for name in os.listdir(BUILD):
        path = os.path.join(BUILD, name)
        if os.path.isfile(path) and (name.startswith("actor") or name.endswith(".so")):
            shutil.copy(path, PROGRAMS)
    shutil.copytree(os.path.join(BUILD, "share"), os.path.join(PROGRAMS, "share"))
    shutil.copy(os.path.join(EXAMPLES, "cartpole.conf"), PROGRAMS)


class Run:
    """`actorctl run` of the tester; `with Run(...) as r: ...; r.end()`."""

    def __init__(self, nodes, *sets, user="tester", cluster=True):
        install()
        self.state = tempfile.mkdtemp(prefix="run-", dir=CLUSTER)
        os.chown(self.state, AS[user], AS[user])
        words = [*as_user(user), f"XDG_STATE_HOME={self.state}", f"XDG_DATA_HOME={self.state}", os.path.join(PROGRAMS, "actorctl"), "run",
                 os.path.join(PROGRAMS, "cartpole.conf"), "--json"]
        for s in (*JOB, *((f"Distribution.Cluster=slurm", f"Distribution.Nodes={nodes}") if cluster else ()), *sets):
            words += ["--set", s]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self):
        try:
            out, err = self.process.communicate(timeout=MINUTES * 60 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        bear_witness(err.splitlines())
        assert self.process.returncode == 0, (self.process.returncode, err[-2000:])
        result = json.loads(out)
        result["err"] = err
        return result

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.process.kill()
            out, err = self.process.communicate()
            if kind:
                bear_witness(err.splitlines())
        restore_nodes()


def running(n):
    return lambda: sum(state == "RUNNING" for state, _ in queue().values()) >= n and len(children_of_slurm("actord-invoker")) > n


_reference = {}


def reference():
    """{steps, policy}: of a job that takes about JOB_SECONDS here without nodes."""
    if not _reference:
        steps, seconds = 65536, 0
        while seconds < JOB_SECONDS:
            steps = int(steps * min(max(1.2 * JOB_SECONDS / max(seconds, 0.5), 1.2), 20)) if seconds else steps
            begun = time.monotonic()
            with Run(0, f"Job.StopSteps={steps}", cluster=False) as r:
                policy = r.end()["policy_sha256"]
            seconds = time.monotonic() - begun
        _reference.update(steps=steps, policy=policy)
    return _reference


@story("a job on 1, 2 and 4 nodes has the policy that it has on none, and each node cost what sacct says")
def same_policy():
    want = reference()
    steps = f"Job.StopSteps={want['steps']}"
    for n in (1, 2, 4):
        before = {line.split("|")[0] for line in shell("sacct", "-X", "-P", "-n", "-a", "-o", "JobID").splitlines()}
        with Run(n, steps) as r:
            result = r.end()
        equal(result["policy_sha256"], want["policy"], f"policies on {n} nodes")
        assert result["nodes"]["max"] == n and result["nodes"]["lost"] == 0, (n, result["nodes"])
        jobs = [line.split("|")[0] for line in shell("sacct", "-X", "-P", "-n", "-a", "-o", "JobID").splitlines()]
        seconds = [wait_for_accounts(job)[1] for job in jobs if job not in before]
        assert abs(result["nodes"]["total_s"] - sum(seconds)) <= len(seconds), (result["nodes"], seconds)


@story("with a node's invoker, a step and a slurmd killed, and a signal of Slurm, the policy is the same")
def same_policy_when_killed():
    want = reference()
    with Run(4, f"Job.StopSteps={want['steps']}") as r:
        wait_for("the nodes run", running(4), SECONDS)
        hosts = sorted(int(node[1:]) for state, node in queue().values() if state == "RUNNING")
        for pid in children_of_slurm("actord-invoker", hosts[0])[:1]:
            os.kill(pid, signal.SIGKILL)
        for pid in children_of_slurm("actord-cluster", hosts[1]):
            os.kill(pid, signal.SIGKILL)
        for comm in ("slurmd", "slurmstepd", "actord-cluster"):
            for pid in children_of_slurm(comm, hosts[2]):
                os.kill(pid, signal.SIGKILL)
        shell("scancel", "--signal=TERM", "--full", *[job for job, (_, node) in queue().items() if node == f"n{hosts[3]}"], check=False)
        result = r.end()
    assert result["nodes"]["lost"] >= 3, result["nodes"]
    equal(result["policy_sha256"], want["policy"])


@story("a killed actorctl run leaves no allocation behind")
def nothing_left():
    with Run(2, "Job.StopSteps=10000000") as r:
        wait_for("the nodes run", running(2), SECONDS)
        r.process.kill()
        wait_for("the allocations are given back", lambda: not queue(), SECONDS)


if not os.path.exists(os.path.join(BUILD, "actord-cluster")):
    print("1..0 # SKIP actord-cluster was not built: libmunge or GnuTLS is missing")
else:
    tell()
