#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A user's strings in a real journal: no entry of the daemon or the spawner drives a terminal, and entries of a plugin are
marked as its job's. Runs as root inside the lane."""
import shutil
from sanitise_strings import *
from story import *

TESTER = os.path.join(ROOT, "tests/lane/as-tester")
EVIL = "x" + GROUPS["beyond"].decode()
PLUGIN = r"""
#include <unistd.h>
#include "%s/tests/plain-env.h"
typedef struct Loud { int n; } Loud;
static int loud_init(void *instance, const ActordOption *options, uint32_t n_options) {
        static const char words[] = "<0>said by the plugin" %s "\nMESSAGE_ID=0123\nACTORD_JOB=1\n";
        return write(STDERR_FILENO, words, sizeof(words) - 1) < 0 ? -1 : 0;
}
static int loud_reset(void *instance, ActordRandom *random, void *ret) { *(float *) ret = 0; return 0; }
static int loud_step(void *instance, const void *action, ActordRandom *random, void *ret_observation, ActordStep *ret) {
        *(float *) ret_observation = 0;
        *ret = (ActordStep){};
        return 0;
}
PLAIN_ENV(loud, Loud);
"""


def as_tester(*words, check=True):
    r = subprocess.run([TESTER, *words], capture_output=True, timeout=60 * PATIENCE, stdin=subprocess.DEVNULL)
    assert not check or r.returncode == 0, (words, r.stdout, r.stderr)
    return r


def journal(*words):
    """Entries as {field: value}; a value that is not text comes as numbers."""
    out = subprocess.run(["journalctl", "--output=json", "--all", "--no-pager", *words], capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def state(job):
    return json.loads(subprocess.run(["busctl", "--system", "--json=short", "get-property", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job",
                                      "State"], capture_output=True, text=True, check=True).stdout)["data"]


def submit(folder, environment, *sets, until=None):
    """Returns the job's number when it has ended. With `until` the job goes on until until(number) holds, and is then stopped."""
    path = os.path.join(folder, EVIL + ".conf")
    with open(path, "w") as f:
        f.write(f"[Job]\nEnvironment={environment}\nDescription={EVIL}\nStopSteps={64 if not until else 1 << 40}\n"
                "[Scaling]\nActors=1\n[Actor]\nRolloutSteps=32\n[Learner]\nMinibatchSize=32\n"
                + ("[Environment]\nReward=alive 1\n" if "mujoco:" in environment else ""))
    r = as_tester("actorctl", "--system", "submit", path, *sets)
    job = int(re.search(rb"Job (\d+)|(\d+)", r.stdout).group().split()[-1])
    if until:
        wait_for(f"what is expected of job {job}", lambda: until(job), 60)
        as_tester("actorctl", "--system", "stop", str(job))
    wait_for(f"the end of job {job}", lambda: state(job) == "ended", 60)
    return job


def folder_of_files():
    folder = os.path.join("/opt", EVIL)                       # from where the daemon sees a model, too
    os.makedirs(folder)
    source = os.path.join(folder, "loud.c")
    words = '"' + "".join(f"\\{b:03o}" for group in GROUPS.values() for b in group) + '"'
    with open(source, "w") as f:
        f.write(PLUGIN % (ROOT, words))
    subprocess.run(["cc", "-std=gnu17", "-fPIC", "-shared", "-I", os.path.join(ROOT, "include"), "-o", os.path.join(folder, EVIL + ".so"), source, "-lm"],
                   check=True)
    with open(os.path.join(folder, EVIL + ".xml"), "w") as f:
        f.write("<mujoco>" + EVIL)
    subprocess.run(["chown", "-R", "tester:", folder], check=True)
    return folder


@story("names, descriptions and options with control and bidirectional characters are in the journal by their numbers")
def daemons_words():
    if not shutil.which("cc"):
        raise Skip("no compiler for the loud plugin")
    subprocess.run(["systemctl", "start", "actord.service"], check=True)
    folder = folder_of_files()
    # The journal reads a writer's unit from /proc when it comes to the writer's first line. The process that asks the plugin for its spec
# may have ended by then, and its lines then have no unit. The actor that trains still lives, as its job goes on until its lines are there.
    loud = submit(folder, f"./{EVIL}.so", until=lambda job: any("_SYSTEMD_UNIT" in e for e in lines_of_plugin(job)))
    submit(folder, f"mujoco:{EVIL}.xml")
    for evil in GROUPS.values():
        for section, key in strings():
            as_tester("actorctl", "--system", "submit", os.path.join(EXAMPLES, "cartpole.conf"), b"--set=" + f"{section}.{key}=a".encode() +
                      evil.replace(b"\0", b""), "--set=Job.StopSteps=64", check=False)
    entries = journal("--unit=actord.service") + journal("--unit=actord-spawn.service")
    for entry in entries:
        for name, value in entry.items():
            assert isinstance(value, str), (name, value)
            found = FORBIDDEN.search(value) or "\n" in value
            assert not found, (name, found, value[:300])
    assert any("\\xe2\\x80\\xae" in e["MESSAGE"] for e in entries), [e["MESSAGE"] for e in entries][:20]
    heard_as_its_jobs(loud)


def lines_of_plugin(job):
    def text(entry):
        message = entry["MESSAGE"]
        return message if isinstance(message, str) else bytes(message).decode(errors="replace")
    lines = journal(f"--identifier=actord-actor-job-{job}")
    return lines if any("said by the plugin" in text(e) for e in lines) else []


def heard_as_its_jobs(job):
    """A plugin's lines have the job's unit and identifier, the priority of any other line, and no field of the daemon's."""
    unit = f"actord-job-{job}.scope"
    for entry in lines_of_plugin(job):
        equal((entry.get("_SYSTEMD_UNIT", unit), entry["PRIORITY"], entry.get("MESSAGE_ID"), entry.get("ACTORD_JOB")), (unit, "6", None, None),
              "fields of a plugin's line")
    shown = subprocess.run(["actorctl", "logs", str(job)], capture_output=True, stdin=subprocess.DEVNULL, timeout=60).stdout
    assert b"said by the plugin" in shown and not FORBIDDEN.search(shown.decode()), shown


tell()
