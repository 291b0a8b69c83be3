/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The engine for Slurm, which uses Slurm's commands. Each node is a Slurm job with one whole node. So nodes
 * come and go one by one, and each has a line in Slurm's accounts. sbatch submits a node's job, squeue
 * reports on all jobs in one call, and scancel gives nodes back. At most one of each command runs at a time,
 * and each has a deadline. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "cluster/command.h"
#include "cluster/delivery.h"
#include "cluster/engine.h"
#include "cluster/sbatch.h"
#include "cluster/text.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"

enum {
        COMMAND_SECONDS = 60,
        RETRY_SECONDS = 15,
        /* squeue asks slurmctld, and all users share slurmctld. So squeue is called often at first, and then
         * less and less often. */
        LOOK_MSEC_FIRST = 500,
        LOOK_MSEC_LAST = 15000,
        /* If more than this many looks in a row do not list a job, it has ended: squeue lists ended jobs
         * only for MinJobAge. */
        ABSENT_LOOKS = 3,
        CANCELS_MAX = 64,
        STRAYS_MAX = 16,
        ABANDON_SECONDS = 10,
};

typedef enum Check { CHECK_PARTITION, CHECK_SUBMISSION, CHECK_OVER } Check;

/* What earlier calls of squeue ("looks") have shown of a node's job. */
typedef struct Sight {
        unsigned n_absent; /* looks in a row that did not list the job */
        /* for how many seconds the job had run when a look first found it running; -1: not known */
        int64_t first_used;
} Sight;

typedef struct Slurm {
        Check check;
        Command submit, look, cancel, checking;
        size_t submitting; /* the node for which sbatch runs */
        char name[32];     /* the name of all jobs of this engine */
        char *options;     /* a copy of Options=; `words` points into it */
        char *words[TEXT_OPTIONS_MAX];
        int n_words;
        uint64_t next_look_nsec, look_msec, next_submit_nsec, next_cancel_nsec;
        int64_t looked; /* engine_clock() when the last look began */
        bool fresh;     /* a job of the engine has changed: look again after LOOK_MSEC_FIRST */
        Sight *sights;  /* [nodes] */
        Delivery delivery;
        bool submitted; /* Slurm has accepted a job of this engine */
        bool unsure;    /* Slurm may have a job of this engine whose number sbatch did not report */
        /* the numbers of jobs with this `name` that sbatch did not report, as squeue has listed them */
        char strays[STRAYS_MAX][32];
        size_t n_strays;
} Slurm;

static int slurm_init(Engine *engine) {
        Slurm *slurm = calloc(1, sizeof(*slurm));
        char token[TOKEN_TEXT_BYTES];
        int r;

        if (!slurm)
                return -ENOMEM;
        engine->own = slurm;
        slurm->submit = slurm->look = slurm->cancel = slurm->checking = COMMAND_NONE;
        r = delivery_init(&slurm->delivery, engine->n_nodes);
        if (r < 0)
                return r;
        slurm->sights = calloc(engine->n_nodes, sizeof(*slurm->sights));
        slurm->options = strdup(engine->terms.options);
        if (!slurm->sights || !slurm->options)
                return -ENOMEM;
        command_set_environment();
        token_to_string(engine->terms.token, token);
        (void) snprintf(slurm->name, sizeof(slurm->name), "actord-%.12s", token);
        slurm->look_msec = LOOK_MSEC_FIRST;
        slurm->n_words = text_options_split(slurm->options, slurm->words);
        if (slurm->n_words < 0)
                engine_refuse(engine, "[Slurm] Options=%.100s: %s", engine->terms.options,
                                slurm->n_words == -E2BIG ? "it has too many words" : "a quote has no end");
        for (int i = 0; i < slurm->n_words; i++) {
                const char *advice = text_option_refuse(slurm->words[i]);

                if (advice)
                        engine_refuse(engine,
                                        "[Slurm] Options= has %.60s, which actord must decide itself: %s",
                                        slurm->words[i], advice);
        }
        return 0;
}

