/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Checks records. The spawner trusts no part of a record before these checks. The daemon parses users'
 * texts, so a hostile user may have taken over the daemon and written the record. */
#include "spawner/spawner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "lib/directory.h"
#include "lib/string-tables.h"

int answer_fail(LaunchAnswer *answer, LaunchStep step, int error, const char *format, ...) {
        va_list ap;

        answer->step = step;
        answer->error = error;
        va_start(ap, format);
        (void) vsnprintf(answer->message, sizeof(answer->message), format, ap);
        va_end(ap);
        return error;
}

static int refuse(LaunchAnswer *answer, const char *what) {
        return answer_fail(answer, LAUNCH_STEP_MESSAGE, -EBADMSG,
                        "the daemon's launch record is refused: %s", what);
}

/* Whether the path is absolute and needs no resolving: it has no empty, "." or ".." component, and no slash
 * at its end. */
static bool path_is_clean(const char *path, size_t size) {
        size_t n = strnlen(path, size), from = 1;

        if (n == size || n < 2 || path[0] != '/')
                return false;
        for (size_t i = 1; i <= n; i++) {
                size_t length = i - from;

                if (path[i] != '/' && path[i] != '\0') {
                        if ((unsigned char) path[i] < 0x20 || path[i] == 0x7f)
                                return false;
                        continue;
                }
                if (length == 0 || (length <= 2 && strncmp(path + from, "..", length) == 0))
                        return false;
                from = i + 1;
        }
        return true;
}

bool launch_mount_is_plugin(const LaunchMount *mount) {
        return strncmp(mount->at, PLUGIN_DIRECTORY, strlen(PLUGIN_DIRECTORY)) == 0 &&
               !strchr(mount->at + strlen(PLUGIN_DIRECTORY), '/');
}

static bool is_dataset(const LaunchMount *mount) {
        return strcmp(mount->at, DATASET_FILE) == 0;
}

/* Checks the paths at which a job's files are mounted. All these mounts are read-only: through writable
 * files, actors could talk to each other. */
static bool mounts_are_clean(const Launch *launch) {
        for (uint32_t i = 0; i < launch->n_mounts; i++) {
                const LaunchMount *mount = &launch->mounts[i];

                if (!path_is_clean(mount->at, sizeof(mount->at)) || mount->read_only != 1 ||
                                mount->reserved != 0)
                        return false;
                if (directory_kind_at(mount->at) == _DIRECTORY_KIND_MAX && !launch_mount_is_plugin(mount) &&
                                !is_dataset(mount))
                        return false;
                for (uint32_t k = 0; k < i; k++)
                        if (strcmp(mount->at, launch->mounts[k].at) == 0)
                                return false;
        }
        return true;
}

/* If root runs the spawner, a job gets only ids of the reserved range: never an id of a person or a service,
 * and never 0. A job's ids begin a part of the range and stay in it, so jobs in two parts have no id in
 * common. If another user runs the spawner, it can only give that user's id. */
static bool ids_are_ours(const Launch *launch, uid_t uid) {
        if (uid != 0)
                return launch->n_uids == 1 && launch->uid_first == uid;
        return launch->n_uids >= 1 && launch->n_uids <= UIDS_MAX && launch->uid_first >= UID_RANGE_FIRST &&
               launch->uid_first < UID_RANGE_END && (launch->uid_first - UID_RANGE_FIRST) % UIDS_MAX == 0;
}

int launch_check(const Launch *launch, size_t n_bytes, size_t n_fds, uid_t uid, LaunchAnswer *answer) {
        if (n_bytes != sizeof(Launch))
                return refuse(answer,
                                "its size is wrong (are actord and actord-spawn from the same version?)");
        if (launch->abi != LAUNCH_ABI || launch->struct_bytes != sizeof(Launch))
                return refuse(answer,
                                "its version is wrong (are actord and actord-spawn from the same version?)");
        if (launch->job == 0 || launch->life == 0)
                return refuse(answer, "jobs and lives count from 1");
        if (launch->purpose > LAUNCH_WEIGH || launch->manager > LAUNCH_MANAGER_NONE ||
                        launch->sandbox >= _SANDBOX_CHOICE_MAX || launch->scope_each > ACTORS_MAX ||
                        launch->exit_with_daemon > 1 || launch->has_checkpoint > 1 || launch->journal > 1 ||
                        launch->cluster > (launch->purpose == LAUNCH_TRAIN) ||
                        launch->cpu_weight > (launch->purpose >= LAUNCH_REMOVE ? SHARES_KERNEL_MAX : 0))
                return refuse(answer, "a field holds an unknown value");
        if ((launch->purpose == LAUNCH_TRIAL || launch->purpose == LAUNCH_NODE) &&
                        (launch->manager != LAUNCH_MANAGER_NONE || launch->scope_each))
                return refuse(answer, "a trial or a node must not name a service manager");
        if (launch->owner > INT32_MAX)
                return refuse(answer, "its owner is not a process id");
        if (launch->purpose >= LAUNCH_SETTLE)
                return n_fds == 0 && launch->n_mounts == 0
                                       ? 0
                                       : refuse(answer, "it has descriptors but starts nothing");
        if (launch->n_mounts > LAUNCH_MOUNTS_MAX || n_fds != _LAUNCH_FD_FIXED + launch->n_mounts)
                return refuse(answer, "the number of descriptors is wrong");
        if (!mounts_are_clean(launch))
                return refuse(answer, "a mount is writable, or at a path that is not for mounts");
        if (!ids_are_ours(launch, uid))
                return refuse(answer, "this spawner may not give out its user ids");
        return 0;
}

