/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/listen.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "lib/boottime.h"
#include "lib/cleanup.h"

enum { BACKLOG = CLUSTER_NODES_MAX, COMPLAINTS_MAX = 20 };

/* Asks the kernel for the address from which a packet to that host would be sent. Nothing is sent. */
static int find_source(const char *towards, struct sockaddr_storage *ret, socklen_t *ret_n) {
        const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
        _cleanup_close_ int fd = -EBADF;
        struct addrinfo *to = NULL;
        int r = -EHOSTUNREACH;

        if (getaddrinfo(towards, "9", &hints, &to) != 0)
                return -EHOSTUNREACH;
        fd = socket(to->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        *ret_n = sizeof(*ret);
        if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) >= 0 &&
                        getsockname(fd, (struct sockaddr *) ret, ret_n) >= 0)
                r = 0;
        freeaddrinfo(to);
        return r;
}

static void set_port(struct sockaddr_storage *address, in_port_t port) {
        if (address->ss_family == AF_INET6)
                ((struct sockaddr_in6 *) address)->sin6_port = port;
        else
                ((struct sockaddr_in *) address)->sin_port = port;
}

static unsigned get_port(const struct sockaddr_storage *address) {
        if (address->ss_family == AF_INET6)
                return ntohs(((const struct sockaddr_in6 *) address)->sin6_port);
        return ntohs(((const struct sockaddr_in *) address)->sin_port);
}

static int open_port(struct sockaddr_storage *address, socklen_t *n) {
        _cleanup_close_ int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        set_port(address, 0);
        if (bind(fd, (struct sockaddr *) address, *n) < 0 || listen(fd, BACKLOG) < 0 ||
                        getsockname(fd, (struct sockaddr *) address, n) < 0)
                return -errno;
        return TAKE_FD(fd);
}

int listener_open(Listener *listener, const char *towards, char ret_address[64], unsigned *ret_port,
                char words[256]) {
        struct sockaddr_storage address = {};
        socklen_t n;
        int r;

        r = find_source(towards, &address, &n);
        if (r < 0) {
                (void) snprintf(words, 256, "the nodes' address %.100s cannot be reached from this host: %s",
                                towards, strerror(-r));
                return r;
        }
        r = open_port(&address, &n);
        if (r < 0) {
                (void) snprintf(words, 256, "no port can be opened for nodes: %s", strerror(-r));
                return r;
        }
        listener->fd = r;
        *ret_port = get_port(&address);
        if (getnameinfo((struct sockaddr *) &address, n, ret_address, 64, NULL, 0, NI_NUMERICHOST) != 0)
                return -EINVAL;
        return 0;
}

static Peer *find_free(Listener *listener) {
        for (size_t i = 0; i < PEERS_MAX; i++)
                if (listener->peers[i].pid == 0)
                        return listener->peers + i;
        return NULL;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b) {
        if (a->sa_family != b->sa_family)
                return false;
        if (a->sa_family == AF_INET6)
                return memcmp(&((const struct sockaddr_in6 *) a)->sin6_addr,
                                       &((const struct sockaddr_in6 *) b)->sin6_addr,
                                       sizeof(struct in6_addr)) == 0;
        return a->sa_family == AF_INET && ((const struct sockaddr_in *) a)->sin_addr.s_addr ==
                                                          ((const struct sockaddr_in *) b)->sin_addr.s_addr;
}

/* Whether an address belongs to this host. All addresses of this host count as one: any process can use any
 * of them, and the loopback network alone has millions. */
static bool is_here(const struct sockaddr *address) {
        bool here = address->sa_family == AF_INET &&
                    ntohl(((const struct sockaddr_in *) address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        struct ifaddrs *all = NULL;

        if (here || getifaddrs(&all) < 0)
                return here;
        for (const struct ifaddrs *a = all; a && !here; a = a->ifa_next)
                here = a->ifa_addr && same_address(a->ifa_addr, address);
        freeifaddrs(all);
        return here;
}

static void name_host(const struct sockaddr *address, socklen_t n, char ret[64]) {
        if (is_here(address))
                (void) snprintf(ret, 64, "this host");
        else if (getnameinfo(address, n, ret, 64, NULL, 0, NI_NUMERICHOST) != 0)
                (void) snprintf(ret, 64, "a host");
}

/* Many nodes may connect at once. Connections for which there is no room wait in the port's queue. */
bool listener_has_room(const Listener *listener, uint64_t now) {
        return listener->n_strangers < STRANGERS_MAX && now >= listener->next_accept_nsec;
}

void listener_complain(Listener *listener, const Peer *peer, const char *words) {
        if (listener->n_complaints++ < COMPLAINTS_MAX)
                (void) fprintf(stderr, "actord-cluster: a connection from %s was refused: %s\n", peer->from,
                                words);
}

/* Limits the unidentified connections of a host: if it opens many and sends nothing, it must not use up the
 * room for nodes on other hosts. */
static bool host_may_connect(const Listener *listener, const char *from) {
        unsigned n = 0;

        for (size_t i = 0; i < PEERS_MAX; i++)
                n += listener->peers[i].pid > 0 && listener->peers[i].node == 0 &&
                     strcmp(listener->peers[i].from, from) == 0;
        return n < STRANGERS_OF_A_HOST_MAX;
}

void listener_accept(Listener *listener) {
        struct sockaddr_storage address = {};
        socklen_t n = sizeof(address);
        _cleanup_close_ int fd = accept4(
                        listener->fd, (struct sockaddr *) &address, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
        Peer *peer = find_free(listener);
        char from[64];
        pid_t pid;

        if (fd < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                listener->next_accept_nsec = clock_boottime() + 1000000000u;
        if (fd < 0 || !peer)
                return;
        name_host((struct sockaddr *) &address, n, from);
        if (!host_may_connect(listener, from))
                return;
        *peer = (Peer){ .channel = -EBADF };
        pid = peer_start(fd, &listener->terms, &peer->channel);
        if (pid < 0)
                return;
        peer->pid = pid;
        peer->deadline_nsec = clock_boottime() + 2ull * HELLO_SECONDS * 1000000000u;
        (void) snprintf(peer->from, sizeof(peer->from), "%s", from);
        listener->n_strangers++;
}

void peer_end(Listener *listener, Peer *peer) {
        if (peer->pid == 0)
                return;
        if (peer->node == 0)
                listener->n_strangers--;
        (void) kill(peer->pid, SIGKILL);
        while (waitpid(peer->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        (void) close_fd(peer->channel);
        *peer = (Peer){ .channel = -EBADF };
}

void listener_done(Listener *listener) {
        for (size_t i = 0; i < PEERS_MAX; i++)
                peer_end(listener, listener->peers + i);
        listener->fd = close_fd(listener->fd);
}
