#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs of an ordinary user on a Slurm cluster: the same policy on any number of nodes, whatever happens to them, and Slurm's own account of what they
cost."""
import contextlib, shlex
from cluster import *
import bus as buses

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = os.path.join(CLUSTER, "actord")
# The learner may be stopped for as long as nodes take to come up.
# Ten actors have a CPU each here and on four nodes, so that each node has some.
JOB = ("Job.Seed=3", "Job.StopReturn=", "Job.StopSteps=819200", "Actor.RolloutSteps=128", "Learner.Epochs=2", "Learner.TimeoutSec=3600",
       "Scaling.Actors=10", "Scaling.KeepAliveSec=1")
ON_NODES = "Distribution.Cluster=slurm"
MINUTES = 2


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


def command(*sets, conf=None):
    words = [os.path.join(PROGRAMS, "actorctl"), "run", conf or os.path.join(PROGRAMS, "cartpole.conf"), "--json"]
    return words + set_words(*JOB, *sets)


def state_of(user="tester"):
    """A folder for a user's runs, and the variables that name it."""
    install()
    path = tempfile.mkdtemp(prefix="run-", dir=CLUSTER)
    os.chown(path, AS[user], AS[user])
    return path, [*as_user(user), f"XDG_STATE_HOME={path}", f"XDG_DATA_HOME={path}"]


class Run:
    """`actorctl run` of the tester; `with Run(...) as r: ...; r.end()`."""

    def __init__(self, nodes, *sets, user="tester", cluster=True, conf=None):
        _, before = state_of(user)
        words = [*before, *command(*((ON_NODES, f"Distribution.Nodes={nodes}") if cluster else ()), *sets, conf=conf)]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def begin(self, n, hold=False):
        begin(n, lambda: descendants(self.process.pid, "actord-learner"), hold)
        return jobs_of_nodes()

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


def invokers_of_nodes():
    """The invokers that have actors. They have namespaces of their own, so that nothing tells on which node they are. Their spawner has ended, or stays
    in its step."""
    found = processes()
    parents = {parent for parent, comm in found.values() if comm == "actord-actor"}

    def is_below(pid, comm):
        while pid in found and found[pid][1] != comm:
            pid = found[pid][0]
        return pid in found

    return [pid for pid, (parent, comm) in found.items()
            if comm == "actord-invoker" and pid in parents and (parent == 1 or is_below(pid, "slurmstepd"))]


def jobs_of_nodes():
    """{number of the node: Slurm's job}."""
    return {int(node[1:]): job for job, (state, node) in queue().items() if state == "RUNNING"}


def signal_actors(number):
    for invoker in invokers_of_nodes():
        for actor in descendants(invoker, "actord-actor"):
            os.kill(actor, number)


def begin(n, learners, hold=False, others=0):
    """Waits until n nodes have actors; `hold`: and stops these, so that they keep their orders. The learner waits meanwhile, or goes on for a round or two, so that
    no host is too fast or too slow for a story. `others`: invokers in steps of Slurm that are no node's."""
    pid = wait_for("the learner is there", learners, SECONDS)[0]
    os.kill(pid, signal.SIGSTOP)
    wait_for(f"{n} nodes are up", lambda: len(children_of_slurm("actord-carrier")) >= n, SECONDS)

    def have_actors():
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.02)
        os.kill(pid, signal.SIGSTOP)
        return len(invokers_of_nodes()) >= n + others

    wait_for(f"{n} nodes have actors", have_actors, SECONDS)
    if hold:
        signal_actors(signal.SIGSTOP)
    os.kill(pid, signal.SIGCONT)


_reference = []


def reference():
    """The policy without nodes."""
    if not _reference:
        with Run(0, cluster=False) as r:
            _reference.append(r.end()["policy_sha256"])
    return _reference[0]


@contextlib.contextmanager
def other_width(n):
    """Makes actors of node n use plain C, whatever vectors its CPU has. The file's lines are the launches there."""
    real, notes = os.path.join(PROGRAMS, "actord-spawn"), os.path.join(CLUSTER, "launches")
    shutil.copy(real, real + "-real")
    with open(notes, "w"), open(os.path.join(PROGRAMS, "other-width.json"), "w") as f:
        json.dump({"at": offset_of("kernel_class"), "value": 1, "log": notes}, f)
    os.chmod(notes, 0o666)
    shell(*in_mounts_of(n), "mount", "--bind", os.path.join(HERE, "other-width.py"), real)
    try:
        yield notes
    finally:
        shell(*in_mounts_of(n), "umount", real)


