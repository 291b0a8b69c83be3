#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""System and user mode under a real systemd: the installed product, as an administrator and as an ordinary user. Runs as root inside the lane,
where `make install` has been done."""
import glob, json, os, shutil, signal, subprocess, sys, time
from story import *

SMALL = ("--set", "Scaling.Actors=4", "--set", "Actor.RolloutSteps=24", "--set", "Learner.MinibatchSize=96", "--set", "Learner.Epochs=4",
         "--set", "Job.StopSteps=6000", "--set", "Job.StopReturn=", "--seed", "7")


def sh(*args, check=True, timeout=60, **kw):
    r = subprocess.run(args, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, **kw)
    if check and r.returncode != 0:
        raise AssertionError(f"{' '.join(args)} ended with {r.returncode}: {r.stdout[-500:]} {r.stderr[-1000:]}")
    return r


def as_tester(*args, **kw):
    env = ["XDG_RUNTIME_DIR=/run/user/" + tester_uid(), "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/" + tester_uid() + "/bus",
           "HOME=" + os.path.expanduser("~tester")]
    return sh("runuser", "-u", "tester", "--", "env", *env, *args, **kw)


def tester_uid():
    return sh("id", "-u", "tester").stdout.strip()


def example(name):
    found = glob.glob(f"/usr/share/doc/actord/examples/{name}.conf") or glob.glob(f"/usr/share/actord/examples/{name}.conf")
    return found[0] if found else os.path.join(EXAMPLES, name + ".conf")


def prop(job, name, bus="--system", runner=sh):
    """A property of a job, read from the bus without our programs."""
    r = runner("busctl", bus, "--json=short", "get-property", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", name)
    return json.loads(r.stdout)["data"]


def submit(*args, runner=sh, mode="--system"):
    r = runner("actorctl", mode, "submit", *args)
    return int(re.search(r"\d+", r.stdout).group())


def ended(job, seconds=60, **kw):
    wait_for(f"the end of job {job}", lambda: prop(job, "State", **kw) == "ended", seconds)
    return prop(job, "Result", **kw)


shas = {}


@story("the daemon starts, answers on the bus, and has no capability")
def starts():
    sh("systemctl", "start", "actord.service")
    assert "org.actord1.Manager" in sh("busctl", "--system", "introspect", "org.actord1", "/org/actord1").stdout
    pid = sh("systemctl", "show", "-P", "MainPID", "actord.service").stdout.strip()
    status = open(f"/proc/{pid}/status").read()
    assert re.search(r"CapEff:\s+0+\n", status), status
    assert re.search(r"NoNewPrivs:\s+1", status), status
    assert not re.search(r"Uid:\s+0\s", status), status


@story("a job of root: full sandbox, a delegated scope, leaves for each, a uid of its own")
def root_job():
    job = submit(example("hopper"), "--set", "Scaling.Actors=2")
    wait_for("actors", lambda: len(pids("actord-actor")) == 2, 20)
    wait_for("a round", lambda: prop(job, "Round") > 0, 30)
    equal(prop(job, "SandboxLevel"), "full", "levels")
    unit = prop(job, "Unit")
    equal(sh("systemctl", "is-active", unit).stdout.strip(), "active", unit)
    uids, groups = set(), set()
    for p in pids("actord-actor"):
        status = open(f"/proc/{p}/status").read()
        uids.add(re.search(r"Uid:\s+(\d+)", status).group(1))
        groups.add(open(f"/proc/{p}/cgroup").read().strip().split("::")[-1])
        assert re.search(r"CapEff:\s+0+\n", status) and re.search(r"CapBnd:\s+0+\n", status), status
        assert re.search(r"Seccomp:\s+2", status) and re.search(r"NoNewPrivs:\s+1", status), status
        for ns in ("mnt", "pid", "ipc", "uts", "net", "cgroup", "user"):
            assert os.readlink(f"/proc/{p}/ns/{ns}") != os.readlink(f"/proc/1/ns/{ns}"), ns
        assert not os.path.exists(f"/proc/{p}/root/etc/passwd")
    assert len(uids) == 2 and len(groups) == 2 and all(unit in g for g in groups), (uids, groups)
    sh("actorctl", "stop", str(job))
    equal(ended(job, 20), "interrupted", "results")
    wait_for("the scope's end", lambda: sh("systemctl", "is-active", unit, check=False).stdout.strip() != "active", 10)
    assert not pids("actord-actor") and not pids("actord-learner") and not pids("actord-invoker")


@story("an ordinary user submits; the policy is that of run mode and of user mode")
def modes():
    r = ctl("run", example("cartpole"), "--json", *SMALL)
    shas["run"] = r.policy_sha256
    job = submit(example("cartpole"), *SMALL, runner=as_tester)
    equal(ended(job), "finished", f"results ({prop(job, 'Fault')})")
    shas["system"] = prop(job, "PolicySHA256")
    equal(prop(job, "UserId"), int(tester_uid()), "owners")
    job = submit(example("cartpole"), *SMALL, runner=as_tester, mode="--user")
    equal(ended(job, bus="--user", runner=as_tester), "finished", "results")
    shas["user"] = prop(job, "PolicySHA256", bus="--user", runner=as_tester)
    assert len(set(shas.values())) == 1, shas


@story("a job of the daemon with Profile=yes leaves in its state directory where the time of its rounds went")
def profile():
    job = submit(example("cartpole"), *SMALL, "--set", "Job.Profile=yes")
    equal(ended(job), "finished", "results")
    (path,) = glob.glob(f"/var/lib/actord/jobs/{job}/state/profile")
    found = dict(re.findall(r"^(\w+)=(\d+)$", open(path).read(), re.M))
    equal(int(found["rounds"]), prop(job, "Round"), "rounds")
    assert int(found["gradient_nsec"]) > 0 and int(found["environment_nsec"]) > 0, found


@story("an ordinary user may not stop another's job, nor ask for Sandbox=none")
def access():
    job = submit(example("hopper"))
    r = as_tester("actorctl", "--system", "stop", str(job), check=False)
    assert r.returncode != 0 and prop(job, "State") != "ended", (r.returncode, r.stderr)
    r = as_tester("actorctl", "--system", "submit", example("cartpole"), "--set", "Actor.Sandbox=none", check=False)
    assert r.returncode != 0 and "Sandbox" in r.stderr, r.stderr
    sh("actorctl", "stop", str(job))
    ended(job, 20)
    # Its files belong to other user ids, and only those may remove them.
    r = as_tester("actorctl", "--system", "remove", str(job), check=False)
    assert r.returncode != 0 and "authorization" in r.stderr, r.stderr
    mine, place = submit(example("cartpole"), *SMALL, runner=as_tester), "/var/lib/actord/jobs/"
    equal(ended(mine), "finished", "results")
    assert os.listdir(f"{place}{mine}/state") and os.listdir(f"{place}{job}/state")
    as_tester("actorctl", "--system", "remove", str(mine))
    sh("actorctl", "remove", str(job))
    wait_for("both directories are gone", lambda: not [d for d in os.listdir(place) if d.removeprefix("removed-").split("-")[0] in (str(mine), str(job))], 10)


@story("the daemon is killed in the middle of a run and its next life adopts the job: same policy, same bill")
def adoption():
    sets = ("--set", "Job.StopSteps=90000", "--set", "Actor.RolloutSteps=512", "--set", "Checkpoint.IntervalSec=1")
    calm = submit(example("hopper"), *sets, "--seed", "5")
    equal(ended(calm), "finished", "results")
    job = submit(example("hopper"), *sets, "--seed", "5")
    wait_for("some rounds", lambda: prop(job, "Round") >= 3, 30)
    invoker = pids("actord-invoker")
    sh("systemctl", "kill", "-s", "KILL", "actord.service")
    time.sleep(0.3)
    equal(pids("actord-invoker"), invoker, "invokers")
    wait_for("the daemon's next life", lambda: sh("busctl", "--system", "status", "org.actord1", check=False).returncode == 0, 20)
    equal(ended(job), "finished", "results")
    equal(prop(job, "PolicySHA256"), prop(calm, "PolicySHA256"), "policies")
    for name in ("EnvSteps", "Episodes", "Round", "InvocationsTotal"):
        equal(prop(job, name), prop(calm, name), name)
    assert prop(job, "Life") == 1


@story("jobs queue when MaxJobs= is reached, and a queued job survives a restart of the daemon, with the directory of its model")
def queue():
    most = json.loads(sh("busctl", "--system", "--json=short", "get-property", "org.actord1", "/org/actord1", "org.actord1.Manager",
                         "MaxJobs").stdout)["data"]
    jobs = [submit(example("hopper"), "--set", "Job.StopSteps=100000000") for _ in range(most + 1)]
    wait_for("a queued job", lambda: prop(jobs[-1], "State") == "queued", 10)
    os.makedirs("/opt/model")
    for name in "balance.conf", "balance.xml":
        shutil.copy(os.path.join(EXAMPLES, name), "/opt/model")
    model = submit("/opt/model/balance.conf", "--set", "Job.StopSteps=4096")
    restart_service()
    wait_for("the queue after the restart", lambda: prop(jobs[-1], "State") == "queued", 20)
    for job in jobs[:-1]:
        sh("actorctl", "stop", str(job))
    wait_for("the queued job's turn", lambda: prop(jobs[-1], "State") == "running", 30)
    sh("actorctl", "stop", str(jobs[-1]))
    for job in jobs:
        ended(job, 30)
    equal(ended(model), "finished", f"results ({prop(model, 'Fault')})")


def entries_of(job, *matches):
    """The journal's entries of a job."""
    return [json.loads(line) for line in sh("journalctl", "-o", "json", "--no-pager", f"ACTORD_JOB={job}", *matches).stdout.splitlines()]


