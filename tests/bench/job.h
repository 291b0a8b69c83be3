/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For the programs of build/bench: runs the job of the command line. The job runs in this process, without
 * sandbox, meters or daemon. */
#pragma once

#include <glib.h>
#include <string.h>

#include "actor/actor.h"
#include "learner/job/loop.h"
#include "lib/settings/settings.h"
#include "lib/sibling.h"

/* Parses the job file argv[1]. The arguments from argv[first] on are Section.Key=VALUE; this function cuts
 * them at the equals sign. After an error it ends the process. */
static inline void bench_settings(int argc, char *argv[], int first, JobSettings *ret) {
        g_autofree SettingOverride *overrides = g_new0(SettingOverride, argc);
        g_autofree char *text = NULL, *message = NULL;

        if (!g_file_get_contents(argv[1], &text, NULL, NULL))
                g_error("%s: cannot be read", argv[1]);
        for (int i = first; i < argc; i++) {
                char *value = strchr(argv[i], '=');

                if (!value)
                        g_error("%s is not Section.Key=VALUE", argv[i]);
                *value = '\0';
                overrides[i - first] = (SettingOverride){ argv[i], value + 1 };
        }
        if (settings_parse(text, argv[1], overrides, argc - first, NULL, ret, &message) < 0)
                g_error("%s", message);
}

static inline const ActordEnv *bench_environment(const JobSettings *settings) {
        char programs[SIBLING_DIRECTORY_MAX];
        g_autofree char *modules = NULL;
        const ActordEnv *env;

        g_assert_cmpint(sibling_directory(programs), >=, 0);
        modules = g_path_get_dirname(programs);
        if (environment_load_for(settings, modules, &env) < 0)
                g_error("%s does not load", settings->environment);
        return env;
}

static inline Fused *bench_job_new(const JobSettings *settings, const ActordEnv *env) {
        Fused *fused;

        g_assert_cmpint(fused_new(settings, env, &fused), ==, 0);
        return fused;
}
