/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's directory, STATE/jobs/N: what the job brought, copied at submission, and in `state` what it
 * leaves: checkpoints. Everything is reached through descriptors; a user's path is never opened. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/ledger/ledger.h"
#include "lib/directory.h"

#define JOB_FILE_BYTES_MAX       (512ull << 20)
#define JOB_FILES_USER_BYTES_MAX (2ull << 30) /* of all jobs of a user that have not ended */

/* Opens or makes a directory of mode 0700 below another (AT_FDCWD: a path). */
int directory_make(int at_fd, const char *path);

/* A directory for a job that has no number yet. shared: another user (the job's) writes into `state`.
 * *ret_name: its name, to be freed. */
int job_directory_new(int jobs_fd, bool shared, char **ret_name);

/* Gives it the job's number. A directory that has it already, of a ledger that is no more, is kept as
 * N.before-… */
int job_directory_commit(int jobs_fd, const char *name, uint64_t job);
void job_directory_discard(int jobs_fd, const char *name);

/* The job has no directory from now on, also after a crash: what it had goes by a name of its own,
 * *ret_name, and is to be removed. -ENOENT: there was none. */
int job_directory_retire(int jobs_fd, uint64_t job, char **ret_name);

/* Whether job_directory_retire() gave this name, and to the directory of which job. */
bool job_directory_was(const char *name, uint64_t *ret_job);

bool job_directory_exists(int jobs_fd, uint64_t job);

/* Removes directories of submissions that a crash cut short; returns the names of those that
 * job_directory_retire() made. */
GPtrArray *job_directories_sweep(int jobs_fd);

/* The numbers of all jobs that have a directory. */
GArray *job_directories_list(int jobs_fd);

int job_state_open(int jobs_fd, uint64_t job);

/* For a process that may hang. Whether a caller's descriptor is of a directory that becomes a mount: 0 or
 * -EMEDIUMTYPE, with a reason if there is more to say (lib/directory.h); -EXDEV: by_system, and it lies
 * where the system's daemon and spawner see nothing. */
int job_directory_check(int fd, DirectoryKind kind, bool by_system, const char **ret_reason);

/* For a process that may hang. Whether it is a regular file of a local file system, and of how many
 * bytes. -EMEDIUMTYPE: it is neither; -EFBIG. */
int job_file_check(int fd, uint64_t *ret_bytes);
/* Checks the file as job_file_check() does, and copies it into the directory. */
int job_file_add(int directory_fd, const char *key, int fd);
int job_file_open(int jobs_fd, uint64_t job, const char *key);
void job_file_remove(int jobs_fd, uint64_t job, const char *key);

/* Opens the file of a checkpoint's row, whose content daemon/verify.h checks. -EUCLEAN: it is not a regular
 * file. */
int job_checkpoint_open(int jobs_fd, const LedgerCheckpoint *checkpoint);

/* The disk space of the files in a directory of this name, a job's number or what job_directory_new()
 * gave it: what the job brought, what it has left, and what it has reserved for its last checkpoint. Each
 * counts in whole blocks of 4 KiB. 0 also when there is none. */
uint64_t job_files_bytes(int jobs_fd, const char *name);

/* Removes all checkpoints up to round `newest` but the newest `keep`. A later one is just being written and
 * stays. */
void job_checkpoints_prune(int jobs_fd, uint64_t job, uint64_t newest, unsigned keep);
