/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One launch, from the daemon's record to a running invoker. This is the only program of the project with
 * privileges, so it is small. It parses no text of a user or of the daemon, and reads no setting. Its child
 * gives up its privileges before it becomes a program of the job.
 *
 *   check.c     believes nothing in the record
 *   spawner.c   the order of the steps, and the levels from strong to weak
 *   identity.c  a child in namespaces, its user ids
 *   scope.c     systemd's transient scope; own-cgroup.c: a cgroup where there is no manager
 *   cgroup.c    any cgroup: who is in it, what it has counted
 *   settle.c    the end of a life: what its cgroup counted; the weight of a job's cgroup
 *   mounts.c    descriptors to detached mounts
 *   cluster.c   actord-cluster beside an invoker that may have nodes
 *   handover.c  the child between clone and exec */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "include/launch.h"
#include "include/sandbox.h"
#include "include/settings.h"

#define LAUNCH_FDS_MAX (_LAUNCH_FD_FIXED + LAUNCH_MOUNTS_MAX)

/* How many launches may be begun and not answered, for all users together and for each user. A launch may
 * hang in a file system that does not answer; even SIGKILL cannot end it then, and it keeps its place. */
#define LAUNCHES_MAX      64u
#define LAUNCHES_USER_MAX 8u

typedef struct Seat {
        pid_t pid;          /* of the launch that has this seat; 0: the seat is free */
        uint32_t submitter; /* the user whose job it is; UINT32_MAX: not known yet */
        uint32_t answered;
} Seat;

/* The limits of this spawner. They are compiled in or given on the command line, and no record changes
 * them. */
typedef struct Terms {
        /* listens on a socket for the daemon and root only, and makes scopes by systemd's system manager */
        bool system;
        uid_t daemon_uid;
        uint32_t least_sandbox; /* a SandboxLevel */
        /* LAUNCHES_MAX seats, shared by all launches; NULL: there is only one launch */
        Seat *seats;
        Seat *seat; /* the seat of this launch */
} Terms;

typedef struct Request {
        Launch launch;
        int fds[LAUNCH_FDS_MAX]; /* in the order of LaunchFd, followed by the mounts */
        size_t n_fds;
        int cluster_fd; /* the invoker's end of the socket to actord-cluster; -EBADF: none */
        uid_t peer;     /* the sender */
        uint32_t least; /* the lowest SandboxLevel that is allowed */
} Request;

typedef struct Child {
        pid_t pid;
        int pid_fd;
        /* SEQPACKET: the parent sends the facts of the launch, and the child sends errors; exec closes it */
        int channel;
        uint32_t level;
        uid_t uid;      /* the job's user on the host; at level process the child runs as this user */
        bool is_placed; /* it began in its cgroup */
} Child;
#define CHILD_NONE ((Child){ .pid_fd = -EBADF, .channel = -EBADF })

typedef struct Cgroup {
        uint32_t metering; /* an InvokerCgroup */
        /* slice_fd: the cgroup of the job's slice, with ActorScope=each; otherwise -EBADF */
        int fd, slice_fd;
        char unit[128], path[256];
        /* the CPU time that the job's cgroup had counted before this life; UINT64_MAX: not known */
        uint64_t cpu_nsec;
} Cgroup;
#define CGROUP_NONE ((Cgroup){ .fd = -EBADF, .slice_fd = -EBADF, .cpu_nsec = UINT64_MAX })

/* Fills step, error and message; returns the error. */
__attribute__((format(printf, 4, 5))) int answer_fail(
                LaunchAnswer *answer, LaunchStep step, int error, const char *format, ...);

/* check.c. Pure, except that it looks at the descriptors. uid: the user who runs the spawner. */
bool launch_mount_is_plugin(const LaunchMount *mount);
int launch_check(const Launch *launch, size_t n_bytes, size_t n_fds, uid_t uid, LaunchAnswer *answer);
int launch_check_terms(const Launch *launch, const Terms *terms, LaunchAnswer *answer);
/* Checks the kinds of the descriptors. This asks their file systems, which may never answer. */
int launch_check_fds(const Launch *launch, const int fds[], LaunchAnswer *answer);

/* spawner.c. Serves one launch: receives, launches and answers within LAUNCH_MSEC(). Then the process may
 * stay until the end of the job's life. */
int spawner_serve(int fd, const Terms *terms);

/* identity.c. ids_are_mapped(): whether these ids exist in our user namespace; in many containers they do
 * not. child_start() returns in both processes, with ret->pid 0 in the child. The child is in its
 * namespaces, without an identity, and if possible in the cgroup (-EBADF: none). -EPERM, -ENOSYS, -ENOSPC,
 * -EUSERS: this host does not allow that level. */
