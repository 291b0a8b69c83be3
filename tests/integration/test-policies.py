#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Exported policies, run by the programs that they are for: onnxruntime, NumPy, a C compiler, Gymnasium. All must give the numbers that
NumPy computes from the tensors, and in Gymnasium an exported policy must get the returns that `eval` prints."""
import hashlib, struct

from tools import *

PAGE = open(os.path.join(ROOT, "docs", "policies.md")).read()
NUMPY = re.search(r"```python\n(import re\nimport numpy\nfrom safetensors.*?)```", PAGE, re.S)[1]
PLAY = re.search(r"```python\n(import gymnasium, numpy, onnxruntime\n.*?)```", PAGE, re.S)[1]
TORCH = re.search(r"```python\n(import torch\nfrom safetensors.*?)```", PAGE, re.S)[1]
# Debian's PyTorch, with the other packages of the virtual environment, which go before those of the system.
COMPARE_TORCH = """
import json, sys, warnings
sys.path.append("/usr/lib/python3/dist-packages")
warnings.simplefilter("ignore")  # of a NumPy that is newer than the one that it was built for
""" + TORCH + """
import numpy, onnxruntime
weights, graph, head, activation = sys.argv[1:5]
policy = load(weights, head, getattr(torch.nn, activation))
session = onnxruntime.InferenceSession(graph)
rows = torch.randn(50, session.get_inputs()[0].shape[1], generator=torch.Generator().manual_seed(3)) * 3
with torch.no_grad():
    said = policy(rows)
want = torch.tensor(session.run(None, {"observation": numpy.array(rows.tolist(), numpy.float32)})[0].tolist())
print(json.dumps({"difference": float((said - want).abs().max()), "scale": float(want.abs().max()), "shape": list(said.shape)}))
"""
# Every signal of the dials once: the largest logit of each choice is the position that the policy takes.
DIALS = """
import itertools, json, sys, numpy, onnx, onnxruntime
graph = sys.argv[1]
sizes = [int(word) for word in {p.key: p.value for p in onnx.load(graph).metadata_props}["choices"].split()]
signals = list(itertools.product(*map(range, sizes)))
rows = numpy.zeros((len(signals), sum(sizes)), numpy.float32)
for row, signal in zip(rows, signals):
    row[[sum(sizes[:k]) + position for k, position in enumerate(signal)]] = 1
logits, = onnxruntime.InferenceSession(graph).run(["logits"], {"observation": rows})
taken = zip(*(part.argmax(axis=1).tolist() for part in numpy.split(logits, numpy.cumsum(sizes)[:-1], axis=1)))
print(json.dumps({"sizes": sizes, "signals": len(signals), "right": [a == b for s, t in zip(signals, taken) for a, b in zip(s, t)]}))
"""
COMPARE = NUMPY + """
import json, sys, onnx, onnxruntime
weights, graph, out = sys.argv[1:4]
model = onnx.load(graph)
onnx.checker.check_model(model, full_check=True)
session = onnxruntime.InferenceSession(graph)
names = [o.name for o in session.get_outputs()]
place = session.get_inputs()[0]
rng = numpy.random.default_rng(7)
n = place.shape[1] if len(place.shape) > 1 else 0
x = rng.normal(size=(50, n)).astype(numpy.float32) * 3 if n else rng.integers(0, int(sys.argv[4]), 50)
outputs = session.run(None, {"observation": x})
policy = Policy(weights)
rows = x if n else numpy.eye(int(sys.argv[4]), dtype=numpy.float32)[x]
reference = policy(rows.astype(numpy.float64))
numpy.concatenate([rows.astype(numpy.float32).ravel(), outputs[0].ravel()]).astype(numpy.float32).tofile(out)
std = float(numpy.abs(outputs[1] - policy.tensors["actor_logstd"][0]).max()) if len(outputs) > 1 else 0
print(json.dumps({"names": names, "opset": model.opset_import[0].version, "metadata": {p.key: p.value for p in model.metadata_props},
                  "width": int(rows.shape[1]), "outputs": int(outputs[0].shape[1]), "difference": float(numpy.abs(outputs[0] - reference).max()),
                  "std": std, "scale": float(numpy.abs(reference).max())}))
