/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks a checkpoint before a daemon is started. It refuses a checkpoint that is missing or damaged, and
 * one whose task, size or number of steps does not fit the job's settings. Only the learner knows all
 * tensors of a job; later it refuses a checkpoint that lacks one. */
#include "actorctl/start.h"

#include <inttypes.h>
#include <string.h>

#include "actorctl/checkpoint-open.h"
#include "actorctl/checkpoint.h"
#include "lib/cleanup.h"
#include "lib/environments.h"
#include "lib/settings/print.h"
#include "lib/settings/settings.h"

static ExitStatus refuse(const NamedCheckpoint *from, const char *format, ...)
                __attribute__((format(printf, 2, 3)));
static ExitStatus refuse(const NamedCheckpoint *from, const char *format, ...) {
        g_autofree char *reason = NULL;
        va_list arguments;

        va_start(arguments, format);
        reason = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        complain("%s: %s", from->name, reason);
        return STATUS_USAGE;
}

/* Refuses a job that has already taken StopSteps= steps, since it would end without a round. */
static ExitStatus check_steps(const JobSettings *ours, const NamedCheckpoint *from) {
        g_autofree char *message = NULL;
        uint64_t n_steps;
        const TensorRow row = { "n_env_steps", "I64", 1, { 1 }, &n_steps };

        if (checkpoint_tensor(&from->checkpoint, from->name, &row, &message) < 0) {
                complain("%s", message);
                return STATUS_USAGE;
        }
        if (n_steps < ours->stop_steps)
                return STATUS_OK;
        return refuse(from,
                        "it has taken %" PRIu64 " steps, and the job ends after %" PRIu64
                        "; go further with --set Job.StopSteps=",
                        n_steps, ours->stop_steps);
}

/* Whether two jobs certainly have different tasks. Options can turn one named environment into the task of
 * another name, so with options only environments of different modules are different for certain. An
 * environment without a row is a file, and only the file itself knows its task. */
static bool tasks_differ(const JobSettings *ours, const JobSettings *theirs) {
        const EnvironmentRow *a = environment_find(ours->environment),
                             *b = environment_find(theirs->environment);

        return a && b && a != b &&
               ((ours->n_options == 0 && theirs->n_options == 0) || strcmp(a->module, b->module) != 0);
}

static ExitStatus refuse_size(
                const NamedCheckpoint *from, Setting i, const JobSettings *ours, const JobSettings *theirs) {
        const SettingRow *row = setting_row(i);
        char a[SETTING_TEXT_MAX], b[SETTING_TEXT_MAX];

        (void) setting_print(theirs, i, a);
        (void) setting_print(ours, i, b);
        return refuse(from, "the checkpoint has [%s] %s=%s, but the job has %s; set it back", row->section,
                        row->key, a[0] ? a : " unset", b[0] ? b : "none");
}

/* Compares the settings that determine the shapes of tensors under every algorithm. */
static ExitStatus check_size(
                const JobSettings *ours, const JobSettings *theirs, const NamedCheckpoint *from) {
        bool max = settings_present(ours, SETTING_Scaling_MaxActors) ||
                   settings_present(theirs, SETTING_Scaling_MaxActors);

        if (settings_actors_max(ours) != settings_actors_max(theirs))
                return refuse_size(from, max ? SETTING_Scaling_MaxActors : SETTING_Scaling_Actors, ours,
                                theirs);
        if (ours->envs_per_actor != theirs->envs_per_actor)
                return refuse_size(from, SETTING_Actor_EnvsPerActor, ours, theirs);
        if (memcmp(&ours->hidden_layers, &theirs->hidden_layers, sizeof(ours->hidden_layers)) != 0)
                return refuse_size(from, SETTING_Learner_HiddenLayers, ours, theirs);
        return STATUS_OK;
}

static ExitStatus check(const JobSettings *ours, const NamedCheckpoint *from) {
        g_autofree JobSettings *theirs = g_new0(JobSettings, 1);
        g_autofree char *message = NULL;
        ExitStatus status;

        /* Settings of an older actord may not parse any more; then the learner compares the tensors. */
        if (settings_parse(from->text, from->name, NULL, 0, NULL, theirs, &message) >= 0) {
                if (tasks_differ(ours, theirs))
                        return refuse(from,
                                        "it is of %s, and the job is of %s: a job can continue only in "
                                        "its own environment",
                                        theirs->environment, ours->environment);
                status = check_size(ours, theirs, from);
                if (status != STATUS_OK)
                        return status;
        }
        return check_steps(ours, from);
}

ExitStatus start_open(const Options *options, const JobSettings *settings, int *ret_fd) {
        NamedCheckpoint from;
        ExitStatus status;

        if (!options->from)
                return STATUS_OK;
        if (!options->from[0]) {
                complain("--from= names no checkpoint: give a file, or the number of a job");
                return STATUS_USAGE;
        }
        status = named_checkpoint_open(&from, options, options->from);
        if (status == STATUS_OK)
                status = check(settings, &from);
        if (status == STATUS_OK)
                *ret_fd = TAKE_FD(from.fd);
        named_checkpoint_done(&from);
        return status;
}
