#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Actors on nodes: the policy is the same with any number of nodes, whatever happens to them. The nodes are invokers on this host, which
a stand-in for the cluster's program starts."""
import json, os, shutil, signal, sqlite3, subprocess, sys, tempfile, time
import bus as buses
import story as telling
from schema import follows
from story import *

HERE = os.path.dirname(os.path.abspath(__file__))
SMALL = ("Scaling.Actors=6", "Actor.EnvsPerActor=2", "Actor.RolloutSteps=64", "Learner.MinibatchSize=96", "Learner.Epochs=2",
         "Job.StopSteps=46080", "Job.StopReturn=", "Billing.Clock=model")
NODES = ("Distribution.Cluster=slurm",)


def place(**cluster):
    """A copy of the programs, with a stand-in beside them."""
    path = tempfile.mkdtemp(dir=telling.STATE)
    for name in os.listdir(BUILD):
        source = os.path.join(BUILD, name)
        if os.path.isfile(source) and (os.access(source, os.X_OK) or name.endswith(".so")) and name != "actord-cluster":
            shutil.copy2(source, os.path.join(path, name))
    if os.path.isdir(os.path.join(BUILD, "share")):
        os.symlink(os.path.join(BUILD, "share"), os.path.join(path, "share"))
    shutil.copy2(os.path.join(HERE, "stand_in_cluster.py"), os.path.join(path, "actord-cluster"))
    os.chmod(os.path.join(path, "actord-cluster"), 0o755)
    with open(os.path.join(path, "cluster.json"), "w") as f:
        json.dump(cluster, f)
    return path


def log(path):
    try:
        with open(os.path.join(path, "cluster.log")) as f:
            return f.read().splitlines()
    except FileNotFoundError:
        return []


def node_pid(path, number):
    for line in log(path):
        if line.startswith(f"node {number} "):
            return int(line.split()[2])


class Elsewhere:
    """A run with this stand-in, on one CPU of this host, so that most actors do not fit here."""

    def __init__(self, n=8, cpus=2, **cluster):
        self.path = place(nodes=n, cpus=cpus, **cluster)

    def run(self, *sets, example="cartpole", small=SMALL, **kw):
        before, telling.CTL = telling.CTL, os.path.join(self.path, "actorctl")
        try:
            return telling.run(example, *small, *NODES, *sets, seed=7, before=("taskset", "-c", str(min(os.sched_getaffinity(0)))), **kw)
        finally:
            telling.CTL = before

    def started(self):
        return [l for l in log(self.path) if l.startswith("node ")]

    def when_works(self, p, number=1):
        """The node's invoker, once it has an actor."""
        while p.poll() is None:
            pid = node_pid(self.path, number)
            if pid and descendants(pid, "actord-actor"):
                return pid
            time.sleep(0.01)
        raise AssertionError(f"node {number} was given no actor: {log(self.path)}")

    def wait_until_given_back(self):
        """Waits until a node is given back: the invoker says so to the cluster's program."""
        wait_for("a node is given back", lambda: any(l.startswith("hear 2 ") for l in log(self.path)), 60)


calm = {}
LONG = ("Job.StopSteps=276480",)


def undisturbed(*sets):
    if sets not in calm:
        calm[sets] = telling.run("cartpole", *SMALL, *sets, seed=7).policy_sha256
    return calm[sets]


def same(r, *sets):
    equal(r.policy_sha256, undisturbed(*sets), "the policies with nodes and without")


@story("0, 1, 2 and 4 nodes give the same policy, and a run tells how many there were")
def number_of_nodes():
    for n in (0, 1, 2, 4):
        e = Elsewhere(n)
        r = e.run(f"Distribution.Nodes={n}", *LONG)
        same(r, *LONG)
        equal(len(e.started()), n, "nodes that were started")
        equal((r.nodes["max"], r.nodes["lost"]), (n, 0), "the nodes that the run tells of")
        assert (r.nodes["total_s"] > 0) == (n > 0), r.nodes
        assert (r.cpu_s["nodes"] > 0) == (n > 0), r.cpu_s