@story("the journal tells each change of state and each failed actor, with message ids that the catalog explains")
def journal():
    job = submit(example("hopper"), "--set", "Job.StopSteps=16000")
    victim = wait_for("an actor", lambda: pids("actord-actor"), 20)[0]
    wait_for("a round", lambda: prop(job, "Round") >= 1, 20)
    os.kill(victim, signal.SIGKILL)
    equal(ended(job), "finished", "results")
    wait_for("the killed actor in the journal", lambda: any("signal 9" in e.get("MESSAGE", "") for e in entries_of(job)))
    entries = entries_of(job)
    assert len(entries) >= 4, entries
    catalog = sh("journalctl", "--dump-catalog", check=False).stdout
    for e in entries:
        if "MESSAGE_ID" in e:
            assert e["MESSAGE_ID"] in catalog, e
    assert sum("MESSAGE_ID" in e for e in entries) >= 3
    assert sh("actorctl", "logs", str(job), "--no-pager").stdout.count("\n") >= 4


@story("the journal has each decision with all that the scheduler saw")
def decisions_in_journal():
    job = submit(example("cartpole"), "--set", "Scaling.Policy=adapt", "--set", "Scaling.MaxActors=4", "--set", "Job.StopSteps=3000")
    equal(ended(job), "finished", "results")
    decisions = json.loads(sh("actorctl", "decisions", str(job), "--json").stdout)

    def by_number():
        return {int(e["ACTORD_DECISION"]): e for e in entries_of(job, "ACTORD_POLICY=adapt")}
    equal(len(decisions), 12, "decisions")
    wait_for("all decisions in the journal", lambda: {d["decision"] for d in decisions} <= set(by_number()))
    entries = by_number()
    for decision in decisions:
        entry = entries[decision["decision"]]
        equal(int(entry["ACTORD_ACTORS"]), decision["actors"], "actors")
        equal("ACTORD_SAW_ROUND_NSEC" in entry, decision["round_s"] is not None, "facts")
        for name in ("return_round", "kl", "episode_steps", "curvature_ratio"):
            told = entry.get(f"ACTORD_SAW_{name.upper()}")
            equal(told and float(told), decision[name], name)


