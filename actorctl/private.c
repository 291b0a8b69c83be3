/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Starts the private daemon of run mode. The daemon gets only a socket and a state directory from this
 * program. It does not get standard output, which is for the result, or Ctrl-C, which is for this
 * program. */
#include "actorctl/private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "actorctl/actorctl.h"
#include "include/launch.h"
#include "lib/cleanup.h"
#include "lib/limits.h"
#include "lib/sibling.h"
#include "lib/tree.h"

#define RUNS_KEPT         20u /* runs with a policy, and as many without, besides the newest run */
#define CHECKPOINT_SUFFIX ".safetensors"
#define FAR_FD            3 /* in the started program: its end of the socket */
#define LOCK_ATTEMPTS     200u
#define LOCK_WAIT_USEC    10000
#define DAEMON_END_MSEC   15000
#define DAEMON_FATE_MSEC  2000

extern char **environ;

static uint64_t run_number(const char *name) {
        uint64_t n;

        return g_ascii_string_to_unsigned(name, 10, 1, UINT64_MAX, &n, NULL) ? n : 0;
}

static int compare_numbers(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

        return (x > y) - (x < y);
}

/* The numbers of all runs, ascending. */
static GArray *run_numbers(const char *runs) {
        GArray *numbers = g_array_new(FALSE, FALSE, sizeof(uint64_t));
        _cleanup_closedir_ DIR *directory = opendir(runs);

        for (struct dirent *entry; directory && (entry = readdir(directory));) {
                uint64_t n = run_number(entry->d_name);

                if (n > 0)
                        g_array_append_val(numbers, n);
        }
        g_array_sort(numbers, compare_numbers);
        return numbers;
}

GArray *run_directory_numbers(void) {
        g_autofree char *runs = g_build_filename(g_get_user_state_dir(), "actord", "runs", NULL);

        return run_numbers(runs);
}

