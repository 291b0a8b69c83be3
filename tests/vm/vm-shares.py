#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""[Scaling] Shares=: jobs of the system's daemon trade CPU weight on real cgroups. Runs as root in the virtual machine, with the packages installed."""
import glob, os, shutil, signal, sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *
import trading

DEBS = os.path.join(BUILD, "deb") # a folder for each version
NAMES = ("actord", "actord-environments")
PLACE, POLICIES = "/opt/shares-job", "/etc/actord/shares"
ACTORCTL = ("actorctl", "--system")


def sh(*words, timeout=120, check=True):
    return bash(" ".join(map(str, words)), timeout * PATIENCE, check).stdout.strip()


def apt(*words):
    sh("DEBIAN_FRONTEND=noninteractive apt-get --yes -o APT::Sandbox::User=root", *words, timeout=200)


def conf(name, *lines):
    """A job of two actors that keep both CPUs busy, for rounds of a second or two."""
    path = f"{PLACE}/{name}.conf"
    with open(path, "w") as f:
        f.write("[Job]\nEnvironment=./greedy-env.so\nStopSteps=1000000\n[Environment]\nSpin=20000\n[Actor]\nRolloutSteps=32\nTimeoutSec=300\n"
                "[Learner]\nMinibatchSize=32\nEpochs=1\n[Scaling]\nActors=2\n" + "\n".join(lines) + "\n")
    return path


def submit(path, *sets):
    return int(sh(*ACTORCTL, "submit", path, *(f"--set {s}" for s in sets)).split()[-1])


def status(job):
    return json.loads(sh(*ACTORCTL, "status", job, "--json"))


def slice_of(job):
    """The folder of the job's slice, the cgroup around its scope."""
    return "/sys/fs/cgroup" + os.path.dirname(status(job)["control_group"])


def kernel_weight(job):
    return int(read(slice_of(job) + "/cpu.weight"))


def usage(job):
    return int(re.search(r"usage_usec (\d+)", read(slice_of(job) + "/cpu.stat")).group(1))


def read(path):
    with open(path) as f:
        return f.read()


def runs(job):
    wait_for(f"job {job} runs", lambda: status(job)["rounds"] > 0, 90)
    return job


def agree(job):
    """The weight that status shows is the kernel's. It may change between two looks."""
    wait_for(f"one weight of job {job}", lambda: status(job)["cpu_weight"] == kernel_weight(job) > 0, 30)


jobs = {}


@story("two jobs trade: the one that will miss its deadline has a higher weight than its neighbour, and the kernel and status agree")
def weights():
    jobs["late"] = submit(conf("late", "Shares=simppo:hand", "Deadline=60s"))
    jobs["easy"] = submit(conf("easy", "Shares=simppo:hand"))
    for job in jobs.values():
        runs(job)
    equal(status(jobs["late"])["limits_not_enforced"], [], "limits that are not enforced")
    wait_for("weights that differ", lambda: kernel_weight(jobs["late"]) >= 150 and kernel_weight(jobs["easy"]) <= 50, 60)
    for job in jobs.values():
        agree(job)
    # A turn of the trade may come between the two readings of a sum.
    sums = []
    for _ in range(9):
        sums.append(sum(map(kernel_weight, jobs.values())))
        time.sleep(0.5)
    assert 195 <= sorted(sums)[4] <= 205, ("the trade made weight or lost it", sums)
    assert "cpu weight" in sh(*ACTORCTL, "status", jobs["late"])


@story("and it gets more of the CPUs than its neighbour")
def cpu():
    before = {name: usage(job) for name, job in jobs.items()}
    time.sleep(15)
    got = {name: usage(job) - before[name] for name, job in jobs.items()}
    assert got["late"] > 1.5 * got["easy"] and got["easy"] > 0, got


@story("a job without Shares= beside them keeps the kernel's weight, and nothing is written of it")
def bystander():
    other = runs(submit(conf("other")))
    equal((kernel_weight(other), status(other)["cpu_weight"], status(other)["shares"]), (100, 0, "equal"), "the weight of a job that does not trade")
    sh(*ACTORCTL, "stop", other)


@story("when the daemon was killed, the next one goes on with the weights that the kernel has")
def killed():
    sh("systemctl kill --signal=KILL actord.service")
    wait_for("the next daemon", lambda: sh(*ACTORCTL, "status", check=False).startswith("actord"), 60)
    time.sleep(6) # two more turns, in which it decides by itself
    for name, job in jobs.items():
        agree(job)
    assert kernel_weight(jobs["late"]) > 2 * kernel_weight(jobs["easy"]), "the weights are not what they were"


@story("a job that trades learns the same as one that does not")
def same():
    small = runs(submit(conf("small", "Shares=simppo:hand", "Deadline=20s"), "Job.StopSteps=640"))
    wait_for("a weight of its own, or its end", lambda: status(small)["cpu_weight"] not in (0, 100) or status(small)["state"] == "ended", 120)
    assert status(small)["cpu_weight"] not in (0, 100), "it ended before it was weighed"
    wait_for("its end", lambda: status(small)["state"] == "ended", 300)
    alone = json.loads(sh("actorctl run", conf("small"), "--json=short --set Job.StopSteps=640 --set Environment.Spin=0"))
    equal(status(small)["policy_sha256"], alone["policy_sha256"], "policies")


def processes(job):
    """The process ids of the job's running life."""
    files = glob.glob("/sys/fs/cgroup" + status(job)["control_group"] + "/**/cgroup.procs", recursive=True)
    return [int(pid) for path in files for pid in read(path).split()]


