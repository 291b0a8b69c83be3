/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A job's directory, STATE/jobs/N. It has copies of the files that came with the job, and in `state` the
 * checkpoints that the job writes. All are reached through descriptors; a user's path is never opened. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/ledger/ledger.h"
#include "lib/directory.h"

#define JOB_FILE_BYTES_MAX       (512ull << 20)
#define JOB_FILES_USER_BYTES_MAX (2ull << 30) /* for all jobs of a user that have not ended */

/* Opens or makes a directory of mode 0700 in another one (AT_FDCWD: path is a path). */
int directory_make(int at_fd, const char *path);

/* Makes a directory for a job that has no number yet. shared: the job, as another user, writes into `state`.
 * *ret_name: the directory's name, to be freed. */
int job_directory_new(int jobs_fd, bool shared, char **ret_name);

/* Renames the directory to the job's number. If an earlier ledger left a directory with this number, that
 * one is renamed to N.before-… */
int job_directory_commit(int jobs_fd, const char *name, uint64_t job);
void job_directory_discard(int jobs_fd, const char *name);

/* Takes the job's directory away from it for good, even if the daemon crashes: the directory gets another
 * name, *ret_name, and must be removed. -ENOENT: there was none. */
int job_directory_retire(int jobs_fd, uint64_t job, char **ret_name);

/* Whether job_directory_retire() made this name; *ret_job: the job whose directory it was. */
bool job_directory_was(const char *name, uint64_t *ret_job);

bool job_directory_exists(int jobs_fd, uint64_t job);

/* Removes directories of submissions that a crash interrupted. Returns the names that job_directory_retire()
 * made. */
GPtrArray *job_directories_sweep(int jobs_fd);

/* The numbers of all jobs that have a directory. */
GArray *job_directories_list(int jobs_fd);

int job_state_open(int jobs_fd, uint64_t job);

/* Call this in a process that may hang. Checks whether a caller's descriptor is a directory that can be
 * mounted. by_system: this daemon is the system's. 0; -EMEDIUMTYPE, with a reason if there is more to say
 * (lib/directory.h); -EXDEV: the system's daemon and spawner cannot see the directory. */
int job_directory_check(int fd, DirectoryKind kind, bool by_system, const char **ret_reason);

/* Call this in a process that may hang. Whether a caller's descriptor is a regular file, open for reading
 * and not on FUSE, and its size. -EMEDIUMTYPE: it is not; -EFBIG: the file is too large. */
int job_file_check(int fd, uint64_t *ret_bytes);
/* Checks the file as job_file_check() does, and copies it into the directory. */
int job_file_add(int directory_fd, const char *key, int fd);
int job_file_open(int jobs_fd, uint64_t job, const char *key);
void job_file_remove(int jobs_fd, uint64_t job, const char *key);

/* Opens the file of a checkpoint's row, whose content daemon/verify.h checks. -EUCLEAN: it is not a regular
 * file, or its name has a slash. */
int job_checkpoint_open(int jobs_fd, const LedgerCheckpoint *checkpoint);

/* The disk space of the files in a directory, by its name: a job's number, or a name from
 * job_directory_new(). It counts the files that came with the job, those that it wrote, and the space
 * reserved for its last checkpoint, each in whole blocks of 4 KiB. 0 also if the directory does not
 * exist. */
uint64_t job_files_bytes(int jobs_fd, const char *name);

/* Removes all but the newest `keep` of the checkpoints up to round `newest`. A later checkpoint has no row
 * in the ledger yet, and stays. */
void job_checkpoints_prune(int jobs_fd, uint64_t job, uint64_t newest, unsigned keep);
