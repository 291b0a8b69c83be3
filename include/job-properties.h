/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The properties of org.actord1.Job, a row for each. The daemon makes its vtable and the lists for
 * PropertiesChanged from the rows, and actorctl makes its struct, reader and JSON from them. A test compares
 * units/org.actord1.xml with the rows. A new property needs a row here, and its value in
 * daemon/job-properties.c. */
#pragma once

/* Tables are aligned by hand. */
/* clang-format off */

/* When a property changes. NEVER: it does not change; STATE: with the job's state, or when something else
 * happens to the job; ROUND: with each round. A new state is announced at once, and other changes at most
 * ten times a second. */

/* X(D-Bus type, name, member of actorctl's JobStatus, when it changes) */
#define JOB_PROPERTIES(X)                                          \
        X(t, Id, id, NEVER)                                        \
        X(u, UserId, uid, NEVER)                                   \
        X(s, Description, description, NEVER)                      \
        X(s, Environment, environment, NEVER)                      \
        X(s, Algorithm, algorithm, NEVER)                          \
        X(s, Distribution, distribution, STATE)                    \
        X(s, DistributionReason, distribution_reason, STATE)       \
        X(t, Seed, seed, NEVER)                                    \
        X(s, ScalingPolicy, scaling_policy, NEVER)                 \
        X(u, ActorsMin, n_actors_min, NEVER)                       \
        X(u, ActorsMax, n_actors_max, NEVER)                       \
        X(t, StopSteps, stop_steps, NEVER)                         \
        X(s, PriceSheet, price_sheet, NEVER)                       \
        X(s, Currency, currency, NEVER)                            \
        X(t, SubmittedUSec, submitted_usec, NEVER)                 \
        X(s, State, state, STATE)                                  \
        X(s, Waiting, waiting, STATE)                              \
        X(s, Result, result, STATE)                                \
        X(s, Fault, fault, STATE)                                  \
        X(s, RecordsFault, records_fault, STATE)                   \
        X(t, StartedUSec, started_usec, STATE)                     \
        X(t, EndedUSec, ended_usec, STATE)                         \
        X(t, Life, life, STATE)                                    \
        X(t, Preempted, n_preempted, STATE)                        \
        X(t, FrozenUSec, frozen_usec, STATE)                       \
        X(s, Unit, unit, STATE)                                    \
        X(s, ControlGroup, control_group, STATE)                   \
        X(s, SandboxLevel, sandbox_level, STATE)                   \
        X(as, LimitsNotEnforced, limits, STATE)                    \
        X(s, Shares, shares, NEVER)                                \
        X(u, CPUWeight, cpu_weight, STATE)                         \
        X(s, PolicySHA256, policy_sha256, STATE)                   \
        X(t, Round, round, ROUND)                                  \
        X(t, EnvSteps, n_env_steps, ROUND)                         \
        X(t, Episodes, n_episodes, ROUND)                          \
        X(u, Actors, n_actors, ROUND)                              \
        X(d, ReturnMean, return_mean, ROUND)                       \
        X(d, ReturnRound, return_round, ROUND)                     \
        X(b, TargetReached, target_reached, ROUND)                 \
        X(t, TargetEnvSteps, target_env_steps, ROUND)              \
        X(t, TargetWallNSec, target_wall_nsec, ROUND)              \
        X(t, WallNSec, wall_nsec, ROUND)                           \
        X(t, EmulatedNSec, emulated_nsec, ROUND)                   \
        X(d, CostPaper, cost_paper, ROUND)                         \
        X(d, CostFull, cost_full, ROUND)                           \
        X(t, CPUActorsNSec, cpu_actors_nsec, ROUND)                \
        X(t, CPULearnerNSec, cpu_learner_nsec, ROUND)              \
        X(t, CPUControlNSec, cpu_control_nsec, ROUND)              \
        X(t, CPUStartupNSec, cpu_startup_nsec, ROUND)              \
        X(t, CPULostNSec, cpu_lost_nsec, ROUND)                    \
        X(t, CPUNodesNSec, cpu_nodes_nsec, ROUND)                  \
        X(t, CPUScopeNSec, cpu_scope_nsec, ROUND)                  \
        X(u, LivesUnmetered, n_lives_unmetered, ROUND)             \
        X(t, InvocationsTotal, n_invocations, ROUND)               \
        X(t, InvocationsCold, n_cold, ROUND)                       \
        X(t, InvocationsWarm, n_warm, ROUND)                       \
        X(t, InvocationsRetried, n_retried, ROUND)                 \
        X(as, Nodes, nodes, ROUND)                                 \
        X(u, NodesUp, n_nodes_up, ROUND)                           \
        X(u, NodesMax, n_nodes_max, ROUND)                         \
        X(u, NodesLost, n_nodes_lost, ROUND)                       \
        X(t, NodesNSec, nodes_nsec, ROUND)                         \
        X(t, NodesIdleNSec, nodes_idle_nsec, ROUND)                \
        X(t, NodesWaitedNSec, nodes_waited_nsec, ROUND)            \
        X(t, NodesSentBytes, nodes_sent_bytes, ROUND)              \
        X(t, NodesReceivedBytes, nodes_received_bytes, ROUND)      \
        X(d, NodesCost, nodes_cost, ROUND)                         \
        X(d, EvaluationMean, evaluation_mean, ROUND)               \
        X(d, EvaluationDeviation, evaluation_deviation, ROUND)     \
        X(t, EvaluationEpisodes, n_evaluation_episodes, ROUND)     \
        X(as, MetricNames, metric_names, ROUND)                    \
        X(ad, MetricMeans, metrics, ROUND)                         \
        X(ad, EvaluationMetricMeans, evaluation_metrics, ROUND)