"""
IMAGES = """
import json, re, sys, numpy, onnx, onnxruntime
from safetensors.numpy import load_file
graph, weights = sys.argv[1:3]
onnx.checker.check_model(onnx.load(graph), full_check=True)
session = onnxruntime.InferenceSession(graph)
place = session.get_inputs()[0]
tensors = load_file(weights)
x = numpy.random.default_rng(3).integers(0, 256, (4, *place.shape[1:]), dtype=numpy.uint8)
y = session.run(None, {"observation": x})[0]


def convolve(x, weight, bias, stride, padding):
    x = numpy.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    k = weight.shape[2]
    h, w = (x.shape[2] - k) // stride + 1, (x.shape[3] - k) // stride + 1
    out = numpy.empty((len(x), len(weight), h, w))
    for i in range(h):
        for j in range(w):
            square = x[:, :, i * stride:i * stride + k, j * stride:j * stride + k]
            out[:, :, i, j] = numpy.einsum("bchw,ochw->bo", square, weight) + bias
    return out


a = x.astype(float) / 255
if a.ndim == 3:
    a = a[:, None]
elif a.shape[1] > a.shape[3]:
    a = a.transpose(0, 3, 1, 2)
names = sorted((n[:-7] for n in tensors if re.fullmatch(r"(actor|network)\\.\\d+\\.weight", n)), key=lambda n: int(n.split(".")[1]))
names += ["actor"] if "actor.weight" in tensors else []
for name, (stride, padding) in zip(names, json.loads(sys.argv[3]) + [[1, 0]] * 9):
    weight, bias = tensors[name + ".weight"], tensors[name + ".bias"]
    a = convolve(a, weight, bias, stride, padding) if weight.ndim == 4 else a.reshape(len(a), -1) @ weight.T + bias
    a = a if name == names[-1] else numpy.maximum(a, 0)
print(json.dumps({"shape": list(place.shape[1:]), "difference": float(numpy.abs(a - y).max()), "scale": float(numpy.abs(a).max())}))
"""
GYMNASIUM = """
import json, sys, gymnasium, numpy, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
env = gymnasium.make(sys.argv[2])
returns = []
for episode in range(int(sys.argv[3])):
    observation, _ = env.reset(seed=episode)
    total, done = 0.0, False
    while not done:
        output = session.run(None, {"observation": observation[None].astype(numpy.float32)})[0][0]
        action = int(output.argmax()) if isinstance(env.action_space, gymnasium.spaces.Discrete) else numpy.clip(output, env.action_space.low, env.action_space.high)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, done = total + float(reward), terminated or truncated
    returns.append(total)
print(json.dumps({"returns": returns, "mean": float(numpy.mean(returns)), "error": float(numpy.std(returns) / len(returns) ** 0.5)}))
"""
MAIN = """
#include <stdio.h>
#include "policy.h"

