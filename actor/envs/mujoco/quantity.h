/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Terms of a job file on a compiled model: looks up the parts that they name, and computes their numbers. */
#pragma once

#include <mujoco/mujoco.h>
#include <stdbool.h>

#include "lib/terms.h"

/* A term whose names were looked up. */
typedef struct Measure {
        Term term;
        struct {
                int id;
                bool site; /* a site, and not a body; unused for joints */
        } parts[TERM_NAMES_MAX];
        int slot; /* where a velocity keeps the number before the step; -1: it is no velocity */
} Measure;

typedef struct Measures {
        uint32_t n;
        Measure all[TERMS_MAX];
} Measures;

/* The state and step of which numbers are computed. */
typedef struct MeasureOf {
        const mjModel *model;
        const mjData *data;
        const double *before; /* by slot */
        double seconds;       /* since then */
        double ctrl_squares;
        bool terminated;
        int n_skipped; /* positions that are not observed */
} MeasureOf;

/* *n_slots: slots in use, and after the call those of these terms, too. 0; -EINVAL with a sentence. */
int measures_find(const Terms *terms, const mjModel *model, int *n_slots, Measures *ret, char *message,
                size_t n_message);

/* Keeps the present number of each velocity in its slot, for the next step. */
void measures_keep(const Measures *measures, const mjModel *model, const mjData *data, double *ret_slots);

/* The sum of weight times number; and whether one of the comparisons holds. */
double measures_sum(const Measures *measures, const MeasureOf *of);
bool measures_any(const Measures *measures, const MeasureOf *of);
