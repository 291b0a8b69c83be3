/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Opens an experiment with its cells, and reads the results in its directory. */
#include <string.h>

#include "actorctl/experiment/sweep.h"

char *results_directory(const char *output, const char *file) {
        if (output)
                return g_strdup(output);
        if (g_str_has_suffix(file, ".exp"))
                return g_strdup_printf("%.*s.results", (int) (strlen(file) - strlen(".exp")), file);
        return g_strconcat(file, ".results", NULL);
}

int results_read(const Experiment *experiment, GPtrArray *cells, const char *directory) {
        g_autofree char *path = g_build_filename(directory, "cells", NULL);

        if (experiment->sweep)
                return sweep_settle(experiment, cells, path);
        for (guint i = 0; i < cells->len; i++) {
                int r = outcome_read(experiment, cells->pdata[i], path);

                if (r < 0)
                        return r;
        }
        return 0;
}

ExitStatus experiment_open(const char *file, Experiment **ret_experiment, GPtrArray **ret_cells) {
        g_autoptr(Experiment) experiment = NULL;
        ExitStatus status;

        status = experiment_load(file, &experiment);
        if (status != STATUS_OK)
                return status;
        status = experiment->sweep ? sweep_cells(experiment, ret_cells) : cells_make(experiment, ret_cells);
        if (status == STATUS_OK)
                *ret_experiment = g_steal_pointer(&experiment);
        return status;
}
