#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Data sets: episodes that a policy plays, read back by the package whose layout they have."""
from tools import *

MINARI = """
import json, sys, minari, numpy
data = minari.MinariDataset(sys.argv[1])
episodes = list(data.iterate_episodes())
assert [e.id for e in episodes] == list(range(data.total_episodes))
assert sum(len(e.rewards) for e in episodes) == data.total_steps
for e in episodes:
    assert len(e.observations) == len(e.rewards) + 1 == len(e.actions) + 1, (e.observations.shape, e.rewards.shape)
    assert all(data.observation_space.contains(o) for o in e.observations) and all(data.action_space.contains(a) for a in e.actions)
    assert not (e.terminations | e.truncations)[:-1].any() and (e.terminations | e.truncations)[-1]
print(json.dumps({"returns": [float(e.rewards.sum()) for e in episodes], "steps": [len(e.rewards) for e in episodes],
                  "terminated": [bool(e.terminations[-1]) for e in episodes], "id": data.spec.dataset_id,
                  "first": [float(abs(e.observations[0]).max()) for e in episodes],
                  "kinds": [str(episodes[0].observations.dtype), str(episodes[0].actions.dtype)]}))
"""


def path(name):
    return os.path.join(STATE, name)


def trained(example, *sets):
    """The checkpoint of a short run."""
    r = ctl("run", os.path.join(EXAMPLES, example + ".conf"), *set_words("Job.StopReturn=", *sets))
    assert r.status == 0, r.err
    return re.search(r"^checkpoint (.*)$", r.out, re.M)[1]


def exported(checkpoint, name, *words):
    r = ctl("export", checkpoint, f"--output={path(name)}", *words)
    if r.status != 0 and "built without" in r.err:
        raise Skip("dataset.so is not built: libhdf5-dev is missing")
    assert r.status == 0, r.err
    return path(name)


def rollouts(checkpoint, name, n, *words):
    return exported(checkpoint, name, "--rollouts", f"--episodes={n}", *words)


def check_read(checkpoint, name, kinds, *words):
    """Minari's own package reads the episodes that `eval` plays."""
    want = ctl("eval", checkpoint, "--episodes=5", "--json", *words).json
    got = foreign(MINARI, rollouts(checkpoint, name, 5, *words))
    equal(len(got["returns"]), 5, "episodes")
    assert abs(sum(got["returns"]) / 5 - want["return_mean"]) < 1e-9 * abs(want["return_mean"]), (got, want)
    equal(got["kinds"], kinds, "elements")
    return got


@story("episodes of a continuous policy are a data set that Minari reads, and those that `eval` plays")
def continuous():
    got = check_read(trained("pendulum-ddpg", "Job.StopSteps=2000"), "pendulum", ["float32", "float32"])
    equal(got["id"], "actord/Pendulum-v1", "name")
    equal((got["steps"], got["terminated"]), ([200] * 5, [False] * 5), "ends")


@story("so are those of a discrete policy, whose episodes end by themselves")
def discrete():
    got = check_read(trained("cartpole", "Job.StopSteps=2000"), "cartpole", ["float32", "int64"])
    assert any(got["terminated"]), got
    equal(got["returns"], got["steps"], "a reward of 1 for each step")


@story("actions are drawn if the job says so, at random before ReplayMin=, and a data set is written anew over an old one")
def drawn():
    draw = ("--set", "Evaluation.Stochastic=yes")
    for steps, replay_min in (1500, 1000), (500, 1000):
        checkpoint = trained("pendulum-sac", f"Job.StopSteps={steps}", f"Learner.ReplayMin={replay_min}")
        sure = foreign(MINARI, rollouts(checkpoint, "sac", 5))
        drawn = check_read(checkpoint, "sac", ["float32", "float32"], *draw)
        assert sure["returns"] != drawn["returns"], sure
        equal(foreign(MINARI, rollouts(checkpoint, "sac", 5))["returns"], sure["returns"], "the same once more")


