/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "invoker/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/launch.h"
#include "invoker/complain.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/fd.h"
#include "lib/message.h"
#include "lib/saturate.h"

#define LOST_PAUSE_NSEC (2ull * 1000000000u)  /* the pause between the loss of a node and the next request */
#define KEEP_NSEC       (60ull * 1000000000u) /* how long an idle node is kept without KeepAliveSec= */
#define END_NSEC        (10ull * 1000000000u) /* how long an ending job waits for the nodes' last costs */
#define UNREADY_MAX     3u /* if so many nodes in a row cannot begin, no more are asked for */
#define METERS_BYTES    (NODES_MAX * sizeof(CarrierMeter))
#define LEAVE_NSEC      (60ull * 1000000000u) /* how long a running job waits for a node's last cost */

int nodes_init(Nodes *nodes) {
        void *meters;
        int r;

        for (uint32_t i = 0; i < NODES_MAX; i++)
                nodes->nodes[i].control_fd = -EBADF;
        if (!nodes->place->invoked->launch.cluster)
                return 0;
        nodes->meters_fd = memfd_make("carriers", METERS_BYTES);
        if (nodes->meters_fd < 0)
                return nodes->meters_fd;
        r = fd_map(nodes->meters_fd, METERS_BYTES, true, &meters);
        if (r < 0)
                return r;
        nodes->meters = meters;
        /* Actors are hostile and forked from this process, so they must not inherit this memory. A carrier
         * maps it itself. */
        if (madvise(meters, METERS_BYTES, MADV_DONTFORK) < 0)
                return -errno;
        nodes->cluster_fd = INVOKER_FD_CLUSTER;
        /* The training must go on even if actord-cluster stops reading, so no write may wait. */
        if (fcntl(nodes->cluster_fd, F_SETFL, O_NONBLOCK) < 0)
                return -errno;
        return loop_watch(nodes->loop, nodes->cluster_fd, EVENT_CLUSTER);
}

static void carrier_end(Node *node) {
        node->control_fd = close_fd(node->control_fd);
        if (node->pid <= 0)
                return;
        (void) kill(node->pid, SIGKILL);
        (void) waitpid(node->pid, NULL, 0);
        node->pid = 0;
}

void nodes_done(Nodes *nodes) {
        for (uint32_t i = 0; i < NODES_MAX; i++)
                if (nodes->nodes[i].state != NODE_FREE)
                        carrier_end(&nodes->nodes[i]);
        nodes->cluster_fd = close_fd(nodes->cluster_fd);
        if (nodes->meters)
                fd_unmap(nodes->meters, METERS_BYTES);
        nodes->meters = NULL;
        nodes->meters_fd = close_fd(nodes->meters_fd);
}

uint64_t nodes_plausible_nsec(uint64_t told_nsec, uint64_t wall_nsec, uint32_t n_cpus) {
        return told_nsec / n_cpus < wall_nsec ? told_nsec : wall_nsec * n_cpus;
}

uint32_t nodes_worth(uint32_t n_containers, uint32_t here_cpus, uint32_t node_cpus, setting_range range) {
        uint32_t n = 0;

        if (n_containers > here_cpus)
                n = node_cpus > 0 ? (n_containers - here_cpus + node_cpus - 1) / node_cpus : 1;
        if (n < range.low)
                n = range.low;
        return n < range.high ? n : range.high;
}

NodeCPUs nodes_cpus(
                const Node nodes[], uint32_t n, uint32_t n_wanted, uint32_t node_cpus, uint32_t here_cpus) {
        uint32_t n_ready = 0, n_missing;
        NodeCPUs cpus = { .n_now = here_cpus };

        for (uint32_t i = 0; i < n; i++)
                if (nodes[i].state == NODE_READY && !nodes[i].closing) {
                        cpus.n_now += nodes[i].n_cpus;
                        n_ready++;
                }
        n_missing = n_wanted > n_ready ? n_wanted - n_ready : 0;
        cpus.n_asked = cpus.n_now + n_missing * (node_cpus > 0 ? node_cpus : here_cpus);
        return cpus;
}