@story("an invoker that dies takes its scope along; the job goes on in its next life, to the same policy")
def invoker_dies():
    sets = ("--set", "Job.StopSteps=20000", "--set", "Actor.RolloutSteps=512", "--set", "Checkpoint.IntervalSec=0.3", "--seed", "5")
    calm = submit(example("hopper"), *sets)
    equal(ended(calm), "finished", "results")
    job = submit(example("hopper"), *sets)
    wait_for("some rounds", lambda: prop(job, "Round") >= 8, 30)
    old = set(pids("actord-actor") + pids("actord-learner"))
    os.kill(pids("actord-invoker")[0], signal.SIGKILL)
    wait_for("the end of the old life", lambda: not old & set(processes()), 5)
    equal(ended(job), "finished", f"results ({prop(job, 'Fault')})")
    equal(prop(job, "PolicySHA256"), prop(calm, "PolicySHA256"), "policies")
    assert prop(job, "Life") >= 2
    # Two scopes were metered; usage that the first one's invoker did not report is a line of its own.
    parts = {k: prop(job, f"CPU{k}NSec") / 1e9 for k in ("Actors", "Learner", "Control", "Startup", "Lost")}
    total = prop(job, "CPUScopeNSec") / 1e9
    assert parts["Lost"] > 0 and abs(sum(parts.values()) - total) <= 0.01 * total, (parts, total)
    equal((prop(calm, "CPULostNSec"), prop(job, "LivesUnmetered")), (0, 0), "lost of a job with one life; lives not metered")
    slices = sh("systemctl", "list-units", "--plain", "--no-legend", "--all", "actord-job*.slice").stdout
    assert f"actord-job{job}.slice" not in slices, slices