static void slurm_done(Engine *engine) {
        Slurm *slurm = engine->own;

        if (!slurm)
                return;
        command_done(&slurm->submit);
        command_done(&slurm->look);
        command_done(&slurm->cancel);
        command_done(&slurm->checking);
        delivery_done(&slurm->delivery);
        free(slurm->sights);
        free(slurm->options);
        free(slurm);
        engine->own = NULL;
}

/* Starts a command. If the command does not exist, or fails to start during the checks, the engine refuses
 * to give nodes. After the checks a failure only delays the next try, since this host may lack memory or
 * processes for a while. */
static bool start(Engine *engine, Command *command, char *const argv[], const char *input) {
        int r = command_start(command, argv, input, COMMAND_SECONDS);
        Slurm *slurm = engine->own;

        if (r == -ENOENT)
                engine_refuse(engine,
                                "there is no command %s on this host: Slurm's client programs are not "
                                "installed; use Cluster=none, or a login node of the cluster",
                                argv[0]);
        else if (r < 0 && engine->open == ENGINE_CHECKING)
                engine_refuse(engine, "%s cannot be started: %s", argv[0], strerror(-r));
        else if (r < 0)
                slurm->next_submit_nsec = slurm->next_look_nsec = slurm->next_cancel_nsec =
                                clock_boottime() + RETRY_SECONDS * 1000000000ull;
        return r >= 0;
}

/* Runs a command before any node is requested: sinfo, which lists the nodes of the partition, or a trial of
 * sbatch, which says whether Slurm would accept a node's job. */
static void begin_check(Engine *engine) {
        Slurm *slurm = engine->own;
        char partition[300];
        char *argv[] = { (char *) "sinfo", (char *) "-h", (char *) "-N", (char *) "-o", (char *) "%P %o",
                engine->terms.partition[0] ? partition : NULL, NULL };
        SbatchCommand command;

        (void) snprintf(partition, sizeof(partition), "--partition=%.256s", engine->terms.partition);
        if (slurm->check == CHECK_PARTITION)
                (void) start(engine, &slurm->checking, argv, NULL);
        else if (slurm->check == CHECK_SUBMISSION) {
                sbatch_command(&engine->terms, slurm->name, slurm->words, slurm->n_words, "", true,
                                &command);
                (void) start(engine, &slurm->checking, command.argv, "#!/bin/sh\n");
        }
}

/* Refuses a job that needs more nodes than its partition has. With Options= no job is refused, since these
 * may name partitions or nodes that sinfo was not asked about. */
static void count_nodes(Engine *engine, const char *output) {
        const EngineTerms *terms = &engine->terms;
        size_t n = text_count_nodes(output, terms->partition[0]);

        if (n < terms->n_least && !terms->options[0])
                engine_refuse(engine,
                                "[Distribution] Nodes=%" PRIu32 ": partition %.100s has only %zu node%s",
                                terms->n_least, terms->partition[0] ? terms->partition : "(default)", n,
                                n == 1 ? "" : "s");
}

static void end_check(Engine *engine) {
        Slurm *slurm = engine->own;
        const char *output = slurm->checking.output;
        char words[256] = "", line[160];

        if (slurm->checking.late) {
                engine_refuse(engine, "Slurm gave no answer for %d s: is slurmctld running? (scontrol ping)",
                                COMMAND_SECONDS);
                return;
        }
        if (slurm->check == CHECK_PARTITION && command_succeeded(&slurm->checking)) {
                text_find_address(output, engine->terms.partition[0], engine->address);
                count_nodes(engine, output);
                if (!engine->address[0])
                        engine_refuse(engine,
                                        "partition %s has no nodes, or does not exist: sinfo lists the "
                                        "partitions ([Slurm] Partition=)",
                                        engine->terms.partition[0] ? engine->terms.partition : "(default)");
                slurm->check = CHECK_SUBMISSION;
        } else if (slurm->check == CHECK_PARTITION) {
                (void) text_refusal(output, "", "", words);
                text_best_line(output, line, sizeof(line));
                engine_refuse(engine, "%s", words[0] ? words : line);
        } else if (command_succeeded(&slurm->checking)) {
                slurm->check = CHECK_OVER;
                engine->open = ENGINE_OPEN;
        } else {
                (void) text_refusal(output, engine->terms.partition, engine->terms.account, words);
                engine_refuse(engine, "%s", words);
        }
}

