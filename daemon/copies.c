/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The child holds nothing of the daemon's but what it copies from and to, and says how it went by one number on a pipe. */
#include "daemon/copies.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "daemon/files.h"
#include "daemon/line.h"
#include "include/bus.h"
#include "lib/cleanup.h"

#define COPY_TIMEOUT_USEC (60ull * 1000 * 1000)

static const char *const keys[] = { BUS_FILE_ENVIRONMENT, BUS_FILE_CHECKPOINT };

typedef struct Outcome {
        int error;     /* 0 or negative */
        uint32_t file; /* of keys */
} Outcome;

typedef struct Copy {
        Manager *manager;
        sd_bus_message *message;
        sd_bus_message_handler_t handler;
        uint32_t uid;
        uint64_t bytes; /* of its files, when it began */
        char *name;     /* of the directory; NULL: taken */
        int pid_fd, pipe_fd;
        sd_event_source *io, *timer;
        Outcome outcome;
} Copy;

static void copy_free(void *p) {
        Copy *copy = p;

        (void) sd_event_source_disable_unref(copy->io);
        (void) sd_event_source_disable_unref(copy->timer);
        /* Reaped by the daemon's SIGCHLD source; one that has ended is not killed. */
        if (copy->pid_fd >= 0)
                (void) pidfd_send_signal(copy->pid_fd, SIGKILL, NULL, 0);
        (void) close_fd(copy->pid_fd);
        (void) close_fd(copy->pipe_fd);
        if (copy->name)
                job_directory_discard(copy->manager->jobs_fd, copy->name);
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

/* The handler again, which takes the copy or hears what went wrong; whatever it leaves is removed. */
static void finish(Copy *copy, Outcome outcome) {
        sd_bus_message *message = copy->message;
        Manager *manager = copy->manager;

        copy->io = sd_event_source_disable_unref(copy->io);
        copy->timer = sd_event_source_disable_unref(copy->timer);
        copy->outcome = outcome;

        line_leave(manager->lines, LINE_COPIES, message);
        call_again(manager, message, copy->handler);
        (void) g_hash_table_remove(manager->copies, message);
}

static int on_outcome(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Outcome outcome;

        if (read(fd, &outcome, sizeof(outcome)) != sizeof(outcome) || outcome.error > 0 ||
                        outcome.file >= ELEMENTSOF(keys))
                outcome = (Outcome){ .error = -EIO };
        finish(userdata, outcome);
        return 0;
}

static int on_timeout(sd_event_source *source, uint64_t usec, void *userdata) {
        finish(userdata, (Outcome){ .error = -ETIMEDOUT });
        return 0;
}

/* All four side by side above everything that is open, and then everything else is closed: a child that hangs in a stranger's file must
 * not keep an invoker's socket or the ledger open when the daemon has gone. */
static int child_keep(int fds[], size_t n) {
        int floor = STDERR_FILENO + 1;

        for (size_t i = 0; i < n; i++)
                floor = MAX(floor, fds[i] + 1);
        for (size_t i = 0; i < n; i++) {
                if (fds[i] < 0)
                        continue;
                fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, floor);
                if (fds[i] < 0)
                        return -errno;
                if (fds[i] > floor && close_range((unsigned) floor, (unsigned) fds[i] - 1, 0) < 0)
                        return -errno;
                floor = fds[i] + 1;
        }
        return close_range((unsigned) floor, ~0u, 0) < 0 ? -errno : 0;
}

static _Noreturn void child_run(int directory_fd, int pipe_fd, int environment_fd, int checkpoint_fd) {
        int fds[] = { directory_fd, pipe_fd, environment_fd, checkpoint_fd };
        int lowest = STDERR_FILENO + 1, first = 0;
        Outcome outcome = {};

        (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
        (void) prctl(PR_SET_NAME, "actord-copy");

        outcome.error = child_keep(fds, ELEMENTSOF(fds));
        first = fds[0];
        if (outcome.error >= 0 && first > lowest)
                (void) close_range((unsigned) lowest, (unsigned) first - 1, 0);
        for (uint32_t i = 0; i < ELEMENTSOF(keys) && outcome.error >= 0; i++)
                if (fds[2 + i] >= 0)
                        outcome = (Outcome){ job_file_add(fds[0], keys[i], fds[2 + i]), i };

        (void) !write(fds[1], &outcome, sizeof(outcome));
        _exit(EXIT_SUCCESS);
}

static int start_child(Copy *copy, int directory_fd, int environment_fd, int checkpoint_fd) {
        _cleanup_close_ int write_fd = -EBADF;
        int pair[2];
        pid_t pid;

        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        copy->pipe_fd = pair[0];
        write_fd = pair[1];

        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                child_run(directory_fd, write_fd, environment_fd, checkpoint_fd);
        copy->pid_fd = pidfd_open(pid, 0);
        if (copy->pid_fd < 0) {
                int r = -errno;

                (void) kill(pid, SIGKILL);
                return r;
        }
        return 0;
}

static int watch(Copy *copy) {
        sd_event *event = copy->manager->event;
        int r;

        r = sd_event_add_io(event, &copy->io, copy->pipe_fd, EPOLLIN, on_outcome, copy);
        if (r < 0)
                return r;
        (void) sd_event_source_set_description(copy->io, "copy");
        return sd_event_add_time_relative(
                        event, &copy->timer, CLOCK_BOOTTIME, COPY_TIMEOUT_USEC, 0, on_timeout, copy);
}

static uint64_t bytes_of_files(int environment_fd, int checkpoint_fd) {
        const int fds[] = { environment_fd, checkpoint_fd };
        uint64_t bytes = 0;
        struct stat st;

        for (size_t i = 0; i < ELEMENTSOF(fds); i++)
                if (fds[i] >= 0 && fstat(fds[i], &st) >= 0)
                        bytes += MIN((uint64_t) st.st_size, JOB_FILE_BYTES_MAX);
        return bytes;
}

static uint64_t bytes_of_directory(int jobs_fd, const char *name) {
        uint64_t bytes = 0;
        char path[320];
        struct stat st;

        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                (void) snprintf(path, sizeof(path), "%s/%s", name, keys[i]);
                if (fstatat(jobs_fd, path, &st, AT_SYMLINK_NOFOLLOW) >= 0)
                        bytes += (uint64_t) st.st_size;
        }
        return bytes;
}

