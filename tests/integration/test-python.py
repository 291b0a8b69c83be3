#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python package, installed from the wheel that `make wheel` builds, in an interpreter of its own: runs, jobs of a daemon, policies,
environments, and its messages when something is wrong."""
import glob, zipfile

from bus import *
from tools import foreign

PLACE = os.path.join(STATE, "packages")
JOB = {"Job": {"Environment": "CartPole-v1", "StopSteps": 4000}, "Learner": {"Gamma": 0.98, "NormalizeObservations": True}}
HEAD = """
import json, sys
sys.path.insert(0, sys.argv[1])
import actord
"""


def wheel():
    """Builds it once, and unpacks it, as pip would."""
    if not os.path.exists(PLACE):
        out = os.path.join(STATE, "wheel")
        env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
        p = subprocess.run(["make", "--no-print-directory", "-C", ROOT, "wheel", f"B={out}"], capture_output=True, text=True, timeout=120 * PATIENCE, env=env)
        if p.returncode != 0:
            raise Skip(f"pip cannot build a wheel here: {(p.stderr.strip().splitlines() or ['no reason given'])[-1]}")
        built, = glob.glob(os.path.join(out, "wheel", "*.whl"))
        zipfile.ZipFile(built).extractall(PLACE)
    return PLACE


def python(code, *words, env=None):
    """Runs code with `actord` imported; returns its last line, which is JSON."""
    changed = {"ACTORCTL": CTL, **environment(), **(env or {})}
    kept = dict(os.environ)
    os.environ.update(changed)
    try:
        return foreign(HEAD + code, wheel(), *words, timeout=120)
    finally:
        os.environ.clear()
        os.environ.update(kept)


@story("a run is followed round by round, and ends as actorctl says")
def follows():
    got = python("""
run = actord.run(sys.argv[2], {"Job.StopSteps": 20000, "Job.StopReturn": ""}, seed=3)
rows = list(run)
result = run.wait(60)
print(json.dumps({"rows": rows, "sha256": result.policy_sha256, "rounds": result.rounds, "full": result.cost_full, "name": run.name,
                  "html": run._repr_html_(), "again": len(list(run)), "frame": run.frame().shape, "bill": run.bill()["full"]}))
""", os.path.join(EXAMPLES, "cartpole.conf"))
    told = run("cartpole", "Job.StopSteps=20000", "Job.StopReturn=", seed=3)
    equal(got["sha256"], told.policy_sha256, "policies")
    equal([row["round"] for row in got["rows"]], list(range(1, told.rounds + 1)), "rounds")
    equal((got["rounds"], got["again"], got["frame"][0]), (told.rounds,) * 3, "counts of rounds")
    equal(got["rows"][-1]["env_steps"], told.env_steps, "steps")
    assert close(got["bill"], got["full"]) and close(got["rows"][-1]["cost_full"], got["full"], 0.5), got["bill"]
    assert "<polyline" in got["html"] and "ended" in got["html"]
    status = ctl("status", got["name"])
    assert got["sha256"] in status.out, status.out


@story("rounds are there before the run has ended, and a run can be stopped")
def stops():
    got = python("""
with actord.run({"Job": {"Environment": "CartPole-v1", "StopSteps": 10 ** 9}, "Actor": {"RolloutSteps": 64}}, directory=sys.argv[2]) as run:
    for row in run:
        if row["round"] == 3:
            break
    try:
        run.wait(0.05)
        goes_on = False
    except TimeoutError:
        goes_on = True
print(json.dumps({"goes_on": goes_on, "result": run.result.result, "rounds": run.result.rounds}))
""", STATE)
    assert got["goes_on"] and got["rounds"] >= 3, got
    equal(got["result"], "interrupted", "result")


@story("a policy acts in Gymnasium as eval says")
def policy_acts():
    got = python("""
import gymnasium
run = actord.run(sys.argv[2])
policy = run.policy()
env = gymnasium.make("CartPole-v1")
returns = []
for seed in range(10):
    observation, _ = env.reset(seed=seed)
    total, done = 0.0, False
    while not done:
        observation, reward, terminated, truncated, _ = env.step(int(policy.act(observation)))
        total, done = total + reward, terminated or truncated
    returns.append(total)
