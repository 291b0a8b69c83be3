/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A child process copies the files. It has only the descriptors that it copies from and to, and reports the
 * result by a record on a socket. The daemon does not have the caller's descriptors (daemon/gate.h). The
 * child checks each directory before the daemon gets its descriptor. */
#include "daemon/copies.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "daemon/helper.h"
#include "daemon/descriptors.h"
#include "daemon/files.h"
#include "daemon/gate.h"
#include "daemon/line.h"
#include "daemon/sources.h"
#include "include/bus.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"

#define COPY_TIMEOUT_USEC (60ull * 1000 * 1000)

/* The name that the copy of each file gets. NULL: the file is not copied. */
static const char *const keys[_COPY_FILE_MAX] = {
        [COPY_ENVIRONMENT] = BUS_FILE_ENVIRONMENT,
        [COPY_CHECKPOINT] = BUS_FILE_CHECKPOINT,
        [COPY_DATASET] = BUS_FILE_DATASET,
};

/* The child's report. The child sends a report when it has checked the files, and another when it has copied
 * them. If the check fails, it sends no second report. */
typedef struct Outcome {
        int error;      /* 0 or negative */
        uint32_t file;  /* CopyFile */
        uint64_t bytes; /* of all files to be copied */
        uint32_t done, reserved;
        char reason[192]; /* with -EMEDIUMTYPE: more about the reason, if there is more */
} Outcome;

typedef struct Copy {
        Manager *manager;
        sd_bus_message *message;
        sd_bus_message_handler_t handler;
        uint32_t uid;
        uint64_t bytes; /* of the call's files, as far as known */
        char *name;     /* the name of the job's new directory; NULL: the handler has taken it */
        int pid_fd, channel;
        CopyRequest request;
        Directories directories; /* the caller's, checked; passed on at the end */
        sd_event_source *io, *timer;
        Outcome outcome;
} Copy;

static void copy_free(void *p) {
        Copy *copy = p;

        (void) sd_event_source_disable_unref(copy->io);
        (void) sd_event_source_disable_unref(copy->timer);
        helper_end(copy->channel, copy->pid_fd);
        directories_drop(&copy->directories);
        if (copy->name)
                job_directory_discard(copy->manager->context.jobs_fd, copy->name);
        g_free(copy->name);
        copy->message = sd_bus_message_unref(copy->message);
        g_free(copy);
}

void copies_init(Manager *manager) {
        assert(manager);

        manager->copies = g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, copy_free);
}

bool copies_has(const Manager *manager, sd_bus_message *message) {
        assert(manager);

        return g_hash_table_contains(manager->copies, message) ||
               line_has(manager->lines, LINE_COPIES, message);
}

/* Repeats the method call that waited for this copy. Its handler takes over the copied files, or gets the
 * error. A copy that no handler took over is removed. */
static void finish(Copy *copy, Outcome outcome) {
        sd_bus_message *message = copy->message;
        Manager *manager = copy->manager;

        copy->io = sd_event_source_disable_unref(copy->io);
        copy->timer = sd_event_source_disable_unref(copy->timer);
        copy->outcome = outcome;

        line_leave(manager->lines, LINE_COPIES, message);
        call_again(manager->lines, message, copy->handler);
        (void) g_hash_table_remove(manager->copies, message);
}

static uint64_t bytes_of_directory(int jobs_fd, const char *name) {
        uint64_t bytes = 0;
        char path[320];
        struct stat st;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                if (!keys[i])
                        continue;
                (void) snprintf(path, sizeof(path), "%s/%s", name, keys[i]);
                if (fstatat(jobs_fd, path, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                        bytes += (uint64_t) st.st_size;
        }
        return bytes;
}

/* The bytes of the files of a user's jobs, and of copies that are not finished yet. Ended jobs do not
 * count. */
static uint64_t bytes_of_user(Manager *manager, uint32_t uid) {
        GHashTableIter iter;
        uint64_t bytes = 0;
        gpointer value;
        char name[24];

        JOBS_FOREACH (job, &manager->context.jobs) {
                if (job->row.uid != uid || job->state == JOB_ENDED)
                        continue;
                (void) snprintf(name, sizeof(name), "%" PRIu64, job->row.id);
                bytes += bytes_of_directory(manager->context.jobs_fd, name);
        }
        g_hash_table_iter_init(&iter, manager->copies);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const Copy *copy = value;

                if (copy->uid == uid)
                        bytes += copy->bytes;
        }
        return bytes;
}

/* Takes the directories from the child, which sends them in the order of their kinds: all of them, or none.
 * False: the child sent more than the call brought; the surplus is closed. */
