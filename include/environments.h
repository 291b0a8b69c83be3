/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The catalogue: every environment that has a name. It is for programs that check, list and complete names
 * without loading an environment. All other facts come from the environments themselves, through their ABI.
 * A test compares the catalogue with the environments. */
#pragma once

#include <stddef.h>

#include "include/environment-options.h"

/* X(name, module, description, threshold, options): module: "" is built into the invoker, "mujoco" is in
 * env-mujoco.so, and so on. threshold: the registered return at which the task counts as solved; NAN: there
 * is none. options: the keys of its [Environment] section, each with its default. A default is empty if it
 * depends on the rest of the job. include/environment-options.h has the rows. */
/* clang-format off */
#define OPTION_TEXT(key, kind, member, low, high, fallback) #key "=" fallback " "
#define ENGINE_TEXT ENGINE_KEY "=" ENGINE_DEFAULT " "
#define ENVIRONMENTS(X)                                                                                  \
        X("CartPole-v0", "", "balance a pole on a cart, 200 steps", 195.0,                               \
                        CARTPOLE_OPTIONS(OPTION_TEXT))                                                   \
        X("CartPole-v1", "", "balance a pole on a cart, 500 steps", 475.0,                               \
                        CARTPOLE_OPTIONS(OPTION_TEXT))                                                   \
        X("Pendulum-v1", "", "swing a pendulum up and hold it", NAN, PENDULUM_OPTIONS(OPTION_TEXT))      \
        X("Acrobot-v1", "", "swing a two-link arm above a line", -100.0, "")                             \
        X("MountainCar-v0", "", "rock a weak car up a hill", -110.0, MOUNTAINCAR_OPTIONS(OPTION_TEXT))   \
        X("MountainCarContinuous-v0", "", "rock a weak car uphill; force costs", 90.0,                   \
                        MOUNTAINCAR_OPTIONS(OPTION_TEXT))                                                \
        X("Catch-v0", "", "see a ball fall, and catch it", NAN, CATCH_OPTIONS(OPTION_TEXT))              \
        X("phydrl-cartpole", "", "hold a pole inside a safety envelope", NAN,                            \
                        PHYDRL_CARTPOLE_OPTIONS(OPTION_TEXT))                                            \
        X("iot5g-discrete", "", "allot resources to a moving 5G device", NAN,                            \
                        IOT5G_OPTIONS(OPTION_TEXT))                                                      \
        X("iot5g-continuous", "", "the same in continuous amounts", NAN, IOT5G_OPTIONS(OPTION_TEXT))     \
        X("faas", "", "scale a function among others: faas:N", NAN, FAAS_OPTIONS(OPTION_TEXT))           \
        X("shares", "", "trade CPUs among jobs: shares:N", NAN, SHARES_OPTIONS(OPTION_TEXT))            \
        X("two-ponds", "", "keep two storm ponds from flooding", NAN, TWO_PONDS_OPTIONS(OPTION_TEXT))    \
        X("Hopper-v4", "mujoco", "make a one-legged robot hop forward", 3800.0,                          \
                        ENGINE_TEXT HOPPER_OPTIONS(OPTION_TEXT))                                         \
        X("Hopper-v5", "mujoco", "make a one-legged robot hop forward", 3800.0,                          \
                        ENGINE_TEXT HOPPER_OPTIONS(OPTION_TEXT))                                         \
        X("Walker2d-v4", "mujoco", "make a two-legged robot walk forward", NAN,                          \
                        ENGINE_TEXT WALKER2D_OPTIONS(OPTION_TEXT))                                       \
        X("Walker2d-v5", "mujoco", "make a two-legged robot walk forward", NAN,                          \
                        ENGINE_TEXT WALKER2D_OPTIONS(OPTION_TEXT))                                       \
        X("HalfCheetah-v4", "mujoco", "make half a cheetah run forward", 4800.0,                         \
                        ENGINE_TEXT HALFCHEETAH_OPTIONS(OPTION_TEXT))                                    \
        X("HalfCheetah-v5", "mujoco", "make half a cheetah run forward", 4800.0,                         \
                        ENGINE_TEXT HALFCHEETAH_OPTIONS(OPTION_TEXT))                                    \
        X("Swimmer-v4", "mujoco", "make three links swim forward", 360.0,                                \
                        ENGINE_TEXT SWIMMER_OPTIONS(OPTION_TEXT))                                        \
        X("Swimmer-v5", "mujoco", "make three links swim forward", 360.0,                                \
                        ENGINE_TEXT SWIMMER_OPTIONS(OPTION_TEXT))                                        \
        X("InvertedPendulum-v4", "mujoco", "balance a pole on a motor-driven cart", 950.0, ENGINE_TEXT)  \
        X("InvertedPendulum-v5", "mujoco", "balance a pole on a motor-driven cart", 950.0,               \
                        ENGINE_TEXT INVERTEDPENDULUM_V5_OPTIONS(OPTION_TEXT))                            \
        X("InvertedDoublePendulum-v4", "mujoco", "balance two poles in a row on a cart", 9100.0,         \
                        ENGINE_TEXT)                                                                     \
        X("InvertedDoublePendulum-v5", "mujoco", "balance two poles in a row on a cart", 9100.0,         \
                        ENGINE_TEXT INVERTEDDOUBLEPENDULUM_V5_OPTIONS(OPTION_TEXT))                      \
        X("Reacher-v4", "mujoco", "bring a two-link arm to a target", -3.75, ENGINE_TEXT)                \
        X("Reacher-v5", "mujoco", "bring a two-link arm to a target", -3.75,                             \
                        ENGINE_TEXT REACHER_V5_OPTIONS(OPTION_TEXT))                                     \
        X("Pusher-v4", "mujoco", "push an object with a seven-joint arm", 0.0, ENGINE_TEXT)              \
        X("Pusher-v5", "mujoco", "push an object with a seven-joint arm", 0.0,                           \
                        ENGINE_TEXT PUSHER_V5_OPTIONS(OPTION_TEXT))                                      \
        X("Ant-v4", "mujoco", "make a four-legged robot walk forward", 6000.0,                           \
                        ENGINE_TEXT ANT_V4_OPTIONS(OPTION_TEXT))                                         \
        X("Ant-v5", "mujoco", "make a four-legged robot walk forward", 6000.0,                           \
                        ENGINE_TEXT ANT_V5_OPTIONS(OPTION_TEXT))                                         \
        X("Humanoid-v4", "mujoco", "make a humanoid walk forward", NAN,                                  \
                        ENGINE_TEXT HUMANOID_OPTIONS(OPTION_TEXT))                                       \
        X("Humanoid-v5", "mujoco", "make a humanoid walk forward", NAN,                                  \
                        ENGINE_TEXT HUMANOID_OPTIONS(OPTION_TEXT) HUMANOID_ONLY_V5_OPTIONS(OPTION_TEXT)) \
        X("HumanoidStandup-v4", "mujoco", "make a humanoid get up from lying", NAN, ENGINE_TEXT)         \
        X("HumanoidStandup-v5", "mujoco", "make a humanoid get up from lying", NAN,                      \
                        ENGINE_TEXT HUMANOIDSTANDUP_V5_OPTIONS(OPTION_TEXT))                             \
        X("LunarLander-v3", "box2d", "land a craft on a pad, four engines", 200.0,                       \
                        LUNARLANDER_OPTIONS(OPTION_TEXT))                                                \
        X("LunarLanderContinuous-v3", "box2d", "land a craft on a pad by throttle", 200.0,               \
                        LUNARLANDER_OPTIONS(OPTION_TEXT))                                                \
        X("BipedalWalker-v3", "box2d", "make a two-legged hull walk", 300.0, "")                         \
        X("BipedalWalkerHardcore-v3", "box2d", "walk over stumps and pits", 300.0, "")                   \
        X("stormwater:theta", ENVIRONMENT_SWMM, "keep two ponds and a stream low", NAN,                  \
                        STORMWATER_THETA_OPTIONS(OPTION_TEXT))                                           \
        X("stormwater:tidal", ENVIRONMENT_SWMM, "hold two ponds above a tide", NAN,                      \
                        STORMWATER_OPTIONS(OPTION_TEXT))                                                 \
        X("stormwater:gamma", ENVIRONMENT_SWMM, "empty eleven ponds slowly, in a tree", NAN,             \
                        STORMWATER_GAMMA_OPTIONS(OPTION_TEXT))