static int lock_directory(const char *path, int flags, int lock) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);

        if (fd < 0)
                return -errno;
        if (flock(fd, lock | LOCK_NB) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int run_directory_lock(const char *path) {
        return lock_directory(path, O_NOFOLLOW, LOCK_EX);
}

/* Locks a run's directory for reading. The user named the path, so it may be a link. */
int run_directory_lock_shared(const char *path) {
        return lock_directory(path, 0, LOCK_SH);
}

/* Whether the state directory of a job has a checkpoint of round `first` or a later one. */
static bool state_has_checkpoint(const char *state, uint64_t first) {
        g_autoptr(GDir) files = g_dir_open(state, 0, NULL);
        const char *file;

        while (files && (file = g_dir_read_name(files))) {
                uint64_t round;

                if (g_str_has_suffix(file, CHECKPOINT_SUFFIX) &&
                                sscanf(file, CHECKPOINT_NAME, &round) == 1 && round >= first)
                        return true;
        }
        return false;
}

static bool has_checkpoint(const char *path, uint64_t first) {
        g_autofree char *jobs = g_build_filename(path, "jobs", NULL);
        g_autoptr(GDir) directory = g_dir_open(jobs, 0, NULL);
        const char *job;

        while (directory && (job = g_dir_read_name(directory))) {
                g_autofree char *state = g_build_filename(jobs, job, "state", NULL);

                if (state_has_checkpoint(state, first))
                        return true;
        }
        return false;
}

bool run_directory_has_checkpoint(const char *path) {
        return has_checkpoint(path, 0);
}

/* Whether a run has a trained policy. A job that fails at once leaves a checkpoint of round 0, which does
 * not count. */
static bool has_policy(const char *path) {
        return has_checkpoint(path, 1);
}

typedef struct Run {
        char *path;
        int64_t ended_nsec; /* since 1970: when its files last changed */
} Run;

static void run_clear(gpointer data) {
        Run *run = data;

        g_free(run->path);
}

static int64_t changed_nsec(const char *path) {
        struct stat st;

        if (lstat(path, &st) < 0)
                return 0;
        return (int64_t) st.st_mtim.tv_sec * G_GINT64_CONSTANT(1000000000) + st.st_mtim.tv_nsec;
}

/* The run that ended last comes first. Otherwise a run of hours would be gone as soon as it ended, if twenty
 * others began meanwhile. */
static int compare_ends(gconstpointer a, gconstpointer b) {
        const Run *x = a, *y = b;

        return (x->ended_nsec < y->ended_nsec) - (x->ended_nsec > y->ended_nsec);
}

static GArray *runs_by_end(const char *runs) {
        g_autoptr(GArray) numbers = run_numbers(runs);
        GArray *found = g_array_new(FALSE, FALSE, sizeof(Run));

        g_array_set_clear_func(found, run_clear);
        for (guint i = numbers->len; i > 0; i--) {
                Run run = { .path = g_strdup_printf("%s/%" G_GUINT64_FORMAT, runs,
                                            g_array_index(numbers, uint64_t, i - 1)) };
                g_autofree char *ledger = g_build_filename(run.path, "ledger.sqlite", NULL);

                run.ended_nsec = MAX(changed_nsec(run.path), changed_nsec(ledger));
                g_array_append_val(found, run);
        }
        g_array_sort(found, compare_ends);
        return found;
}

/* Removes the oldest run directories beyond RUNS_KEPT, and counts runs with and without a policy separately:
 * a run without a policy never displaces a run with a policy. It keeps runs in progress, which hold a lock
 * on their directory. */
void run_directories_prune(const char *newest) {
        g_autofree char *directory = g_path_get_dirname(newest);
        g_autoptr(GArray) runs = runs_by_end(directory);
        unsigned kept[2] = {};

        for (guint i = 0; i < runs->len; i++) {
                const char *path = g_array_index(runs, Run, i).path;
                _cleanup_close_ int lock = -EBADF;

                if (g_str_equal(path, newest) || ++kept[has_policy(path)] <= RUNS_KEPT)
                        continue;
                lock = run_directory_lock(path);
                if (lock >= 0)
                        run_directory_remove(path);
        }
}

/* Locks the directory of a new run. `actorctl runs` locks each directory for a moment, and may lock this one
 * first, so this function tries several times. */
static int lock_new(const char *path) {
        int lock = run_directory_lock(path);

        for (unsigned i = 0; lock == -EWOULDBLOCK && i < LOCK_ATTEMPTS; i++) {
                g_usleep(LOCK_WAIT_USEC);
                lock = run_directory_lock(path);
        }
        return lock;
}

static int make_numbered(const char *runs, char **ret_path, int *ret_lock) {
        g_autoptr(GArray) numbers = NULL;
        uint64_t next;

        if (g_mkdir_with_parents(runs, 0700) < 0)
                return -errno;
        numbers = run_numbers(runs);
        next = numbers->len > 0 ? g_array_index(numbers, uint64_t, numbers->len - 1) + 1 : 1;
        for (unsigned attempt = 0; attempt < 1000; attempt++, next++) {
                g_autofree char *path = g_strdup_printf("%s/%" G_GUINT64_FORMAT, runs, next);
                int lock;

                if (mkdir(path, 0700) < 0) {
                        if (errno == EEXIST)
                                continue;
                        return -errno;
                }
                lock = lock_new(path);
                if (lock < 0)
                        return lock;
                *ret_lock = lock;
                *ret_path = g_steal_pointer(&path);
                return 0;
        }
        return -EEXIST;
}

int run_directory_make(bool keep, char **ret_path, int *ret_lock, bool *ret_temporary) {
        g_autofree char *runs = g_build_filename(g_get_user_state_dir(), "actord", "runs", NULL),
                        *path = NULL;
        int r = keep ? make_numbered(runs, ret_path, ret_lock) : -EPERM;

        if (r >= 0) {
                *ret_temporary = false;
                return 0;
        }
        path = g_dir_make_tmp("actord-XXXXXX", NULL);
        if (!path) {
                complain("no directory can be made for the run, neither in %s nor in %s", runs,
                                g_get_tmp_dir());
                return -EACCES;
        }
        if (keep)
                complain("%s cannot be written: %s; the run's state stays in %s", runs, g_strerror(-r),
                                path);
        *ret_lock = -EBADF;
        *ret_path = g_steal_pointer(&path);
        *ret_temporary = !keep;
        return 0;
}

/* A number always names a daemon's job, even if a run's directory has this name. */
bool word_names_run(const char *word) {
        g_autofree char *ledger = g_build_filename(word, "ledger.sqlite", NULL);

        if (strspn(word, "0123456789") == strlen(word))
                return false;
        return (word[0] == 'r' && run_number(word + 1) > 0) || access(ledger, F_OK) == 0;
}

bool word_is_closed(const char *word) {
        g_autofree char *ledger = g_build_filename(word, "ledger.sqlite", NULL);

        return access(ledger, F_OK) < 0 && errno == EACCES;
}

char *run_directory_of(const char *word) {
        const char *number = word + (word[0] == 'r');

        if (run_number(number) == 0)
                return g_canonicalize_filename(word, NULL);
        return g_build_filename(g_get_user_state_dir(), "actord", "runs", number, NULL);
}

/* Whether a run's directory was removed. Numbers ascend, so each number below the newest run's was once a
 * run. */
static bool was_removed(const char *runs, const char *directory, uint64_t number) {
        g_autoptr(GArray) numbers = run_numbers(runs);

        return !g_file_test(directory, G_FILE_TEST_EXISTS) && numbers->len > 0 &&
               number < g_array_index(numbers, uint64_t, numbers->len - 1);
}

ExitStatus run_directory_check(const char *directory, const char *word) {
        g_autofree char *ledger = g_build_filename(directory, "ledger.sqlite", NULL),
                        *runs = g_path_get_dirname(directory), *called = run_directory_word(directory);
        uint64_t number = run_number(word + (word[0] == 'r'));

        if (access(ledger, F_OK) == 0)
                return STATUS_OK;
        if (errno == EACCES) {
                complain("%s cannot be opened: permission denied; ask its owner for a copy", directory);
                return STATUS_FAILED;
        }
        if (number == 0)
                complain("There is no run in %s: it has no ledger.sqlite.", directory);
        else if (was_removed(runs, directory, number))
                complain("There is no run %s in %s: it was removed; the newest %u are kept.", called, runs,
                                RUNS_KEPT);
        else
                complain("There is no run %s in %s; `actorctl runs` lists them.", called, runs);
        return STATUS_USAGE;
}

char *run_directory_word(const char *path) {
        g_autofree char *runs = g_build_filename(g_get_user_state_dir(), "actord", "runs", NULL),
                        *parent = g_path_get_dirname(path), *name = g_path_get_basename(path);

        return g_str_equal(parent, runs) && run_number(name) > 0 ? g_strconcat("r", name, NULL)
                                                                 : g_strdup(path);
}

void run_directory_remove(const char *path) {
        (void) tree_remove(AT_FDCWD, path, UINT_MAX);
}

bool run_directory_is_state(const char *path) {
        static const char *const names[] = { "jobs", "run", NULL };
        _cleanup_closedir_ DIR *directory = NULL;
        struct dirent *entry;
        struct stat st;

        if (lstat(path, &st) < 0)
                return errno == ENOENT;
        directory = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
        while (directory && (entry = readdir(directory)))
                if (!g_strv_contains(names, entry->d_name) &&
                                !g_str_has_prefix(entry->d_name, "ledger.sqlite") &&
                                strspn(entry->d_name, ".") != strlen(entry->d_name))
                        return false;
        return directory;
}

/* Returns the directory of actord's other programs: the one of this program in a build tree, otherwise the
 * installed one. */
char *private_directory(void) {
        char directory[SIBLING_DIRECTORY_MAX];

        if (sibling_directory(directory) >= 0) {
                g_autofree char *path = g_build_filename(directory, "actord", NULL);

                if (access(path, X_OK) == 0)
                        return g_strdup(directory);
        }
        return g_strdup(ACTORD_LIBEXECDIR);
}

char *private_program_path(const char *program) {
        g_autofree char *directory = private_directory();

        return g_build_filename(directory, program, NULL);
}

int private_spawn(const char *program, const char *const argv[], int fd, int stderr_fd, pid_t *ret) {
        g_autofree char *path = private_program_path(program);
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t none, all;
        int r;

        (void) sigemptyset(&none);
        (void) sigfillset(&all);
        (void) posix_spawn_file_actions_init(&actions);
        (void) posix_spawn_file_actions_adddup2(&actions, stderr_fd, STDERR_FILENO);
        (void) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
        (void) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        (void) posix_spawn_file_actions_adddup2(&actions, fd, FAR_FD);
        (void) posix_spawn_file_actions_addclosefrom_np(&actions, FAR_FD + 1);
        (void) posix_spawnattr_init(&attributes);
        (void) posix_spawnattr_setsigmask(&attributes, &none);
        (void) posix_spawnattr_setsigdefault(&attributes, &all);
        (void) posix_spawnattr_setflags(
                        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
        r = -posix_spawn(ret, path, &actions, &attributes, (char *const *) argv, environ);
        (void) posix_spawnattr_destroy(&attributes);
        (void) posix_spawn_file_actions_destroy(&actions);
        if (r < 0)
                complain("%s cannot be started: %s%s", path, g_strerror(-r), limit_advice(r));
        return r;
}

int private_daemon_start(const char *state_directory, const char *option, int stderr_fd, pid_t *ret_pid) {
        g_autofree char *state = g_strconcat("--state=", state_directory, NULL);
        const char *argv[] = { "actord", "--run-fd=3", state, option, NULL };
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
                r = -errno;
                complain("no socket can be made for the private daemon: %s%s", g_strerror(-r),
                                limit_advice(r));
                return r;
        }
        r = private_spawn("actord", argv, pair[1], stderr_fd, ret_pid);
        (void) close_fd(pair[1]);
        if (r < 0) {
                (void) close_fd(pair[0]);
                return r;
        }
        return pair[0];
}

static bool wait_exit(pid_t pid, int timeout_msec) {
        _cleanup_close_ int fd = pidfd_open(pid, 0);
        struct pollfd p = { fd, POLLIN, 0 };
        int r;

        if (fd < 0)
                return false;
        do
                r = poll(&p, 1, timeout_msec);
        while (r < 0 && errno == EINTR);
        return r > 0;
}

static const char *memory_advice(void) {
        return limit_of_memory_is_set() ? limit_advice(-ENOMEM) : "";
}

char *private_daemon_fate(pid_t pid) {
        siginfo_t info = {};
        const char *name, *advice;

        if (!wait_exit(pid, DAEMON_FATE_MSEC) ||
                        waitid(P_PID, (id_t) pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
                        info.si_pid != pid)
                return g_strdup("has closed its connection unexpectedly");
        if (info.si_code == CLD_EXITED)
                return g_strdup_printf(
                                "ended unexpectedly (exit status %d%s)", info.si_status, memory_advice());
        name = sigabbrev_np(info.si_status);
        advice = limit_signal_advice(info.si_status);
        return g_strdup_printf("ended unexpectedly (signal %d [SIG%s]%s)", info.si_status, name ? name : "",
                        *advice ? advice : memory_advice());
}

int private_daemon_wait(pid_t pid) {
        int status = 0;

        if (!wait_exit(pid, DAEMON_END_MSEC)) {
                complain("the private daemon (process %d) does not end and is killed", (int) pid);
                (void) kill(pid, SIGKILL);
        }
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return status;
}