static bool take_directories(Copy *copy, int fds[], size_t n) {
        size_t n_taken = 0;

        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX && n > 0; kind++)
                if (copy->request.tokens[COPY_DIRECTORY + kind] >= 0)
                        copy->directories.fds[kind] = n_taken < n ? fds[n_taken++] : -EBADF;
        for (size_t i = n_taken; i < n; i++)
                directory_fd_drop(fds[i]);
        return n_taken == n;
}

static int on_outcome(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Copy *copy = userdata;
        int fds[_DIRECTORY_KIND_MAX];
        Outcome outcome;
        size_t n, n_fds = 0;
        int r;

        r = message_receive(fd, 0, &outcome, sizeof(outcome), &n, fds, ELEMENTSOF(fds), &n_fds);
        if (r < 0 || !take_directories(copy, fds, n_fds) || n != sizeof(outcome) || outcome.error > 0 ||
                        outcome.file >= _COPY_FILE_MAX)
                outcome = (Outcome){ .error = -EIO };
        if (outcome.error == -EXDEV && outcome.file < COPY_DIRECTORY)
                outcome.error = -EIO; /* later code takes -EXDEV for a hidden directory */
        outcome.reason[sizeof(outcome.reason) - 1] = '\0';
        if (outcome.error >= 0 && !outcome.done) {
                copy->bytes = outcome.bytes;
                if (bytes_of_user(copy->manager, copy->uid) <= JOB_FILES_USER_BYTES_MAX)
                        return 0;
                outcome.error = -EDQUOT;
        }
        finish(copy, outcome);
        return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        finish(userdata, (Outcome){ .error = -ETIMEDOUT });
        return 0;
}

static int child_look_directory(const Copy *copy, int fd, Outcome *outcome) {
        DirectoryKind kind = outcome->file - COPY_DIRECTORY;
        const char *reason = NULL;
        int r;

        r = job_directory_check(fd, kind, copy->manager->context.mode == DAEMON_SYSTEM, &reason);
        if (r < 0 && reason)
                (void) snprintf(outcome->reason, sizeof(outcome->reason), "%s", reason);
        return r;
}

/* Checks the caller's own descriptors in the child. Each access to them may hang. */
static Outcome child_look(const Copy *copy, int fds[]) {
        Outcome outcome = {};
        uint64_t bytes = 0;

        for (; outcome.file < _COPY_FILE_MAX; outcome.file++) {
                int *fd = fds + outcome.file;

                if (*fd < 0)
                        continue;
                *fd = gate_fetch(*fd);
                if (*fd < 0)
                        outcome.error = *fd;
                else if (keys[outcome.file])
                        outcome.error = job_file_check(*fd, &bytes);
                else
                        outcome.error = child_look_directory(copy, *fd, &outcome);
                if (outcome.error < 0)
                        return outcome;
                outcome.bytes += bytes;
                bytes = 0;
        }
        outcome.file = 0;
        return outcome;
}

static Outcome child_copy(int directory_fd, const int fds[]) {
        for (uint32_t i = 0; i < _COPY_FILE_MAX; i++) {
                int r = fds[i] >= 0 && keys[i] ? job_file_add(directory_fd, keys[i], fds[i]) : 0;

                if (r < 0)
                        return (Outcome){ .error = r, .file = i };
        }
        return (Outcome){ .done = 1 };
}

static size_t child_list_directories(const int files[], int ret[]) {
        size_t n = 0;

        for (DirectoryKind kind = 0; kind < _DIRECTORY_KIND_MAX; kind++)
                if (files[COPY_DIRECTORY + kind] >= 0)
                        ret[n++] = files[COPY_DIRECTORY + kind];
        return n;
}

static _Noreturn void child_run(const Copy *copy, int directory_fd, int channel, const int tokens[]) {
        int fds[2 + _COPY_FILE_MAX] = { directory_fd, channel }, *files = fds + 2;
        int directories[_DIRECTORY_KIND_MAX];
        Outcome outcome = {};
        int r;

        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-copy");

        memcpy(files, tokens, _COPY_FILE_MAX * sizeof(int));
        r = fd_keep_only(fds, ELEMENTSOF(fds));
        if (r < 0)
                outcome.error = r;
        else
                outcome = child_look(copy, files);
        if (outcome.error >= 0 && message_send(fds[1], &outcome, sizeof(outcome), NULL, 0) >= 0)
                outcome = child_copy(fds[0], files);
        (void) message_send(fds[1], &outcome, sizeof(outcome), directories,
                        outcome.done ? child_list_directories(files, directories) : 0);
        _exit(EXIT_SUCCESS);
}

