#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian packages as an administrator has them: apt installs them where actord has never been, systemd starts what they bring, a job goes on while a
newer version takes their place, and nothing is left after a purge but what Debian's policy says. Runs as root in the virtual machine."""
import glob, os, pwd, shutil, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

DEBS = os.path.join(BUILD, "deb") # a folder for each version
NAMES = ("actord", "actord-environments") # those with programs; fresh-packages.py has the others, natively
PLACE = "/home/tester/job"
SLOW_USEC = 20000 # a step of the job; the same job without it has the same policy
ACTORCTL = ("actorctl", "--system")
NOT_OURS = ("/home/", "/tmp/") # of the user, of this test


def sh(line, timeout=120, check=True):
    return bash(line, timeout * PATIENCE, check).stdout.strip()


def apt(*words):
    sh("DEBIAN_FRONTEND=noninteractive apt-get --yes -o APT::Sandbox::User=root " + " ".join(words), timeout=200)


def of(version):
    return [path for path in glob.glob(f"{DEBS}/{version}/*.deb") if os.path.basename(path).split("_")[0] in NAMES]


def version():
    return {sh("dpkg-query --show --showformat='${Version}' " + name) for name in NAMES}


def names():
    """Files and folders anywhere whose names have ours; those of the machine's image and of its tests are there from the beginning."""
    return {path for path in sh("find / -xdev -name '*actord*'").splitlines() if not path.startswith(NOT_OURS)}


def failed_units():
    return sh("systemctl list-units --failed --no-legend --plain 'actord*'")


def by_tester(*words):
    return sh(" ".join((os.path.join(ROOT, "tests", "lane", "as-tester"), *map(str, words))))


def status(job):
    return json.loads(by_tester(*ACTORCTL, "status", job, "--json"))


def rounds(job):
    return len(json.loads(by_tester(*ACTORCTL, "rounds", job, "--json")))


@story("apt installs them on a system that has never seen actord; the daemon runs and no unit has failed")
def installed():
    assert not shutil.which("actorctl") and not os.path.exists("/var/lib/actord"), "actord is there already"
    apt("install", *of(VERSIONS[0]))
    equal(version(), {VERSIONS[0]}, "versions")
    equal(sh("systemctl is-enabled actord.service actord-spawn.socket", check=False).split(), ["enabled", "enabled"], "units")
    equal(failed_units(), "", "units that failed")
    assert pwd.getpwnam("_actord").pw_uid < 1000
    equal(json.loads(by_tester(*ACTORCTL, "list", "--json")), [], "jobs")


@story("a user's job goes on while a newer version takes the place of the programs, and ends with the policy that it has without")
def upgraded():
    os.makedirs(PLACE, exist_ok=True)
    shutil.copy(os.path.join(BUILD, "tests", "greedy-env.so"), PLACE)
    with open(PLACE + "/job.conf", "w") as f:
        f.write(f"[Job]\nEnvironment=./greedy-env.so\nStopSteps=1000000\n[Environment]\nSpin={SLOW_USEC}\n[Actor]\nRolloutSteps=64\nTimeoutSec=120\n"
                "[Learner]\nMinibatchSize=32\nEpochs=1\n")
    sh("chown -R tester " + PLACE)
    job = by_tester(*ACTORCTL, "submit", PLACE + "/job.conf").split()[-1]
    wait_for("its first round", lambda: rounds(job) > 0, 60)
    before, daemon = pids("actord-invoker"), sh("systemctl show -P MainPID actord.service")
    apt("install", *of(VERSIONS[1]))
    equal(version(), {VERSIONS[1]}, "versions")
    wait_for("the new daemon", lambda: sh("systemctl show -P MainPID actord.service") not in ("0", daemon), 30)
    equal(status(job)["state"], "running", "the job")
    assert before[0] in pids("actord-invoker"), (before, pids("actord-invoker"))
    so_far = rounds(job)
    wait_for("another round", lambda: rounds(job) > so_far, 60)
    by_tester(*ACTORCTL, "stop", job)
    wait_for("its end", lambda: status(job)["state"] == "ended", 60)
    ended = status(job)
    alone = json.loads(by_tester("actorctl", "run", PLACE + "/job.conf", "--json=short", "--set=Environment.Spin=0", f"--set=Job.StopSteps={ended['env_steps']}"))
    equal((alone["env_steps"], alone["policy_sha256"]), (ended["env_steps"], ended["policy_sha256"]), "the same job without an upgrade")
    equal(failed_units(), "", "units that failed")


@story("removed: no process and no file but what the daemon wrote; purged: the users, and nothing else")
def removed():
    by_tester(*ACTORCTL, "submit", PLACE + "/job.conf")
    wait_for("a job that runs", lambda: pids("actord-invoker"), 60)
    files = [path for path in sh("dpkg -L " + " ".join(NAMES)).splitlines() if os.path.isfile(path)]
    assert "/usr/bin/actorctl" in files and len(files) > 40, files
    apt("remove", *NAMES)
    equal([path for path in files if os.path.exists(path)], [], "files that are left")
    equal([name for _, name in processes().values() if name.startswith("actord") and name != "actord-tests"], [], "processes that are left")
    assert os.path.exists("/var/lib/actord/ledger.sqlite")
    sh("dpkg --purge " + " ".join(NAMES)) # apt knows no package of which nothing is left
    equal(names() - BEFORE, set(), "what is left")
    equal(failed_units(), "", "units that failed")
    pwd.getpwnam("_actord")


BEFORE = names()
VERSIONS = sorted(os.listdir(DEBS)) if os.path.isdir(DEBS) else []
if len(VERSIONS) != 2:
    print("1..0 # SKIP no packages were made for this machine: packaging/dependencies.sh test installs dpkg-buildpackage, dh and dh_python3")
    sys.exit(0)
tell()
