/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests how many nodes are worth asking for, which node gets a container, which node is given back, and when
 * a silent node is given up. */
#include <glib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "include/launch.h"
#include "invoker/carrier.h"
#include "invoker/nodes.h"
#include "invoker/round.h"
#include "lib/message.h"

#define SEC 1000000000ull

static void test_worth(void) {
        const setting_range some = { 0, 8 }, two = { 2, 2 };

        g_assert_cmpuint(nodes_worth(4, 4, 0, some), ==, 0);
        /* While the size of nodes is not known (0 CPUs), one node is asked for, since it shows the size. */
        g_assert_cmpuint(nodes_worth(100, 4, 0, some), ==, 1);
        g_assert_cmpuint(nodes_worth(5, 4, 16, some), ==, 1);
        g_assert_cmpuint(nodes_worth(20, 4, 16, some), ==, 1);
        g_assert_cmpuint(nodes_worth(21, 4, 16, some), ==, 2);
        g_assert_cmpuint(nodes_worth(1000, 4, 16, some), ==, 8);
        g_assert_cmpuint(nodes_worth(1, 4, 16, two), ==, 2);
        g_assert_cmpuint(nodes_worth(1000, 4, 16, two), ==, 2);
}

static void test_cpus(void) {
        Node nodes[4] = { { .state = NODE_READY, .n_cpus = 8 }, { .state = NODE_GREETING, .n_cpus = 8 },
                { .state = NODE_PENDING }, { .state = NODE_READY, .n_cpus = 8, .closing = true } };
        NodeCPUs cpus = nodes_cpus(nodes, 4, 3, 8, 2);

        g_assert_cmpuint(cpus.n_now, ==, 10);
        g_assert_cmpuint(cpus.n_asked, ==, 26);
        /* The size of nodes is not known yet, since the first one is pending. */
        cpus = nodes_cpus(nodes + 2, 1, 1, 0, 2);
        g_assert_cmpuint(cpus.n_now, ==, 2);
        g_assert_cmpuint(cpus.n_asked, ==, 4);
        /* No node is missing, though more are up than are wanted, or a successor is on its way. */
        cpus = nodes_cpus(nodes, 4, 1, 8, 2);
        g_assert_cmpuint(cpus.n_asked, ==, cpus.n_now);
}

static void test_choose(void) {
        Node nodes[3] = { { .state = NODE_READY, .n_cpus = 2 }, { .state = NODE_READY, .n_cpus = 4 },
                { .state = NODE_GREETING, .n_cpus = 64 } };
        uint32_t used[3] = {};

        /* This host, if it has as much room as any node; otherwise the ready node with the most room. */
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 4, 0), ==, NODE_NONE);
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 4, 1), ==, 1);
        used[1] = 3;
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 4, 3), ==, 0);
        used[0] = 1;
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 4, 4), ==, 0);
        /* If all CPUs are in use, a container goes to the host or node with the fewest containers in excess
         * of its CPUs. */
        used[0] = 4;
        used[1] = 5;
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 4, 5), ==, NODE_NONE);
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 4, 6), ==, 1);
        nodes[1].state = NODE_LEAVING;
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 4, 6), ==, NODE_NONE);
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 4, 7), ==, 0);
}

static void test_closing(void) {
        Node nodes[3] = { { .state = NODE_READY, .n_cpus = 4 }, { .state = NODE_READY, .n_cpus = 4 },
                { .state = NODE_PENDING } };
        uint32_t used[3] = { 3, 2, 0 };

        g_assert_cmpuint(nodes_choose_closing(nodes, 3, used), ==, 1);
        used[1] = 3;
        g_assert_cmpuint(nodes_choose_closing(nodes, 3, used), ==, 1);
        used[0] = 1;
        g_assert_cmpuint(nodes_choose_closing(nodes, 3, used), ==, 0);
        /* One node closes at a time, and it gets no more containers. */
        nodes[0].closing = true;
        g_assert_cmpuint(nodes_choose_closing(nodes, 3, used), ==, NODE_NONE);
        g_assert_cmpuint(nodes_choose(nodes, 3, used, 1, 1), ==, 1);
        g_assert_cmpuint(nodes_choose_closing(nodes + 2, 1, used), ==, NODE_NONE);
}

/* A node whose time limit is near is given back once its successor can take its place, and not before. */
static void test_successor(void) {
        Node nodes[3] = { { .state = NODE_READY, .cost.expires = 1 }, { .state = NODE_READY },
                { .state = NODE_PENDING } };
        uint32_t used[3] = { 3, 2, 0 };

        g_assert_false(nodes_have_spare(nodes, 3, 2));
        nodes[2].state = NODE_GREETING;
        g_assert_false(nodes_have_spare(nodes, 3, 2));
        nodes[2].state = NODE_READY;
        g_assert_true(nodes_have_spare(nodes, 3, 2));
        g_assert_cmpuint(nodes_choose_closing(nodes, 3, used), ==, 0);
        /* The node with the near time limit leaves, and its successor stays. */
        nodes[0].state = NODE_LEAVING;
        g_assert_false(nodes_have_spare(nodes, 3, 2));
        g_assert_true(nodes_have_spare(nodes, 3, 1));
        /* If no node expires, only the number of nodes counts, including the pending ones. */
        nodes[0] = (Node){ .state = NODE_PENDING };
        g_assert_true(nodes_have_spare(nodes, 3, 2));
        g_assert_false(nodes_have_spare(nodes, 3, 3));
}

