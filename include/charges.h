/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kinds of charge in a bill. Only daemon/bill/price.c assigns records to them and prices them.
 *
 * Only append rows: for each decision, ledgers store the number of the most expensive charge, and actorctl
 * turns it into a word. */
#pragma once

/* clang-format off */
/* X(NAME, word, total, purpose, use, idle): every kind of charge, in the order of a bill.
 * total: PAPER: the charge is part of the paper total (execution only, as MinionsRL, Nitro and Stellaris
 * count); FULL: it is part of the full total only. use: whose CPU time it is. idle: the word before the unit
 * of quantities that are kept and not used, such as "idle GB-s".
 * A new kind needs a row here, and code in daemon/bill/price.c that assigns records to it.
 * LOST is for use that no record has, since the job's processes were killed. FLEET is for a fleet of
 * servers, busy or not. NODES and IDLE_NODES are for a cluster's allocations, in place of the actors' work
 * there. TRAFFIC is for bytes between hosts. */
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
