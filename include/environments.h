/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The catalogue: every environment that has a name, for programs that check, list and complete names without
 * loading one. The environments themselves say the rest through their ABI; a test compares the two. */
#pragma once

#include <stddef.h>

/* X(name, module, description, threshold, options): module "" is built into the invoker, "mujoco" is in
 * env-mujoco.so and so on; threshold is the registered return at which the task counts as solved, NAN where there
 * is none; options are the keys that its [Environment] section takes. */
#define ENVIRONMENTS(X)                                                                                    \
        X("CartPole-v0", "", "balance a pole on a cart, 200 steps", 195.0, "SuttonBartoReward")            \
        X("CartPole-v1", "", "balance a pole on a cart, 500 steps", 475.0, "SuttonBartoReward")            \
        X("Pendulum-v1", "", "swing a pendulum up and hold it", NAN, "Gravity")                            \
        X("Acrobot-v1", "", "swing a two-link arm above a line", -100.0, "")                               \
        X("MountainCar-v0", "", "rock a weak car up a hill", -110.0, "GoalVelocity")                       \
        X("MountainCarContinuous-v0", "", "rock a car uphill, paying for force", 90.0, "GoalVelocity")     \
        X("Catch-v0", "", "see a ball fall, and catch it", NAN, "ImageSize")                               \
        X("phydrl-cartpole", "", "hold a pole inside a safety envelope", NAN,                              \
                        "Friction ModelGain Disturbance LyapunovReward TerminateWhenUnsafe")               \
        X("iot5g-discrete", "", "give a moving 5G device its resources", NAN,                              \
                        "TargetLogBER BandwidthWeight PowerWeight ShadowingStd")                           \
        X("iot5g-continuous", "", "the same in continuous amounts", NAN,                                   \
                        "TargetLogBER BandwidthWeight PowerWeight ShadowingStd")                           \
        X("faas", "", "scale a function among others: faas:N", NAN, "Neighbours SLOSec")                   \
        X("two-ponds", "", "keep two storm ponds from flooding", NAN, "StormScale FloodWeight")            \
        X("Hopper-v4", "mujoco", "make a one-legged robot hop forward", 3800.0,                            \
                        "Engine ForwardRewardWeight CtrlCostWeight HealthyReward "                         \
                        "TerminateWhenUnhealthy HealthyStateMin HealthyStateMax HealthyZMin "              \
                        "HealthyZMax HealthyAngleMin HealthyAngleMax ResetNoiseScale "                     \
                        "ExcludeCurrentPositions")                                                         \
        X("Hopper-v5", "mujoco", "make a one-legged robot hop forward", 3800.0,                            \
                        "Engine ForwardRewardWeight CtrlCostWeight HealthyReward "                         \
                        "TerminateWhenUnhealthy HealthyStateMin HealthyStateMax HealthyZMin "              \
                        "HealthyZMax HealthyAngleMin HealthyAngleMax ResetNoiseScale "                     \
                        "ExcludeCurrentPositions")                                                         \
        X("Walker2d-v4", "mujoco", "make a two-legged robot walk forward", NAN,                            \
                        "Engine ForwardRewardWeight CtrlCostWeight HealthyReward "                         \
                        "TerminateWhenUnhealthy HealthyZMin HealthyZMax HealthyAngleMin "                  \
                        "HealthyAngleMax ResetNoiseScale ExcludeCurrentPositions")                         \
        X("Walker2d-v5", "mujoco", "make a two-legged robot walk forward", NAN,                            \
                        "Engine ForwardRewardWeight CtrlCostWeight HealthyReward "                         \
                        "TerminateWhenUnhealthy HealthyZMin HealthyZMax HealthyAngleMin "                  \
                        "HealthyAngleMax ResetNoiseScale ExcludeCurrentPositions")                         \
        X("HalfCheetah-v4", "mujoco", "make half a cheetah run forward", 4800.0,                           \
                        "Engine ForwardRewardWeight CtrlCostWeight ResetNoiseScale "                       \
                        "ExcludeCurrentPositions")                                                         \
        X("HalfCheetah-v5", "mujoco", "make half a cheetah run forward", 4800.0,                           \
                        "Engine ForwardRewardWeight CtrlCostWeight ResetNoiseScale "                       \
                        "ExcludeCurrentPositions")                                                         \
        X("Swimmer-v4", "mujoco", "make three links swim forward", 360.0,                                  \
                        "Engine ForwardRewardWeight CtrlCostWeight ResetNoiseScale "                       \
                        "ExcludeCurrentPositions")                                                         \
        X("Swimmer-v5", "mujoco", "make three links swim forward", 360.0,                                  \
                        "Engine ForwardRewardWeight CtrlCostWeight ResetNoiseScale "                       \
                        "ExcludeCurrentPositions")                                                         \
        X("InvertedPendulum-v4", "mujoco", "balance a pole on a motor-driven cart", 950.0, "Engine")       \
        X("InvertedPendulum-v5", "mujoco", "balance a pole on a motor-driven cart", 950.0,                 \
                        "Engine ResetNoiseScale")                                                          \
        X("InvertedDoublePendulum-v4", "mujoco", "balance two poles in a row on a cart", 9100.0, "Engine") \
        X("InvertedDoublePendulum-v5", "mujoco", "balance two poles in a row on a cart", 9100.0,           \
                        "Engine HealthyReward ResetNoiseScale")                                            \
        X("Reacher-v4", "mujoco", "bring a two-link arm to a target", -3.75, "Engine")                     \
        X("Reacher-v5", "mujoco", "bring a two-link arm to a target", -3.75,                               \
                        "Engine RewardDistWeight RewardControlWeight")                                     \
        X("Pusher-v4", "mujoco", "push an object with a seven-joint arm", 0.0, "Engine")                   \
        X("Pusher-v5", "mujoco", "push an object with a seven-joint arm", 0.0,                             \
                        "Engine RewardNearWeight RewardDistWeight RewardControlWeight")                    \
        X("Ant-v4", "mujoco", "make a four-legged robot walk forward", 6000.0,                             \
                        "Engine UseContactForces CtrlCostWeight ContactCostWeight ContactForceMin "        \
                        "ContactForceMax HealthyReward TerminateWhenUnhealthy HealthyZMin "                \
                        "HealthyZMax ResetNoiseScale ExcludeCurrentPositions")                             \
        X("Ant-v5", "mujoco", "make a four-legged robot walk forward", 6000.0,                             \
                        "Engine CtrlCostWeight ContactCostWeight ContactForceMin ContactForceMax "         \
                        "HealthyReward TerminateWhenUnhealthy HealthyZMin HealthyZMax "                    \
                        "ResetNoiseScale ExcludeCurrentPositions ForwardRewardWeight "                     \
                        "IncludeCfrcExt")                                                                  \
        X("Humanoid-v4", "mujoco", "make a humanoid walk forward", NAN,                                    \
                        "Engine ForwardRewardWeight CtrlCostWeight HealthyReward "                         \
                        "TerminateWhenUnhealthy HealthyZMin HealthyZMax ResetNoiseScale "                  \
                        "ExcludeCurrentPositions")                                                         \
        X("Humanoid-v5", "mujoco", "make a humanoid walk forward", NAN,                                    \
                        "Engine ForwardRewardWeight CtrlCostWeight HealthyReward "                         \
                        "TerminateWhenUnhealthy HealthyZMin HealthyZMax ResetNoiseScale "                  \
                        "ExcludeCurrentPositions ContactCostWeight ContactCostMin ContactCostMax "         \
                        "IncludeCinert IncludeCvel "                                                       \
                        "IncludeQfrcActuator IncludeCfrcExt")                                              \
        X("HumanoidStandup-v4", "mujoco", "make a humanoid get up from lying", NAN, "Engine")              \
        X("HumanoidStandup-v5", "mujoco", "make a humanoid get up from lying", NAN,                        \
                        "Engine UphCostWeight CtrlCostWeight ImpactCostWeight ImpactCostMin "              \
                        "ImpactCostMax ResetNoiseScale ExcludeCurrentPositions "                           \
                        "IncludeCinert IncludeCvel "                                                       \
                        "IncludeQfrcActuator IncludeCfrcExt")                                              \
        X("LunarLander-v3", "box2d", "land a craft on a pad, four engines", 200.0,                         \
                        "Gravity EnableWind WindPower TurbulencePower")                                    \
        X("LunarLanderContinuous-v3", "box2d", "land a craft on a pad by throttle", 200.0,                 \
                        "Gravity EnableWind WindPower TurbulencePower")                                    \
        X("BipedalWalker-v3", "box2d", "make a two-legged hull walk", 300.0, "")                           \
        X("BipedalWalkerHardcore-v3", "box2d", "walk over stumps and pits", 300.0, "")                     \
        X("stormwater:theta", ENVIRONMENT_SWMM, "keep two ponds and a stream low", NAN,                    \
                        "Storms Storm Controller Actions Forecast FloodWeight")                            \
        X("stormwater:tidal", ENVIRONMENT_SWMM, "hold two ponds above a tide", NAN,                        \
                        "Storms Storm Controller Actions Forecast")

