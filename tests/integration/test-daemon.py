#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon on a bus of its own (user mode): its interface, its queue, its refusals, and the deaths of processes around it."""
import errno, functools, hashlib, shutil, socket
import xml.etree.ElementTree as ElementTree

from bus import *


def members(node, interface):
    """An interface as a set of comparable rows."""
    rows = set()
    for i in node.findall("interface"):
        if i.get("name") != interface:
            continue
        for m in i:
            if m.tag == "annotation":
                continue
            emits = [a.get("value") for a in m.findall("annotation") if a.get("name").endswith("EmitsChangedSignal")]
            args = tuple((a.get("name"), a.get("type"), a.get("direction") or ("in" if m.tag == "method" else None))
                         for a in m.findall("arg"))
            rows.add((m.tag, m.get("name"), m.get("type"), m.get("access"), tuple(emits or ["true"]) if m.tag == "property" else (), args))
    return rows


def normal(rows):
    """Signals have no direction, whether or not one is written."""
    return {(r[0], *r[1:5], tuple((n, t, None if r[0] == "signal" else d) for n, t, d in r[5])) for r in rows}


@story("the daemon's interface is the documented one")
def interface():
    contract = ElementTree.parse(os.path.join(ROOT, "units/org.actord1.xml")).getroot()
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        for path, name in (("/org/actord1", MANAGER), (f"/org/actord1/job/{job}", JOB)):
            text = bus.call(path, "org.freedesktop.DBus.Introspectable", "Introspect")[0]
            seen, written = normal(members(ElementTree.fromstring(text), name)), normal(members(contract, name))
            assert written, name
            assert seen == written, (sorted(seen - written), sorted(written - seen))
        tree = bus.call("/org/actord1", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")[0]
        assert f"/org/actord1/job/{job}" in tree, list(tree)


class Monitor:
    """Collects the signals that the daemon sends on its bus."""

    def __init__(self, bus):
        self.signals, self.bus = [], bus
        self.process = subprocess.Popen(["stdbuf", "-oL", "busctl", "--user", "--json=short", "monitor", "org.actord1"], env=bus.env,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert "Monitoring" in self.process.stderr.readline()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            m = json.loads(line)
            if m["type"] == "signal":
                self.signals.append((m["member"], m["path"], m["payload"]["data"]))

    def said(self, member, path):
        return [data for m, p, data in list(self.signals) if (m, p) == (member, path)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


@story("signals announce jobs that are added, changed, ended and removed, with the properties that the interface names")
def signals():
    contract = ElementTree.parse(os.path.join(ROOT, "units/org.actord1.xml")).getroot()
    announced = {name: emits for kind, name, _, _, emits, _ in members(contract, JOB) if kind == "property"}
    with Bus("KeepJobs=1\n") as bus, Monitor(bus) as monitor:
        job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "60000")])
        path, manager = f"/org/actord1/job/{job}", "/org/actord1"
        assert bus.ended(job) == "finished"
        wait_for("the end is said", lambda: monitor.said("JobRemoved", manager))
        equal(monitor.said("JobNew", manager), [[job, path]], "new jobs")
        equal(monitor.said("JobRemoved", manager), [[job, path, "finished"]], "ends")
        added = monitor.said("InterfacesAdded", manager)
        assert len(added) == 1 and added[0][0] == path and JOB in added[0][1], added
        changes = [(names, gone) for interface, names, gone in monitor.said("PropertiesChanged", path) if interface == JOB]
        states = [names["State"]["data"] for names, _ in changes if "State" in names]
        assert [s for i, s in enumerate(states) if states[i - 1:i] != [s]] == ["starting", "running", "ending", "ended"], states
        rounds = [names["Round"]["data"] for names, _ in changes if "Round" in names]
        assert rounds == sorted(rounds) and rounds[-1] == bus.get(job, "Round"), rounds
        # A timer gathers the changes: 30 rounds in a moment make a few signals.
        assert len(rounds) <= 10 + 10 * (bus.get(job, "WallNSec") / 1e9), rounds
        for names, gone in changes:
            assert not gone and all(announced[name] == ("true",) for name in names), (names, gone)
        assert any("NRunning" in names for _, names, _ in monitor.said("PropertiesChanged", manager))
        second = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "1")])
        bus.ended(second)
        wait_for("the first job leaves", lambda: monitor.said("InterfacesRemoved", manager))
        equal(monitor.said("InterfacesRemoved", manager)[0][0], path, "objects that left")
        assert [row[0] for row in bus.jobs()] == [second]


