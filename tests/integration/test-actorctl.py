#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""actorctl as people and scripts meet it: help, refusals, listings, a terminal."""
import fcntl, glob, hashlib, json, os, pty, re, select, signal, struct, subprocess, termios, time
import xml.etree.ElementTree as ElementTree
from story import CTL, EXAMPLES, HOSTILE, PATIENCE, ROOT, STATE, Skip, ctl, environment, equal, run, shared_library, story, tell

VERBS = re.findall(r'\{ VERB_\w+, "(\w+)"', open(os.path.join(ROOT, "actorctl", "main.c")).read())
LISTINGS = [["env", "list"], ["env", "show", "CartPole-v1"], ["price", "list"], ["price", "show", "local"],
            ["graph", os.path.join(EXAMPLES, "cartpole.conf")]]


@story("the help of every verb fits 80 columns, and -h is --help")
def helps():
    assert len(VERBS) > 10, VERBS
    for words in [[]] + [[v] for v in VERBS]:
        a, b = ctl(*words, "--help"), ctl(*words, "-h")
        equal((a.status, a.out, a.err), (0, b.out, ""), f"help of {words}")
        assert a.out.strip() and max(map(len, a.out.splitlines())) <= 80, (words, a.out)
        if words:
            equal(ctl("help", *words).out, a.out, f"both helps of {words}")
    for verb in VERBS:
        assert f"  {verb} " in ctl("--help").out, verb
    for verb, option, words in (("list", "state=STATE,...", "the same as --job-state"), ("eval", "state=V1,V2,...", "play one episode from this state"),
                                ("env", "state=FILE", "a rollout begins in the state in FILE"), ("bill", "format=FORMAT", "focus: the charges as CSV"),
                                ("scheduler", "episodes=N", "train with at least N runs"), ("eval", "episodes=N", "how many to play")):
        assert re.search(rf"(?m)^     --{re.escape(option)} +{re.escape(words)}", ctl(verb, "--help").out), (verb, option)
    assert re.fullmatch(r"actorctl \d+\.\d+\.\d+\n", ctl("--version").out)


@story("wrong usage ends with 2, on standard error, with the word that was meant")
def usage():
    cartpole = os.path.join(EXAMPLES, "cartpole.conf")
    for words, want in [(["frobnicate"], "frobnicate"), (["bogus"], "unknown verb bogus; `actorctl --help` lists them"),
                        (["stats"], "actorctl status"), (["lst"], "actorctl list"),
                        (["run"], "run FILE"), (["run", "a", "b"], "run FILE"), (["run", "--sed", "3", "x.conf"], "--seed"),
                        (["run", "--follow", "x.conf"], "--follow"), (["list", "--json=xml"], "short"), (["run", "x", "--set", "nonsense"], "nonsense"),
                        (["eval", "x", "--episodes=0"], "episodes"), (["export", "1", "--format=torch"], "safetensors, onnx or header"),
                        (["status", "one", "--system"], "one"), (["env", "shw"], "show"), (["env", "show", "cartpol-v1"], "CartPole-v1"),
                        (["help", "rn"], "actorctl run"), (["list", "--system", "--user"], "--system"), (["keys", "--system"], "keys takes no --system"),
                        (["graph", cartpole, "--user"], "cartpole.conf is a file, and no daemon has it: leave out --system, --user and --host"),
                        (["run", "no-such.conf"], "no-such.conf"),
                        (["decisions", "1", "--check", "--json"], "leave out --csv and --json"), (["scheduler", "list", "--name=x"], "scheduler list takes no --name"), (["scheduler", "list", "--rounds=50"], "scheduler list takes no --rounds"),
                        (["env", "show", "CartPole-v1", "--steps=3"], "env show takes no --steps"), (["env", "bench", "CartPole-v1", "--states"], "env bench takes no --states"),
                        (["scheduler", "show", "x", "--seed=3"], "scheduler show takes no --seed"),
                        (["eval", "no-such.safetensors"], "no-such.safetensors"), (["--frobnicate"], "--frobnicate"), (["list", "-x"], "-x"),
                        *((["scheduler", "train", cartpole, f"--target={x}"], f"--target={x}: it must be a number from -1e+300")
                          for x in ("1e308", "-1e308", "0x10", "nan", "5x")),
                        *((["run", cartpole, "--set", "Scaling.MaxActors=4", "--set", f"Scaling.Policy={x}:@x"], f"{x}:@x: @ARM is")
                          for x in ("replay", "permuted"))]:
        r = ctl(*words)
        if words[0] == "status" and r.status == 1:
            continue  # no system bus here
        equal(r.status, 2, f"status of {words}: {r.err}")
        assert want in r.err and not r.out, (words, r.out, r.err)
        equal(len(r.err.splitlines()), 1, f"lines for {words}: {r.err}")