static void test_patience(void) {
        g_assert_cmpuint(carrier_patience_nsec(0, 60 * SEC), ==, CARRIER_PATIENCE_NSEC);
        g_assert_cmpuint(carrier_patience_nsec(3 * SEC, 60 * SEC), ==,
                        CARRIER_PATIENCE_NSEC + CARRIER_ROUNDS * 3 * SEC);
        g_assert_cmpuint(carrier_patience_nsec(30 * SEC, 60 * SEC), ==, 60 * SEC);
        g_assert_cmpuint(carrier_patience_nsec(UINT64_MAX, 60 * SEC), <=, 60 * SEC);
        g_assert_cmpuint(carrier_patience_nsec(0, SEC), ==, SEC);
}

static void test_plausible(void) {
        g_assert_cmpuint(nodes_plausible_nsec(3 * SEC, SEC, 4), ==, 3 * SEC);
        g_assert_cmpuint(nodes_plausible_nsec(5 * SEC, SEC, 4), ==, 4 * SEC);
        g_assert_cmpuint(nodes_plausible_nsec(UINT64_MAX, SEC, 4), ==, 4 * SEC);
        g_assert_cmpuint(nodes_plausible_nsec(1, 0, 1), ==, 0);
}

/* A node is given up when it has been silent for `patience`. Time in which this host was stopped does not
 * count. */
static void test_silence(void) {
        const uint64_t patience = 8 * SEC;
        Silence silence;

        silence_broken(&silence, 100 * SEC);
        for (unsigned i = 1; i < CARRIER_LOOKS; i++) {
                g_assert_false(silence_grows(&silence, (100 + 2 * i) * SEC - 1, patience));
                g_assert_true(silence_grows(&silence, (100 + 2 * i) * SEC, patience));
                g_assert_cmpuint(silence.n_looks, <, CARRIER_LOOKS);
        }
        g_assert_true(silence_grows(&silence, 108 * SEC, patience));
        g_assert_cmpuint(silence.n_looks, ==, CARRIER_LOOKS);
        silence_broken(&silence, 200 * SEC);
        g_assert_true(silence_grows(&silence, 9000 * SEC, patience));
        g_assert_cmpuint(silence.n_looks, ==, 1);
        g_assert_false(silence_grows(&silence, 9001 * SEC, patience));
}

static void test_sum(void) {
        ClusterCost cost = { .allocated_usec = 10000000, .waited_usec = 2000000 };
        CarrierMeter meter = { .sent_bytes = 5, .received_bytes = 7, .busy_nsec = 3 * SEC };
        NodeSum told = {}, sum = node_sum(&cost, &meter, 100 * SEC), rest = node_sum_rest(&sum, &told);

        g_assert_cmpuint(rest.allocated_nsec, ==, 10 * SEC);
        g_assert_cmpuint(rest.use.idle_nsec, ==, 7 * SEC);
        g_assert_cmpuint(rest.use.waited_nsec, ==, 2 * SEC);
        g_assert_cmpuint(rest.use.sent_bytes, ==, 5);
        g_assert_cmpuint(rest.use.received_bytes, ==, 7);
        /* Work on an order that has not ended counts until now. */
        meter.since_nsec = 99 * SEC;
        cost.allocated_usec += 1500000;
        sum = node_sum(&cost, &meter, 100 * SEC);
        rest = node_sum_rest(&sum, &told);
        g_assert_cmpuint(rest.allocated_nsec, ==, 3 * SEC / 2);
        g_assert_cmpuint(rest.use.idle_nsec, ==, SEC / 2);
        g_assert_cmpuint(rest.use.sent_bytes, ==, 0);
        /* If a node's cost falls, as after a clock was set, nothing is added. */
        cost.allocated_usec = 0;
        sum = node_sum(&cost, &meter, 100 * SEC);
        rest = node_sum_rest(&sum, &told);
        g_assert_cmpuint(rest.allocated_nsec + rest.use.idle_nsec, ==, 0);
        g_assert_cmpuint(told.allocated_nsec, ==, 23 * SEC / 2);
}

static void test_lost_attempts(void) {
        Attempts attempts = {};

        for (unsigned i = 0; i < 1000; i++)
                g_assert_true(attempts_fail(&attempts, 0, FAULT_NODE, 1));
        g_assert_cmpuint(attempts.n, ==, 1000);
        g_assert_false(attempts_fail(&attempts, 0, FAULT_EXITED, 1));
}

/* An actord-cluster that is stopped, as by SIGSTOP, does not read its socket. The invoker does not wait for
 * room in it, and goes on without nodes. */
