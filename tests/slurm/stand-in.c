/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stands in for both neighbours of actord-cluster, so that it can be tested alone.
 *
 * Called as `player DIRECTORY [KEY=VALUE]...`, it plays the job's invoker: it starts the actord-cluster of
 * that directory, reads commands as lines (want N, release N, send N WORD, bytes N COUNT, end) and prints
 * each event as a line. Called as `actord-spawn` beside actord-cluster, it plays the spawner and the invoker
 * of a node, and sends back each byte that comes. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/cluster.h"
#include "include/launch.h"
#include "include/settings.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"

enum { NODES = 64, LINE_BYTES = 512, PART_BYTES = 8192 };

static int streams[NODES];

static void die(const char *what) {
        perror(what);
        exit(EXIT_FAILURE);
}

static void echo(int fd) {
        static char bytes[65536];
        ssize_t n;

        while ((n = read(fd, bytes, sizeof(bytes))) > 0)
                if (write_full(fd, bytes, (size_t) n) < 0)
                        break;
        exit(EXIT_SUCCESS);
}

static int be_spawner(void) {
        LaunchAnswer answer = { .abi = LAUNCH_ABI };
        int fds[_LAUNCH_FD_FIXED], pid_fd;
        size_t n, n_fds;
        Launch launch;
        pid_t pid;

        if (message_receive(3, 5000, &launch, sizeof(launch), &n, fds, _LAUNCH_FD_FIXED, &n_fds) < 0 ||
                        n != sizeof(launch) || n_fds != _LAUNCH_FD_FIXED)
                return EXIT_FAILURE;
        if (getenv("STAND_IN_REFUSES") || access("/tmp/actord-stand-in-refuses", F_OK) >= 0) {
                answer.error = -EPERM;
                (void) snprintf(answer.message, sizeof(answer.message), "the stand-in refuses");
                return message_send(3, &answer, sizeof(answer), NULL, 0) < 0;
        }
        pid = fork();
        if (pid == 0) {
                (void) close(3);
                (void) setsid();
                echo(fds[LAUNCH_FD_SOCKET]);
        }
        answer.pid = pid;
        pid_fd = (int) syscall(SYS_pidfd_open, pid, 0);
        return message_send(3, &answer, sizeof(answer), &pid_fd, 1) < 0;
}

static int start(const char *directory, const JobSettings *settings) {
        const Launch launch = { .abi = LAUNCH_ABI, .struct_bytes = sizeof(launch), .job = 1, .life = 1 };
        char path[512];
        int pair[2], fds[4];
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                die("socketpair");
        (void) snprintf(path, sizeof(path), "%s/actord-cluster", directory);
        fds[0] = pair[1];
        fds[1] = memfd_make_sealed("settings", settings, sizeof(*settings));
        fds[2] = memfd_make_sealed("launch", &launch, sizeof(launch));
        fds[3] = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
        pid = fork();
        if (pid == 0) {
                char *argv[] = { (char *) "actord-cluster", NULL };

                for (int i = 0; i < 4; i++)
                        fds[i] = fd_lift(fds[i], 20);
                for (int i = 0; i < 4; i++)
                        if (dup2(fds[i], CLUSTER_FD_SOCKET + i) < 0)
                                die("dup2");
                execv(path, argv);
                die(path);
        }
        (void) printf("pid %d\n", pid);
        (void) close(pair[1]);
        return pair[0];
}

static void print_event(const ClusterEvent *event) {
        static const char *const names[] = { "none",
#define X(name, word) word,
                CLUSTER_EVENTS(X)
#undef X
        };
        const ClusterCost *cost = &event->cost;

        (void) printf("%s %u", event->kind < _CLUSTER_EVENT_MAX ? names[event->kind] : "?", event->node);
        if (event->kind == CLUSTER_UP)
                (void) printf(" %s %u", event->name, event->n_cpus);
        if (event->kind == CLUSTER_COST)
                (void) printf(" %s %" PRIu64 " %" PRIu64 " %u %g", cost->final ? "final" : "running",
                                cost->allocated_usec, cost->waited_usec, cost->n_cpus, cost->billing);
        (void) printf(" %s\n", event->words);
}

/* Sends `count` parts through the node's stream and compares each with the part that comes back. Prints the
 * mean time of a part. */