/* Environment=gym:ID is any environment of Gymnasium (env-gym.so), gym:MODULE:ID one that MODULE registers; its [Environment] section has the
 * keyword arguments of gymnasium.make() and this one key of ours. */
#define ENVIRONMENT_GYM_PREFIX "gym:"
#define GYM_OPTIONS            "Wrappers"

/* The module whose engine, EPA SWMM, comes with a Python package: out of the directory of Python=, too, and inside of the sandbox. */
#define ENVIRONMENT_SWMM "swmm"

/* Environment=job:FILE trains what decides over another job (env-job.so): its row is not in the list, since it has no name of its own. */
#define ENVIRONMENT_JOB_PREFIX "job:"
#define JOB_OPTIONS            "Beta Target Rounds Episodes"
#define JOB_BETA_DEFAULT       0.1 /* of a second on the emulated clock */
#define JOB_ROUNDS_DEFAULT     50
#define JOB_ROUNDS_MAX         1048576 /* as RolloutSteps= */
#define JOB_EPISODES_DEFAULT   5 /* evaluations after each round; 0: its training episodes say how it does */
#define JOB_EPISODES_MAX       10000

/* Environment=mujoco:FILE.xml is a model of a user's own, in MuJoCo's format (env-mujoco.so); what it is for, its options say. */
#define ENVIRONMENT_MJCF_PREFIX "mujoco:"
#define MJCF_OPTIONS \
        "Engine Reward Terminate RewardPlugin FrameSkip Horizon ResetNoise SkipPositions VelocityClip"
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

typedef struct EnvironmentRow {
        const char *name;
        const char *module; /* "": built in */
        const char *description;
        double threshold;    /* NAN: none */
        const char *options; /* keys, separated by single spaces */
} EnvironmentRow;
