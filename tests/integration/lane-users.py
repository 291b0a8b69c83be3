#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Two ordinary users on the system bus: what each may see and change of the other's job."""
import json, os, pwd, re, shutil, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from story import EXAMPLES, ROOT, equal, story, tell, wait_for

OWNER, OTHER = "tester", "another"
SECRET = "s3cret-of-tester"


def call_as(user, *words, check=True):
    r = subprocess.run(["runuser", "-u", user, "--", *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert not check or r.returncode == 0, (words, r.stdout, r.stderr)
    return r


def bus(user, job, method, check=True):
    r = call_as(user, "busctl", "--system", "--json=short", "call", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", method, check=check)
    return json.loads(r.stdout)["data"] if r.returncode == 0 else r.stderr


def settings(user, job):
    return {f"{section}.{key}": value for section, key, value, _ in bus(user, job, "GetSettings")[0]}


def everything(user, job):
    """All that the bus tells without a call of the job's own methods."""
    out = call_as(user, "busctl", "--system", "call", "org.actord1", f"/org/actord1/job/{job}", "org.freedesktop.DBus.Properties", "GetAll", "s",
                  "org.actord1.Job").stdout
    out += call_as(user, "busctl", "--system", "call", "org.actord1", "/org/actord1", "org.actord1.Manager", "ListJobs").stdout
    return out + call_as(user, "busctl", "--system", "call", "org.actord1", "/org/actord1", "org.freedesktop.DBus.ObjectManager",
                         "GetManagedObjects").stdout


@story("another user sees a job, and neither its options nor its paths; the owner and root see all")
def sight():
    try:
        pwd.getpwnam(OTHER)
    except KeyError:
        subprocess.run(["useradd", "--create-home", OTHER], check=True)
    folder = "/opt/" + SECRET
    os.makedirs(folder, exist_ok=True)
    model = folder + "/balance.xml"
    subprocess.run(["cp", os.path.join(ROOT, "examples/balance.xml"), model], check=True)
    heard = tempfile.TemporaryFile("w+")
    monitor = subprocess.Popen(["runuser", "-u", OTHER, "--", "gdbus", "monitor", "--system", "--dest", "org.actord1"], stdout=heard,
                               stderr=subprocess.DEVNULL)
    try:
        r = call_as(OWNER, "actorctl", "--system", "submit", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.Environment=mujoco:" + model,
                    "--set", "Environment.Reward=alive 1", "--set", f"Environment.Terminate=z cart < 0.{len(SECRET)}", "--set", "Scaling.Actors=1")
        job = re.search(r"\d+", r.stdout).group()
        whole, part = settings(OWNER, job), settings(OTHER, job)
        equal(whole, settings("root", job), "what root sees")
        equal((whole["Job.Environment"], part["Job.Environment"]), ("mujoco:" + model, "mujoco:balance.xml"), "environments")
        assert whole["Environment.Reward"] == "alive 1" and not [key for key in part if key.startswith("Environment.")], part
        assert {key: value for key, value in part.items() if key != "Job.Environment"}.items() <= whole.items(), part
        assert SECRET in bus(OWNER, job, "GetText")[0] or SECRET in json.dumps(whole)
        for who in OWNER, OTHER:
            assert SECRET not in everything(who, job), "a path"
        wait_for("the end of the job", lambda: "ended" in call_as(OTHER, "busctl", "--system", "get-property", "org.actord1", f"/org/actord1/job/{job}",
                                                               "org.actord1.Job", "State").stdout or stop(job), 60)
        assert SECRET not in everything(OTHER, job), "a path"
    finally:
        monitor.kill()
        monitor.wait()
    heard.seek(0)
    said = heard.read()
    assert SECRET not in said, "a path in a signal"
    assert "JobNew" in said or not shutil.which("gdbus"), said[:500]


def stop(job):
    call_as(OWNER, "actorctl", "--system", "stop", job, check=False)


def all_rows(user, job):
    """The answers of all methods of the table to this user, who is not the owner, refusals included."""
    text = open(os.path.join(ROOT, "daemon/audience.h")).read()
    arguments = {"GetRounds": "tu 0 100", "GetSeries": "tu 0 100", "GetDecisions": "tu 0 100", "GetFaults": "u 100", "GetFleets": "s aws-lambda-x86",
                 "GetBillUnder": "s aws-lambda-x86", "GetBeside": "ss aws-lambda-x86 ec2-nitro"}
    out = ""
    for method in sorted(set(re.findall(r"X\((\w+), (?:OWN|PART|ALL)\)", text)) - {"Stop"}):
        r = call_as(user, "busctl", "--system", "call", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", method,
                    *arguments.get(method, "").split(), check=False)
        assert "expecting" not in r.stderr, r.stderr
        out += f"{method}: {r.stdout}{r.stderr}"
    return out


def trained_elsewhere(path):
    """A trained scheduler whose own story names files."""
    model = bytearray(open(os.path.join(ROOT, "packaging/schedulers/cartpole.minions"), "rb").read())
    for at, size, words in ((32, 128, f"/opt/{SECRET}/inner.conf"), (160, 64, f"mujoco:/opt/{SECRET}/b.xml")):
        model[at:at + size] = words.encode().ljust(size, b"\0")
    open(path, "wb").write(model)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(text)
    return path


@story("jobs that fail in every way tell another user no path, no option's value and no text of their owner's")
def failures():
    folder = "/opt/" + SECRET
    plugin = write(folder + "/broken.so", f"no library, but {SECRET}\n")
    model = write(folder + "/broken.xml", f"<mujoco><worldbody><geom type='{SECRET}'/></worldbody></mujoco>")
    shutil.copy(os.path.join(ROOT, "examples/balance.xml"), folder + "/whole.xml")
    trained = folder + "/cartpole.minions"
    trained_elsewhere(trained)
    cartpole = os.path.join(EXAMPLES, "cartpole.conf")
    mujoco = ("--set", "Environment.Terminate=z cart < 0", "--set")
    for what, *words in (("plugin", "--set", "Job.Environment=" + plugin),
                         ("model", "--set", "Job.Environment=mujoco:" + model, *mujoco, "Environment.Reward=alive 1"),
                         ("term", "--set", f"Job.Environment=mujoco:{folder}/whole.xml", *mujoco, f"Environment.Reward=1 velocity {SECRET}"),
                         ("python", "--set", "Job.Environment=gym:CartPole-v1", "--set", f"Environment.{SECRET.replace('-', '')}={SECRET}"),
                         ("trained", "--set", "Scaling.Policy=minions:" + trained, "--set", "Scaling.MaxActors=8", "--set", "Billing.Clock=model"),
                         ("command", "--set", "Scaling.Policy=fixed", "--set", "Actor.Sandbox=full", "--set", f"Job.Tag=a", "--from", plugin)):
        r = call_as(OWNER, "actorctl", "--system", "submit", cartpole, *words, check=False)
        if r.returncode != 0:
            print(f"# {what}: refused: {r.stderr.strip()[:160]}", flush=True)
            continue
        job = re.search(r"\d+", r.stdout).group()
        wait_for(f"the end of the job ({what})", lambda: "ended" in call_as(OTHER, "busctl", "--system", "get-property", "org.actord1",
                 f"/org/actord1/job/{job}", "org.actord1.Job", "State").stdout or what == "trained" and stop(job), 60)
        seen = everything(OTHER, job) + all_rows(OTHER, job)
        print(f"# {what}: " + re.search(r'"Fault" s "(.*?)"', everything(OTHER, job))[1], flush=True)
        for secret in SECRET, SECRET.replace("-", ""):
            at = seen.find(secret)
            assert at < 0, (what, seen[max(0, at - 300):at + 100])
    equal(len(all_rows(OTHER, job).split("GetSchedulerBill: ")[1].split()) > 5, True, "a bill of the scheduler")


@story("a job of another user is refused, with the name of the user to ask")
def refused():
    r = call_as(OWNER, "actorctl", "--system", "submit", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopReturn=", "--set",
                "Job.StopSteps=100000000")
    job = re.search(r"\d+", r.stdout).group()
    for said in (call_as(OTHER, "actorctl", "--system", "stop", job, check=False).stderr, bus(OTHER, job, "Stop", check=False),
                 bus(OTHER, job, "Freeze", check=False), bus(OTHER, job, "Thaw", check=False),
                 bus(OTHER, job, "GetText", check=False), bus(OTHER, job, "OpenCheckpoint", check=False)):
        assert f"Job {job} belongs to {OWNER}" in said and "org.actord1.manage-jobs" in said, said
    for method in "GetBill", "GetEstimates", "GetSettings":
        bus(OTHER, job, method)
    call_as(OWNER, "actorctl", "--system", "stop", job)


@story("each method of a job has its row in the manual's table")
def documented():
    r = call_as(OTHER, "busctl", "--system", "--json=short", "introspect", "org.actord1", "/org/actord1/job/1", "org.actord1.Job", check=False)
    text = open(os.path.join(ROOT, "daemon/audience.h")).read()
    rows = dict(re.findall(r"X\((\w+), (OWN|PART|ALL)\)", text))
    methods = re.findall(r'"name":"(\w+)","type":"method"', r.stdout) or re.findall(r'<method name="(\w+)"', open(os.path.join(
        ROOT, "units/org.actord1.xml")).read().split('org.actord1.Job"')[1])
    equal(set(methods) - set(rows), set(), "methods without a row")
    manual = open(os.path.join(ROOT, "docs/org.actord1.5")).read().split(".SH WHO MAY SEE WHAT")[1]
    equal([m for m in rows if m not in manual], [], "rows that the manual does not have")


tell()
