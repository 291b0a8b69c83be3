/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/node.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cluster/credential.h"
#include "cluster/plugin.h"
#include "cluster/pump.h"
#include "cluster/tls.h"
#include "include/launch.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/cpu-count.h"
#include "lib/fd.h"
#include "lib/message.h"
#include "lib/sibling.h"

enum { CONNECT_SECONDS = 20, CONNECT_TRY_MSEC = 3000, INVOKER_END_MSEC = 5000, SPAWNER_LOOK_MSEC = 20 };

const char *node_exit_sentence(int status) {
        static const struct {
                int status;
                const char *sentence;
        } table[] = {
#define X(name, value, text) { value, text },
                NODE_EXITS(X)
#undef X
        };

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (table[i].status == status)
                        return table[i].sentence;
        return "";
}

/* Fills in the CPUs and the memory that Slurm has allocated to this job, or those of the host if they are
 * fewer. */
static void fill_facts(NodeFacts *ret) {
        const char *cpus = getenv("SLURM_CPUS_ON_NODE"), *memory = getenv("SLURM_MEM_PER_NODE");
        struct sysinfo info = {};
        unsigned long n;

        *ret = (NodeFacts){ .abi = HELLO_ABI, .n_cpus = cpu_count(1) };
        n = cpus ? strtoul(cpus, NULL, 10) : 0;
        if (n > 0 && n < ret->n_cpus)
                ret->n_cpus = (uint32_t) n;
        if (sysinfo(&info) >= 0)
                ret->memory_bytes = (uint64_t) info.totalram * info.mem_unit;
        n = memory ? strtoul(memory, NULL, 10) : 0;
        if (n > 0 && (uint64_t) n << 20 < ret->memory_bytes)
                ret->memory_bytes = (uint64_t) n << 20;
        if (getenv("SLURMD_NODENAME"))
                (void) snprintf(ret->name, sizeof(ret->name), "%s", getenv("SLURMD_NODENAME"));
        else if (gethostname(ret->name, sizeof(ret->name) - 1) < 0)
                (void) snprintf(ret->name, sizeof(ret->name), "node");
}

static int try_connect(const struct addrinfo *to) {
        _cleanup_close_ int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        socklen_t n = sizeof(int);
        int error = 0;

        if (fd < 0)
                return -errno;
        if (connect(fd, to->ai_addr, to->ai_addrlen) < 0 && errno != EINPROGRESS)
                return -errno;
        if (poll(&p, 1, CONNECT_TRY_MSEC) <= 0)
                return -ETIMEDOUT;
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0)
                return -errno;
        return error != 0 ? -error : TAKE_FD(fd);
}

static int connect_to_head(const NodeTerms *terms) {
        const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                .ai_socktype = SOCK_STREAM };
        uint64_t deadline = clock_boottime() + CONNECT_SECONDS * 1000000000ull;
        struct addrinfo *to = NULL;
        int fd;

        if (getaddrinfo(terms->address, terms->port, &hints, &to) != 0)
                return -EINVAL;
        do {
                fd = try_connect(to);
                if (fd < 0 && fd != -ETIMEDOUT)
                        (void) poll(NULL, 0, 200);
        } while (fd < 0 && clock_boottime() < deadline);
        freeaddrinfo(to);
        return fd;
}

static int introduce(int fd, const NodeTerms *terms, Sealed *sealed) {
        uint64_t deadline = clock_boottime() + HELLO_CREDENTIAL_SECONDS * 1000000000ull;
        _cleanup_free_ char *credential = NULL;
        char words[256] = "";
        Hello hello;
        int r;

        *sealed = (Sealed){ .magic = HELLO_MAGIC, .node = terms->node };
        memcpy(sealed->token, terms->token, TOKEN_BYTES);
        if (gnutls_rnd(GNUTLS_RND_KEY, sealed->key, KEY_BYTES) < 0)
                return -EIO;
        r = credential_make(sealed, &credential, words);
        if (r < 0) {
                (void) fprintf(stderr, "actord-cluster: %s\n", words);
                return -EPROTO;
        }
        hello_make(terms->token, terms->node, (uint32_t) strlen(credential), &hello);
        r = socket_send_full(fd, &hello, sizeof(hello), deadline);
        if (r < 0)
                return r;
        return socket_send_full(fd, credential, hello.n_credential, deadline);
}

static int receive_settings(const Tls *tls, uint32_t n, uint64_t deadline) {
        _cleanup_free_ char *content = malloc(n);
        int r;

        if (!content)
                return -ENOMEM;
        r = tls_receive_full(tls, content, n, deadline);
        if (r < 0)
                return r;
        return memfd_make_sealed("settings", content, n);
}