/* A job's files are removed when it ends. */
static int check_bytes(
                Manager *manager, uint32_t uid, const Copy *but, uint64_t bytes, sd_bus_error *error) {
        GHashTableIter iter;
        gpointer value;
        char name[24];

        for (guint i = 0; i < manager->jobs->len; i++) {
                const Job *job = manager->jobs->pdata[i];

                if (job->row.uid != uid || job->state == JOB_ENDED)
                        continue;
                (void) snprintf(name, sizeof(name), "%" PRIu64, job->row.id);
                bytes += bytes_of_directory(manager->jobs_fd, name);
        }
        g_hash_table_iter_init(&iter, manager->copies);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const Copy *copy = value;

                if (copy->uid == uid && copy != but)
                        bytes += copy->bytes;
        }
        if (bytes <= JOB_FILES_USER_BYTES_MAX)
                return 0;
        return sd_bus_error_setf(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                        "The files of your jobs that have not ended would take more than %llu GiB; "
                        "submit the job again when one of them has ended.",
                        JOB_FILES_USER_BYTES_MAX >> 30);
}

static int start(Manager *manager, sd_bus_message *message, sd_bus_message_handler_t handler, uint32_t uid,
                int environment_fd, int checkpoint_fd, sd_bus_error *error) {
        _cleanup_close_ int directory_fd = -EBADF;
        uint64_t bytes = bytes_of_files(environment_fd, checkpoint_fd);
        Copy *copy;
        int r;

        r = check_bytes(manager, uid, NULL, bytes, error);
        if (r < 0)
                return r;

        copy = g_new0(Copy, 1);
        *copy = (Copy){
                .manager = manager,
                .message = sd_bus_message_ref(message),
                .handler = handler,
                .uid = uid,
                .bytes = bytes,
                .pid_fd = -EBADF,
                .pipe_fd = -EBADF,
        };
        directory_fd = job_directory_new(manager->jobs_fd, manager_reserves_ids(manager), &copy->name);
        r = directory_fd < 0 ? directory_fd : start_child(copy, directory_fd, environment_fd, checkpoint_fd);
        if (r >= 0)
                r = watch(copy);
        if (r < 0) {
                copy_free(copy);
                return sd_bus_error_set_errnof(error, r, "The job's files cannot be copied into %s: %s.",
                                manager->state_directory, g_strerror(-r));
        }
        (void) g_hash_table_insert(manager->copies, message, copy);
        return 0;
}

static int complain(Outcome outcome, sd_bus_error *error) {
        const char *key = keys[outcome.file];

        switch (outcome.error) {
        case -EMEDIUMTYPE:
                return sd_bus_error_setf(error, SD_BUS_ERROR_INVALID_ARGS,
                                "The %s must be a regular file, open for reading, on a file system that no user serves.",
                                key);
        case -EFBIG:
                return sd_bus_error_setf(
                                error, SD_BUS_ERROR_INVALID_ARGS, "The %s is larger than 512 MiB.", key);
        case -ETIMEDOUT:
                return sd_bus_error_set(error, SD_BUS_ERROR_TIMEOUT,
                                "The job's files could not be copied within a minute.");
        default:
                return sd_bus_error_set_errnof(error, outcome.error,
                                "The %s could not be copied into the state directory: %s.", key,
                                g_strerror(-outcome.error));
        }
}

int copies_fetch(Manager *manager, sd_bus_message *message, sd_bus_message_handler_t handler, uint32_t uid,
                int environment_fd, int checkpoint_fd, char **ret_name, sd_bus_error *error) {
        Copy *copy;
        int r;

        assert(manager);
        assert(message);
        assert(ret_name);

        copy = g_hash_table_lookup(manager->copies, message);
        if (!copy) {
                r = line_enter(manager->lines, LINE_COPIES, message, uid, handler, error);
                if (r <= 0)
                        return r;
                r = start(manager, message, handler, uid, environment_fd, checkpoint_fd, error);
                if (r < 0)
                        line_leave(manager->lines, LINE_COPIES, message);
                return r;
        }
        if (copy->outcome.error < 0)
                return complain(copy->outcome, error);
        /* Once more, by what there is: a file may have grown before it was copied. */
        r = check_bytes(manager, uid, copy, bytes_of_directory(manager->jobs_fd, copy->name), error);
        if (r < 0)
                return r;
        *ret_name = g_steal_pointer(&copy->name);
        return 1;
}