@story("actors on nodes choose among candidates by the critics of each policy version")
def candidates():
    sets = ("Learner.Dataset=", "Scaling.Actors=6", "Actor.EnvsPerActor=2", "Actor.RolloutSteps=64", "Job.StopSteps=61440", "Learner.ReplayMin=1000",
            "Learner.TrainRatio=0.005", "Learner.MinibatchSize=32", "Learner.EpsilonStart=0.05", "Learner.Candidates=50", "Evaluation.Episodes=0",
            "Billing.Clock=model")
    r = Elsewhere(2).run("Distribution.Nodes=2", example="pendulum-consistency", small=sets)
    assert r.nodes["max"] == 2 and r.cpu_s["nodes"] > 0, (r.nodes, r.cpu_s)
    want = telling.run("pendulum-consistency", *sets, seed=7)
    equal((r.policy_sha256, r.state_sha256), (want.policy_sha256, want.state_sha256), "policy and state with nodes and without")


@story("a job goes on without nodes while the cluster has none free, and with the same policy")
def pending():
    e = Elsewhere(1, delay=3600)
    r = e.run("Distribution.Nodes=0-4")
    same(r)
    equal((r.nodes["max"], len(e.started())), (0, 0), "nodes")


def rounds_of(r):
    """(the round's time, the wait for nodes in it) of each round, from its records."""
    db = sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True)
    return db.execute("SELECT emulated_round_nsec, waited_nsec FROM records JOIN kinds USING (kind) WHERE word = 'round' ORDER BY round").fetchall()


@story("while a node is pending, the wait for it is on the measured clock, and not on the model's")
def waits():
    for clock, delay in ("metered", 3600), ("metered", 0), ("model", 3600):
        # Actors need no time to start, so that a round is all computing. A job that is to see its node come has rounds enough for that.
        length = LONG if delay == 0 else ()
        r = Elsewhere(1, cpus=8, delay=delay).run("Distribution.Nodes=1", f"Billing.Clock={clock}", "Billing.ColdStartSec=0", "Billing.WarmStartSec=0", *length)
        same(r, *length)
        rounds = rounds_of(r)
        waited = [wait for _, wait in rounds]
        assert all(0 <= wait < whole for whole, wait in rounds), rounds
        if clock == "model":
            equal((sum(waited), r.emulated_s), (0, telling.run("cartpole", *SMALL, "Billing.ColdStartSec=0", "Billing.WarmStartSec=0", seed=7).emulated_s),
                  "the wait and the time by the model")
        elif delay > 0:
            assert all(waited), rounds
            functions = ctl("bill", r.state_directory, "--beside", "--json").json["ways"][0]
            assert abs(r.emulated_s - sum(waited) / 1e9 - functions["time_s"]) < 1e-6, (r.emulated_s, sum(waited), functions)
        else:
            # The node was asked for when the job began, and came later than that.
            assert waited[-1] == 0 and sum(map(bool, waited)) < len(waited) / 2, rounds


def share_awake(pid, seconds):
    """The share of the next seconds in which a process had or wanted a CPU: little on any host if it sleeps, all if it never sleeps."""
    def nsec():
        return sum(map(int, open(f"/proc/{pid}/schedstat").read().split()[:2]))
    before, begun = nsec(), time.monotonic()
    time.sleep(seconds)
    return (nsec() - before) / 1e9 / (time.monotonic() - begun)


@story("the job's invoker sleeps while actors on a node work, after others have moved there from this host")
def asleep():
    e, shares = Elsewhere(1, cpus=5, delay=0.1), []

    def during(p):
        node = e.when_works(p)
        actors, all_ = descendants(node, "actord-actor"), processes()
        for actor in actors:
            os.kill(actor, signal.SIGSTOP)
        invoker = all_[descendants(p.pid, "actord-learner")[0]][0]
        # At first what was under way is done.
        while len(shares) < 20 and (not shares or shares[-1] > 0.5):
            shares.append(share_awake(invoker, 0.2))
        for actor in actors:
            os.kill(actor, signal.SIGCONT)

    e.run("Distribution.Nodes=1", "Job.StopSteps=368640", during=during)
    assert shares and shares[-1] < 0.5, shares


@story("as many nodes are asked for as rounds are worth")
def worth():
    e = Elsewhere(8, cpus=5)
    r = e.run("Distribution.Nodes=0-8", *LONG)
    same(r, *LONG)
    equal(r.nodes["max"], 1, "nodes with five CPUs, for five actors that do not fit here")


def disturbed(how, *sets, n=2, **cluster):
    e = Elsewhere(n, **cluster)
    done = []

    def during(p):
        try:
            how(e, e.when_works(p))
            done.append(True)
        except AssertionError:
            pass  # told below, where it counts

    r = e.run(f"Distribution.Nodes={n}", *LONG, *sets, during=during)
    assert done, log(e.path)
    same(r, *LONG)
    equal(r.nodes["lost"], 1, "lost nodes")
    return r