@story("output that does not fit on the disk is an error, however long it is")
def full_disk():
    assert len(ctl("keys", "--json").out) > 1 << 14, "this output is longer than the buffer of a stream"
    for words in ["keys", "--json"], ["help"], ["env", "show", "CartPole-v1"]:
        with open("/dev/full", "w") as full:
            p = subprocess.run([CTL, *words], stdout=full, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=environment())
        equal((p.returncode, p.stderr.count("standard output cannot be written: No space left on device")), (1, 1), f"{words}: {p.stderr}")


@story("a path that is not a regular file is refused at once, except for a pipe from another program")
def no_files():
    fifo, text = os.path.join(STATE, "fifo"), open(os.path.join(EXAMPLES, "cartpole.conf")).read()
    os.mkfifo(fifo)
    short = ["--set", "Job.StopSteps=1000", "--set", "Job.StopReturn=", "--quiet"]
    cartpole = os.path.join(EXAMPLES, "cartpole.conf")
    experiment = os.path.join(STATE, "fifo.exp")
    with open(experiment, "w") as f:
        f.write(f"[Experiment]\nJob={fifo}\nSeeds=1\n[Arm x]\n")
    for name, why in (fifo, "not a regular file"), ("/dev/zero", "not a regular file"), (STATE, "Is a directory"):
        for words in (["run", name], ["verify", name], ["submit", name], ["experiment", name], ["eval", name],
                      ["run", cartpole, "--from=" + name], ["env", "rollout", "CartPole-v1", "--actions=" + name]):
            r = ctl(*words, timeout=20)
            assert r.status == 2 and name in r.err and not r.out, (words, r.status, r.err)
            if words[0] != "eval" or name != STATE:
                assert why in r.err, (words, r.err)
    deep = os.path.join(STATE, "deep.json")
    with open(deep, "w") as f:
        f.write("[" * 1000000)
    for name, why in (fifo, "not a regular file"), ("/dev/zero", "not a regular file"), (deep, "nested"):
        for policy in "replay", "permuted":
            r = ctl("run", cartpole, "--set", "Scaling.MaxActors=4", "--set", f"Scaling.Policy={policy}:{name}", timeout=20)
            assert r.status == 2 and name in r.err and why in r.err and not r.out, (policy, name, r.status, r.err)
    r = ctl("experiment", experiment, "--dry-run", timeout=20)
    assert r.status == 2 and "Job=" in r.err and "not a regular file" in r.err, r.err
    p = subprocess.run([CTL, "run", "/dev/stdin", *short], input=text, capture_output=True, text=True, env=environment(), timeout=60 * PATIENCE)
    equal(p.returncode, 0, p.stderr)
    with subprocess.Popen([CTL, "run", "/dev/stdin"], stdin=subprocess.PIPE, env=environment()) as p:
        time.sleep(0.5)
        p.terminate()
        equal(p.wait(10 * PATIENCE), -signal.SIGTERM, "who waits for a pipe")


@story("listings are JSON on demand, short on one line, and bare without a legend")
def listings():
    for words in LISTINGS:
        short, pretty, bare = ctl(*words, "--json=short"), ctl(*words, "--json=pretty"), ctl(*words, "--json")
        equal((short.status, short.err), (0, ""), f"{words}")
        equal(len(short.out.splitlines()), 1, f"lines of {words}")
        assert short.json == pretty.json == bare.json and short.json, words
        equal(ctl("--json=short", *words).out, short.out, "options before and after the verb")
        assert ctl(*words, "--no-pager").out.strip()
    full, rows = ctl("env", "list").out, ctl("env", "list", "--no-legend").out
    assert "ENVIRONMENT" in full and "listed." in full and "ENVIRONMENT" not in rows and "listed" not in rows
    equal(len(rows.splitlines()), len(ctl("env", "list", "--json=short").json), "rows")
    for words in ["env", "list"], ["price", "list"], LISTINGS[-1]:
        assert max(map(len, ctl(*words).out.splitlines())) <= 80, words
    assert all(sheet["source"] for sheet in ctl("price", "list", "--json").json), "sources are for programs"


