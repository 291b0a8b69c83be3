#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""actorctl run, from the outside: what scripts rely on, how jobs end, which files stay, and whether the books balance."""
import contextlib, os, shlex, shutil, signal, subprocess, time
from story import *

FIELDS = {"state": str, "environment": str, "algorithm": str, "seed": int, "scaling_policy": str, "actors_max": int, "rounds": int, "env_steps": int,
          "episodes": int, "target_reached": bool, "wall_s": (int, float), "emulated_s": (int, float), "policy_sha256": str,
          "cost": dict, "cpu_s": dict, "invocations": dict, "limits_not_enforced": list}


def bill_adds_up(r):
    lines = r.cost["lines"]
    assert lines
    assert close(sum(l["amount"] for l in lines), r.cost["full"]), r.cost
    assert close(sum(l["amount"] for l in lines if l["paper"]), r.cost["paper"]), r.cost
    assert 0 < r.cost["paper"] <= r.cost["full"], r.cost


@story("CartPole reaches its target within 100,000 steps, in one JSON object with every field")
def cartpole():
    r = run("cartpole", seed=3)
    for key, kind in FIELDS.items():
        assert isinstance(getattr(r, key), kind), (key, getattr(r, key))
    assert re.fullmatch("[0-9a-f]{64}", r.policy_sha256)
    assert r.return_mean >= 475 and r.target_reached and r.state == "target-reached", r.json
    assert r.target_env_steps == r.env_steps <= 100_000
    assert set(r.invocations) >= {"total", "cold", "warm", "retried"}
    equal(r.invocations["total"], r.rounds * r.actors_max, "invocations")
    bill_adds_up(r)


@story("a run says which scheduler decided, and how many actors its rounds had")
def scheduled():
    example, words = os.path.join(EXAMPLES, "elastic.conf"), ["--quiet", "--set", "Job.StopSteps=6000"]
    r = ctl("run", example, *words)
    runs = os.path.join(STATE, "actord", "runs")
    newest = max(os.listdir(runs), key=int)
    counts = [d["actors"] for d in json.load(open(os.path.join(runs, newest, "decisions.json")))]
    assert f"\nscheduler     adapt, {sum(counts) / len(counts):.2f} actors a round, from 2 to 12\n" in r.out, (counts, r.out)
    assert "\nscheduler     fixed, 3 actors a round\n" in ctl("run", example, *words, "--set", "Scaling.Policy=fixed", "--set", "Scaling.Actors=3").out
    equal(ctl("run", example, *words, "--json").scaling_policy, "adapt", "policy")


@story("Catch is learned from pixels")
def catch():
    r = run("catch", seed=3)
    assert r.return_mean >= 0.96 and r.target_reached, r.json


@story("Pendulum learns nothing in 2 rounds, and the result says so")
def pendulum():
    r = run("pendulum", "Job.StopSteps=8192", "Job.StopReturn=")
    equal(r.state, "finished", "states")
    assert not r.target_reached and r.json["target_env_steps"] is None


@story("frozen actors cost what they reserve, in the full total alone; without them each comes cold again")
def warm_pool():
    rounds = ["Scaling.Policy=schedule", "Scaling.MaxActors=4", "Scaling.Schedule=4*2 1*4 4*2 1*4", "Job.StopSteps=7168", "Job.StopReturn=",
              "Billing.Clock=model", "Learner.MinibatchSize=", "Learner.Threads=1"]
    kept, ended = run("cartpole", *rounds), run("cartpole", *rounds, "Scaling.WarmActors=0")
    equal(ended.policy_sha256, kept.policy_sha256, "policies")

    def amounts(r, kind):
        return [line for line in r.cost["lines"] if line["kind"] == kind]
    assert kept.invocations["cold"] == 4 < ended.invocations["cold"], (kept.invocations, ended.invocations)
    idle, = amounts(kept, "provisioned")
    assert idle["amount"] > 0 and not idle["paper"] and not amounts(ended, "provisioned"), (kept.cost, ended.cost)
    for r in kept, ended:
        start, = amounts(r, "initialisation")
        assert not start["paper"] and start["quantity"] > 0.3 * r.invocations["cold"], r.cost
        bill_adds_up(r)