@story("what was metered is what the job's scope says, within 1 %, in a job's scope and in those of each actor")
def books():
    for scope in ("job", "each"):
        job = submit(example("hopper"), "--set", "Scaling.Actors=2", "--set", "Job.StopSteps=24000", "--set", "Actor.ActorScope=" + scope)
        equal(ended(job), "finished", f"results ({prop(job, 'Fault')})")
        parts = {k: prop(job, f"CPU{k}NSec") / 1e9 for k in ("Actors", "Learner", "Control", "Startup")}
        total = prop(job, "CPUScopeNSec") / 1e9
        assert total > 0.1 and abs(sum(parts.values()) - total) <= 0.01 * total, (scope, parts, total)


@story("a daemon that hangs is noticed, and its next life adopts the job")
def watchdog():
    os.makedirs("/run/systemd/system/actord.service.d", exist_ok=True)
    with open("/run/systemd/system/actord.service.d/watchdog.conf", "w") as f:
        f.write("[Service]\nWatchdogSec=3s\n")
    sh("systemctl", "daemon-reload")
    restart_service()
    job = submit(example("hopper"), "--set", "Job.StopSteps=100000000")
    wait_for("a round", lambda: prop(job, "Round") > 0, 20)
    pid = sh("systemctl", "show", "-P", "MainPID", "actord.service").stdout.strip()
    time.sleep(6)
    equal(sh("systemctl", "show", "-P", "MainPID", "actord.service").stdout.strip(), pid, "a busy daemon keeps its watchdog quiet: pid")
    os.kill(int(pid), signal.SIGSTOP)
    wait_for("another daemon", lambda: sh("systemctl", "show", "-P", "MainPID", "actord.service").stdout.strip() not in (pid, "0"), 20)
    before = wait_for("the job", lambda: prop(job, "Round"), 10)
    wait_for("the next round", lambda: prop(job, "Round") > before, 20)
    equal(prop(job, "Life"), 1, "lives")
    sh("actorctl", "stop", str(job))
    ended(job, 20)
    os.unlink("/run/systemd/system/actord.service.d/watchdog.conf")
    sh("systemctl", "daemon-reload")
    restart_service()


@story("ActorScope=each puts each actor into a scope that systemctl shows")
def scope_each():
    job = submit(example("hopper"), "--set", "Actor.ActorScope=each", "--set", "Scaling.Actors=2")
    wait_for("a round", lambda: prop(job, "Round") > 0 or prop(job, "State") == "ended", 30)
    assert prop(job, "State") != "ended", prop(job, "Fault")
    units = sh("systemctl", "list-units", "--plain", "--no-legend", f"actord-job-{job}-actor-*.scope").stdout.split("\n")
    equal(len([u for u in units if u.strip()]), 2, "scopes")
    sh("actorctl", "stop", str(job))
    ended(job, 20)


@story("bill, list, show, cat and watch answer for a job that has ended")
def verbs():
    job = submit(example("cartpole"), *SMALL)
    ended(job)
    for verb in ("bill", "status", "show", "cat"):
        r = sh("actorctl", verb, str(job), "--no-pager")
        assert r.stdout.strip(), verb
    assert "CartPole-v1" in sh("actorctl", "list", "--no-pager").stdout
    assert json.loads(sh("actorctl", "list", "--json=short").stdout)
    r = sh("actorctl", "export", str(job), "--format=safetensors", "-o", "/tmp/policy.safetensors")
    assert os.path.getsize("/tmp/policy.safetensors") > 1000
    r = sh("actorctl", "status", "999999", check=False)
    assert r.returncode == 2 and "999999" in r.stderr, r.stderr