static void begin_submit(Engine *engine, uint64_t now) {
        Slurm *slurm = engine->own;
        char script[TEXT_SCRIPT_MAX];
        SbatchCommand command;

        if (now < slurm->next_submit_nsec || engine->head_port == 0 || !delivery_is_ready(&slurm->delivery))
                return;
        for (size_t i = 0; i < engine->n_nodes; i++) {
                EngineNode *node = engine->nodes + i;

                if (node->state != ENGINE_WANTED || node->id[0])
                        continue;
                if (node->stop) {
                        engine_node_over(node, "it was withdrawn before it was asked for");
                        continue;
                }
                if (!delivery_script(&slurm->delivery, engine, i, script))
                        return;
                sbatch_command(&engine->terms, slurm->name, slurm->words, slurm->n_words, engine->avoid,
                                false, &command);
                slurm->submitting = i;
                (void) start(engine, &slurm->submit, command.argv, script);
                return;
        }
}

/* Reads the answer of sbatch. If the answer does not say whether Slurm accepted the job, the job may be
 * queued. Then this node is over, and the head asks for another node, which has a new number, so no two
 * Slurm jobs stand for one node. If squeue later lists the job, it is cancelled. */
static void end_submit(Engine *engine, uint64_t now) {
        Slurm *slurm = engine->own;
        EngineNode *node = engine->nodes + slurm->submitting;
        bool unsure = slurm->submit.late || !WIFEXITED(slurm->submit.status) ||
                      WEXITSTATUS(slurm->submit.status) == 0 || text_may_be_queued(slurm->submit.output);
        char words[256];

        slurm->fresh = true;
        if (command_succeeded(&slurm->submit) && text_submitted_parse(slurm->submit.output, node->id)) {
                node->state = ENGINE_ASKED;
                slurm->submitted = true;
                (void) snprintf(node->words, sizeof(node->words), "submitted as Slurm job %s", node->id);
                slurm->sights[slurm->submitting] = (Sight){ .first_used = -1 };
                return;
        }
        slurm->unsure |= unsure;
        /* If Slurm has accepted a job before, a refusal is temporary: Slurm's daemons or munged may be
         * restarting. */
        if (text_refusal(slurm->submit.output, "", "", words) || slurm->submit.late || slurm->submitted) {
                if (slurm->submit.late)
                        (void) snprintf(words, sizeof(words), "sbatch gave no answer; actord tries again");
                slurm->next_submit_nsec = now + RETRY_SECONDS * 1000000000ull;
                node->excused = unsure;
                if (unsure)
                        engine_node_over(node, words);
                else
                        (void) snprintf(node->words, sizeof(node->words), "%s", words);
                return;
        }
        /* sbatch refused the job. The reason may be that no host is left beside the excluded ones, so hosts
         * on which nodes failed are tried again. */
        if (engine->avoid[0] && !unsure) {
                engine->avoid[0] = 0;
                slurm->next_submit_nsec = now + RETRY_SECONDS * 1000000000ull;
                return;
        }
        engine_refuse(engine, "%s", words);
        engine_node_over(node, words);
}

/* Slurm's accounts leave out the time for which a job was suspended, so a node costs nothing in that time.
 * squeue computes a job's used time as this host's time minus the start by Slurm's clock. The two clocks may
 * differ, so only the growth of the used time since the first look counts. */