@story("graph maps fragments to processes, and its pictures are whole")
def graph():
    words = "graph", os.path.join(EXAMPLES, "cartpole.conf")
    job = ctl(*words, "--json", "--set", "Scaling.Actors=3").json
    hosts = {row["fragment"]: row["host"] for row in job["fragments"]}
    equal((hosts["inference"], hosts["gradient"], job["actors"]), ("actor", "learner", 3), "coarse")
    for edge in job["edges"]:
        equal(bool(edge["channel"]), hosts[edge["from"]] != hosts[edge["to"]], f"channel of {edge}")
    picture = ElementTree.fromstring(ctl(*words, "--svg").out)
    texts = {e.text for e in picture.iter() if e.tag.endswith("text")}
    assert set(hosts) <= texts, texts
    dot = ctl(*words, "--dot").out
    equal((dot.count("{"), dot.count("subgraph")), (dot.count("}"), 2), "dot")
    for bad, want in [(["--policy=single-learner-corse"], "single-learner-coarse"), (["--dot", "--svg"], "--svg")]:
        r = ctl(*words, *bad)
        assert r.status == 2 and want in r.err and not r.out, r


@story("verify has the rights of its caller: what an ordinary user cannot get is refused, whatever the system's daemon would give")
def verify_level():
    before = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
    words = "verify", os.path.join(EXAMPLES, "cartpole.conf")
    if before and subprocess.run([*before, "test", "-x", CTL, "-a", "-r", words[1]]).returncode != 0:
        raise Skip("an ordinary user cannot reach the built tree")
    r = ctl(*words, before=before)
    assert r.status == 0 and re.search("at sandbox level (userns|process)", r.out), (r.out, r.err)
    r = ctl(*words, "--set", "Actor.Sandbox=full", before=before)
    assert r.status == 1 and "only root can give" in r.err, (r.status, r.err)


@story("verify loads the environment and names the line when it cannot")
def verify():
    r = ctl("verify", os.path.join(EXAMPLES, "cartpole.conf"))
    assert r.status == 0 and "fine" in r.out and "note:" not in r.out, (r.out, r.err)
    r = ctl("verify", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Actor.MemoryMax=100T")
    assert r.status == 0 and re.search(r"note: \[Actor\] MemoryMax=100T is more than the memory of this host, [0-9.]+G: ", r.out), (r.out, r.err)
    r = ctl("verify", os.path.join(EXAMPLES, "cartpole.conf"), "-q", "--set", "Actor.Sandbox=none")
    assert r.status == 0 and "fine" in r.out, (r.out, r.err)
    equal((len(r.err.splitlines()), r.err.count("NO SANDBOX")), (1, 1), "limits that -q leaves out: " + r.err)
    path = os.path.join(STATE, "broken.conf")
    with open(os.path.join(STATE, "broken.so"), "w") as f:
        f.write("this is no shared object\n")
    with open(path, "w") as f:
        f.write("[Job]\n# beside the job file\nEnvironment=./broken.so\n")
    r = ctl("verify", path)
    equal(r.status, 2, "status: " + r.err)
    assert re.search(r"broken\.conf:3: \[Job\] Environment=\./broken\.so: ", r.err), r.err
    r = ctl("env", "check", os.path.join(STATE, "broken.so"))
    assert r.status == 2 and "broken.so" in r.err, r.err


@story("--json prints one object and nothing else; without it there are a summary and a bill")
def outputs():
    r = run("cartpole", "Job.StopSteps=8192", "Job.StopReturn=")
    assert r.json["return_mean"] is not None and r.out.count("\n{") == 0 and r.err, r.out
    assert os.path.isdir(r.state_directory)
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopSteps=4096", "--set=Job.StopReturn=")
    assert r.status == 0 and "paper total" in r.out and "full total" in r.out and "learner-execution" in r.out, r.out
    checkpoint = r.out.splitlines()[-1].removeprefix("checkpoint ")
    assert ctl("eval", checkpoint, "--episodes=2", "--json").json["episodes"] == 2, r.out
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "-q", "--json=short", "--set", "Job.StopSteps=512", "--set", "Job.StopReturn=")
    equal(r.json["return_mean"], None, "the mean of fewer than 100 episodes")
    equal(len(r.out.splitlines()), 1, "lines")


