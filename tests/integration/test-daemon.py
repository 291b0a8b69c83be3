#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon on a bus of its own (user mode): its interface, its queue, what it refuses, and what dies around it."""
import functools, hashlib, shutil
import xml.etree.ElementTree as ElementTree

from story import *

MANAGER, JOB = "org.actord1.Manager", "org.actord1.Job"
JOB_TEXT = open(os.path.join(EXAMPLES, "cartpole.conf")).read()
LONG = [("Job.StopReturn", ""), ("Job.StopSteps", "240000"), ("Checkpoint.IntervalSec", "0.3")]
# tests/valgrind.sh puts the daemon under another program, which ends with a status of its own if it found anything.
WRAP, WRAP_FAILED = os.environ.get("ACTORD_WRAP", "").split(), 99
ENDLESS = [("Job.StopReturn", ""), ("Job.StopSteps", "1000000000")]


class BusError(Exception):
    def __init__(self, text):
        super().__init__(text)
        self.text = text


class Bus:
    """A message bus, and at most one actord on it."""

    def __init__(self, config=""):
        self.dir = tempfile.mkdtemp(prefix="actord-bus-")
        self.env = dict(os.environ, XDG_RUNTIME_DIR=self.dir, XDG_STATE_HOME=self.dir + "/state",
                        XDG_CONFIG_HOME=self.dir + "/config", DBUS_SESSION_BUS_ADDRESS=f"unix:path={self.dir}/bus")
        os.makedirs(self.dir + "/config/actord")
        open(self.dir + "/config/actord/actord.conf", "w").write("[Daemon]\n" + config)
        self.broker = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog",
                                        "--address=" + self.env["DBUS_SESSION_BUS_ADDRESS"]], stderr=subprocess.DEVNULL)
        self.daemon = None

    def __enter__(self):
        until(lambda: os.path.exists(self.dir + "/bus"), "the bus is there")
        self.start()
        return self

    def __exit__(self, *error):
        if error[0]:
            for line in open(self.dir + "/log").read().splitlines()[-20:]:
                print("# " + line, flush=True)
        if self.daemon.poll() is not None and self.processes("actord-invoker"):
            self.start()
        if self.daemon.poll() is None:
            for row in self.jobs():
                if row[2] != "ended":
                    self.call("/org/actord1", MANAGER, "StopJob", "t", row[0])
            until(lambda: all(row[2] == "ended" for row in self.jobs()), "jobs end")
        status = self.stop()
        found = [line for line in open(self.dir + "/log") if line.startswith("==")] if status == WRAP_FAILED else []
        self.broker.kill()
        self.broker.wait()
        shutil.rmtree(self.dir, ignore_errors=True)
        assert status != WRAP_FAILED, "".join(found[:60])

    def start(self, wait=True):
        self.log = open(self.dir + "/log", "a")
        self.daemon = subprocess.Popen([*WRAP, os.path.join(BUILD, "actord"), "--user"], env=self.env, stderr=self.log)
        if wait:
            until(lambda: self.has_name(), "the daemon has its name", 60 if WRAP else 20)

    def stop(self, how=signal.SIGTERM):
        self.daemon.send_signal(how)
        return self.daemon.wait(timeout=20)

    def busctl(self, *words):
        p = subprocess.run(["busctl", "--user", "--json=short", *map(str, words)], env=self.env, capture_output=True, text=True, timeout=30)
        if p.returncode != 0:
            raise BusError(p.stderr)
        return json.loads(p.stdout) if p.stdout.strip().startswith("{") else p.stdout

    def has_name(self):
        try:
            return self.busctl("call", "org.freedesktop.DBus", "/", "org.freedesktop.DBus", "NameHasOwner", "s", "org.actord1")["data"][0]
        except BusError:
            return False

    def call(self, path, interface, method, signature="", *args):
        answer = self.busctl("call", "org.actord1", path, interface, method, *([signature, *args] if signature else []))
        return answer["data"] if isinstance(answer, dict) else None

    def submit(self, text=JOB_TEXT, overrides=(), options=()):
        words = [text, "test.conf", len(overrides), *[w for o in overrides for w in o], 0, len(options), *[w for o in options for w in o]]
        return self.call("/org/actord1", MANAGER, "SubmitJob", "ssa(ss)a{sh}a{sv}", *words)[0]

    def get(self, job, name):
        return self.busctl("get-property", "org.actord1", f"/org/actord1/job/{job}", JOB, name)["data"]

    def jobs(self):
        return self.call("/org/actord1", MANAGER, "ListJobs")[0]

    def state(self, job):
        return next(row[2] for row in self.jobs() if row[0] == job)

    def ended(self, job, deadline=60):
        until(lambda: self.state(job) == "ended", f"job {job} ends", deadline)
        return self.get(job, "Result")

    def ledger(self):
        return sqlite3.connect(f"file:{self.dir}/state/actord/ledger.sqlite?mode=ro", uri=True)

    def processes(self, *comms):
        """Of this daemon's jobs: what descends from spawners that have our environment, or has our log as standard error; where there
        are no namespaces a job's spawner does not stay."""
        parents, names, ours = {}, {}, set()
        for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
            try:
                stat = open(f"/proc/{pid}/stat").read()
                names[pid] = stat[stat.index("(") + 1:stat.rindex(")")]
                parents[pid] = int(stat[stat.rindex(")") + 2:].split()[1])
                if names[pid] == "actord-spawn" and self.dir in open(f"/proc/{pid}/environ").read():
                    ours.add(pid)
                elif names[pid] == "actord-invoker" and os.readlink(f"/proc/{pid}/fd/2").startswith(self.dir + "/"):
                    ours.add(pid)
            except OSError:
                pass
        grew = True
        while grew:
            more = {p for p, parent in parents.items() if parent in ours} - ours
            ours |= more
            grew = bool(more)
        return sorted(p for p in ours if names[p] in comms)