static void leave_out_suspended(const Slurm *slurm, EngineNode *node, Sight *sight, const TextJob *job) {
        int64_t since = slurm->looked + node->ahead - node->started, gap;

        node->suspended = strcmp(job->state, "SUSPENDED") == 0;
        if (node->suspended) {
                node->ahead = node->seen - slurm->looked;
                return;
        }
        if (sight->first_used < 0)
                sight->first_used = job->used;
        gap = since - (job->used - sight->first_used);
        if (job->used >= 0 && gap > 1)
                node->ahead -= gap;
}

/* When a job ended, by the cluster's clock. The time for which Slurm had suspended it is left out, since
 * job->used does not count it. */
static int64_t find_end(const EngineNode *node, const TextJob *job) {
        return node->started > 0 && job->used >= 0 ? node->started + job->used : job->ended;
}

static void end_job(Engine *engine, EngineNode *node, const TextJob *job) {
        Slurm *slurm = engine->own;
        char words[256];

        node->ended = find_end(node, job);
        text_end(job, words);
        delivery_node_ended(&slurm->delivery, engine, node, words);
        engine_node_over(node, words);
}

static void take_job(Engine *engine, EngineNode *node, const TextJob *job) {
        TextState state = text_state(job->state);
        const Slurm *slurm = engine->own;
        char words[256];

        node->asked = job->asked ? job->asked : node->asked;
        node->exit_status = job->exit_status;
        if (state == TEXT_PENDING) {
                node->state = ENGINE_ASKED;
                (void) snprintf(node->words, sizeof(node->words), "%s (Slurm job %s)",
                                strcmp(job->reason, "None") == 0 ? "Slurm looks for a node" : job->reason,
                                node->id);
                if (engine->open == ENGINE_OPEN && text_reason_is_final(job->reason, words))
                        engine_refuse(engine, "%s", words);
                return;
        }
        /* a job that was cancelled before it began has a start and an end, but no resources */
        if (job->n_cpus > 0) {
                node->started = job->started;
                node->n_cpus = job->n_cpus;
                node->n_gpus = job->n_gpus;
                node->memory_bytes = job->memory_bytes;
                node->billing = job->billing;
                (void) snprintf(node->name, sizeof(node->name), "%s", job->name);
        }
        if (state == TEXT_RUNNING) {
                /* Slurm's clock and this host's clock may differ, so time is counted from the first look
                 * that shows the node running. The node may have started as late as the end of that look. */
                if (node->seen == 0) {
                        node->ahead = node->started - engine_clock();
                        node->seen = node->started;
                }
                leave_out_suspended(slurm, node, slurm->sights + (node - engine->nodes), job);
                node->state = ENGINE_RUNNING;
                node->ended = 0;
                engine_node_runs(node, slurm->looked);
                node->limit = job->ended;
                (void) snprintf(node->words, sizeof(node->words), "its program starts (Slurm job %s)",
                                node->id);
        }
        /* the node's program has ended; Slurm's epilog may still run, and is not counted */
        if (state == TEXT_ENDING && job->ended > 0)
                node->seen = node->ended = find_end(node, job);
        if (state == TEXT_OVER)
                end_job(engine, node, job);
}

static EngineNode *find(Engine *engine, const char *id, size_t *ret_index) {
        for (size_t i = 0; i < engine->n_nodes; i++)
                if (engine->nodes[i].state != ENGINE_FREE && strcmp(engine->nodes[i].id, id) == 0) {
                        *ret_index = i;
                        return engine->nodes + i;
                }
        return NULL;
}

static bool is_asked(const EngineNode *node) {
        return node->id[0] && (node->state == ENGINE_ASKED || node->state == ENGINE_RUNNING);
}

/* If several looks in a row do not list a job, the job ended so long ago that Slurm has forgotten it. */
static void count_absent(Engine *engine) {
        Slurm *slurm = engine->own;

        for (size_t i = 0; i < engine->n_nodes; i++)
                if (is_asked(engine->nodes + i) && ++slurm->sights[i].n_absent > ABSENT_LOOKS) {
                        engine->nodes[i].ended = engine->nodes[i].seen;
                        engine_node_over(engine->nodes + i, "Slurm does not know its job any more");
                }
}