@story("a job on 1, 2 and 4 nodes, one of which has narrower vectors, has the policy that it has on none, and each node cost what sacct says")
def same_policy():
    want = reference()
    for n in (1, 2, 4):
        with other_width(4) as notes, Run(n) as r:
            jobs = r.begin(n)
            result = r.end()
            launches = open(notes).read().split()
        equal(result["policy_sha256"], want, f"policies on {n} nodes")
        assert n < 4 or launches == ["launched"], launches
        assert result["nodes"]["max"] == n and result["nodes"]["lost"] == 0, (n, result["nodes"])
        seconds = [wait_for_accounts(job)[1] for job in jobs.values()]
        assert len(seconds) == n and abs(result["nodes"]["total_s"] - sum(seconds)) <= n, (result["nodes"], seconds)


@story("with a node's invoker, a step and a slurmd killed, and a signal of Slurm, the policy is the same")
def same_policy_when_killed():
    want = reference()
    with Run(4) as r:
        jobs = r.begin(4, hold=True)
        os.kill(invokers_of_nodes()[0], signal.SIGKILL)
        first = wait_for("the node without its invoker is left", lambda: [n for n in jobs if not children_of_slurm("actord-cluster", n)], SECONDS)
        a, b, c = sorted(set(jobs) - set(first))
        for pid in children_of_slurm("actord-cluster", a):
            os.kill(pid, signal.SIGKILL)
        for comm in ("slurmd", "slurmstepd", "actord-cluster"):
            for pid in children_of_slurm(comm, b):
                os.kill(pid, signal.SIGKILL)
        shell("scancel", "--signal=TERM", "--full", jobs[c])
        result = r.end()
    assert result["nodes"]["lost"] >= 4, result["nodes"]
    equal(result["policy_sha256"], want)


@story("with a cable that is pulled, a node that stalls and one that Slurm gives to another job, the policy is the same")
def same_policy_when_unreachable():
    want = reference()
    with Run(3) as r:
        jobs = r.begin(3, hold=True)
        cut, stalled, preempted = sorted(jobs)
        shell(*as_user("stranger"), "sbatch", "--parsable", "--chdir=/", "--output=/dev/null", "--partition=urgent", f"--nodelist=n{preempted}",
              "--exclusive", "--wrap", "sleep 300")
        shell("ip", "link", "set", f"v{cut}", "down")
        for pid in children_of_slurm("actord-cluster", stalled):
            os.kill(pid, signal.SIGSTOP)
        result = r.end()
        equal(wait_for_accounts(jobs[preempted])[0], "PREEMPTED", "what has become of the third")
    assert result["nodes"]["lost"] >= 3, result["nodes"]
    equal(result["policy_sha256"], want)


@story("to a node that does not see the folder of actord the programs travel by sbcast, the policy is the same, and nothing is left there")
def same_policy_by_sbcast():
    want = reference()
    shell(*in_mounts_of(2), "mount", "-t", "tmpfs", "hidden", PROGRAMS)
    try:
        with Run(4) as r:
            jobs = r.begin(4)
            folder = os.path.dirname(os.readlink(f"/proc/{children_of_slurm('actord-cluster', 2)[0]}/exe"))
            assert 2 in jobs and re.fullmatch(r"/tmp/actord-[0-9a-f]{32}-\d+", folder), (jobs, folder)
            result = r.end()
        wait_for("the folder is removed", lambda: not os.path.exists(folder), SECONDS)
    finally:
        shell(*in_mounts_of(2), "umount", PROGRAMS)
    equal((result["nodes"]["max"], result["nodes"]["lost"]), (4, 0), "nodes that were up, and were lost")
    equal(result["policy_sha256"], want)


@story("a plugin in a folder that nodes do not see travels with the job, the policy is the same with one of the nodes killed, and no file is left there")
def same_policy_of_plugin():
    install()
    folder = os.path.join(CLUSTER, "plugin")
    os.mkdir(folder)
    shutil.copy(shared_library(HOSTILE), folder)
    os.chmod(folder, 0o755)
    conf = os.path.join(folder, "plugin.conf")
    with open(conf, "w") as f:
        f.write("[Job]\nEnvironment=./hostile-env.so\nStopSteps=1000\n")
    with Run(0, cluster=False, conf=conf) as r:
        want = r.end()["policy_sha256"]
    for n in range(1, 5):
        shell(*in_mounts_of(n), "mount", "-t", "tmpfs", "hidden", folder)
    before = set(os.listdir("/tmp"))
    try:
        with Run(2, "Actor.Retries=0", conf=conf) as r:
            r.begin(2, hold=True)
            victim = invokers_of_nodes()[0]
            signal_actors(signal.SIGCONT)
            os.kill(victim, signal.SIGKILL)
            result = r.end()
    finally:
        for n in range(1, 5):
            shell(*in_mounts_of(n), "umount", folder)
    assert result["nodes"]["max"] == 2 and result["nodes"]["lost"] >= 1, result["nodes"]
    equal(result["policy_sha256"], want)
    equal({name for name in set(os.listdir("/tmp")) - before if "plugin" in name}, set(), "files of the plugin")