@story("at each level of the sandbox a job keeps to AllowedCPUs=, and its actors' peak memory is known")
def levels():
    for level in "full", "userns", "process":
        job = submit(example("cartpole"), "--set", "Actor.Sandbox=" + level, "--set", "Actor.AllowedCPUs=0", "--set", "Scaling.Actors=2", "--set",
                     "Job.StopReturn=", "--set", "Job.StopSteps=100000000")
        actors = wait_for("two actors", lambda: len(a := pids("actord-actor")) == 2 and a, 20)
        wait_for("a round", lambda: prop(job, "Round") > 2, 20)
        for pid in actors:
            assert re.search(r"^Cpus_allowed_list:\t0$", open(f"/proc/{pid}/status").read(), re.M), level
        equal(prop(job, "SandboxLevel"), level, "levels")
        sh("actorctl", "--system", "stop", str(job))
        ended(job)
        ledger = sqlite3.connect("file:/var/lib/actord/ledger.sqlite?mode=ro", uri=True)
        peaks = [row[0] for row in ledger.execute("SELECT memory_peak_bytes FROM records WHERE job = ? AND memory_peak_bytes > 0", (job,))]
        assert len(peaks) > 4 and min(peaks) > 1 << 19, (level, peaks[:5])


@story("systemctl --user restart actord: a job goes on with the same node of its cluster, and to the same policy")
def restart_of_user():
    folder = "/usr/lib/actord"
    if not os.path.exists(f"{folder}/actord-cluster"):
        raise Skip("actord-cluster was not built: libmunge or GnuTLS is missing")
    # A stand-in for the cluster, whose one node is this host.
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_in_cluster.py"), "/run/stand-in")
    os.chmod("/run/stand-in", 0o755)
    with open(f"{folder}/cluster.json", "w") as f:
        json.dump({"nodes": 1, "cpus": 4}, f)
    with open(f"{folder}/cluster.log", "w") as f:
        os.chmod(f.fileno(), 0o666)
    sh("mount", "--bind", "/run/stand-in", f"{folder}/actord-cluster")
    user = {"bus": "--user", "runner": as_tester}
    long = ("--set", "Job.StopSteps=960000")
    on_node = ("--set", "Distribution.Cluster=slurm", "--set", "Distribution.Nodes=1")
    try:
        calm = submit(example("cartpole"), *SMALL, *long, runner=as_tester, mode="--user")
        equal(ended(calm, **user), "finished", f"results ({prop(calm, 'Fault', **user)})")
        job = submit(example("cartpole"), *SMALL, *long, *on_node, runner=as_tester, mode="--user")
        wait_for("the node has actors", lambda: "node 1 " in open(f"{folder}/cluster.log").read() and prop(job, "Round", **user) > 0, 30)
        # The job does not end meanwhile, on a host of any speed.
        learner, programs = pids("actord-learner"), pids("actord-cluster")
        equal((len(learner), len(programs)), (1, 1), "processes")
        os.kill(learner[0], signal.SIGSTOP)
        try:
            as_tester("systemctl", "--user", "restart", "actord")
            equal(pids("actord-cluster"), programs, "what brings the nodes")
        finally:
            os.kill(learner[0], signal.SIGCONT)
        equal(ended(job, **user), "finished", f"results ({prop(job, 'Fault', **user)})")
    finally:
        sh("umount", f"{folder}/actord-cluster")
    equal([prop(job, name, **user) for name in ("NodesMax", "NodesLost", "Life")], [1, 0, 1], "nodes that were up and were lost, and lives")
    equal(prop(job, "PolicySHA256", **user), prop(calm, "PolicySHA256", **user), "policies")


@story("the daemon exits when idle and the bus starts it again")
def idle():
    sh("systemctl", "stop", "actord.service")
    assert "org.actord1.Manager" in sh("busctl", "--system", "introspect", "org.actord1", "/org/actord1").stdout
    equal(sh("systemctl", "is-active", "actord.service").stdout.strip(), "active", "unit")


tell()
