/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The matrix of an experiment: its arms, its factors' levels, and the numbering of their combinations. */
#include "actorctl/experiment/experiment.h"

void arm_free(gpointer data) {
        Arm *arm = data;

        g_free(arm->name);
        g_ptr_array_unref(arm->sets);
        g_free(arm);
}

Arm *arm_new(const char *name) {
        Arm *arm = g_new(Arm, 1);

        *arm = (Arm){ g_strdup(name), g_ptr_array_new_with_free_func(g_free) };
        return arm;
}

void factor_free(gpointer data) {
        Factor *factor = data;

        g_free(factor->name);
        g_ptr_array_unref(factor->levels);
        g_free(factor);
}

Factor *factor_new(const char *name) {
        Factor *factor = g_new(Factor, 1);

        *factor = (Factor){ g_strdup(name), g_ptr_array_new_with_free_func(arm_free) };
        return factor;
}

const Arm *experiment_arm(const Experiment *experiment, size_t i) {
        return experiment->arms->pdata[i];
}

const Factor *experiment_factor(const Experiment *experiment, size_t i) {
        return experiment->factors->pdata[i];
}

const Arm *experiment_level(const Experiment *experiment, const Cell *cell, size_t factor) {
        return experiment_factor(experiment, factor)->levels->pdata[cell->levels[factor]];
}

char *experiment_levels(const Experiment *experiment, const Cell *cell, const char *separator) {
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < experiment->factors->len; i++)
                g_string_append_printf(text, "%s%s", i > 0 ? separator : "",
                                experiment_level(experiment, cell, i)->name);
        return g_string_free(text, FALSE);
}

size_t experiment_n_combinations(const Experiment *experiment) {
        size_t n = 1;

        for (guint i = 0; i < experiment->factors->len; i++)
                n *= experiment_factor(experiment, i)->levels->len;
        return n;
}

size_t cell_combination(const Experiment *experiment, const Cell *cell) {
        size_t n = 0;

        for (guint i = 0; i < experiment->factors->len; i++)
                n = n * experiment_factor(experiment, i)->levels->len + cell->levels[i];
        return n;
}

void cell_set_combination(const Experiment *experiment, Cell *cell, size_t combination) {
        for (guint i = experiment->factors->len; i-- > 0;) {
                size_t n = experiment_factor(experiment, i)->levels->len;

                cell->levels[i] = combination % n;
                combination /= n;
        }
}
