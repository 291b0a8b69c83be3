/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From daemon to spawner: one SEQPACKET record with its descriptors, once for each life of a job (the time
 * until its processes end), and for each question about the job's cgroup (SETTLE, REMOVE, WEIGH). The answer
 * is one LaunchAnswer, with the pidfd of the invoker if there is one. The spawner opens no path of a user
 * and reads no setting: it hands the settings to the invoker unread.
 *
 * From spawner to invoker, across exec: a sealed memfd with the same record (Invoked; n_uids and scope_each
 * are lowered to what the host allows) and the same descriptors at fixed numbers (InvokerFd). */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <inttypes.h>
#include <stdint.h>

#define LAUNCH_ABI 6u
#define LAUNCH_MOUNTS_MAX 32u

/* In the directory of LAUNCH_FD_STATE: the checkpoint at the end of a round (a format for printf, with the
 * round as uint64_t). It is written under another name, synced, and renamed to this name. Then its
 * RECORD_CHECKPOINT is written. Only the daemon removes old checkpoints. */
#define CHECKPOINT_NAME "checkpoint-%" PRIu64 ".safetensors"
/* The name of a file in the directory of LAUNCH_FD_STATE, which reserves the space for a job's last
 * checkpoint. */
#define CHECKPOINT_RESERVE ".checkpoint.reserve"
/* Host ids that are reserved for jobs, outside the ranges of users, containers and DynamicUser=; and how
 * many a job gets. */
#define UID_RANGE_FIRST 0x40000000u
#define UID_RANGE_END 0x44000000u
#define UIDS_MAX 65536u
#define UID_RANGES ((UID_RANGE_END - UID_RANGE_FIRST) / UIDS_MAX)
/* The directory in which the plugin of Environment=./mine.so is mounted, under the file's own name. */
#define PLUGIN_DIRECTORY "/plugin/"
/* Where the virtual environment of Python= is mounted. */
#define PYTHON_DIRECTORY "/python"
/* Where the directory of PythonPath= is mounted. */
#define PYTHON_PATH_DIRECTORY "/python-path"
/* Where the directory of Environment=mujoco:FILE is mounted. */
#define MODEL_DIRECTORY "/model"
/* Where the file of Dataset= is mounted. */
#define DATASET_FILE "/dataset"

/* ActorScope=each: scope K of a job whose own scope is PREFIX.scope (a format for printf: PREFIX, K as
 * unsigned). Each scope has a process that only keeps the scope alive. The invoker moves this process into
 * one leaf, and the container runs in another leaf. */
#define ACTOR_SCOPE_NAME "%s-actor-%u.scope"

/* How long a launch may take, in milliseconds. Each step waits for one other program. systemd starts the
 * scopes of actors one by one: each took 15 ms on a host with two cores for which 17 processes waited. If
 * some scopes have not started after LAUNCH_SCOPES_MSEC, the spawner gives up and reports this. After
 * LAUNCH_MSEC a launch that hangs is killed. After LAUNCH_ANSWER_MSEC the daemon expects no answer any
 * more. */
#define LAUNCH_STEP_MSEC 10000u
#define LAUNCH_SCOPE_MSEC 60u
#define LAUNCH_SCOPES_MSEC(scope_each) (LAUNCH_STEP_MSEC + (scope_each) * LAUNCH_SCOPE_MSEC)
#define LAUNCH_MSEC(scope_each) (LAUNCH_SCOPES_MSEC(scope_each) + 15000u)
#define LAUNCH_ANSWER_MSEC(scope_each) (LAUNCH_MSEC(scope_each) + 5000u)

/* The order of the descriptors that are sent with a Launch. "TRIAL:" names the descriptor that
 * LAUNCH_TRIAL has in the same place (include/trial.h). */