/* clang-format on */

/* Environment=gym:ID is any environment of Gymnasium (env-gym.so), and gym:MODULE:ID is one that MODULE
 * registers. Its [Environment] section has the keyword arguments of gymnasium.make(), and one key of
 * actord's own. */
#define ENVIRONMENT_GYM_PREFIX "gym:"
#define GYM_OPTIONS            "Wrappers="

/* Environment=pettingzoo:MODULE is an environment of several agents, which parallel_env() of the module
 * makes (through env-gym.so, too). Its [Environment] section has the keyword arguments. */
#define ENVIRONMENT_PETTINGZOO_PREFIX "pettingzoo:"

/* The module of EPA SWMM, whose engine comes in a Python package. The engine is loaded inside of the
 * sandbox, from the directory of Python= if the job has one. */
#define ENVIRONMENT_SWMM "swmm"

/* Environment=job:FILE trains a scheduler for another job (env-job.so). The list of environments has no row
 * for it, since its name differs from job to job. */
#define ENVIRONMENT_JOB_PREFIX "job:"
#define JOB_BETA_DEFAULT       0.1 /* for each second on the emulated clock */
#define JOB_TARGET_MAX         1e300
#define JOB_ROUNDS_DEFAULT     50
#define JOB_ROUNDS_MAX         1048576 /* the same limit as for RolloutSteps= */
/* evaluation episodes of the inner job after each of its rounds; 0: its training episodes show how good its
 * policy is */
