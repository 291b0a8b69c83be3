/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The invoker among its neighbours: the test plays spawner and daemon, the learner and the actors are the real ones. Each story runs a
 * small CartPole job, or a plugin that misbehaves, and reads what its records say. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <linux/sched.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/launch.h"
#include "include/plan.h"
#include "include/record.h"
#include "include/sandbox.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/settings.h"
#include "lib/sibling.h"
#include "lib/words.h"

#define CGROUP_ROOT "/sys/fs/cgroup/unified"

enum { UID_FIRST = 300000, N_UIDS = 65536, WAIT_MSEC = 30000, RECORDS_MAX = 16384 };

typedef struct Job {
        Invoked invoked;
        JobSettings settings;
        char *directory;    /* its state, and its socket */
        char *cgroup;       /* NULL: none */
        const char *plugin; /* NULL: a built-in environment */
        int checkpoint_fd;  /* to restore from */
        pid_t pid;
        int link, spool_fd;
        SpoolHead *spool;
        uint64_t position;
        Plan plan;
        bool greedy; /* acknowledges at once */
        Record *records;
        size_t n_records;
        int status;
} Job;

static char programs[SIBLING_DIRECTORY_MAX];
static char *hostile;

static bool programs_are_built(void) {
        g_autofree char *learner = g_build_filename(programs, "actord-learner", NULL),
                        *invoker = g_build_filename(programs, "actord-invoker", NULL);

        return access(learner, X_OK) >= 0 && access(invoker, X_OK) >= 0;
}

