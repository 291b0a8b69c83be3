/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cluster/credential.h"

#include <errno.h>
#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include "lib/cleanup.h"

enum { TTL_SECONDS = 120 };

DEFINE_CLEANUP(munge_ctx_t, munge_ctx_destroy)

/* A cause of munge's error, or what a user can do about it. */
static const char *advice(munge_err_t error) {
        switch ((int) error) {
        case EMUNGE_SOCKET: return "is munged running on this host? (systemctl start munge)";
        case EMUNGE_CRED_REPLAYED: return "a copy of this credential was used before";
        case EMUNGE_CRED_UNAUTHORIZED: return "the credential was made for another user";
        case EMUNGE_CRED_INVALID: return "the hosts have different munge keys (/etc/munge/munge.key)";
        default: return "see the log of munged";
        }
}

static int complain(char words[256], const char *what, munge_err_t error) {
        (void) snprintf(words, 256, "%s: %s; %s", what, munge_strerror(error), advice(error));
        return -EPROTO;
}

/* munge refuses a credential if the clocks of the two hosts differ too much, but still gives both times. */
static int complain_clocks(char words[256], munge_ctx_t context, munge_err_t error) {
        time_t made = 0, opened = 0;

        (void) munge_ctx_get(context, MUNGE_OPT_ENCODE_TIME, &made);
        (void) munge_ctx_get(context, MUNGE_OPT_DECODE_TIME, &opened);
        (void) snprintf(words, 256,
                        "its clock is %lld s %s this host's (munge: %s); set the clocks of both by NTP",
                        llabs((long long) opened - made), opened > made ? "behind" : "ahead of",
                        munge_strerror(error));
        return -EPROTO;
}

int credential_make(const Sealed *sealed, char **ret, char words[256]) {
        _cleanup_(munge_ctx_destroyp) munge_ctx_t context = munge_ctx_create();
        munge_err_t e;

        if (!context)
                return -ENOMEM;
        e = munge_ctx_set(context, MUNGE_OPT_UID_RESTRICTION, geteuid());
        if (e == EMUNGE_SUCCESS)
                e = munge_ctx_set(context, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_AES128);
        if (e == EMUNGE_SUCCESS)
                e = munge_ctx_set(context, MUNGE_OPT_TTL, TTL_SECONDS);
        if (e == EMUNGE_SUCCESS)
                e = munge_encode(ret, context, sealed, sizeof(*sealed));
        if (e != EMUNGE_SUCCESS)
                return complain(words, "munge gives no credential", e);
        return 0;
}

int credential_open(const char *credential, const Hello *hello, Sealed *ret, char words[256]) {
        _cleanup_(munge_ctx_destroyp) munge_ctx_t context = munge_ctx_create();
        int n = 0, cipher = MUNGE_CIPHER_NONE, r = 0;
        void *content = NULL;
        uid_t uid = (uid_t) -1;
        munge_err_t e;

        if (!context)
                return -ENOMEM;
        e = munge_decode(credential, context, &content, &n, &uid, NULL);
        if (e == EMUNGE_CRED_EXPIRED || e == EMUNGE_CRED_REWOUND)
                r = complain_clocks(words, context, e);
        else if (e != EMUNGE_SUCCESS)
                r = complain(words, "its munge credential is not valid", e);
        else if (uid != geteuid() ||
                        munge_ctx_get(context, MUNGE_OPT_CIPHER_TYPE, &cipher) != EMUNGE_SUCCESS ||
                        cipher == MUNGE_CIPHER_NONE ||
                        !sealed_check(content, n < 0 ? 0 : (size_t) n, hello)) {
                (void) snprintf(words, 256, "its munge credential was not made by a node of this job");
                r = -EPROTO;
        } else
                memcpy(ret, content, sizeof(*ret));
        if (content) {
                explicit_bzero(content, n < 0 ? 0 : (size_t) n);
                free(content);
        }
        return r;
}

int credential_try(char words[256]) {
        const Sealed sealed = {};
        char *credential = NULL;
        int r;

        r = credential_make(&sealed, &credential, words);
        free(credential);
        return r;
}
