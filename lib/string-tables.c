/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The words for numbers that pass between programs. Each word is written only once, in a header of include/
 * (those of kinds of records: here). This file turns the lists into lookups. */
#include "lib/string-tables.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/cluster.h"
#include "include/launch.h"
#include "include/plan.h"
#include "include/record.h"
#include "include/sandbox.h"
#include "include/settings.h"
#include "lib/cleanup.h"
#include "lib/dataset/dataset.h"
#include "lib/limits.h"
#include "lib/slot.h"

#define LOOKUP(words, value) ((value) < ELEMENTSOF(words) ? (words)[value] : NULL)

static const char *const plan_ends[] = {
#define X(name, word) [PLAN_END_##name] = word,
        PLAN_ENDS(X)
#undef X
};

static const char *const record_kinds[] = {
        [RECORD_STARTED] = "started",
        [RECORD_WORKER] = "worker",
        [RECORD_ROLLOUT] = "rollout",
        [RECORD_EVALUATION] = "evaluation",
        [RECORD_UPDATE] = "update",
        [RECORD_POOL] = "pool",
        [RECORD_ROUND] = "round",
        [RECORD_FAULT] = "fault",
        [RECORD_CHECKPOINT] = "checkpoint",
        [RECORD_ENDED] = "ended",
        [RECORD_LOST] = "lost",
        [RECORD_METRIC] = "metric",
        [RECORD_NODE] = "node",
        [RECORD_EVALUATED] = "evaluated",
};

static const char *const faults[] = {
#define X(name, word, sentence) [FAULT_##name] = word,
        FAULTS(X)
#undef X
};

static const char *const cluster_events[] = { [CLUSTER_EVENT_NONE] = "none",
#define X(name, word) [CLUSTER_##name] = word,
        CLUSTER_EVENTS(X)
#undef X
};

static const char *const fault_sentences[] = {
#define X(name, word, sentence) [FAULT_##name] = sentence,
        FAULTS(X)
#undef X
};

static const char *const sandbox_levels[] = {
#define X(name, word) [SANDBOX_LEVEL_##name] = word,
        SANDBOX_LEVELS(X)
#undef X
};

static const char *const sandbox_steps[] = {
#define X(name, status) [SANDBOX_STEP_##name] = #name,
        SANDBOX_STEPS(X)
#undef X
};

static const char *const limits[] = {
#define X(name, word, sentence) [LIMIT_##name] = word,
        LIMITS(X)
#undef X
};

static const char *const limit_sentences[] = {
#define X(name, word, sentence) [LIMIT_##name] = sentence,
        LIMITS(X)
#undef X
};

static const char *const invoker_steps[] = {
#define X(name, sentence) [INVOKER_STEP_##name] = sentence,
        INVOKER_STEPS(X)
#undef X
};

static const char *const launch_steps[] = {
#define X(name, word) [LAUNCH_STEP_##name] = word,
        LAUNCH_STEPS(X)
#undef X
};

static_assert(ELEMENTSOF(plan_ends) == _PLAN_END_MAX, "a word per end");
static_assert(ELEMENTSOF(record_kinds) == _RECORD_KIND_MAX, "a word per kind");
static_assert(ELEMENTSOF(faults) == _FAULT_MAX, "a word per fault");

const char *plan_end_to_string(uint32_t end) {
        return LOOKUP(plan_ends, end);
}

const char *record_kind_to_string(uint32_t kind) {
        return LOOKUP(record_kinds, kind);
}

const char *cluster_event_to_string(uint32_t kind) {
        return LOOKUP(cluster_events, kind);
}

const char *fault_to_string(uint32_t fault) {
        return LOOKUP(faults, fault);
}

const char *fault_sentence(uint32_t fault) {
        return LOOKUP(fault_sentences, fault);
}

const char *sandbox_level_to_string(uint32_t level) {
        return LOOKUP(sandbox_levels, level);
}

uint32_t sandbox_choice_level(uint32_t choice) {
        static const uint32_t levels[_SANDBOX_CHOICE_MAX] = {
                [SANDBOX_CHOICE_AUTO] = SANDBOX_LEVEL_FULL,
                [SANDBOX_CHOICE_FULL] = SANDBOX_LEVEL_FULL,
                [SANDBOX_CHOICE_USERNS] = SANDBOX_LEVEL_USERNS,
                [SANDBOX_CHOICE_PROCESS] = SANDBOX_LEVEL_PROCESS,
                [SANDBOX_CHOICE_NONE] = SANDBOX_LEVEL_NONE,
        };

        assert(choice < _SANDBOX_CHOICE_MAX);
        return levels[choice];
}