static void job_init(Job *job, uint32_t level, const char *text) {
        g_autofree char *message = NULL;

        *job = (Job){ .link = -EBADF, .spool_fd = -EBADF, .checkpoint_fd = -EBADF, .greedy = true };
        if (settings_parse(text, "test.conf", NULL, 0, NULL, &job->settings, &message) < 0)
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

/* A cgroup as the spawner would hand it over, where root can make one. */
static void job_make_cgroup(Job *job) {
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

static _Noreturn void become_invoker(const Job *job, int *fds, size_t n, int go, int program) {
        char *argv[] = { (char *) "actord-invoker", NULL }, *none[] = { NULL }, byte;
        int plugin = -1;

        if (read(go, &byte, 1) != 1)
                _exit(1);
        if (job->invoked.level >= SANDBOX_LEVEL_USERNS && (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0))
                _exit(1);
        if (job->plugin) {
                plugin = job->invoked.level >= SANDBOX_LEVEL_USERNS
                                         ? open_tree(AT_FDCWD, job->plugin, OPEN_TREE_CLONE)
                                         : open(job->plugin, O_RDONLY);
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
        (void) syscall(SYS_execveat, program, "", argv, none, AT_EMPTY_PATH);
        _exit(1);
}

/* Plays the spawner. False: this machine does not give the level. */
static bool job_start(Job *job) {
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
                            cgroup = -EBADF;
        g_autofree char *log_path = g_build_filename(job->directory, "log", NULL);
        int go[2], fds[8];

        job->invoked.is_pid1 = namespaces;
        log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        if (job->cgroup)
                cgroup = open(job->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fds[0] = memfd_make_sealed("invoked", &job->invoked, sizeof(job->invoked));
        fds[1] = memfd_make_sealed("settings", &job->settings, sizeof(job->settings));
        fds[2] = log;
        fds[3] = state;
        fds[4] = listening;
        fds[5] = job->checkpoint_fd >= 0 ? job->checkpoint_fd : null;
        fds[6] = cgroup >= 0 ? cgroup : null;
        fds[7] = learner;
        if (namespaces && getuid() == 0)
                g_assert_cmpint(fchown(state, UID_FIRST + 65533, (gid_t) -1), ==, 0);

        g_assert_cmpint(pipe2(go, O_CLOEXEC), ==, 0);
        job->pid = (pid_t) syscall(SYS_clone3, &args, sizeof(args));
        if (job->pid < 0)
                return false;
        if (job->pid == 0)
                become_invoker(job, fds, G_N_ELEMENTS(fds), go[0], program);

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

/* Plays the daemon: connects, hears Hello. */
static Hello job_connect(Job *job) {
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

                /* Nobody but the invoker may write there. */
                g_assert_cmpint(fd_map(job->spool_fd, bytes, true, &map), ==, -EPERM);
                g_assert_cmpint(fd_map(job->spool_fd, bytes, false, &map), ==, 0);
                job->spool = map;
                g_assert_cmpuint(job->spool->magic, ==, SPOOL_MAGIC);
        }
        return hello;
}

static void job_send_plan(Job *job) {
        g_assert_cmpint(send(job->link, &job->plan, sizeof(job->plan), MSG_NOSIGNAL), ==, sizeof(job->plan));
}

/* Copies the records there are. True: the last one is there. */
static bool job_read(Job *job) {
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

static bool job_wait(Job *job) {
        struct pollfd ready = { .fd = job->link, .events = POLLIN };
        Written written;

        g_assert_cmpint(poll(&ready, 1, WAIT_MSEC), ==, 1);
        return recv(job->link, &written, sizeof(written), 0) == sizeof(written);
}

static void job_reap(Job *job) {
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

/* Reads on to the last record, and acknowledges. */
static const Record *job_finish(Job *job) {
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

static void job_done(Job *job) {
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
                /* The invoker has removed its leaves, and this is all that is left. */
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

static void job_print_log(const Job *job) {
        g_autofree char *path = g_build_filename(job->directory, "log", NULL), *text = NULL;

        if (g_file_get_contents(path, &text, NULL, NULL) && text[0])
                g_test_message("%s", text);
        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].fault != FAULT_NONE)
                        g_test_message("%s of %d: %s (%d)", record_kind_to_string(job->records[i].kind),
                                        (int) job->records[i].actor, fault_to_string(job->records[i].fault),
                                        job->records[i].detail);
}

static const Record *job_run(Job *job) {
        const Record *ended;

        (void) job_connect(job);
        ended = job_finish(job);
        job_print_log(job);
        return ended;
}

static unsigned count(const Job *job, uint32_t kind, bool wasted) {
        unsigned n = 0;

        for (size_t i = 0; i < job->n_records; i++)
                n += job->records[i].kind == kind && (job->records[i].wasted != 0) == wasted;
        return n;
}

static const Record *find(const Job *job, uint32_t kind) {
        for (size_t i = 0; i < job->n_records; i++)
                if (job->records[i].kind == kind)
                        return &job->records[i];
        g_error("no record of kind %s", record_kind_to_string(kind));
}

static bool skip_level(Job *job, uint32_t level) {
        if (level < SANDBOX_LEVEL_USERNS || job->pid > 0)
                return false;
        g_test_skip("this machine gives no user namespaces here");
        return true;
}

#define CARTPOLE                                                                                                 \
        "[Job]\nEnvironment=CartPole-v1\nStopSteps=2560\nSeed=3\n[Scaling]\nActors=4\n[Actor]\nEnvsPerActor=2\n" \
        "RolloutSteps=32\nMemoryMax=512M\n[Learner]\nMinibatchSize=64\nEpochs=2\n"

/* 10 rounds of 256 steps. */
static void check_training(const Job *job, const Record *ended) {
        uint64_t cpu = 0;

        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(ended->fault, ==, FAULT_NONE);
        g_assert_cmpuint(ended->round, ==, 10);
        g_assert_cmpuint(ended->statistics.n_env_steps, ==, 2560);
        g_assert_cmpuint(count(job, RECORD_ROUND, false), ==, 10);
        g_assert_cmpuint(count(job, RECORD_UPDATE, false), ==, 10);
        g_assert_cmpuint(count(job, RECORD_ROLLOUT, false), ==, 40);
        g_assert_cmpuint(count(job, RECORD_CHECKPOINT, false), ==, 1);
        g_assert_cmpint(job->status, ==, 0);

        for (size_t i = 0; i < job->n_records; i++) {
                const Record *r = &job->records[i];

                cpu += r->metered.cpu_nsec;
                g_assert_cmpuint(r->life, ==, 1);
                g_assert_cmpuint(r->metered.start_nsec, <=, r->metered.end_nsec);
                if (r->kind == RECORD_ROLLOUT) {
                        g_assert_cmpuint(r->metered.n_steps, ==, 64);
                        g_assert_cmpuint(r->metered.memory_reserved_bytes, ==, 512ull << 20);
                        g_assert_cmpuint(r->ordinal, ==, r->round - 1);
                        g_assert_cmpuint(r->metered.emulated_nsec, >=, r->metered.cpu_nsec);
                }
        }
        g_assert_cmpuint(cpu, >, 0);
        if (ended->scope_cpu_nsec > 0) {
                double off = fabs((double) cpu - (double) ended->scope_cpu_nsec) /
                             (double) ended->scope_cpu_nsec;

                g_test_message("books: %.3f ms in records, %.3f ms in the cgroup, %.2f %% apart",
                                (double) cpu / 1e6, (double) ended->scope_cpu_nsec / 1e6, off * 100);
                /* A job of a few milliseconds: the kernel counts in ticks what ends between two of them. */
                g_assert_cmpfloat(off, <, 0.05);
        }
}

static uint8_t reference[32];
static bool has_reference;

/* The same job gives the same policy, whoever computes it where. */
static void check_policy(const Record *ended) {
        if (!has_reference)
                memcpy(reference, ended->sha256, sizeof(reference));
        has_reference = true;
        g_assert_cmpmem(reference, sizeof(reference), ended->sha256, sizeof(ended->sha256));
}

static void test_train(gconstpointer data) {
        static const char *const processes[] = { "", "[Actor]\nProcesses=1\n", "[Actor]\nProcesses=3\n" };
        uint32_t level = GPOINTER_TO_UINT(data);

        for (size_t i = 0; i < G_N_ELEMENTS(processes); i++) {
                g_autofree char *text = g_strconcat(CARTPOLE, processes[i], NULL);
                const Record *ended;
                Job job;

                job_init(&job, level, text);
                job_make_cgroup(&job);
                if (!job_start(&job) && skip_level(&job, level)) {
                        job_done(&job);
                        return;
                }
                ended = job_run(&job);
                check_training(&job, ended);
                check_policy(ended);
                g_assert_cmpuint(find(&job, RECORD_STARTED)->level, ==, level);
                job_done(&job);
        }
}

/* Kills some actor of the job: a child of the invoker's with that name. */
static bool kill_an_actor(pid_t invoker) {
        g_autofree char *path = g_strdup_printf("/proc/%d/task/%d/children", (int) invoker, (int) invoker),
                        *children = NULL;
        g_auto(GStrv) pids = NULL;

        if (!g_file_get_contents(path, &children, NULL, NULL))
                return false;
        pids = g_strsplit(children, " ", -1);
        for (size_t i = 0; pids[i]; i++) {
                g_autofree char *comm_path = g_strdup_printf("/proc/%s/comm", pids[i]), *comm = NULL;

                if (g_file_get_contents(comm_path, &comm, NULL, NULL) &&
                                g_str_has_prefix(comm, "actord-actor"))
                        return kill(atoi(pids[i]), SIGKILL) == 0;
        }
        return false;
}

/* Actors are killed while they work; the policy is the same, and the waste has its own lines. */
static void test_killed(gconstpointer data) {
        uint32_t level = GPOINTER_TO_UINT(data);
        unsigned n_kills = 0;
        const Record *ended;
        Job job;

        job_init(&job, level, CARTPOLE);
        if (!job_start(&job) && skip_level(&job, level)) {
                job_done(&job);
                return;
        }
        (void) job_connect(&job);
        for (uint64_t round = 1; round < 10; round++) {
                job.plan.through_round = round;
                job_send_plan(&job);
                while (job_read(&job), count(&job, RECORD_ROUND, false) < round)
                        g_assert_true(job_wait(&job));
                n_kills += kill_an_actor(job.pid);
        }
        job.plan.through_round = 1000;
        ended = job_finish(&job);
        job_print_log(&job);
        g_assert_cmpuint(n_kills, >, 0);
        g_assert_cmpuint(count(&job, RECORD_FAULT, false), ==, n_kills);
        check_training(&job, ended);
        check_policy(ended);
        job_done(&job);
}

/* A checkpoint in the middle, another life from there, the same policy. */
static void test_next_life(void) {
        g_autofree char *path = NULL;
        const Record *ended;
        Job first, second;

        job_init(&first, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        g_assert_true(job_start(&first));
        (void) job_connect(&first);
        first.plan.through_round = 4;
        job_send_plan(&first);
        while (job_read(&first), count(&first, RECORD_ROUND, false) < 4)
                g_assert_true(job_wait(&first));
        first.plan.end = PLAN_END_INTERRUPTED;
        ended = job_finish(&first);
        g_assert_cmpuint(ended->end, ==, PLAN_END_INTERRUPTED);
        g_assert_cmpuint(count(&first, RECORD_CHECKPOINT, false), ==, 1);

        job_init(&second, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        path = g_strdup_printf("%s/" CHECKPOINT_NAME, first.directory, (uint64_t) 4);
        second.checkpoint_fd = open(path, O_RDONLY | O_CLOEXEC);
        g_assert_cmpint(second.checkpoint_fd, >=, 0);
        second.invoked.launch.has_checkpoint = 1;
        second.invoked.launch.resume_round = 4;
        second.invoked.launch.life = 2;
        g_assert_true(job_start(&second));
        ended = job_run(&second);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(ended->life, ==, 2);
        g_assert_cmpuint(count(&second, RECORD_ROUND, false), ==, 6);
        check_policy(ended);
        job_done(&first);
        job_done(&second);
}

static void test_evaluate(void) {
        g_autofree char *path = NULL;
        const Record *ended;
        Job train, evaluate;
        uint64_t seen = 0;

        job_init(&train, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        g_assert_true(job_start(&train));
        (void) job_run(&train);

        job_init(&evaluate, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        path = g_strdup_printf("%s/" CHECKPOINT_NAME, train.directory, (uint64_t) 10);
        evaluate.checkpoint_fd = open(path, O_RDONLY | O_CLOEXEC);
        evaluate.invoked.launch.has_checkpoint = 1;
        evaluate.invoked.launch.resume_round = 10;
        evaluate.invoked.launch.purpose = LAUNCH_EVALUATE;
        evaluate.invoked.launch.n_episodes = 6;
        g_assert_true(job_start(&evaluate));
        ended = job_run(&evaluate);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(count(&evaluate, RECORD_EVALUATION, false), ==, 6);
        for (size_t i = 0; i < evaluate.n_records; i++)
                if (evaluate.records[i].kind == RECORD_EVALUATION) {
                        seen |= 1u << evaluate.records[i].ordinal;
                        g_assert_cmpfloat(evaluate.records[i].statistics.evaluation_mean, ==,
                                        (double) evaluate.records[i].metered.n_steps);
                }
        g_assert_cmpuint(seen, ==, 0x3f);
        job_done(&train);
        job_done(&evaluate);
}

static void test_verify(void) {
        const Record *ended;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        job.invoked.launch.purpose = LAUNCH_VERIFY;
        g_assert_true(job_start(&job));
        ended = job_run(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(count(&job, RECORD_STARTED, false), ==, 1);
        g_assert_cmpuint(count(&job, RECORD_WORKER, false), ==, 1);
        job_done(&job);
}

/* The daemon goes and comes back: what it did not read is still there, and the lease goes on meanwhile. */
static void test_reconnect(void) {
        const Record *ended;
        Hello hello;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        job.invoked.launch.exit_with_daemon = 0;
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job.plan.through_round = 5;
        job_send_plan(&job);
        job.link = close_fd(job.link);

        for (unsigned i = 0; i < WAIT_MSEC && atomic_load(&job.spool->written) < 5 * 6; i++)
                g_usleep(1000);
        g_usleep(20000);
        hello = job_connect(&job);
        g_assert_cmpuint(hello.round, ==, 5);
        g_assert_cmpuint(hello.through_round, ==, 5);
        g_assert_cmpuint(hello.decision.n_actors, ==, 4);
        job.plan.through_round = 1000;
        ended = job_finish(&job);
        check_training(&job, ended);
        check_policy(ended);
        job_done(&job);
}

/* In run mode nobody is left when the daemon is gone. */
static void test_alone(void) {
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job.link = close_fd(job.link);
        job_reap(&job);
        job_done(&job);
}

static void test_terminated(void) {
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS, CARTPOLE);
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job_send_plan(&job);
        g_assert_cmpint(kill(job.pid, SIGTERM), ==, 0);
        job_reap(&job);
        g_assert_true(WIFEXITED(job.status));
        job_done(&job);
}

/* Records that nobody reads stop the job, and it goes on when somebody does. */
static void test_full_spool(void) {
        const Record *ended;
        uint64_t written;
        Job job;

        job_init(&job, SANDBOX_LEVEL_PROCESS,
                        "[Job]\nEnvironment=CartPole-v1\nStopSteps=6400\n[Actor]\nRolloutSteps=4\n"
                        "[Learner]\nMinibatchSize=4\nEpochs=1\n");
        job.greedy = false;
        g_assert_true(job_start(&job));
        (void) job_connect(&job);
        job_send_plan(&job);
        do {
                written = atomic_load(&job.spool->written);
                g_usleep(200000);
        } while (atomic_load(&job.spool->written) != written);
        g_assert_cmpuint(written, ==, SPOOL_RECORDS);

        job.greedy = true;
        (void) job_read(&job);
        job.plan.acknowledged = job.position;
        ended = job_finish(&job);
        g_assert_cmpuint(ended->end, ==, PLAN_END_FINISHED);
        g_assert_cmpuint(count(&job, RECORD_ROUND, false), ==, 1600);
        job_done(&job);
}

/* What a plugin does wrong, and what its job's last record says. */
static const struct {
        const char *how;
        uint32_t fault;
} wrongs[] = {
        { "crash", FAULT_KILLED },
        { "abort", FAULT_KILLED },
        { "exit", FAULT_EXITED },
        { "hang", FAULT_TIMEOUT },
        { "nan", FAULT_OBSERVATION },
        { "range", FAULT_OBSERVATION },
        { "error", FAULT_ENVIRONMENT },
        { "fork", FAULT_SYSCALL },
        { "spec", FAULT_SPEC },
        { "load", FAULT_LOAD },
};

static void test_hostile(gconstpointer data) {
        uint32_t level = GPOINTER_TO_UINT(data);

        if (!hostile) {
                g_test_skip("no compiler for the hostile environment");
                return;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
                g_autofree char *text = g_strdup_printf(
                                "[Job]\nEnvironment=./hostile.so\n[Environment]\nHow=%s\n[Actor]\nRolloutSteps=16\n"
                                "Retries=1\nTimeoutSec=0.3\n[Learner]\nMinibatchSize=16\n",
                                wrongs[i].how);
                const Record *ended;
                Job job;

                job_init(&job, level, text);
                job.plugin = hostile;
                job.invoked.launch.n_mounts = 1;
                job.invoked.launch.mounts[0] =
                                (LaunchMount){ .at = PLUGIN_DIRECTORY "hostile.so", .read_only = 1 };
                if (!job_start(&job) && skip_level(&job, level)) {
                        job_done(&job);
                        return;
                }
                ended = job_run(&job);
                g_test_message("%s: %s (%d)", wrongs[i].how, fault_to_string(ended->fault), ended->detail);
                g_assert_cmpuint(ended->end, ==, PLAN_END_FAILED);
                g_assert_cmpuint(ended->fault, ==, wrongs[i].fault);
                if (wrongs[i].fault != FAULT_SPEC && wrongs[i].fault != FAULT_LOAD) {
                        g_assert_cmpuint(count(&job, RECORD_FAULT, false), ==, 2);
                        g_assert_cmpuint(count(&job, RECORD_ROLLOUT, true), ==, 2);
                }
                job_done(&job);
        }
}

static void compile_hostile(void) {
        char *out = g_strdup_printf("%s/actord-hostile-%d.so", g_get_tmp_dir(), (int) getpid());
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

int main(int argc, char **argv) {
        gpointer process = GUINT_TO_POINTER(SANDBOX_LEVEL_PROCESS),
                 full = GUINT_TO_POINTER(SANDBOX_LEVEL_FULL);
        int r;

        g_test_init(&argc, &argv, NULL);
        if (sibling_directory(programs) < 0)
                return 1;
        *strrchr(programs, '/') = 0; /* tests lie one below the programs */
        if (!programs_are_built()) {
                g_print("1..0 # SKIP actord-invoker and actord-learner are not built\n");
                return 0;
        }
        compile_hostile();

        g_test_add_data_func("/invoker/process/train", process, test_train);
        g_test_add_data_func("/invoker/full/train", full, test_train);
        g_test_add_data_func("/invoker/process/killed", process, test_killed);
        g_test_add_data_func("/invoker/full/killed", full, test_killed);
        g_test_add_func("/invoker/next-life", test_next_life);
        g_test_add_func("/invoker/evaluate", test_evaluate);
        g_test_add_func("/invoker/verify", test_verify);
        g_test_add_func("/invoker/reconnect", test_reconnect);
        g_test_add_func("/invoker/alone", test_alone);
        g_test_add_func("/invoker/terminated", test_terminated);
        g_test_add_func("/invoker/full-spool", test_full_spool);
        g_test_add_data_func("/invoker/process/hostile", process, test_hostile);
        g_test_add_data_func("/invoker/full/hostile", full, test_hostile);
        r = g_test_run();
        if (hostile)
                (void) g_unlink(hostile);
        return r;
}
