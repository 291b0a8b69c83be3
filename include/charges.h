/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kinds of charge that a bill has. daemon/bill/price.c alone books records under them and prices
 * them.
 *
 * Only ever append: ledgers have the number of the dearest charge beside each decision, and actorctl turns
 * it back into a word. */
#pragma once

/* clang-format off */
/* X(NAME, word, total, purpose, use, idle): every kind of charge, in the order of a bill. total: PAPER
 * counts in the paper total (execution only, as MinionsRL, Nitro and Stellaris count), FULL in the full
 * one alone. purpose: TRAINING or EVALUATION. use: whose CPU time it is. idle: what is written before the
 * unit of what is kept and not used. A new kind is a row here and the place in price.c that books records
 * under it. LOST is of lives that were killed; FLEET is of servers, whatever ran on them; NODES and
 * IDLE_NODES of a cluster's allocations, in place of all that actors did there; TRAFFIC of bytes between
 * hosts. */
#define CHARGES(X)                                                                     \
        X(ACTOR_EXECUTION,   "actor-execution",   PAPER, TRAINING,   ACTORS,  "idle ") \
        X(LEARNER_EXECUTION, "learner-execution", PAPER, TRAINING,   LEARNER, "idle ") \
        X(INITIALISATION,    "initialisation",    FULL,  TRAINING,   STARTUP, "idle ") \
        X(PROVISIONED,       "provisioned",       FULL,  TRAINING,   ACTORS,  "")      \
        X(RETRIES,           "retries",           FULL,  TRAINING,   ACTORS,  "idle ") \
        X(LOST,              "lost",              FULL,  TRAINING,   LOST,    "idle ") \
        X(REQUESTS,          "requests",          FULL,  TRAINING,   CONTROL, "idle ") \
        X(EVALUATION,        "evaluation",        FULL,  EVALUATION, ACTORS,  "idle ") \
        X(CONTROL,           "control",           FULL,  TRAINING,   CONTROL, "idle ") \
        X(FLEET,             "fleet",             PAPER, TRAINING,   CONTROL, "idle ") \
        X(NODES,             "nodes",             PAPER, TRAINING,   NODES,   "idle ") \
        X(IDLE_NODES,        "idle-nodes",        FULL,  TRAINING,   NODES,   "idle ") \
        X(TRAFFIC,           "traffic",           FULL,  TRAINING,   CONTROL, "idle ")
/* clang-format on */
