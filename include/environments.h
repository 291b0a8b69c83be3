/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The catalogue: every environment that has a name, for programs that check, list and complete names without
 * loading one. The environments themselves say the rest through their ABI; a test compares the two. */
#pragma once

#include <stddef.h>

/* X(name, module, description, threshold, options): module "" is built into the invoker, "mujoco" is in
 * env-mujoco.so and so on; threshold is the registered return at which the task counts as solved, NAN where there
 * is none; options are the keys that its [Environment] section takes, each with its default, nothing where only what it is
 * put to can say. What a key does is in ENVIRONMENT_OPTIONS. */
#define ENVIRONMENTS(X)                                                                                  \
        X("CartPole-v0", "", "balance a pole on a cart, 200 steps", 195.0, "SuttonBartoReward=no")       \
        X("CartPole-v1", "", "balance a pole on a cart, 500 steps", 475.0, "SuttonBartoReward=no")       \
        X("Pendulum-v1", "", "swing a pendulum up and hold it", NAN, "Gravity=10")                       \
        X("Acrobot-v1", "", "swing a two-link arm above a line", -100.0, "")                             \
        X("MountainCar-v0", "", "rock a weak car up a hill", -110.0, "GoalVelocity=0")                   \
        X("MountainCarContinuous-v0", "", "rock a car uphill, paying for force", 90.0, "GoalVelocity=0") \
        X("Catch-v0", "", "see a ball fall, and catch it", NAN, "ImageSize=0")                           \
        X("phydrl-cartpole", "", "hold a pole inside a safety envelope", NAN,                            \
                        "Friction=5 ModelGain=1.2 Disturbance=0 LyapunovReward=no "                      \
                        "TerminateWhenUnsafe=no")                                                        \
        X("iot5g-discrete", "", "give a moving 5G device its resources", NAN,                            \
                        "TargetLogBER=-5 BandwidthWeight=0.5 PowerWeight=1 ShadowingStd=3")              \
        X("iot5g-continuous", "", "the same in continuous amounts", NAN,                                 \
                        "TargetLogBER=-5 BandwidthWeight=0.5 PowerWeight=1 ShadowingStd=3")              \
        X("faas", "", "scale a function among others: faas:N", NAN, "Neighbours=4 SLOSec=2")             \
        X("two-ponds", "", "keep two storm ponds from flooding", NAN, "StormScale=0 FloodWeight=10")     \
        X("Hopper-v4", "mujoco", "make a one-legged robot hop forward", 3800.0,                          \
                        "Engine=default ForwardRewardWeight=1 CtrlCostWeight=0.001 "                     \
                        "HealthyReward=1 TerminateWhenUnhealthy=yes HealthyStateMin=-100 "               \
                        "HealthyStateMax=100 HealthyZMin=0.7 HealthyZMax=inf "                           \
                        "HealthyAngleMin=-0.2 HealthyAngleMax=0.2 ResetNoiseScale=0.005 "                \
                        "ExcludeCurrentPositions=yes")                                                   \
        X("Hopper-v5", "mujoco", "make a one-legged robot hop forward", 3800.0,                          \
                        "Engine=default ForwardRewardWeight=1 CtrlCostWeight=0.001 "                     \
                        "HealthyReward=1 TerminateWhenUnhealthy=yes HealthyStateMin=-100 "               \
                        "HealthyStateMax=100 HealthyZMin=0.7 HealthyZMax=inf "                           \
                        "HealthyAngleMin=-0.2 HealthyAngleMax=0.2 ResetNoiseScale=0.005 "                \
                        "ExcludeCurrentPositions=yes")                                                   \
        X("Walker2d-v4", "mujoco", "make a two-legged robot walk forward", NAN,                          \
                        "Engine=default ForwardRewardWeight=1 CtrlCostWeight=0.001 "                     \
                        "HealthyReward=1 TerminateWhenUnhealthy=yes HealthyZMin=0.8 "                    \
                        "HealthyZMax=2 HealthyAngleMin=-1 HealthyAngleMax=1 "                            \
                        "ResetNoiseScale=0.005 ExcludeCurrentPositions=yes")                             \
        X("Walker2d-v5", "mujoco", "make a two-legged robot walk forward", NAN,                          \
                        "Engine=default ForwardRewardWeight=1 CtrlCostWeight=0.001 "                     \
                        "HealthyReward=1 TerminateWhenUnhealthy=yes HealthyZMin=0.8 "                    \
                        "HealthyZMax=2 HealthyAngleMin=-1 HealthyAngleMax=1 "                            \
                        "ResetNoiseScale=0.005 ExcludeCurrentPositions=yes")                             \
        X("HalfCheetah-v4", "mujoco", "make half a cheetah run forward", 4800.0,                         \
                        "Engine=default ForwardRewardWeight=1 CtrlCostWeight=0.1 "                       \
                        "ResetNoiseScale=0.1 ExcludeCurrentPositions=yes")                               \
        X("HalfCheetah-v5", "mujoco", "make half a cheetah run forward", 4800.0,                         \
                        "Engine=default ForwardRewardWeight=1 CtrlCostWeight=0.1 "                       \
                        "ResetNoiseScale=0.1 ExcludeCurrentPositions=yes")                               \
        X("Swimmer-v4", "mujoco", "make three links swim forward", 360.0,                                \
                        "Engine=default ForwardRewardWeight=1 CtrlCostWeight=0.0001 "                    \
                        "ResetNoiseScale=0.1 ExcludeCurrentPositions=yes")                               \
        X("Swimmer-v5", "mujoco", "make three links swim forward", 360.0,                                \
                        "Engine=default ForwardRewardWeight=1 CtrlCostWeight=0.0001 "                    \
                        "ResetNoiseScale=0.1 ExcludeCurrentPositions=yes")                               \
        X("InvertedPendulum-v4", "mujoco", "balance a pole on a motor-driven cart", 950.0,               \
                        "Engine=default")                                                                \
        X("InvertedPendulum-v5", "mujoco", "balance a pole on a motor-driven cart", 950.0,               \
                        "Engine=default ResetNoiseScale=0.01")                                           \
        X("InvertedDoublePendulum-v4", "mujoco", "balance two poles in a row on a cart", 9100.0,         \
                        "Engine=default")                                                                \
        X("InvertedDoublePendulum-v5", "mujoco", "balance two poles in a row on a cart", 9100.0,         \
                        "Engine=default HealthyReward=10 ResetNoiseScale=0.1")                           \
        X("Reacher-v4", "mujoco", "bring a two-link arm to a target", -3.75, "Engine=default")           \
        X("Reacher-v5", "mujoco", "bring a two-link arm to a target", -3.75,                             \
                        "Engine=default RewardDistWeight=1 RewardControlWeight=1")                       \
        X("Pusher-v4", "mujoco", "push an object with a seven-joint arm", 0.0, "Engine=default")         \
        X("Pusher-v5", "mujoco", "push an object with a seven-joint arm", 0.0,                           \
                        "Engine=default RewardNearWeight=0.5 RewardDistWeight=1 "                        \
                        "RewardControlWeight=0.1")                                                       \
        X("Ant-v4", "mujoco", "make a four-legged robot walk forward", 6000.0,                           \
                        "Engine=default UseContactForces=no CtrlCostWeight=0.5 "                         \
                        "ContactCostWeight=5e-4 ContactForceMin=-1 ContactForceMax=1 "                   \
                        "HealthyReward=1 TerminateWhenUnhealthy=yes HealthyZMin=0.2 "                    \
                        "HealthyZMax=1 ResetNoiseScale=0.1 ExcludeCurrentPositions=yes")                 \
        X("Ant-v5", "mujoco", "make a four-legged robot walk forward", 6000.0,                           \
                        "Engine=default CtrlCostWeight=0.5 ContactCostWeight=5e-4 "                      \
                        "ContactForceMin=-1 ContactForceMax=1 HealthyReward=1 "                          \
                        "TerminateWhenUnhealthy=yes HealthyZMin=0.2 HealthyZMax=1 "                      \
                        "ResetNoiseScale=0.1 ExcludeCurrentPositions=yes ForwardRewardWeight=1 "         \
                        "IncludeCfrcExt=yes")                                                            \
        X("Humanoid-v4", "mujoco", "make a humanoid walk forward", NAN,                                  \
                        "Engine=default ForwardRewardWeight=1.25 CtrlCostWeight=0.1 "                    \
                        "HealthyReward=5 TerminateWhenUnhealthy=yes HealthyZMin=1 HealthyZMax=2 "        \
                        "ResetNoiseScale=0.01 ExcludeCurrentPositions=yes")                              \
        X("Humanoid-v5", "mujoco", "make a humanoid walk forward", NAN,                                  \
                        "Engine=default ForwardRewardWeight=1.25 CtrlCostWeight=0.1 "                    \
                        "HealthyReward=5 TerminateWhenUnhealthy=yes HealthyZMin=1 HealthyZMax=2 "        \
                        "ResetNoiseScale=0.01 ExcludeCurrentPositions=yes ContactCostWeight=5e-7 "       \
                        "ContactCostMin=-inf ContactCostMax=10 IncludeCinert=yes IncludeCvel=yes "       \
                        "IncludeQfrcActuator=yes IncludeCfrcExt=yes")                                    \
        X("HumanoidStandup-v4", "mujoco", "make a humanoid get up from lying", NAN, "Engine=default")    \
        X("HumanoidStandup-v5", "mujoco", "make a humanoid get up from lying", NAN,                      \
                        "Engine=default UphCostWeight=1 CtrlCostWeight=0.1 ImpactCostWeight=5e-7 "       \
                        "ImpactCostMin=-inf ImpactCostMax=10 ResetNoiseScale=0.01 "                      \
                        "ExcludeCurrentPositions=yes IncludeCinert=yes IncludeCvel=yes "                 \
                        "IncludeQfrcActuator=yes IncludeCfrcExt=yes")                                    \
        X("LunarLander-v3", "box2d", "land a craft on a pad, four engines", 200.0,                       \
                        "Gravity=-10 EnableWind=no WindPower=15 TurbulencePower=1.5")                    \
        X("LunarLanderContinuous-v3", "box2d", "land a craft on a pad by throttle", 200.0,               \
                        "Gravity=-10 EnableWind=no WindPower=15 TurbulencePower=1.5")                    \
        X("BipedalWalker-v3", "box2d", "make a two-legged hull walk", 300.0, "")                         \
        X("BipedalWalkerHardcore-v3", "box2d", "walk over stumps and pits", 300.0, "")                   \
        X("stormwater:theta", ENVIRONMENT_SWMM, "keep two ponds and a stream low", NAN,                  \
                        "Storms=random Storm=0 Controller=agent Actions=openings Forecast=yes "          \
                        "FloodWeight=1e6")                                                               \
        X("stormwater:tidal", ENVIRONMENT_SWMM, "hold two ponds above a tide", NAN,                      \
                        "Storms=random Storm=0 Controller=agent Actions=openings Forecast=yes")