@story("sbatch --wrap 'actorctl run': the nodes of the allocation are used and no other, the programs travel to one that does not see them, the policy "
       "is the same, and nothing is left there")
def same_policy_inside_allocation():
    want = reference()
    state, before = state_of()
    shell(*in_mounts_of(2), "mount", "-t", "tmpfs", "hidden", PROGRAMS)
    try:
        job = shell(*before, "sbatch", "--parsable", "--chdir=/", f"--output={state}/out", f"--error={state}/err", "--nodelist=n[1-2]", "--nodes=2",
                    "--exclusive", "--wrap", shlex.join(command(ON_NODES, "Distribution.Nodes=2")))
        begin(2, lambda: children_of_slurm("actord-learner"), others=1)
        equal(list(queue()), [job], "Slurm's jobs")
        folder = os.path.dirname(os.readlink(f"/proc/{children_of_slurm('actord-cluster', 2)[0]}/exe"))
        assert re.fullmatch(r"/tmp/actord-[0-9a-f]{32}-\d+", folder), folder
        wait_for("the job is over", lambda: not queue(), MINUTES * 60)
        with open(f"{state}/out") as out, open(f"{state}/err") as err:
            text = out.read()
            bear_witness(err.read().splitlines())
        result = json.loads(text)
    finally:
        shell(*in_mounts_of(2), "umount", PROGRAMS)
    assert not os.path.exists(folder), folder
    equal((result["nodes"]["max"], result["nodes"]["lost"]), (2, 0), "nodes that were up, and were lost")
    equal(result["policy_sha256"], want)


@story("a node whose clock differs by more than munge allows: its name, by how much, and what to do; another one comes, and the policy is the same")
def same_policy_beside_late_clock():
    want = reference()
    shell(*in_mounts_of(1), "mount", "--bind", late_munge(200), "/run/munge")
    try:
        with Run(2) as r:
            assert 1 not in r.begin(2)
            result = r.end()
    finally:
        shell(*in_mounts_of(1), "umount", "/run/munge")
    assert re.search(r"node \d is lost: n1: its clock is (19\d|20\d) s behind this host's .*; set the clocks of both by NTP", result["err"]), result["err"]
    equal((result["nodes"]["max"], result["nodes"]["lost"]), (2, 1), "nodes that were up, and were lost")
    equal(result["policy_sha256"], want)


@story("a user's daemon that is killed and started anew finds its job with the same nodes, and the policy is the same")
def same_policy_when_daemon_is_killed():
    want = reference()
    buses.BUILD = PROGRAMS
    words = (*JOB, ON_NODES, "Distribution.Nodes=2")
    with buses.Bus() as bus:
        job = bus.submit(overrides=[word.split("=", 1) for word in words])
        begin(2, lambda: bus.processes("actord-learner"), hold=True)
        bus.stop(signal.SIGKILL)
        bus.start()
        signal_actors(signal.SIGCONT)
        equal(bus.ended(job, MINUTES * 60), "finished", "how it ended")
        equal(bus.get(job, "PolicySHA256"), want, "policies")
        equal((bus.get(job, "NodesMax"), bus.get(job, "NodesLost"), bus.get(job, "Life")), (2, 0, 1), "nodes that were up and were lost, and lives")
    restore_nodes()


@story("verify asks Slurm what it would say to a job's nodes, and says what to do")
def verified():
    install()
    for sets, status, words in (((), 0, "fine"),
                                (("Slurm.Partition=nope",), 2, r"Cluster=slurm: the cluster would give no node: partition nope .*\[Slurm\] Partition="),
                                (("Distribution.Nodes=5",), 2, "the cluster would give no node: .*Nodes=5: partition .* has only 4 nodes"),
                                (("Distribution.Policy=fused",), 2, "has no actors for nodes")):
        words_of = set_words(ON_NODES, "Distribution.Nodes=1", *sets)
        p = subprocess.run([*as_user("tester"), os.path.join(PROGRAMS, "actorctl"), "verify", os.path.join(PROGRAMS, "cartpole.conf"), *words_of],
                           capture_output=True, text=True, timeout=SECONDS * PATIENCE)
        assert p.returncode == status and re.search(words, p.stdout + p.stderr), (sets, p)
    assert not queue(), queue()


@story("a killed actorctl run leaves no allocation behind")
def nothing_left():
    with Run(2, "Job.StopSteps=10000000") as r:
        r.begin(2)
        r.process.kill()
        wait_for("the allocations are given back", lambda: not queue(), SECONDS)


if not os.path.exists(os.path.join(BUILD, "actord-cluster")):
    print("1..0 # SKIP actord-cluster was not built: libmunge or GnuTLS is missing")
else:
    tell()