@story("a bad job is refused before anything starts, with file, line, key and the nearest word")
def refusals():
    with Bus() as bus:
        e = refused(bus, JOB_TEXT + "\n[Learner]\nLearningRat=1\n")
        assert "test.conf:" in e and "LearningRat" in e and "LearningRate" in e, e
        e = refused(bus, overrides=[("Job.Environment", "CartPole-v7")])
        assert "CartPole-v1" in e, e
        e = refused(bus, overrides=[("Job.Environment", "./mine.so")])
        assert "mine.so" in e and "not sent" in e, e
        e = refused(bus, overrides=[("Billing.PriceSheet", "aws-lambda-x87")])
        assert "aws-lambda-x86" in e, e
        e = refused(bus, options=[("purpose", "s", "conquer")])
        assert "conquer" in e, e
        e = refused(bus, options=[("purpose", "s", "evaluate")])
        assert "checkpoint" in e, e
        e = refused(bus, "x" * 100000 + "\n")
        assert "test.conf:1" in e, e
        assert bus.jobs() == [], bus.jobs()
        names = bus.busctl("--verbose", "call", "org.actord1", "/org/actord1", MANAGER, "ListPriceSheets")
        assert "aws-lambda-x86" in json.dumps(names)


@story("CPUs that the host lacks are refused over D-Bus, too, in the text and in an override")
def cpus():
    with open("/sys/devices/system/cpu/online") as f:
        online = f.read().strip()
    if int(re.split("[,-]", online)[-1]) >= 1000:
        raise Skip("this host has more than 1000 CPUs")
    with Bus() as bus:
        said = refused(bus, text=JOB_TEXT + "\n[Actor]\nAllowedCPUs=1000-1023\n")
        assert re.search(rf"test.conf:\d+: \[Actor\] AllowedCPUs=1000-1023: this host has CPUs {online}", said), said
        said = refused(bus, overrides=[("Actor.AllowedCPUs", "1000")])
        assert f"--set Actor.AllowedCPUs=1000: this host has CPUs {online}" in said, said
        equal(bus.jobs(), [], "jobs")


@story("errors have versioned names")
def error_names():
    with Bus() as bus:
        def error_of(method, *args):
            p = subprocess.run(["dbus-send", "--session", "--print-reply", "--dest=org.actord1", "/org/actord1", f"{MANAGER}.{method}", *args],
                               env=bus.env, capture_output=True, text=True)
            assert p.returncode != 0
            return p.stderr.split()[1].rstrip(":")
        assert error_of("GetJob", "uint64:99") == "org.actord1.Error.NoSuchJob"
        assert error_of("GetPriceSheet", "string:gold") == "org.actord1.Error.NoSuchPriceSheet"
        job = bus.submit(overrides=[("Job.StopSteps", "1")])
        bus.ended(job)
        assert error_of("StopJob", f"uint64:{job}") == "org.actord1.Error.NotRunning"


@story("jobs wait for a place, in order, and a waiting job can be stopped")
def queue():
    with Bus("MaxJobs=1\nMaxJobsPerUser=3\n") as bus:
        first, second, third = (bus.submit(overrides=ENDLESS) for _ in range(3))
        e = refused(bus)
        assert "limit" in e, e
        wait_for("the first one runs", lambda: bus.state(first) == "running")
        assert [bus.state(j) for j in (second, third)] == ["queued", "queued"]
        bus.call("/org/actord1", MANAGER, "StopJob", "t", second)
        assert bus.ended(second, 2) == "interrupted"
        bus.call(f"/org/actord1/job/{first}", JOB, "Stop")
        assert bus.ended(first) == "interrupted"
        wait_for("the third one runs", lambda: bus.state(third) == "running")