bool ids_are_mapped(uint32_t first, uint32_t n);
int child_start(uint32_t level, uid_t uid, int cgroup_fd, Child *ret);
void child_done(Child *child, bool kill);                /* kill: also waits for its end */
int child_map(const Child *child, const Launch *launch); /* maps ids into the child's user namespace */
int child_identify(const Child *child);                  /* call it in the child, once the ids are mapped */
/* Receives a message of the child. -EPIPE: the child has closed its channel. */
int child_hear(const Child *child, unsigned timeout_msec, LaunchAnswer *answer);
int child_tell(const Child *child); /* tells it to go on */
/* Call this in the child. Starts n processes that do nothing: a scope ends with its last process. */
int anchors_start(uint32_t n);

/* cgroup.c, scope.c, own-cgroup.c. Make the life's cgroup and delegate it to the job's group; UINT32_MAX:
 * not needed, since the job has the spawner's own user and group. */
int scope_make(const Launch *launch, const Child *child, gid_t group, Cgroup *ret, LaunchAnswer *answer);
/* own_cgroup_make(): 1: made; 0: no cgroup can be made. own_cgroup_leaf() opens the invoker's part of the
 * cgroup. own_cgroup_enter() moves the child there, or discards the cgroup if that fails.
 * own_cgroup_discard() is for a life that does not begin. */
int own_cgroup_make(const Launch *launch, gid_t group, Cgroup *ret);
int own_cgroup_leaf(const Cgroup *cgroup);
void own_cgroup_enter(const Child *child, Cgroup *cgroup);
void own_cgroup_discard(Cgroup *cgroup);
void own_cgroup_remove(const Launch *launch, const Cgroup *cgroup);
bool run_is_over(const Launch *launch); /* the daemon of a run is dead, and no other comes back for it */
/* The cgroup of a life is inside the job's cgroup. The job's cgroup is a slice of systemd (scope_) or made
 * by the spawner (own_cgroup_), and its count of CPU time stays when the life's cgroup is gone. _settle()
 * empties the job's cgroup, by force if necessary, and sets *ret_nsec to the count. The job's cgroup stays,
 * for the next life and for repeated requests, until _clear(). -ENOENT: the job has no cgroup. */
int scope_settle(const Launch *launch, uint64_t *ret_nsec, LaunchAnswer *answer);
int own_cgroup_settle(const Launch *launch, uint64_t *ret_nsec);
int scope_clear(const Launch *launch, LaunchAnswer *answer);
int own_cgroup_clear(const Launch *launch);
/* Writes launch->cpu_weight as the weight of the job's cgroup (0: writes nothing), and reads the weight.
 * -EOPNOTSUPP: this host has no cpu controller there. */
int scope_weigh(const Launch *launch, uint64_t *ret_weight, LaunchAnswer *answer);
int own_cgroup_weigh(const Launch *launch, uint64_t *ret_weight);
int cgroup_mount(char ret[256]); /* finds where the unified hierarchy is mounted */
/* reads cgroup.procs, since this program may not read another user's /proc/PID */
bool cgroup_holds(int fd, pid_t pid);
int cgroup_delegate(int fd, gid_t group);
/* gives the group one file of the cgroup, for writing */
int cgroup_give(int fd, const char *name, gid_t group);
int cgroup_usage(int fd, uint64_t *ret_nsec);
int cgroup_weight(int fd, uint64_t *ret); /* -EOPNOTSUPP: no cpu controller */
int cgroup_empty(int fd); /* kills the processes that are still in it; -ETIMEDOUT: one does not end */

/* settle.c. Carries out the requests after a launch: LAUNCH_SETTLE, LAUNCH_REMOVE and LAUNCH_WEIGH. */
int settle(const Launch *launch, LaunchAnswer *answer);

/* mounts.c. as: the user with whose rights a path is looked up, if the descriptor is not enough. */
int mount_clone(int fd, uid_t as, bool read_only, int *ret);

typedef struct Programs {
        int invoker_fd, learner_fd, directory_fd;
        char directory[240];
} Programs;

/* cluster.c. Starts actord-cluster for a launch that asks for it. *ret: the invoker's end of its socket. */
int cluster_start(const Request *request, const Programs *programs, int *ret, LaunchAnswer *answer);

/* handover.c. handover_run() is for the child, and never returns; handover_go() is for its parent. */
_Noreturn void handover_run(const Request *request, const Programs *programs, const Child *child);
int handover_go(const Child *child, const Cgroup *cgroup, const int mounts[], size_t n_mounts);
