/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job file on its way to the daemon. The client reads and checks it with the daemon's own parser, and
 * opens its plugin, since the daemon opens no path of a user. */
#pragma once

#include "actorctl/bus.h"
#include "lib/directory.h"
#include "lib/settings/settings.h"

typedef struct OverrideSource OverrideSource;

/* The file from which overrides come, if they are not from the command line. Their paths are relative to
 * this file, and messages name its lines. */
struct OverrideSource {
        const char *file_name;
        /* Prints sentences that begin with "--set Section.Key=VALUE", with the place in this file
         * instead. */
        void (*complain)(const OverrideSource *source, const char *sentences);
};

typedef struct JobFile {
        char *file_name, *text;
        GArray *overrides; /* SettingOverrides, whose strings are in override_texts */
        GPtrArray *override_texts;
        const OverrideSource *source; /* NULL: the command line */
        JobSettings settings;
        int environment_fd, checkpoint_fd;
        Directories directories;
        const char *purpose; /* NULL: the job trains */
        uint64_t n_episodes;
        uint64_t n_runs;        /* inner jobs that train a scheduler, for the display; 0: not such a job */
        GArray *scheduler_data; /* NULL: there is none */
        char *sheet;            /* the text of PriceSheet=./FILE; NULL: the daemon has the sheet */
        bool with_stderr;       /* the job's standard error goes to this program's standard error */
        bool no_file;           /* the text was generated, so messages about Environment= name no line */
} JobFile;
#define JOB_FILE_NONE \
        ((JobFile){ .environment_fd = -EBADF, .checkpoint_fd = -EBADF, .directories = DIRECTORIES_NONE })

/* Reads and checks a job file. sets: texts "Section.Key=VALUE". STATUS_OK; or another status, with a
 * message. Call job_file_done() in both cases. */
ExitStatus job_file_load(JobFile *job_file, const char *file, const GPtrArray *sets);
/* Like job_file_load(), for a text in memory. name NULL: there is no file, since the user only named an
 * environment. */
ExitStatus job_file_load_text(JobFile *job_file, const char *name, const char *text, const GPtrArray *sets);
/* Loads a text with overrides from `source`, which must live as long as the job file. */
ExitStatus job_file_load_from(JobFile *job_file, const char *name, const char *text, const GPtrArray *sets,
                const OverrideSource *source);
void job_file_done(JobFile *job_file);

/* The newest override of a key ("Job.Environment"); NULL: there is none. */
const char *job_file_override(const JobFile *job_file, const char *key);

/* Reports a problem that the parser does not find, at the line of a key, or at the override that set it. */
void job_file_complain(const JobFile *job_file, const char *section, const char *key, const char *value,
                const char *reason);
/* The path in a key such as "Job.Environment", g_free(). It is relative to the file of the key (a job's or
 * an experiment's), or to the working directory if it comes from --set. */
char *job_file_path(const JobFile *job_file, const char *key, const char *name);

/* Whether the formats in Metrics= are known. STATUS_OK; or another status, with a message. */
ExitStatus job_file_check_metrics(const JobFile *job_file);
/* The files of Metrics= as texts "FORMAT:PATH" with resolved paths; g_ptr_array_unref(). */
GPtrArray *job_file_metrics(const JobFile *job_file);

/* Reads the file of PriceSheet=, if it names one. STATUS_OK; or another status, with a message. */
ExitStatus job_file_read_sheet(JobFile *job_file);

/* Whether this host has CPUs of AllowedCPUs=. STATUS_OK; or another status, with a message. */
ExitStatus job_file_check_cpus(const JobFile *job_file);
/* Opens the file of Dataset=; only jobs that learn read it. *ret: the descriptor; unchanged if there is
 * none. STATUS_OK; or another status, with a message. */
ExitStatus job_file_open_dataset(const JobFile *job_file, int *ret);

/* Adds the checkpoint of --from=, and the data that a scheduler needs. For Policy=replay:JOB and
 * permuted:JOB these are the decisions (JOB is a job's number or a file). For minions:NAME it is the network
 * (NAME is a name or a file). Other policies need no data. STATUS_OK; or another status, with a message. */
ExitStatus job_file_add_data(JobFile *job_file, const Options *options);
/* Like job_file_add_data(), but adds only data from files, and nothing that a daemon must send. */
ExitStatus job_file_add_file(JobFile *job_file);

/* An environment of Gymnasium or PettingZoo renders only if it is made with a render_mode. Adds
 * render_mode=rgb_array to its arguments, unless they have one. */
void job_file_want_pictures(JobFile *job_file);

/* Calls SubmitJob. STATUS_OK; or another status, with a message. */
ExitStatus job_file_send(const JobFile *job_file, Connection *connection, uint64_t *ret_id, char **ret_path);

/* Reports a problem that shows only when the environment is loaded, at the line of Environment=. */
void job_file_complain_environment(const JobFile *job_file, const char *reason);
