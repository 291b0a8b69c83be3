/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tests/unit/invoker-fixture.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/mount.h>

#include "lib/cleanup.h"
#include "tests/unit/text-fixture.h"

char programs[SIBLING_DIRECTORY_MAX];

bool programs_are_built(void) {
        g_autofree char *learner = NULL, *invoker = NULL;

        /* Tests and benches are in folders beside the programs. */
        if (sibling_directory(programs) < 0)
                return false;
        *strrchr(programs, '/') = 0;
        learner = g_build_filename(programs, "actord-learner", NULL);
        invoker = g_build_filename(programs, "actord-invoker", NULL);
        return access(learner, X_OK) >= 0 && access(invoker, X_OK) >= 0;
}

char *hostile;

void compile_hostile(void) {
        /* In the build folder, so that a killed test leaves no file elsewhere. */
        char *out = g_strdup_printf("%s/tests/hostile-env-%d.so", programs, (int) getpid());
        const char *argv[] = { "cc", "-shared", "-fPIC", "-O1", "-Iinclude", "-o", out,
                "tests/integration/hostile-env.c", "-lm", NULL };
        int status = 1;

        if (g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL,
                            NULL, NULL, NULL, &status, NULL) &&
                        status == 0)
                hostile = out;
        else
                g_free(out);
}

void job_init(Job *job, uint32_t level, const char *text) {
        g_autofree char *last = text_last_values(text), *message = NULL;

        *job = (Job){ .link = -EBADF, .spool_fd = -EBADF, .checkpoint_fd = -EBADF, .greedy = true };
        if (settings_parse(last, "test.conf", NULL, 0, NULL, &job->settings, &message) < 0)
                g_error("%s", message);
        job->directory = g_dir_make_tmp("actord-test-XXXXXX", NULL);
        g_assert_nonnull(job->directory);
        job->records = g_new0(Record, RECORDS_MAX);

        job->invoked.level = level;
        job->invoked.launch = (Launch){
                .abi = LAUNCH_ABI,
                .struct_bytes = sizeof(Launch),
                .job = 7,
                .life = 1,
                .uid_first = UID_FIRST,
                .n_uids = level == SANDBOX_LEVEL_FULL ? N_UIDS : 1,
                .sandbox = SANDBOX_CHOICE_AUTO,
                .exit_with_daemon = 1,
        };
        job->plan = (Plan){
                .abi = PLAN_ABI,
                .message = PLAN_MESSAGE_PLAN,
                .through_round = 1000000,
                .decision = { .id = 1, .n_actors = job->settings.n_actors },
        };
        g_strlcpy(job->invoked.directory, programs, sizeof(job->invoked.directory));
}

void job_make_cgroup(Job *job) {
        static const char *const files[] = { "cgroup.procs", "cgroup.subtree_control", "cgroup.threads" };
        uid_t owner = job->invoked.level == SANDBOX_LEVEL_FULL ? UID_FIRST : getuid();

        if (getuid() != 0 || access(CGROUP_ROOT "/cgroup.procs", W_OK) < 0)
                return;
        job->cgroup = g_strdup_printf("%s/actord-test-%d", CGROUP_ROOT, (int) getpid());
        if (g_mkdir(job->cgroup, 0755) < 0 && errno != EEXIST) {
                g_clear_pointer(&job->cgroup, g_free);
                return;
        }
        g_assert_cmpint(chown(job->cgroup, owner, owner), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *path = g_build_filename(job->cgroup, files[i], NULL);

                g_assert_cmpint(chown(path, owner, owner), ==, 0);
        }
        job->invoked.cgroup = INVOKER_CGROUP_OWN;
}

static int listen_in(const char *directory) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
        g_assert_cmpint(bind(fd, (struct sockaddr *) &address, sizeof(address)), ==, 0);
        g_assert_cmpint(listen(fd, 4), ==, 0);
        return fd;
}

static int connect_to(const char *directory) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", directory);
        g_assert_cmpint(connect(fd, (struct sockaddr *) &address, sizeof(address)), ==, 0);
        return fd;
}