int launch_check_terms(const Launch *launch, const Terms *terms, LaunchAnswer *answer) {
        if (terms->system && (launch->manager != LAUNCH_MANAGER_SYSTEM || launch->exit_with_daemon))
                return refuse(answer, "a job of the system needs a scope of the system's manager, and "
                                      "outlives the daemon");
        if (terms->system && (launch->cluster || launch->purpose == LAUNCH_NODE))
                return refuse(answer, "nodes of a cluster belong to users, and the system's spawner starts "
                                      "nothing for them");
        if (launch->purpose >= LAUNCH_SETTLE || launch->sandbox == SANDBOX_CHOICE_AUTO ||
                        sandbox_choice_level(launch->sandbox) >= terms->least_sandbox)
                return 0;
        return answer_fail(answer, LAUNCH_STEP_MESSAGE, -EPERM,
                        "[Actor] Sandbox=%s is weaker than %s, the least that actord-spawn.service allows "
                        "(--least-sandbox=)",
                        sandbox_level_to_string(sandbox_choice_level(launch->sandbox)),
                        sandbox_level_to_string(terms->least_sandbox));
}

static int check_mount(const LaunchMount *mount, int fd, LaunchAnswer *answer) {
        const char *reason = NULL;
        struct stat st;
        int r;

        if (launch_mount_is_plugin(mount) || is_dataset(mount))
                return fstat(fd, &st) >= 0 && S_ISREG(st.st_mode)
                                       ? 0
                                       : refuse(answer, "a plugin or a data set is not a regular file");
        r = directory_check(fd, directory_kind_at(mount->at), &reason);
        if (r < 0)
                return answer_fail(answer, LAUNCH_STEP_MESSAGE, r, "the directory for %s is refused: %s",
                                mount->at, reason ? reason : strerror(-r));
        return 0;
}

static bool is_sealed_memory(int fd) {
        int seals = fcntl(fd, F_GET_SEALS), wanted = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;

        return seals >= 0 && (seals & wanted) == wanted;
}

static bool is_listening(int fd) {
        int value = 0;
        socklen_t n = sizeof(value);

        if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &n) < 0 || value != SOCK_SEQPACKET)
                return false;
        return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &n) >= 0 && value == 1;
}

static int check_fds_of_job(const Launch *launch, const int fds[], LaunchAnswer *answer) {
        struct stat st;

        if (fstat(fds[LAUNCH_FD_STATE], &st) < 0 || !S_ISDIR(st.st_mode))
                return refuse(answer, "the state directory is not a directory");
        if (!is_listening(fds[LAUNCH_FD_SOCKET]))
                return refuse(answer, "the socket is not a listening SEQPACKET socket");
        if (fstat(fds[LAUNCH_FD_CHECKPOINT], &st) < 0 ||
                        !(launch->has_checkpoint ? S_ISREG(st.st_mode) : S_ISCHR(st.st_mode)))
                return refuse(answer,
                                "the checkpoint is not a regular file, or the record does not announce it");
        return 0;
}

static int check_fds_of_trial(const int fds[], LaunchAnswer *answer) {
        struct stat st;

        if (fstat(fds[LAUNCH_FD_STATE], &st) < 0 || !S_ISREG(st.st_mode))
                return refuse(answer, "the descriptor for a trial's verdict is not a regular file");
        if (fstat(fds[LAUNCH_FD_SOCKET], &st) < 0 || !S_ISFIFO(st.st_mode))
                return refuse(answer, "the descriptor for a trial's rows is not a pipe");
        if (!is_sealed_memory(fds[LAUNCH_FD_CHECKPOINT]))
                return refuse(answer, "a trial's request is not sealed memory");
        return 0;
}

static bool is_null(int fd) {
        struct stat st, null;

        return fstat(fd, &st) >= 0 && stat("/dev/null", &null) >= 0 && S_ISCHR(st.st_mode) &&
               st.st_rdev == null.st_rdev;
}

static int check_fds_of_node(const int fds[], LaunchAnswer *answer) {
        int value = 0;
        socklen_t n = sizeof(value);

        if (!is_null(fds[LAUNCH_FD_STATE]) || !is_null(fds[LAUNCH_FD_CHECKPOINT]))
                return refuse(answer, "a node's launch has files of a job");
        if (getsockopt(fds[LAUNCH_FD_SOCKET], SOL_SOCKET, SO_TYPE, &value, &n) < 0 || value != SOCK_STREAM)
                return refuse(answer, "a node's stream is not a STREAM socket");
        return 0;
}

static int check_fds_by_purpose(const Launch *launch, const int fds[], LaunchAnswer *answer) {
        switch ((LaunchPurpose) launch->purpose) {
        case LAUNCH_TRIAL: return check_fds_of_trial(fds, answer);
        case LAUNCH_NODE: return check_fds_of_node(fds, answer);
        default: return check_fds_of_job(launch, fds, answer);
        }
}

int launch_check_fds(const Launch *launch, const int fds[], LaunchAnswer *answer) {
        struct stat st;
        int r;

        if (!is_sealed_memory(fds[LAUNCH_FD_SETTINGS]))
                return refuse(answer, "the settings are not sealed memory");
        if (fstat(fds[LAUNCH_FD_STDERR], &st) < 0 || S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
                return refuse(answer, "the descriptor for stderr is a directory or a block device");
        r = check_fds_by_purpose(launch, fds, answer);
        if (r < 0)
                return r;

        for (uint32_t i = 0; i < launch->n_mounts; i++) {
                r = check_mount(&launch->mounts[i], fds[_LAUNCH_FD_FIXED + i], answer);
                if (r < 0)
                        return r;
        }
        return 0;
}