/* Notes a job with our name whose number sbatch did not report. While sbatch runs, no job is noted, since
 * sbatch may still report the number. */
static void take_stray(Slurm *slurm, const TextJob *job) {
        TextState state = text_state(job->state);

        if ((state == TEXT_PENDING || state == TEXT_RUNNING) && slurm->submit.pid == 0 &&
                        slurm->n_strays < STRAYS_MAX)
                memcpy(slurm->strays[slurm->n_strays++], job->id, sizeof(job->id));
}

static void take_jobs(Engine *engine, const char *output) {
        Slurm *slurm = engine->own;

        slurm->n_strays = 0;
        for (const char *line = output; *line;) {
                size_t n = strcspn(line, "\n"), i;
                EngineNode *node;
                TextJob job;

                if (text_job_parse(line, n, &job)) {
                        node = find(engine, job.id, &i);
                        if (!node)
                                take_stray(slurm, &job);
                        else if (is_asked(node)) {
                                slurm->sights[i].n_absent = 0;
                                take_job(engine, node, &job);
                        }
                }
                line += n + (line[n] == '\n');
        }
}

static void end_look(Engine *engine, uint64_t now) {
        Slurm *slurm = engine->own;

        if (command_succeeded(&slurm->look)) {
                /* a list that was cut at its end may lack jobs */
                if (!slurm->look.long_output)
                        count_absent(engine);
                take_jobs(engine, slurm->look.output);
        }
        slurm->look_msec = slurm->fresh ? LOOK_MSEC_FIRST : slurm->look_msec + slurm->look_msec / 4;
        if (slurm->look_msec > LOOK_MSEC_LAST)
                slurm->look_msec = LOOK_MSEC_LAST;
        slurm->fresh = false;
        slurm->next_look_nsec = now + slurm->look_msec * 1000000;
}

/* Whether Slurm may have a job of this engine that is not over. */
static bool has_asked(const Engine *engine) {
        const Slurm *slurm = engine->own;

        if (slurm->unsure)
                return true;
        for (size_t i = 0; i < engine->n_nodes; i++)
                if (is_asked(engine->nodes + i))
                        return true;
        return false;
}

static void begin_look(Engine *engine, uint64_t now) {
        Slurm *slurm = engine->own;
        char name[64];
        char *argv[] = { (char *) "squeue", (char *) "-h", (char *) "--me", (char *) "-t", (char *) "all",
                name, (char *) "-O", (char *) TEXT_JOB_FORMAT, NULL };

        if (slurm->fresh && slurm->next_look_nsec > now + LOOK_MSEC_FIRST * 1000000ull)
                slurm->next_look_nsec = now + LOOK_MSEC_FIRST * 1000000ull;
        if (now < slurm->next_look_nsec || !has_asked(engine))
                return;
        (void) snprintf(name, sizeof(name), "--name=%s", slurm->name);
        slurm->looked = engine_clock();
        (void) start(engine, &slurm->look, argv, NULL);
}

/* Call this when scancel has failed. After RETRY_SECONDS scancel is started again, for all nodes that are to
 * stop and are not over. */
static void repeat_cancel(Engine *engine, uint64_t now) {
        Slurm *slurm = engine->own;

        for (size_t i = 0; i < engine->n_nodes; i++)
                engine->nodes[i].stopping = false;
        slurm->next_cancel_nsec = now + RETRY_SECONDS * 1000000000ull;
}

static void begin_cancel(Engine *engine, uint64_t now) {
        Slurm *slurm = engine->own;
        char *argv[CANCELS_MAX + 3] = { (char *) "scancel", (char *) "--quiet" };
        size_t n = 2;

        if (now < slurm->next_cancel_nsec)
                return;
        while (slurm->n_strays > 0)
                argv[n++] = slurm->strays[--slurm->n_strays];
        for (size_t i = 0; i < engine->n_nodes && n < CANCELS_MAX + 2; i++) {
                EngineNode *node = engine->nodes + i;

                if (is_asked(node) && node->stop && !node->stopping) {
                        node->stopping = true;
                        argv[n++] = node->id;
                }
        }
        if (n == 2)
                return;
        slurm->fresh = true;
        if (!start(engine, &slurm->cancel, argv, NULL))
                repeat_cancel(engine, now);
}