static int open_program(const char *name, int flags) {
        g_autofree char *path = g_build_filename(programs, name, NULL);
        int fd = open(path, flags | O_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
        return fd;
}

static void write_map(pid_t pid, const char *name, const char *text) {
        g_autofree char *path = g_strdup_printf("/proc/%d/%s", (int) pid, name);
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        g_assert_cmpint(write(fd, text, strlen(text)), ==, strlen(text));
        close(fd);
}

/* Opens the plugin while still root: the tree may lie in a home that the ids of the test cannot read. */
static int open_plugin(const Job *job, bool namespaces) {
        if (!job->plugin)
                return -EBADF;
        return namespaces ? open_tree(AT_FDCWD, job->plugin, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)
                          : open(job->plugin, O_RDONLY | O_CLOEXEC);
}

static _Noreturn void become_invoker(const Job *job, int *fds, size_t n, int go, int program, int plugin) {
        /* The leak checker of a sanitizer's build reads /proc, which is out of reach in namespaces. */
        char *argv[] = { (char *) "actord-invoker", NULL },
             *leaks[] = { (char *) "ASAN_OPTIONS=detect_leaks=0", NULL }, *none[] = { NULL }, byte;

        if (read(go, &byte, 1) != 1)
                _exit(1);
        if (job->invoked.level >= SANDBOX_LEVEL_USERNS && (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0))
                _exit(1);
        if (job->plugin) {
                if (plugin < 0)
                        plugin = open_plugin(job, job->invoked.level >= SANDBOX_LEVEL_USERNS);
                if (plugin < 0 || (plugin = fcntl(plugin, F_DUPFD, 100)) < 0)
                        _exit(1);
        }
        program = fcntl(program, F_DUPFD_CLOEXEC, 100);
        for (size_t i = 0; i < n; i++)
                fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
        for (size_t i = 0; i < n; i++)
                if (dup2(fds[i], INVOKER_FD_INVOKED + (int) i) < 0)
                        _exit(1);
        if (plugin >= 0)
                (void) dup2(plugin, INVOKER_FD_MOUNTS);
        if (job->before_exec)
                job->before_exec();
        (void) syscall(SYS_execveat, program, "", argv,
                        job->invoked.level >= SANDBOX_LEVEL_USERNS ? leaks : none, AT_EMPTY_PATH);
        _exit(1);
}

bool job_start(Job *job) {
        bool namespaces = job->invoked.level >= SANDBOX_LEVEL_USERNS;
        struct clone_args args = {
                .flags = namespaces ? CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
                                                         CLONE_NEWIPC | CLONE_NEWUTS
                                    : 0,
                .exit_signal = SIGCHLD,
        };
        _cleanup_close_ int listening = listen_in(job->directory),
                            program = open_program("actord-invoker", O_RDONLY),
                            learner = open_program("actord-learner", O_PATH),
                            null = open("/dev/null", O_RDWR | O_CLOEXEC),
                            state = open(job->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), log = -EBADF,
                            cgroup = -EBADF, slice = -EBADF,
                            plugin = getuid() == 0 ? open_plugin(job, namespaces) : -EBADF;
        g_autofree char *log_path = g_build_filename(job->directory, "log", NULL);
        int go[2], fds[10];

        log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (job->cgroup)
                cgroup = open(job->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (job->slice)
                slice = open(job->slice, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fds[0] = memfd_make_sealed("invoked", &job->invoked, sizeof(job->invoked));
        fds[1] = memfd_make_sealed("settings", &job->settings, sizeof(job->settings));
        fds[2] = log;
        fds[3] = state;
        fds[4] = listening;
        fds[5] = job->checkpoint_fd >= 0 ? job->checkpoint_fd : null;
        fds[6] = cgroup >= 0 ? cgroup : null;
        fds[7] = learner;
        fds[8] = null; /* the programs are reached by their directory's path */
        fds[9] = slice >= 0 ? slice : null;
        if (namespaces && getuid() == 0)
                g_assert_cmpint(fchown(state, UID_FIRST + 65533, (gid_t) -1), ==, 0);

        g_assert_cmpint(pipe2(go, O_CLOEXEC), ==, 0);
        job->pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
        if (job->pid < 0)
                return false;
        if (job->pid == 0)
                become_invoker(job, fds, G_N_ELEMENTS(fds), go[0], program, plugin);

        if (namespaces) {
                g_autofree char *map = g_strdup_printf("0 %d %d", getuid() == 0 ? UID_FIRST : (int) getuid(),
                                getuid() == 0 ? N_UIDS : 1);

                if (getuid() != 0)
                        write_map(job->pid, "setgroups", "deny");
                write_map(job->pid, "gid_map", map);
                write_map(job->pid, "uid_map", map);
        }
        if (job->cgroup) {
                g_autofree char *path = g_build_filename(job->cgroup, "cgroup.procs", NULL),
                                *pid = g_strdup_printf("%d", (int) job->pid);

                g_assert_true(g_file_set_contents_full(path, pid, -1, G_FILE_SET_CONTENTS_NONE, 0644, NULL));
        }
        g_assert_cmpint(write(go[1], "x", 1), ==, 1);
        close(go[0]);
        close(go[1]);
        close(fds[0]);
        close(fds[1]);
        return true;
}

Hello job_connect(Job *job) {
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
        Hello hello;
        struct iovec iov = { &hello, sizeof(hello) };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
        };
        struct pollfd ready;
        void *map;

        close_fd(job->link);
        job->link = connect_to(job->directory);
        ready = (struct pollfd){ .fd = job->link, .events = POLLIN };
        g_assert_cmpint(poll(&ready, 1, WAIT_MSEC), ==, 1);
        g_assert_cmpint(recvmsg(job->link, &msg, MSG_CMSG_CLOEXEC), ==, sizeof(hello));
        g_assert_cmpuint(hello.abi, ==, PLAN_ABI);
        g_assert_cmpuint(hello.message, ==, PLAN_MESSAGE_HELLO);
        g_assert_nonnull(CMSG_FIRSTHDR(&msg));
        close_fd(job->spool_fd);
        memcpy(&job->spool_fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));

        if (!job->spool) {
                uint64_t bytes = sizeof(SpoolHead) + SPOOL_RECORDS * sizeof(Record);

                /* only the invoker may write to the spool */
                g_assert_cmpint(fd_map(job->spool_fd, bytes, true, &map), ==, -EPERM);
                g_assert_cmpint(fd_map(job->spool_fd, bytes, false, &map), ==, 0);
                job->spool = map;
                g_assert_cmpuint(job->spool->magic, ==, SPOOL_MAGIC);
        }
        return hello;
}

void job_send_plan(Job *job) {
        g_assert_cmpint(send(job->link, &job->plan, sizeof(job->plan), MSG_NOSIGNAL), ==, sizeof(job->plan));
}

bool job_read(Job *job) {
        uint64_t written = atomic_load(&job->spool->written);

        while (job->position < written) {
                const Record *record = (const Record *) (job->spool + 1) + job->position % SPOOL_RECORDS;

                g_assert_cmpuint(record->seq, ==, job->position + 1);
                g_assert_cmpuint(job->n_records, <, RECORDS_MAX);
                job->records[job->n_records++] = *record;
                job->position++;
                if (record->kind == RECORD_ENDED)
                        return true;
        }
        return false;
}

bool job_wait(Job *job) {
        struct pollfd ready = { .fd = job->link, .events = POLLIN };
        Written written;

        g_assert_cmpint(poll(&ready, 1, WAIT_MSEC), ==, 1);
        return recv(job->link, &written, sizeof(written), 0) == sizeof(written);
}

void job_reap(Job *job) {
        for (unsigned i = 0; i < WAIT_MSEC; i++) {
                pid_t pid = waitpid(job->pid, &job->status, WNOHANG);

                if (pid == job->pid) {
                        job->pid = 0;
                        return;
                }
                g_usleep(1000);
        }
        g_error("the invoker does not end");
}

const Record *job_finish(Job *job) {
        job_send_plan(job);
        while (!job_read(job)) {
                if (job->greedy && job->plan.acknowledged != job->position) {
                        job->plan.acknowledged = job->position;
                        job_send_plan(job);
                }
                g_assert_true(job_wait(job));
        }
        job->plan.acknowledged = job->position;
        (void) send(job->link, &job->plan, sizeof(job->plan), MSG_NOSIGNAL);
        job_reap(job);
        return &job->records[job->n_records - 1];
}

bool container_is_frozen(const Job *job, unsigned container) {
        g_autofree char *path = g_strdup_printf("%s/actor-%u/cgroup.events", job->cgroup, container),
                        *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) && strstr(text, "frozen 1");
}