int main(int argc, char **argv) {
        static float x[50 * POLICY_OBSERVATIONS], y[50 * POLICY_ACTIONS], output[POLICY_ACTIONS];
        float worst = 0;
        FILE *f = fopen(argv[1], "rb");

        if (!f || fread(x, sizeof(x), 1, f) != 1 || fread(y, sizeof(y), 1, f) != 1)
                return 1;
        for (int row = 0; row < 50; row++) {
                policy_forward(x + row * POLICY_OBSERVATIONS, output);
                for (int i = 0; i < POLICY_ACTIONS; i++)
                        worst = fmaxf(worst, fabsf(output[i] - y[row * POLICY_ACTIONS + i]));
        }
        printf("%.9g\\n", worst);
        return 0;
}
"""


def path(name):
    return os.path.join(STATE, name)


def trained(example, *sets):
    """The checkpoint of a short run of an example, or of a job file."""
    file = example if example.endswith(".conf") else os.path.join(EXAMPLES, example + ".conf")
    r = ctl("run", file, *set_words("Job.StopReturn=", *sets))
    assert r.status == 0, r.err
    return re.search(r"^checkpoint (.*)$", r.out, re.M)[1]


def export(name, checkpoint, *words):
    r = ctl("export", checkpoint, f"--output={path(name)}", *words)
    assert r.status == 0, r.err
    return path(name)


def with_nan(checkpoint):
    """A copy, in which a weight of the policy is no number."""
    data = bytearray(open(checkpoint, "rb").read())
    head = 8 + int.from_bytes(data[:8], "little")
    at = next(t["data_offsets"][0] for name, t in json.loads(data[8:head]).items() if name.endswith("actor.0.weight"))
    data[head + at:head + at + 4] = struct.pack("<f", float("nan"))
    data[-32:] = hashlib.sha256(data[:-32]).digest()  # of all before it
    open(path("nan.safetensors"), "wb").write(data)
    return path("nan.safetensors")


def with_settings(checkpoint, **settings):
    """A copy that names other settings than those of its tensors."""
    data = open(checkpoint, "rb").read()
    head = 8 + int.from_bytes(data[:8], "little")
    words = json.loads(data[8:head])
    words["__metadata__"].update({f"Learner.{key}": value for key, value in settings.items()})
    text = json.dumps(words).encode()
    data = struct.pack("<Q", len(text)) + text + data[head:-32]
    open(path("other.safetensors"), "wb").write(data + hashlib.sha256(data).digest())
    return path("other.safetensors")


def compare(checkpoint, name, choices=0):
    """ONNX and NumPy agree to 1e-5 of the outputs' scale; the C header, compiled, agrees with ONNX."""
    weights = export(name + ".safetensors", checkpoint, "--weights-only")
    graph = export(name + ".onnx", checkpoint, "--format=onnx")
    got = foreign(COMPARE, weights, graph, path(name + ".numbers"), choices)
    assert got["difference"] <= 1e-5 * max(1, got["scale"]), got
    assert got["std"] <= 1e-7, got
    equal(got["opset"], 13, "operators")
    os.makedirs(path(name), exist_ok=True)
    export(name + "/policy.h", checkpoint, "--format=header")
    open(path(name + "/main.c"), "w").write(MAIN)
    subprocess.run(["cc", "-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-unused-const-variable", "-o", path(name + "/main"),
                    path(name + "/main.c"), "-lm"], check=True)
    worst = float(subprocess.run([path(name + "/main"), path(name + ".numbers")], check=True, capture_output=True, text=True).stdout)
    assert worst <= 1e-5 * max(1, got["scale"]), (worst, got)
    return got


@story("a discrete policy: onnxruntime, NumPy and the C header say the same, and in Gymnasium it does what `eval` says")
def discrete():
    checkpoint = trained("cartpole", "Job.StopSteps=12000")
    got = compare(checkpoint, "cartpole")
    equal(got["names"], ["logits"], "outputs")
    equal(got["metadata"]["environment"], "CartPole-v1", "environment")
    want = ctl("eval", checkpoint, "--episodes=100", "--json").json
    played = foreign(GYMNASIUM, path("cartpole.onnx"), "CartPole-v1", 100)
    error = (played["error"] ** 2 + (want["return_sd"] ** 2) / 100) ** 0.5
    assert abs(played["mean"] - want["return_mean"]) < 4 * error + 0.5, (played, want["return_mean"])
    # What docs/policies.md shows plays the same episode, with the file in the working directory.
    export("policy.onnx", checkpoint, "--format=onnx")
    equal(foreign("import os, sys\nos.chdir(sys.argv[1])\n" + PLAY, STATE), played["returns"][1], "the return of the page's rollout")


