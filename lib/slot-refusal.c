/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "lib/slot-refusal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "lib/algorithm-traits.h"
#include "lib/company.h"
#include "lib/forward.h"
#include "lib/network.h"

SpecField spec_field_of_error(int error) {
        switch (error) {
        case -EOPNOTSUPP: return SPEC_FIELD_VALUES;
        case -EMULTIHOP: return SPEC_FIELD_PAIRED_AGENTS;
        case -ECHRNG: return SPEC_FIELD_COMPANY;
        case -ENOTUNIQ: return SPEC_FIELD_COMING;
        case -EDOTDOT: return SPEC_FIELD_SEVERAL;
        case -EUSERS: return SPEC_FIELD_SLOTS;
        case -EPROTOTYPE: return SPEC_FIELD_CONTINUOUS;
        case -ERANGE: return SPEC_FIELD_BOUNDED;
        case -ENOSPC: return SPEC_FIELD_STORE;
        case -ENOBUFS: return SPEC_FIELD_CURVATURE;
        case -EDOM: return SPEC_FIELD_IMAGE;
        case -E2BIG: return SPEC_FIELD_SIZE;
        case -EFBIG: return SPEC_FIELD_BANKS;
        case -ESPIPE: return SPEC_FIELD_PAIRS;
        case -ENOSTR: return SPEC_FIELD_PAIRED_STACK;
        case -EILSEQ: return SPEC_FIELD_EDITED;
        case -EBADR: return SPEC_FIELD_EDITED_POLICY;
        case -EXDEV: return SPEC_FIELD_REGULATION;
        default: return SPEC_FIELD_ACTION_KIND;
        }
}

/* Makes every network of the job, as job_page_make() does, and those that are published into *ret. */
static int derive_networks(const JobSettings *settings, const ActordEnvSpec *spec, JobPage *ret) {
        const AlgorithmRow *row = algorithm_row(settings->algorithm);
        ActordEnvSpec seen;
        Network beside;
        int r;

        r = company_spec(settings, spec, &seen);
        if (r >= 0)
                r = network_derive(settings, &seen, &ret->network);
        for (uint32_t k = 1; r >= 0 && k < NETWORKS_MAX && row->networks[k].name; k++)
                r = network_derive_beside(settings, &ret->network, &row->networks[k], &beside);
        return r < 0 ? r : network_derive_judge(settings, &ret->network, &ret->judge);
}

static bool describe(char *ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool describe(char *ret, const char *format, ...) {
        va_list values;

        va_start(values, format);
        (void) vsnprintf(ret, SIZE_SENTENCE_MAX, format, values);
        va_end(values);
        return true;
}

bool job_size_describe(const JobSettings *settings, const ActordEnvSpec *spec, char ret[SIZE_SENTENCE_MAX]) {
        static JobPage page;
        int r;

        assert(settings);
        assert(spec);
        assert(ret);

        r = derive_networks(settings, spec, &page);
        if (r == -E2BIG)
                return describe(ret,
                                "a network is too large: its inputs and the outputs of all its layers are "
                                "more than %u numbers; make [Learner] HiddenLayers= or Convolutions= "
                                "smaller",
                                FORWARD_SCRATCH_MAX);
        if (r < 0)
                return false;
        if (policy_layout(&page.network, &page.judge, POLICY_BANKS, &page.policy) == -E2BIG)
                return describe(ret,
                                "the network is too large: it has %" PRIu64 " parameters of 4 bytes, and a "
                                "policy may have %llu GiB; make [Learner] HiddenLayers= or Convolutions= "
                                "smaller",
                                page.network.n_parameters + JUDGES * page.judge.n_parameters,
                                SEGMENT_BYTES_MAX / POLICY_BANKS >> 30);
        if (job_page_make(settings, spec, &page) != -E2BIG)
                return false;
        return describe(ret,
                        "a rollout is too large: [Actor] EnvsPerActor=%u environments with RolloutSteps=%u "
                        "steps need more than %llu GiB; make one of them smaller",
                        settings->envs_per_actor, settings->rollout_steps, SEGMENT_BYTES_MAX >> 30);
}