static void ask_the_stopped(void) {
        static const uint32_t used[NODES_MAX];
        static JobSettings settings = { .nodes = { 0, 8 } };
        static Invoked invoked = { .launch.cluster = 1 };
        const Placement place = { .invoked = &invoked, .settings = &settings, .n_cpus = 4 };
        static Nodes nodes;
        Loop loop;
        int pair[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), ==, 0);
        g_assert_cmpint(dup2(pair[pair[0] != INVOKER_FD_CLUSTER], INVOKER_FD_CLUSTER), ==,
                        INVOKER_FD_CLUSTER);
        g_assert_cmpint(loop_init(&loop), ==, 0);
        nodes.place = &place;
        nodes.loop = &loop;
        g_assert_cmpint(nodes_init(&nodes), ==, 0);
        for (uint32_t i = 0; i < 100000 && nodes_exist(&nodes); i++)
                nodes_want(&nodes, i % 2 ? 100 : 1, used, i);
        g_assert_false(nodes_exist(&nodes));
        nodes_done(&nodes);
        loop_done(&loop);
}

static void test_stopped(void) {
        if (g_test_subprocess()) {
                (void) alarm(60);
                ask_the_stopped();
                return;
        }
        g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_passed();
        g_test_trap_assert_stderr("*does not read its requests*");
}

/* The number of nodes in the newest CLUSTER_WANT on this socket; UINT32_MAX: there is none. */
static uint32_t last_wanted(int fd) {
        uint32_t n = UINT32_MAX;
        ClusterRequest request;

        while (recv(fd, &request, sizeof(request), MSG_DONTWAIT) == sizeof(request))
                if (request.kind == CLUSTER_WANT)
                        n = request.n_nodes;
        return n;
}

/* Nodes that come up, but cannot run the job's actors. After three of them in a row, the invoker asks for no
 * more. A node that becomes ready in between starts the count anew. */
static void greet_in_vain(void) {
        const CarrierWord ready = { .kind = CARRIER_READY },
                          lost = { .kind = CARRIER_LOST, .words = "it has no libm" };
        const CarrierWord *words[] = { &lost, &lost, &ready, &lost, &lost, &lost };
        static JobSettings settings = { .nodes = { 0, 8 } };
        static Placement place = { .settings = &settings, .n_cpus = 4 };
        static Nodes nodes = { .place = &place, .n_wanted = 7 };
        const uint32_t used[NODES_MAX] = {};
        NodeNews news;
        int cluster[2], control[2];

        g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, cluster), ==, 0);
        nodes.cluster_fd = cluster[0];
        for (uint32_t i = 0; i < G_N_ELEMENTS(words); i++) {
                g_assert_false(nodes.refused);
                g_assert_cmpint(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, control), ==, 0);
                nodes.nodes[i] = (Node){ .number = i + 1, .state = NODE_GREETING, .control_fd = control[0] };
                g_assert_cmpint(message_send(control[1], words[i], sizeof(*words[i]), NULL, 0), ==, 0);
                g_assert_cmpint(nodes_hear_carrier(&nodes, i, &news), ==, words[i] == &lost);
                (void) close(control[1]);
        }
        g_assert_true(nodes.refused);
        g_assert_cmpuint(nodes.n_lost, ==, 5);
        /* The node that is up stays, and the requests for others are withdrawn. No round can ask for more
         * nodes. */
        g_assert_cmpuint(last_wanted(cluster[1]), ==, 1);
        nodes_want(&nodes, 100, used, 1);
        g_assert_cmpuint(last_wanted(cluster[1]), ==, UINT32_MAX);
        g_assert_cmpuint(nodes.n_wanted, ==, 1);
        /* The node is given back when rounds need no node. */
        nodes_want(&nodes, 4, used, 1);
        g_assert_cmpuint(last_wanted(cluster[1]), ==, 0);
        (void) close(cluster[0]);
        (void) close(cluster[1]);
}

static void test_unready(void) {
        if (g_test_subprocess()) {
                greet_in_vain();
                return;
        }
        g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
        g_test_trap_assert_passed();
        g_test_trap_assert_stderr(
                        "*node 4 is lost: it has no libm*no further node is asked for: 3 nodes in a row*");
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/nodes/worth", test_worth);
        g_test_add_func("/nodes/cpus", test_cpus);
        g_test_add_func("/nodes/choose", test_choose);
        g_test_add_func("/nodes/closing", test_closing);
        g_test_add_func("/nodes/successor", test_successor);
        g_test_add_func("/nodes/patience", test_patience);
        g_test_add_func("/nodes/plausible", test_plausible);
        g_test_add_func("/nodes/silence", test_silence);
        g_test_add_func("/nodes/sum", test_sum);
        g_test_add_func("/nodes/lost-attempts", test_lost_attempts);
        g_test_add_func("/nodes/stopped", test_stopped);
        g_test_add_func("/nodes/unready", test_unready);
        return g_test_run();
}
