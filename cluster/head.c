/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The head: one loop over the invoker's socket, the engine's commands, the port and the connections. An
 * event changes the head's view of a node. The head reports to the invoker immediately that a node is up or
 * has left, and every other change at the end of the turn. */
#include "cluster/head.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "cluster/credential.h"
#include "cluster/listen.h"
#include "cluster/node.h"
#include "cluster/pump.h"
#include "include/cluster.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/message.h"
#include "lib/words.h"

enum {
        NODES_SLOTS = CLUSTER_NODES_MAX + 256, /* an ending node has a place beside its successor */
        /* If this many nodes in a row have not come up, and none is up, the head asks for no more. */
        FAILURES_MAX = 3,
        FAILURE_SECONDS = 2,
        FAILURE_SECONDS_MOST = 600,
        COST_SECONDS = 5,
        OUTAGE_SECONDS = 30, /* longer than an engine lets pass between two looks at its cluster */
        /* How long a node's program may be silent, and how long it may wait for its parcel of programs. */
        SILENT_SECONDS = 120,
        AWAIT_SECONDS = 360,
        END_SECONDS = 40,
        SEND_SECONDS = 10,
};

typedef struct HeadNode {
        Peer *peer;
        int stream; /* the invoker's end, until it is passed on */
        bool up;
        bool left;      /* LOST or GONE was reported to the invoker */
        bool renewed;   /* the node's time limit is near: a successor is asked for */
        char told[256]; /* the words of the newest PENDING */
        /* Why a connection that claimed to be this node, perhaps a stranger's, was refused. The reason is
         * believed only if the node ends with NODE_EXIT_REJECTED. */
        char refusal[256];
        uint64_t next_cost_nsec, began_nsec;
        uint64_t due_nsec; /* the node's program must answer by then */
} HeadNode;

typedef struct Head {
        const HeadTerms *terms;
        Engine engine;
        Listener *listener;
        HeadNode *nodes; /* the same places as in engine.nodes */
        uint32_t n_wanted, next_number;
        unsigned n_failures;
        uint64_t next_start_nsec;
        bool refused_told, ending, broken;
        uint64_t end_nsec;
        int signal_fd;
} Head;

static void tell(Head *head, ClusterEvent *event, const char *words, int fd) {
        event->abi = CLUSTER_ABI;
        (void) snprintf(event->words, sizeof(event->words), "%s", words);
        words_clean(event->words, sizeof(event->words));
        if (!head->broken && message_send(head->terms->socket_fd, event, sizeof(*event), &fd, fd >= 0) < 0)
                head->broken = true;
}

static void tell_node(Head *head, const EngineNode *node, ClusterEventKind kind, const char *words) {
        ClusterEvent event = { .kind = kind, .node = node->number };

        tell(head, &event, words, -EBADF);
}

static void tell_cost(Head *head, const EngineNode *node, bool final) {
        ClusterEvent event = { .kind = CLUSTER_COST, .node = node->number };

        engine_node_cost(node, final, &event.cost);
        event.cost.expires = head->nodes[node - head->engine.nodes].renewed;
        tell(head, &event, "", -EBADF);
}

static size_t index_of(const Head *head, const EngineNode *node) {
        return (size_t) (node - head->engine.nodes);
}

static EngineNode *find_node(Head *head, uint32_t number) {
        for (size_t i = 0; i < head->engine.n_nodes; i++)
                if (head->engine.nodes[i].state != ENGINE_FREE && head->engine.nodes[i].number == number)
                        return head->engine.nodes + i;
        return NULL;
}

static bool has_one_up(const Head *head) {
        for (size_t i = 0; i < head->engine.n_nodes; i++)
                if (head->engine.nodes[i].state != ENGINE_FREE && head->nodes[i].up && !head->nodes[i].left)
                        return true;
        return false;
}

/* After each failure in a row, the head waits longer before it asks for another node. While a node is up,
 * the head does not give up: all failures may have had the same bad host. */
static void count_failure(Head *head, const EngineNode *node, const char *words) {
        uint64_t seconds = ++head->n_failures * FAILURE_SECONDS;

        for (unsigned n = FAILURES_MAX; n <= head->n_failures && seconds < FAILURE_SECONDS_MOST; n++)
                seconds *= 2;
        head->next_start_nsec = clock_boottime() + seconds * 1000000000ull;
        /* A rejection whose reason the head does not know may be the head's fault: no host is avoided. */
        if (node->exit_status != NODE_EXIT_REJECTED || head->nodes[index_of(head, node)].refusal[0])
                engine_avoid(&head->engine, node);
        if (head->n_failures >= FAILURES_MAX && !has_one_up(head) && head->engine.open != ENGINE_REFUSED)
                engine_refuse(&head->engine, "%u nodes in a row did not come up, the last because %s%.190s",
                                head->n_failures, node->name[0] ? "of " : "", words);
}

