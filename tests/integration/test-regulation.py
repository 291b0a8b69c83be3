#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A controller and an envelope beside a policy: verify refuses matrices that do not fit, and says why."""
from story import *
import glob, json

WRONG = (
    ("Learner.ModelB=0 1 2", "ModelB= n times m"),
    ("Learner.ControllerF=1 2", "ControllerF= m times n"),
    ("Learner.SafetySet=1 1", "SafetySet= n numbers"),
    ("Learner.Alpha=0.97", "is not below Alpha P: write 0.975992 or more"),
    ("Learner.ControllerF=0 0 0 0", "the controller does not keep the model in the envelope"),
    ("Learner.EnvelopeP=1 2 0 0  2 1 0 0  0 0 1 0  0 0 0 1", "P must be positive definite"),
    ("Learner.EnvelopeP=1 2 0 0  0 1 0 0  0 0 1 0  0 0 0 1", "P must be symmetric"),
    ("Learner.SafetySet=0.9 0 0.8 0", "the envelope reaches to 0.812616 in number 3"),
    ("Environment.BarePlant=no", "the four numbers of the bare plant: write yes"),
    ("Environment.BarePlant=", "the four numbers of the bare plant: write yes"),
    # Matrices that fit each other, but not the four numbers that the plant shows
    (("Learner.ModelA=0.5", "Learner.ModelB=1", "Learner.ControllerF=0", "Learner.EnvelopeP=1"), "need one agent, no stack, BOXes of their sizes"),
    ("Job.Environment=Pendulum-v1", "BarePlant"),
    # Four numbers of the state and one of the action: 5, and 15 products
    ("Learner.LinkEditing=1 1 1 1", "a 0 or 1 for each augmented input"),
    (("Learner.InputAugmentation=2", "Learner.LinkEditing=1 1 1 1 1"), "a 0 or 1 for each augmented input"),
    ("Learner.LinkEditing=0 0 0 0 0", "and a 1 among them"),
    ("Learner.PolicyLinkEditing=1 1 1 1 1", "PolicyLinkEditing= needs a 0 or 1 for each augmented input of the policy"),
    (("Learner.PolicyInputAugmentation=2", "Learner.PolicyLinkEditing=1 1 1 1"), "PolicyLinkEditing= needs a 0 or 1 for each"),
    ("Learner.PolicyLinkEditing=0 0 0 0", "PolicyLinkEditing= needs a 0 or 1 for each"),
    (("Job.Algorithm=ppo", "Learner.PolicyLinkEditing=1 1 1 0"), "PolicyLinkEditing"),
)


def verify(*sets):
    return ctl("verify", os.path.join(EXAMPLES, "phydrl.conf"), *set_words(*sets))


@story("verify refuses matrices that do not fit, an inequality that fails, a P that is no envelope and a plant that is not bare")
def refused():
    r = verify()
    assert r.status == 0, r.err
    for sets, words in WRONG:
        r = verify(*((sets,) if isinstance(sets, str) else sets))
        assert r.status != 0 and words in " ".join(r.err.split()), (sets, r.err)


@story("an edited policy is trained, plays, and is exported with what its first layer reads")
def edited():
    r = run("phydrl", "Job.StopSteps=100", "Evaluation.Episodes=0", "Learner.PolicyInputAugmentation=2",
            "Learner.PolicyLinkEditing=0 1 1 1  0 0 1 0  0 0 0  1 0  0")
    checkpoint = glob.glob(os.path.join(r.state_directory, "jobs", "*", "state", "*.safetensors"))[-1]
    equal(ctl("eval", checkpoint, "--episodes=2").status, 0, "status of eval")
    weights = os.path.join(STATE, "edited.safetensors")
    r = ctl("export", checkpoint, "--weights-only", "--output=" + weights)
    assert r.status == 0, r.err
    with open(weights, "rb") as f:
        tensors = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    equal((tensors["__metadata__"]["inputs"], tensors["actor.mu.0.weight"]["shape"][1]), ("1 2 3 0*2 2*2", 5), "what it reads")


@story("eval begins an episode in a given state, and one in each state of a grid, and says how many stayed in the envelope")
def starts():
    r = run("phydrl", "Job.StopSteps=100", "Learner.ResidualScale=1e-9", "Evaluation.Episodes=0")
    controller = glob.glob(os.path.join(r.state_directory, "jobs", "*", "state", "*.safetensors"))[-1]

    def starts_of(*words, checkpoint=controller):
        r = ctl("eval", checkpoint, *words, "--json=short")
        equal(r.status, 0, f"status of {words}: {r.err}")
        return r

    # The controller alone, by the published envelope: docs/experiments/phydrl.md
    r = starts_of("--grid=-0.9:0.9:40,0,-0.8:0.8:40,0", "--steps=150")
    equal((r.starts, r.began_inside, r.kept), (1600, 390, 318), "the whole grid")
    inside, outside = (next(e for e in r.episodes if e["began_inside"] and e["kept"] is kept) for kept in (True, False))
    equal((inside["steps"], inside["steps_outside"], inside["terminated"]), (150, 0, False), "a start that is kept")
    assert outside["steps_outside"] > 0 or outside["terminated"], outside
    # The same episode alone, whatever plays beside it
    for e in inside, outside:
        equal(starts_of("--state=" + ",".join(map(str, e["state"])), "--steps=150").episodes, [e], "one of them")
    # 0 is where the controller keeps it: nothing happens
    assert abs(starts_of("--state=0,0,0,0", "--steps=3").return_mean) < 1e-15

    for words, sentence in ((("--state=1,2",), "its state has 4 numbers, and 2 are given"), (("--state=1,x",), '"x" is not a number'),
                            (("--grid=1:0:3",), "LOW < HIGH"), (("--grid=0:1:1000,0:1:1000",), "more than 100000 states"),
                            (("--state=1", "--grid=1"), "cannot be used together"), (("--steps=3",), "only with --state"),
                            (("--state=0,0,0,0", "--episodes=3"), "cannot be used with --state or --grid")):
        r = ctl("eval", controller, *words)
        assert r.status == 2 and sentence in r.err, (words, r.status, r.err)


tell()