@story("a user's jobs share a quota: a job that could never run is refused with figures, one that does not fit beside others waits")
def quotas():
    four = ENDLESS + [("Scaling.Actors", "4")]
    with Bus(f"MaxJobs=4\nMaxJobsPerUser=50\n[User {os.getuid()}]\nMaxActorsPerUser=6\nMaxJobsPerUser=3\n") as bus:
        e = refused(bus, overrides=ENDLESS + [("Scaling.Actors", "8")])
        assert "8 actors" in e and "have 6" in e and "MaxActorsPerUser=" in e, e
        first, second = bus.submit(overrides=four), bus.submit(overrides=four)
        wait_for("the first one runs", lambda: bus.state(first) == "running")
        # It would fit, but it came later.
        third = bus.submit(overrides=ENDLESS + [("Scaling.Actors", "2")])
        equal([bus.state(j) for j in (second, third)], ["queued", "queued"], "states")
        e = refused(bus)
        assert "3 jobs" in e and "MaxJobsPerUser=3" in e, e
        rows = {r["quota"]: (r["used"], r["limit"]) for r in bus.ctl("quota", "--json").json}
        equal({k: rows[k] for k in ("jobs", "running", "actors")}, {"jobs": (3, 3), "running": (1, None), "actors": (4, 6)}, "quotas")
        text = bus.ctl("quota").out
        assert re.search(r"memory\s+\S+\s[KMGT]?i?B\s+none", text), text
        bus.call("/org/actord1", MANAGER, "StopJob", "t", first)
        wait_for("both others run", lambda: [bus.state(j) for j in (second, third)] == ["running", "running"])


@story("a stopped job leaves a checkpoint that can be exported, and from which a job can go on")
def stopping():
    constant = [("Learner.LearningRateSchedule", "constant"), ("Learner.ClipSchedule", "constant")]
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS + constant)
        wait_for("some rounds", lambda: bus.get(job, "Round") > 5)
        bus.call(f"/org/actord1/job/{job}", JOB, "Stop")
        assert bus.ended(job) == "interrupted"
        row = bus.ledger().execute("SELECT name, round, hex(sha256) FROM checkpoints WHERE job = ? ORDER BY round DESC", (job,)).fetchone()
        assert row[1] == bus.get(job, "Round"), row
        path = f"{bus.dir}/state/actord/jobs/{job}/state/{row[0]}"
        assert hashlib.sha256(open(path, "rb").read()).hexdigest() == row[2].lower()
        assert re.fullmatch("[0-9a-f]{64}", bus.get(job, "PolicySHA256"))
        assert bus.call(f"/org/actord1/job/{job}", JOB, "OpenCheckpoint") is not None

        with open(bus.dir + "/job.conf", "w") as f:
            f.write(JOB_TEXT)
        words = ["submit", f.name, f"--set=Job.StopSteps={bus.get(job, 'EnvSteps') + 1024}", "--set=Job.StopReturn=",
                 *(f"--set={key}={value}" for key, value in constant)]
        whole, rest = int(bus.ctl(*words).out), int(bus.ctl(*words, f"--from={job}").out)
        assert bus.ended(whole) == bus.ended(rest) == "finished"
        equal(bus.get(rest, "PolicySHA256"), bus.get(whole, "PolicySHA256"), "the policy that goes on, and that of a job that was not stopped")
        assert 0 < bus.get(rest, "Round") < bus.get(whole, "Round")

        with open(path, "r+b") as f:
            f.seek(-200, os.SEEK_END)
            byte, = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte ^ 16]))
        for verb in (["export", job, "-o", bus.dir + "/policy"], ["eval", job, "--episodes=1"], [*words, f"--from={job}"]):
            r = bus.ctl(*verb, ok=False)
            assert r.status == 1 and f"checkpoint of job {job}: it is damaged" in r.err and "(error" not in r.err, (verb, r.status, r.err)
        assert not os.path.exists(bus.dir + "/policy")