/* Environment=gym:ID is any environment of Gymnasium (env-gym.so), gym:MODULE:ID one that MODULE registers; its [Environment] section has the
 * keyword arguments of gymnasium.make() and this one key of ours. */
#define ENVIRONMENT_GYM_PREFIX "gym:"
#define GYM_OPTIONS            "Wrappers="

/* The module whose engine, EPA SWMM, comes with a Python package: out of the directory of Python=, too, and inside of the sandbox. */
#define ENVIRONMENT_SWMM "swmm"

/* Environment=job:FILE trains what decides over another job (env-job.so): its row is not in the list, since it has no name of its own. */
#define ENVIRONMENT_JOB_PREFIX "job:"
#define JOB_BETA_DEFAULT       0.1 /* of a second on the emulated clock */
#define JOB_TARGET_MAX         1e300
#define JOB_ROUNDS_DEFAULT     50
#define JOB_ROUNDS_MAX         1048576 /* as RolloutSteps= */
#define JOB_EPISODES_DEFAULT   5 /* evaluations after each round; 0: its training episodes say how it does */
#define JOB_EPISODES_MAX       10000
#define JOB_OPTIONS \
        "Beta=" JOB_TEXT(JOB_BETA_DEFAULT) " Target= Rounds=" JOB_TEXT(JOB_ROUNDS_DEFAULT) " Episodes="