@story("a continuous policy with normalised observations: mean and log_std, the normalisation inside")
def continuous():
    got = compare(trained("pendulum", "Job.StopSteps=9000", "Learner.NormalizeObservations=yes"), "pendulum")
    equal(got["names"], ["mean", "log_std"], "outputs")


@story("values of actions by dqn, and networks of relu that both heads share, of silu and of mish")
def others():
    got = compare(trained("cartpole-dqn", "Job.StopSteps=3000"), "dqn")
    equal(got["names"], ["action_values"], "outputs")
    compare(trained("cartpole", "Job.StopSteps=1000", "Learner.SharedNetwork=yes", "Learner.Activation=relu"), "shared")
    compare(trained("cartpole", "Job.StopSteps=1000", "Learner.Activation=silu"), "silu")
    compare(trained("pendulum", "Job.StopSteps=1000", "Learner.Activation=mish"), "mish")


@story("a policy of several choices at once: onnxruntime takes of each what `eval` takes")
def choices():
    job = path("dials.conf")
    with open(job, "w") as f:
        f.write(f"[Job]\nEnvironment={shared_library('tests/integration/dials-env.c')}\nStopSteps=16384\nSeed=5\n[Scaling]\nActors=2\n"
                "[Actor]\nEnvsPerActor=4\nRolloutSteps=64\n[Learner]\nHiddenLayers=16\nLearningRate=0.01\n")
    checkpoint = trained(job)
    got = compare(checkpoint, "dials")
    equal((got["names"], got["outputs"], got["metadata"]["choices"]), (["logits"], 9, "2 3 4"), "outputs")
    got = foreign(DIALS, path("dials.onnx"))
    equal((got["sizes"], got["signals"]), ([2, 3, 4], 24), "choices")
    # Signals are drawn evenly and a step pays the share of dials that are right, of 20 steps in an episode.
    want = ctl("eval", checkpoint, "--episodes=200", "--json").json["return_mean"] / 20
    share = sum(got["right"]) / len(got["right"])
    assert share > 0.8 and abs(share - want) < 0.03, (share, want)


@story("PyTorch loads the tensors as docs/policies.md says, and its numbers are those of onnxruntime")
def pytorch():
    if subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode != 0:
        raise Skip("PyTorch is missing: packaging/dependencies.sh test installs python3-torch")
    for example, head, activation in ("cartpole", "actor.", "Tanh"), ("pendulum", "actor_mean.", "ReLU"):
        checkpoint = trained(example, "Job.StopSteps=1000", f"Learner.Activation={activation.lower()}", "Learner.NormalizeObservations=no")
        graph = export("torch.onnx", checkpoint, "--format=onnx")
        got = foreign(COMPARE_TORCH, export("torch.safetensors", checkpoint, "--weights-only"), graph, head, activation)
        equal(got["shape"][0], 50, "rows")
        assert got["difference"] <= 1e-5 * max(1, got["scale"]), (example, got)


@story("a policy of images has its convolutions, and reads bytes as the environment gives them")
def images():
    checkpoint = trained("catch", "Job.StopSteps=2000", "Learner.Convolutions=8x3/2+1 8x3", "Learner.Activation=relu")
    weights = export("catch.safetensors", checkpoint, "--weights-only")
    data = open(weights, "rb").read()
    equal(json.loads(data[8:8 + int.from_bytes(data[:8], "little")])["__metadata__"]["observation"], "bytes", "what it reads")
    got = foreign(IMAGES, export("catch.onnx", checkpoint, "--format=onnx"), weights, json.dumps([[2, 1], [1, 0]]))
    assert len(got["shape"]) >= 2 and got["difference"] <= 1e-5 * max(1, got["scale"]), got
    r = ctl("export", checkpoint, "--format=header")
    assert r.status == 2 and "holds no convolutions" in r.err, r.err