static int watch(Copy *copy) {
        sd_event *event = copy->manager->context.event;
        int r;

        r = reading_start(event, &copy->io, "copy", copy->channel, on_outcome, copy);
        if (r < 0)
                return r;
        return deadline_start(event, &copy->timer, "copy-timeout", COPY_TIMEOUT_USEC, on_timeout, copy);
}

static int start(Manager *manager, sd_bus_message *message, sd_bus_message_handler_t handler, uint32_t uid,
                const CopyRequest *request, sd_bus_error *error) {
        _cleanup_close_ int directory_fd = -EBADF;
        Copy *copy;
        int r;

        copy = g_new0(Copy, 1);
        *copy = (Copy){
                .manager = manager,
                .message = sd_bus_message_ref(message),
                .handler = handler,
                .uid = uid,
                .pid_fd = -EBADF,
                .channel = -EBADF,
                .directories = DIRECTORIES_NONE,
                .request = *request,
        };
        directory_fd = job_directory_new(
                        manager->context.jobs_fd, context_reserves_ids(&manager->context), &copy->name);
        r = directory_fd < 0 ? directory_fd : helper_start(SOCK_SEQPACKET, &copy->channel, &copy->pid_fd);
        if (r > 0)
                child_run(copy, directory_fd, copy->channel, request->tokens);
        if (r >= 0)
                r = watch(copy);
        if (r < 0) {
                copy_free(copy);
                return sd_bus_error_set_errnof(error, r, "The job's files cannot be copied into %s: %s.",
                                manager->context.state_directory, g_strerror(-r));
        }
        (void) g_hash_table_insert(manager->copies, message, copy);
        return 0;
}

static int complain(Outcome outcome, sd_bus_error *error) {
        g_autofree char *directory = NULL;
        const char *key = keys[outcome.file];

        if (!key) {
                directory = g_strdup_printf(
                                "directory of %s=", directory_row(outcome.file - COPY_DIRECTORY)->key);
                key = directory;
        }

        switch (outcome.error) {
        case -EXDEV: return outcome.error;
        case -ENOLINK:
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "The %s cannot be reached: too many of the descriptors that you sent are on "
                                "file systems that do not answer.",
                                key);
        case -EMEDIUMTYPE:
                if (outcome.reason[0])
                        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS, "The %s is refused: %s.",
                                        key, outcome.reason);
                if (outcome.file >= COPY_DIRECTORY)
                        return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                        "The %s must be a directory on another file system than FUSE.", key);
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                "The %s must be a regular file, open for reading, on another file system "
                                "than FUSE.",
                                key);
        case -EFBIG:
                return sd_bus_error_setf(
                                error, SD_BUS_ERROR_INVALID_ARGS, "The %s is larger than 512 MiB.", key);
        case -EDQUOT:
                return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                "The files of your jobs that have not ended would take more than %llu GiB; "
                                "submit the job again when one of them has ended.",
                                JOB_FILES_USER_BYTES_MAX >> 30);
        case -ETIMEDOUT:
                return sd_bus_error_set(error, SD_BUS_ERROR_TIMEOUT,
                                "The job's files could not be copied within a minute: their file system is "
                                "too slow, or does not answer.");
        default:
                return sd_bus_error_set_errnof(error, outcome.error,
                                "The %s could not be copied into the state directory: %s.", key,
                                g_strerror(-outcome.error));
        }
}

int copies_fetch(Manager *manager, sd_bus_message *message, sd_bus_message_handler_t handler, uint32_t uid,
                const CopyRequest *request, char **ret_name, Directories *ret_directories,
                DirectoryKind *ret_hidden, sd_bus_error *error) {
        Copy *copy;
        int r;

        assert(manager);
        assert(message);
        assert(request);
        assert(ret_name && ret_directories && ret_hidden);

        copy = g_hash_table_lookup(manager->copies, message);
        if (!copy) {
                r = line_enter(manager->lines, LINE_COPIES, message, uid, handler, error);
                if (r <= 0)
                        return r;
                r = start(manager, message, handler, uid, request, error);
                if (r < 0)
                        line_leave(manager->lines, LINE_COPIES, message);
                return r;
        }
        if (copy->outcome.error == -EXDEV)
                *ret_hidden = copy->outcome.file - COPY_DIRECTORY;
        if (copy->outcome.error < 0)
                return complain(copy->outcome, error);
        /* Checks the quota again with the bytes of the copy: a file may have grown before it was copied. */
        copy->bytes = bytes_of_directory(manager->context.jobs_fd, copy->name);
        if (bytes_of_user(manager, uid) > JOB_FILES_USER_BYTES_MAX)
                return complain((Outcome){ .error = -EDQUOT }, error);
        *ret_name = g_steal_pointer(&copy->name);
        *ret_directories = copy->directories;
        copy->directories = DIRECTORIES_NONE;
        return 1;
}
