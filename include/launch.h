/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* daemon -> spawner, once per life of a job: one SEQPACKET record with its descriptors; the answer is one
 * LaunchAnswer, with the job's pidfd where there is one. The spawner opens no path of a user and reads no
 * setting: it hands the settings to the invoker unread.
 *
 * spawner -> invoker, over exec: a sealed memfd with the same record and the same descriptors at fixed
 * numbers (InvokerFd). */
#pragma once

/* Tables and layouts are aligned by hand. */
/* clang-format off */

#include <assert.h>
#include <inttypes.h>
#include <stdint.h>

#define LAUNCH_ABI 5u
#define LAUNCH_MOUNTS_MAX 32u

/* What lies under LAUNCH_FD_STATE: the checkpoint that closed a round (printf, uint64_t). Written aside,
 * synced and renamed to this before its RECORD_CHECKPOINT; the daemon alone removes old ones. */
#define CHECKPOINT_NAME "checkpoint-%" PRIu64 ".safetensors"
/* And the file there that reserves the space of a job's last checkpoint. */
#define CHECKPOINT_RESERVE ".checkpoint.reserve"
/* Host ids that are reserved for jobs, outside the ranges of users, containers and DynamicUser=; and how
 * many one job gets. */
#define UID_RANGE_FIRST 0x40000000u
#define UID_RANGE_END 0x44000000u
#define UIDS_MAX 65536u
#define UID_RANGES ((UID_RANGE_END - UID_RANGE_FIRST) / UIDS_MAX)
/* Where the plugin of Environment=./mine.so is mounted: this and the file's own name. */
#define PLUGIN_DIRECTORY "/plugin/"
/* Where the virtual environment of Python= is mounted. */
#define PYTHON_DIRECTORY "/python"
/* Where the directory of PythonPath= is mounted. */
#define PYTHON_PATH_DIRECTORY "/python-path"
/* Where the directory of Environment=mujoco:FILE is mounted. */
#define MODEL_DIRECTORY "/model"
/* Where the file of Dataset= is mounted. */
#define DATASET_FILE "/dataset"

/* ActorScope=each: scope K of a job whose own scope is PREFIX.scope (printf: PREFIX, unsigned). Each
 * holds a process whose only purpose is to keep the scope: the invoker moves it into one leaf, and the
 * container lives in another. */
#define ACTOR_SCOPE_NAME "%s-actor-%u.scope"

/* How long a launch may take, in milliseconds. A step waits for one other program. systemd starts the scopes
 * of actors one by one: each took it 15 ms on a host with 17 processes waiting for two cores. When there
 * are still scopes to start after LAUNCH_SCOPES_MSEC, the spawner gives up and says so; after LAUNCH_MSEC a
 * launch that hangs is killed; after LAUNCH_ANSWER_MSEC the daemon expects no answer. */
#define LAUNCH_STEP_MSEC 10000u
#define LAUNCH_SCOPE_MSEC 60u
#define LAUNCH_SCOPES_MSEC(scope_each) (LAUNCH_STEP_MSEC + (scope_each) * LAUNCH_SCOPE_MSEC)
#define LAUNCH_MSEC(scope_each) (LAUNCH_SCOPES_MSEC(scope_each) + 15000u)
#define LAUNCH_ANSWER_MSEC(scope_each) (LAUNCH_MSEC(scope_each) + 5000u)

/* Order of the descriptors sent along with Launch. */
typedef enum LaunchFd {
        /* sealed memfd: JobSettings; of Environment=job:FILE, the inner job's behind it */
        LAUNCH_FD_SETTINGS,
        /* journal stream, or actorctl's relay: hostile text never passes through the daemon's programs */
        LAUNCH_FD_STDERR,
        LAUNCH_FD_STATE,        /* the job's state directory: checkpoints; TRIAL: TRIAL_FD_VERDICT */
        LAUNCH_FD_SOCKET,       /* listening SEQPACKET, for include/plan.h; TRIAL: TRIAL_FD_ROWS */
        /* file to restore from; /dev/null when has_checkpoint is 0; TRIAL: TRIAL_FD_REQUEST */
        LAUNCH_FD_CHECKPOINT,
        _LAUNCH_FD_FIXED,       /* then one per mount */
} LaunchFd;

typedef enum LaunchPurpose {
        LAUNCH_TRAIN,
        LAUNCH_VERIFY,          /* accept the environment's spec, then end */
        LAUNCH_EVALUATE,        /* restore, run n_episodes on evaluation streams, end */
        /* no job: actorctl tries an environment (include/trial.h). There is no daemon, no cgroup and no
         * manager, so a spawner of the system refuses it */
        LAUNCH_TRIAL,
        /* no job of its own: actors of a job whose rounds another host conducts. LAUNCH_FD_SOCKET is the
         * stream to that host (include/cluster.h); a spawner of the system refuses it */
        LAUNCH_NODE,
        /* a life is over: report what its cgroup counted. The answer stays the same, so that a new daemon
         * can ask again for one that a killed daemon missed. SETTLE and REMOVE bring no descriptors and
         * start nothing; job, manager, owner and exit_with_daemon are as they were at the launch */
        LAUNCH_SETTLE,
        /* all lives of a job are settled in the ledger: remove what is left of its cgroup */
        LAUNCH_REMOVE,
} LaunchPurpose;