/* Reports that a node was lost or is gone. The node keeps its place until its cost is final. */
static void leave(Head *head, EngineNode *node, ClusterEventKind kind, const char *words) {
        HeadNode *ours = head->nodes + index_of(head, node);
        bool failed = kind == CLUSTER_LOST && !ours->up;
        char full[256];

        node->stop = true;
        if (ours->left)
                return;
        /* Slurm may never report the last cost, so the connection shows how long the node ran. */
        if (ours->up) {
                engine_node_runs(node, engine_clock() - (kind == CLUSTER_GONE ? 0 : PUMP_SILENCE_SECONDS));
                ours->next_cost_nsec = 0;
        }
        ours->left = true;
        ours->stream = close_fd(ours->stream);
        (void) snprintf(full, sizeof(full), "%s%s%.180s", failed ? node->name : "",
                        failed && node->name[0] ? ": " : "", words);
        tell_node(head, node, kind, full);
        if (failed)
                count_failure(head, node, full);
}

/* Requests */

/* The invoker accepts a new node only if its number is higher than all before, but the engine may report on
 * nodes in any order. So each node starts with `words`, which the head reports at the end of this turn. */
static void start_node(Head *head) {
        for (size_t i = 0; i < head->engine.n_nodes; i++)
                if (head->engine.nodes[i].state == ENGINE_FREE) {
                        head->engine.nodes[i] = (EngineNode){
                                .number = head->next_number++,
                                .state = ENGINE_WANTED,
                                .exit_status = -1,
                                .words = "not asked for yet",
                        };
                        head->nodes[i] = (HeadNode){ .stream = -EBADF };
                        return;
                }
}

static bool counts(const Head *head, size_t i) {
        const EngineNode *node = head->engine.nodes + i;

        return node->state != ENGINE_FREE && node->state != ENGINE_OVER && !node->stop &&
               !head->nodes[i].renewed;
}

static uint32_t count_all(const Head *head) {
        uint32_t n = 0;

        for (size_t i = 0; i < head->engine.n_nodes; i++)
                n += counts(head, i);
        return n;
}

/* Finds the newest node that is not up: older ones are further ahead in the cluster's queue. */
static EngineNode *find_to_withdraw(const Head *head) {
        EngineNode *newest = NULL;

        for (size_t i = 0; i < head->engine.n_nodes; i++)
                if (counts(head, i) && !head->nodes[i].up &&
                                (!newest || head->engine.nodes[i].number > newest->number))
                        newest = head->engine.nodes + i;
        return newest;
}

static void balance(Head *head) {
        uint32_t n = count_all(head);

        for (; n > head->n_wanted; n--) {
                EngineNode *node = find_to_withdraw(head);

                if (!node)
                        break;
                leave(head, node, CLUSTER_GONE, "it was withdrawn");
        }
        if (head->ending || head->engine.open != ENGINE_OPEN || clock_boottime() < head->next_start_nsec)
                return;
        for (; n < head->n_wanted; n++)
                start_node(head);
}

static void begin_end(Head *head) {
        if (head->ending)
                return;
        head->ending = true;
        head->n_wanted = 0;
        head->end_nsec = clock_boottime() + END_SECONDS * 1000000000ull;
        for (size_t i = 0; i < head->engine.n_nodes; i++)
                if (head->engine.nodes[i].state != ENGINE_FREE)
                        leave(head, head->engine.nodes + i, CLUSTER_GONE, "the job has ended");
}

/* Gives a node back. The invoker's next CLUSTER_WANT decides whether another node takes its place. */
static void release(Head *head, EngineNode *node, const char *words) {
        uint32_t n;

        leave(head, node, CLUSTER_GONE, words);
        n = count_all(head);
        if (n < head->n_wanted)
                head->n_wanted = n;
}

static void take_request(Head *head) {
        ClusterRequest request;
        EngineNode *node;
        size_t n, n_fds;
        int r;

        r = message_receive(head->terms->socket_fd, 0, &request, sizeof(request), &n, NULL, 0, &n_fds);
        if (r == -ETIMEDOUT)
                return;
        if (r < 0 || n != sizeof(request) || request.abi != CLUSTER_ABI) {
                head->broken = true;
                begin_end(head);
                return;
        }
        switch (request.kind) {
        case CLUSTER_WANT:
                head->n_wanted = request.n_nodes < CLUSTER_NODES_MAX ? request.n_nodes : CLUSTER_NODES_MAX;
                break;
        case CLUSTER_RELEASE:
                node = find_node(head, request.node);
                if (node)
                        release(head, node, "it was given back");
                break;
        case CLUSTER_END: begin_end(head); break;
        default: head->broken = true; begin_end(head);
        }
}