static int receive_work(const Tls *tls, uint64_t deadline, int *ret_settings, Launch *ret_launch,
                PluginFacts *ret_plugin) {
        _cleanup_close_ int settings = -EBADF;
        Work work;
        int r;

        r = tls_receive_full(tls, &work, sizeof(work), deadline);
        if (r < 0)
                return r;
        if (!work_check(&work))
                return -EBADMSG;
        settings = receive_settings(tls, work.n_settings, deadline);
        if (settings < 0)
                return settings;
        r = tls_receive_full(tls, ret_launch, sizeof(*ret_launch), deadline);
        if (r < 0)
                return r;
        if (ret_launch->n_mounts != (work.n_plugin > 0))
                return -EBADMSG;
        ret_plugin->n_bytes = work.n_plugin;
        memcpy(ret_plugin->digest, work.plugin_digest, DIGEST_BYTES);
        *ret_settings = TAKE_FD(settings);
        return 0;
}

static int receive_plugin(
                const Tls *tls, const PluginFacts *facts, uint64_t deadline, int *ret_fd, NodeReady *ready) {
        int r = plugin_receive(tls, facts, deadline, ret_fd);

        if (r == -ESTALE)
                (void) snprintf(ready->words, sizeof(ready->words),
                                "the file of Environment= has changed since the job began");
        else if (r < 0)
                (void) snprintf(ready->words, sizeof(ready->words),
                                "the file of Environment= did not arrive on the node: %s", strerror(-r));
        return r;
}

/* Fills in the members that depend on this host, as `actorctl env` does. */
static void fill_launch(Launch *launch) {
        bool ranges = geteuid() == 0;

        launch->uid_first = ranges ? UID_RANGE_FIRST + (uint32_t) getpid() % UID_RANGES * UIDS_MAX
                                   : (uint32_t) getuid();
        launch->n_uids = ranges ? UIDS_MAX : 1;
        launch->owner = (uint32_t) getpid();
        launch->submitter = (uint32_t) getuid();
}

static int spawn_spawner(int socket_fd, pid_t *ret) {
        char directory[SIBLING_DIRECTORY_MAX], path[SIBLING_DIRECTORY_MAX + sizeof("/actord-spawn")];
        char *argv[] = { (char *) "actord-spawn", (char *) "--fd=3", NULL };
        char *environment[] = { (char *) "PATH=/usr/bin:/bin", NULL };
        posix_spawn_file_actions_t actions;
        _cleanup_close_ int lifted = -EBADF;
        int r;

        r = sibling_directory(directory);
        if (r < 0)
                return r;
        (void) snprintf(path, sizeof(path), "%s/actord-spawn", directory);
        lifted = fd_lift(socket_fd, 10);
        if (lifted < 0)
                return lifted;
        r = posix_spawn_file_actions_init(&actions);
        if (r != 0)
                return -r;
        r = posix_spawn_file_actions_adddup2(&actions, lifted, 3);
        if (r == 0)
                r = posix_spawn(ret, path, &actions, NULL, argv, environment);
        (void) posix_spawn_file_actions_destroy(&actions);
        return -r;
}

static int ask_spawner(int fd, const Launch *launch, const int fds[], LaunchAnswer *ret, int *ret_pid_fd) {
        size_t n, n_fds = 0;
        int pid_fd = -EBADF, r;

        r = message_send(fd, launch, sizeof(*launch), fds, _LAUNCH_FD_FIXED + launch->n_mounts);
        if (r < 0)
                return r;
        r = message_receive(fd, LAUNCH_ANSWER_MSEC(0), ret, sizeof(*ret), &n, &pid_fd, 1, &n_fds);
        if (r < 0)
                return r;
        *ret_pid_fd = n_fds == 1 ? pid_fd : -EBADF;
        return n == sizeof(*ret) && ret->abi == LAUNCH_ABI ? 0 : -EBADMSG;
}