uint32_t nodes_choose(const Node nodes[], uint32_t n, const uint32_t used[], uint32_t here_cpus,
                uint32_t here_used) {
        int64_t most = (int64_t) here_cpus - here_used;
        uint32_t best = NODE_NONE;

        for (uint32_t i = 0; i < n; i++) {
                int64_t left = (int64_t) nodes[i].n_cpus - used[i];

                if (nodes[i].state == NODE_READY && !nodes[i].closing && left > most) {
                        most = left;
                        best = i;
                }
        }
        return best;
}

NodeSum node_sum(const ClusterCost *cost, const CarrierMeter *meter, uint64_t now) {
        uint64_t since = atomic_load(&meter->since_nsec), busy = atomic_load(&meter->busy_nsec);
        NodeSum sum = {
                .allocated_nsec = saturate_u64((unsigned __int128) cost->allocated_usec * 1000),
                .use = {
                        .waited_nsec = saturate_u64((unsigned __int128) cost->waited_usec * 1000),
                        .sent_bytes = atomic_load(&meter->sent_bytes),
                        .received_bytes = atomic_load(&meter->received_bytes),
                },
        };

        if (since > 0 && now > since)
                busy = saturating_add(busy, now - since);
        if (sum.allocated_nsec > busy)
                sum.use.idle_nsec = sum.allocated_nsec - busy;
        return sum;
}

static uint64_t take_rest(uint64_t sum, uint64_t *told) {
        uint64_t rest = sum > *told ? sum - *told : 0;

        *told += rest;
        return rest;
}

NodeSum node_sum_rest(const NodeSum *sum, NodeSum *told) {
        return (NodeSum){
                .allocated_nsec = take_rest(sum->allocated_nsec, &told->allocated_nsec),
                .use = {
                        .idle_nsec = take_rest(sum->use.idle_nsec, &told->use.idle_nsec),
                        .waited_nsec = take_rest(sum->use.waited_nsec, &told->use.waited_nsec),
                        .sent_bytes = take_rest(sum->use.sent_bytes, &told->use.sent_bytes),
                        .received_bytes = take_rest(sum->use.received_bytes, &told->use.received_bytes),
                },
        };
}

/* actord-cluster has ended, and all nodes with it. Their carriers will report that. */
static void lose_cluster(Nodes *nodes, const char *why) {
        if (nodes->cluster_fd < 0)
                return;
        if (!nodes->ending)
                (void) invoker_complain(-EPIPE, why);
        nodes->cluster_fd = close_fd(nodes->cluster_fd);
}

static void request(Nodes *nodes, uint32_t kind, uint32_t n_nodes, uint32_t node) {
        const ClusterRequest request = {
                .abi = CLUSTER_ABI, .kind = kind, .n_nodes = n_nodes, .node = node
        };

        int r;

        if (nodes->cluster_fd < 0)
                return;
        r = message_send(nodes->cluster_fd, &request, sizeof(request), NULL, 0);
        if (r == -EAGAIN)
                lose_cluster(nodes, "actord-cluster does not read its requests; the job goes on without "
                                    "further nodes");
        else if (r < 0)
                lose_cluster(nodes, "actord-cluster has ended; the job goes on without further nodes");
}

/* A node that expires has a successor, which counts in its place. */
static bool counts(const Node *node) {
        return node->state != NODE_FREE && node->state != NODE_LEAVING && !node->cost.expires;
}

static uint32_t count(const Nodes *nodes) {
        uint32_t n = 0;

        for (uint32_t i = 0; i < NODES_MAX; i++)
                n += counts(&nodes->nodes[i]);
        return n;
}

static Node *find(Nodes *nodes, uint32_t number) {
        for (uint32_t i = 0; i < NODES_MAX; i++)
                if (nodes->nodes[i].state != NODE_FREE && nodes->nodes[i].number == number)
                        return &nodes->nodes[i];
        return NULL;
}