const char *limit_to_string(uint32_t limit) {
        return LOOKUP(limits, limit);
}

const char *limit_sentence(uint32_t limit) {
        return LOOKUP(limit_sentences, limit);
}

const char *launch_step_to_string(uint32_t step) {
        return LOOKUP(launch_steps, step);
}

const char *invoker_step_sentence(uint32_t step) {
        return LOOKUP(invoker_steps, step);
}

/* Describes why an environment does not load. The message before it has the details. */
static const char *load_word(int error) {
        switch (error) {
        case EINVAL: return "it cannot be made with these settings";
        case ENOPKG: return "a module or package that it needs is not installed";
        case ENOEXEC: return "a file that it needs does not load";
        }
        return strerrordesc_np(error);
}

/* EPROTO means that an environment does not match its spec. The environment itself or a check of actord may
 * have returned it. */
static const char *environment_word(int error) {
        return error == EPROTO ? "it breaks a rule of actord/env.h, and `actorctl env check` says which"
                               : strerrordesc_np(error);
}

/* The errors of learner/checkpoint/restore.c, in addition to those of the disk. */
static const char *checkpoint_word(int error) {
        switch (error) {
        case EBADMSG: return "it is damaged";
        case EPROTONOSUPPORT: return "it is of a newer format than this actord reads";
        case ENOMSG: return "it is not a checkpoint of actord";
        case EMEDIUMTYPE: return "it belongs to another environment, or to a job of another shape";
        }
        return strerrordesc_np(error);
}

/* The detail of a fault in words: a signal's name, a step's word, or an error's description. */
static const char *detail_word(uint32_t fault, int detail) {
        int error = detail < 0 && detail > -4096 ? -detail : detail;

        switch (fault) {
        case FAULT_KILLED:
        case FAULT_SYSCALL: return sigabbrev_np(detail);
        case FAULT_SANDBOX: return detail >= 0 ? LOOKUP(sandbox_steps, (uint32_t) detail) : NULL;
        case FAULT_SPEC: return spec_field_to_string(detail);
        case FAULT_LOAD: return load_word(error);
        case FAULT_ENVIRONMENT: return environment_word(error);
        case FAULT_CHECKPOINT: return checkpoint_word(error);
        case FAULT_INTERNAL: return strerrordesc_np(error);
        }
        return NULL;
}

/* Appends a problem of the data set to a sentence that has n bytes. */
static char *describe_dataset(int detail, int n, char ret[256]) {
        int64_t episode = -1;
        const char *words = dataset_problem(detail, &episode);

        if (words && episode >= 0)
                (void) snprintf(ret + n, 256 - (size_t) n, ": episode_%" PRIi64 ": %s", episode, words);
        else if (words)
                (void) snprintf(ret + n, 256 - (size_t) n, ": %s", words);
        return ret;
}

char *fault_describe(uint32_t fault, int detail, char ret[256]) {
        const char *sentence = fault_sentence(fault), *word = detail_word(fault, detail);
        int n;

        if (!sentence) {
                (void) snprintf(ret, 256, "met an unknown fault (number %u, %d)", fault, detail);
                return ret;
        }
        n = snprintf(ret, 256, sentence, detail);
        if (fault == FAULT_DATASET)
                return describe_dataset(detail, n, ret);
        if (word && n > 0 && n < 256)
                n += snprintf(ret + n, 256 - (size_t) n,
                                fault == FAULT_KILLED || fault == FAULT_SYSCALL ? " [SIG%s]" : ": %s", word);
        if ((fault == FAULT_INTERNAL || fault == FAULT_CHECKPOINT) && n > 0 && n < 256)
                n += snprintf(ret + n, 256 - (size_t) n, "%s", limit_advice(detail));
        if (fault == FAULT_KILLED && n > 0 && n < 256)
                (void) snprintf(ret + n, 256 - (size_t) n, "%s", limit_signal_advice(detail));
        return ret;
}
