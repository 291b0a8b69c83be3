/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* actord-cluster gets nodes of a cluster for one job. Beside the job's invoker, this program is the head. On
 * a node it is started with --node, and connects to the head. */
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cluster/head.h"
#include "cluster/node.h"
#include "cluster/verify.h"
#include "include/cluster.h"
#include "include/launch.h"
#include "include/settings.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/limits.h"

enum { VERIFY_FD = 3 };

static int usage(FILE *f) {
        (void) fprintf(f, "actord-cluster [--verify | --node ADDRESS PORT TOKEN NUMBER]\n\n"
                          "Asks a cluster for nodes for an actord job, and carries messages between the\n"
                          "job's invoker and its nodes. actord starts this program. Do not start it by\n"
                          "hand.\n\n"
                          "  --verify    say why the cluster would give a job no nodes; descriptor 3 has\n"
                          "              the job's settings\n"
                          "  --node      this is a node: connect to the job at ADDRESS\n"
                          "  --help      this text\n"
                          "  --version   the version\n");
        return f == stdout ? EXIT_SUCCESS : NODE_EXIT_USAGE;
}

static int run_node(char *argv[]) {
        NodeTerms terms = { .address = argv[2], .port = argv[3] };
        char *end = NULL;
        unsigned long number;

        number = strtoul(argv[5], &end, 10);
        if (!token_from_string(argv[4], terms.token) || *end || number == 0 || number > UINT32_MAX)
                return usage(stderr);
        terms.node = (uint32_t) number;
        return node_main(&terms);
}

static int find_directory(char *ret, size_t size) {
        char link[64];
        ssize_t n;

        (void) snprintf(link, sizeof(link), "/proc/self/fd/%d", CLUSTER_FD_DIRECTORY);
        n = readlink(link, ret, size - 1);
        if (n < 0)
                return -errno;
        ret[n] = 0;
        return ret[0] == '/' ? 0 : -EINVAL;
}

/* Inside an allocation of Slurm, a job uses the nodes of that allocation. */
static const EngineKind *engine_here(void) {
        return getenv("SLURM_JOB_ID") ? &engine_allocation : &engine_slurm;
}

static EngineTerms terms_of(const JobSettings *settings, const char *directory) {
        return (EngineTerms){ .partition = settings->slurm_partition,
                .account = settings->slurm_account,
                .constraint = settings->slurm_constraint,
                .options = settings->slurm_options,
                .time_limit_sec = settings->slurm_time_limit_usec / 1000000,
                .n_least = settings->nodes.low,
                .directory = directory };
}

static int run_verify(void) {
        _cleanup_free_ JobSettings *settings = malloc(sizeof(*settings));
        EngineTerms terms;
        int r;

        if (!settings)
                return EXIT_FAILURE;
        r = pread_full(VERIFY_FD, settings, sizeof(*settings), 0);
        if (r < 0 || settings->abi != SETTINGS_ABI || settings->struct_bytes != sizeof(*settings))
                return usage(stderr);
        terms = terms_of(settings, "");
        return verify_main(engine_here(), &terms);
}

/* Finds the file of Environment=FILE, if the job has one, and its digest. Every node must get the bytes that
 * the file has now. */
static int find_plugin(PeerTerms *peers) {
        _cleanup_free_ Launch *launch = malloc(sizeof(*launch));
        int r;

        if (!launch)
                return -ENOMEM;
        r = pread_full(CLUSTER_FD_LAUNCH, launch, sizeof(*launch), 0);
        if (r < 0 || launch->n_mounts == 0)
                return r;
        r = fd_set_cloexec(CLUSTER_FD_PLUGIN, true);
        if (r < 0)
                return r;
        peers->plugin_fd = CLUSTER_FD_PLUGIN;
        r = plugin_measure(CLUSTER_FD_PLUGIN, &peers->plugin);
        if (r == -EFBIG)
                (void) fprintf(stderr,
                                "actord-cluster: the file of Environment= is larger than %u MiB, the "
                                "most that can be sent to nodes\n",
                                CLUSTER_PLUGIN_MAX >> 20);
        return r;
}

static int run_head(void) {
        static const int fds[] = { CLUSTER_FD_SOCKET, CLUSTER_FD_SETTINGS, CLUSTER_FD_LAUNCH,
                CLUSTER_FD_DIRECTORY };
        _cleanup_free_ JobSettings *settings = malloc(sizeof(*settings));
        HeadTerms terms = { .socket_fd = CLUSTER_FD_SOCKET,
                .peers = { .settings_fd = CLUSTER_FD_SETTINGS,
                                .launch_fd = CLUSTER_FD_LAUNCH,
                                .plugin_fd = -EBADF } };
        char directory[4096];
        int r;

        if (!settings)
                return EXIT_FAILURE;
        for (size_t i = 0; i < ELEMENTSOF(fds); i++) {
                r = fd_set_cloexec(fds[i], true);
                if (r < 0)
                        return usage(stderr);
        }
        r = pread_full(CLUSTER_FD_SETTINGS, settings, sizeof(*settings), 0);
        if (r >= 0)
                r = find_directory(directory, sizeof(directory));
        if (r >= 0)
                r = find_plugin(&terms.peers);
        if (r < 0) {
                (void) fprintf(stderr, "actord-cluster: the invoker's descriptors cannot be used: %s\n",
                                strerror(-r));
                return EXIT_FAILURE;
        }
        terms.engine = engine_here();
        terms.terms = terms_of(settings, directory);
        return head_main(&terms);
}

int main(int argc, char *argv[]) {
        if (argc == 2 && strcmp(argv[1], "--help") == 0)
                return usage(stdout);
        if (argc == 2 && strcmp(argv[1], "--version") == 0)
                return printf("actord-cluster " ACTORD_VERSION "\n") < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        limits_prepare();
        if (argc == 2 && strcmp(argv[1], "--verify") == 0)
                return run_verify();
        if (argc == 6 && strcmp(argv[1], "--node") == 0)
                return run_node(argv);
        return argc == 1 ? run_head() : usage(stderr);
}