#define JOB_TEXT(number)    JOB_TEXT_OF(number) /* what the name stands for, not the name */
#define JOB_TEXT_OF(number) #number

/* Environment=mujoco:FILE.xml is a model of a user's own, in MuJoCo's format (env-mujoco.so); what it is for, its options say. */
#define ENVIRONMENT_MJCF_PREFIX "mujoco:"
#define MJCF_OPTIONS \
        "Engine=default Reward= Terminate= RewardPlugin= FrameSkip=1 Horizon=1000 ResetNoise=0.01 SkipPositions=0 VelocityClip=inf"
#define MJCF_REWARD_KEY    "Reward"
#define MJCF_TERMINATE_KEY "Terminate"
#define MJCF_PLUGIN_KEY    "RewardPlugin"

/* Environment=faas:N is faas with N others on its node, which Neighbours=N says as well. */
#define ENVIRONMENT_FAAS        "faas"
#define ENVIRONMENT_FAAS_PREFIX "faas:"
#define FAAS_NEIGHBOURS_KEY     "Neighbours"
#define FAAS_NEIGHBOURS_MAX     15

/* The option by which an environment runs on one release of its engine: env-MODULE-RELEASE.so beside env-MODULE.so, the default. */
#define ENGINE_KEY             "Engine"
#define ENGINE_DEFAULT         "default"
#define ENGINE_MAX             32
#define ENVIRONMENT_MODULE_MAX 64