static int start_invoker(const Launch *launch, int settings_fd, int plugin_fd, int stream_fd,
                pid_t *ret_spawner, int *ret_pid_fd, NodeReady *ready) {
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF, null = open("/dev/null", O_RDWR | O_CLOEXEC);
        LaunchAnswer answer = {};
        int fds[_LAUNCH_FD_FIXED + 1] = {
                [LAUNCH_FD_SETTINGS] = settings_fd,
                [LAUNCH_FD_STDERR] = STDERR_FILENO,
                [LAUNCH_FD_STATE] = null,
                [LAUNCH_FD_SOCKET] = stream_fd,
                [LAUNCH_FD_CHECKPOINT] = null,
                /* sent only if the job has a plugin: launch->n_mounts is 1 */
                [_LAUNCH_FD_FIXED] = plugin_fd,
        };
        int pair[2], r;
        pid_t pid;

        if (null < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        r = spawn_spawner(theirs, &pid);
        if (r < 0)
                return r;
        (void) close_fd(TAKE_FD(theirs));
        r = ask_spawner(ours, launch, fds, &answer, ret_pid_fd);
        if (r < 0)
                (void) kill(pid, SIGKILL);
        *ret_spawner = pid;
        if (r >= 0 && answer.error < 0) {
                answer.message[sizeof(answer.message) - 1] = 0;
                (void) snprintf(ready->words, sizeof(ready->words), "%.255s", answer.message);
                return answer.error;
        }
        return r;
}

/* Makes a descriptor that reads signals. Slurm sends them before it ends a job, and this program can then
 * close the connection in good order. */
static int watch_signals(void) {
        sigset_t set;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGTERM);
        (void) sigaddset(&set, SIGINT);
        (void) sigaddset(&set, SIGUSR1);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Waits at most INVOKER_END_MSEC until the invoker and its spawner have ended. The invoker cleans up when
 * its stream ends, and a spawner that made a cgroup removes it. When this program has ended, Slurm kills all
 * other processes of the step. */
static void await_end(int pid_fd, pid_t spawner) {
        uint64_t deadline = clock_boottime() + INVOKER_END_MSEC * 1000000ull;

        if (pid_fd >= 0)
                (void) poll(&(struct pollfd){ .fd = pid_fd, .events = POLLIN }, 1, INVOKER_END_MSEC);
        while (spawner > 0 && waitpid(spawner, NULL, WNOHANG) == 0 && clock_boottime() < deadline)
                (void) poll(NULL, 0, SPAWNER_LOOK_MSEC);
}

static int serve(const Tls *tls, int stop_fd) {
        uint64_t deadline = clock_boottime() + HELLO_SECONDS * 1000000000ull;
        _cleanup_close_ int settings = -EBADF, plugin_fd = -EBADF, ours = -EBADF, theirs = -EBADF,
                            pid_fd = -EBADF;
        PluginFacts plugin = {};
        NodeReady ready = { .abi = HELLO_ABI };
        NodeFacts facts;
        Launch launch;
        pid_t spawner = 0;
        int pair[2], r;

        fill_facts(&facts);
        r = tls_send_full(tls, &facts, sizeof(facts), deadline);
        if (r < 0)
                return NODE_EXIT_REJECTED;
        r = receive_work(tls, deadline, &settings, &launch, &plugin);
        if (r < 0)
                return NODE_EXIT_REJECTED;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return EXIT_FAILURE;
        ours = pair[0];
        theirs = pair[1];
        fill_launch(&launch);
        ready.error = plugin.n_bytes > 0 ? receive_plugin(tls, &plugin, deadline, &plugin_fd, &ready) : 0;
        if (ready.error >= 0)
                ready.error = start_invoker(&launch, settings, plugin_fd, theirs, &spawner, &pid_fd, &ready);
        (void) close_fd(TAKE_FD(theirs));
        /* The invoker has its own descriptors of these two files, and this process, which lives as long as
         * the job, does not need them. */
        (void) close_fd(TAKE_FD(settings));
        (void) close_fd(TAKE_FD(plugin_fd));
        if (ready.error < 0 && !ready.words[0])
                (void) snprintf(ready.words, sizeof(ready.words), "actord-spawn on the node: %s",
                                strerror(-ready.error));
        r = tls_send_full(tls, &ready, sizeof(ready), deadline);
        if (ready.error >= 0 && r >= 0 && fcntl(ours, F_SETFL, O_NONBLOCK) >= 0)
                (void) pump_run(tls, ours, stop_fd);
        (void) close_fd(TAKE_FD(ours));
        await_end(pid_fd, spawner);
        return ready.error < 0 ? NODE_EXIT_SPAWN : EXIT_SUCCESS;
}

int node_main(const NodeTerms *terms) {
        _cleanup_close_ int stop_fd = watch_signals(), fd = -EBADF;
        Tls tls = TLS_NONE;
        Sealed sealed;
        int r;

        if (stop_fd < 0)
                return EXIT_FAILURE;
        fd = connect_to_head(terms);
        if (fd < 0) {
                (void) fprintf(stderr,
                                "actord-cluster: cannot connect to the job's host at %s port %s: "
                                "%s\n",
                                terms->address, terms->port, strerror(-fd));
                return NODE_EXIT_CONNECT;
        }
        r = pump_watch(fd);
        if (r < 0)
                return EXIT_FAILURE;
        r = introduce(fd, terms, &sealed);
        if (r < 0)
                return r == -EPROTO ? NODE_EXIT_MUNGE : NODE_EXIT_REJECTED;
        r = tls_start(&tls, false, fd, sealed.key, clock_boottime() + HELLO_SECONDS * 1000000000ull);
        explicit_bzero(&sealed, sizeof(sealed));
        r = r < 0 ? NODE_EXIT_REJECTED : serve(&tls, stop_fd);
        tls_done(&tls);
        return r;
}