def until(true, what, deadline=20):
    end = time.monotonic() + deadline
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline} s: {what}")
        time.sleep(0.02)


def refused(bus, *args, **kinds):
    try:
        bus.submit(*args, **kinds)
    except BusError as e:
        return e.text
    raise AssertionError(f"this job was accepted: {args} {kinds}")


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


@story("the daemon's interface is the one that is written down")
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
    """What the daemon says on its bus by itself."""

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


@story("what changes is said: jobs that come, change, end and leave, each with the properties that the interface announces")
def signals():
    contract = ElementTree.parse(os.path.join(ROOT, "units/org.actord1.xml")).getroot()
    announced = {name: emits for kind, name, _, _, emits, _ in members(contract, JOB) if kind == "property"}
    with Bus("KeepJobs=1\n") as bus, Monitor(bus) as monitor:
        job = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "60000")])
        path, manager = f"/org/actord1/job/{job}", "/org/actord1"
        assert bus.ended(job) == "finished"
        until(lambda: monitor.said("JobRemoved", manager), "the end is said")
        equal(monitor.said("JobNew", manager), [[job, path]], "new jobs")
        equal(monitor.said("JobRemoved", manager), [[job, path, "finished"]], "ends")
        added = monitor.said("InterfacesAdded", manager)
        assert len(added) == 1 and added[0][0] == path and JOB in added[0][1], added
        changes = [(names, gone) for interface, names, gone in monitor.said("PropertiesChanged", path) if interface == JOB]
        states = [names["State"]["data"] for names, _ in changes if "State" in names]
        assert [s for i, s in enumerate(states) if states[i - 1:i] != [s]] == ["starting", "running", "ending", "ended"], states
        rounds = [names["Round"]["data"] for names, _ in changes if "Round" in names]
        assert rounds == sorted(rounds) and rounds[-1] == bus.get(job, "Round"), rounds
        # A timer gathers what moves: 30 rounds in a moment are a few signals.
        assert len(rounds) <= 10 + 10 * (bus.get(job, "WallNSec") / 1e9), rounds
        for names, gone in changes:
            assert not gone and all(announced[name] == ("true",) for name in names), (names, gone)
        assert any("NRunning" in names for _, names, _ in monitor.said("PropertiesChanged", manager))
        second = bus.submit(overrides=[("Job.StopReturn", ""), ("Job.StopSteps", "1")])
        bus.ended(second)
        until(lambda: monitor.said("InterfacesRemoved", manager), "the first job leaves")
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
        until(lambda: bus.state(first) == "running", "the first one runs")
        assert [bus.state(j) for j in (second, third)] == ["queued", "queued"]
        bus.call("/org/actord1", MANAGER, "StopJob", "t", second)
        assert bus.ended(second, 2) == "interrupted"
        bus.call(f"/org/actord1/job/{first}", JOB, "Stop")
        assert bus.ended(first) == "interrupted"
        until(lambda: bus.state(third) == "running", "the third one runs")