@story("a node whose invoker is killed is lost, no attempt of its actors counts, and the policy stays the same")
def killed():
    disturbed(lambda e, pid: os.kill(pid, signal.SIGKILL), "Actor.Retries=0")


@story("a node whose connection is cut is lost, and the policy stays the same")
def cut():
    def how(e, pid):
        open(os.path.join(e.path, "cut-1"), "w").close()
    disturbed(how, "Actor.Retries=0")


@story("a node that stalls is given up after a while, and the policy stays the same")
def stalled():
    def how(e, pid):
        os.kill(pid, signal.SIGSTOP)
        # A cluster ends what it takes back.
        e.wait_until_given_back()
        os.kill(pid, signal.SIGKILL)
    disturbed(how, "Actor.Retries=0", n=1)


@story("actors that are killed on their node are tried again, and the policy stays the same")
def killed_actors():
    e = Elsewhere(2)
    killed = []

    def during(p):
        pid = e.when_works(p)
        for victim in sorted(descendants(pid, "actord-actor"))[:1]:
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    r = e.run("Distribution.Nodes=2", *LONG, during=during)
    same(r, *LONG)
    equal((len(killed), r.nodes["lost"]), (1, 0), "killed actors and lost nodes")


@story("a node whose CPU has narrower vectors gives the same policy")
def narrow():
    e = Elsewhere(2, kernel_class=(offset_of("kernel_class"), 1))
    r = e.run("Distribution.Nodes=2", *LONG)
    same(r, *LONG)
    equal((r.nodes["max"], r.nodes["lost"]), (2, 0), "nodes")


@story("a cluster that refuses is told of, and the job ends without nodes")
def refused():
    r = Elsewhere(1, refuse="the partition is unknown").run("Distribution.Nodes=1")
    same(r)
    assert "the partition is unknown" in r.err, r.err


@story("a node's time is billed once, in place of what its actors did there")
def billed():
    e = Elsewhere(1, cpus=5)
    r = e.run("Distribution.Nodes=1", "Billing.PriceSheet=slurm-tres", *LONG)
    follows("run", r.json)
    lines = {(l["kind"], l["unit"]): l for l in r.cost["lines"]}
    # The sheet's granularity rounds no part of it.
    of = lambda unit: sum(lines[kind, unit]["quantity"] for kind in ("nodes", "idle-nodes"))
    assert abs(of("vCPU-s") / 5 - r.nodes["total_s"]) < 0.01, (lines, r.nodes)
    assert abs(of("GB-s") / 2 - r.nodes["total_s"]) < 0.01, (lines, r.nodes)
    assert 0 < r.nodes["idle_s"] < r.nodes["total_s"] and abs(lines["idle-nodes", "vCPU-s"]["quantity"] / 5 - r.nodes["idle_s"]) < 0.01, (lines, r.nodes)
    # One second each is the least that an invocation here costs by this sheet.
    here = lines["actor-execution", "vCPU-s"]["quantity"]
    assert here < r.invocations["total"], (here, r.invocations)
    ways = {w["as"]: w for w in follows("bill_beside", ctl("bill", r.state_directory, "--beside", "--json").json)["ways"]}
    equal((ways["nodes"]["paper"], ways["nodes"]["full"]), (r.cost["paper"], r.cost["full"]), "as it ran, on nodes")
    assert abs(ways["nodes"]["time_s"] - r.nodes["total_s"]) < 0.01, (ways, r.nodes)
    equal(ctl("bill", r.state_directory, "--json").json["serverless"], ways["functions"]["full"], "as functions, beside fleets of servers")
    without = telling.run("cartpole", *SMALL, "Billing.PriceSheet=slurm-tres", *LONG, seed=7)
    # The paper total has no starts, of which there are more where an actor has been on both hosts.
    equal(ways["functions"]["paper"], without.cost["paper"], "as functions, as without nodes")


SITE = """[Sheet]
Name=site
Date=2026-11-24
Source=a test
Currency=credits
Description=A site's own weights, and a price of its network
[Execution]
VCPUSecond=1
[Nodes]
BillingSecond=3
[Network]
GB=1024
"""