@story("only the runs that ended last are kept, in whatever order they began")
def runs_kept():
    runs = os.path.join(STATE, "actord", "runs")
    os.makedirs(runs, exist_ok=True)
    for n in range(1000, 1030):
        os.makedirs(os.path.join(runs, str(n)), exist_ok=True)
        os.utime(os.path.join(runs, str(n)), (n, n))
    os.utime(os.path.join(runs, "1003"))
    r = run("cartpole", "Job.StopSteps=512", "Job.StopReturn=")
    equal(os.path.basename(r.state_directory), "1030", "the next number")
    equal(sorted(int(n) for n in os.listdir(runs) if 1000 <= int(n) < 1030), [1003, *range(1011, 1030)], "runs without a policy that are kept")


class Terminal:
    """actorctl on a terminal of its own."""

    def __init__(self, *args, columns=100):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update(environment(), TERM="xterm", LC_ALL="C.UTF-8")
            os.execv(CTL, [CTL, *args])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self.seen = b""

    def until(self, condition, seconds=30):
        end = time.monotonic() + seconds * PATIENCE
        while time.monotonic() < end and not condition(self.seen.decode(errors="replace")):
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    data = os.read(self.fd, 65536)
                except OSError:
                    break
                if not data:
                    break
                self.seen += data
        return self.seen.decode(errors="replace")

    def status(self):
        self.until(lambda _: False, 60)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@story("a terminal shows a live line that fits it")
def live():
    t = Terminal("run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopSteps=30000", "--set", "Job.StopReturn=", columns=72)
    equal(t.status(), 0, "status: " + t.seen.decode(errors="replace"))
    lines = [re.sub(r"\033\[[0-9;]*[A-Za-z]", "", l) for l in re.split(r"[\r\n]+", t.seen.decode())]
    lines = [l for l in lines if l.startswith("[")]
    assert lines and any("steps" in l for l in lines), t.seen
    assert all(len(l) <= 72 for l in lines), lines
    assert all(re.search(r"( USD| steps|/s| left|round \d+| actors?)$", l) for l in lines), ("half an item", lines)
    assert "100%" in lines[-1], lines[-1]


def hostile(how, n_steps):
    """The job file of a hostile environment, and the terminal in which it ended."""
    so, conf = shared_library(HOSTILE), os.path.join(STATE, how + ".conf")
    with open(conf, "w") as f:
        f.write(f"[Job]\nEnvironment={so}\nStopSteps={n_steps}\n[Scaling]\nActors=1\n[Actor]\nRolloutSteps=64\n[Environment]\nHow={how}\n")
    t = Terminal("run", conf)
    equal(t.status(), 0, "status: " + t.seen.decode(errors="replace")[-800:])
    return conf, t


@story("a rate is that of rounds, however long they take")
def slow():
    _, t = hostile("slow", 192)
    rates = {int(x) for x in re.findall(r", (\d+)/s", t.seen.decode())}
    assert rates and all(0 < x < 100 for x in rates), rates


