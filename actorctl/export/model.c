/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a model by the same function as recordings do (actorctl/recording/policy.h). So the exported policy
 * is exactly the one that would act. */
#include "actorctl/export/model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "actorctl/recording/policy.h"
#include "lib/algorithm-traits.h"
#include "lib/company.h"
#include "lib/network.h"
#include "lib/slot.h"

static bool are_finite(const float *values, size_t n) {
        size_t i = 0;

        while (i < n && isfinite(values[i]))
                i++;
        return i == n;
}

/* -EDOM: a number is not finite, and a policy with such a number is useless. */
static int fill(Model *model, const double *numbers) {
        size_t n = model->network.n_observation;

        model->clip = numbers[TRIAL_POLICY_CLIP];
        model->normalised = model->clip > 0;
        model->mean = g_new(float, n);
        model->inverse_sd = g_new(float, n);
        model->parameters = g_new(float, model->network.n_parameters);
        numbers += _TRIAL_POLICY_NUMBER_MAX;
        for (size_t i = 0; i < n; i++) {
                model->mean[i] = (float) numbers[i];
                model->inverse_sd[i] = (float) numbers[n + i];
        }
        for (size_t i = 0; i < model->network.n_parameters; i++)
                model->parameters[i] = (float) numbers[2 * n + i];
        return are_finite(model->mean, n) && are_finite(model->inverse_sd, n) &&
                                               are_finite(model->parameters, model->network.n_parameters)
                               ? 0
                               : -EDOM;
}

/* The count of numbers in the layers that act, and in constant layers. */
static uint64_t count_numbers(const Network *network, uint64_t acts) {
        uint64_t n = 0;

        for (uint32_t i = 0; i < network->n_layers; i++) {
                const Layer *layer = &network->layers[i];

                if (layer->kind == LAYER_PARAMETER || (acts >> i & 1))
                        n += (uint64_t) layer->n_units * layer->n_reads + layer->n_units;
        }
        return n;
}

/* Makes the network, and checks that it is not too large before any number is read. */
static ExitStatus make_network(const NamedCheckpoint *checkpoint, const ActordEnvSpec *spec,
                uint64_t numbers_max, Model *model) {
        uint64_t n;

        /* For a network that cannot be made, policy_read() has a message. */
        if (company_spec(&model->settings, spec, &model->spec) < 0 ||
                        network_derive(&model->settings, &model->spec, &model->network) < 0)
                return STATUS_OK;
        model->acts = network_acting_layers(&model->network);
        n = count_numbers(&model->network, model->acts);
        if (n <= numbers_max)
                return STATUS_OK;
        complain("%s: its policy has %" PRIu64 " numbers, and a file of this format has room for %" PRIu64
                 "; export it with --format=onnx",
                        checkpoint->name, n, numbers_max);
        return STATUS_USAGE;
}

static ExitStatus read_numbers(const NamedCheckpoint *checkpoint, const JobFile *job_file,
                uint64_t numbers_max, Model *model) {
        g_autoptr(GArray) numbers = g_array_new(FALSE, TRUE, sizeof(double));
        g_autofree char *message = NULL;
        TrialSpec said;
        ExitStatus status;

        model->settings = job_file->settings;
        status = trial_spec(job_file, &said);
        if (status == STATUS_OK)
                status = make_network(checkpoint, &said.spec, numbers_max, model);
        if (status != STATUS_OK)
                return status;
        if (policy_read(&checkpoint->checkpoint, checkpoint->name, &model->settings, &said.spec, numbers,
                            &message) < 0) {
                complain("%s", message);
                return STATUS_USAGE;
        }
        if (fill(model, (const double *) (const void *) numbers->data) < 0) {
                complain("the policy of %s has numbers that are not finite, and is not exported; export an "
                         "earlier checkpoint",
                                checkpoint->name);
                return STATUS_USAGE;
        }
        /* Only the value network reads the part after an agent's own observation, and that network is not
         * exported. */
        if (algorithm_row(model->settings.algorithm)->company == COMPANY_ALL) {
                model->spec = said.spec;
                model->network.n_observation = (uint32_t) space_numbers(&said.spec.observation);
        }
        return STATUS_OK;
}

static char *choices_text(const Network *network) {
        GString *text = g_string_new(NULL);

        for (uint32_t k = 0; network->n_choices > 1 && k < network->n_choices; k++)
                g_string_append_printf(text, "%s%u", k > 0 ? " " : "", network->choices[k]);
        return g_string_free(text, text->len == 0);
}

static char *inputs_text(const Network *network) {
        GString *text = g_string_new(NULL);

        for (uint32_t i = 0; i < network->n_edited; i++) {
                const Monomial *m = &network->monomials[i];

                g_string_append_printf(text, "%s%u", i > 0 ? " " : "", m->first);
                if (m->second != MONOMIAL_LINEAR)
                        g_string_append_printf(text, "*%u", m->second);
        }
        return g_string_free(text, text->len == 0);
}

ExitStatus model_read(const Options *options, const NamedCheckpoint *checkpoint, uint64_t numbers_max,
                Model **ret) {
        g_autoptr(Model) model = g_new0(Model, 1);
        const Safetensors *file = checkpoint->checkpoint.file;
        JobFile job_file;
        ExitStatus status;

        status = job_file_load_text(&job_file, checkpoint->name, checkpoint->text, options->sets);
        if (status == STATUS_OK && g_str_has_prefix(job_file.settings.environment, "job:")) {
                complain("%s: a policy that schedules a job cannot be exported; `actorctl scheduler export` "
                         "copies a trained scheduler",
                                job_file.settings.environment);
                status = STATUS_USAGE;
        }
        if (status == STATUS_OK)
                status = read_numbers(checkpoint, &job_file, numbers_max, model);
        job_file_done(&job_file);
        if (status != STATUS_OK)
                return status;
        model->choices = choices_text(&model->network);
        model->inputs = inputs_text(&model->network);
        model->sha256 = safetensors_metadata(file, METADATA_POLICY_SHA256) ?: "";
        model->round = safetensors_metadata(file, METADATA_ROUND) ?: "";
        *ret = g_steal_pointer(&model);
        return STATUS_OK;
}

Model *model_free(Model *model) {
        if (!model)
                return NULL;
        g_free(model->mean);
        g_free(model->inverse_sd);
        g_free(model->parameters);
        g_free(model->choices);
        g_free(model->inputs);
        g_free(model);
        return NULL;
}

const char *model_output_name(const Model *model) {
        switch ((ActKind) model->network.act) {
        case ACT_CATEGORICAL: return "logits";
        case ACT_EPSILON_GREEDY: return "action_values";
        case ACT_GAUSSIAN:
        case ACT_CONSISTENCY:
        case ACT_DIFFUSION:
        case ACT_DETERMINISTIC:
        case ACT_SQUASHED: return "mean";
        }
        g_assert_not_reached();
}