print(json.dumps({"returns": returns, "name": run.name, "discrete": policy.is_discrete}))
""", os.path.join(EXAMPLES, "cartpole.conf"))
    said = ctl("eval", got["name"], "--episodes=10", "--json").json
    assert got["discrete"] and abs(sum(got["returns"]) / 10 - said["return_mean"]) < 60, (got, said["return_mean"])


READS = """
import numpy, onnxruntime
name, settings, rows = sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
with actord.run({"Job": {"Environment": name, "StopSteps": 1500}, **settings}) as run:
    run.wait(100)
    policy = run.policy()
    actord.client.call("export", run.name, "--format=onnx", f"--output={sys.argv[5]}")
session = onnxruntime.InferenceSession(sys.argv[5])
said = session.get_inputs()[0]
observations = numpy.array(rows, dtype=numpy.uint8 if "uint8" in said.type else numpy.int64)
want = session.run(None, {said.name: observations.reshape([len(rows)] + said.shape[1:])})[0]
refused = []
for wrong in json.loads(sys.argv[6]):
    try:
        policy(numpy.array(wrong))
    except ValueError as e:
        refused.append(str(e))
print(json.dumps({"observation": policy.observation, "difference": float(numpy.abs(policy(observations) - want).max()), "refused": refused}))
"""


@story("a policy without convolutions reads an image's bytes as they are, and refuses observations of another size")
def reads_bytes():
    rows = [[255 * (i % 7 == k) for i in range(50)] for k in range(3)]
    got = python(READS, "Catch-v0", "{}", json.dumps(rows), os.path.join(STATE, "catch.onnx"), json.dumps([[0.0] * 49, 7]))
    equal(got["observation"], "numbers", "what it reads")
    assert got["difference"] < 1e-4 and len(got["refused"]) == 2, got
    assert all("reads 50 numbers a row" in sentence for sentence in got["refused"]), got


@story("a policy that reads a choice takes whole numbers, and refuses what is none of its observations")
def reads_choice():
    settings = {"Actor": {"Python": foreign("import json, sys; print(json.dumps(sys.prefix))")}}
    got = python(READS, "gym:FrozenLake-v1", json.dumps(settings), "[0, 3, 15]", os.path.join(STATE, "lake.onnx"), "[[0.5], 16, [-1, 3]]")
    equal(got["observation"], "choice", "what it reads")
    assert got["difference"] < 1e-5 and len(got["refused"]) == 3, got
    assert all("a whole number from 0 to 15" in sentence for sentence in got["refused"]), got


@story("so does one that reads several choices at once")
def reads_choices():
    got = python(READS, shared_library("tests/integration/dials-env.c"), '{"Environment": {"Choices": 1}}', "[[1, 2, 3], [0, 0, 0], [1, 0, 2]]",
                 os.path.join(STATE, "dials.onnx"), "[[0.5, 1, 1], [4, 0, 0], [0, -1, 0], 2]")
    equal(got["observation"], "choices", "what it reads")
    assert got["difference"] < 1e-5 and len(got["refused"]) >= 3, got
    assert all("whole numbers from 0 to 3" in sentence for sentence in got["refused"][:3]), got


@story("what actorctl refuses is an exception with its sentence")
def refusals():
    got = python("""
said = []
for job, settings in ((json.loads(sys.argv[2]), {"Learner.LearnigRate": 1}), ({"Job": {"Environment": "CartPol-v1"}}, None), ("/nowhere.conf", None)):
    try:
        actord.run(job, settings, directory=sys.argv[3]).wait(60)
        said.append("")
    except actord.ActordError as e:
        said.append(f"{e.status} {e}")
try:
    actord.run({"Job": {"Environment": "CartPole-v1\\n[Learner]"}}, directory=sys.argv[3])
except ValueError as e:
    said.append(str(e))
try:
    actord.Policy.of(sys.argv[4])