typedef enum LaunchManager {
        LAUNCH_MANAGER_SYSTEM,  /* ask the system manager for a scope */
        LAUNCH_MANAGER_USER,    /* ask the user manager */
        /* no manager is reachable: own cgroups where writable, else process clocks */
        LAUNCH_MANAGER_NONE,
} LaunchManager;

/* a descriptor of a file or directory becomes a mount in each actor's root */
typedef struct LaunchMount {
        /* a place of lib/directory.h, DATASET_FILE, or PLUGIN_DIRECTORY and one name; nothing else */
        char at[120];
        uint32_t read_only;     /* 1 */
        uint32_t reserved;
} LaunchMount;

typedef struct Launch {
        uint32_t abi, struct_bytes;
        uint64_t job, life;                     /* (job, life, seq) names a record */
        uint32_t purpose, manager;
        /* reserved range of host uids (and gids); n_uids 1: only the caller's own */
        uint32_t uid_first, n_uids;
        /* SandboxChoice_: auto takes the strongest level available, others are demanded */
        uint32_t sandbox;
        /* ActorScope=each: containers, a scope for each of them; 0: all in the job's */
        uint32_t scope_each;
        uint32_t exit_with_daemon;              /* run mode: the job ends when the daemon's socket closes */
        uint32_t has_checkpoint;
        uint64_t resume_round;                  /* the checkpoint's round; 0: from the beginning */
        uint64_t n_episodes;                    /* EVALUATE */
        uint32_t n_mounts;
        /* 1: actord-cluster is started beside the invoker, for nodes; never by a spawner of the system */
        uint32_t cluster;
        /* 1: stderr is a journal stream that is opened in the job's scope, so that a noisy job uses up
         * its own share of the journal and not the daemon's. If that fails, the descriptor is used */
        uint32_t journal;
        /* the daemon's process: part of the names of run mode's scopes, and of cgroups without a manager */
        uint32_t owner;
        /* whose job it is: launches that hang are counted for each user */
        uint32_t submitter;
        uint32_t reserved;
        /* how long the invoker waits for a daemon that is gone, before it ends; 0: for ever. With
         * exit_with_daemon it does not wait */
        uint64_t alone_usec;
        LaunchMount mounts[LAUNCH_MOUNTS_MAX];
} Launch;
static_assert(sizeof(LaunchMount) == 128, "ABI");

/* X(name, word): where a launch failed. */
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
        uint32_t level;                         /* SandboxLevel that the spawner could prepare */
        uint32_t metering;                      /* InvokerCgroup that the invoker was given */
        int32_t pid;                            /* of the invoker, as the daemon sees it; 0: unknown */
        /* what the cgroup around the life's had counted when the life began, UINT64_MAX: not known;
         * SETTLE: when the life was over */
        uint64_t cpu_nsec;
        uint32_t owner, reserved;               /* of the launch */
        uint64_t life;                          /* of the launch; it tells whose cpu_nsec this is */
        char unit[128];                         /* actord-job-7.scope; empty without a manager */
        char control_group[256];                /* path below the cgroup root; empty without one */
        char message[256];                      /* of an error: a sentence */
} LaunchAnswer;

/* What the invoker finds after exec. INVOKER_FD_CGROUP is there when Invoked.cgroup says so. */
typedef enum InvokerFd {
        INVOKER_FD_INVOKED = 3, /* sealed memfd: Invoked */
        INVOKER_FD_SETTINGS,
        INVOKER_FD_STDERR,
        INVOKER_FD_STATE,
        INVOKER_FD_SOCKET,
        INVOKER_FD_CHECKPOINT,
        /* O_DIRECTORY: the delegated cgroup; the invoker is in it, or in a leaf `invoker` of it */
        INVOKER_FD_CGROUP,
        INVOKER_FD_LEARNER,     /* O_PATH: the learner's binary, for execveat */
        INVOKER_FD_DIRECTORY,   /* O_PATH: where our programs lie; Invoked.directory may lead through it */
        /* O_DIRECTORY: where the scopes of ActorScope=each lie; there when scope_each is above 0 in
         * Invoked */
        INVOKER_FD_SLICE,
        INVOKER_FD_CLUSTER,     /* of launch.cluster: the socket of include/cluster.h */
        INVOKER_FD_MOUNTS = 16, /* detached mounts (open_tree), or plain descriptors at level process */
} InvokerFd;

typedef enum InvokerCgroup {
        INVOKER_CGROUP_NONE,    /* meter by process clocks */
        INVOKER_CGROUP_OWN,     /* made without a manager: remove it at the end */
        INVOKER_CGROUP_SCOPE,   /* systemd's scope, delegated */
} InvokerCgroup;

typedef struct Invoked {
        Launch launch;
        /* SandboxLevel that is possible: namespaces are already entered */
        uint32_t level;
        uint32_t cgroup;                        /* InvokerCgroup */
        char directory[240];                    /* where our programs and modules lie (env-mujoco.so) */
        char scope_prefix[120];                 /* of ACTOR_SCOPE_NAME */
} Invoked;
