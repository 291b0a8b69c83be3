#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Python package, installed from the wheel that `make wheel` builds, in an interpreter of its own: runs, jobs of a daemon, policies,
environments, and its messages when something is wrong."""
import glob, zipfile

from bus import *
from tools import PYTHON, REQUIREMENTS, VENV, foreign, virtual

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


@story("a run ends when its Python process ends, or is killed; the job of a daemon that was followed goes on")
def ends_with_python():
    endless = {"Job": {"Environment": "CartPole-v1", "StopSteps": 10 ** 9}, "Actor": {"RolloutSteps": 64}}
    code = HEAD + """
import os, signal
run = eval(sys.argv[4])(json.loads(sys.argv[2]), directory=sys.argv[3])
next(iter(run))
print(run._process.pid, flush=True)
if sys.argv[5] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""

    def end(call, how, env):
        p = subprocess.run([PYTHON, "-c", code, wheel(), json.dumps(endless), STATE, call, how], stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, timeout=60 * PATIENCE, env={"ACTORCTL": CTL, **environment(), "TMPDIR": STATE, **env})
        assert p.returncode == (-9 if how == "killed" else 0), p.stderr
        # actorctl is a zombie until its new parent has waited for it: it keeps its number, but its command line is empty.
        wait_for("the end of actorctl", lambda: not command_line(int(p.stdout)), 60)

    virtual(VENV, REQUIREMENTS)
    end("actord.run", "ends", {})
    end("actord.run", "killed", {})
    with OpenBus() as bus:
        end("actord.submit", "killed", bus.env)
        equal(python("print(json.dumps(actord.job(1).status()['state']))", env=bus.env), "running", "the job")
        python("actord.job(1).stop(); print(json.dumps(actord.job(1).wait(60)['result']))", env=bus.env)


def command_line(pid):
    try:
        return open(f"/proc/{pid}/cmdline").read()
    except FileNotFoundError:
        return ""


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
    assert "must be a single line" in got[3], got
    equal(glob.glob(os.path.join(STATE, ".actord-*")), [], "job files left")


def newest_checkpoint():
    return max(glob.glob(os.path.join(STATE, "actord", "runs", "*", "jobs", "1", "state", "*.safetensors")), key=os.path.getmtime)


@story("a job whose environment lacks a module fails with a record that names it, for those who do not see what actors write")
def lacks_module():
    got = python("""
try:
    actord.run({"Job": {"Environment": "gym:nowhere:X-v0", "StopSteps": 100}, "Actor": {"Python": sys.prefix}}, directory=sys.argv[2]).wait(100)
except actord.ActordError as e:
    print(json.dumps([e.status, str(e)]))
""", STATE)
    equal(got[0], 2, got)
    assert got[1].endswith("could not load its environment: a module or package that it needs is not installed: nowhere"), got


@story("a job of the daemon is submitted, followed, waited for and listed")
def daemon_job():
    with OpenBus() as bus:
        got = python("""
job = actord.submit(json.loads(sys.argv[2]), seed=5, directory=sys.argv[3])
rows = list(job)
status = job.wait(60)
try:
    said = str(list(actord.job(99)))
except actord.ActordError as e:
    said = str(e)
print(json.dumps({"number": job.number, "rounds": len(rows), "status": status, "listed": actord.jobs(), "all": actord.jobs(all=True), "said": said,
                  "policy": list(actord.job(job.number).policy().tensors), "bill": job.bill()["full"]}))
""", json.dumps(JOB), STATE, env=bus.env)
        equal(got["number"], 1, "number")
        assert got["rounds"] > 0 and got["bill"] > 0 and "observation.mean" in got["policy"], got
        equal([[row["job"] for row in got[name]] for name in ("listed", "all")], [[1], [1]], "jobs")
        assert "99" in got["said"], got["said"]


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


# A stand-in for the server of Weights & Biases, with the few answers that their own program needs to upload an offline run to it. Prints what it got.
UPLOADS = """
import gzip, http.server, json, os, subprocess, sys, threading

got = {"history": [], "summary": {}, "exit": None}


def answer(asked):
    if asked.get("operationName") == "UpsertBucket":
        told = {name: value for name, value in asked["variables"].items() if value is not None}
        got.update(told)
        project = {"id": "2", "name": told["project"], "entity": {"id": "3", "name": "me"}}
        return {"upsertBucket": {"inserted": True, "bucket": {"id": "1", "name": told["name"], "displayName": told.get("displayName"), "config": "{}",
                                                              "historyLineCount": 0, "project": project}}}
    return {"createRunFiles": {"runID": "1", "uploadHeaders": [], "files": []}} if asked.get("operationName") == "CreateRunFiles" else {}


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body)
        if self.path.endswith("/file_stream"):
            files = asked.get("files") or {}
            got["history"] += map(json.loads, files.get("wandb-history.jsonl", {}).get("content", []))
            for text in files.get("wandb-summary.json", {}).get("content", []):
                got["summary"] = json.loads(text)
            got["exit"] = asked.get("exitcode", got["exit"])
        out = json.dumps({"data": answer(asked)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
env = {"PATH": os.environ["PATH"], "HOME": sys.argv[2], "WANDB_BASE_URL": f"http://127.0.0.1:{server.server_port}", "WANDB_API_KEY": "a" * 40,
       "WANDB_ERROR_REPORTING": "false"}
p = subprocess.run([sys.executable, "-m", "wandb", "sync", sys.argv[1]], env=env, cwd=sys.argv[2], capture_output=True, text=True, timeout=300)
got["config"] = json.loads(got.get("config") or "{}")
print(json.dumps({**got, "status": p.returncode, "said": p.stdout[-500:] + p.stderr[-500:]}))
"""
MLFLOW = """
import json, sys
from mlflow import MlflowClient
client = MlflowClient(tracking_uri=f"sqlite:///{sys.argv[1]}")
found = []
for run in client.search_runs([client.get_experiment_by_name(sys.argv[2]).experiment_id]):
    series = {name: [[m.step, m.value, m.timestamp] for m in client.get_metric_history(run.info.run_id, name)] for name in run.data.metrics}
    found.append({"id": run.info.run_id, "name": run.info.run_name, "status": run.info.status, "params": run.data.params, "tags": run.data.tags,
                  "series": series})
print(json.dumps(found))
"""
# Some of the names that a user of CleanRL looks for; tests/integration/test-metrics.py has all of them, which come from one table.
NAMES = {"charts/episodic_return": "return_round", "losses/value_loss": "loss_value", "losses/approx_kl": "kl", "actord/cost_full": "cost_full"}