static uint64_t keep_nsec(const JobSettings *s) {
        uint64_t nsec;

        if (!settings_present(s, SETTING_Scaling_KeepAliveSec))
                return KEEP_NSEC;
        return __builtin_mul_overflow(s->keep_alive_usec, 1000u, &nsec) ? UINT64_MAX : nsec;
}

static bool goes_before(const Node *a, uint32_t used_a, const Node *b, uint32_t used_b) {
        if (!a->cost.expires != !b->cost.expires)
                return a->cost.expires;
        return used_a <= used_b;
}

uint32_t nodes_choose_closing(const Node nodes[], uint32_t n, const uint32_t used[]) {
        uint32_t best = NODE_NONE;

        for (uint32_t i = 0; i < n; i++) {
                if (nodes[i].state != NODE_READY)
                        continue;
                if (nodes[i].closing)
                        return NODE_NONE;
                if (best == NODE_NONE || goes_before(&nodes[i], used[i], &nodes[best], used[best]))
                        best = i;
        }
        return best;
}

bool nodes_have_spare(const Node nodes[], uint32_t n, uint32_t n_wanted) {
        uint32_t n_counted = 0, n_ready = 0, n_expiring = 0;

        for (uint32_t i = 0; i < n; i++) {
                n_counted += counts(&nodes[i]);
                n_ready += counts(&nodes[i]) && nodes[i].state == NODE_READY;
                n_expiring += nodes[i].state == NODE_READY && nodes[i].cost.expires;
        }
        return n_counted > n_wanted || (n_expiring > 0 && n_ready >= n_wanted);
}

/* Chooses a node that gets no more containers, if there have been too many nodes for a while. It becomes
 * idle and is given back. Without this choice, containers are spread over all nodes, and none becomes
 * idle. */
static void close_surplus(Nodes *nodes, const uint32_t used[], uint64_t now) {
        uint32_t closing;

        if (!nodes_have_spare(nodes->nodes, NODES_MAX, nodes->n_wanted)) {
                nodes->surplus_nsec = 0;
                for (uint32_t i = 0; i < NODES_MAX; i++)
                        nodes->nodes[i].closing = false;
                return;
        }
        if (nodes->surplus_nsec == 0)
                nodes->surplus_nsec = now;
        if (now - nodes->surplus_nsec < keep_nsec(nodes->place->settings))
                return;
        closing = nodes_choose_closing(nodes->nodes, NODES_MAX, used);
        if (closing != NODE_NONE)
                nodes->nodes[closing].closing = true;
}

static bool may_go(const Node *node, bool surplus, uint64_t idle_nsec, uint64_t most) {
        if (node->cost.expires)
                return node->closing;
        return surplus && (node->closing || idle_nsec >= most);
}

/* Gives back idle nodes: while there are more nodes than wanted, those that are closing or have been idle
 * for long; and nodes that expire and are closing. */
static void release_idle(Nodes *nodes, const uint32_t used[], uint64_t now) {
        uint64_t most = keep_nsec(nodes->place->settings);
        uint32_t n = count(nodes);

        for (uint32_t i = 0; i < NODES_MAX; i++) {
                Node *node = &nodes->nodes[i];

                if (node->state != NODE_READY)
                        continue;
                if (used[i] > 0)
                        node->idle_nsec = 0;
                else if (node->idle_nsec == 0)
                        node->idle_nsec = now;
                else if (may_go(node, n > nodes->n_wanted, now - node->idle_nsec, most)) {
                        request(nodes, CLUSTER_RELEASE, 0, node->number);
                        node->state = NODE_LEAVING;
                        node->left_nsec = now;
                        carrier_end(node);
                        n -= !node->cost.expires;
                }
        }
}

