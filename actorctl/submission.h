/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job file on its way: read, checked by the same parser as the daemon's, its plugin opened here because the daemon opens no
 * path of a user. */
#pragma once

#include "actorctl/bus.h"
#include "lib/settings.h"

typedef struct OverrideSource OverrideSource;

/* Where overrides stand that are not the command line's: their paths count from that file, and it knows their lines. */
struct OverrideSource {
        const char *file_name;
        /* Lines "--set Section.Key=VALUE: …". */
        void (*complain)(const OverrideSource *source, const char *sentences);
};

typedef struct Submission {
        char *file_name, *text;
        GArray *overrides; /* of SettingOverride, strings in override_texts */
        GPtrArray *override_texts;
        const OverrideSource *source; /* NULL: the command line */
        JobSettings settings;
        int environment_fd, directory_fd, checkpoint_fd;
        const char *purpose; /* NULL: train */
        uint64_t n_episodes;
        uint64_t n_runs;        /* asked for of a scheduler's training, for its display; 0: it is none */
        GArray *scheduler_data; /* NULL: none */
        bool with_stderr;       /* actors' own words come to our standard error */
        bool no_file;           /* the text is ours: there is no line to point to */
} Submission;
#define SUBMISSION_NONE \
        ((Submission){ .environment_fd = -EBADF, .directory_fd = -EBADF, .checkpoint_fd = -EBADF })

/* sets: of "Section.Key=VALUE". STATUS_OK; else after having said why. Either way: submission_done(). */
ExitStatus submission_load(Submission *submission, const char *file, const GPtrArray *sets);
/* The same for a text that is not read here. name NULL: no file holds it, the user only named an environment. */
ExitStatus submission_load_text(
                Submission *submission, const char *name, const char *text, const GPtrArray *sets);
/* The same, with overrides of this source, which stays as long as the submission. */
ExitStatus submission_load_from(Submission *submission, const char *name, const char *text,
                const GPtrArray *sets, const OverrideSource *source);
void submission_done(Submission *submission);

/* The checkpoint of --from=. What Policy=replay:JOB and permuted:JOB need, from JOB: a number of the daemon's, or a file; and minions:NAME, from a name or a file. Does nothing for other policies. STATUS_OK; else after having said why. */
ExitStatus submission_add_data(Submission *submission, const Options *options);
/* The same as far as it is a file's: what a daemon has to be asked for is left out. */
ExitStatus submission_add_file(Submission *submission);

/* Environment=gym:ID renders only if it was made so: its arguments get render_mode=rgb_array, if they say nothing of it. */
void submission_want_pictures(Submission *submission);

/* SubmitJob. STATUS_OK; else after having said why. */
ExitStatus submission_send(
                const Submission *submission, Connection *connection, uint64_t *ret_id, char **ret_path);

/* Says a reason at the line of Environment=, for what is only found when the environment is loaded. */
void submission_complain_environment(const Submission *submission, const char *reason);