static void slurm_step(Engine *engine, uint64_t now) {
        Slurm *slurm = engine->own;

        if (command_step(&slurm->checking, now))
                end_check(engine);
        if (engine->open == ENGINE_CHECKING && slurm->checking.pid == 0)
                begin_check(engine);
        if (command_step(&slurm->submit, now))
                end_submit(engine, now);
        if (command_step(&slurm->look, now))
                end_look(engine, now);
        if (command_step(&slurm->cancel, now) && !command_succeeded(&slurm->cancel))
                repeat_cancel(engine, now);
        delivery_step(&slurm->delivery, engine, now);
        if (engine->open == ENGINE_OPEN && slurm->submit.pid == 0)
                begin_submit(engine, now);
        if (slurm->cancel.pid == 0)
                begin_cancel(engine, now);
        if (slurm->look.pid == 0)
                begin_look(engine, now);
        if (engine->open == ENGINE_REFUSED)
                for (size_t i = 0; i < engine->n_nodes; i++)
                        if (engine->nodes[i].state == ENGINE_WANTED && slurm->submit.pid == 0)
                                engine_node_over(engine->nodes + i, engine->words);
}

static size_t slurm_poll(const Engine *engine, struct pollfd *ret, int *timeout_msec, uint64_t now) {
        const Slurm *slurm = engine->own;
        const Command *commands[] = { &slurm->submit, &slurm->look, &slurm->cancel, &slurm->checking,
                &slurm->delivery.parcel.packing, &slurm->delivery.parcel.sending };
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                int fd = command_fd(commands[i]);

                if (fd >= 0)
                        ret[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
                timeout_lower(timeout_msec, command_timeout(commands[i], now));
        }
        if (slurm->look.pid == 0 && has_asked(engine))
                timeout_lower(timeout_msec,
                                slurm->next_look_nsec > now
                                                ? (int) ((slurm->next_look_nsec - now) / 1000000) + 1
                                                : 0);
        if (slurm->submit.pid == 0 && slurm->next_submit_nsec > now)
                timeout_lower(timeout_msec, (int) ((slurm->next_submit_nsec - now) / 1000000) + 1);
        return n;
}

static void slurm_abandon(Engine *engine) {
        Slurm *slurm = engine->own;
        char name[64];
        char *argv[] = { (char *) "scancel", (char *) "--quiet", (char *) "--me", name, NULL };
        uint64_t deadline = clock_boottime() + ABANDON_SECONDS * 1000000000ull;

        /* sbatch may be about to submit one more job */
        while (slurm->submit.pid > 0 && clock_boottime() < deadline) {
                (void) poll(&(struct pollfd){ .fd = command_fd(&slurm->submit), .events = POLLIN }, 1, 100);
                if (command_step(&slurm->submit, clock_boottime()))
                        end_submit(engine, clock_boottime());
        }
        if (slurm->submit.pid > 0) {
                slurm->unsure = true;
                command_done(&slurm->submit);
        }
        if (!has_asked(engine))
                return;
        (void) snprintf(name, sizeof(name), "--name=%s", slurm->name);
        command_done(&slurm->cancel);
        if (command_start(&slurm->cancel, argv, NULL, ABANDON_SECONDS) < 0)
                return;
        while (!command_step(&slurm->cancel, clock_boottime()))
                (void) poll(&(struct pollfd){ .fd = command_fd(&slurm->cancel), .events = POLLIN }, 1, 100);
}

const EngineKind engine_slurm = {
        .name = "slurm",
        .init = slurm_init,
        .done = slurm_done,
        .poll = slurm_poll,
        .step = slurm_step,
        .abandon = slurm_abandon,
};
