/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job file on its way to the daemon: it is read and checked by the same parser as the daemon's, and its
 * plugin is opened here because the daemon opens no path of a user. */
#pragma once

#include "actorctl/bus.h"
#include "lib/directory.h"
#include "lib/settings/settings.h"

typedef struct OverrideSource OverrideSource;

/* The place of overrides that do not come from the command line: their paths are relative to that file,
 * and messages name its lines. */
struct OverrideSource {
        const char *file_name;
        /* Lines "--set Section.Key=VALUE: …". */
        void (*complain)(const OverrideSource *source, const char *sentences);
};

typedef struct JobFile {
        char *file_name, *text;
        GArray *overrides; /* of SettingOverride, strings in override_texts */
        GPtrArray *override_texts;
        const OverrideSource *source; /* NULL: the command line */
        JobSettings settings;
        int environment_fd, checkpoint_fd;
        Directories directories;
        const char *purpose; /* NULL: train */
        uint64_t n_episodes;
        uint64_t n_runs;        /* of a scheduler's training, for the display; 0: it is another job */
        GArray *scheduler_data; /* NULL: none */
        char *sheet;            /* the text of PriceSheet=./FILE; NULL: a sheet that the daemon has */
        bool with_stderr;       /* the job's standard error goes to ours */
        bool no_file;           /* we made the text, so messages name no line */
} JobFile;
#define JOB_FILE_NONE \
        ((JobFile){ .environment_fd = -EBADF, .checkpoint_fd = -EBADF, .directories = DIRECTORIES_NONE })

/* sets: of "Section.Key=VALUE". STATUS_OK; or another status, with a message. In both cases:
 * job_file_done(). */
ExitStatus job_file_load(JobFile *job_file, const char *file, const GPtrArray *sets);
/* The same for a text that is already in memory. name NULL: there is no file, the user only named an
 * environment. */
ExitStatus job_file_load_text(JobFile *job_file, const char *name, const char *text, const GPtrArray *sets);
/* The same with overrides from `source`, which must live as long as the job file. */
ExitStatus job_file_load_from(JobFile *job_file, const char *name, const char *text, const GPtrArray *sets,
                const OverrideSource *source);
void job_file_done(JobFile *job_file);

/* The newest override of a key ("Job.Environment"); NULL: none. */
const char *job_file_override(const JobFile *job_file, const char *key);

/* Reports a problem at the line of a key that only shows when files are opened. */
void job_file_complain(const JobFile *job_file, const char *section, const char *key, const char *value,
                const char *reason);
/* A path that a key ("Job.Environment") names, g_free(): relative to the file that holds it, the job's or an
 * experiment's; from --set, relative to the working directory. */
char *job_file_path(const JobFile *job_file, const char *key, const char *name);

/* Whether the words of Metrics= have formats that we know. STATUS_OK; or another status, with a message. */
ExitStatus job_file_check_metrics(const JobFile *job_file);
/* The files of Metrics= as words "FORMAT:PATH" with their paths resolved; g_ptr_array_unref(). */
GPtrArray *job_file_metrics(const JobFile *job_file);

/* Reads the file of PriceSheet=, if it names one. STATUS_OK; or another status, with a message. */
ExitStatus job_file_read_sheet(JobFile *job_file);

/* Whether this host has CPUs of AllowedCPUs=. STATUS_OK; or another status, with a message. */
ExitStatus job_file_check_cpus(const JobFile *job_file);
/* Opens the file of Dataset=, which only a job that learns reads. *ret: the descriptor; untouched if there
 * is none to open. STATUS_OK; or another status, with a message. */
ExitStatus job_file_open_dataset(const JobFile *job_file, int *ret);

/* Adds the checkpoint of --from=, and the data of a scheduler that has some: the decisions of
 * Policy=replay:JOB and permuted:JOB (a job's number or a file), the network of minions:NAME (a name or a
 * file). Does nothing for other policies. STATUS_OK; or another status, with a message. */
ExitStatus job_file_add_data(JobFile *job_file, const Options *options);
/* The same for files alone; data that a daemon holds is left out. */
ExitStatus job_file_add_file(JobFile *job_file);

/* Environment=gym:ID renders only if it was created for that: adds render_mode=rgb_array to its arguments
 * unless they have a render_mode. */
void job_file_want_pictures(JobFile *job_file);

/* Calls SubmitJob. STATUS_OK; or another status, with a message. */
ExitStatus job_file_send(const JobFile *job_file, Connection *connection, uint64_t *ret_id, char **ret_path);

/* Reports a problem at the line of Environment= that only shows when the environment is loaded. */
void job_file_complain_environment(const JobFile *job_file, const char *reason);