@story("a stopped job leaves a checkpoint that can be had")
def stopping():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        until(lambda: bus.get(job, "Round") > 5, "some rounds")
        bus.call(f"/org/actord1/job/{job}", JOB, "Stop")
        assert bus.ended(job) == "interrupted"
        row = bus.ledger().execute("SELECT name, round, hex(sha256) FROM checkpoints WHERE job = ? ORDER BY round DESC", (job,)).fetchone()
        assert row[1] == bus.get(job, "Round"), row
        path = f"{bus.dir}/state/actord/jobs/{job}/state/{row[0]}"
        assert hashlib.sha256(open(path, "rb").read()).hexdigest() == row[2].lower()
        assert re.fullmatch("[0-9a-f]{64}", bus.get(job, "PolicySHA256"))
        assert bus.call(f"/org/actord1/job/{job}", JOB, "OpenCheckpoint") is not None


def series(bus, job, after=0, most=1000000):
    names, rows = bus.call(f"/org/actord1/job/{job}", JOB, "GetSeries", "tu", after, most)
    return [dict(zip(names, row)) for row in rows]


@story("each round with everything that is known of it: on the bus, as a table that fits a screen, as CSV and as JSON")
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
        assert columns <= set(rows[0]), columns - set(rows[0])
        last = rows[-1]
        equal((last["env_steps"], last["episodes"], last["return_mean"]), tuple(bus.get(job, p) for p in ("EnvSteps", "Episodes", "ReturnMean")), "the end")
        assert last["entropy"] > 0 and last["kl"] is not None and last["evaluation_mean"] is None, last
        assert 0 < last["cost_paper"] < last["cost_full"] <= bus.get(job, "CostFull"), last
        assert last["learner_s"] < last["emulated_s"] == bus.get(job, "EmulatedNSec") / 1e9, last
        thin = [r["round"] for r in series(bus, job, 5, 4)]
        assert len(thin) == 4 and thin[0] > 5 and thin[-1] == n, thin

        def rounds_of(*words):
            p = subprocess.run([CTL, "rounds", str(job), "--user", *words], env=bus.env, capture_output=True, text=True, timeout=30)
            equal((p.returncode, p.stderr), (0, ""), f"{words}")
            return p.stdout
        lines = rounds_of().splitlines()
        assert len(lines) == n + 3 and max(map(len, lines)) <= 80, lines
        equal(json.loads(rounds_of("--json")), rows, "JSON")
        head, *lines = (line.split(",") for line in rounds_of("--csv").splitlines())
        equal([{k: float(v) if v else None for k, v in zip(head, line)} for line in lines], rows, "CSV")


ELASTIC = [("Job.StopReturn", ""), ("Job.StopSteps", "20000"), ("Scaling.Policy", "adapt"), ("Scaling.MinActors", "1"),
           ("Scaling.MaxActors", "6"), ("Scaling.TargetReturn", "60"), ("Billing.Clock", "model"), ("Actor.RolloutSteps", "64")]


def decisions(bus, job, after=0, most=1000000):
    names, rows = bus.call(f"/org/actord1/job/{job}", JOB, "GetDecisions", "tu", after, most)
    return [dict(zip(names, row)) for row in rows]


def told(bus, *words, ok=True):
    p = subprocess.run([CTL, *map(str, words), "--user"], env=bus.env, capture_output=True, text=True, timeout=60)
    assert not ok or p.returncode == 0, (words, p.stderr)
    return p