#define JOB_EPISODES_DEFAULT 5
#define JOB_EPISODES_MAX     10000
#define JOB_OPTIONS          JOB_NUMBER_OPTIONS(OPTION_TEXT)
#define JOB_TEXT(number)     JOB_TEXT_OF(number) /* expands `number` before it is quoted */
#define JOB_TEXT_OF(number)  #number

/* Environment=mujoco:FILE.xml is a user's own model, in MuJoCo's format (env-mujoco.so); its options define
 * the task. */
#define ENVIRONMENT_MJCF_PREFIX "mujoco:"
#define MJCF_TEXTS              "Reward= Terminate= RewardPlugin= "
#define MJCF_OPTIONS            ENGINE_TEXT MJCF_TEXTS MJCF_NUMBER_OPTIONS(OPTION_TEXT)
#define MJCF_REWARD_KEY         "Reward"
#define MJCF_TERMINATE_KEY      "Terminate"
#define MJCF_PLUGIN_KEY         "RewardPlugin"

#define FAAS_NEIGHBOURS_MAX 15
#define SHARES_JOBS_MIN     1
#define SHARES_JOBS_MAX     16

/* Environments whose names may end in a number. X(name, key, least, most, what): Environment=name:N is the
 * same as KEY=N. */
#define ENVIRONMENT_NUMBERS(X)                                             \
        X("faas", "Neighbours", 0, FAAS_NEIGHBOURS_MAX, "other functions") \
        X("shares", "Jobs", SHARES_JOBS_MIN, SHARES_JOBS_MAX, "jobs")

/* The option that chooses a release of an environment's engine: env-MODULE-RELEASE.so beside env-MODULE.so,
 * the default. */
#define ENGINE_KEY             "Engine"
#define ENGINE_DEFAULT         "default"
#define ENGINE_MAX             32
#define ENVIRONMENT_MODULE_MAX 64

