/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Nodes inside an allocation of Slurm (SLURM_JOB_ID). Each host of the allocation is used by an srun of its
 * own, and no other host is asked for. The allocation belongs to the user, and ends with the user's script.
 * A node costs from the start of its step to the end of that step. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "cluster/command.h"
#include "cluster/delivery.h"
#include "cluster/engine.h"
#include "cluster/node.h"
#include "cluster/text.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"
#include "lib/words.h"

enum {
        HOSTS_MAX = 1024,
        NAME_BYTES = 64,
        COMMAND_SECONDS = 60,
        ABANDON_MSEC = 3000,
        /* How long a node may take to end in good order. */
        STOP_SECONDS = 10,
};

typedef struct Host {
        char name[NAME_BYTES];
        bool taken;
        size_t node;  /* the node that the srun starts, as an index */
        Command step; /* the running srun */
        /* when srun gets SIGTERM if the node, which was asked to end, has not ended; 0: it does not, or has
         * got it */
        uint64_t kill_nsec;
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
        Delivery delivery;
} Allocation;

static int allocation_init(Engine *engine) {
        Allocation *own = calloc(1, sizeof(*own));
        int r;
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
        r = delivery_init(&own->delivery, engine->n_nodes);
        if (r < 0)
                return r;
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
        delivery_done(&own->delivery);
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
                engine_refuse(engine, "SLURM_JOB_ID is set but SLURM_JOB_NODELIST is not: unset "
                                      "SLURM_JOB_ID, or run inside an allocation (salloc, sbatch)");
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
                engine_refuse(engine, "the nodes of allocation %s cannot be listed: %s", own->id, line);
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

/* A shell starts the program. If the node does not see the program, the shell's exit status says so
 * (NODE_EXIT_NO_FILE); srun's would not. */
static void start_step(Engine *engine, Host *host, EngineNode *node) {
        Allocation *own = engine->own;
        char where[NAME_BYTES + 16], job[48], script[TEXT_SCRIPT_MAX];
        char *argv[] = { (char *) "srun", job, (char *) "--nodes=1", (char *) "--ntasks=1", where,
                (char *) "--overlap", (char *) "--mem=0", (char *) "--kill-on-bad-exit=0",
                (char *) "--chdir=/", (char *) "--input=none", (char *) "/bin/sh", (char *) "-c", script,
                NULL };
        int r;

        if (!delivery_script(&own->delivery, engine, (size_t) (node - engine->nodes), script))
                return;
        (void) snprintf(where, sizeof(where), "--nodelist=%s", host->name);
        (void) snprintf(job, sizeof(job), "--jobid=%s", own->id);
        r = command_start(&host->step, argv, NULL, 0);
        if (r < 0) {
                engine_refuse(engine, "srun cannot be started: %s", strerror(-r));
                return;
        }
        host->taken = true;
        host->kill_nsec = 0;
        host->node = (size_t) (node - engine->nodes);
        node->state = ENGINE_RUNNING;
        node->asked = node->started = (int64_t) time(NULL);
        node->ahead = node->started - engine_clock();
        node->limit = own->limit;
        node->n_cpus = own->n_cpus;
        node->memory_bytes = own->memory_bytes;
        if (!node->awaits)
                memcpy(node->id, own->id, sizeof(node->id));
        (void) snprintf(node->name, sizeof(node->name), "%s", host->name);
        (void) snprintf(node->words, sizeof(node->words), "a step of Slurm job %s", own->id);
}

static void end_step(Engine *engine, Host *host) {
        EngineNode *node = engine->nodes + host->node;
        Allocation *own = engine->own;
        int status = command_succeeded(&host->step) ? 0 : -1;
        const char *sentence, *output;
        char line[160], words[256];

        if (WIFEXITED(host->step.status))
                status = WEXITSTATUS(host->step.status);
        sentence = node_exit_sentence(status);
        output = text_step_parse(host->step.output, own->id, node->id);
        text_best_line(output ? output : host->step.output, line, sizeof(line));
        (void) snprintf(words, sizeof(words), "%.150s%s%.90s", sentence[0] ? sentence : "its srun has ended",
                        line[0] ? ": " : "", line);
        node->exit_status = status;
        node->ended = engine_clock() + node->ahead;
        host->taken = false;
        delivery_node_ended(&own->delivery, engine, node, words);
        engine_node_over(node, words);
}

/* Stops srun in three stages. At SIGUSR1, which srun passes on, the node ends in good order and leaves
 * nothing in its /tmp. Later srun gets a signal at which it kills the step. At last srun itself is
 * killed. */
static void stop_step(Host *host, EngineNode *node, uint64_t now) {
        if (!node->stopping) {
                node->stopping = true;
                host->kill_nsec = now + STOP_SECONDS * 1000000000ull;
                (void) kill(host->step.pid, SIGUSR1);
        } else if (host->kill_nsec > 0 && now >= host->kill_nsec) {
                host->kill_nsec = 0;
                host->step.deadline_nsec = now + STOP_SECONDS * 1000000000ull;
                command_stop(&host->step);
        }
}

static void step_host(Engine *engine, Host *host, uint64_t now) {
        EngineNode *node = engine->nodes + host->node;
        Allocation *own = engine->own;

        if (command_step(&host->step, now)) {
                end_step(engine, host);
                return;
        }
        if (!host->taken)
                return;
        node->seen = engine_clock() + node->ahead;
        if (!node->id[0])
                (void) text_step_parse(host->step.output, own->id, node->id);
        if (node->stop)
                stop_step(host, node, now);
}

/* Chooses a host on which a node has failed only if no other one is free. */
static Host *find_free(const Engine *engine, Allocation *own) {
        Host *found = NULL;

        for (size_t i = 0; i < own->n_hosts; i++)
                if (!own->hosts[i].taken && (!found || engine_avoids(engine, found->name)))
                        found = own->hosts + i;
        return found;
}

static void allocation_step(Engine *engine, uint64_t now) {
        Allocation *own = engine->own;

        if (command_step(&own->checking, now))
                end_check(engine);
        if (engine->open == ENGINE_CHECKING && own->checking.pid == 0)
                begin_check(engine);
        for (size_t i = 0; i < own->n_hosts; i++)
                step_host(engine, own->hosts + i, now);
        delivery_step(&own->delivery, engine, now);
        for (size_t i = 0; i < engine->n_nodes; i++) {
                EngineNode *node = engine->nodes + i;
                Host *host;

                if (node->state != ENGINE_WANTED)
                        continue;
                host = find_free(engine, own);
                if (engine->open == ENGINE_REFUSED || node->stop)
                        engine_node_over(node, node->stop ? "it was withdrawn" : engine->words);
                else if (engine->open == ENGINE_OPEN && engine->head_port > 0 && host &&
                                delivery_is_ready(&own->delivery))
                        start_step(engine, host, node);
                else if (engine->open == ENGINE_OPEN && !host)
                        (void) snprintf(node->words, sizeof(node->words),
                                        "allocation %s has %zu nodes, and all of them are in use", own->id,
                                        own->n_hosts);
        }
}

static size_t allocation_poll(const Engine *engine, struct pollfd *ret, int *timeout_msec, uint64_t now) {
        const Allocation *own = engine->own;
        const Command *commands[] = { &own->checking, &own->delivery.parcel.packing,
                &own->delivery.parcel.sending };
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(commands); i++) {
                int fd = command_fd(commands[i]);

                if (fd >= 0)
                        ret[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
                timeout_lower(timeout_msec, command_timeout(commands[i], now));
        }
        for (size_t i = 0; i < own->n_hosts; i++) {
                int fd = command_fd(&own->hosts[i].step);

                if (fd >= 0)
                        ret[n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
                timeout_lower(timeout_msec, command_timeout(&own->hosts[i].step, now));
        }
        return n;
}

/* Waits until every srun has ended, or until the deadline. */
static void await_steps(Allocation *own, uint64_t deadline) {
        for (size_t i = 0; i < own->n_hosts; i++)
                while (own->hosts[i].step.pid > 0 && !command_step(&own->hosts[i].step, clock_boottime()) &&
                                clock_boottime() < deadline)
                        (void) poll(NULL, 0, 20);
}

static void allocation_abandon(Engine *engine) {
        Allocation *own = engine->own;
        uint64_t now = clock_boottime();

        for (size_t i = 0; i < own->n_hosts; i++)
                if (own->hosts[i].step.pid > 0)
                        (void) kill(own->hosts[i].step.pid, SIGUSR1);
        await_steps(own, now + ABANDON_MSEC * 1000000ull);
        for (size_t i = 0; i < own->n_hosts; i++)
                command_stop(&own->hosts[i].step);
        await_steps(own, now + 2ull * ABANDON_MSEC * 1000000u);
}

const EngineKind engine_allocation = {
        .name = "allocation",
        .init = allocation_init,
        .done = allocation_done,
        .poll = allocation_poll,
        .step = allocation_step,
        .abandon = allocation_abandon,
};