/* X(key, help): what a key of [Environment] does, wherever one takes it; `actorctl env show` prints it within 80 columns. */
#define ENVIRONMENT_OPTIONS(X)                                                 \
        X("SuttonBartoReward", "-1 at a fall and 0 before, not 1 a step")      \
        X("Gravity", "acceleration of gravity, m/s2")                          \
        X("GoalVelocity", "least velocity at the goal; cars reach 0.07")       \
        X("ImageSize", "side of the image in pixels; 0: 10 by 5")              \
        X("Friction", "viscous friction of the cart, N s/m")                   \
        X("ModelGain", "weight of the model-based controller; 0: off")         \
        X("Disturbance", "how far both accelerations may be disturbed")        \
        X("LyapunovReward", "pay the fall of s' P s, the paper's baseline")    \
        X("TerminateWhenUnsafe", "end outside |x| <= 0.9, |theta| <= 0.8")     \
        X("TargetLogBER", "log10 of the bit error rate to hold")               \
        X("BandwidthWeight", "cost of the whole bandwidth for a step")         \
        X("PowerWeight", "cost of full power for a step")                      \
        X("ShadowingStd", "standard deviation of the shadowing, dB")           \
        X("Neighbours", "other functions on its node; faas:N says so, too")    \
        X("SLOSec", "latency that is promised, s")                             \
        X("StormScale", "times the published rain; 0: drawn, 0.5 to 2")        \
        X("FloodWeight", "cost of a flooding pond for a step")                 \
        X("Engine", "release of MuJoCo, of the engines above")                 \
        X("ForwardRewardWeight", "reward for each m/s forward")                \
        X("CtrlCostWeight", "cost of the squares of the controls")             \
        X("HealthyReward", "reward for each healthy step")                     \
        X("TerminateWhenUnhealthy", "end the episode when no longer healthy")  \
        X("HealthyStateMin", "least healthy angle or velocity")                \
        X("HealthyStateMax", "greatest healthy angle or velocity")             \
        X("HealthyZMin", "least healthy height of the torso, m")               \
        X("HealthyZMax", "greatest healthy height of the torso, m")            \
        X("HealthyAngleMin", "least healthy angle of the torso, rad")          \
        X("HealthyAngleMax", "greatest healthy angle of the torso, rad")       \
        X("ResetNoiseScale", "noise on positions and velocities at reset")     \
        X("ExcludeCurrentPositions", "do not observe its place on the ground") \
        X("UseContactForces", "contacts cost, and are observed")               \
        X("ContactCostWeight", "cost of the squares of contact forces")        \
        X("ContactForceMin", "lower contact forces count as this")             \
        X("ContactForceMax", "higher contact forces count as this")            \
        X("ContactCostMin", "least cost of a step's contacts")                 \
        X("ContactCostMax", "greatest cost of a step's contacts")              \
        X("ImpactCostWeight", "cost of the squares of contact forces")         \
        X("ImpactCostMin", "least cost of a step's contacts")                  \
        X("ImpactCostMax", "greatest cost of a step's contacts")               \
        X("UphCostWeight", "reward for height by the timestep, m/s")           \
        X("IncludeCinert", "observe each body's mass and inertia")             \
        X("IncludeCvel", "observe each body's velocity")                       \
        X("IncludeQfrcActuator", "observe the motors' forces on the joints")   \
        X("IncludeCfrcExt", "observe contact forces on each body")             \
        X("RewardNearWeight", "cost of each m from hand to object")            \
        X("RewardDistWeight", "cost of each m to the goal")                    \
        X("RewardControlWeight", "cost of the squares of the controls")        \
        X("EnableWind", "a wind pushes and turns the craft")                   \
        X("WindPower", "greatest force of the wind, N")                        \
        X("TurbulencePower", "greatest torque of the wind, N m")               \
        X("Storms", "random, held-out or published")                           \
        X("Storm", "1 to 20: this held-out storm; 0: as Storms= says")         \
        X("Controller", "agent, passive (all open) or rules")                  \
        X("Actions", "openings, in [0, 1], or fine, in [-1, 1]")               \
        X("Forecast", "observe what is forecast, too")                         \
        X("Wrappers", "Gymnasium's wrappers, the innermost first")             \
        X("Beta", "cost of a second on the emulated clock")                    \
        X("Target", "return to reach; unset: the inner job's own")             \
        X("Rounds", "a run ends after this many")                              \
        X("Episodes", "evaluations a round; unset: the inner job's, or 5")     \
        X("Reward", "what a step pays: terms, see job.conf(5)")                \
        X("Terminate", "when an episode ends: terms, see job.conf(5)")         \
        X("RewardPlugin", "a shared object beside the model that pays, too")   \
        X("FrameSkip", "the model's own steps in one of the task")             \
        X("Horizon", "steps of an episode; 0: no limit")                       \
        X("ResetNoise", "greatest noise on the state at a reset, uniform")     \
        X("SkipPositions", "first positions that are not observed")            \
        X("VelocityClip", "velocities are observed within this")

typedef struct EnvironmentRow {
        const char *name;
        const char *module; /* "": built in */
        const char *description;
        double threshold;    /* NAN: none */
        const char *options; /* KEY=DEFAULT, separated by single spaces */
} EnvironmentRow;