@story("each decision with what the scheduler saw, on the bus, as a table, in the ledger; and whether it follows from that")
def decided():
    with Bus() as bus:
        job = bus.submit(overrides=ELASTIC)
        assert bus.ended(job) == "finished"
        n, rows, rounds = bus.get(job, "Round"), decisions(bus, job), series(bus, job)
        equal([d["round"] for d in rows], list(range(1, n + 1)), "rounds")
        equal([d["actors"] for d in rows], [r["actors"] for r in rounds], "actors decided and actors of the round")
        assert min(d["actors"] for d in rows) == 1 and max(d["actors"] for d in rows) > 3, rows
        assert rows[0]["return_round"] is None and rows[0]["round_s"] is None, rows[0]
        for before, d in zip(rounds, rows[1:]):
            for name in "return_round", "kl", "noise_scale":
                equal(d[name], before[name], name)
            equal(d["before_actors"], before["actors"], "actors of the round before")
            assert 0 < d["actor_mean_s"] <= d["actor_slowest_s"] <= d["round_s"] and d["learner_s"] > 0 and d["round_cost"] > 0, d
            assert d["budget_left"] is None, d
        equal(decisions(bus, job, 5, 3), rows[5:8], "a part")
        lines = told(bus, "decisions", job).stdout.splitlines()
        assert len(lines) == n + 3 and max(map(len, lines)) <= 80, lines
        equal(json.loads(told(bus, "decisions", job, "--json").stdout), rows, "JSON")
        assert told(bus, "decisions", job, "--check").stdout == f"{n} decisions of job {job} follow from their inputs\n"

        bus.stop()
        with sqlite3.connect(f"{bus.dir}/state/actord/ledger.sqlite") as db:
            assert db.execute("SELECT count(*) FROM decisions WHERE job = ?", (job,)).fetchone()[0] >= n
            db.execute("UPDATE decisions SET decided = decided + 1 WHERE job = ? AND round = 7", (job,))
        db.close()
        bus.start()
        p = told(bus, "decisions", job, "--check", ok=False)
        assert p.returncode == 1 and "round 7: " in p.stderr, p.stderr


@story("an elastic job is the same again, and is when its daemon is killed in the middle")
def elastic():
    with Bus() as bus:
        sets = [*ELASTIC, ("Job.StopSteps", "60000"), ("Checkpoint.IntervalSec", "0.3")]
        first, second = (bus.submit(overrides=sets) for _ in range(2))
        assert bus.ended(first) == "finished"
        until(lambda: bus.get(second, "Round") > 0, "a round")
        for _ in range(3):
            bus.stop(signal.SIGKILL)
            time.sleep(0.1)
            bus.start()
            time.sleep(0.3)
        assert bus.ended(second) == "finished"
        equal(bus.get(second, "PolicySHA256"), bus.get(first, "PolicySHA256"), "policies")
        mine = ["round", "actors", "decision", "life", "round_s", "return_round", "before_actors"]
        equal(*([[d[k] for k in mine] for d in decisions(bus, job)] for job in (second, first)), "decisions")
        equal(bus.call(f"/org/actord1/job/{second}", JOB, "CheckDecisions")[:2], [bus.get(second, "Round"), 0], "the check")
        check_ledger(bus, second)


@story("a job with the decisions of another one is that one again; permuted they are the same numbers; a file of them is as good as the job")
def replayed():
    with Bus() as bus:
        conf = bus.dir + "/job.conf"
        open(conf, "w").write(JOB_TEXT)
        sets = [("Job.StopReturn", ""), ("Job.StopSteps", "9000"), ("Scaling.MaxActors", "6"), ("Actor.RolloutSteps", "16"), ("Learner.MinibatchSize", "")]
        words = [w for k, v in sets for w in ("--set", f"{k}={v}")]
        job = bus.submit(overrides=[*sets, ("Scaling.Policy", "random")])
        assert bus.ended(job) == "finished"

        def submit(policy):
            again = int(told(bus, "submit", conf, *words, "--set", f"Scaling.Policy={policy}").stdout)
            assert bus.ended(again) == "finished"
            return again
        again = submit(f"replay:{job}")
        equal(bus.get(again, "PolicySHA256"), bus.get(job, "PolicySHA256"), "policies")
        permuted = submit(f"permuted:{job}")
        counts, other = ([d["actors"] for d in decisions(bus, j)] for j in (job, permuted))
        assert counts[:len(other)] != other and not set(other) - set(counts), other

        open(bus.dir + "/decisions.json", "w").write(told(bus, "decisions", again, "--json").stdout)
        p = told(bus, "run", conf, "--json", *words, "--set", f"Scaling.Policy=replay:{bus.dir}/decisions.json")
        equal(json.loads(p.stdout)["policy_sha256"], bus.get(job, "PolicySHA256"), "policies")

        for policy, sentence in (("replay:77", "no job"), ("replay:none.json", "none.json"), (f"replay:{conf}", "cannot be read")):
            p = told(bus, "submit", conf, *words, "--set", f"Scaling.Policy={policy}", ok=False)
            assert p.returncode != 0 and sentence in p.stderr, (policy, p.stderr)
        p = told(bus, "submit", conf, *words, "--set", "Scaling.MaxActors=5", "--set", f"Scaling.Policy=replay:{job}", ok=False)
        assert p.returncode == 2 and "had 6 actors, and this job allows 1 to 5" in p.stderr, p.stderr
        refused(bus, text=JOB_TEXT, overrides=[*sets, ("Scaling.Policy", f"replay:{job}")])