bool container_becomes_frozen(const Job *job, unsigned container) {
        for (unsigned i = 0; i < WAIT_MSEC; i++) {
                if (container_is_frozen(job, container))
                        return true;
                g_usleep(1000);
        }
        return false;
}

/* Duplicates the first descriptor of a process that leads to `target`. -ENOENT: there is none yet. */
static int take_fd(pid_t pid, int pid_fd, const char *target) {
        g_autofree char *path = g_strdup_printf("/proc/%d/fd", (int) pid);
        g_autoptr(GDir) directory = g_dir_open(path, 0, NULL);
        const char *name;

        while (directory && (name = g_dir_read_name(directory))) {
                g_autofree char *link = g_build_filename(path, name, NULL),
                                *to = g_file_read_link(link, NULL);
                int fd;

                if (!to || strcmp(to, target) != 0)
                        continue;
                fd = (int) syscall(SYS_pidfd_getfd, pid_fd, atoi(name), 0);
                return fd < 0 ? -errno : fd;
        }
        return directory ? -ENOENT : -EPERM;
}

WorkerPage *job_take_page(const Job *job, const char *worker, uint64_t bytes) {
        _cleanup_close_ int pid_fd = (int) syscall(SYS_pidfd_open, job->pid, 0), fd = -ENOENT;
        g_autofree char *target = g_strdup_printf("/memfd:%s (deleted)", worker);
        void *map;

        for (unsigned i = 0; i < WAIT_MSEC && fd == -ENOENT; i++) {
                g_usleep(1000);
                fd = take_fd(job->pid, pid_fd, target);
        }
        if (fd == -EPERM)
                return NULL;
        g_assert_cmpint(fd_map(fd, bytes, true, &map), ==, 0);
        return map;
}

