/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests which widths of vectors are found on other CPUs than this one, and the message for a job that asks
 * for a width that the CPU lacks. The sources are included, since the test replaces what the compiler says
 * about the CPU. */
#include <glib.h>
#include <stdbool.h>
#include <string.h>

static const char *const *features; /* of the CPU that the test pretends to have */

static bool feature_present(const char *name) {
        return g_strv_contains(features, name);
}

#define __builtin_cpu_supports(name) feature_present(name)
#include "daemon/submit.c" /* NOLINT(bugprone-suspicious-include) */
#include "lib/width.c"     /* NOLINT(bugprone-suspicious-include) */

#if defined(__x86_64__)
#define V3     "avx2", "fma"
#define AVX512 "avx512f", "avx512dq", "avx512bw", "avx512vl"

typedef struct Cpu {
        const char *features[8], *words;
        Width widest;
} Cpu;

static const Cpu cpus[] = {
        { {}, "scalar", WIDTH_SCALAR },
        { { "fma" }, "scalar", WIDTH_SCALAR },
        { { "avx2" }, "scalar", WIDTH_SCALAR },
        { { V3 }, "scalar avx2", WIDTH_AVX2 },
        { { V3, "avx512f" }, "scalar avx2", WIDTH_AVX2 },
        { { AVX512 }, "scalar", WIDTH_SCALAR },
        { { V3, AVX512 }, "scalar avx2 avx512", WIDTH_AVX512 },
};

static void test_present(void) {
        for (size_t i = 0; i < G_N_ELEMENTS(cpus); i++) {
                features = cpus[i].features;
                g_assert_cmpstr(width_words_present(), ==, cpus[i].words);
                g_assert_cmpint(width_of_class(KERNEL_CLASS_AUTO), ==, cpus[i].widest);
                g_assert_cmpint(width_chosen(), ==, cpus[i].widest);
                for (Width width = 0; width < _WIDTH_MAX; width++)
                        g_assert_cmpint(width_present(width), ==, width <= cpus[i].widest);
        }
}

/* The refusal names the file, the line, the missing width and the present ones. */
static void test_refused(void) {
        static const char *const words[] = { "scalar", "avx2", "avx512" };

        for (size_t i = 0; i < G_N_ELEMENTS(cpus); i++)
                for (uint32_t k = 0; k < G_N_ELEMENTS(words); k++) {
                        g_autofree char *text = g_strdup_printf("[Learner]\nKernelClass=%s\n", words[k]);
                        Submission s = { .text = text,
                                .file_name = (char *) "job.conf",
                                .settings.kernel_class = KERNEL_CLASS_SCALAR + k };
                        g_autofree char *expected = g_strdup_printf(
                                        "job.conf:2: [Learner] KernelClass=%s: this host's CPU lacks it, "
                                        "and has %s; auto takes the widest, with the same result.",
                                        words[k], cpus[i].words);
                        sd_bus_error error = SD_BUS_ERROR_NULL;

                        features = cpus[i].features;
                        if (k <= (uint32_t) cpus[i].widest) {
                                g_assert_cmpint(check_width(&s, &error), ==, 0);
                                continue;
                        }
                        g_assert_cmpint(check_width(&s, &error), <, 0);
                        g_assert_cmpstr(error.message, ==, expected);
                        sd_bus_error_free(&error);
                }
}
#endif

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
#if defined(__x86_64__)
        g_test_add_func("/width/present", test_present);
        g_test_add_func("/width/refused", test_refused);
#endif
        return g_test_run();
}