@story("calibrate measures this host, and a job under these times takes about as long as a metered one")
def calibrated():
    r = ctl("calibrate", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Learner.Threads=1")
    equal(r.status, 0, r.err)
    head, *lines = r.out.splitlines()
    assert head.startswith("# ") and lines[:2] == ["[Billing]", "Clock=model"], r.out
    note = lines[lines.index(next(l for l in lines if l.startswith("ColdStartSec="))) - 1]
    assert note.startswith("# ") and note.endswith("0.3 s."), r.out
    values = dict(line.split("=") for line in lines[2:] if not line.startswith("#"))
    equal(list(values), ["StepUSec", "UpdateUSec", "ColdStartSec", "WarmStartSec"], "keys")
    assert all(0 < float(values[k]) for k in ("StepUSec", "UpdateUSec", "ColdStartSec")), values
    assert 0 <= float(values["WarmStartSec"]) < float(values["ColdStartSec"]), values
    short = ["Job.StopSteps=10240", "Job.StopReturn=", "Learner.Threads=1", "Billing.ColdStartSec=0"]
    metered = run("cartpole", *short)
    model = run("cartpole", "Billing.Clock=model", *(f"Billing.{k}={v}" for k, v in values.items()), *short)
    assert 0.2 < model.emulated_s / metered.emulated_s < 5, (model.emulated_s, metered.emulated_s)
    wrong = ctl("calibrate", os.path.join(STATE, "none.conf"))
    equal(wrong.status, 2, wrong.err)


@story("calibrate measures rounds that learn, even while a replay store fills; it prints no cold start where there is none")
def calibrated_learning():
    path = os.path.join(EXAMPLES, "cartpole-dqn.conf")
    # An update takes its time, however many a round has; the time of a round without one would be divided among all.
    few, some, many = (ctl("calibrate", path, "--json", "--set", f"Learner.TrainRatio={ratio}") for ratio in (0.001, 0.1, 2))
    for r in few, some:
        assert 0.1 * many.update_usec < r.update_usec < 10 * many.update_usec, (r.json, many.json)
    assert some.cold_start_s > 0, some.json
    for name, setting in ("cartpole", "Actor.Processes=1"), ("cartpole", "Distribution.Policy=fused"), ("cartpole-a2c", "Distribution.Policy=async"):
        words = ["calibrate", os.path.join(EXAMPLES, name + ".conf"), "--set", setting, "--set", "Job.StopSteps=10000"]
        r = ctl(*words)
        assert r.status == 0 and "ColdStartSec" not in r.out and "\n# No cold start was measured" in r.out, (r.out, r.err)
        assert r.out.splitlines()[-1].startswith("WarmStartSec="), r.out
    assert ctl(*words, "--json").cold_start_s is None


@story("a budget ends the job within one round of it: status 3")
def budget():
    r = run("hopper", "Job.Budget=0.0000001", ok=False)
    equal((r.status, r.state, r.rounds), (3, "budget-exhausted", 1), "status, state and rounds")
    bill_adds_up(r)
    whole = run("hopper", "Job.StopSteps=40960")
    bound = whole.cost["full"] / 2
    part = run("hopper", f"Job.Budget={bound:.12f}", ok=False)
    equal(part.status, 3, "status")
    assert part.cost["full"] < bound + 2 * whole.cost["full"] / whole.rounds, (part.cost["full"], bound)
    assert part.cost["full"] > bound / 2, (part.cost["full"], bound)


@story("RuntimeMaxSec= and StopSteps= end a job cleanly")
def ends():
    r = run("hopper", "Job.RuntimeMaxSec=1", "Job.StopSteps=100000000")
    assert r.state == "finished" and r.wall_s >= 1 and r.env_steps < 100000000, r.json
    r = run("hopper", "Job.StopSteps=5000")
    equal(r.env_steps, 6144, "steps: whole rounds")


@story("Ctrl-C: status 130, an object, a checkpoint, and no process left")
def interrupt():
    def press(p):
        time.sleep(1.0)
        p.send_signal(signal.SIGINT)

    adopt_orphans()
    r = run("hopper", during=press, ok=False, timeout=30)
    equal((r.status, r.state), (130, "interrupted"), "status and state")
    bill_adds_up(r)
    wait_for("the end of every process", lambda: not left_over(), 5)
    assert any(f.endswith(".safetensors") for _, _, fs in os.walk(STATE) for f in fs), "no checkpoint was written"


@story("after Ctrl-C a run prints the command that goes on with it, its settings included")
def next_command():
    def press(p):
        wait_for("an actor", lambda: descendants(p.pid, "actord-actor"))
        p.send_signal(signal.SIGINT)

    given = ["run", os.path.join(EXAMPLES, "hopper.conf"), "--set", "Job.Description=two words", "--set", "Job.StopSteps=100000000"]
    r = ctl(*given, during=press)
    said = re.search(r"^goes on with `(.*)`$", r.out, re.M)
    assert r.status == 130 and said, (r.status, r.out, r.err)
    words = shlex.split(said[1])
    equal(words[1:-1], given, "the words")
    assert os.path.basename(words[0]) == "actorctl" and re.fullmatch(r"--from=r\d+", words[-1]), words


@story("limits that are not enforced are named once, in words; Sandbox=none is said loudly")
def limits():
    few = ("Job.StopSteps=512", "Job.StopReturn=")
    r = run("cartpole", *few)
    words = r.limits_not_enforced
    equal([line for line in r.err.splitlines() if "not enforced" in line],
          [f"actorctl: not enforced here: {', '.join(words)} (see --verbose)"] if words else [], r.err)
    told = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--verbose", *set_words(*few))
    equal(len(re.findall(r"(?m)^  \S.*$", told.err.partition("not enforced:")[2])), len(words), f"sentences for {words}: {told.err}")
    assert "NO SANDBOX" not in r.err, r.err
    r = run("cartpole", *few, "Actor.Sandbox=none")
    equal(r.err.count("NO SANDBOX"), 1, "warnings")
    assert {"namespaces", "identity", "landlock", "seccomp"} <= set(r.limits_not_enforced), r.limits_not_enforced


@story("--quiet leaves out the limits that are not enforced, and not that there is no sandbox")
def quiet():
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--quiet", "--set", "Job.StopSteps=512", "--set", "Job.StopReturn=", "--set", "Actor.Sandbox=none")
    equal((r.status, r.err.count("NO SANDBOX"), len(r.err.splitlines())), (0, 1, 1), r.err)


def runs():
    directory = os.path.join(STATE, "actord", "runs")
    return sorted(os.listdir(directory), key=int) if os.path.isdir(directory) else []


@story("a job that is refused leaves no run and prints one object; runs without a policy never push out those with one")
def refused():
    words = ["run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopSteps=512", "--set", "Job.StopReturn="]
    for n in range(22):                                       # as many as are kept, and more
        os.makedirs(os.path.join(STATE, "actord", "runs", str(int((runs() or [0])[-1]) + 1), "jobs/1/state"))
        open(os.path.join(STATE, "actord", "runs", runs()[-1], "jobs/1/state/checkpoint-1.safetensors"), "w").close()
    equal(ctl(*words).status, 0, "a run")
    before = runs()
    policy = os.path.join(STATE, "actord", "runs", before[-1])
    for wrong, said in ("Job.Budget=5EUR", "is in EUR"), ("Job.Budgt=5", "Budgt"):
        r = ctl(*words, "--set", wrong)
        assert r.status == 2 and said in r.err and not r.out, (r.status, r.out, r.err)
        r = ctl(*words, "--set", wrong, "--json")
        equal((r.status, r.state, r.result, runs()), (2, "refused", "refused", before), r.err)
        assert said in r.fault and r.fault in r.err, (r.fault, r.err)
    # every second one failed before its first round and left a checkpoint of an untrained policy
    untrained = "jobs/1/state/checkpoint-0.safetensors"
    for n in range(50):
        directory = os.path.join(STATE, "actord", "runs", str(int(before[-1]) + 1 + n))
        os.makedirs(os.path.join(directory, os.path.dirname(untrained)) if n % 2 else directory)
        if n % 2:
            open(os.path.join(directory, untrained), "w").close()
    equal(ctl(*words).status, 0, "a run after many without a policy")
    others = [os.path.join(STATE, "actord", "runs", n) for n in runs()]
    others = [d for d in others if not os.path.isdir(os.path.join(d, "jobs")) or os.path.exists(os.path.join(d, untrained))]
    equal(len(others), 20, "others that are kept")
    assert os.path.isdir(policy), "a policy was pushed out"
    for n in range(int(runs()[-1]) + 1, int(runs()[-1]) + 31):
        os.makedirs(os.path.join(STATE, "actord", "runs", str(n), "jobs/1/state"))
        open(os.path.join(STATE, "actord", "runs", str(n), "jobs/1/state/checkpoint-1.safetensors"), "w").close()
    equal(ctl(*words).status, 0, "a run after many")
    equal(len(runs()), 41, "20 with a policy, 20 others and the newest")
    directory = os.path.dirname(policy)
    r = ctl("bill", "r" + before[-1])
    equal((r.status, r.err), (2, f"actorctl: There is no run r{before[-1]} in {directory}: it was removed; the newest 20 are kept.\n"), "a run of before")


@story("CPUs that the host lacks are refused before anything starts; one that it has is enough")
def cpus():
    with open("/sys/devices/system/cpu/online") as f:
        online = f.read().strip()
    if int(re.split("[,-]", online)[-1]) >= 1000:
        raise Skip("this host has more than 1000 CPUs")
    path, before = os.path.join(STATE, "cpus.conf"), runs()[-1:]
    with open(path, "w") as f:
        f.write("[Job]\nEnvironment=CartPole-v1\nStopSteps=512\n[Actor]\nAllowedCPUs=1000-1023\n")
    for verb in "run", "verify":
        r = ctl(verb, path)
        equal((r.status, r.out, r.err, runs()[-1:]), (2, "", f"{path}:5: [Actor] AllowedCPUs=1000-1023: this host has CPUs {online}\n", before), verb)
    one = min(os.sched_getaffinity(0))
    equal(ctl("verify", path, "--set", f"Actor.AllowedCPUs={one},1000-1023").status, 0, "one of them is there")


@story("a run that one may not look into is refused with the reason, not taken for a word that means nothing")
def closed():
    before = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
    if before and subprocess.run([*before, "test", "-x", CTL]).returncode != 0:
        raise Skip("an ordinary user cannot reach the built tree")
    directory = os.path.join(STATE, "closed")
    os.makedirs(directory, mode=0)
    try:
        for verb in "bill", "status", "recover":
            r = ctl(verb, directory, before=before)
            equal((r.status, r.out, r.err), (1, "", f"actorctl: {directory} cannot be opened: permission denied; ask its owner for a copy\n"), verb)
        r = ctl("bill", "no-such-run")
        assert r.status == 2 and "nor a run" in r.err, (r.status, r.err)
    finally:
        os.chmod(directory, 0o700)


@story("recover names a run that does not exist, and says of a complete one that it lacks nothing")
def recovered():
    directory = os.path.join(STATE, "actord", "runs")
    if not runs():
        equal(run("cartpole", "Job.StopSteps=512", "Job.StopReturn=").status, 0, "a run")
    whole = next(n for n in runs() if os.path.exists(os.path.join(directory, n, "ledger.sqlite")))
    r = ctl("recover", whole)
    equal((r.status, r.out, r.err), (0, f"The run in {directory}/{whole} lacks nothing.\n", ""), "a whole run")
    r = ctl("recover", "7777")
    equal((r.status, r.out, r.err), (2, "", f"actorctl: There is no run r7777 in {directory}; `actorctl runs` lists them.\n"), "a number")
    r = ctl("recover", EXAMPLES)
    equal((r.status, r.out, r.err), (2, "", f"actorctl: There is no run in {EXAMPLES}: it has no ledger.sqlite.\n"), "a directory")


@story("kill -9 of actorctl, or of its daemon, leaves no process; of its daemon, what it did can be recovered as it says")
def orphans():
    for comm in ("actorctl", "actord"):
        def murder(p):
            wait_for("an actor", lambda: descendants(p.pid, "actord-actor"))
            os.kill(p.pid if comm == "actorctl" else descendants(p.pid, "actord")[0], signal.SIGKILL)

        adopt_orphans()
        r = run("hopper", during=murder, ok=False, timeout=30)
        assert r.status != 0
        wait_for(f"the end of every process after {comm} was killed", lambda: not left_over(), 5)
    said = re.search(r"ended unexpectedly \(signal 9 \[SIGKILL\]\), and the job with it; the job's records are in (\S+), and `actorctl recover r(\d+)`", r.err)
    assert said and said[1] == os.path.join(STATE, "actord", "runs", said[2]), r.err
    equal((r.state, r.result, sorted(r.json)), ("failed", "failed", ["fault", "result", "schema", "state", "state_directory"]), "the object")
    assert said[0] in r.fault and r.state_directory == said[1], r.json
    told = ctl("recover", said[2])
    assert told.status == 0 and "Job 1 has ended" in told.out, (told.out, told.err)


@story("the records of a run are shown without a service, by its number or directory, and nothing of it changes")
def records():
    r = run("cartpole", "Job.StopSteps=1024", "Job.StopReturn=")
    name = "r" + os.path.basename(r.state_directory)

    def files():
        return {os.path.join(d, f): os.stat(os.path.join(d, f)).st_mtime_ns for d, dirs, fs in os.walk(r.state_directory) for f in fs + ["."]}

    before = files()
    for word in (name, r.state_directory):
        equal(ctl("status", word, "--json").json["policy_sha256"], r.policy_sha256, "status")
        equal(ctl("bill", word, "--json").json["full"], r.cost["full"], "bill")
        equal([row["round"] for row in ctl("rounds", word, "--json").json], list(range(1, r.rounds + 1)), "rounds")
        assert "1 decision of run" in ctl("decisions", word, "--check").out, word
        assert "StopSteps=1024" in ctl("show", word).out and "Environment=CartPole-v1" in ctl("cat", word).out, word
    equal(ctl("status", name).out.splitlines()[0].split(" - ")[0], "run " + name, "heading")
    readers = [subprocess.Popen([CTL, "status", name, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()) for _ in range(4)]
    said = [p.communicate(timeout=60 * PATIENCE) for p in readers]
    equal([json.loads(out)["policy_sha256"] if out else err for out, err in said], [r.policy_sha256] * 4, "readers at once")
    equal(files(), before, "files of the run, and when they were written")
    link = os.path.join(STATE, "link-to-run")
    os.symlink(r.state_directory, link)
    equal(ctl("status", link, "--json").json["policy_sha256"], r.policy_sha256, "through a link")
    reading = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'mount --bind {STATE} {STATE} && mount -o remount,ro,bind {STATE} && exec "$@"', "sh")
    if subprocess.run([*reading, "true"], capture_output=True).returncode == 0:
        equal(ctl("status", r.state_directory, "--json", before=reading).json["policy_sha256"], r.policy_sha256, "on a read-only disk")
    # Beside directories of runs, a number is that of a daemon's job nevertheless.
    beside = os.path.join(STATE, "beside")
    shutil.copytree(r.state_directory, os.path.join(beside, "1"))
    equal(ctl("status", name, "--json", before=("env", "-C", beside)).json["policy_sha256"], r.policy_sha256, "beside run 1")
    for verb in "status", "stop", "remove":
        assert "is a run of" not in ctl(verb, "1", "--user", before=("env", "-C", beside)).err, verb

    policy = os.path.join(STATE, "of-run.safetensors")
    equal(ctl("export", name, "-o", policy).status, 0, "export")
    equal(ctl("eval", name, "--episodes=2", "--json").json["policy_sha256"], r.policy_sha256, "eval")
    equal(ctl("eval", policy, "--episodes=2", "--json").json["policy_sha256"], r.policy_sha256, "eval of the copy")
    equal(ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", "--set=Job.StopSteps=2048", "--from=" + name).rounds, r.rounds, "rounds to go")


@story("a run that is going on, one that was left early, and one that is not there are refused in words")
def records_refused():
    runs = os.path.join(STATE, "actord", "runs")
    seen = []

    def look_and_kill(p):
        wait_for("an actor", lambda: descendants(p.pid, "actord-actor"))
        newest = max(os.listdir(runs), key=int)
        seen.extend((newest, ctl("bill", "r" + newest)))
        os.kill(descendants(p.pid, "actord")[0], signal.SIGKILL)

    run("hopper", during=look_and_kill, ok=False)
    newest, during = seen
    assert during.status == 1 and f"the run in {runs}/{newest} is still in progress" in during.err, during.err
    left = ctl("rounds", "r" + newest)
    assert left.status == 1 and f"`actorctl recover r{newest}`" in left.err and "Job 1 has ended" not in left.err, left.err
    equal(ctl("recover", "r" + newest).status, 0, "recover")
    equal(ctl("rounds", "r" + newest, "--json").status, 0, "rounds after it")
    for word, sentence in (("r77777", f"There is no run r77777 in {runs};"), (EXAMPLES, "nor a run (`actorctl runs`): write r7"), ("rx", "nor a run (`actorctl runs`): write r7")):
        r = ctl("bill", word)
        assert r.status == 2 and sentence in r.err and not r.out, r.err
    for verb in "watch", "stop", "logs", "remove":
        r = ctl(verb, "r" + newest)
        assert r.status == 2 and f"r{newest} is a run of `actorctl run`" in r.err, (verb, r.err)
    equal(left_over(), {}, "processes")


@story("--json prints one object also where the daemon is killed before it has taken the job, and where Ctrl-C leaves at once")
def one_object():
    def kill_at_once(p):
        pid = wait_for("the daemon", lambda: p.poll() is not None or descendants(p.pid, "actord"))[0]
        os.kill(pid, signal.SIGKILL)

    def interrupt_twice(p):
        wait_for("an actor", lambda: descendants(p.pid, "actord-actor"))
        p.send_signal(signal.SIGINT)
        wait_for("its being asked to stop", lambda: f"SigPnd:\t{0:016x}" in open(f"/proc/{p.pid}/status").read() and
                 f"ShdPnd:\t{0:016x}" in open(f"/proc/{p.pid}/status").read())
        p.send_signal(signal.SIGINT)

    r = run("hopper", during=kill_at_once, ok=False)
    equal((r.status, r.state, r.result), (1, "failed", "failed"), "killed")
    # It is killed before or after this program has reached it.
    assert re.search("the private daemon (ended unexpectedly|cannot be reached)", r.fault) and ("state_directory" not in r.json or os.path.isdir(r.state_directory)), r.json
    # One invocation that is longer than the story: the first Ctrl-C waits for its end.
    r = run("hopper", "Actor.RolloutSteps=1000000", "Learner.MinibatchSize=1000000", during=interrupt_twice, ok=False)
    equal((r.status, r.state, r.result, r.fault), (130, "interrupted", "interrupted", "it was left before the job had ended"), "left")
    assert os.path.isdir(r.state_directory), r.json


class Cgroups:
    """The cgroups of one run, since others may train on this host. Each has the number of the run's daemon in its name."""

    def __init__(self):
        self.daemons = set()

    def __call__(self, p):
        wait_for("the run's daemon", lambda: p.poll() is not None or self.daemons.update(descendants(p.pid, "actord")) or self.daemons)

    def there(self, inner=""):
        names = "|".join(map(str, self.daemons)) or "none"
        return {d for d, _, _ in os.walk("/sys/fs/cgroup") if re.search(rf"/actord-(run-)?({names})\b.*{inner}", d)}


@story("no cgroup is left behind")
def cgroups():
    ours, seen = Cgroups(), set()

    def during(p):
        ours(p)
        while p.poll() is None and not seen:
            seen.update(ours.there())

    run("cartpole", "Job.StopSteps=200000", "Job.StopReturn=", during=during)
    assert ours.daemons, "no daemon was seen"
    wait_for("the end of every cgroup", lambda: not ours.there(), 5)
    if not seen:
        raise Skip("no cgroup can be made here")


@story("no cgroup of a thread is left behind when a process that acts and learns is killed, or the invoker above it")
def thread_cgroups():
    ours, seen = Cgroups(), set()
    for comm in "actord-learner", "actord-invoker":
        killer = Killer(comm, most=1)

        def during(p):
            ours(p)
            wait_for("the first rounds", lambda: p.poll() is not None or rounds_of_newest_run() > 0)
            seen.update(ours.there("/thread-"))
            killer(p)
            wait_for("the next life", lambda: p.poll() is not None or set(descendants(p.pid, comm)) - set(killer.killed))
            p.send_signal(signal.SIGINT)

        killer.hit(run("hopper", "Distribution.Policy=fused", "Learner.Threads=2", "Job.StopSteps=100000000", "Job.StopReturn=", during=during, ok=False))
    wait_for("the end of every cgroup", lambda: not ours.there(), 5)
    if not seen:
        raise Skip("no threaded cgroup can be made here")


@story("the meters agree with the job's cgroup within 1 %")
def books():
    r = run("hopper", "Scaling.Actors=2", "Job.StopSteps=60000")
    scope = r.json.get("cpu_s", {}).get("scope")
    if not scope:
        raise Skip("no cgroup can be made here: process clocks have no total to compare with")
    metered = sum(r.cpu_s[k] for k in ("actors", "learner", "control", "startup"))
    assert abs(metered - scope) <= 0.01 * scope, (r.cpu_s, metered, scope)


@story("the emulated clock of one actor and one thread is what both used of a CPU, and never runs ahead of the wall")
def emulated():
    one = ("Job.StopSteps=30000", "Learner.Threads=1")
    r = run("hopper", *one, "Billing.ColdStartSec=0")
    assert abs(r.emulated_s - r.cpu_s["actors"] - r.cpu_s["learner"]) < 0.03 * r.emulated_s, (r.emulated_s, r.cpu_s)
    assert r.emulated_s < 1.02 * r.wall_s, (r.emulated_s, r.wall_s)
    # Half a CPU takes twice as long, a cold start what the sheet's fleet takes: once, in the first round.
    half = run("hopper", *one, "Actor.CPUQuota=50%", "Billing.ColdStartSec=10")
    want = 2 * half.cpu_s["actors"] + half.cpu_s["learner"] + 10
    assert abs(half.emulated_s - want) < 0.03 * want, (half.emulated_s, want, half.cpu_s)


@story("eval plays a checkpoint that was exported, and gives the same episodes each time")
def evaluate():
    r = run("cartpole", seed=3)
    files = [os.path.join(d, f) for d, _, fs in os.walk(STATE) for f in fs if f.endswith(".safetensors")]
    newest = max(files, key=os.path.getmtime)
    a = ctl("eval", newest, "--episodes=20", "--json=short")
    b = ctl("eval", newest, "--episodes=20", "--json=short")
    equal(a.status, 0, "status: " + a.err)
    equal(a.json["return_mean"], b.json["return_mean"], "means")
    equal(a.json["episodes"], 20, "episodes")
    assert a.json["return_mean"] > 400, a.json


@story("a truncated checkpoint is refused with a sentence")
def truncated():
    files = [os.path.join(d, f) for d, _, fs in os.walk(STATE) for f in fs if f.endswith(".safetensors")]
    path = os.path.join(STATE, "short.safetensors")
    data = open(files[0], "rb").read()
    open(path, "wb").write(data[:len(data) // 2])
    r = ctl("eval", path, "--episodes=2")
    assert r.status in (1, 2) and "short.safetensors" in r.err and "Traceback" not in r.err, (r.status, r.err)


@story("wrong input is refused before anything starts, with file, line, key and the nearest word")
def bad_input():
    base = open(os.path.join(EXAMPLES, "cartpole.conf")).read()
    cases = [(base + "\n[Learner]\nLearningRat=0.1\n", ["LearningRat", "LearningRate"]),
             (base + "\n[Lerner]\nEpochs=3\n", ["Lerner", "Learner"]),
             (base + "\n[Scaling]\nMaxActors=-3\n", ["MaxActors", "-3"]),
             (base + "\n[Learner]\nLearningRate=fast\n", ["LearningRate", "fast"]),
             (re.sub(r"(?m)^PriceSheet=.*$", "PriceSheet=aws-lamda-x86", base), ["aws-lamda-x86", "aws-lambda-x86"]),
             (base + "\n[Job]\nEnvironment=Pendulum-v1\n", ["[Job] Environment=Pendulum-v1: Environment= is in line ", " already"]),
             (base + "\n[Billing]\nPriceSheet=aws-lamda-x86\n",
              ["PriceSheet= is in line ", " already", "unknown price sheet; did you mean aws-lambda-x86?"]),
             (base + "\n[Learner]\nActivation=tahn\nActivation=tahn\n", ["Activation= is in line ", "tahn", "tanh"]),
             (re.sub(r"(?m)^Environment=.*$", "Environment=CartPol-v1", base), ["CartPol-v1", "CartPole-v1"]),
             (re.sub(r"(?m)^Environment=.*$", "Environment=./no-such.so", base), ["no-such.so"]),
             (base + "\n[Learner]\nActivation=tahn\n", ["tahn", "tanh"]),
             ("[Job]\nEnvironment=gym:X-v0\n[Actor]\nPython=~/venv\n", ["Python=~/venv", "~ does not stand for a home directory"]),
             ("\ufeff" + base, ["wrong.conf:1: ", "byte order mark"]), ("no section here\n", []), ("", []), ("\0\1\2", [])]
    path = os.path.join(STATE, "wrong.conf")
    for text, words in cases:
        open(path, "w").write(text)
        r = ctl("run", path)
        equal(r.status, 2, f"status for {text[-60:]!r}: {r.err}")
        assert "wrong.conf" in r.err and all(w in r.err for w in words), (words, r.err)
        assert not re.search(r"errno|error \d+$", r.err), r.err


@story("a failed job says why before it says what it cost, where both go to one place, and so does its status")
def reason_first():
    conf = os.path.join(STATE, "fails.conf")
    open(conf, "w").write(f"[Job]\nEnvironment={shared_library(HOSTILE)}\nStopSteps=2000\n[Actor]\nRolloutSteps=64\nRetries=1\n[Environment]\nHow=crash\n"
                          "[Learner]\nMinibatchSize=32\n")
    p = subprocess.run([CTL, "run", conf], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(),
                       timeout=60 * PATIENCE)
    status = ctl("status", re.search(r"`actorctl status (r\d+)`", p.stdout)[1]).out
    for text, why, cost in (p.stdout, "the job failed: ", "full total"), (status, "reason: ", "cost: "):
        assert "was killed by signal 11" in text and text.index(why) < text.index("was killed by signal 11") < text.index(cost), text
    assert status.index("reason: ") < status.index("steps: "), status


@story("an environment that crashes, hangs, lies or does not load fails its job with a reason, and nothing else")
def hostile_environments():
    so, conf = shared_library(HOSTILE), os.path.join(STATE, "hostile.conf")
    open(conf, "w").write(f"[Job]\nEnvironment={so}\nStopSteps=2000\n[Actor]\nRolloutSteps=64\nRetries=1\nTimeoutSec=60\n"
                          "[Learner]\nMinibatchSize=32\nEpochs=1\n")
    ok = run(conf)
    equal(ok.state, "finished", "states")
    for how, word in [("crash", "signal"), ("hang", "TimeoutSec"), ("nan", "not finite"), ("range", "range"), ("fork", "forbids"),
                      ("file", "environment"), ("paid", "reward that is not finite or out of range"), ("exit", "status"), ("abort", "SIGABRT"),
                      ("error", "environment"),
                      ("flood", "killed by signal"), ("cut", "breaks a rule of actord/env.h")]:
        r = run(conf, f"Environment.How={how}", *in_time(how), ok=False)
        equal((r.status, r.state), (1, "failed"), f"status and state of {how}: {r.err}")
        assert word in r.json["fault"], (how, r.json["fault"])
        assert r.invocations["retried"] >= 1, (how, r.invocations)
        if how == "crash":
            told = ctl("run", conf, "--set", "Environment.How=crash")
            assert told.out.count(r.json["fault"]) == 0 and told.err.count(r.json["fault"]) == 1, (told.out, told.err)
    for how, word in [("spec", "observation"), ("load", "load"), ("init", "killed by signal 11")]:
        r = run(conf, f"Environment.How={how}", *in_time(how), ok=False)
        assert r.status in (1, 2) and word in r.err, (how, r.status, r.err)
    with open(os.path.join(STATE, "short.so"), "wb") as short:
        short.write(b"\x7fELF")
    before = runs()
    r = run(conf, f"Job.Environment={short.name}", ok=False)
    equal((r.status, r.state, runs()), (2, "failed", before), f"a plugin that is too short: {r.err}")
    assert "does not load: file too short" in r.err and short.name in r.err and "/plugin/" not in r.err and "(error" not in r.err, r.err


tell()