def measured(rows, column):
    return [[row["env_steps"], row[column]] for row in rows if row[column] is not None]


@story("an offline run of Weights & Biases has the rounds of a run as they came, its settings and its end; their own program uploads all of it")
def weights_and_biases():
    place = os.path.join(STATE, "wandb-of-run")
    made = python("""
run = actord.run(sys.argv[2], {"Job.StopSteps": 6000, "Job.StopReturn": ""}, seed=3)
directory = actord.to_wandb(run, sys.argv[3], project="poles", name="first", tags=["thesis"])
print(json.dumps({"directory": directory, "rows": run.rounds(), "sha256": run.result.policy_sha256, "full": run.result.cost_full}))
""", os.path.join(EXAMPLES, "cartpole.conf"), place)
    assert made["directory"].startswith(place) and len(made["rows"]) > 10, made["directory"]
    got = foreign(UPLOADS, made["directory"], STATE, timeout=120)
    equal((got["status"], got["exit"], got["project"], got["displayName"], got["tags"]), (0, 0, "poles", "first", ["thesis"]), got["said"])
    for name, column in NAMES.items():
        equal([[row["_step"], row[name]] for row in got["history"] if name in row], measured(made["rows"], column), name)
    config = {name: entry["value"] for name, entry in got["config"].items() if "value" in entry}
    equal((config["Learner.Gamma"], config["Job.StopSteps"], config["Job.Environment"]), (0.98, 6000, "CartPole-v1"), "configuration")
    equal((got["summary"]["policy_sha256"], got["summary"]["cost_full"]), (made["sha256"], made["full"]), "summary")


@story("MLflow's own client reads the rounds, settings and end of a job of the daemon and of a run that is over; a failure is one there, too")
def mlflow():
    store = os.path.join(STATE, "mlflow.db")
    with OpenBus() as bus:
        made = python("""
job = actord.submit(json.loads(sys.argv[2]), seed=5, directory=sys.argv[3])
over = actord.run(json.loads(sys.argv[2]), directory=sys.argv[3])
over.wait(60)
ids = [actord.to_mlflow(job, sys.argv[4], name="job", tags={"who": "me"}), actord.to_mlflow(over.name, sys.argv[4])]
refused = ""
try:
    actord.to_mlflow(actord.run({"Job": {"Environment": "CartPole-v1", "Algorithm": "dqn"}}, {"Learner.LearnigRate": 1}, directory=sys.argv[3]), sys.argv[4])
except actord.ActordError as e:
    refused = str(e)
try:
    actord.to_mlflow("r99", sys.argv[4])
except actord.ActordError as e:
    refused += str(e)
print(json.dumps({"ids": ids, "rows": job.rounds(), "over": over.rounds(), "status": job.status(), "refused": refused}))
""", json.dumps(JOB), STATE, store, env=bus.env)
    assert "did you mean" in made["refused"] and "no run r99" in made["refused"], made["refused"]
    found = {entry["id"]: entry for entry in foreign(MLFLOW, store, "actord")}
    equal(sorted(entry["status"] for entry in found.values()), ["FAILED", "FINISHED", "FINISHED"], "runs")
    of_job, of_run = (found[i] for i in made["ids"])
    for name, column in NAMES.items():
        equal([point[:2] for point in of_job["series"][name]], measured(made["rows"], column), name)
    equal((of_job["name"], of_job["tags"]["who"], of_job["params"]["Learner.Gamma"]), ("job", "me", "0.98"), "names")
    equal(of_job["tags"]["actord.policy_sha256"], made["status"]["policy_sha256"], "policy")
    assert close(of_job["series"]["summary/cost_full"][0][1], made["status"]["cost_full"]), of_job["series"]["summary/cost_full"]
    equal([point[:2] for point in of_run["series"]["charts/episodic_return"]], measured(made["over"], "return_round"), "the run's returns")
    assert abs(of_run["series"]["charts/SPS"][-1][2] / 1000 - time.time()) < 600 * PATIENCE, "times"


@story("without the tracker's package the message names it")
def no_tracker():
    said = python("""
said = []
for module, call in ("wandb", actord.to_wandb), ("mlflow", actord.to_mlflow):
    sys.modules[module] = None
    try:
        call("r1")
    except ImportError as e:
        said.append(str(e))
print(json.dumps(said))
""")
    for sentence, package in zip(said, ("wandb", "mlflow"), strict=True):
        assert f"to_{package}() needs the Python package {package}: pip install {package}," in sentence, said


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
