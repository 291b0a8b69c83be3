/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* import: makes a job file from the settings of another tool (RL Zoo, CleanRL). */
#include <string.h>

#include "actorctl/actorctl.h"
#include "actorctl/file.h"
#include "actorctl/import/cleanrl.h"
#include "actorctl/import/zoo.h"
#include "actorctl/output.h"

/* RL Zoo names its files after algorithms: ppo.yml. */
static char *algorithm_of(const char *path) {
        g_autofree char *base = g_path_get_basename(path);

        return g_strndup(base, strcspn(base, "."));
}

static ExitStatus import_zoo(const Options *options, const char *path, const char *entry) {
        g_autofree char *text = NULL, *job = NULL, *reason = NULL, *algorithm = algorithm_of(path);
        ZooRequest request = { .file = path, .algorithm = algorithm, .entry = entry };
        int r;

        r = file_read(path, ZOO_BYTES_MAX, &text, &request.n);
        if (r < 0) {
                complain("%s cannot be read: %s", path, file_reason(r));
                return STATUS_USAGE;
        }
        request.text = text;
        job = zoo_to_job(&request, &reason);
        if (!job) {
                complain_bare(reason);
                return STATUS_USAGE;
        }
        return output_text(options, job);
}

static ExitStatus import_cleanrl(const Options *options, const char *path) {
        g_autofree char *text = NULL, *job = NULL, *reason = NULL;
        size_t n = 0;
        int r;

        r = file_read(path, CLEANRL_BYTES_MAX, &text, &n);
        if (r < 0) {
                complain("%s cannot be read: %s", path, file_reason(r));
                return STATUS_USAGE;
        }
        job = cleanrl_to_job(text, n, path, &reason);
        if (!job) {
                complain_bare(reason);
                return STATUS_USAGE;
        }
        return output_text(options, job);
}

ExitStatus verb_import(const Options *options, char **arguments, size_t n) {
        if (strcmp(arguments[0], "zoo") == 0)
                return import_zoo(options, arguments[1], n > 2 ? arguments[2] : NULL);
        if (strcmp(arguments[0], "cleanrl") != 0) {
                complain("import %s: it must be zoo or cleanrl, as in `actorctl import zoo ppo.yml "
                         "CartPole-v1`",
                                arguments[0]);
                return STATUS_USAGE;
        }
        if (n > 2) {
                complain("import cleanrl takes one FILE.py and no name: "
                         "its class Args has all settings");
                return STATUS_USAGE;
        }
        return import_cleanrl(options, arguments[1]);
}