typedef enum LaunchFd {
        /* sealed memfd: JobSettings; for Environment=job:FILE, followed by the inner job's */
        LAUNCH_FD_SETTINGS,
        /* a journal stream, or actorctl's relay, since hostile text never passes through the daemon's
         * programs */
        LAUNCH_FD_STDERR,
        LAUNCH_FD_STATE,        /* the job's state directory: checkpoints; TRIAL: TRIAL_FD_VERDICT */
        LAUNCH_FD_SOCKET,       /* listening SEQPACKET socket, for include/plan.h; TRIAL: TRIAL_FD_ROWS */
        /* the file to restore from; /dev/null if has_checkpoint is 0; TRIAL: TRIAL_FD_REQUEST */
        LAUNCH_FD_CHECKPOINT,
        _LAUNCH_FD_FIXED,       /* from here on, one for each mount */
} LaunchFd;

typedef enum LaunchPurpose {
        LAUNCH_TRAIN,
        LAUNCH_VERIFY,          /* check the environment's spec, then end */
        LAUNCH_EVALUATE,        /* restore, play n_episodes on evaluation streams, then end */
        /* there is no job: actorctl tries an environment (include/trial.h). There is no daemon, no cgroup
         * and no manager, so a spawner of the system refuses this */
        LAUNCH_TRIAL,
        /* this host only runs actors of a job, and another host conducts its rounds. LAUNCH_FD_SOCKET is the
         * stream to that host (include/cluster.h). A spawner of the system refuses this */
        LAUNCH_NODE,
        /* a life is over: report what its cgroup has counted. A repeated question gets the same answer. So
         * if a daemon is killed before it gets the answer, the next daemon can ask again. SETTLE, REMOVE and
         * WEIGH have no descriptors and start nothing. job, manager, owner and exit_with_daemon are those of
         * the launch */
        LAUNCH_SETTLE,
        /* all lives of a job are settled in the ledger: remove the rest of its cgroup. cpu_weight not 0: the
         * job's weight was written, and systemd's own record of the weight is removed, too */
        LAUNCH_REMOVE,
        /* write cpu_weight as the weight of the job's cgroup among those of other jobs, and report what the
         * kernel has then; 0: only report */
        LAUNCH_WEIGH,
} LaunchPurpose;

typedef enum LaunchManager {
        LAUNCH_MANAGER_SYSTEM,  /* ask systemd's system manager for a scope */
        LAUNCH_MANAGER_USER,    /* ask systemd's user manager */
        /* no manager can be reached: the spawner itself makes cgroups if it may; otherwise process clocks
         * measure the use */
        LAUNCH_MANAGER_NONE,
} LaunchManager;

/* a file or directory whose descriptor becomes a mount in each actor's root */
typedef struct LaunchMount {
        /* a path of lib/directory.h, DATASET_FILE, or PLUGIN_DIRECTORY and one name */
        char at[120];
        uint32_t read_only;     /* 1 */
        uint32_t reserved;
} LaunchMount;

typedef struct Launch {
        uint32_t abi, struct_bytes;
        uint64_t job, life;                     /* (job, life, seq) names a record */
        uint32_t purpose, manager;
        /* a reserved range of host uids (and gids); n_uids 1: only the caller's own */
        uint32_t uid_first, n_uids;
        /* SandboxChoice_: auto takes the strongest available level; if another level is not available, the
         * launch fails */
        uint32_t sandbox;
        /* ActorScope=each: the number of containers, each of which gets a scope; 0: all are in the job's
         * scope */
        uint32_t scope_each;
        uint32_t exit_with_daemon;              /* run mode: the job ends when the daemon's socket closes */
        uint32_t has_checkpoint;
        uint64_t resume_round;                  /* the checkpoint's round; 0: the job begins anew */
        uint64_t n_episodes;                    /* EVALUATE */
        uint32_t n_mounts;
        /* 1: actord-cluster is started beside the invoker, for nodes; a spawner of the system never does
         * that */
        uint32_t cluster;
        /* 1: stderr is a journal stream, which the spawner opens from inside the job's scope. So a job with
         * much output reaches its own rate limit in the journal, and not the daemon's. If the stream cannot
         * be opened, stderr is LAUNCH_FD_STDERR, as with 0 */
        uint32_t journal;
        /* the process id of the daemon. It is part of the names of run mode's scopes, and of the cgroups
         * that the spawner makes if there is no service manager */
        uint32_t owner;
        /* the job's user: launches that hang are counted for each user */
        uint32_t submitter;
        uint32_t cpu_weight;                    /* for WEIGH and REMOVE; otherwise 0 */
        /* if the daemon is gone, how long the invoker waits for the next one before it ends; 0: for ever.
         * With exit_with_daemon it does not wait */
        uint64_t alone_usec;
        LaunchMount mounts[LAUNCH_MOUNTS_MAX];
} Launch;
static_assert(sizeof(LaunchMount) == 128, "ABI");