def check_ledger(bus, job):
    """Each record once, none missing."""
    for life, n, last in bus.ledger().execute("SELECT life, count(*), max(seq) FROM records WHERE job = ? GROUP BY life", (job,)):
        assert n == last, (life, n, last)


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
            until(lambda: bus.get(job, "Round") > 0, "a round")
            before = bus.get(job, "Round")
            bus.stop(signal.SIGKILL)
            time.sleep(0.2)
            bus.start()
            until(lambda: bus.get(job, "Round") >= before, "what was read before is read again")
        assert bus.ended(job) == "finished"
        assert bus.get(job, "Life") == 1
        assert bus.get(job, "PolicySHA256") == policy
        assert bus.get(job, "Round") == rounds
        check_ledger(bus, job)
        n = bus.ledger().execute("SELECT count(DISTINCT round), count(*) FROM rounds WHERE job = ?", (job,)).fetchone()
        assert n == (rounds, rounds), n


@story("an evaluated job whose daemon and whose learner are killed ends with the policy and the means of one that was left alone")
def evaluated_killed():
    evaluated = LONG + [("Job.StopSteps", "60000"), ("Evaluation.Episodes", "5"), ("Evaluation.Actors", "2"), ("Evaluation.EveryRounds", "3")]
    with Bus() as bus:
        calm, job = bus.submit(overrides=evaluated), bus.submit(overrides=evaluated)
        for victim in "actord", "actord-learner", "actord":
            until(lambda: bus.get(job, "EvaluationEpisodes") > 0 and bus.get(job, "Round") > 3, "an evaluation")
            if victim == "actord":
                bus.stop(signal.SIGKILL)
                time.sleep(0.1)
                bus.start()
            else:
                os.kill(bus.processes(victim)[-1], signal.SIGKILL)
        for j in calm, job:
            assert bus.ended(j) == "finished", bus.get(j, "Fault")
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
            # Some rounds beyond a checkpoint of this life: there is something to repeat, and somewhere to begin.
            newest = lambda: bus.ledger().execute("SELECT max(round) FROM checkpoints WHERE job = ? AND life = ?", (job, life)).fetchone()[0]
            until(lambda: bus.get(job, "Life") == life and newest() and bus.get(job, "Round") > newest() + 3, "rounds beyond a checkpoint")
            victims = bus.processes(comm)
            others = bus.processes("actord-invoker", "actord-learner", "actord-actor")
            assert victims, comm
            os.kill(victims[0], signal.SIGKILL)
            until(lambda: not any(os.path.exists(f"/proc/{p}") for p in others), "all of the old life is gone")
        assert bus.ended(job) == "finished", bus.get(job, "Fault")
        assert bus.get(job, "Life") == 1 + len(deaths)
        assert bus.get(job, "PolicySHA256") == policy
        assert bus.get(job, "Round") == rounds
        assert bus.get(job, "Fault") != ""
        bill = bus.call(f"/org/actord1/job/{job}", JOB, "GetBill")
        assert any(line[0] == "retries" for line in bill[4]), bill