void nodes_want(Nodes *nodes, uint32_t n_containers, const uint32_t used[], uint64_t now) {
        const JobSettings *s = nodes->place->settings;
        uint32_t n;

        if (nodes->cluster_fd < 0 || nodes->ending)
                return;
        n = nodes_worth(n_containers, nodes->place->n_cpus, nodes->node_cpus, s->nodes);
        if (nodes->refused ? n < nodes->n_wanted
                           : n != nodes->n_wanted || (n > count(nodes) && now >= nodes->retry_nsec)) {
                nodes->n_wanted = n;
                nodes->retry_nsec = now + LOST_PAUSE_NSEC;
                request(nodes, CLUSTER_WANT, n, 0);
        }
        close_surplus(nodes, used, now);
        release_idle(nodes, used, now);
        /* After CLUSTER_REFUSED no node will come, so none counts as missing. */
        nodes->cpus = nodes_cpus(nodes->nodes, NODES_MAX, nodes->refused ? 0 : nodes->n_wanted,
                        nodes->node_cpus, nodes->place->n_cpus);
}

static int carrier_start(Nodes *nodes, Node *node, int stream_fd) {
        int pair[2], r;
        pid_t pid;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        /* A carrier that does not read, for example because it was stopped, must not stop this process. */
        (void) fcntl(pair[0], F_SETFL, O_NONBLOCK);
        nodes->meters[node - nodes->nodes] = (CarrierMeter){};
        pid = fork();
        r = pid < 0 ? -errno : 0;
        if (pid == 0) {
                void *meters;

                (void) close(pair[0]);
                if (fd_map(nodes->meters_fd, METERS_BYTES, true, &meters) < 0)
                        _exit(EXIT_FAILURE);
                carrier_run(nodes->place, stream_fd, pair[1],
                                (CarrierMeter *) meters + (node - nodes->nodes));
        }
        (void) close(pair[1]);
        if (pid < 0) {
                (void) close(pair[0]);
                return r;
        }
        node->pid = pid;
        node->metered = true;
        node->control_fd = pair[0];
        return loop_watch_index(
                        nodes->loop, node->control_fd, EVENT_CARRIER, (uint32_t) (node - nodes->nodes));
}

/* The node's use that is in no record yet. A node that was never up has no meter: the meter at its index is
 * unused, or another node's. */
static NodeSum rest_of(const Nodes *nodes, Node *node) {
        static const CarrierMeter none = {};
        NodeSum sum = node_sum(&node->cost, node->metered ? nodes->meters + (node - nodes->nodes) : &none,
                        clock_boottime());

        return node_sum_rest(&sum, &node->told);
}

static void news(const Nodes *nodes, Node *node, uint32_t kind, const char *words, NodeNews *ret) {
        if (words != node->words)
                (void) snprintf(node->words, sizeof(node->words), "%.31s", words);
        *ret = (NodeNews){
                .index = (uint32_t) (node - nodes->nodes),
                .number = node->number,
                .kind = kind,
                .cost = node->cost,
        };
        if (kind == CLUSTER_COST || kind == CLUSTER_LOST || kind == CLUSTER_GONE)
                ret->rest = rest_of(nodes, node);
        memcpy(ret->words, node->words, sizeof(ret->words));
}

/* From now on the node takes no containers. Its entry stays until its last cost is known. */
static void leave(Nodes *nodes, Node *node, bool lost, const char *words) {
        node->state = NODE_LEAVING;
        node->left_nsec = clock_boottime();
        node->lost = lost;
        (void) snprintf(node->words, sizeof(node->words), "%.31s", words);
        if (lost) {
                nodes->n_lost++;
                nodes->retry_nsec = node->left_nsec + LOST_PAUSE_NSEC;
                fprintf(stderr, "actord-invoker: node %u is lost: %s\n", node->number, words);
        }
        carrier_end(node);
}

/* Frees the entry of a node of which no more messages will come. */
static int over(Nodes *nodes, Node *node, NodeNews *ret) {
        news(nodes, node, node->lost ? CLUSTER_LOST : CLUSTER_GONE, node->words, ret);
        *node = (Node){ .control_fd = -EBADF };
        return 1;
}

/* An environment that does not load on one node may load on another, and this host may lack a process for a
 * moment. But each try costs an allocation, so their number is limited. */