/* X(name, word): the step at which a launch failed */
#define LAUNCH_STEPS(X)                                                                         \
        X(NONE, "none") X(MESSAGE, "message") X(NAMESPACES, "namespaces") X(IDENTITY, "identity") \
        X(SCOPE, "scope") X(DELEGATION, "delegation") X(MOUNTS, "mounts") X(EXEC, "exec")

typedef enum LaunchStep {
#define X(name, word) LAUNCH_STEP_##name,
        LAUNCH_STEPS(X)
#undef X
        _LAUNCH_STEP_MAX,
} LaunchStep;

typedef struct LaunchAnswer {
        uint32_t abi, step;
        int32_t error;                          /* 0, or a negative errno */
        uint32_t level;                         /* SandboxLevel that the spawner was able to prepare */
        uint32_t metering;                      /* InvokerCgroup that the invoker got */
        int32_t pid;                            /* the invoker's, as the daemon sees it; 0: not known */
        /* CPU time of the cgroup that contains the life's cgroup, when the life began or, for SETTLE, when
         * it was over; UINT64_MAX: not known */
        uint64_t cpu_nsec;
        uint32_t owner;                         /* the owner in the Launch */
        uint32_t cpu_weight;                    /* WEIGH: as the kernel has it; else 0 */
        uint64_t life;                          /* the life in the Launch, to which cpu_nsec belongs */
        char unit[128];                         /* actord-job-7.scope; empty: no systemd manager */
        char control_group[256];                /* its path below the root cgroup; empty: no cgroup */
        char message[256];                      /* a sentence about an error */
} LaunchAnswer;

/* The invoker's descriptors after exec. INVOKER_FD_CGROUP exists if Invoked.cgroup says so. */
typedef enum InvokerFd {
        INVOKER_FD_INVOKED = 3, /* sealed memfd: Invoked */
        INVOKER_FD_SETTINGS,
        INVOKER_FD_STDERR,
        INVOKER_FD_STATE,
        INVOKER_FD_SOCKET,
        INVOKER_FD_CHECKPOINT,
        /* O_DIRECTORY: the delegated cgroup, with the invoker in it or in its leaf `invoker` */
        INVOKER_FD_CGROUP,
        INVOKER_FD_LEARNER,     /* O_PATH: the learner's binary, for execveat */
        /* O_PATH: the directory of actord's programs; Invoked.directory may lead through it */
        INVOKER_FD_DIRECTORY,
        /* O_DIRECTORY: the parent of the scopes of ActorScope=each; only if scope_each in Invoked is above
         * 0 */
        INVOKER_FD_SLICE,
        INVOKER_FD_CLUSTER,     /* if launch.cluster is set: the socket of include/cluster.h */
        INVOKER_FD_MOUNTS = 16, /* detached mounts (open_tree), or plain descriptors at level process */
} InvokerFd;

typedef enum InvokerCgroup {
        INVOKER_CGROUP_NONE,    /* CPU time is metered by process clocks */
        INVOKER_CGROUP_OWN,     /* the spawner made it without systemd, so it must be removed at the end */
        INVOKER_CGROUP_SCOPE,   /* systemd's scope, which was delegated */
} InvokerCgroup;

typedef struct Invoked {
        Launch launch;
        /* the SandboxLevel that this host can enforce; the spawner has entered its namespaces already */
        uint32_t level;
        uint32_t cgroup;                        /* InvokerCgroup */
        /* the directory of actord's programs and modules (env-mujoco.so) */
        char directory[240];
        char scope_prefix[120];                 /* for ACTOR_SCOPE_NAME */
} Invoked;