uint64_t actors_cpu_nsec(const Job *job) {
        g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", (int) job->pid, (int) job->pid),
                        *children = NULL;
        g_auto(GStrv) pids = NULL;
        uint64_t sum = 0;

        if (!g_file_get_contents(path, &children, NULL, NULL))
                return 0;
        pids = g_strsplit(g_strstrip(children), " ", -1);
        for (unsigned i = 0; pids[i]; i++) {
                g_autofree char *comm = g_strdup_printf("/proc/%s/comm", pids[i]), *name = NULL,
                                *schedstat = g_strdup_printf("/proc/%s/schedstat", pids[i]), *text = NULL;

                if (g_file_get_contents(comm, &name, NULL, NULL) && g_str_has_prefix(name, "actord-actor") &&
                                g_file_get_contents(schedstat, &text, NULL, NULL))
                        sum += g_ascii_strtoull(text, NULL, 10);
        }
        return sum;
}

void wait_until_it_hangs(const Job *job, uint64_t before_nsec) {
        enum { HANGS_NSEC = 50000000 };

        for (unsigned i = 0; i < WAIT_MSEC && actors_cpu_nsec(job) < before_nsec + HANGS_NSEC; i++)
                g_usleep(1000);
        g_assert_cmpuint(actors_cpu_nsec(job), >=, before_nsec + HANGS_NSEC);
}