@story("the episodes of a replay store are a data set, the last one cut, with the returns that the run had, and a job learns from it")
def replayed():
    job = os.path.join(EXAMPLES, "pendulum-sac.conf")
    r = ctl("run", job, "--set=Job.StopSteps=1500", "--set=Job.StopReturn=", f"--metrics=monitor:{path('monitor.csv')}")
    assert r.status == 0, r
    data = exported(re.search(r"^checkpoint (.*)$", r.out, re.M)[1], "replay", "--replay")
    got = foreign(MINARI, data)
    equal((got["steps"], got["terminated"]), ([200] * 7 + [100], [False] * 8), "episodes")
    returns = [float(line.split(",")[0]) for line in open(path("monitor.csv")).read().splitlines()[2:]]
    assert len(returns) == 7 and all(abs(a - b) < 0.01 for a, b in zip(got["returns"], returns)), (got, returns)
    for normalises, sentence in (("yes", "NormalizeObservations= or NormalizeRewards= has changed"), ("no", "holds the steps of Dataset=")):
        checkpoint = trained("pendulum-bc", f"Learner.Dataset={data}/main_data.hdf5", "Job.StopSteps=500", f"Learner.NormalizeObservations={normalises}")
        r = ctl("export", checkpoint, "--replay")
        assert r.status == 2 and sentence in r.err, r


@story("a data set of MuJoCo's tasks is read by an actor whose sandbox could not load the model")
def simulated():
    if ctl("env", "show", "Hopper-v4").status != 0:
        raise Skip("MuJoCo is not installed")
    data = exported(trained("pendulum-sac", "Job.Environment=Hopper-v4", "Job.StopSteps=1500"), "hopper", "--replay")
    sets = ["Job.Environment=Hopper-v4", f"Learner.Dataset={data}/main_data.hdf5", "Learner.ReplaySize=1500", "Learner.ReplayMin=1500"]
    r = ctl("verify", os.path.join(EXAMPLES, "pendulum-bc.conf"), *(f"--set={one}" for one in sets))
    assert r.status == 0, r
    trained("pendulum-bc", "Job.StopSteps=2000", "Evaluation.Episodes=2", *sets)


@story("of a full replay store the oldest episode is left out, as its beginning may be gone")
def full():
    checkpoint = trained("cartpole-dqn", "Job.StopSteps=2000", "Learner.ReplaySize=500", "Learner.ReplayMin=500")
    got = foreign(MINARI, exported(checkpoint, "full", "--replay"))
    assert max(got["first"]) <= 0.05, "CartPole begins within 0.05"
    assert 500 - max(got["steps"]) - 100 < sum(got["steps"]) < 500, got
    equal(got["returns"], got["steps"], "a reward of 1 for each step")
    equal(got["kinds"], ["float32", "int64"], "elements")


@story("what cannot be written is refused with what to do")
def refused():
    checkpoint = trained("cartpole", "Job.StopSteps=1000")
    for words, sentence in ((["--rollouts", "--format=onnx"], "leave out --format"), (["--rollouts", "--output=-"], "name a directory"),
                            (["--replay", "--weights-only"], "leave out --format"), (["--replay", "--rollouts"], "give one of them"),
                            (["--replay"], "has no replay store; --rollouts writes episodes of its policy"),
                            (["--replay", "--episodes=3"], "--episodes is for --rollouts"),
                            (["--episodes=3", "--output=x"], "--episodes is for --rollouts")):
        r = ctl("export", checkpoint, *words)
        assert r.status == 2 and sentence in r.err, (words, r)
    r = ctl("export", trained("cartpole-dqn", "Job.StopSteps=600", "Job.Environment=Catch-v0", "Learner.ReplaySize=1000", "Learner.ReplayMin=500"), "--replay")
    assert r.status == 2 and "images or stacks of frames" in r.err, r
    r = ctl("export", trained("phydrl", "Job.StopSteps=600", "Learner.ReplayMin=300"), "--replay")
    assert r.status == 2 and "the policy's part of each action and the envelope's rewards" in r.err, r