static void count_unready(Nodes *nodes, const char *words) {
        if (nodes->refused || ++nodes->n_unready < UNREADY_MAX)
                return;
        nodes->refused = true;
        nodes->n_wanted = 0;
        for (uint32_t i = 0; i < NODES_MAX; i++)
                nodes->n_wanted += nodes->nodes[i].state == NODE_GREETING ||
                                   nodes->nodes[i].state == NODE_READY;
        /* actord-cluster withdraws the nodes that are still pending. */
        request(nodes, CLUSTER_WANT, nodes->n_wanted, 0);
        fprintf(stderr,
                        "actord-invoker: no further node is asked for: %u nodes in a row came up and "
                        "could not begin, the last because %s\n",
                        nodes->n_unready, words);
}

static int came_up(Nodes *nodes, Node *node, const ClusterEvent *event, int stream_fd, NodeNews *ret) {
        char words[96];
        int r;

        if (stream_fd < 0 || node->state != NODE_PENDING || nodes->ending) {
                request(nodes, CLUSTER_RELEASE, 0, node->number);
                return 0;
        }
        r = carrier_start(nodes, node, stream_fd);
        if (r < 0) {
                (void) snprintf(words, sizeof(words), "no process for it here: %s", strerror(-r));
                request(nodes, CLUSTER_RELEASE, 0, node->number);
                leave(nodes, node, true, words);
                count_unready(nodes, words);
                return 0;
        }
        node->state = NODE_GREETING;
        node->n_cpus = nodes->node_cpus = event->n_cpus > 0 ? event->n_cpus : 1;
        news(nodes, node, CLUSTER_UP, event->name, ret);
        return 1;
}

/* Returns the entry of a node, or makes one. The cluster program counts its nodes and gives no number twice,
 * so an old number without an entry belongs to a node that has ended: NULL. */
static Node *place_for(Nodes *nodes, uint32_t number) {
        Node *node = find(nodes, number);

        if (node || number <= nodes->newest || nodes->ending)
                return node;
        for (uint32_t i = 0; !node && i < NODES_MAX; i++)
                if (nodes->nodes[i].state == NODE_FREE) {
                        node = &nodes->nodes[i];
                        node->number = nodes->newest = number;
                        node->state = NODE_PENDING;
                }
        return node;
}

/* Reports a node's new costs at most once a second, so that the bill of a running job includes its nodes. */
static int costs_more(const Nodes *nodes, Node *node, NodeNews *ret) {
        if (node->cost.allocated_usec / 1000000 <= node->told.allocated_nsec / 1000000000u)
                return 0;
        news(nodes, node, CLUSTER_COST, node->words, ret);
        return 1;
}

/* Takes a message about a node. CLUSTER_LOST and CLUSTER_GONE end the node's containers at once. The node's
 * record is written when its last CLUSTER_COST has come. */
static int take_event(Nodes *nodes, const ClusterEvent *event, int stream_fd, NodeNews *ret) {
        Node *node;

        if (event->kind == CLUSTER_REFUSED) {
                fprintf(stderr, "actord-invoker: no node of the cluster will come: %s\n", event->words);
                nodes->refused = true;
                return 0;
        }
        node = place_for(nodes, event->node);
        if (!node)
                return 0;
        switch ((ClusterEventKind) event->kind) {
        case CLUSTER_PENDING:
                if (node->state != NODE_PENDING || strncmp(node->words, event->words, 31) == 0)
                        return 0;
                news(nodes, node, CLUSTER_PENDING, event->words, ret);
                return 1;
        case CLUSTER_UP: return came_up(nodes, node, event, stream_fd, ret);
        case CLUSTER_LOST:
        case CLUSTER_GONE:
                if (node->state == NODE_LEAVING)
                        return 0;
                leave(nodes, node, event->kind == CLUSTER_LOST, event->words);
                ret->emptied = true;
                ret->index = (uint32_t) (node - nodes->nodes);
                return 1;
        case CLUSTER_COST:
                node->cost = event->cost;
                if (event->cost.final)
                        return node->state == NODE_LEAVING ? over(nodes, node, ret) : 0;
                return costs_more(nodes, node, ret);
        default: return 0;
        }
}

