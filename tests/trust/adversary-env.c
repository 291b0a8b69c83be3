/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A plugin that makes one system call in each step: the one in Call= of the job's [Environment]. The step's
 * error is that of the call, or WORKED if the call succeeded. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../plain-env.h"

enum { WORDS_MAX = 7, BUFFER_BYTES = 4096, WORKED = ENOTRECOVERABLE };

typedef struct Adversary {
        char call[256];
} Adversary;

static int adversary_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Adversary *a = instance;

        for (uint32_t i = 0; i < n_options; i++)
                if (strcmp(options[i].key, "Call") == 0)
                        strncpy(a->call, options[i].value, sizeof(a->call) - 1);
        return 0;
}

static int adversary_reset(void *instance, ActordRandom *random, void *ret_observation) {
        (void) instance;
        (void) random;
        *(float *) ret_observation = 0;
        return 0;
}

/* Makes the call "NUMBER ARGUMENT…". An argument is a number, @TEXT for the address of TEXT, or * for the
 * address of a page of zeros. */
static int make_call(const char *call) {
        static char buffer[BUFFER_BYTES], text[256];
        unsigned long words[WORDS_MAX] = {};
        char *rest = text, *word;

        strncpy(text, call, sizeof(text) - 1);
        for (unsigned i = 0; i < WORDS_MAX && (word = strsep(&rest, " ")); i++)
                if (*word == '@')
                        words[i] = (unsigned long) (word + 1);
                else if (*word == '*')
                        words[i] = (unsigned long) buffer;
                else
                        words[i] = (unsigned long) strtoll(word, NULL, 0);
        return syscall((long) words[0], words[1], words[2], words[3], words[4], words[5], words[6]) == -1
                               ? -errno
                               : -WORKED;
}

static int adversary_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        const Adversary *a = instance;

        (void) action;
        (void) random;
        *(float *) ret_observation = 0;
        *ret = (ActordStep){};
        return *a->call ? make_call(a->call) : 0;
}

PLAIN_ENV(adversary, Adversary);