def invoker(job):
    return min(pid for pid in processes(job) if read(f"/proc/{pid}/comm").strip() == "actord-invoker")


@story("when the last but one leaves, the other has the kernel's weight again, even in a new life; what has ended leaves nothing behind, "
       "also if the spawner was slow")
def leaves():
    notes = glob.glob("/run/systemd/*/*actord*job*")
    assert notes, "the manager has no note of the weights, so that none is left says nothing"
    assert kernel_weight(jobs["easy"]) <= 50, kernel_weight(jobs["easy"])
    spawner = int(sh("systemctl show --property=MainPID --value actord-spawn.service"))
    assert spawner > 0, "no spawner runs that could be slow"
    os.kill(spawner, signal.SIGSTOP)
    sh(*ACTORCTL, "stop", jobs["late"])
    wait_for("its processes are gone", lambda: not processes(jobs["late"]), 90)
    time.sleep(3) # a turn: its weight is being written, and the note of it would come after the job's end
    equal(status(jobs["late"])["state"], "ending", "the job that waits for the spawner")
    os.kill(invoker(jobs["easy"]), signal.SIGKILL) # its next life knows nothing of its weight
    os.kill(spawner, signal.SIGCONT)
    wait_for("its end", lambda: status(jobs["late"])["state"] == "ended", 90)
    wait_for("the weight of the other", lambda: status(jobs["easy"])["cpu_weight"] == 100 == kernel_weight(jobs["easy"]), 120)
    assert status(jobs["easy"])["life"] > 1, status(jobs["easy"])
    sh(*ACTORCTL, "stop", jobs["easy"])
    wait_for("its end", lambda: status(jobs["easy"])["state"] == "ended", 90)
    wait_for("an empty /run", lambda: not glob.glob("/run/systemd/*/*actord*job*"), 30)
    said = sh("journalctl --boot --no-pager --unit actord.service ACTORD_WEIGHT=100", check=False)
    assert "CPU weight 100" in said, said[-500:]


@story("a job that held back gets the kernel's weight for its last round and its last checkpoint")
def ending():
    slow = submit(conf("slow", "Shares=simppo:hand"), "Actor.RolloutSteps=512")
    late = submit(conf("hurried", "Shares=simppo:hand", "Deadline=20s"))
    for job in slow, late:
        runs(job)
    wait_for("a low weight", lambda: kernel_weight(slow) <= 50, 60)
    weights = slice_of(slow) + "/cpu.weight"
    sh(*ACTORCTL, "stop", slow)
    wait_for("the kernel's weight", lambda: int(read(weights)) == 100, 30)
    equal(status(slow)["state"], "ending", "the job")
    sh(*ACTORCTL, "stop", late)
    wait_for("their ends", lambda: {status(job)["state"] for job in (slow, late)} == {"ended"}, 120)


@story("a policy that is gone when its jobs run again is told, and the job goes on without it")
def gone():
    job = submit(conf("left", "Shares=simppo:brief"))
    os.unlink(POLICIES + "/brief.safetensors") # it is read when there is another job to trade with
    other = submit(conf("left", "Shares=simppo:hand"))
    runs(job)
    wait_for("a sentence", lambda: "does not trade CPU weight: no policy of this name" in sh("journalctl --boot --no-pager --unit actord.service"), 60)
    assert status(job)["state"] == "running", status(job)["state"]
    sh(*ACTORCTL, "stop", job, other)


@story("an ordinary user's own daemon trades by a policy of the user's folder, on the slices of the user's manager")
def own():
    tester = os.path.join(ROOT, "tests", "lane", "as-tester")
    folder = "/home/tester/.config/actord/shares"
    sh(f"{tester} mkdir -p {folder} && install --owner=tester {POLICIES}/hand.safetensors {folder}/mine.safetensors")

    def of_user(*words):
        return sh(tester, "actorctl", "--user", *words)

    def weight(job):
        return json.loads(of_user("status", job, "--json"))["cpu_weight"]

    late, easy = (int(of_user("submit", conf(name, "Shares=simppo:mine", *more)).split()[-1])
                  for name, more in (("own-late", ["Deadline=60s"]), ("own-easy", [])))
    wait_for("weights that differ", lambda: weight(late) >= 150 and 0 < weight(easy) <= 50, 120)
    for job in late, easy:
        group = json.loads(of_user("status", job, "--json"))["control_group"]
        assert "/user@" in group, group
        wait_for("one weight", lambda: weight(job) == int(read("/sys/fs/cgroup" + os.path.dirname(group) + "/cpu.weight")), 30)
    of_user("stop", late, easy)


DEB = sorted(os.listdir(DEBS)) if os.path.isdir(DEBS) else []
if not DEB:
    print("1..0 # SKIP no packages were made for this machine: packaging/dependencies.sh test installs dpkg-buildpackage, dh and dh_python3")
    sys.exit(0)
os.makedirs("/etc/actord/actord.conf.d", exist_ok=True)
with open("/etc/actord/actord.conf.d/shares.conf", "w") as f:
    f.write("[Daemon]\nMaxJobs=6\n")
for folder in (PLACE, POLICIES):
    os.makedirs(folder, exist_ok=True)
for name in ("hand", "brief"):
    with open(f"{POLICIES}/{name}.safetensors", "wb") as f:
        f.write(trading.policy())
shutil.copy(os.path.join(BUILD, "tests", "greedy-env.so"), PLACE)
apt("install", *(path for path in glob.glob(f"{DEBS}/{DEB[0]}/*.deb") if os.path.basename(path).split("_")[0] in NAMES))
try:
    tell()
finally:
    sh("apt-get --yes purge", *NAMES, check=False, timeout=200)