int nodes_hear_cluster(Nodes *nodes, NodeNews *ret) {
        _cleanup_close_ int stream_fd = -EBADF;
        ClusterEvent event;
        size_t n, n_fds;
        int r;

        *ret = (NodeNews){ .index = NODE_NONE };
        if (nodes->cluster_fd < 0)
                return 0;
        r = message_receive(nodes->cluster_fd, 0, &event, sizeof(event), &n, &stream_fd, 1, &n_fds);
        if (r == -ETIMEDOUT || r == -EAGAIN)
                return 0;
        if (r < 0 || n != sizeof(event) || event.abi != CLUSTER_ABI || event.kind >= _CLUSTER_EVENT_MAX ||
                        !memchr(event.name, 0, sizeof(event.name)) ||
                        !memchr(event.words, 0, sizeof(event.words))) {
                lose_cluster(nodes, "actord-cluster has ended; the job goes on without further nodes");
                return 0;
        }
        return take_event(nodes, &event, stream_fd, ret);
}

int nodes_hear_carrier(Nodes *nodes, uint32_t index, NodeNews *ret) {
        Node *node = &nodes->nodes[index];
        CarrierWord word = { .words = "its carrier has ended" };
        bool unready;
        size_t n, n_fds;
        int r;

        *ret = (NodeNews){ .index = NODE_NONE };
        if (node->control_fd < 0)
                return 0;
        r = message_receive(node->control_fd, 0, &word, sizeof(word), &n, NULL, 0, &n_fds);
        if (r == -ETIMEDOUT || r == -EAGAIN)
                return 0;
        if (r >= 0 && n == sizeof(word) && word.kind == CARRIER_READY && node->state == NODE_GREETING) {
                node->state = NODE_READY;
                nodes->n_unready = 0;
                return 0;
        }
        word.words[sizeof(word.words) - 1] = '\0';
        unready = node->state == NODE_GREETING;
        request(nodes, CLUSTER_RELEASE, 0, node->number);
        leave(nodes, node, true, word.words);
        if (unready)
                count_unready(nodes, word.words);
        ret->index = index;
        ret->emptied = true;
        return 1;
}

int nodes_attach(Nodes *nodes, uint32_t index, uint32_t container) {
        const CarrierWord word = { .kind = CARRIER_ATTACH, .container = container };
        _cleanup_close_ int ours = -EBADF, theirs = -EBADF;
        int pair[2], r;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        ours = pair[0];
        theirs = pair[1];
        r = message_send(nodes->nodes[index].control_fd, &word, sizeof(word), &theirs, 1);
        return r < 0 ? r : TAKE_FD(ours);
}

int nodes_take_left(Nodes *nodes, uint64_t now, NodeNews *ret) {
        for (uint32_t i = 0; i < NODES_MAX; i++) {
                Node *node = &nodes->nodes[i];

                if (node->state == NODE_LEAVING &&
                                (nodes->cluster_fd < 0 || now >= node->left_nsec + LEAVE_NSEC ||
                                                (nodes->ending && now >= nodes->end_nsec)))
                        return over(nodes, node, ret);
        }
        return 0;
}

void nodes_end(Nodes *nodes, uint64_t now) {
        if (nodes->ending)
                return;
        nodes->ending = true;
        nodes->end_nsec = now + END_NSEC;
        for (uint32_t i = 0; i < NODES_MAX; i++)
                if (nodes->nodes[i].state != NODE_FREE && nodes->nodes[i].state != NODE_LEAVING)
                        leave(nodes, &nodes->nodes[i], false, "the job has ended");
        request(nodes, CLUSTER_END, 0, 0);
}

bool nodes_are_over(Nodes *nodes, uint64_t now) {
        bool some = false;

        for (uint32_t i = 0; i < NODES_MAX; i++)
                some = some || nodes->nodes[i].state != NODE_FREE;
        if (!some)
                return true;
        loop_want_timer(nodes->loop, nodes->end_nsec);
        return false;
}