@story("idle time, waiting and bytes of nodes are told apart, and a site's own weights and network have prices")
def priced():
    e = Elsewhere(1, cpus=5, delay=0.1, billing=2.5)
    path = os.path.join(telling.STATE, "site.sheet")
    with open(path, "w") as f:
        f.write(SITE)
    r = e.run("Distribution.Nodes=1", f"Billing.PriceSheet={path}", "Job.StopSteps=368640")
    n, lines = r.nodes, {(l["kind"], l["unit"]): l for l in r.cost["lines"]}
    busy, idle, traffic = lines["nodes", "billing-s"], lines["idle-nodes", "billing-s"], lines["traffic", "GB"]
    close = lambda a, b: abs(a - b) <= 1e-3 * max(abs(a), abs(b))
    assert close((busy["quantity"] + idle["quantity"]) / 2.5, n["total_s"]) and close(idle["quantity"] / 2.5, n["idle_s"]), (lines, n)
    assert close(busy["amount"], 3 * busy["quantity"]) and busy["paper"] and not idle["paper"], lines
    assert ("nodes", "vCPU-s") not in lines, lines
    assert 0.09 < n["waited_s"] < 5 * PATIENCE and 0 < n["idle_s"] < n["total_s"], n
    # The head receives rows of observations, and sends policies and snapshots.
    assert n["received_bytes"] > 100000 and n["sent_bytes"] > 10000, n
    assert close(traffic["quantity"] * (1 << 30), n["sent_bytes"] + n["received_bytes"]) and close(traffic["amount"], 1024 * traffic["quantity"]), (traffic, n)
    assert close(n["cost"], busy["amount"] + idle["amount"] + traffic["amount"]), n


ASYNC = ("Distribution.Policy=async", "Scaling.Actors=6", "Actor.RolloutSteps=64", "Job.StopSteps=138240", "Job.StopReturn=", "Billing.Clock=model",
         "Billing.UpdateUSec=3")


@story("rounds that do not wait for all actors have the same policy on nodes by the model's clock, also when a node is lost")
def overlapping():
    want = telling.run("cartpole-impala", *ASYNC, seed=7)
    for lost in False, True:
        e = Elsewhere(2)
        r = e.run("Distribution.Nodes=2", example="cartpole-impala", small=ASYNC,
                  during=lambda p: e.when_works(p) and lost and open(os.path.join(e.path, "cut-1"), "w").close())
        equal((r.policy_sha256, r.rounds, r.emulated_s), (want.policy_sha256, want.rounds, want.emulated_s), "policies, rounds and times")
        equal((r.nodes["max"] > 0, r.nodes["lost"]), (True, int(lost)), "nodes")


@story("nodes that rounds need no more are given back after KeepAliveSec=, while the job goes on with the same policy")
def given_back():
    # The node begins within the first rounds, on a fast host too, and works for some more. One actor has more rounds than the job then needs.
    few = ("Job.StopSteps=1177600", "Scaling.Policy=schedule", "Scaling.MaxActors=6", "Scaling.Schedule=6*200 1*9000", "Scaling.KeepAliveSec=0.2")
    e, at = Elsewhere(2), []

    def during(p):
        e.when_works(p)
        e.wait_until_given_back()
        at.append(p.poll())

    r = e.run("Distribution.Nodes=0-2", *few, during=during)
    assert at == [None], (at, log(e.path))
    same(r, *few)
    equal(r.nodes["lost"], 0, "lost nodes")


PLUGIN = ("Scaling.Actors=6", "Actor.RolloutSteps=64", "Actor.Retries=0", "Learner.MinibatchSize=96", "Learner.Epochs=1", "Job.StopSteps=92160",
          "Billing.Clock=model")


def plugin_job():
    """Its job file, and its policy without nodes."""
    conf = os.path.join(telling.STATE, "plugin.conf")
    with open(conf, "w") as f:
        f.write(f"[Job]\nEnvironment={shared_library(HOSTILE)}\nStopSteps=1000\n")
    if "plugin" not in calm:
        calm["plugin"] = telling.run(conf, *PLUGIN, seed=7).policy_sha256
    return conf, calm["plugin"]