@story("everything known of each round is on the bus, in a table that fits a screen, in CSV and in JSON")
def rounds():
    with Bus() as bus:
        job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "20000")])
        assert bus.ended(job) == "finished"
        n, rows = bus.get(job, "Round"), series(bus, job)
        equal([r["round"] for r in rows], list(range(1, n + 1)), "rounds")
        for name in "env_steps", "cost_full", "cost_paper", "emulated_s", "learner_s", "startup_s", "wall_s", "cpu_learner_s":
            values = [r[name] for r in rows]
            assert values == sorted(values) and values[-1] > 0, (name, values)
        columns = {c[1] for c in bus.ledger().execute("PRAGMA table_info(statistics)")} - {"job", "life", "seq", "n_env_steps", "n_episodes"}
        # Places for an environment's own metrics, which have its names here; this one has none.
        columns = {c for c in columns if not re.fullmatch(r"(evaluation_)?metric_\d", c)}
        assert columns <= set(rows[0]), columns - set(rows[0])
        last = rows[-1]
        equal((last["env_steps"], last["episodes"], last["return_mean"]), tuple(bus.get(job, p) for p in ("EnvSteps", "Episodes", "ReturnMean")), "the end")
        assert last["entropy"] > 0 and last["kl"] is not None and last["evaluation_mean"] is None, last
        assert 0 < last["cost_paper"] < last["cost_full"] <= bus.get(job, "CostFull"), last
        assert last["learner_s"] < last["emulated_s"] == bus.get(job, "EmulatedNSec") / 1e9, last
        thin = [r["round"] for r in series(bus, job, 5, 4)]
        assert len(thin) == 4 and thin[0] > 5 and thin[-1] == n, thin

        def rounds_of(*words):
            r = bus.ctl("rounds", job, *words)
            equal(r.err, "", f"{words}")
            return r.out
        lines = rounds_of().splitlines()
        assert len(lines) == n + 3 and max(map(len, lines)) <= 80, lines
        equal(json.loads(rounds_of("--json")), rows, "JSON")
        head, *lines = (line.split(",") for line in rounds_of("--csv").splitlines())
        equal([{k: float(v) if v else None for k, v in zip(head, line)} for line in lines], rows, "CSV")


@functools.cache
def undisturbed():
    with Bus() as bus:
        job = bus.submit(overrides=LONG)
        assert bus.ended(job) == "finished"
        check_ledger(bus, job)
        return bus.get(job, "PolicySHA256"), bus.get(job, "Round")


@story("a daemon that is killed takes its job up again: one life, the same policy, no record lost")
def daemon_killed():
    policy, rounds = undisturbed()
    with Bus() as bus:
        job = bus.submit(overrides=LONG)
        for _ in range(3):
            wait_for("a round", lambda: bus.get(job, "Round") > 0)
            before = bus.get(job, "Round")
            bus.stop(signal.SIGKILL)
            time.sleep(0.2)
            bus.start()
            wait_for("what was read before is read again", lambda: bus.get(job, "Round") >= before)
        assert bus.ended(job) == "finished"
        assert bus.get(job, "Life") == 1
        assert bus.get(job, "PolicySHA256") == policy
        assert bus.get(job, "Round") == rounds
        check_ledger(bus, job)
        n = bus.ledger().execute("SELECT count(DISTINCT round), count(*) FROM rounds WHERE job = ?", (job,)).fetchone()
        assert n == (rounds, rounds), n