except ValueError as e:
    said.append(str(e))
print(json.dumps(said))
""", json.dumps(JOB), STATE, run("catch", "Job.StopSteps=2000").state_directory and newest_checkpoint())
    assert "did you mean LearningRate?" in got[0] and got[0].startswith("2 "), got
    assert "CartPole-v1" in got[1] and "/nowhere.conf" in got[2], got
    assert "one line" in got[3], got
    equal(glob.glob(os.path.join(STATE, ".actord-*")), [], "job files left")


def newest_checkpoint():
    return max(glob.glob(os.path.join(STATE, "actord", "runs", "*", "jobs", "1", "state", "*.safetensors")), key=os.path.getmtime)


@story("a job of the daemon is submitted, followed, waited for and listed")
def daemon_job():
    with OpenBus() as bus:
        got = python("""
job = actord.submit(json.loads(sys.argv[2]), seed=5, directory=sys.argv[3])
rows = list(job)
status = job.wait(60)
print(json.dumps({"number": job.number, "rounds": len(rows), "status": status, "listed": actord.jobs(),
                  "policy": list(actord.job(job.number).policy().tensors), "bill": job.bill()["full"]}))
""", json.dumps(JOB), STATE, env=bus.env)
        equal(got["number"], 1, "number")
        assert got["rounds"] > 0 and got["bill"] > 0 and "observation.mean" in got["policy"], got
        equal([row["job"] for row in got["listed"]], [1], "jobs")


@story("an environment is shown, tried rule by rule, and played")
def environments():
    got = python("""
points = actord.env.check("CartPole-v1")
rows = list(actord.env.rollout("CartPole-v1", steps=30, seed=4))
print(json.dumps({"kept": [p.kept for p in points], "rows": len([r for r in rows if "step" in r]), "names": [e["environment"] for e in actord.env.list()],
                  "shown": actord.env.show("CartPole-v1")}))
""")
    assert len(got["kept"]) >= 8 and all(got["kept"]), got
    equal(got["rows"], 30, "steps")
    assert "CartPole-v1" in got["names"]


# Jupyter's own client executes the cells in a kernel of its own, and keeps what each has shown.
NOTEBOOK = """
import nbclient, nbformat
begin = f"import sys; sys.path.insert(0, {sys.argv[1]!r}); import actord"
cells = [begin, f"run = actord.run({sys.argv[2]}, directory={sys.argv[3]!r})\\nrows = list(actord.notebook.progress(run))\\nprint(len(rows))", "run"]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
nbclient.NotebookClient(book, timeout=100, kernel_name="python3").execute()
shown = [[output.get("data", {}).get("text/html") or output.get("text", "") for output in cell.outputs] for cell in book.cells]
print(json.dumps({"shown": shown, "escaped": actord.notebook.as_html("<script>", "x", [])}))
"""


@story("in a notebook of Jupyter the cell shows the curve, which goes on in its place, and foreign names stay text")
def notebook():
    got = python(NOTEBOOK, repr(JOB), STATE)
    first, (display, count), (result,) = got["shown"]
    equal(first, [], "what the import shows")
    rounds = int(count)
    assert rounds > 1 and f"{rounds} rounds" in display and "ended" in display and "<polyline" in display, got
    assert f"{rounds} rounds" in result and "ended" in result, got
    assert "<script>" not in got["escaped"], got


@story("its types are sound, and its version is the product's")
def sound():
    place = wheel()
    version, = re.findall(r"^VERSION := (\S+)", open(os.path.join(ROOT, "Makefile")).read(), re.M)
    equal(python("print(json.dumps(actord.__version__))"), version, "version")
    got = foreign("""
import json, sys
from mypy import api
out, err, status = api.run(["--strict", "--ignore-missing-imports", "--no-site-packages", "--cache-dir", sys.argv[2], sys.argv[1]])
print(json.dumps([status, out[-2000:] + err[-500:]]))
""", os.path.join(place, "actord"), os.path.join(STATE, "mypy"), timeout=300)
    equal(got[0], 0, got[1])


tell()