FORGED = """
import sys, json, struct, hashlib
data = bytearray(open(sys.argv[1], "rb").read())
n = struct.unpack("<Q", data[:8])[0]
head = json.loads(data[8:8 + n])
def put(name, value):
    first, end = head[name]["data_offsets"]
    data[8 + n + first:8 + n + end] = (value * (end - first))[:end - first]
for one in sys.argv[3:]:
    put(one, b"\\xff" if one == "replay.stored" else b"\\x07")
first, end = head["file.sha256"]["data_offsets"]
data[8 + n + first:8 + n + end] = hashlib.sha256(data[:8 + n + first]).digest()
open(sys.argv[2], "wb").write(data)
print("{}")
"""


@story("a forged replay store is refused, and does not keep the export busy")
def forged():
    checkpoint = trained("pendulum-sac", "Job.StopSteps=600")
    for tensor in "replay.stored", "replay.ends":
        foreign(FORGED, checkpoint, path("forged.safetensors"), tensor)
        r = ctl("export", path("forged.safetensors"), "--replay", f"--output={path('forged')}")
        assert r.status == 1 and "has impossible numbers: the file is damaged" in r.err, (tensor, r)
    for name in ("main_data.hdf5", "metadata.json"):
        os.makedirs(path(f"link-{name}"))
        os.symlink("/dev/null", os.path.join(path(f"link-{name}"), name))
        r = ctl("export", checkpoint, "--rollouts", f"--output={path(f'link-{name}')}")
        if r.status != 1 or "built without" not in r.err:
            assert r.status == 2 and f"{name} is not a regular file, so it is not replaced" in r.err, r
            equal(os.listdir(path(f"link-{name}")), [name], "what lies there")



WRONG = """
import sys, h5py, numpy
source, to, kind = sys.argv[1:4]
with h5py.File(source) as f, h5py.File(to, "w") as g:
    for k in f:
        f.copy(k, g)
    e = g["episode_1"]
    if kind == "nan":
        e["observations"][7, 1] = float("nan")
    if kind == "action":
        e["actions"][3] = 2.5
    if kind == "reward":
        e["rewards"][3] = float("inf")
    if kind == "end":
        e["terminations"][5] = True
    if kind == "short":
        actions = e["actions"][:-1]
        del e["actions"]
        e["actions"] = actions
    if kind == "space":
        del e["observations"]
        e["observations"] = numpy.zeros((201, 4), dtype="f4")
    if kind == "text":
        del e["actions"]
        e["actions"] = numpy.array([b"left"] * 200)
    if kind == "endless":
        del e["rewards"]
        e.create_dataset("rewards", shape=(1 << 50,), dtype="f8", chunks=(1024,))
    if kind == "lacks":
        del e["truncations"]
    if kind == "elsewhere":
        del e["rewards"]
        e["rewards"] = h5py.ExternalLink("/etc/passwd", "rewards")
    if kind == "outside":
        del e["rewards"]
        e.create_dataset("rewards", shape=(200,), dtype="f8", external=[("/etc/passwd", 0, 1600)])
    if kind == "virtual":
        del e["rewards"]
        layout = h5py.VirtualLayout(shape=(200,), dtype="f8")
        layout[:] = h5py.VirtualSource("/etc/passwd", "rewards", shape=(200,))
        e.create_virtual_dataset("rewards", layout)
    if kind == "empty":
        for k in list(g):
            del g[k]
print("{}")
"""


def offline(algorithm, data, *sets, verb="run"):
    return ctl(verb, os.path.join(EXAMPLES, f"pendulum-{algorithm}.conf"),
               *set_words(f"Learner.Dataset={data}/main_data.hdf5", *sets))


def recorded():
    """Ten episodes of a policy that has learned little, in the layout that the others share."""
    if not os.path.exists(path("recorded/main_data.hdf5")):
        rollouts(trained("pendulum-sac", "Job.StopSteps=1500"), "recorded", 10)
    return path("recorded")


