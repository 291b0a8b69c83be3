/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Terms of a job file on a compiled model: the parts that they name found, and their numbers of a state. */
#pragma once

#include <mujoco/mujoco.h>
#include <stdbool.h>

#include "lib/terms.h"

/* A term whose names were looked up. */
typedef struct Measure {
        Term term;
        struct {
                int id;
                bool site; /* of sites, not of bodies; unused for joints */
        } parts[TERM_NAMES_MAX];
        int slot; /* of a velocity: where the number before the step is kept; -1: of the others */
} Measure;

typedef struct Measures {
        uint32_t n;
        Measure all[TERMS_MAX];
} Measures;

/* What numbers are of besides the state. */
typedef struct MeasureOf {
        const mjModel *model;
        const mjData *data;
        const double *before; /* by slot */
        double seconds;       /* since then */
        double ctrl_squares;
        bool terminated;
        int n_skipped; /* positions that are not observed */
} MeasureOf;

/* *n_slots: taken before, and more afterwards. 0; -EINVAL with a sentence. */
int measures_find(const Terms *terms, const mjModel *model, int *n_slots, Measures *ret, char *message,
                size_t n_message);

/* What is kept for the next step: the present number of each velocity, into its slot. */
void measures_keep(const Measures *measures, const mjModel *model, const mjData *data, double *ret_slots);

/* The sum of weight times number; and whether one of the comparisons holds. */
double measures_sum(const Measures *measures, const MeasureOf *of);
bool measures_any(const Measures *measures, const MeasureOf *of);
