/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* import: makes a job file from the settings of another tool (RL Zoo, CleanRL). */
#include <string.h>

#include "actorctl/actorctl.h"
#include "actorctl/file.h"
#include "actorctl/import/cleanrl.h"
#include "actorctl/import/draft.h"
#include "actorctl/import/zoo.h"
#include "actorctl/output.h"

/* RL Zoo names its files after algorithms: ppo.yml. */
static char *algorithm_of(const char *path) {
        g_autofree char *base = g_path_get_basename(path);

        return g_strndup(base, strcspn(base, "."));
}

static char *zoo_file_to_job(
                const char *text, size_t n, const char *path, const char *entry, char **ret_reason) {
        g_autofree char *algorithm = algorithm_of(path);
        const ZooRequest request = {
                .text = text, .n = n, .file = path, .algorithm = algorithm, .entry = entry
        };

        return zoo_to_job(&request, ret_reason);
}

ExitStatus verb_import(const Options *options, char **arguments, size_t n) {
        const char *path = arguments[1], *entry = n > 2 ? arguments[2] : NULL;
        bool zoo = strcmp(arguments[0], "zoo") == 0;
        g_autofree char *text = NULL, *job = NULL, *reason = NULL;
        size_t n_bytes;
        int r;

        if (!zoo && strcmp(arguments[0], "cleanrl") != 0) {
                complain("import %s: it must be zoo or cleanrl, as in `actorctl import zoo ppo.yml "
                         "CartPole-v1`",
                                arguments[0]);
                return STATUS_USAGE;
        }
        if (!zoo && entry) {
                complain("import cleanrl takes one FILE.py and no name: "
                         "its class Args has all settings");
                return STATUS_USAGE;
        }
        r = file_read(path, IMPORT_BYTES_MAX, &text, &n_bytes);
        if (r < 0) {
                complain("%s cannot be read: %s", path, file_reason(r));
                return STATUS_USAGE;
        }
        job = zoo ? zoo_file_to_job(text, n_bytes, path, entry, &reason)
                  : cleanrl_to_job(text, n_bytes, path, &reason);
        if (!job) {
                complain_bare(reason);
                return STATUS_USAGE;
        }
        return output_text(options, job);
}