def policy(r):
    assert r.status == 0, r.err
    return re.search(r"policy sha256 ([0-9a-f]{64})", r.out)[1]


SHORT = ("Learner.ReplaySize=2000", "Learner.ReplayMin=2000", "Learner.MinibatchSize=32", "Learner.HiddenLayers=16", "Actor.RolloutSteps=250",
         "Evaluation.Episodes=0", "Learner.TrainRatio=0.1")


@story("a data set that is wrong is refused by verify, which names the episode and what is wrong with it")
def wrong():
    data = recorded()
    r = offline("bc", data, verb="verify")
    assert r.status == 0, r.err
    for kind, words in (("nan", "episode_1: an observation"), ("action", "episode_1: an action"), ("reward", "episode_1: a reward"),
                        ("end", "episode_1: it has steps after a step that ends it"), ("short", "episode_1: it has no step, more steps than"),
                        ("space", "episode_1: the shape of its observations or actions is not the environment's"), ("text", "episode_1: it lacks"),
                        ("endless", "episode_1: it has no step, more steps than"), ("lacks", "episode_1: it lacks"), ("elsewhere", "episode_1: it lacks"),
                        ("outside", "episode_1: it lacks"), ("virtual", "episode_1: it lacks"),
                        ("empty", "it has no group episode_0")):
        os.makedirs(path(kind), exist_ok=True)
        foreign(WRONG, data + "/main_data.hdf5", path(kind) + "/main_data.hdf5", kind)
        r = offline("bc", path(kind), verb="verify")
        assert r.status != 0 and words in r.err.replace("\n", " "), (kind, r.err)
    whole = open(data + "/main_data.hdf5", "rb").read()
    os.makedirs(path("cut"), exist_ok=True)
    for text in (whole[:len(whole) // 2], b"not HDF5 at all", whole[:512]):
        open(path("cut/main_data.hdf5"), "wb").write(text)
        r = offline("bc", path("cut"), verb="verify")
        assert r.status != 0 and ("it is not a whole HDF5 file" in r.err or "episode_" in r.err), r
    r = ctl("verify", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.Algorithm=bc", "--set", f"Learner.Dataset={data}/main_data.hdf5")
    assert r.status != 0, r


SEVERAL = """[Job]
Environment=%s
Algorithm=%s
StopSteps=%d
Seed=5
[Environment]
Choices=1
[Scaling]
Actors=2
[Actor]
EnvsPerActor=4
RolloutSteps=64
[Learner]
HiddenLayers=16
LearningRate=0.01
%s
"""
BEYOND = """
import sys, h5py
with h5py.File(sys.argv[1], "r+") as f:
    f["episode_2/" + sys.argv[2]][3, 0] = int(sys.argv[3])
print("{}")
"""


@story("several choices at once, observed and acted, are a data set that Minari reads and bc clones; one that is none is refused with its episode")
def several():
    def job(*words):
        with open(path("several.conf"), "w") as f:
            f.write(SEVERAL % (shared_library("tests/integration/dials-env.c"), *words))
        return path("several.conf")

    r = ctl("run", job("ppo", 12288, ""))
    assert r.status == 0, r.err
    checkpoint = re.search(r"^checkpoint (.*)$", r.out, re.M)[1]
    got = check_read(checkpoint, "several", ["int64", "int64"])
    assert min(got["returns"]) > 14, got
    data = rollouts(checkpoint, "several", 40) + "/main_data.hdf5"
    conf = job("bc", 6400, f"Dataset={data}\nReplaySize=2000\nReplayMin=700\nMinibatchSize=32\nTrainRatio=0.1")
    first = ctl("run", conf)
    equal(policy(ctl("run", conf, "--set", "Learner.Threads=2", "--set", "Actor.Processes=1")), policy(first), "policies")
    clone = ctl("eval", re.search(r"^checkpoint (.*)$", first.out, re.M)[1], "--episodes=20", "--json").json["return_mean"]
    assert clone > 14, clone
    # The first dial has two positions, and a number that is observed four choices
    for what, number, words in (("actions", 2, "episode_2: an action"), ("observations", 4, "episode_2: an observation")):
        rollouts(checkpoint, "several", 4)
        foreign(BEYOND, data, what, number)
        r = ctl("verify", conf)
        assert r.status != 0 and words in r.err.replace("\n", " "), (what, r.err)


@story("an offline job's keys are checked: it needs a file, a distribution whose actors ask for nothing, and an end that is not the data's")
def keys():
    data = recorded()
    for sets, words in ((["Learner.Dataset="], "name a main_data.hdf5"), (["Learner.Dataset=nothing.hdf5"], "cannot be opened"),
                        ([f"Learner.Dataset={data}"], "not a regular file"), (["Distribution.Policy=central", "Actor.Processes=1"], "ask no learner for any"),
                        (["Distribution.Policy=fused"], "ask no learner for any"), (["Job.StopReturn=-200"], "those of the data set")):
        r = offline("bc", data, *sets, verb="verify")
        assert r.status == 2 and words in r.err, (sets, r)
    for algorithm in ("consistency", "diffusion-ql"):
        for chance in ("EpsilonStart=0.5", "EpsilonEnd=0.1", "EpsilonSteps=100"):
            r = offline(algorithm, data, f"Learner.{chance}", verb="verify")
            assert r.status == 2 and chance in r.err and "this key would do nothing" in r.err, (chance, r)
    r = ctl("verify", os.path.join(EXAMPLES, "pendulum-ddpg.conf"), "--set", f"Learner.Dataset={data}/main_data.hdf5")
    assert r.status == 2 and "Dataset" in r.err, r
    r = offline("bc", data, "Distribution.Policy=auto", verb="verify")
    assert r.status == 0, r.err


@story("equal policies from a data set, whatever the threads, processes and widths")
def equal_policies():
    data = recorded()
    for algorithm in ("bc", "td3-bc", "consistency", "diffusion-ql"):
        words = (*SHORT, "Job.StopSteps=4000", "Scaling.Actors=2")
        first = policy(offline(algorithm, data, *words, "Learner.Threads=1"))
        for sets in (["Learner.Threads=3"], ["Actor.Processes=1"], ["Learner.KernelClass=scalar"], ["Actor.Sandbox=process"]):
            equal(policy(offline(algorithm, data, *words, *sets)), first, (algorithm, sets))
        assert policy(offline(algorithm, data, *words, "Job.Seed=2")) != first


@story("a consistency policy is refused with what to do where passes, actions or a format do not fit")
def consistency_refused():
    data = recorded()
    for sets in (["Learner.Passes=0"], ["Learner.Passes=6"]):
        r = offline("consistency", data, *sets, verb="verify")
        assert r.status == 2 and "Passes=" in r.err and "from 1 to 5" in r.err, (sets, r)
    choices = rollouts(trained("cartpole", "Job.StopSteps=1000"), "choices", 2)
    r = offline("consistency", choices, "Job.Environment=CartPole-v1", verb="verify")
    assert r.status != 0 and "needs continuous actions" in r.err, r
    r = offline("td3-bc", data, "Learner.Passes=3", verb="verify")
    assert r.status == 2 and "Passes=3" in r.err, r
    r = offline("consistency", data, *SHORT, "Job.StopSteps=2500")
    assert r.status == 0, r.err
    checkpoint = re.search(r"^checkpoint (.*)$", r.out, re.M)[1]
    for form in ("onnx", "header"):
        r = ctl("export", checkpoint, f"--format={form}", f"--output={path('policy')}")
        assert r.status == 2 and "2 passes" in r.err and "--weights-only" in r.err, r
    r = ctl("export", checkpoint, "--weights-only", f"--output={path('policy')}")
    assert r.status == 0 and b"actor.denoiser.0.weight" in open(path("policy"), "rb").read(), r


@story("candidates change no policy that learns from recorded episodes, only how it acts, and an export plays what `eval` plays")
def candidates():
    data = recorded()
    for algorithm in ("consistency", "diffusion-ql"):
        words = (*SHORT, "Job.StopSteps=3000", "Learner.LearningRate=0.001")
        one, fifty = (offline(algorithm, data, *words, f"Learner.Candidates={n}") for n in (1, 50))
        equal(policy(one), policy(fifty), f"policies of {algorithm} with one candidate and with fifty")
        checkpoint = re.search(r"^checkpoint (.*)$", one.out, re.M)[1]
        returns = set()
        for sets in ((), ("Learner.Candidates=50",), ("Learner.Candidates=50", "Evaluation.Stochastic=yes")):
            words = set_words(*sets)
            played = ctl("eval", checkpoint, "--episodes=5", "--json", *words).json["return_mean"]
            got = foreign(MINARI, rollouts(checkpoint, "chosen", 5, *words))["returns"]
            assert close(sum(got) / 5, played), (algorithm, sets, got, played)
            returns.add(round(played, 6))
        equal(len(returns), 3, f"ways in which {algorithm} acts: {returns}")
        # One candidate is drawn in either case, and no random action replaces it
        drawn = ctl("eval", checkpoint, "--episodes=5", "--json", "--set", "Evaluation.Stochastic=yes").json["return_mean"]
        assert round(drawn, 6) in returns, (algorithm, drawn, returns)


@story("a job goes on from recorded episodes with actors that act, and a policy is fine-tuned from there")
def on_from_there():
    data = recorded()
    r = offline("diffusion-ql", data, *SHORT, "Job.StopSteps=2500")
    assert r.status == 0, r.err
    checkpoint = re.search(r"^checkpoint (.*)$", r.out, re.M)[1]
    for algorithm in ("diffusion-ql", "pi-ft"):
        words = ("Learner.Dataset=", f"Job.Algorithm={algorithm}", "Job.StopSteps=4500", "Learner.EpsilonStart=0.05")
        sets = set_words(*SHORT, *words)
        example = os.path.join(EXAMPLES, "pendulum-diffusion-ql.conf")
        first = policy(ctl("run", example, "--from", checkpoint, *sets))
        equal(policy(ctl("run", example, "--from", checkpoint, *sets, "--set", "Distribution.Policy=single-learner-fine")), first, algorithm)


@story("a job goes on with another data set, or with rollouts of another length, from new episodes; with the same ones nothing is dropped")
def goes_on():
    data = recorded()
    words = (*SHORT, "Actor.RolloutSteps=128", "Job.StopSteps=1000", "Learner.ReplayMin=64")
    # Episodes have 200 steps, so the first round ends inside of one.
    checkpoint = re.search(r"^checkpoint (.*)$", offline("bc", data, *words, "Job.StopSteps=128").out, re.M)[1]
    other = rollouts(checkpoint, "other", 10)

    def on(file, *sets):
        return policy(ctl("run", os.path.join(EXAMPLES, "pendulum-bc.conf"), "--from", checkpoint,
                          *set_words(*words, f"Learner.Dataset={file}/main_data.hdf5", *sets)))

    equal(on(data), policy(offline("bc", data, *words)), "policies of a job and of its second half")
    on(data, "Actor.RolloutSteps=100")
    on(other)


@story("bc gets most of what the policy did that it clones, offline, and td3-bc and consistency too")
def clones():
    checkpoint = trained("pendulum-sac", "Job.StopSteps=6000")
    source = ctl("eval", checkpoint, "--episodes=50", "--json").json["return_mean"]
    data = rollouts(checkpoint, "good", 50)
    assert source > -400, source
    for algorithm in ("bc", "td3-bc", "consistency"):
        r = offline(algorithm, data)
        assert r.status == 0, r.err
        clone = ctl("eval", re.search(r"^checkpoint (.*)$", r.out, re.M)[1], "--episodes=50", "--json").json["return_mean"]
        assert clone > source - 150, (algorithm, clone, source)


tell()