static void carry(unsigned node, unsigned long count) {
        static uint8_t sent[PART_BYTES], got[PART_BYTES];
        uint64_t begun = clock_boottime();

        for (unsigned long i = 0; i < count; i++) {
                for (size_t k = 0; k < sizeof(sent); k++)
                        sent[k] = (uint8_t) (i * 31 + k * 7);
                if (write_full(streams[node], sent, sizeof(sent)) < 0 ||
                                read_full(streams[node], got, sizeof(got)) < 0 ||
                                memcmp(sent, got, sizeof(sent)) != 0) {
                        (void) printf("carried %u wrong\n", node);
                        return;
                }
        }
        (void) printf("carried %u %" PRIu64 " usec each\n", node, (clock_boottime() - begun) / 1000 / count);
}

static void obey(int fd, const char *line) {
        ClusterRequest request = { .abi = CLUSTER_ABI };
        char word[LINE_BYTES] = "", got[LINE_BYTES] = "";
        unsigned n = 0;
        unsigned long count;

        if (sscanf(line, "want %u", &n) == 1) {
                request.kind = CLUSTER_WANT;
                request.n_nodes = n;
        } else if (sscanf(line, "release %u", &n) == 1) {
                request.kind = CLUSTER_RELEASE;
                request.node = n;
                if (n < NODES)
                        streams[n] = close_fd(streams[n]);
        } else if (sscanf(line, "send %u %500s", &n, word) == 2 && n < NODES) {
                if (write_full(streams[n], word, strlen(word)) < 0 ||
                                read_full(streams[n], got, strlen(word)) < 0)
                        (void) printf("closed %u\n", n);
                else
                        (void) printf("echo %u %s\n", n, got);
                return;
        } else if (sscanf(line, "bytes %u %lu", &n, &count) == 2 && n < NODES) {
                carry(n, count);
                return;
        } else if (strcmp(line, "end") == 0)
                request.kind = CLUSTER_END;
        else
                exit(EXIT_SUCCESS);
        if (message_send(fd, &request, sizeof(request), NULL, 0) < 0)
                (void) printf("unheard\n");
}

static bool take_event(int fd) {
        ClusterEvent event;
        int stream = -EBADF, r;
        size_t n, n_fds = 0;

        r = message_receive(fd, 0, &event, sizeof(event), &n, &stream, 1, &n_fds);
        if (r == -ETIMEDOUT)
                return true;
        if (r < 0) {
                (void) printf("over\n");
                return false;
        }
        if (event.kind == CLUSTER_UP && event.node < NODES)
                streams[event.node] = n_fds == 1 ? stream : -EBADF;
        print_event(&event);
        return true;
}

static int be_invoker(int argc, char *argv[]) {
        static JobSettings settings;
        char line[LINE_BYTES];
        int fd;

        settings.slurm_time_limit_usec = 3600000000;
        for (int i = 2; i < argc; i++) {
                if (strncmp(argv[i], "partition=", 10) == 0)
                        (void) snprintf(settings.slurm_partition, sizeof(settings.slurm_partition), "%s",
                                        argv[i] + 10);
                else if (strncmp(argv[i], "account=", 8) == 0)
                        (void) snprintf(settings.slurm_account, sizeof(settings.slurm_account), "%s",
                                        argv[i] + 8);
                else if (strncmp(argv[i], "options=", 8) == 0)
                        (void) snprintf(settings.slurm_options, sizeof(settings.slurm_options), "%s",
                                        argv[i] + 8);
                else if (strncmp(argv[i], "seconds=", 8) == 0)
                        settings.slurm_time_limit_usec = strtoull(argv[i] + 8, NULL, 10) * 1000000;
                else if (strncmp(argv[i], "least=", 6) == 0)
                        settings.nodes.low = (uint32_t) strtoul(argv[i] + 6, NULL, 10);
                else
                        return EXIT_FAILURE;
        }
        (void) setvbuf(stdin, NULL, _IONBF, 0);
        (void) setvbuf(stdout, NULL, _IOLBF, 0);
        for (size_t i = 0; i < NODES; i++)
                streams[i] = -EBADF;
        fd = start(argv[1], &settings);
        for (;;) {
                struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                        { .fd = fd, .events = POLLIN } };

                if (poll(p, 2, -1) < 0)
                        die("poll");
                if (p[1].revents && !take_event(fd))
                        return EXIT_SUCCESS;
                if (p[0].revents) {
                        if (!fgets(line, sizeof(line), stdin))
                                return EXIT_SUCCESS;
                        line[strcspn(line, "\n")] = 0;
                        obey(fd, line);
                }
        }
}

int main(int argc, char *argv[]) {
        const char *name = strrchr(argv[0], '/');

        if (strcmp(name ? name + 1 : argv[0], "actord-spawn") == 0)
                return be_spawner();
        return argc >= 2 ? be_invoker(argc, argv) : EXIT_FAILURE;
}