@story("a stop is kept when the daemon is killed before the invoker has read it, or before the job has begun")
def killed_after_stop():
    with Bus("MaxJobs=1\n") as bus:
        for dies in False, True:
            job, queued = bus.submit(overrides=ENDLESS), bus.submit(overrides=ENDLESS)
            wait_for("a round", lambda: bus.get(job, "Round") > 0)
            invoker, = bus.processes("actord-invoker")
            os.kill(invoker, signal.SIGSTOP)
            bus.ctl("stop", job)
            bus.stop(signal.SIGKILL)
            with sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite") as db:
                equal([wanted for wanted, in db.execute("SELECT end_wanted > 0 FROM jobs WHERE id >= ?", (job,))], [1, 0], "jobs that were asked to end")
                # As if it had been asked when it was about to start.
                db.execute("UPDATE jobs SET end_wanted = (SELECT max(end_wanted) FROM jobs) WHERE id = ?", (queued,))
            if dies:
                os.kill(invoker, signal.SIGKILL)
            bus.start()
            if not dies:
                os.kill(invoker, signal.SIGCONT)
            equal([(bus.ended(id), bus.get(id, "Life")) for id in (job, queued)], [("interrupted", 1), ("interrupted", 0)], "results and lives")


@story("a daemon that is killed after a job's last record, before it wrote how the job ended, writes it when it is back")
def killed_at_the_end():
    policy, rounds = undisturbed()
    with Bus() as bus:
        jobs = bus.submit(overrides=LONG), bus.submit(overrides=ENDLESS)
        assert bus.ended(jobs[0]) == "finished"
        wait_for("a round", lambda: bus.get(jobs[1], "Round") > 0)
        bus.call("/org/actord1", MANAGER, "StopJob", "t", jobs[1])
        assert bus.ended(jobs[1]) == "interrupted"
        bus.stop()
        with sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite") as db:
            db.execute("UPDATE jobs SET state = 'running', result = '', ended_usec = 0, policy_sha256 = NULL")
            # An earlier actord took texts in which a key stands twice.
            db.execute("UPDATE jobs SET text = text || ?, sheet = sheet || ?", ("\n[Job]\nStopSteps=9\nStopSteps=9\n", "\n[Sheet]\nDescription=a\nDescription=b\n"))
        db.close()
        bus.start()
        equal([bus.ended(job) for job in jobs], ["finished", "interrupted"], "results")
        equal([bus.get(job, "Life") for job in jobs], [1, 1], "lives")
        equal((bus.get(jobs[0], "PolicySHA256"), bus.get(jobs[0], "Round")), (policy, rounds), "policy and rounds")
        assert bus.get(jobs[1], "PolicySHA256")


@story("an evaluated job whose daemon, learner and invoker are killed in the middle of evaluations ends with the same policy and "
       "means as an undisturbed one")
def evaluated_killed():
    evaluated = LONG + [("Job.StopSteps", "200000"), ("Evaluation.Episodes", "200"), ("Evaluation.Actors", "2"), ("Evaluation.EveryRounds", "3")]
    with Bus() as bus:
        calm = bus.submit(overrides=evaluated)
        equal(bus.ended(calm), "finished", "the undisturbed one")
        job = bus.submit(overrides=evaluated)
        for victim, life in ("actord", 1), ("actord-learner", 1), ("actord-invoker", 2), ("actord", 3):
            # What is known of a life stays known until the next one begins: without its number, the victim may be of a life that is ending.
            wait_for("an evaluation", lambda: bus.get(job, "Life") == life and 0 < bus.get(job, "EvaluationEpisodes") < 200 and bus.get(job, "Round") > 3)
            if victim == "actord":
                bus.stop(signal.SIGKILL)
                time.sleep(0.1)
                bus.start()
            else:
                os.kill(bus.processes(victim)[-1], signal.SIGKILL)
        assert bus.ended(job) == "finished", bus.get(job, "Fault")
        equal(bus.get(job, "Life"), 3, "lives")
        equal(bus.get(job, "PolicySHA256"), bus.get(calm, "PolicySHA256"), "policies")
        means = [[(r["round"], r["evaluation_mean"], r["evaluation_sd"]) for r in series(bus, j)] for j in (calm, job)]
        equal(means[0], means[1], "means")
        assert all((m is not None) == (n % 3 == 0 or n == len(means[0])) for n, m, _ in means[0]), means[0]
        equal(bus.get(job, "EvaluationMean"), means[0][-1][1], "the newest")
        check_ledger(bus, job)


