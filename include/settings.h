/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The job as plain data. It is parsed once (lib/settings/settings.c) and sealed in a memfd. All other
 * programs of a job map it read-only. No other contract repeats a setting.
 *
 * SETTINGS is the only list of keys. The file's parser, the D-Bus dictionary, --set, the checks, `actorctl
 * show`, the checkpoint's metadata and the test of job.conf(5) all use it. An empty value means unset, and
 * an unset key has its default. */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "include/actord/env.h"
#include "include/schedulers.h"
#include "include/shares.h"

#define SETTINGS_ABI 5u
#define HIDDEN_LAYERS_MAX 8u
#define REGULATED_STATE_MAX 6u          /* the most numbers in the state of a linear model */
#define MATRIX_MAX 36u                  /* the most numbers in a matrix, row by row */
#define CONVOLUTIONS_MAX 6u
#define CONVOLUTION_CHANNELS_MAX 1024u
#define CONVOLUTION_SIDE_MAX 64u        /* the most for a kernel's side, and for a stride */
#define OPTIONS_MAX 32u
#define SCHEDULE_RUNS_MAX 32u
#define SCHEDULE_ROUNDS_MAX 1000000u    /* the most rounds of one part, such as 10 of 25*10 */
#define ACTORS_MAX 10000u
#define ENVS_PER_ACTOR_MAX 4096u
#define ROLLOUT_STEPS_MAX 1048576u
#define JOB_TEXT_MAX (256u * 1024u)
#define JOB_TAG_MAX 64u
#define AMOUNTS_MAX 8u
#define NODES_MAX 256u                  /* the most nodes of a job at once */

/* Words for choices. X(member, word): the only string table, for file, bus, CLI and logs alike. */
#define ALGORITHMS(X)                                                                               \
        X(PPO, "ppo") X(A2C, "a2c") X(IMPALA, "impala") X(IMPACT, "impact") X(DQN, "dqn")           \
        X(DDPG, "ddpg") X(TD3, "td3") X(SAC, "sac") X(REBEL, "rebel") X(BC, "bc")           \
        X(TD3_BC, "td3-bc") X(PHYDRL, "phydrl") X(SIMPPO, "simppo") X(MAPPO, "mappo")               \
        X(CONSISTENCY, "consistency") X(DIFFUSION_QL, "diffusion-ql") X(PI_FT, "pi-ft")
#define DISTRIBUTIONS(X)                                                                                    \
        X(COARSE, "single-learner-coarse") X(FINE, "single-learner-fine") X(ENVIRONMENTS, "environments")   \
        X(MULTI, "multi-learner") X(CENTRAL, "central") X(FUSED, "fused") X(ASYNC, "async") X(AUTO, "auto")
#define SANDBOX_CHOICES(X)                                                                        \
        X(AUTO, "auto") X(FULL, "full") X(USERNS, "userns") X(PROCESS, "process") X(NONE, "none")
#define CLUSTERS(X) X(NONE, "none") X(SLURM, "slurm")
#define CARRIES(X) X(SLOTS, "slots") X(RESET, "reset")
#define ACTOR_SCOPES(X) X(JOB, "job") X(EACH, "each")
#define UPDATES_CHOICES(X) X(PER_DATA, "per-data") X(PER_ROUND, "per-round") X(FULL_BATCH, "full-batch")
#define SCHEDULES(X) X(CONSTANT, "constant") X(LINEAR, "linear")
#define ACTIVATIONS(X) X(TANH, "tanh") X(RELU, "relu") X(SILU, "silu") X(MISH, "mish")
#define NOISE_PROCESSES(X) X(GAUSSIAN, "gaussian") X(OU, "ou")
#define CURVATURES(X) X(NONE, "none") X(OBJECTIVE, "objective") X(LOSS, "loss") X(BOTH, "both")
#define OBJECTIVES(X) X(COST_TIME, "cost-time") X(DEADLINE, "deadline") X(BUDGET, "budget")
#define CLOCKS(X) X(METERED, "metered") X(MODEL, "model")
#define CONVENTIONS(X) X(SERVERLESS, "serverless") X(SERVER, "server")
#define SHARES_KINDS(X) X(EQUAL, "equal") X(SIMPPO, "simppo")
#define KERNEL_CLASSES(X) X(AUTO, "auto") X(SCALAR, "scalar") X(AVX2, "avx2") X(AVX512, "avx512")

#define CHOICES(X)                      /* X(type, PREFIX, list) */ \
        X(algorithm, ALGORITHM, ALGORITHMS)                         \
        X(distribution, DISTRIBUTION, DISTRIBUTIONS)                \
        X(cluster, CLUSTER, CLUSTERS)                               \
        X(scheduler, SCHEDULER, SCHEDULERS)                         \
        X(sandbox, SANDBOX_CHOICE, SANDBOX_CHOICES)                 \
        X(carry, CARRY, CARRIES)                                    \
        X(actor_scope, ACTOR_SCOPE, ACTOR_SCOPES)                   \
        X(updates, UPDATES, UPDATES_CHOICES)                        \
        X(schedule, SCHEDULE, SCHEDULES)                            \
        X(activation, ACTIVATION, ACTIVATIONS)                      \
        X(noise_process, NOISE_PROCESS, NOISE_PROCESSES)            \
        X(curvature, CURVATURE, CURVATURES)                         \
        X(objective, OBJECTIVE, OBJECTIVES)                         \
        X(clock, CLOCK, CLOCKS)                                     \
        X(convention, CONVENTION, CONVENTIONS)                      \
        X(shares_kind, SHARES_KIND, SHARES_KINDS)                   \
        X(kernel_class, KERNEL_CLASS, KERNEL_CLASSES)

enum Algorithm_ {
#define X(name, word) ALGORITHM_##name,
        ALGORITHMS(X)
#undef X
        _ALGORITHM_MAX,
};
enum Distribution_ {
#define X(name, word) DISTRIBUTION_##name,
        DISTRIBUTIONS(X)
#undef X
        _DISTRIBUTION_MAX,
};
enum Cluster_ {
#define X(name, word) CLUSTER_##name,
        CLUSTERS(X)
#undef X
        _CLUSTER_MAX,
};
enum SandboxChoice_ {
#define X(name, word) SANDBOX_CHOICE_##name,
        SANDBOX_CHOICES(X)
#undef X
        _SANDBOX_CHOICE_MAX,
};
enum Carry_ {
#define X(name, word) CARRY_##name,
        CARRIES(X)
#undef X
        _CARRY_MAX,
};
enum ActorScope_ {
#define X(name, word) ACTOR_SCOPE_##name,
        ACTOR_SCOPES(X)
#undef X
        _ACTOR_SCOPE_MAX,
};
enum Updates_ {
#define X(name, word) UPDATES_##name,
        UPDATES_CHOICES(X)
#undef X
        _UPDATES_MAX,
};
enum Schedule_ {
#define X(name, word) SCHEDULE_##name,
        SCHEDULES(X)
#undef X
        _SCHEDULE_MAX,
};
enum Activation_ {
#define X(name, word) ACTIVATION_##name,
        ACTIVATIONS(X)
#undef X
        _ACTIVATION_MAX,
};
enum NoiseProcess_ {
#define X(name, word) NOISE_PROCESS_##name,
        NOISE_PROCESSES(X)
#undef X
        _NOISE_PROCESS_MAX,
};
enum Curvature_ {
#define X(name, word) CURVATURE_##name,
        CURVATURES(X)
#undef X
        _CURVATURE_MAX,
};
enum Objective_ {
#define X(name, word) OBJECTIVE_##name,
        OBJECTIVES(X)
#undef X
        _OBJECTIVE_MAX,
};
enum Clock_ {
#define X(name, word) CLOCK_##name,
        CLOCKS(X)
#undef X
        _CLOCK_MAX,
};
enum Convention_ {
#define X(name, word) CONVENTION_##name,
        CONVENTIONS(X)
#undef X
        _CONVENTION_MAX,
};
enum SharesKind_ {
#define X(name, word) SHARES_KIND_##name,
        SHARES_KINDS(X)
#undef X
        _SHARES_KIND_MAX,
};
enum KernelClass_ {
#define X(name, word) KERNEL_CLASS_##name,
        KERNEL_CLASSES(X)
#undef X
        _KERNEL_CLASS_MAX,
};

/* X(section, key, type, member, default, lowest, highest, help). lowest and highest are bounds of numbers
 * only (0, 0: any number). The same code parses the text of a default and a job file. */
#define SETTINGS(X)                                                                                         \
        X(Job, Description, string, description, "", 0, 0, "one line for people")                           \
        X(Job, Tag, string, tag, "", 0, 0, "a word; bills add up the jobs that share it")                   \
        X(Job, Metrics, string, metrics, "", 0, 0,                                                          \
                "files to write: csv:FILE jsonl:FILE scalars:FILE tensorboard:DIR monitor:FILE")            \
        X(Job, Profile, bool, profile, "no", 0, 0, "measure where the time of rounds goes")                 \
        X(Job, Environment, string, environment, "", 0, 0,                                                  \
                "name from `actorctl env list`, ./FILE.so or mujoco:FILE.xml")                              \
        X(Job, Algorithm, choice_algorithm, algorithm, "ppo", 0, 0, "how the learner learns")               \
        X(Job, Seed, u64, seed, "1", 0, 1.8e19, "equal seeds give equal policies, bit for bit")             \
        X(Job, StopSteps, u64, stop_steps, "1000000", 1, 1e18, "end after this many environment steps")     \
        X(Job, StopReturn, f64, stop_return, "", -1e300, 1e300,                                             \
                "end when the mean return of 100 episodes reaches this")                                    \
        X(Job, RuntimeMaxSec, usec, runtime_max_usec, "", 1, 1e18, "end after this much wall time")         \
        X(Job, Budget, money, budget, "", 1, 1e18, "no round begins once the full total has reached this")  \
        X(Job, CostAlert, amounts, cost_alert, "", 1, 1e18,                                                 \
                "amounts at which the journal reports the full total, such as 0.5USD, 1USD")                \
        X(Job, OnEnd, string, on_end, "", 0, 0, "unit of the user's manager to start when the job ends")    \
        X(Distribution, Policy, choice_distribution, distribution, "single-learner-coarse", 0, 0,           \
                "which process runs which part of the training loop")                                       \
        X(Distribution, Learners, u32, n_learners, "1", 1, 16,                                              \
                "learner processes under multi-learner and central")                                        \
        X(Distribution, Cluster, choice_cluster, cluster, "none", 0, 0,                                     \
                "slurm: actors that do not fit on this host run on nodes of a cluster")                     \
        X(Distribution, Nodes, range, nodes, "0-1", 0, NODES_MAX,                                           \
                "nodes at once: N, or N-M, as many as the rounds need")                                     \
        X(Scaling, Policy, policy, scheduler, "fixed", 0, 0,                                                \
                "what chooses the number of actors of each round")                                          \
        X(Scaling, Actors, u32, n_actors, "1", 1, ACTORS_MAX, "actors of a round, under Policy=fixed")      \
        X(Scaling, MinActors, u32, n_actors_min, "1", 1, ACTORS_MAX, "fewest actors of a round")            \
        X(Scaling, MaxActors, u32, n_actors_max, "", 1, ACTORS_MAX,                                         \
                "most actors of a round; unset: Actors")                                                    \
        X(Scaling, Schedule, counts, schedule, "", 1, ACTORS_MAX,                                           \
                "Policy=schedule: actors*rounds, such as 25*10 30*5; the last number stays")                \
        X(Scaling, TargetReturn, f64, target_return, "", -1e300, 1e300,                                     \
                "Policy=adapt: return at which a round has MaxActors; unset: StopReturn")                   \
        X(Scaling, Window, u32, window, "6", 1, 64,                                                         \
                "Policy=nitro, nitro-code, noise: newest values that are compared")                         \
        X(Scaling, Decay, f64, decay, "0.96", 0, 1,                                                         \
                "Policy=nitro and its like: factor on the scores in each round")                            \
        X(Scaling, Objective, choice_objective, objective, "cost-time", 0, 0,                               \
                "Policy=auto: cost-time; deadline: least money in time; budget: most progress for it")      \
        X(Scaling, Deadline, usec, deadline_usec, "", 1, 1e18,                                              \
                "Objective=deadline, Shares=simppo:NAME: when training should have ended")                  \
        X(Scaling, TimePrice, f64, time_price, "1", 0, 1e6,                                                 \
                "Policy=auto: value of a second, as a multiple of the learner's price")             \
        X(Scaling, WarmActors, u32, n_actors_warm, "", 0, ACTORS_MAX,                                       \
                "idle actors that are always kept for later rounds")                                        \
        X(Scaling, KeepAliveSec, usec, keep_alive_usec, "", 0, 1e12,                                        \
                "other idle actors end after this; unset: never, or at once with WarmActors")               \
        X(Scaling, Shares, shares, shares, "equal", 0, 0,                                                   \
                "simppo:NAME: this host's jobs trade CPU weight by that policy; equal: none is set")        \
        X(Actor, EnvsPerActor, u32, envs_per_actor, "1", 1, ENVS_PER_ACTOR_MAX,                             \
                "environments (slots) of an actor")                                                         \
        X(Actor, RolloutSteps, u32, rollout_steps, "128", 1, ROLLOUT_STEPS_MAX,                             \
                "steps of each environment in one invocation")                                              \
        X(Actor, PairSteps, u32, pair_steps, "", 1, ROLLOUT_STEPS_MAX,                                      \
                "steps over which the rollouts of a pair are compared; unset: RolloutSteps")                \
        X(Actor, Carry, choice_carry, carry, "slots", 0, 0,                                                 \
                "slots: episodes go on in the next invocation; reset: each invocation begins new ones")     \
        X(Actor, Processes, u32, n_processes, "", 1, ACTORS_MAX,                                            \
                "containers that the actors share; unset: one for each")                                    \
        X(Actor, MemoryMax, bytes, memory_max_bytes, "1769M", 16777216, 1e15,                               \
                "memory of an actor: allocated, limited and billed")                                        \
        X(Actor, TasksMax, u32, tasks_max, "8", 1, 100000, "processes and threads of an actor")             \
        X(Actor, CPUQuota, percent, cpu_quota_permille, "", 1, 1e6, "share of one CPU, such as 50%")        \
        X(Actor, AllowedCPUs, cpuset, allowed_cpus, "", 0, 0, "CPUs that actors may run on, such as 0-3,8") \
        X(Actor, Sandbox, choice_sandbox, sandbox, "auto", 0, 0,                                            \
                "auto: the strongest level that this host allows")                                          \
        X(Actor, Python, string, python, "", 0, 0,                                                          \
                "virtual environment for gym:ID, or with the engine of stormwater:; unset: the system's")   \
        X(Actor, PythonPath, string, python_path, "", 0, 0,                                                 \
                "directory of your own Python modules for gym:ID, as in PYTHONPATH")                        \
        X(Actor, ActorScope, choice_actor_scope, actor_scope, "job", 0, 0,                                  \
                "each: every actor has a systemd scope of its own")                                         \
        X(Actor, Retries, u32, n_retries, "3", 0, 1000,                                                     \
                "how often an invocation that fails is repeated before the job fails")                      \
        X(Actor, TimeoutSec, usec, timeout_usec, "60", 1000, 1e15,                                          \
                "an invocation that takes longer is killed and retried")                                    \
        X(Learner, LearningRate, f64, learning_rate, "0.0003", 0, 10, "Adam's step size")                   \
        X(Learner, LearningRateSchedule, choice_schedule, learning_rate_schedule, "constant", 0, 0,         \
                "linear: to 0 at StopSteps")                                                                \
        X(Learner, Epochs, u32, epochs, "10", 1, 10000, "passes over a round's data")                       \
        X(Learner, MinibatchSize, u32, minibatch_size, "64", 1, 1e9, "rows of one gradient step")           \
        X(Learner, Updates, choice_updates, updates, "per-data", 0, 0,                                      \
                "whether a larger round means more gradient steps or larger minibatches")                   \
        X(Learner, Gamma, f64, gamma, "0.99", 0, 1, "discount of later rewards")                            \
        X(Learner, Lambda, f64, lambda, "0.95", 0, 1, "lambda of generalised advantage estimation")         \
        X(Learner, Clip, f64, clip, "0.2", 0, 100, "bound on the change of the probability ratio")          \
        X(Learner, ClipSchedule, choice_schedule, clip_schedule, "constant", 0, 0,                          \
                "linear: to 0 at StopSteps")                                                                \
        X(Learner, ValueClip, f64, value_clip, "", 0, 1e9, "bound on the change of the value; unset: none") \
        X(Learner, ValueWeight, f64, value_weight, "0.5", 0, 1e9, "weight of the value loss")               \
        X(Learner, EntropyWeight, f64, entropy_weight, "0", 0, 1e9, "weight of the entropy bonus")          \
        X(Learner, MaxGradNorm, f64, max_grad_norm, "0.5", 0, 1e9,                                          \
                "longest gradient, by its norm over all parameters; 0: no limit")                           \
        X(Learner, NormalizeAdvantages, bool, normalize_advantages, "yes", 0, 0,                            \
                "normalise advantages in each minibatch")                                                   \
        X(Learner, NormalizeObservations, bool, normalize_observations, "no", 0, 0,                         \
                "normalise observations by their running mean and variance")                                \
        X(Learner, ObservationClip, f64, observation_clip, "10", 0, 1e9,                                    \
                "bound on normalised observations")                                                         \
        X(Learner, NormalizeRewards, bool, normalize_rewards, "no", 0, 0,                                   \
                "divide rewards by the deviation of discounted returns")                                    \
        X(Learner, RewardClip, f64, reward_clip, "10", 0, 1e9, "bound on normalised rewards")               \
        X(Learner, KLStop, f64, kl_stop, "", 0, 1e9,                                                        \
                "a round's updates end beyond this divergence; unset: never")                               \
        X(Learner, KLWeight, f64, kl_weight, "0", 0, 1e9,                                                   \
                "weight of the divergence penalty; it adapts to KLTarget")                                  \
        X(Learner, KLTarget, f64, kl_target, "0.01", 0, 1e9, "divergence to which KLWeight adapts")         \
        X(Learner, RhoBar, f64, rho_bar, "1", 0, 1e9,                                                       \
                "V-trace: bound on the importance weights of temporal differences")                         \
        X(Learner, CBar, f64, c_bar, "1", 0, 1e9, "V-trace: bound on the importance weights of traces")     \
        X(Learner, BufferBatches, u32, buffer_batches, "4", 1, 64,                                          \
                "rounds whose data are kept to learn from again")                                           \
        X(Learner, TargetInterval, u32, target_interval, "", 1, 1e9,                                        \
                "gradient steps between updates of the target network")                                     \
        X(Learner, ReplaySize, u32, replay_size, "100000", 1, 1e9,                                          \
                "steps that are kept to learn from again")                                                  \
        X(Learner, ReplayMin, u32, replay_min, "1000", 1, 1e9,                                              \
                "steps that must be kept before learning begins")                                           \
        X(Learner, TrainRatio, f64, train_ratio, "0.25", 0, 1000,                                           \
                "gradient steps for each environment step")                                                 \
        X(Learner, NSteps, u32, n_steps, "1", 1, 1000,                                                      \
                "rewards that a target adds up before a value stands for the rest")                         \
        X(Learner, HuberBound, f64, huber_bound, "1", 1e-9, 1e9,                                            \
                "the loss of a value's error is quadratic up to this, and linear beyond")                   \
        X(Learner, EpsilonStart, f64, epsilon_start, "1", 0, 1, "chance of a random action at first")       \
        X(Learner, EpsilonEnd, f64, epsilon_end, "0.05", 0, 1,                                              \
                "chance of a random action after EpsilonSteps")                                             \
        X(Learner, EpsilonSteps, u64, epsilon_steps, "10000", 0, 1e18,                                      \
                "environment steps over which the chance falls")                                            \
        X(Learner, CriticLearningRate, f64, critic_learning_rate, "", 0, 10,                                \
                "Adam's step size for critics; unset: LearningRate")                                        \
        X(Learner, Tau, f64, tau, "0.005", 0, 1,                                                            \
                "share of the distance that a target network moves towards its network in each step")       \
        X(Learner, PolicyDelay, u32, policy_delay, "2", 1, 1e6,                                             \
                "gradient steps of critics before one of the policy")                                       \
        X(Learner, ActionNoise, f64, action_noise, "0.1", 0, 10,                                            \
                "deviation of the noise on actions, as a share of half their range")                        \
        X(Learner, NoiseProcess, choice_noise_process, noise_process, "gaussian", 0, 0,                     \
                "ou: the noise of a step goes on from that of the step before")                             \
        X(Learner, TargetNoise, f64, target_noise, "0.2", 0, 10,                                            \
                "deviation of the noise on target actions, as a share of half their range")                 \
        X(Learner, NoiseClip, f64, noise_clip, "0.5", 0, 10,                                                \
                "bound on the noise of TargetNoise, as the same share")                                     \
        X(Learner, Temperature, f64, temperature, "", 0, 1e9, "weight of the entropy; unset: learned")      \
        X(Learner, TargetEntropy, f64, target_entropy, "", -1e9, 1e9,                                       \
                "entropy that a learned Temperature keeps; unset: minus the numbers of an action")          \
        X(Learner, Eta, f64, eta, "1", 1e-9, 1e9, "weight of rewards, against staying near the old policy") \
        X(Learner, Dataset, string, dataset, "", 0, 0, "recorded episodes to learn from: main_data.hdf5")   \
        X(Learner, QWeight, f64, q_weight, "2.5", 0, 1e9, "weight of the critic, against imitation")        \
        X(Learner, Passes, u32, passes, "", 1, 5,                                                           \
                "passes of the network that makes an action of noise; unset: 2 or 5")                       \
        X(Learner, Candidates, u32, candidates, "1", 1, 64,                                                 \
                "actions made of noise for each one taken; critics choose it")                              \
        X(Learner, ModelA, matrix, model_a, "", -1e9, 1e9,                                                  \
                "A of the linear model s' = A s + B a, row by row; s is the observation")                   \
        X(Learner, ModelB, matrix, model_b, "", -1e9, 1e9,                                                  \
                "B of the linear model, a row for each number of s")                                        \
        X(Learner, ControllerF, matrix, controller_f, "", -1e9, 1e9,                                        \
                "F s is added to the policy's action; a row for each number of an action")                  \
        X(Learner, ControllerGain, f64, controller_gain, "1", 0, 1000,                                      \
                "factor on F s in actions, not in the model")                                               \
        X(Learner, ResidualScale, f64, residual_scale, "1", 1e-9, 1,                                        \
                "share of the action's bounds that the policy may use")                                     \
        X(Learner, EnvelopeP, matrix, envelope_p, "", -1e9, 1e9,                                            \
                "the envelope is s' P s <= 1, and the reward the fall of s' P s beyond the model's")        \
        X(Learner, InputAugmentation, u32, input_augmentation, "1", 1, 2,                                   \
                "critics' inputs; 2: products of two inputs follow the inputs")                             \
        X(Learner, LinkEditing, matrix, link_editing, "", 0, 1,                                             \
                "for each augmented input of critics: 1: they read it; 0: they do not")                     \
        X(Learner, PolicyInputAugmentation, u32, policy_input_augmentation, "1", 1, 2,                      \
                "the policy's inputs; 2: products of two inputs follow the inputs")                         \
        X(Learner, PolicyLinkEditing, matrix, policy_link_editing, "", 0, 1,                                \
                "for each augmented input of the policy: 1: it reads it; 0: it does not")                   \
        X(Learner, Alpha, f64, alpha, "", 1e-9, 1, "s' P s of the model falls to this share in each step")  \
        X(Learner, SafetySet, matrix, safety_set, "", 0, 1e9,                                               \
                "largest size of each number of s; 0: any; the envelope must lie inside")                   \
        X(Learner, Convolutions, convolutions, convolutions, "", 0, 0,                                      \
                "layers before the hidden ones: CHANNELSxKERNEL/STRIDE+PADDING, such as 32x8/4 64x4/2")     \
        X(Learner, HiddenLayers, u32list, hidden_layers, "64 64", 0, 65536,                                 \
                "units of each hidden layer; 0: no layer, after Convolutions")                              \
        X(Learner, Activation, choice_activation, activation, "tanh", 0, 0,                                 \
                "function that the hidden layers apply")                                                    \
        X(Learner, SharedNetwork, bool, shared_network, "no", 0, 0,                                         \
                "policy and value share the hidden layers")                                                 \
        X(Learner, LogStdInit, f64, log_std_init, "0", -20, 5,                                              \
                "log of the deviation of continuous actions at first")                                      \
        X(Learner, OrthogonalInit, bool, orthogonal_init, "yes", 0, 0,                                      \
                "yes: first weights are orthogonal; no: uniform in 1/sqrt(inputs)")                         \
        X(Learner, AdamEpsilon, f64, adam_epsilon, "1e-5", 0, 1, "epsilon of Adam")                         \
        X(Learner, AdamBeta1, f64, adam_beta1, "0.9", 0, 1, "decay of Adam's first moment")                 \
        X(Learner, AdamBeta2, f64, adam_beta2, "0.999", 0, 1, "decay of Adam's second moment")              \
        X(Learner, Curvature, choice_curvature, curvature, "none", 0, 0,                                    \
                "Hessian whose extreme eigenvalues each round measures")                                    \
        X(Learner, CurvatureRows, u32, curvature_rows, "512", 1, 65536,                                     \
                "most rows of a round on which Curvature is measured")                                      \
        X(Learner, CurvatureSteps, u32, curvature_steps, "16", 1, 1000,                                     \
                "products with the Hessian for each measurement")                                           \
        X(Learner, NoiseScale, bool, noise_scale, "no", 0, 0,                                               \
                "measure the gradient's noise scale in each round")                                         \
        X(Learner, NoiseActors, u32, n_noise_actors, "32", 2, 1000,                                         \
                "most actors of a round on whose data NoiseScale is measured")                              \
        X(Learner, Threads, u32, n_threads, "1", 1, 256,                                                    \
                "threads of the learner; the result does not depend on them")                               \
        X(Learner, MemoryMax, bytes, learner_memory_max_bytes, "1769M", 67108864, 1e15,                     \
                "memory of the learner: allocated, limited and billed")                                     \
        X(Learner, TimeoutSec, usec, learner_timeout_usec, "", 0, 1e15,                                     \
                "a learner that takes longer is killed, and the job's next life begins; 0: never")          \
        X(Learner, KernelClass, choice_kernel_class, kernel_class, "auto", 0, 0,                            \
                "width of the CPU's vectors; the result is the same with each")                             \
        X(Evaluation, Episodes, u32, evaluation_episodes, "0", 0, 10000,                                    \
                "whole episodes played after a round, to measure its policy")                               \
        X(Evaluation, EveryRounds, u32, evaluation_every, "1", 1, 1e9,                                      \
                "evaluate after every so many rounds, and after the last")                                  \
        X(Evaluation, Actors, u32, n_evaluators, "1", 1, ACTORS_MAX,                                        \
                "containers that play evaluations, beside those that train")                                \
        X(Evaluation, Stochastic, bool, evaluation_stochastic, "no", 0, 0,                                  \
                "yes: actions are drawn; no: each is the most likely one")                                  \
        X(Evaluation, StopReturn, f64, evaluation_stop_return, "", -1e300, 1e300,                           \
                "end when the mean of an evaluation reaches this")                                          \
        X(Billing, PriceSheet, string, price_sheet, "aws-lambda-x86", 0, 0,                                 \
                "name from `actorctl price list`")                                                          \
        X(Billing, Convention, choice_convention, convention, "serverless", 0, 0,                           \
                "server: the price sheet's fleet is paid for, idle or not")                                 \
        X(Billing, Clock, choice_clock, clock, "metered", 0, 0, "what the emulated time is computed from")  \
        X(Billing, ColdStartSec, usec, cold_usec, "0.3", 0, 1e12,                                           \
                "emulated time that a cold start of an actor takes")                                        \
        X(Billing, WarmStartSec, usec, warm_usec, "0", 0, 1e12,                                             \
                "emulated time that a warm start of an actor takes")                                        \
        X(Billing, StepUSec, f64, step_usec, "50", 0, 1e9,                                                  \
                "Clock=model: CPU time of one environment step, microseconds")                              \
        X(Billing, UpdateUSec, f64, update_usec, "1", 0, 1e9,                                               \
                "Clock=model: learner time of one row of a gradient, microseconds")                         \
        X(Slurm, Partition, string, slurm_partition, "", 0, 0,                                              \
                "partition of the nodes; unset: Slurm's default")                                           \
        X(Slurm, Account, string, slurm_account, "", 0, 0,                                                  \
                "account that Slurm charges; unset: the user's default")                                    \
        X(Slurm, TimeLimit, usec, slurm_time_limit_usec, "1h", 6e7, 1e15,                                   \
                "time limit of an allocation; a longer job asks for another one in time")                   \
        X(Slurm, Constraint, string, slurm_constraint, "", 0, 0, "features that nodes must have")           \
        X(Slurm, Options, string, slurm_options, "", 0, 0, "further options of sbatch")                     \
        X(Checkpoint, IntervalSec, usec, checkpoint_usec, "60", 0, 1e15,                                    \
                "at most this much work is repeated after a crash")                                         \
        X(Checkpoint, Keep, u32, checkpoint_keep, "2", 1, 1000,                                             \
                "how many of the newest checkpoints are kept")

typedef char setting_string[256];
typedef struct setting_u32list { uint32_t n, values[HIDDEN_LAYERS_MAX]; } setting_u32list;
typedef struct setting_matrix { uint32_t n, reserved; double values[MATRIX_MAX]; } setting_matrix;
typedef struct setting_convolutions {
        uint32_t n, reserved;
        struct { uint32_t channels, kernel, stride, padding; } layers[CONVOLUTIONS_MAX];
} setting_convolutions;
typedef struct setting_counts {
        uint32_t n, reserved;
        struct { uint32_t n_actors, n_rounds; } runs[SCHEDULE_RUNS_MAX];
} setting_counts;
typedef struct setting_range { uint32_t low, high; } setting_range;
/* kind: Scheduler_; argument: the text after a colon, or "" */
typedef struct setting_policy { uint32_t kind; char argument[252]; } setting_policy;
/* kind: SharesKind_; name: that of an installed policy, or "" */
typedef struct setting_shares { uint32_t kind; char name[SHARES_NAME_MAX + 4]; } setting_shares;
/* a bit for each of 1,024 CPUs; no bit is set: all CPUs */
typedef struct setting_cpuset { uint64_t words[16]; } setting_cpuset;
/* percent: in thousandths of one CPU */
typedef uint32_t setting_u32, setting_bool, setting_percent;
typedef uint64_t setting_u64, setting_usec, setting_bytes;
/* nano: billionths; currency: as written, or "" */
typedef struct setting_money { uint64_t nano; char currency[24]; } setting_money;
/* amounts: in ascending order, each once; currency: as in setting_money */
typedef struct setting_amounts {
        uint32_t n, reserved;
        uint64_t nano[AMOUNTS_MAX];
        char currency[24];
} setting_amounts;
typedef double setting_f64;
#define X(type, PREFIX, list) typedef uint32_t setting_choice_##type;
CHOICES(X)
#undef X

typedef enum Setting {
#define X(section, key, ...) SETTING_##section##_##key,
        SETTINGS(X)
#undef X
        _SETTING_MAX, _SETTING_INVALID = -EINVAL,
} Setting;
#define SETTING_WORDS ((_SETTING_MAX + 63) / 64)

typedef struct JobSettings {
        uint32_t abi, struct_bytes;
#define X(section, key, type, member, ...) setting_##type member;
        SETTINGS(X)
#undef X
        /* bit i: Setting i was given; the others have their defaults */
        uint64_t present[SETTING_WORDS];
        uint32_t n_options, reserved;
        ActordOption options[OPTIONS_MAX];      /* [Environment], as written */
} JobSettings;

static inline bool settings_present(const JobSettings *s, Setting i) {
        return s->present[i / 64] >> (i % 64) & 1;
}

/* The job file's value for a key of [Environment]; NULL: there is none. */
static inline const ActordOption *settings_option(const JobSettings *s, const char *key) {
        for (uint32_t i = 0; i < s->n_options; i++)
                if (strcmp(s->options[i].key, key) == 0)
                        return &s->options[i];
        return NULL;
}

/* MaxActors=; if this key is unset, Actors=. */
static inline uint32_t settings_actors_max(const JobSettings *s) {
        return settings_present(s, SETTING_Scaling_MaxActors) ? s->n_actors_max : s->n_actors;
}

/* The number of containers that only evaluate while a job trains. */
static inline uint32_t settings_evaluators(const JobSettings *s) {
        return s->n_evaluators < s->evaluation_episodes ? s->n_evaluators : s->evaluation_episodes;
}

/* The curvatures that each round measures (a value of enum Curvature): those that the job wants, and those
 * that its scheduler reads. */
static inline uint32_t settings_curvature(const JobSettings *s) {
        bool both = s->curvature == CURVATURE_BOTH;
        bool objective = both || s->curvature == CURVATURE_OBJECTIVE ||
                         scheduler_has(s->scheduler.kind, TRAIT_OBJECTIVE);
        bool loss = both || s->curvature == CURVATURE_LOSS || scheduler_has(s->scheduler.kind, TRAIT_LOSS);

        if (objective)
                return loss ? CURVATURE_BOTH : CURVATURE_OBJECTIVE;
        return loss ? CURVATURE_LOSS : CURVATURE_NONE;
}

static inline bool settings_noise_scale(const JobSettings *s) {
        return s->noise_scale || scheduler_has(s->scheduler.kind, TRAIT_NOISE);
}

/* Whether the next round depends on the result or the cost of an evaluation. It does with a scheduler that
 * uses returns, with a target, or with a budget. Otherwise it need not wait for the evaluation. */
static inline bool settings_await_evaluations(const JobSettings *s) {
        return scheduler_has(s->scheduler.kind, TRAIT_RETURNS) ||
               settings_present(s, SETTING_Evaluation_StopReturn) || settings_present(s, SETTING_Job_Budget);
}

/* HiddenLayers=0 means none. */
static inline uint32_t settings_hidden_layers(const JobSettings *s) {
        return s->hidden_layers.n == 1 && s->hidden_layers.values[0] == 0 ? 0 : s->hidden_layers.n;
}

/* The target return of a scheduler; NaN: there is none. */
static inline double settings_target_return(const JobSettings *s) {
        if (settings_present(s, SETTING_Scaling_TargetReturn))
                return s->target_return;
        if (settings_present(s, SETTING_Evaluation_StopReturn))
                return s->evaluation_stop_return;
        return settings_present(s, SETTING_Job_StopReturn) ? s->stop_return : __builtin_nan("");
}

/* Whether the job may have nodes of a cluster. */
static inline bool settings_has_nodes(const JobSettings *s) {
        return s->cluster != CLUSTER_NONE && s->nodes.high > 0;
}

/* The number of containers that host the actors: actor a lives in container a % n. */
static inline uint32_t settings_processes(const JobSettings *s) {
        uint32_t n = settings_actors_max(s);

        return settings_present(s, SETTING_Actor_Processes) && s->n_processes < n ? s->n_processes : n;
}

/* The number of scopes that systemd starts with a job, besides the job's own. */
static inline uint32_t settings_scopes(const JobSettings *s) {
        return s->actor_scope == ACTOR_SCOPE_EACH ? settings_processes(s) : 0;
}