/* Connections */

static void note_refusal(Head *head, const PeerReport *said) {
        EngineNode *node = said->claimed ? find_node(head, said->claimed) : NULL;

        if (node)
                (void) snprintf(head->nodes[index_of(head, node)].refusal, sizeof(head->nodes->refusal),
                                "%s", said->words);
}

static void name_peer(Head *head, Peer *peer, const PeerReport *said) {
        EngineNode *node = find_node(head, said->node);
        HeadNode *ours = node ? head->nodes + index_of(head, node) : NULL;

        if (!ours || node->stop || ours->peer || node->state == ENGINE_OVER ||
                        peer_consent(peer->channel, &ours->stream) < 0) {
                listener_complain(head->listener, peer,
                                "it names a node that was not asked for, or is connected already");
                peer_end(head->listener, peer);
                return;
        }
        peer->node = said->node;
        head->listener->n_strangers--;
        ours->peer = peer;
        if (said->facts.name[0] && !node->name[0])
                (void) snprintf(node->name, sizeof(node->name), "%s", said->facts.name);
        if (node->n_cpus == 0)
                node->n_cpus = said->facts.n_cpus;
        if (node->memory_bytes == 0)
                node->memory_bytes = said->facts.memory_bytes;
}

static void node_is_up(Head *head, EngineNode *node, const PeerReport *said) {
        HeadNode *ours = head->nodes + index_of(head, node);
        ClusterEvent event = { .kind = CLUSTER_UP,
                .node = node->number,
                .n_cpus = said->facts.n_cpus,
                .memory_bytes = said->facts.memory_bytes };

        if (ours->left)
                return;
        (void) snprintf(event.name, sizeof(event.name), "%s", node->name);
        ours->up = ours->peer->ready = true;
        head->n_failures = 0;
        tell(head, &event, node->id, ours->stream);
        ours->stream = close_fd(ours->stream);
}

/* Ends the connection of a node, and reports the node as lost. words: the reason. */
static void lose_peer(Head *head, Peer *peer, const char *words) {
        EngineNode *node = peer->node ? find_node(head, peer->node) : NULL;

        if (node) {
                head->nodes[index_of(head, node)].peer = NULL;
                leave(head, node, CLUSTER_LOST, words);
        }
        peer_end(head->listener, peer);
}

static void take_peer(Head *head, Peer *peer) {
        PeerReport said;
        int r = peer_receive(peer->channel, &said);

        if (r == 0)
                return;
        if (r < 0) {
                lose_peer(head, peer, "the process that carried its stream has ended");
                return;
        }
        switch ((PeerStep) said.step) {
        case PEER_NAMED:
                if (peer->node == 0)
                        name_peer(head, peer, &said);
                break;
        case PEER_READY: {
                EngineNode *node = peer->node ? find_node(head, peer->node) : NULL;

                if (node)
                        node_is_up(head, node, &said);
                break;
        }
        case PEER_OTHER_BUILD:
                if (head->engine.open != ENGINE_REFUSED)
                        engine_refuse(&head->engine, "%s", said.words);
                lose_peer(head, peer, said.words);
                break;
        case PEER_REFUSED:
                if (peer->node == 0) {
                        listener_complain(head->listener, peer, said.words);
                        note_refusal(head, &said);
                }
                lose_peer(head, peer, said.words);
                break;
        case PEER_CLOSED: {
                EngineNode *node = find_node(head, peer->node);

                if (node)
                        release(head, node, said.words);
                lose_peer(head, peer, said.words);
                break;
        }
        case PEER_ENDED: lose_peer(head, peer, said.words); break;
        case PEER_NONE:
        case _PEER_STEP_MAX: break;
        }
}

/* Telling the invoker */

/* Notes that the node's time limit is near. The invoker must hear of this before the successor is up, or it
 * would close the successor as one node too many. */
static void renew(Head *head, size_t i) {
        HeadNode *ours = head->nodes + i;

        if (ours->up && !ours->renewed &&
                        engine_node_expires(head->engine.nodes + i, head->terms->terms.time_limit_sec)) {
                ours->renewed = true;
                ours->next_cost_nsec = 0;
        }
}