@story("a learner that is killed begins the next life at the newest checkpoint, and ends with the same policy")
def learner_killed():
    die(("actord-learner", 1), ("actord-learner", 2))


@story("an invoker that is killed takes everything of its job with it, and the next life ends with the same policy")
def invoker_killed():
    die(("actord-invoker", 1))


def die(*deaths):
    policy, rounds = undisturbed()
    with Bus() as bus:
        job = bus.submit(overrides=LONG)
        for comm, life in deaths:
            # Some rounds beyond a checkpoint of this life: the next life has a checkpoint to begin with and rounds to repeat.
            newest = lambda: bus.ledger().execute("SELECT max(round) FROM checkpoints WHERE job = ? AND life = ?", (job, life)).fetchone()[0]
            wait_for("rounds beyond a checkpoint", lambda: bus.get(job, "Life") == life and newest() and bus.get(job, "Round") > newest() + 3)
            victims = bus.processes(comm)
            others = bus.processes("actord-invoker", "actord-learner", "actord-actor")
            assert victims, comm
            os.kill(victims[0], signal.SIGKILL)
            wait_for("all of the old life is gone", lambda: not any(os.path.exists(f"/proc/{p}") for p in others))
        assert bus.ended(job) == "finished", bus.get(job, "Fault")
        assert bus.get(job, "Life") == 1 + len(deaths)
        assert bus.get(job, "PolicySHA256") == policy
        assert bus.get(job, "Round") == rounds
        assert bus.get(job, "Fault") != ""
        bill = bus.call(f"/org/actord1/job/{job}", JOB, "GetBill")
        assert any(line[0] == "retries" for line in bill[4]), bill


@story("a large checkpoint is compared by a process of its own before a life begins with it, and a damaged one is passed over, to the same policy")
def large_checkpoint():
    wide = [("Job.StopReturn", ""), ("Job.StopSteps", "73728"), ("Learner.HiddenLayers", "600 600"), ("Learner.Epochs", "1"), ("Checkpoint.IntervalSec", "0.1"),
            ("Checkpoint.Keep", "3")]
    with Bus() as bus:
        whole = bus.submit(overrides=wide)
        equal(bus.ended(whole, 120), "finished", "the undisturbed one")
        job = bus.submit(overrides=wide)
        newest = lambda: bus.ledger().execute("SELECT name FROM checkpoints WHERE job = ? ORDER BY round DESC", (job,)).fetchall()
        wait_for("two checkpoints", lambda: len(newest()) >= 2, 60)
        invoker = bus.processes("actord-invoker")
        bus.stop(signal.SIGKILL)
        for pid in invoker:
            os.kill(pid, signal.SIGKILL)
        path = f"{bus.dir}/state/actord/jobs/{job}/state/{newest()[0][0]}"
        assert os.path.getsize(path) > 4 << 20, os.path.getsize(path)
        with open(path, "r+b") as f:
            f.seek(3 << 20)
            byte, = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte ^ 1]))
        bus.start()
        equal(bus.ended(job, 120), "finished", "the other one")
        equal(bus.get(job, "PolicySHA256"), bus.get(whole, "PolicySHA256"), "policies")
        assert "is damaged: its bytes are not those that were written; actord tries the one before it" in open(bus.dir + "/log").read()
        assert "its newest checkpoint is missing or damaged" in bus.get(job, "Fault"), bus.get(job, "Fault")


