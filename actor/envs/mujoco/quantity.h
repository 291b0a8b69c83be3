/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Computes the terms of Reward= and Terminate= on a compiled model: looks up the parts that they name, and
 * computes their numbers. */
#pragma once

#include <mujoco/mujoco.h>
#include <stdbool.h>

#include "lib/terms.h"

/* A term, with the model's parts that it names. */
typedef struct Measure {
        Term term;
        struct {
                int id;
                bool site; /* the part is a site and not a body; not used for joints */
        } parts[TERM_NAMES_MAX];
        int slot; /* the index of a velocity in measures_keep()'s result; -1: the term is no velocity */
} Measure;

typedef struct Measures {
        uint32_t n;
        Measure all[TERMS_MAX];
} Measures;

/* The state and step for which numbers are computed. */
typedef struct MeasureOf {
        const mjModel *model;
        const mjData *data;
        const double *before; /* [slots] */
        double seconds;       /* the time since `before` */
        double ctrl_squares;
        bool terminated;
        int n_skipped; /* how many positions, from the first on, are not observed */
} MeasureOf;

/* *n_slots: the number of slots in use (see Measure); the call adds a slot for each velocity of `terms`. 0;
 * -EINVAL with a sentence. */
int measures_find(const Terms *terms, const mjModel *model, int *n_slots, Measures *ret, char *message,
                size_t n_message);

/* Keeps the current number of each velocity in its slot, for the next step. */
void measures_keep(const Measures *measures, const mjModel *model, const mjData *data, double *ret_slots);

/* measures_sum(): the sum of weights times numbers. measures_any(): whether any comparison is true. */
double measures_sum(const Measures *measures, const MeasureOf *of);
bool measures_any(const Measures *measures, const MeasureOf *of);
