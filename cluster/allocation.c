/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nodes inside an allocation of Slurm (SLURM_JOB_ID). Each of its nodes is used by one srun, and no other
 * node is asked for. The allocation belongs to the user and ends when the user's script does. A node costs
 * from the start of its step to its end. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "cluster/command.h"
#include "cluster/engine.h"
#include "cluster/node.h"
#include "cluster/text.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"

enum { HOSTS_MAX = 1024, NAME_BYTES = 64, COMMAND_SECONDS = 60, ABANDON_MSEC = 3000 };

typedef struct Host {
        char name[NAME_BYTES];
        bool taken;
        size_t node;  /* the node of the step */
        Command step; /* the running srun */
} Host;

typedef struct Allocation {
        char id[32];
        int64_t limit;
        uint64_t memory_bytes; /* of each node; 0: not known */
        uint32_t n_cpus;
        Command checking;
        bool asked, has_hosts;
        Host *hosts;
        size_t n_hosts;
} Allocation;

static int allocation_init(Engine *engine) {
        Allocation *own = calloc(1, sizeof(*own));
        const char *id = getenv("SLURM_JOB_ID"), *memory = getenv("SLURM_MEM_PER_NODE"),
                   *cpus = getenv("SLURM_CPUS_ON_NODE"), *end = getenv("SLURM_JOB_END_TIME");

        if (!own)
                return -ENOMEM;
        engine->own = own;
        own->checking = COMMAND_NONE;
        (void) snprintf(own->id, sizeof(own->id), "%.31s", id ? id : "");
        own->memory_bytes = memory ? (uint64_t) strtoul(memory, NULL, 10) << 20 : 0;
        own->n_cpus = cpus ? (uint32_t) strtoul(cpus, NULL, 10) : 0;
        own->limit = end ? strtoll(end, NULL, 10) : 0;
        own->hosts = calloc(HOSTS_MAX, sizeof(*own->hosts));
        if (!own->hosts)
                return -ENOMEM;
        for (size_t i = 0; i < HOSTS_MAX; i++)
                own->hosts[i].step = COMMAND_NONE;
        return 0;
}

static void allocation_done(Engine *engine) {
        Allocation *own = engine->own;

        if (!own)
                return;
        command_done(&own->checking);
        for (size_t i = 0; own->hosts && i < HOSTS_MAX; i++)
                command_done(&own->hosts[i].step);
        free(own->hosts);
        free(own);
        engine->own = NULL;
}

static void begin_check(Engine *engine) {
        Allocation *own = engine->own;
        char *hosts[] = { (char *) "scontrol", (char *) "show", (char *) "hostnames",
                getenv("SLURM_JOB_NODELIST"), NULL };
        char *address[] = { (char *) "sinfo", (char *) "-h", (char *) "-N", (char *) "-n",
                own->hosts[0].name, (char *) "-o", (char *) "%o", NULL };
        int r;

        if (!hosts[3]) {
                engine_refuse(engine, "SLURM_JOB_ID is set but SLURM_JOB_NODELIST is not: unset it, or run "
                                      "inside an allocation (salloc, sbatch)");
                return;
        }
        r = command_start(&own->checking, own->has_hosts ? address : hosts, NULL, COMMAND_SECONDS);
        if (r < 0)
                engine_refuse(engine, "%s cannot be started: %s; are Slurm's client programs installed?",
                                own->has_hosts ? "sinfo" : "scontrol", strerror(-r));
}

static void end_check(Engine *engine) {
        Allocation *own = engine->own;
        char line[160];

        if (!command_succeeded(&own->checking)) {
                text_best_line(own->checking.output, line, sizeof(line));
                engine_refuse(engine, "the nodes of allocation %s are not known: %s", own->id, line);
                return;
        }
        if (own->has_hosts) {
                text_best_line(own->checking.output, line, sizeof(line));
                (void) snprintf(engine->address, sizeof(engine->address), "%s", line);
                engine->open = ENGINE_OPEN;
                return;
        }
        for (const char *p = own->checking.output; *p && own->n_hosts < HOSTS_MAX;) {
                size_t n = strcspn(p, "\n");

                if (n > 0 && n < NAME_BYTES) {
                        memcpy(own->hosts[own->n_hosts].name, p, n);
                        words_clean(own->hosts[own->n_hosts].name, NAME_BYTES);
                        own->n_hosts++;
                }
                p += n + (p[n] == '\n');
        }
        own->has_hosts = true;
        if (own->n_hosts == 0)
                engine_refuse(engine, "allocation %s has no nodes", own->id);
}