@story("a job whose invoker always dies fails after its last life, with a sentence")
def hopeless():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS + [("Checkpoint.IntervalSec", "1000")])

        def kill():
            for p in bus.processes("actord-invoker"):
                try:
                    os.kill(p, signal.SIGKILL)
                except OSError:
                    pass
            return bus.state(job) == "ended"
        wait_for("the job gives up", kill, 60)
        assert bus.get(job, "Result") == "failed"
        assert bus.get(job, "Life") == 5
        assert "ended without a last report" in bus.get(job, "Fault"), bus.get(job, "Fault")


@story("queued jobs survive the daemon, and a stopped daemon lets running ones go on")
def restart():
    with Bus("MaxJobs=1\n") as bus:
        first = bus.submit(overrides=LONG)
        second = bus.submit(overrides=[("Job.StopSteps", "2000"), ("Job.StopReturn", "")])
        wait_for("the first one runs", lambda: bus.state(first) == "running")
        assert bus.stop() == 0
        assert bus.processes("actord-invoker"), "the job ended with its daemon"
        bus.start()
        assert bus.ended(first) == "finished"
        assert bus.ended(second) == "finished"
        assert bus.get(first, "Life") == 1


def files_of(bus):
    return sorted(os.listdir(bus.dir + "/state/actord/jobs"))


def told(bus, job):
    """The job's rows in the ledger, those of checkpoints included."""
    return [bus.ledger().execute(f"SELECT * FROM {table} WHERE {key} = ?", (job,)).fetchall()
            for table, key in (("jobs", "id"), ("records", "job"), ("statistics", "job"), ("checkpoints", "job"))]


@story("the files of an ended job are removed on request, its records and its bill are not, and a running job keeps its own")
def removing():
    with Bus("KeepJobs=1\nMaxJobs=1\n") as bus:
        first, second, third = (bus.submit(overrides=[("Job.StopSteps", "2000"), ("Job.StopReturn", "")]), bus.submit(overrides=ENDLESS),
                                bus.submit(overrides=ENDLESS))
        wait_for("the second one runs", lambda: bus.state(second) == "running")
        for job in second, third:
            r = bus.ctl("remove", job, ok=False)
            assert r.status == 1 and f"Job {job} has not ended" in r.err and "stop it first" in r.err, r.err
        r = bus.ctl("remove", 99, ok=False)
        assert r.status == 2 and "There is no job 99" in r.err, r.err
        before, bill = told(bus, first), bus.call(f"/org/actord1/job/{first}", JOB, "GetBill")
        equal(files_of(bus), [str(first), str(second), str(third)], "directories")
        equal(bus.ctl("remove", first, first).err, "", "remove, twice")
        wait_for("the directory goes", lambda: files_of(bus) == [str(second), str(third)])
        r = bus.ctl("export", first, "-o", bus.dir + "/policy", ok=False)
        assert r.status == 1 and f"The files of job {first} have been removed" in r.err, r.err
        equal(told(bus, first), before, "the ledger")
        equal(bus.call(f"/org/actord1/job/{first}", JOB, "GetBill"), bill, "the bill")
        assert f"The files of job {first} are removed: a user asked for it." in open(bus.dir + "/log").read()

        # A job that KeepJobs= has dropped from the list still has files.
        for job in second, third:
            bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
            wait_for("it ends", lambda: not any(row[0] == job and row[2] != "ended" for row in bus.jobs()))
        wait_for("the others are forgotten", lambda: [row[0] for row in bus.jobs()] == [third])
        equal(bus.ctl("remove", second).err, "", "remove")
        wait_for("the directory goes", lambda: files_of(bus) == [str(third)])