static void tell_of(Head *head, size_t i, uint64_t now) {
        EngineNode *node = head->engine.nodes + i;
        HeadNode *ours = head->nodes + i;

        if (node->state == ENGINE_OVER) {
                bool refused = node->exit_status == NODE_EXIT_REJECTED && ours->refusal[0];

                leave(head, node, node->excused ? CLUSTER_GONE : CLUSTER_LOST,
                                refused ? ours->refusal : node->words);
                if (ours->peer)
                        peer_end(head->listener, ours->peer);
                tell_cost(head, node, true);
                *node = (EngineNode){};
                return;
        }
        if (node->state == ENGINE_RUNNING && !ours->up && !ours->left) {
                if (ours->began_nsec == 0)
                        ours->began_nsec = now;
                if (ours->due_nsec == 0 ||
                                (node->awaits && now - ours->began_nsec < AWAIT_SECONDS * 1000000000ull))
                        ours->due_nsec = now + SILENT_SECONDS * 1000000000ull;
                if (now > ours->due_nsec)
                        leave(head, node, CLUSTER_LOST, "its program does not answer");
        }
        if (!ours->left && !ours->up && strcmp(ours->told, node->words) != 0) {
                (void) snprintf(ours->told, sizeof(ours->told), "%s", node->words);
                tell_node(head, node, CLUSTER_PENDING, node->words);
        }
        renew(head, i);
        /* The time of a connected node is charged, even while Slurm gives no answer. */
        if (ours->up && !ours->left)
                engine_node_runs(node, engine_clock() - OUTAGE_SECONDS);
        if (node->state == ENGINE_RUNNING && now >= ours->next_cost_nsec) {
                ours->next_cost_nsec = now + COST_SECONDS * 1000000000ull;
                tell_cost(head, node, false);
        }
}

/* Gives up all nodes that are not up yet. */
static void withdraw_all(Head *head) {
        for (size_t i = 0; i < head->engine.n_nodes; i++)
                if (counts(head, i) && !head->nodes[i].up)
                        leave(head, head->engine.nodes + i, CLUSTER_LOST, head->engine.words);
}

static void tell_all(Head *head, uint64_t now) {
        for (size_t i = 0; i < head->engine.n_nodes; i++)
                if (head->engine.nodes[i].state != ENGINE_FREE)
                        tell_of(head, i, now);
        if (head->engine.open == ENGINE_REFUSED && !head->refused_told) {
                ClusterEvent event = { .kind = CLUSTER_REFUSED };

                head->refused_told = true;
                withdraw_all(head);
                tell(head, &event, head->engine.words, -EBADF);
        }
}

static bool has_nodes(const Head *head) {
        for (size_t i = 0; i < head->engine.n_nodes; i++)
                if (head->engine.nodes[i].state != ENGINE_FREE)
                        return true;
        return false;
}

static void open_port(Head *head) {
        char words[256] = "";

        if (head->engine.open != ENGINE_OPEN || head->listener->fd >= 0)
                return;
        if (listener_open(head->listener, head->engine.address, head->engine.head_address,
                            &head->engine.head_port, words) < 0)
                engine_refuse(&head->engine, "%s", words);
}

/* The loop */

static size_t fill_poll(Head *head, struct pollfd *p, Peer **ret_peers, size_t *ret_n_peers, int *timeout,
                uint64_t now) {
        size_t n = 0, n_peers = 0;

        assert(head->listener);

        p[n++] = (struct pollfd){ .fd = head->broken ? -1 : head->terms->socket_fd, .events = POLLIN };
        p[n++] = (struct pollfd){ .fd = head->signal_fd, .events = POLLIN };
        p[n++] = (struct pollfd){ .fd = listener_has_room(head->listener, now) ? head->listener->fd : -1,
                .events = POLLIN };
        if (p[2].fd < 0 && head->listener->fd >= 0)
                *timeout = 1000;
        for (size_t i = 0; i < PEERS_MAX; i++)
                if (head->listener->peers[i].pid > 0) {
                        ret_peers[n_peers++] = head->listener->peers + i;
                        p[n++] = (struct pollfd){ .fd = head->listener->peers[i].channel, .events = POLLIN };
                }
        n += head->engine.kind->poll(&head->engine, p + n, timeout, now);
        *ret_n_peers = n_peers;
        return n;
}

static void expire_peers(Head *head, uint64_t now) {
        for (size_t i = 0; i < PEERS_MAX; i++) {
                Peer *peer = head->listener->peers + i;

                if (peer->pid > 0 && !peer->ready && now > peer->deadline_nsec)
                        lose_peer(head, peer, "it did not become ready in time");
        }
}

