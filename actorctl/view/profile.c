/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads a job's profile, and compares the speed of its matrix products with the speed that this host can
 * reach. */
#include "actorctl/view/profile.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actorctl/private.h"
#include "actorctl/view/json.h"
#include "actorctl/view/table.h"
#include "lib/cleanup.h"

#define GROUP "Profile"

static const char *const part_words[] = {
#define X(name, ...) #name,
        PROFILE_PARTS(X)
#undef X
};

static const char *const product_words[] = {
#define X(name) #name,
        PROFILE_PRODUCTS(X)
#undef X
};

static uint64_t number(GKeyFile *file, const char *word, const char *suffix) {
        g_autofree char *key = g_strconcat(word, suffix, NULL);

        return g_key_file_get_uint64(file, GROUP, key, NULL);
}

bool profile_read(const char *state_directory, ProfileView *ret) {
        g_autofree char *path = g_build_filename(state_directory, PROFILE_NAME, NULL);
        g_autoptr(GKeyFile) file = g_key_file_new();
        ProfileView profile = {};

        if (!g_key_file_load_from_file(file, path, G_KEY_FILE_NONE, NULL))
                return false;
        profile.n_rounds = number(file, "rounds", "");
        profile.wall_nsec = number(file, "wall", "_nsec");
        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++)
                profile.nsec[i] = number(file, part_words[i], "_nsec");
        for (uint32_t i = 0; i < _PRODUCT_MAX; i++)
                profile.rates[i] = (ProfileRate){
                        .operations = number(file, product_words[i], "_operations"),
                        .core_nsec = number(file, product_words[i], "_core_nsec"),
                };
        *ret = profile;
        return profile.n_rounds > 0;
}

void profile_measure_limit(ProfileView *profile, uint32_t kernel_class) {
        g_autofree char *class = g_strdup_printf("%u", kernel_class);
        const char *argv[] = { "actord-learner", LIMIT_OPTION, class, NULL };
        char line[64] = "";
        int pair[2], r;
        pid_t pid;

        if (pipe2(pair, O_CLOEXEC) < 0)
                return;
        r = private_spawn(argv[0], argv, pair[1], STDERR_FILENO, &pid);
        (void) close_fd(pair[1]);
        if (r >= 0) {
                if (read(pair[0], line, sizeof(line) - 1) > 0)
                        profile->limit = g_ascii_strtod(line, NULL);
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        (void) close_fd(pair[0]);
}

static double share(uint64_t part, uint64_t whole) {
        return whole > 0 ? (double) part / (double) whole : NAN;
}

/* Operations of one core per second; NaN: no time was measured. */
static double rate(const ProfileRate *r) {
        return r->core_nsec > 0 ? (double) r->operations / (double) r->core_nsec * 1e9 : NAN;
}

static double share_of_limit(const ProfileView *profile, const ProfileRate *r) {
        return profile->limit > 0 ? rate(r) / profile->limit : NAN;
}

static void add_part(Table *table, const ProfileView *profile, const char *word, uint64_t nsec) {
        table_string(table, word);
        table_real(table, (double) nsec / 1e9, "%.3f s");
        table_real(table, (double) nsec / 1e3 / (double) profile->n_rounds, "%.1f us");
        table_real(table, 100.0 * share(nsec, profile->wall_nsec), "%.1f %%");
}

static void print_parts(const ProfileView *profile, const Options *options) {
        g_autoptr(Table) table = table_new();

        table_column(table, "PART", "part", COLUMN_TEXT);
        table_column(table, "TIME", "time_s", COLUMN_NUMBER);
        table_column(table, "A ROUND", "round_usec", COLUMN_NUMBER);
        table_column(table, "SHARE", "share", COLUMN_NUMBER);
        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++)
                add_part(table, profile, part_words[i], profile->nsec[i]);
        add_part(table, profile, "all", profile->wall_nsec);
        table_print(table, options, NULL);
}

static void print_products(const ProfileView *profile, const Options *options) {
        g_autoptr(Table) table = table_new();

        table_column(table, "PRODUCTS OF", "part", COLUMN_TEXT);
        table_column(table, "OPERATIONS", "operations", COLUMN_NUMBER);
        table_column(table, "GFLOP/S A CORE", "gflops", COLUMN_NUMBER);
        table_column(table, "OF THE LIMIT", "limit_share", COLUMN_NUMBER);
        for (uint32_t i = 0; i < _PRODUCT_MAX; i++) {
                const ProfileRate *r = &profile->rates[i];

                table_string(table, product_words[i]);
                table_real(table, (double) r->operations, "%.4g");
                table_real(table, rate(r) / 1e9, "%.1f");
                table_real(table, 100.0 * share_of_limit(profile, r), "%.0f %%");
        }
        table_print(table, options, NULL);
}

void profile_print(const ProfileView *profile, const Options *options) {
        printf("\n");
        print_parts(profile, options);
        printf("\n");
        print_products(profile, options);
        if (profile->limit > 0 && !options->no_legend)
                printf("limit: %.1f GFLOP/s, measured now: one core, the learner's own matrix product\n",
                                profile->limit / 1e9);
}

JsonNode *profile_to_json(const ProfileView *profile) {
        JsonObject *object = json_object_new(), *parts = json_object_new(), *products = json_object_new();
        JsonNode *node = json_node_init_object(json_node_alloc(), object);

        json_object_set_member(object, "rounds", json_unsigned(profile->n_rounds));
        json_object_set_member(object, "wall_s", json_real((double) profile->wall_nsec / 1e9));
        for (uint32_t i = 0; i < _PROFILE_PART_MAX; i++)
                json_object_set_member(parts, part_words[i], json_real((double) profile->nsec[i] / 1e9));
        json_object_set_object_member(object, "parts_s", parts);
        for (uint32_t i = 0; i < _PRODUCT_MAX; i++) {
                const ProfileRate *r = &profile->rates[i];
                JsonObject *product = json_object_new();

                json_object_set_member(product, "operations", json_unsigned(r->operations));
                json_object_set_member(product, "core_s", json_real((double) r->core_nsec / 1e9));
                json_object_set_member(product, "gflops", json_real(rate(r) / 1e9));
                json_object_set_member(product, "limit_share", json_real(share_of_limit(profile, r)));
                json_object_set_object_member(products, product_words[i], product);
        }
        json_object_set_object_member(object, "products", products);
        json_object_set_member(
                        object, "limit_gflops", json_real(profile->limit > 0 ? profile->limit / 1e9 : NAN));
        json_object_unref(object);
        return node;
}