@story("a job whose invoker always dies fails after its lives, with a sentence")
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
        until(kill, "the job gives up", 60)
        assert bus.get(job, "Result") == "failed"
        assert bus.get(job, "Life") == 5
        assert "gone" in bus.get(job, "Fault"), bus.get(job, "Fault")


@story("queued jobs survive the daemon, and a stopped daemon lets running ones go on")
def restart():
    with Bus("MaxJobs=1\n") as bus:
        first = bus.submit(overrides=LONG)
        second = bus.submit(overrides=[("Job.StopSteps", "2000"), ("Job.StopReturn", "")])
        until(lambda: bus.state(first) == "running", "the first one runs")
        assert bus.stop() == 0
        assert bus.processes("actord-invoker"), "the job ended with its daemon"
        bus.start()
        assert bus.ended(first) == "finished"
        assert bus.ended(second) == "finished"
        assert bus.get(first, "Life") == 1


@story("a second daemon ends at once and disturbs nothing")
def second_daemon():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        p = subprocess.run([os.path.join(BUILD, "actord"), "--user"], env=bus.env, capture_output=True, text=True, timeout=20)
        assert p.returncode == 1 and "Another actord" in p.stderr, p
        p = subprocess.run([os.path.join(BUILD, "actord"), "--user", "--state=" + bus.dir + "/other"], env=bus.env, capture_output=True, text=True, timeout=20)
        assert p.returncode == 1 and "Another actord" in p.stderr, p
        assert bus.state(job) in ("starting", "running")


@story("an idle daemon ends by itself, a busy one does not")
def idle():
    with Bus("IdleExitSec=1\n") as bus:
        job = bus.submit(overrides=ENDLESS)
        time.sleep(2.5)
        assert bus.daemon.poll() is None
        bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
        assert bus.daemon.wait(timeout=15) == 0


@story("a daemon whose bus breaks says so and ends; its job goes on under the next one")
def lost_bus():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        until(lambda: bus.get(job, "Round") > 0, "a round")
        bus.broker.kill()
        assert bus.daemon.wait(timeout=10) != 0
        assert "bus is lost" in open(bus.dir + "/log").read()
        os.unlink(bus.dir + "/bus")
        bus.broker.wait()
        bus.broker = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--nopidfile", "--nosyslog",
                                       "--address=" + bus.env["DBUS_SESSION_BUS_ADDRESS"]], stderr=subprocess.DEVNULL)
        until(lambda: os.path.exists(bus.dir + "/bus"), "the bus is there")
        bus.start()
        assert bus.get(job, "Life") == 1
        before = bus.get(job, "Round")
        until(lambda: bus.get(job, "Round") > before, "rounds go on")


@story("a full disk: the daemon says so, the job pauses, nothing is lost, and it goes on when there is room")
def full_disk():
    if os.geteuid() != 0:
        raise Skip("mounting a small disk needs root")
    policy, rounds = undisturbed()
    bus = Bus()
    os.makedirs(bus.dir + "/state")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "small", bus.dir + "/state"], capture_output=True).returncode != 0:
        raise Skip("a small disk cannot be mounted here")
    try:
        with bus:
            job = bus.submit(overrides=LONG + [("Checkpoint.IntervalSec", "1000")])
            until(lambda: bus.get(job, "Round") > 0, "a round")
            with open(bus.dir + "/state/filler", "wb", buffering=0) as filler:
                try:
                    while True:
                        filler.write(bytes(4096))
                except OSError:
                    pass
            until(lambda: "cannot be written" in open(bus.dir + "/log").read(), "the daemon says that its disk is full")
            time.sleep(1)
            assert bus.state(job) != "ended"
            os.unlink(bus.dir + "/state/filler")
            assert bus.ended(job) == "finished", bus.get(job, "Fault")
            assert "can be written again" in open(bus.dir + "/log").read()
            assert (bus.get(job, "PolicySHA256"), bus.get(job, "Round"), bus.get(job, "Life")) == (policy, rounds, 1)
            check_ledger(bus, job)
    finally:
        subprocess.run(["umount", "-l", bus.dir + "/state"])
        shutil.rmtree(bus.dir, ignore_errors=True)


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