@story("files older than KeepFilesSec= are removed, wherever in that a daemon was killed; those of other ledgers stay")
def old_files():
    with Bus("KeepJobs=1\n") as bus:
        jobs = [bus.submit(overrides=[("Job.StopSteps", "2000"), ("Job.StopReturn", "")]) for _ in range(2)]
        wait_for("they end", lambda: bus.state(jobs[1]) == "ended" and all(row[2] == "ended" for row in bus.jobs()))
        before = told(bus, jobs[0])
        equal(files_of(bus), list(map(str, jobs)), "nothing goes unless it is asked for")
        bus.stop(signal.SIGKILL)

        # A removal that was interrupted, and files that the ledger does not know.
        place = bus.dir + "/state/actord/jobs/"
        os.makedirs(place + "removed-9-0badcafe/state")
        os.makedirs(place + "9.before-0badcafe/state")
        os.makedirs(place + "77/state")
        for i in range(50):
            open(f"{place}removed-9-0badcafe/state/{i}", "w").close()
        bus.start()
        wait_for("the next daemon goes on", lambda: files_of(bus) == sorted([*map(str, jobs), "77", "9.before-0badcafe"]))

        bus.stop()
        open(bus.dir + "/config/actord/actord.conf", "a").write("KeepFilesSec=1s\n")
        bus.start()
        young = bus.submit(overrides=ENDLESS)
        wait_for("old files go", lambda: files_of(bus) == sorted([str(young), "77", "9.before-0badcafe"]))
        equal(told(bus, jobs[0]), before, "the ledger")
        time.sleep(2.2)
        assert str(young) in files_of(bus) and bus.state(young) == "running"
        bus.call("/org/actord1", MANAGER, "StopJob", "t", young)
        assert bus.ended(young) == "interrupted"
        wait_for("also while the daemon runs", lambda: files_of(bus) == ["77", "9.before-0badcafe"])


@story("a daemon whose bus breaks says so and ends; its job goes on under the next one")
def lost_bus():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        wait_for("a round", lambda: bus.get(job, "Round") > 0)
        bus.broker.kill()
        assert bus.daemon.wait(timeout=10 * PATIENCE) != 0
        assert "bus is lost" in open(bus.dir + "/log").read()
        os.unlink(bus.dir + "/bus")
        bus.broker.wait()
        bus.broker = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog",
                                       "--address=" + bus.env["DBUS_SESSION_BUS_ADDRESS"]], stderr=subprocess.DEVNULL)
        wait_for("the bus is there", lambda: os.path.exists(bus.dir + "/bus"))
        bus.start()
        assert bus.get(job, "Life") == 1
        before = bus.get(job, "Round")
        wait_for("rounds go on", lambda: bus.get(job, "Round") > before)


def failed_start(**variables):
    """The exit status of a daemon of user mode, and what it told its service manager."""
    with tempfile.TemporaryDirectory(dir=STATE) as place, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(place + "/notify")
        notify.settimeout(20)
        env = dict(environment(), NOTIFY_SOCKET=place + "/notify", XDG_RUNTIME_DIR=place, DBUS_SESSION_BUS_ADDRESS=f"unix:path={place}/none", **variables)
        p = subprocess.run([os.path.join(BUILD, "actord"), "--user", "--state=" + place + "/state"], env=env, capture_output=True, text=True, timeout=60)
        said = dict(line.split("=", 1) for line in notify.recv(65536).decode().splitlines())
    assert said["STATUS"] and said["STATUS"] in p.stderr, (said, p.stderr)
    return p.returncode, said


@story("a daemon that cannot start tells its service manager why, and an exit status says whether another try is of use")
def cannot_start():
    status, said = failed_start()
    equal((status, said["ERRNO"]), (1, str(errno.ENOENT)), "no bus")
    assert "session bus cannot be reached" in said["STATUS"], said
    with tempfile.TemporaryDirectory(dir=STATE) as config:
        os.mkdir(config + "/actord")
        with open(config + "/actord/actord.conf", "w") as f:
            f.write("[Daemon]\nMaxJob=3\n")
        status, said = failed_start(XDG_CONFIG_HOME=config)
    equal(status, 78, "a mistake in actord.conf")
    assert "MaxJob" in said["STATUS"], said


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