@story("a plugin's file travels to nodes, at both levels of the sandbox, and the policy is the same, also when a node is killed")
def plugin_travels():
    conf, want = plugin_job()
    for kills, *sets in (False,), (True, "Actor.Sandbox=process"):
        e, worked = Elsewhere(2), []

        def during(p):
            worked.append(e.when_works(p))
            if kills:
                # The job lasts until the node is given back.
                learner, = descendants(p.pid, "actord-learner")
                os.kill(learner, signal.SIGSTOP)
                os.kill(worked[0], signal.SIGKILL)
                e.wait_until_given_back()
                os.kill(learner, signal.SIGCONT)

        r = e.run("Distribution.Nodes=2", *sets, example=conf, small=(*PLUGIN, "Learner.TimeoutSec=3600"), during=during)
        equal(r.policy_sha256, want, f"policies, {sets}")
        equal((len(worked), r.nodes["lost"]), (1, int(kills)), "nodes that had actors, and lost ones")


@story("verify refuses a plugin that is too large to travel to nodes, and what lies in folders or runs in Python, each with the reason")
def does_not_travel():
    conf, large = plugin_job()[0], os.path.join(telling.STATE, "large.so")
    shutil.copy(shared_library(HOSTILE), large)
    os.truncate(large, (70 << 20) + 1)
    for environment, words in (large, "the plugin is 70 MiB, and at most 64 MiB can be sent"), ("gym:CartPole-v1", "packages are not sent to nodes"):
        r = ctl("verify", conf, *set_words(*NODES, "Distribution.Nodes=1", f"Job.Environment={environment}"))
        assert r.status == 2 and words in r.err, (environment, r.status, r.err)


@story("a plugin that does not load on a node: the node is lost with the reason, and the policy is the same")
def plugin_does_not_load():
    conf, want = plugin_job()
    e = Elsewhere(1, plugin="not a shared library")

    def during(p):
        # The job lasts until then.
        learner = wait_for("the learner is there", lambda: descendants(p.pid, "actord-learner"), 60)[0]
        os.kill(learner, signal.SIGSTOP)
        e.wait_until_given_back()
        os.kill(learner, signal.SIGCONT)

    r = e.run("Distribution.Nodes=1", example=conf, small=(*PLUGIN, "Learner.TimeoutSec=3600"), during=during)
    assert "node 1 is lost: it cannot begin: the environment does not load there: are all libraries" in r.err, r.err
    assert r.policy_sha256 == want and r.nodes["lost"] >= 1, (r.policy_sha256, want, r.nodes)


@story("episodes of evaluations are played on nodes, and their mean is the same")
def evaluated():
    played = ("Scaling.Actors=2", "Evaluation.Actors=4", "Evaluation.Episodes=12", "Evaluation.EveryRounds=300")
    r = Elsewhere(1, cpus=8).run("Distribution.Nodes=1", *LONG, *played)
    want = telling.run("cartpole", *SMALL, *LONG, *played, seed=7)
    equal((r.policy_sha256, r.evaluation_mean, r.evaluation_episodes), (want.policy_sha256, want.evaluation_mean, 12), "policies, means and episodes")
    db = sqlite3.connect(f"file:{r.state_directory}/ledger.sqlite?mode=ro", uri=True)
    n = db.execute("SELECT count(*) FROM records JOIN kinds USING (kind) WHERE word = 'evaluation' AND node > 0").fetchone()[0]
    assert n > 0, "all evaluation episodes were played on this host"


@story("a user's daemon that is killed and started anew finds its job with the same nodes, and the policy stays the same")
def restarted():
    e = Elsewhere(2)
    before, wrap = buses.BUILD, buses.WRAP
    buses.BUILD, buses.WRAP = e.path, ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    try:
        with buses.Bus() as bus:
            sets = [word.split("=", 1) for word in (*SMALL, *NODES, *LONG, "Distribution.Nodes=2", "Job.Seed=7")]
            job = bus.submit(overrides=sets)
            e.when_works(bus.daemon)
            bus.stop(signal.SIGKILL)
            assert log(e.path)
            bus.start()
            assert bus.ended(job) == "finished", bus.get(job, "Fault")
            assert follows("status", bus.ctl("status", job, "--json").json)["nodes_max"] == 2
            equal(bus.get(job, "PolicySHA256"), undisturbed(*LONG), "the policies with a daemon that was killed and without nodes")
            equal((len(e.started()), bus.get(job, "NodesMax"), bus.get(job, "NodesLost"), bus.get(job, "Life")), (2, 2, 0, 1),
                  "nodes that were started, were up and were lost, and lives")
    finally:
        buses.BUILD, buses.WRAP = before, wrap


tell()