/* X(key, help): the meaning of a key of [Environment], for all environments that have it. `actorctl env
 * show` prints it within 80 columns. */
#define ENVIRONMENT_OPTIONS(X)                                                 \
        X("SuttonBartoReward", "reward: -1 at a fall, 0 before it")            \
        X("Gravity", "acceleration of gravity, m/s2")                          \
        X("GoalVelocity", "least velocity at the goal; cars reach 0.07")       \
        X("ImageSize", "side of the image in pixels; 0: 10 by 5")              \
        X("Friction", "viscous friction of the cart, N s/m")                   \
        X("ModelGain", "weight of the model-based controller; 0: off")         \
        X("Disturbance", "how far both accelerations may be disturbed")        \
        X("LyapunovReward", "reward the fall of s' P s, as a baseline")        \
        X("TerminateWhenUnsafe", "end outside |x| <= 0.9, |theta| <= 0.8")     \
        X("BarePlant", "observe the state; the action is the force, N")        \
        X("TargetLogBER", "log10 of the bit error rate to hold")               \
        X("BandwidthWeight", "cost of the whole bandwidth for a step")         \
        X("PowerWeight", "cost of full power for a step")                      \
        X("ShadowingStd", "standard deviation of the shadowing, dB")           \
        X("Agents", "functions or jobs that the policy runs")                  \
        X("Neighbours", "other functions on its node; faas:N says so, too")    \
        X("SLOSec", "promised latency, s")                                     \
        X("Cores", "cores of the node; faas, 0: 6 for each function")          \
        X("Stay", "mean steps until an agent leaves or joins; 0: never")       \
        X("Jobs", "jobs on the host; shares:N says so, too")                   \
        X("WeightPrice", "cost of a job's weight")                             \
        X("Pause", "mean steps from a job's end to the next job")              \
        X("StormScale", "factor on the published rain; 0: drawn, 0.5 to 2")    \
        X("FloodWeight", "cost of a flooding pond for a step")                 \
        X("LeftWeight", "cost of a pond that is not empty at the end")         \
        X("Engine", "release of MuJoCo, one of those above")                   \
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
        X("ContactForceMin", "lower bound on contact forces")                  \
        X("ContactForceMax", "upper bound on contact forces")                  \
        X("ContactCostMin", "least cost of a step's contacts")                 \
        X("ContactCostMax", "greatest cost of a step's contacts")              \
        X("ImpactCostWeight", "cost of the squares of contact forces")         \
        X("ImpactCostMin", "least cost of a step's contacts")                  \
        X("ImpactCostMax", "greatest cost of a step's contacts")               \
        X("UphCostWeight", "reward for each m/s of height over timestep")      \
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
        X("Actions", "openings, in [0, 1]; fine or centred, in [-1, 1]")       \
        X("Forecast", "observe the forecast, too")                             \
        X("RewardScale", "factor of the reward")                               \
        X("Wrappers", "wrappers of Gymnasium, the innermost first")            \
        X("Beta", "cost of a second on the emulated clock")                    \
        X("Target", "return to reach; unset: the inner job's own")             \
        X("Rounds", "rounds after which a run ends")                           \
        X("Episodes", "evaluations a round; unset: the inner job's, or 5")     \
        X("Reward", "reward of a step: terms, see job.conf(5)")                \
        X("Terminate", "when an episode ends: terms, see job.conf(5)")         \
        X("RewardPlugin", "shared object beside it that adds rewards")         \
        X("FrameSkip", "steps of the model in one step of the task")           \
        X("Horizon", "steps of an episode; 0: no limit")                       \
        X("ResetNoise", "greatest noise on the state at a reset, uniform")     \
        X("SkipPositions", "how many first positions are not observed")        \
        X("VelocityClip", "bound on observed velocities")

typedef struct EnvironmentRow {
        const char *name;
        const char *module; /* "": it is built in */
        const char *description;
        double threshold;    /* NAN: there is none */
        const char *options; /* KEY=DEFAULT, separated by single spaces */
} EnvironmentRow;