static void start_step(Engine *engine, Host *host, EngineNode *node) {
        Allocation *own = engine->own;
        EngineArguments arguments;
        char where[NAME_BYTES + 16], job[48];
        char *argv[12 + ENGINE_ARGUMENTS] = { (char *) "srun", job, (char *) "--nodes=1",
                (char *) "--ntasks=1", where, (char *) "--overlap", (char *) "--mem=0",
                (char *) "--kill-on-bad-exit=0", (char *) "--chdir=/", (char *) "--input=none" };
        size_t n = 10;
        int r;

        engine_arguments(engine, node, &arguments);
        (void) snprintf(where, sizeof(where), "--nodelist=%s", host->name);
        (void) snprintf(job, sizeof(job), "--jobid=%s", own->id);
        for (size_t i = 0; i < ENGINE_ARGUMENTS; i++)
                argv[n++] = arguments.argv[i];
        r = command_start(&host->step, argv, NULL, 0);
        if (r < 0) {
                engine_refuse(engine, "srun cannot be started: %s", strerror(-r));
                return;
        }
        host->taken = true;
        host->node = (size_t) (node - engine->nodes);
        node->state = ENGINE_RUNNING;
        node->asked = node->started = (int64_t) time(NULL);
        node->limit = own->limit;
        node->n_cpus = own->n_cpus;
        node->memory_bytes = own->memory_bytes;
        (void) snprintf(node->id, sizeof(node->id), "%s", own->id);
        (void) snprintf(node->name, sizeof(node->name), "%s", host->name);
        (void) snprintf(node->words, sizeof(node->words), "a step of Slurm job %s", own->id);
}

static void end_step(Engine *engine, Host *host) {
        EngineNode *node = engine->nodes + host->node;
        char line[160], words[256];
        int status = command_succeeded(&host->step) ? 0 : -1;
        const char *sentence;

        if (WIFEXITED(host->step.status))
                status = WEXITSTATUS(host->step.status);
        sentence = node_exit_sentence(status);
        text_best_line(host->step.output, line, sizeof(line));
        (void) snprintf(words, sizeof(words), "%.150s%s%.90s", sentence[0] ? sentence : "its srun has ended",
                        line[0] ? ": " : "", line);
        node->exit_status = status;
        node->ended = (int64_t) time(NULL);
        host->taken = false;
        engine_node_over(node, words);
}

static Host *find_free(Allocation *own) {
        for (size_t i = 0; i < own->n_hosts; i++)
                if (!own->hosts[i].taken)
                        return own->hosts + i;
        return NULL;
}

static void allocation_step(Engine *engine, uint64_t now) {
        Allocation *own = engine->own;

        if (command_step(&own->checking, now))
                end_check(engine);
        if (engine->open == ENGINE_CHECKING && own->checking.pid == 0)
                begin_check(engine);
        for (size_t i = 0; i < own->n_hosts; i++) {
                Host *host = own->hosts + i;
                EngineNode *node = engine->nodes + host->node;

                if (command_step(&host->step, now))
                        end_step(engine, host);
                else if (host->taken && node->stop && !node->stopping) {
                        node->stopping = true;
                        command_stop(&host->step);
                } else if (host->taken)
                        node->seen = (int64_t) time(NULL);
        }
        for (size_t i = 0; i < engine->n_nodes; i++) {
                EngineNode *node = engine->nodes + i;
                Host *host;

                if (node->state != ENGINE_WANTED)
                        continue;
                host = find_free(own);
                if (engine->open == ENGINE_REFUSED || node->stop)
                        engine_node_over(node, node->stop ? "it was withdrawn" : engine->words);
                else if (engine->open == ENGINE_OPEN && engine->head_port > 0 && host)
                        start_step(engine, host, node);
                else if (engine->open == ENGINE_OPEN && !host)
                        (void) snprintf(node->words, sizeof(node->words),
                                        "allocation %s has %zu nodes, and all are used", own->id,
                                        own->n_hosts);
        }
}

static size_t allocation_poll(const Engine *engine, struct pollfd *ret, int *timeout_msec, uint64_t now) {
        const Allocation *own = engine->own;
        int fd = command_fd(&own->checking);
        size_t n = 0;

        (void) timeout_msec;
        (void) now;
        if (fd >= 0)
                ret[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
        for (size_t i = 0; i < own->n_hosts; i++) {
                fd = command_fd(&own->hosts[i].step);
                if (fd >= 0)
                        ret[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
        }
        return n;
}

static void allocation_abandon(Engine *engine) {
        Allocation *own = engine->own;
        uint64_t deadline = clock_boottime() + ABANDON_MSEC * 1000000ull;

        for (size_t i = 0; i < own->n_hosts; i++)
                command_stop(&own->hosts[i].step);
        for (size_t i = 0; i < own->n_hosts; i++)
                while (own->hosts[i].step.pid > 0 && !command_step(&own->hosts[i].step, clock_boottime()) &&
                                clock_boottime() < deadline)
                        (void) poll(NULL, 0, 20);
}

const EngineKind engine_allocation = {
        .name = "allocation",
        .init = allocation_init,
        .done = allocation_done,
        .poll = allocation_poll,
        .step = allocation_step,
        .abandon = allocation_abandon,
};
