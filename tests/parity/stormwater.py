#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The stormwater tasks against the same networks driven by SWMM's own Python package, number by number.

usage: stormwater.py ACTORCTL VENV            VENV has swmm-toolkit and pystorms, and this is its Python

Ours run where a job would run them: in the sandbox, without files on a disk, taking turns on the engine. The other side writes the text of the
network to a file, with the storm that our episode shows as its state, sets what our actions say at each control step through the toolkit's functions
(ours call SWMM's), and works out observations and rewards from what it reads. All must be equal, bit for bit."""
import importlib.util, itertools, json, math, os, re, struct, subprocess, sys, tempfile

from swmm.toolkit import solver
from swmm.toolkit.shared_enum import LinkResult, NodeResult, ObjectType

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORKS = os.path.join(HERE, "..", "..", "actor", "envs", "swmm")
# What pystorms 1.0.0 adds up over its scenarios with all orifices open, on this engine.
PASSIVE = {"theta": 1630.34, "gamma": 400221923.13}
n = failed = 0


def point(good, what, text=""):
    global n, failed
    n, failed = n + 1, failed + (not good)
    print(f"{'ok' if good else 'not ok'} {n} - {what}")
    for line in text.splitlines() if not good else ():
        print(f"# {line}")


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def rain_ahead(rain, hour):
    late = hour - math.floor(hour)
    rate = lambda h: rain[h] if 0 <= h < len(rain) else 0.0
    return rate(math.floor(hour)) * (1 - late) + rate(math.floor(hour) + 1) * late


def tide(phase, hour):
    return 1.2 + 1.6 * math.sin(2 * math.pi * (hour / 12.42 + phase))


class Task:
    def text(self, rain, phase):
        with open(os.path.join(NETWORKS, f"{self.name}.inp")) as network:
            return network.read() + "\n".join(self.series(rain, phase)) + "\n"


class Theta(Task):
    name, nodes, valves, flows, opening = "theta", ("P1", "P2"), ("1", "2"), ("8",), 1.0

    def series(self, rain, phase):
        return [f"rain {h}:00 {x!r}" for h, x in enumerate(rain)]

    def observe(self, depth, flood, flow, openings, rain, phase, hour):
        return [*depth, *flow, rain_ahead(rain, hour), rain_ahead(rain, hour + 1)]

    def reward(self, each):
        total = 0.0
        for depth, flood, flow, *_ in each:
            cost = 10.0 * max(flow[0] - 0.5, 0.0)
            for x in flood:
                cost += 1e6 if x > 0 else 0.0
            total += -cost
        return total


class Tidal(Task):
    name, nodes, valves, flows, opening = "tidal", ("St1", "St2", "J1"), ("R1", "R2"), (), 0.5

    def series(self, rain, phase):
        return [f"rain {4 + h}:00 {x!r}" for h, x in enumerate(rain)] + \
               [f"tide {i // 4}:{i % 4 * 15:02} {tide(phase, i / 4)!r}" for i in range(4 * 25 + 1)]

    def observe(self, depth, flood, flow, openings, rain, phase, hour):
        return [*depth, *flood, *openings, *(rain_ahead(rain, hour + k - 4) for k in range(6)), tide(phase, hour + 1)]

    def reward(self, each):
        depth, flood, _, rain, hour = each[-1]
        if any(rain_ahead(rain, hour + k - 4) > 0 for k in range(6)):
            return -(flood[0] + flood[1] + flood[2])
        return -flood[2] - abs(depth[0] - 2.0) - abs(depth[1] - 2.0)


class Gamma(Task):
    name, nodes, flows, opening = "gamma", tuple(map(str, range(1, 12))), tuple(f"O{i}" for i in range(1, 12)), 1.0
    valves, n_steps = flows, 624

    def text(self, rain, phase):
        """The network of pystorms, with each entry of its rain scaled by what our storm has in that hour."""
        entry = r"(?m)^(DESIGN\w+\s+)(\d+)(:\d+:\d+\s+)([\d.]+)"
        package = os.path.dirname(importlib.util.find_spec("pystorms").origin)
        with open(os.path.join(package, "networks", "gamma.inp")) as file:
            network = file.read()
        hours = [0.0] * 10
        for _, hour, _, x in re.findall(entry, network):
            hours[int(hour)] += float(x)
        hours = [round(x, 6) for x in hours]
        scaled = lambda m: m[1] + m[2] + m[3] + repr(float(m[4]) * (rain[int(m[2])] / hours[int(m[2])]))
        return re.sub(entry, scaled, network)

    def observe(self, depth, flood, flow, openings, rain, phase, hour):
        return [*depth, rain_ahead(rain, hour), rain_ahead(rain, hour + 1)]

    def reward(self, each):
        total = 0.0
        for depth, flood, flow, _, hour in each:
            last, cost = hour == self.n_steps / 4 and each[-1][0] is depth, 0.0
            for i in range(len(self.nodes)):
                cost += max(flow[i] - 4.0, 0.0)
                cost += 1e6 if flood[i] > 0 else 0.0
                cost += 7e5 if last and depth[i] > 0.1 else 0.0
            total += -cost
        return total


def theirs(task, rain, phase, actions):
    """Yields (observation, reward) of each step."""
    with tempfile.TemporaryDirectory() as folder:
        path = lambda kind: os.path.join(folder, f"{task.name}.{kind}")
        with open(path("inp"), "w") as to:
            to.write(task.text(rain, phase))
        solver.swmm_open(path("inp"), path("rpt"), path("out"))
        solver.swmm_start(0)
        nodes = [solver.project_get_index(ObjectType.NODE, x) for x in task.nodes]
        valves = [solver.project_get_index(ObjectType.LINK, x) for x in task.valves]
        flows = [solver.project_get_index(ObjectType.LINK, x) for x in task.flows]

        def read():
            return ([solver.node_get_result(x, NodeResult.DEPTH) for x in nodes],
                    [solver.node_get_result(x, NodeResult.FLOOD) for x in nodes],
                    [solver.link_get_result(x, LinkResult.FLOW) for x in flows])

        elapsed = 0.0
        for x in valves:
            solver.link_set_target_setting(x, task.opening)
        yield task.observe(*read(), [task.opening] * len(valves), rain, phase, 0), None
        for t, openings in enumerate(actions):
            for x, opening in zip(valves, openings):
                solver.link_set_target_setting(x, opening)
            each, hour = [], (t + 1) / 4
            while round(elapsed * 86400000) < (t + 1) * 900000:
                elapsed = solver.swmm_step() or (t + 1) / 96  # 0 after the last one
                each.append((*read(), rain, hour))
            yield task.observe(*each[-1][:3], openings, rain, phase, hour), task.reward(each)
        solver.swmm_end()
        solver.swmm_close()


def ours(actorctl, venv, task, steps, *sets, actions="random", seed=1):
    command = [actorctl, "env", "rollout", f"stormwater:{task.name}", "--steps", str(steps), "--seed", str(seed), "--actions", actions,
               "--set", f"Actor.Python={venv}"]
    for x in sets:
        command += ["--set", f"Environment.{x}"]
    lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def episodes(lines):
    episode = []
    for line in lines:
        if "state" in line and episode:
            yield episode
            episode = []
        episode.append(line)
    yield episode


def compare(task, lines):
    """The first difference, "" where there is none."""
    for number, episode in enumerate(episodes(lines)):
        state, steps = episode[0]["state"], [x for x in episode if "reward" in x]
        replayed = theirs(task, state["rain"], state["tide"][0], [x["action"] for x in steps])
        for t, (line, (observation, reward)) in enumerate(zip(itertools.chain(episode[:1], steps), replayed)):
            if line["observation"] != [f32(x) for x in observation] or (reward is not None and line["reward"] != reward):
                return f"episode {number}, line {t}: {line} against {observation}, {reward}"
    return ""


def main(actorctl, venv):
    for task, steps, n_episodes, seeds, storms in ((Theta(), 312, 2, (1, 2), (1, 10, 20)), (Tidal(), 96, 2, (1, 2), (1, 10, 20)),
                                                   (Gamma(), Gamma.n_steps, 1, (1,), (20,))):
        for seed in seeds:
            text = compare(task, ours(actorctl, venv, task, n_episodes * steps, seed=seed))
            point(not text, f"{task.name}: random openings, seed {seed}", text)
        for storm in storms:
            text = compare(task, ours(actorctl, venv, task, steps, f"Storm={storm}", actions="zero"))
            point(not text, f"{task.name}: held-out storm {storm} with closed valves", text)
    for task, steps in ((Theta(), 312), (Gamma(), Gamma.n_steps)):
        lines = ours(actorctl, venv, task, steps, "Storms=published", "Controller=passive", actions="zero")
        performance = -sum(x["reward"] for x in lines if "reward" in x)
        point(abs(performance / PASSIVE[task.name] - 1) < 1e-5, f"{task.name}: with open orifices the published storm has the published performance",
              f"{performance}")
    print(f"1..{n}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