static void turn(Head *head, struct pollfd *p, Peer **peers) {
        uint64_t now = clock_boottime();
        int timeout = has_nodes(head) || head->ending || head->n_wanted > 0 ? 1000 : -1;
        size_t n_peers, n;

        n = fill_poll(head, p, peers, &n_peers, &timeout, now);
        if (poll(p, n, timeout) < 0 && errno != EINTR)
                head->broken = true;
        if (p[0].revents)
                take_request(head);
        if (p[1].revents) {
                struct signalfd_siginfo info;

                (void) !read(head->signal_fd, &info, sizeof(info));
                begin_end(head);
        }
        if (p[2].revents)
                listener_accept(head->listener);
        for (size_t i = 0; i < n_peers; i++)
                if (p[3 + i].revents && peers[i]->pid > 0)
                        take_peer(head, peers[i]);
        now = clock_boottime();
        expire_peers(head, now);
        head->engine.kind->step(&head->engine, now);
        open_port(head);
        balance(head);
        tell_all(head, now);
        /* Without an invoker, the head gives all nodes back. */
        if (head->broken)
                begin_end(head);
}

/* Reports final costs that Slurm has not reported in time, by this host's clock. */
static void settle(Head *head) {
        head->engine.kind->abandon(&head->engine);
        for (size_t i = 0; i < head->engine.n_nodes; i++) {
                EngineNode *node = head->engine.nodes + i;

                if (node->state == ENGINE_FREE)
                        continue;
                if (node->ended == 0)
                        node->ended = engine_clock() + node->ahead;
                tell_cost(head, node, true);
        }
}

static int head_init(Head *head) {
        const struct timeval patience = { .tv_sec = SEND_SECONDS };
        sigset_t set;
        int r;

        (void) sigemptyset(&set);
        (void) sigaddset(&set, SIGTERM);
        (void) sigaddset(&set, SIGINT);
        (void) signal(SIGPIPE, SIG_IGN);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        head->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        (void) setsockopt(head->terms->socket_fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        head->nodes = calloc(NODES_SLOTS, sizeof(*head->nodes));
        head->listener = calloc(1, sizeof(*head->listener));
        head->engine.nodes = calloc(NODES_SLOTS, sizeof(*head->engine.nodes));
        if (head->signal_fd < 0 || !head->nodes || !head->listener || !head->engine.nodes)
                return -ENOMEM;
        head->listener->fd = -EBADF;
        head->engine.n_nodes = NODES_SLOTS;
        head->engine.kind = head->terms->engine;
        head->engine.terms = head->terms->terms;
        if (gnutls_rnd(GNUTLS_RND_NONCE, head->engine.terms.token, TOKEN_BYTES) < 0)
                return -EIO;
        head->listener->terms = head->terms->peers;
        memcpy(head->listener->terms.token, head->engine.terms.token, TOKEN_BYTES);
        head->next_number = 1;
        r = head->engine.kind->init(&head->engine);
        if (r < 0)
                return r;
        if (head->engine.open == ENGINE_CHECKING && credential_try(head->engine.words) < 0)
                head->engine.open = ENGINE_REFUSED;
        return 0;
}

static void head_done(Head *head) {
        for (size_t i = 0; head->nodes && head->engine.nodes && i < head->engine.n_nodes; i++)
                if (head->engine.nodes[i].state != ENGINE_FREE)
                        head->nodes[i].stream = close_fd(head->nodes[i].stream);
        if (head->listener)
                listener_done(head->listener);
        if (head->engine.kind)
                head->engine.kind->done(&head->engine);
        free(head->engine.nodes);
        free(head->nodes);
        free(head->listener);
        (void) close_fd(head->signal_fd);
}

int head_main(const HeadTerms *terms) {
        _cleanup_(head_done) Head head = { .terms = terms, .signal_fd = -EBADF };
        _cleanup_free_ struct pollfd *p = calloc(3 + PEERS_MAX + ENGINE_FDS_MAX, sizeof(*p));
        _cleanup_free_ Peer **peers = calloc(PEERS_MAX, sizeof(*peers));
        int r;

        if (!p || !peers)
                return EXIT_FAILURE;
        r = head_init(&head);
        if (r < 0) {
                (void) fprintf(stderr, "actord-cluster: cannot start: %s\n", strerror(-r));
                return EXIT_FAILURE;
        }
        while (!head.ending || (has_nodes(&head) && !head.broken && clock_boottime() < head.end_nsec))
                turn(&head, p, peers);
        settle(&head);
        return EXIT_SUCCESS;
}