void job_done(Job *job) {
        if (job->pid > 0) {
                (void) kill(job->pid, SIGKILL);
                (void) waitpid(job->pid, NULL, 0);
        }
        close_fd(job->link);
        close_fd(job->spool_fd);
        close_fd(job->checkpoint_fd);
        if (job->spool)
                fd_unmap(job->spool, sizeof(SpoolHead) + SPOOL_RECORDS * sizeof(Record));
        if (job->cgroup) {
                g_autofree char *own = g_build_filename(job->cgroup, "invoker", NULL);

                /* The invoker has removed its children's leaves. The spawner removes the invoker's own. */
                (void) g_rmdir(own);
                g_assert_cmpint(g_rmdir(job->cgroup), ==, 0);
                g_free(job->cgroup);
        }
        if (job->directory) {
                g_autoptr(GDir) dir = g_dir_open(job->directory, 0, NULL);
                const char *name;

                while (dir && (name = g_dir_read_name(dir))) {
                        g_autofree char *path = g_build_filename(job->directory, name, NULL);

                        (void) g_unlink(path);
                }
                (void) g_rmdir(job->directory);
        }
        g_free(job->directory);
        g_free(job->records);
}

void job_print_log(const Job *job) {
        g_autofree char *path = g_build_filename(job->directory, "log", NULL), *text = NULL;

        if (g_file_get_contents(path, &text, NULL, NULL) && text[0])
                g_test_message("%s", text);
        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].fault != FAULT_NONE)
                        g_test_message("%s of %d: %s (%d)", record_kind_to_string(job->records[i].kind),
                                        (int) job->records[i].actor, fault_to_string(job->records[i].fault),
                                        job->records[i].detail);
}

const Record *job_run(Job *job) {
        const Record *ended;

        (void) job_connect(job);
        ended = job_finish(job);
        job_print_log(job);
        return ended;
}

unsigned job_count(const Job *job, uint32_t kind, bool wasted) {
        unsigned n = 0;

        for (size_t i = 0; i < job->n_records; i++)
                n += job->records[i].kind == kind && (job->records[i].wasted != 0) == wasted;
        return n;
}

const Record *job_find(const Job *job, uint32_t kind) {
        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].kind == kind)
                        return &job->records[i];
        g_error("no record of kind %s", record_kind_to_string(kind));
}

bool job_start_or_skip(Job *job) {
        if (job_start(job))
                return true;
        g_assert_cmpuint(job->invoked.level, >=, SANDBOX_LEVEL_USERNS);
        g_test_skip("this machine gives no user namespaces here");
        job_done(job);
        return false;
}

bool job_init_hostile(Job *job, uint32_t level, const char *text) {
        if (!hostile) {
                g_test_skip("no compiler for the hostile environment");
                return false;
        }
        job_init(job, level, text);
        job->plugin = hostile;
        job->invoked.launch.n_mounts = 1;
        job->invoked.launch.mounts[0] = (LaunchMount){ .at = PLUGIN_DIRECTORY "hostile.so", .read_only = 1 };
        return true;
}

gpointer level_process(void) {
        return GUINT_TO_POINTER(SANDBOX_LEVEL_PROCESS);
}

gpointer level_full(void) {
        return GUINT_TO_POINTER(getuid() == 0 ? SANDBOX_LEVEL_FULL : SANDBOX_LEVEL_USERNS);
}

bool job_tests_init(int *argc, char ***argv) {
#ifdef __SANITIZE_THREAD__
        /* ThreadSanitizer runs a thread of its own in each process. So the invoker would fork with several
         * threads, which our sandboxes refuse. */
        printf("1..0 # SKIP processes that fork without exec are not for ThreadSanitizer\n");
        return false;
#endif
        g_test_init(argc, argv, NULL);
        if (!programs_are_built()) {
                g_print("1..0 # SKIP actord-invoker and actord-learner are not built\n");
                return false;
        }
        compile_hostile();
        return true;
}

int job_tests_run(void) {
        int r = g_test_run();

        if (hostile)
                (void) g_unlink(hostile);
        return r;
}

void job_round(Job *job, uint64_t round, uint32_t n_actors) {
        job->plan.through_round = round;
        job->plan.decision.n_actors = n_actors;
        job_send_plan(job);
        while (job_read(job), job_count(job, RECORD_ROUND, false) < round)
                g_assert_true(job_wait(job));
}