@story("a checkpoint is copied as it is; weights alone are smaller, and taken for no checkpoint")
def weights():
    checkpoint = trained("cartpole", "Job.StopSteps=2000")
    weights = export("w.safetensors", checkpoint, "--weights-only")
    assert os.path.getsize(weights) < os.path.getsize(checkpoint) / 2
    for words in (["run", os.path.join(EXAMPLES, "cartpole.conf"), f"--from={weights}"], ["eval", weights]):
        r = ctl(*words)
        assert r.status == 2 and "name the checkpoint that they came from" in r.err, r.err
    last = "r" + re.search(r"/runs/(\d+)/", checkpoint)[1]
    for words, name in ([], f"run-{last[1:]}.safetensors"), (["--weights-only"], f"run-{last[1:]}-weights.safetensors"):
        r = ctl("export", last, *words, before=["env", "-C", STATE])
        equal((r.status, r.err.strip()), (0, name), "its own name")
    assert os.path.getsize(path(f"run-{last[1:]}.safetensors")) == os.path.getsize(checkpoint), "the whole checkpoint"
    equal(open(export("whole.safetensors", checkpoint), "rb").read(), open(checkpoint, "rb").read(), "the copy")


@story("what cannot be exported is refused with what to do")
def refused():
    checkpoint = trained("cartpole", "Job.StopSteps=500")
    for words, reason in ((["--format=torch"], "it must be safetensors, onnx or header"), (["--weights-only", "--format=onnx"], "--weights-only is for"),
                          ([f"--output={path('none')}", "--seed=2"], "copied as it is: leave out --set and --seed"),
                          ([f"--output={path('none')}", "--system"], "is a file, and no daemon has it: leave out --system, --user and --host"),
                          ([], "name the new file with --output=FILE"), (["--weights-only"], "name the new file with --output=FILE")):
        r = ctl("export", checkpoint, *words)
        assert r.status == 2 and reason in r.err and not os.path.exists(path("none")), (words, r.err)
    for option in "--format=header", "--format=onnx", "--weights-only":
        r = ctl("export", with_nan(checkpoint), option, f"--output={path('none')}")
        assert r.status == 2 and "has numbers that are not finite" in r.err and not os.path.exists(path("none")), (option, r.err)
    open(path("bad.safetensors"), "wb").write(open(checkpoint, "rb").read()[:-1])
    r = ctl("export", path("bad.safetensors"), "--format=onnx")
    assert r.status != 0 and "bad.safetensors" in r.err and not os.path.exists("bad.onnx"), r.err
    # A forged file cannot make the command take gigabytes for a network that it does not hold
    r = ctl("export", with_settings(checkpoint, HiddenLayers="16000 16000", SharedNetwork="yes"), "--format=onnx", f"--output={path('none')}",
            before=["bash", "-c", 'ulimit -v 4000000; exec "$@"', "-"])
    assert r.status == 2 and 'it does not hold "networks.policy.network.0.weight"' in r.err, r


@story("a network that is too large for a policy, or for a C header, is refused with its size, the limit and the keys")
def too_large():
    checkpoint = trained("cartpole", "Job.StopSteps=500")
    for layers, format, reason in (("40000 30000", "onnx", "more than 65536 numbers; make [Learner] HiddenLayers="),
                                   ("24000 24000", "onnx", "it has 576216003 parameters of 4 bytes, and a policy may have 1 GiB; make [Learner] HiddenLayers="),
                                   ("15000 14500", "header", "its policy has 217618502 numbers, and a file of this format has room for")):
        r = ctl("export", with_settings(checkpoint, HiddenLayers=layers, SharedNetwork="yes"), f"--format={format}", f"--output={path('none')}")
        assert r.status == 2 and reason in r.err and "Argument list" not in r.err, (layers, r)
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Learner.HiddenLayers=16000 16000")
    assert r.status == 2 and "it has 512240003 parameters of 4 bytes" in r.err, r


tell()
