#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What `make bench-peers` runs: the same trainings by actord and by its peers, by turns, seed by seed.

Peers are installed from the package index into virtual environments in build/peers, which share one PyTorch (some 6 GB in all; minutes). A peer that
cannot be installed or does not train is named with the reason, and the others go on. A time is that of a whole process, from exec to exit; in
brackets, that of the training alone, without loading Python's modules.

  PEERS="stable-baselines3 cleanrl"   only these
  PEERS_TASKS="cartpole"              only these: cartpole, cartpole-475, both with -fused, cartpole-cleanrl, cartpole-dqn, hopper
  PEERS_STEPS=65536                   environment steps of a training; one that stops at a return of 475 has at most 100,000, or less with this
  PEERS_SEEDS=10                      trainings of each kind
  PEERS_SECONDS=900                   the most that one may take

The figures are kept in build/peers.json, and each training in build/peers.csv, as docs/experiments/peers.csv has them. Exit status 1: no peer could be compared."""
import contextlib, csv, datetime, glob, importlib.metadata, json, os, shutil, signal, statistics, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("B", os.path.join(ROOT, "build")))
VENVS = os.path.join(BUILD, "peers")
STEPS = int(os.environ.get("PEERS_STEPS", 65536))
SEEDS = int(os.environ.get("PEERS_SEEDS", 10))
SECONDS = int(os.environ.get("PEERS_SECONDS", 900))
MOST = STEPS if STEPS < 65536 else 100000  # for a training that stops at a return of 475

# Virtual environment, and what is installed into it.
PEERS = {
    "stable-baselines3": ("stable-baselines3", ["stable-baselines3", "gymnasium[mujoco]"]),
    "cleanrl": ("stable-baselines3", ["stable-baselines3", "gymnasium[mujoco]"]),
    "envpool": ("envpool", ["envpool", "gymnasium"]),
    "ray": ("ray", ["ray[rllib]", "gymnasium"]),
    "sample-factory": ("sample-factory", ["sample-factory"]),
}
SHOWN = {"stable-baselines3": "Stable-Baselines3", "cleanrl": "CleanRL's settings in PyTorch", "envpool": "the same on EnvPool",
         "ray": "RLlib", "sample-factory": "Sample Factory"}

CARTPOLE = os.path.join(ROOT, "examples", "cartpole.conf")
CARTPOLE_DQN = os.path.join(ROOT, "examples", "cartpole-dqn.conf")
NEVER = ["Job.StopReturn=501"]
FUSED = ["Distribution.Policy=fused"]
CLEANRL = ["Actor.EnvsPerActor=4", "Actor.RolloutSteps=128", "Learner.LearningRate=2.5e-4", "Learner.Epochs=4", "Learner.MinibatchSize=128",
           "Learner.Gamma=0.99", "Learner.Lambda=0.95", "Learner.Clip=0.2", "Learner.ClipSchedule=constant", "Learner.ValueClip=0.2",
           "Learner.EntropyWeight=0.01", "Learner.ValueWeight=0.5"]
# Task: its job, what is set there, how many steps at most, who trains it.
TASKS = {
    "cartpole": (CARTPOLE, NEVER, STEPS, ["stable-baselines3", "ray", "sample-factory"]),
    "cartpole-fused": (CARTPOLE, [*NEVER, *FUSED], STEPS, ["stable-baselines3"]),
    "cartpole-475": (CARTPOLE, [], MOST, ["stable-baselines3", "ray"]),
    "cartpole-475-fused": (CARTPOLE, FUSED, MOST, ["stable-baselines3"]),
    "cartpole-cleanrl": (CARTPOLE, [*NEVER, *CLEANRL], STEPS, ["cleanrl", "envpool"]),
    "cartpole-dqn": (CARTPOLE_DQN, [*NEVER, *FUSED], STEPS, ["stable-baselines3"]),
    "hopper": (os.path.join(ROOT, "examples", "hopper.conf"), [], STEPS, ["stable-baselines3"]),
}


class Failure(Exception):
    pass


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given"


def call(command, seconds, **options):
    p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **options)
    try:
        out, err = p.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failure(f"it did not end in {seconds} s") from None
    finally:
        # Its helper processes too: some peers leave theirs behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, signal.SIGKILL)
        p.wait()
    if p.returncode != 0:
        raise Failure(last_line(err or out))
    return out


def packages_of(venv):
    return glob.glob(os.path.join(venv, "lib", "python3*", "site-packages"))[0]


def install(name, packages, shared=None):
    """A virtual environment of this name. A file that is written last says that it is complete."""
    venv = os.path.join(VENVS, name)
    done = os.path.join(venv, "installed")
    if os.path.exists(done):
        return venv
    print(f"== installing {' '.join(packages)}", flush=True)
    shutil.rmtree(venv, ignore_errors=True)
    call([sys.executable, "-m", "venv", venv], 300)
    if shared:
        with open(os.path.join(packages_of(venv), "shared.pth"), "w") as f:
            f.write(packages_of(shared) + "\n")
    call([os.path.join(venv, "bin", "pip"), "install", "-q", *packages], 3600)
    open(done, "w").close()
    return venv


def prepare(wanted):
    """Virtual environments of the peers that could be installed, and why the others could not."""
    venvs, reasons = {}, {}
    try:
        torch = install("torch", ["torch"])
    except Failure as e:
        return {}, {peer: f"PyTorch does not install: {e}" for peer in wanted}
    for peer in wanted:
        name, packages = PEERS[peer]
        try:
            venvs[peer] = install(name, packages, torch)
        except Failure as e:
            reasons[peer] = f"it does not install: {e}"
    return venvs, reasons


def version(venv, package):
    for where in (packages_of(venv), packages_of(os.path.join(VENVS, "torch"))):
        for found in importlib.metadata.distributions(name=package, path=[where]):
            return found.version
    return "?"


def versions(peer, venv):
    package = "torch" if peer == "cleanrl" else peer
    names = dict.fromkeys([package, "torch", "gymnasium"])
    return ", ".join(f"{name} {version(venv, name)}" for name in names)


def train_peer(peer, venv, task, seed):
    start = time.perf_counter()
    said = call([os.path.join(venv, "bin", "python"), os.path.join(HERE, "peers_train.py"), peer, task.removesuffix("-fused"), str(seed),
                 str(TASKS[task][2])], SECONDS, cwd=tempfile.gettempdir(), env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"})
    wall = time.perf_counter() - start
    return {"wall_s": wall, **json.loads(last_line(said))}


def train_ours(task, seed):
    job, sets, steps, _ = TASKS[task]
    words = [word for one in (*sets, f"Job.StopSteps={steps}", f"Job.Seed={seed}") for word in ("--set", one)]
    with tempfile.TemporaryDirectory(prefix="actord-peers-") as runs:
        start = time.perf_counter()
        said = call([os.path.join(BUILD, "actorctl"), "run", job, "--quiet", "--json=short", *words], SECONDS,
                    env={**os.environ, "XDG_STATE_HOME": runs}, cwd=runs)
        wall = time.perf_counter() - start
    return {"wall_s": wall, "result": json.loads(said)}


def seconds_text(values):
    return f"{statistics.median(values):.3g} s ({min(values):.3g} to {max(values):.3g})"


def compare(task, venvs, reasons):
    """Trains by turns: actord, then each peer, seed by seed. A peer that fails is left out from then on."""
    peers = [peer for peer in TASKS[task][3] if peer in venvs]
    ours, theirs = [], {peer: [] for peer in peers}
    for seed in range(1, SEEDS + 1) if peers else ():
        ours.append(train_ours(task, seed)["wall_s"])
        for peer in list(peers):
            try:
                theirs[peer].append(train_peer(peer, venvs[peer], task, seed))
            except Failure as e:
                reasons[f"{peer}, {task}"] = f"seed {seed}: {e}"
                peers.remove(peer)
    rows = []
    for peer, runs in theirs.items():
        if not runs:
            continue
        walls, trains = [run["wall_s"] for run in runs], [run["train_s"] for run in runs]
        own = ours[:len(runs)]
        rows.append({"task": task, "peer": peer, "versions": versions(peer, venvs[peer]), "steps": [run["steps"] for run in runs],
                     "returns": [run["return"] for run in runs], "wall_s": walls, "train_s": trains, "ours_wall_s": own,
                     "ratio": statistics.median(walls) / statistics.median(own),
                     "ratio_train": statistics.median(trains) / statistics.median(own)})
        print(f"{task}: {SHOWN[peer]} {seconds_text(walls)}, training alone {seconds_text(trains)}; actord {seconds_text(own)}: "
              f"{rows[-1]['ratio']:.1f} x ({rows[-1]['ratio_train']:.1f} x)   [{rows[-1]['versions']}]", flush=True)
    return rows


def cells_write(rows, file):
    """A line for each training of a peer, with the time of ours that ran before it."""
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(["task", "peer", "seed", "peer_steps", "peer_return", "peer_wall_s", "peer_train_s", "actord_wall_s"])
    for row in rows:
        runs = zip(row["steps"], row["returns"], row["wall_s"], row["train_s"], row["ours_wall_s"])
        for seed, (steps, value, *seconds) in enumerate(runs, 1):
            lines.writerow([row["task"], row["peer"], seed, steps, value, *(f"{x:.3f}" for x in seconds)])


def chosen(variable, names):
    wanted = os.environ.get(variable, " ".join(names)).split()
    if unknown := [name for name in wanted if name not in names]:
        sys.exit(f"{variable}=: there is no {', '.join(unknown)}; there are {' '.join(names)}")
    return wanted


def main():
    wanted, tasks = chosen("PEERS", PEERS), chosen("PEERS_TASKS", TASKS)
    venvs, reasons = prepare(wanted)
    begun = os.getloadavg()[0]
    rows = [row for task in tasks for row in compare(task, venvs, reasons)]
    for what, why in reasons.items():
        print(f"not compared: {what}: {why}")
    with open(os.path.join(BUILD, "peers.json"), "w") as f:
        json.dump({"measured": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "cpus": os.cpu_count(),
                   "load_before": begun, "load_after": os.getloadavg()[0], "figures": rows, "not_compared": reasons}, f, indent=1)
        f.write("\n")
    with open(os.path.join(BUILD, "peers.csv"), "w") as f:
        cells_write(rows, f)
    print(f"kept in {os.path.join(BUILD, 'peers.json')}; runnable processes before and after: {begun:.0f}, {os.getloadavg()[0]:.0f}")
    sys.exit(0 if rows else 1)


main()