@story("an environment's output changes no title, clears no screen and is limited, and the job goes on")
def hostile_words():
    conf, t = hostile("talk", 2000)
    text = t.seen.decode()
    assert r"\x1b]0;taken over\x07\x1b[2J" in text and "the last word" in text and "lines of the environment's output are left out" in text, text[-3000:]
    assert "\033]" not in text and "\033[2J" not in text and len(text) < 200000, len(text)
    assert text.index("the last word") < text.rindex("100%") < text.index("full total"), text[-3000:]

    # Stopped, it reads nothing; the writer goes on, and so does the job.
    words = ["run", conf, "--json", "--set=Environment.How=chat", "--set=Job.StopSteps=4000"]
    whole = ctl(*words)
    last, = glob.glob(os.path.join(whole.state_directory, "jobs/1/state/*.safetensors"))
    runs, number = os.path.split(whole.state_directory)
    job = os.path.join(runs, str(int(number) + 1), "jobs/1")
    p = subprocess.Popen([CTL, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
    end = time.monotonic() + 60 * PATIENCE
    while not os.path.exists(job) and time.monotonic() < end:
        time.sleep(0.01)
    p.send_signal(signal.SIGSTOP)
    while not os.path.exists(os.path.join(job, "state", os.path.basename(last))) and time.monotonic() < end:
        time.sleep(0.1)
    ended = time.monotonic() < end
    p.send_signal(signal.SIGCONT)
    equal((p.wait(60 * PATIENCE), ended), (0, True), "status, and whether the job ended while actorctl was stopped")


@story("Ctrl-C stops cleanly with the bill and 130; a second one leaves at once")
def control_c():
    t = Terminal("run", os.path.join(EXAMPLES, "hopper.conf"), "--set", "Job.StopSteps=100000000")
    t.until(lambda s: " round " in s)  # of quick rounds the display leaves some out
    os.write(t.fd, b"\x03")
    equal(t.status(), 130, "status: " + t.seen.decode(errors="replace"))
    text = t.seen.decode()
    assert "stopping" in text and "interrupted after" in text and "full total" in text, text
    assert glob.glob(os.path.join(STATE, "actord", "runs", "*", "jobs", "1", "state", "*.safetensors")), "no checkpoint"

    t = Terminal("run", os.path.join(EXAMPLES, "hopper.conf"), "--set", "Actor.RolloutSteps=1000000", "--set", "Learner.MinibatchSize=1000000")
    t.until(lambda s: "[" in s)
    time.sleep(0.3)
    os.write(t.fd, b"\x03")
    t.until(lambda s: "stopping" in s)
    start = time.monotonic()
    os.write(t.fd, b"\x03")
    equal(t.status(), 130, "status of the second")
    assert time.monotonic() - start < 12 * PATIENCE, time.monotonic() - start


@story("a run goes on from a checkpoint as if it had not ended; a checkpoint that does not fit is refused in words")
def goes_on():
    def words(n_steps, *more):
        sets = ("Job.StopReturn=", f"Job.StopSteps={n_steps}", "Learner.LearningRateSchedule=constant", "Learner.ClipSchedule=constant", *more)
        return ["run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", *(f"--set={s}" for s in sets)]

    whole, part = ctl(*words(32768)), ctl(*words(16384))
    checkpoint, = glob.glob(os.path.join(part.state_directory, "jobs/1/state/*.safetensors"))
    rest = ctl(*words(32768), f"--from={checkpoint}")
    for name in "policy_sha256", "env_steps", "episodes", "return_mean":
        equal(getattr(rest, name), getattr(whole, name), name)
    equal(part.rounds + rest.rounds, whole.rounds, "rounds")
    assert rest.cost["full"] < whole.cost["full"], (rest.cost, whole.cost)

    for start, sentence, more in ((checkpoint, "has taken 16384 steps, and the job ends after 256; go further with", ["Job.StopSteps=256"]),
                                  (checkpoint, "EnvsPerActor=8, but the job has 16", ["Actor.EnvsPerActor=16"]),
                                  (os.path.join(EXAMPLES, "cartpole.conf"), "not a safetensors file", []),
                                  (os.path.join(STATE, "none"), "cannot be opened", [])):
        r = ctl(*words(32768, *more), f"--from={start}")
        assert r.status in (1, 2) and sentence in r.err, (start, r.status, r.err[-600:])

    # An error in the settings is refused before a daemon is started, and so before anything is made.
    runs = os.path.join(STATE, "actord", "runs")
    before = os.stat(runs).st_mtime_ns, sorted(os.listdir(runs))
    cut = os.path.join(STATE, "cut.safetensors")
    with open(checkpoint, "rb") as whole, open(cut, "wb") as f:
        f.write(whole.read()[:5000])
    for start, example, sentence, more in (
            (checkpoint, "pendulum", f"{checkpoint}: it is of CartPole-v1, and the job is of Pendulum-v1", []),
            (checkpoint, "cartpole", "the checkpoint has [Scaling] MaxActors= unset, but the job has 3; set it back", ["Scaling.Actors=3", "Scaling.MaxActors=3"]),
            (checkpoint, "cartpole", "the checkpoint has [Scaling] Actors=1, but the job has 2;", ["Scaling.Actors=2"]),
            (checkpoint, "cartpole", "the checkpoint has [Learner] HiddenLayers=64 64, but the job has 32 32;", ["Learner.HiddenLayers=32 32"]),
            (cut, "cartpole", "cut.safetensors: it is cut short", []), ("", "cartpole", "--from= names no checkpoint", []),
            (os.path.join(STATE, "none"), "cartpole", "none cannot be opened", [])):
        r = ctl("run", os.path.join(EXAMPLES, example + ".conf"), "--json=short", *(f"--set={s}" for s in ("Job.StopSteps=1000000", *more)), f"--from={start}")
        assert r.status == 2 and sentence in r.err, (start, r.status, r.err[-600:])
        equal((r.state, sentence in r.fault), ("refused", True), "object")
    equal((os.stat(runs).st_mtime_ns, sorted(os.listdir(runs))), before, "runs")


@story("a checkpoint with one wrong bit, or of a newer format, is refused in words wherever it is read")
def damaged():
    r = ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", "--set=Job.StopReturn=", "--set=Job.StopSteps=2048")
    whole, = glob.glob(os.path.join(r.state_directory, "jobs/1/state/*.safetensors"))
    data = open(whole, "rb").read()
    n, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + n])
    path = os.path.join(STATE, "wrong.safetensors")
    job = os.path.join(EXAMPLES, "cartpole.conf")
    shown = ctl("show", whole)
    assert shown.status == 0 and f"# policy sha256 {r.policy_sha256}" in shown.out and "Environment=CartPole-v1" in shown.out, shown
    assert {"section": "Job", "key": "StopSteps", "value": "2048", "given": True} in ctl("show", whole, "--json=short").json

    def refused(content, words):
        with open(path, "wb") as f:
            f.write(content)
        for verb in (["eval", path, "--episodes=1"], ["show", path], ["run", job, "--set=Job.StopSteps=4096", f"--from={path}"]):
            r = ctl(*verb)
            assert r.status in (1, 2) and "wrong.safetensors: " + words in r.err and "(error" not in r.err and not r.out, (verb, r)

    for tensor, entry in sorted(header.items()):
        if tensor != "__metadata__" and entry["data_offsets"][0] < entry["data_offsets"][1]:
            at = 8 + n + sum(entry["data_offsets"]) // 2
            refused(data[:at] + bytes([data[at] ^ 4]) + data[at + 1:], "it is damaged")
    at = data.index(b'"Job.StopSteps":"2048"') + len(b'"Job.StopSteps":"')
    refused(data[:at] + b"8" + data[at + 1:], "it is damaged")
    refused(data[:-1], "it is cut short")
    newer = data[:-32].replace(b'"actord-checkpoint-2"', b'"actord-checkpoint-3"')
    refused(newer + hashlib.sha256(newer).digest(), "it is of a newer format, actord-checkpoint-3, and this actord reads up to 2")


@story("a reader that goes away does not take the run with it")
def closed_output():
    p = subprocess.Popen([CTL, "run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopSteps=2048", "--set", "Job.StopReturn="],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    p.stderr.close()
    p.stdout.close()
    assert p.wait(60) in (0, 1), p.returncode


@story("eval says how long it played, and refuses a file that is not a checkpoint")
def evaluate():
    path = os.path.join(STATE, "nonsense.safetensors")
    for data in (b"", b"short", b"\xff" * 64, struct.pack("<Q", 2) + b"{}", struct.pack("<Q", 4) + b"null"):
        with open(path, "wb") as f:
            f.write(data)
        r = ctl("eval", path)
        equal(r.status, 2, f"status for {data[:10]}: {r.err}")
        assert "nonsense.safetensors" in r.err, r.err


tell()
