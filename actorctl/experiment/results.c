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

/* Looks at the files of cells that this experiment does not have. They may be its own, from before an edit.
 * Another experiment's reports would be overwritten, even if all of its cells have other names. */
static int check_others(const Experiment *experiment, const GPtrArray *cells, const char *directory) {
        g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autoptr(GDir) dir = g_dir_open(directory, 0, NULL);
        const char *name;

        for (guint i = 0; i < cells->len; i++)
                g_hash_table_add(known, g_strconcat(((const Cell *) cells->pdata[i])->name, ".json", NULL));
        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename(directory, name, NULL);
                int r;

                if (!g_str_has_suffix(name, ".json") || g_hash_table_contains(known, name))
                        continue;
                r = outcome_check_owner(experiment, path);
                if (r < 0)
                        return r;
        }
        return 0;
}

int results_read(const Experiment *experiment, GPtrArray *cells, const char *directory) {
        g_autofree char *path = g_build_filename(directory, "cells", NULL);
        int r;

        r = check_others(experiment, cells, path);
        if (r < 0)
                return r;
        if (experiment->sweep)
                return sweep_settle(experiment, cells, path);
        for (guint i = 0; i < cells->len; i++) {
                r = outcome_read(experiment, cells->pdata[i], path);
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
