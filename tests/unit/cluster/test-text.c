/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests the parsers of the output of Slurm's commands, and the texts that actord-cluster makes for Slurm. */
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster/node.h"
#include "cluster/text.h"

#define LINE(state, start, end, exit, tres, reason)                                                        \
        "            7|" state " |2026-11-24T16:56:20|" start "|" end "|n3     |" exit "|" tres "|" reason \
        "|1-02:03:04   |"

static bool parse(const char *line, TextJob *ret) {
        return text_job_parse(line, strlen(line), ret);
}

static void test_job(void) {
        TextJob job;

        g_assert_true(parse(LINE("RUNNING", "2026-11-24T16:56:26", "2026-11-24T17:56:26", "0",
                                            "cpu=2,mem=4821M,node=1,billing=2.5,gres/gpu=4", "None"),
                        &job));
        g_assert_cmpstr(job.id, ==, "7");
        g_assert_cmpstr(job.name, ==, "n3");
        g_assert_cmpint(job.started - job.asked, ==, 6);
        g_assert_cmpint(job.ended - job.started, ==, 3600);
        g_assert_cmpuint(job.n_cpus, ==, 2);
        g_assert_cmpuint(job.n_gpus, ==, 4);
        g_assert_cmpuint(job.memory_bytes, ==, 4821ull << 20);
        g_assert_cmpfloat(job.billing, ==, 2.5);
        g_assert_cmpint(job.used, ==, 93784);
        g_assert_cmpint(text_state(job.state), ==, TEXT_RUNNING);
}

static void test_pending(void) {
        TextJob job;

        g_assert_true(parse(LINE("PENDING", "N/A", "N/A", "0", "N/A", "Priority"), &job));
        g_assert_cmpint(job.started, ==, 0);
        g_assert_cmpuint(job.n_cpus, ==, 0);
        g_assert_cmpstr(job.reason, ==, "Priority");
}

/* Errors, half lines and jobs in arrays are no job of ours. */
static void test_not_a_job(void) {
        static const char *const lines[] = { "", "|", "squeue: error: x", "7|RUNNING|", "||||||||||",
                LINE("DANCING", "N/A", "N/A", "0", "", ""), "7_1|RUNNING|a|b|c|d|e|f|g|",
                "-7|RUNNING|a|b|c|d|e|f|g|" };
        TextJob job;

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++)
                g_assert_false(parse(lines[i], &job));
}

static void test_duration(void) {
        static const char *const none[] = { "", "INVALID", "N/A", "7", "-1:00", "1:", "1-", "1-:2", "1:2-3",
                "1:2:3:4", "1-2-3:4", "1:-2", "1:2x", "99999999:1" };

        g_assert_cmpint(text_duration_parse("0:00"), ==, 0);
        g_assert_cmpint(text_duration_parse("59:08"), ==, 3548);
        g_assert_cmpint(text_duration_parse("02:03:04"), ==, 7384);
        for (size_t i = 0; i < G_N_ELEMENTS(none); i++)
                g_assert_cmpint(text_duration_parse(none[i]), ==, -1);
}

/* Finds the line in which a node's script names its step, among lines that srun itself prints. */
static void test_step(void) {
        static const char *const none[] = { "", "actord-step \n", "actord-step 3", "actord-step x\n",
                "actord-step 33333333333\n", "actord-step 3 \nxactord-step 4\n" };
        char id[32] = "";

        for (size_t i = 0; i < G_N_ELEMENTS(none); i++)
                g_assert_null(text_step_parse(none[i], "12", id));
        g_assert_cmpstr(text_step_parse("srun: x\nactord-step 3\nsrun: y\n", "12", id), ==, "srun: y\n");
        g_assert_cmpstr(id, ==, "12.3");
}

static void test_submitted(void) {
        char id[32];

        g_assert_true(text_submitted_parse("sbatch: warning: something\n4711\n", id));
        g_assert_cmpstr(id, ==, "4711");
        g_assert_true(text_submitted_parse("4712;cluster", id));
        g_assert_cmpstr(id, ==, "4712");
        g_assert_false(text_submitted_parse("sbatch: error: 12\n12 jobs\n", id));
}

/* text_end() explains the node's exit status or, if the status has no explanation, Slurm's state. */
static void test_end(void) {
        TextJob job = { .id = "7", .state = "FAILED", .exit_status = NODE_EXIT_CONNECT };
        char words[256];

        text_end(&job, words);
        g_assert_nonnull(strstr(words, "firewall"));
        job = (TextJob){ .id = "7", .state = "TIMEOUT", .exit_status = 0 };
        text_end(&job, words);
        g_assert_nonnull(strstr(words, "TimeLimit="));
}

static void test_refusal(void) {
        char words[256];

        g_assert_false(text_refusal(
                        "sbatch: error: invalid partition specified: nope\nallocation failure: Invalid "
                        "partition name specified\n",
                        "nope", "", words));
        g_assert_nonnull(strstr(words, "Partition="));
        g_assert_true(text_refusal(
                        "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission "
                        "failed: Job violates accounting/QOS policy\n",
                        "", "", words));
        g_assert_nonnull(strstr(words, "actord tries again"));
        g_assert_false(text_refusal(
                        "slurm_load_partitions: Zero Bytes were transmitted or received\n", "", "", words));
        g_assert_nonnull(strstr(words, "clock"));
        g_assert_false(text_refusal("", "", "", words));
        g_assert_true(text_may_be_queued("sbatch: error: Socket timed out on send/recv operation\n"));
        g_assert_false(text_may_be_queued(
                        "sbatch: error: Unable to contact slurm controller (connect failure)\n"));
        g_assert_true(text_reason_is_final("PartitionTimeLimit", words));
        g_assert_false(text_reason_is_final("Resources", words));
}

static void test_nodes(void) {
        static const char output[] = "main* 10.0.0.1\nmain* 10.0.0.2\nclosed 10.0.0.1\n\nerror\n";
        char address[TEXT_ADDRESS_BYTES];

        g_assert_cmpuint(text_count_nodes(output, true), ==, 3);
        g_assert_cmpuint(text_count_nodes(output, false), ==, 2);
        g_assert_cmpuint(text_count_nodes("", true), ==, 0);
        text_find_address("closed 10.0.0.1\nmain* 10.0.0.2\n", false, address);
        g_assert_cmpstr(address, ==, "10.0.0.2");
        text_find_address("closed 10.0.0.1\nmain* 10.0.0.2\n", true, address);
        g_assert_cmpstr(address, ==, "10.0.0.1");
        text_find_address("\nmain*\n", false, address);
        g_assert_cmpstr(address, ==, "");
}

static void test_options(void) {
        char text[] = " --qos=low  --comment='two words' --a=\"b c\"d ";
        char *words[TEXT_OPTIONS_MAX];

        g_assert_cmpint(text_options_split(text, words), ==, 3);
        g_assert_cmpstr(words[0], ==, "--qos=low");
        g_assert_cmpstr(words[1], ==, "--comment=two words");
        g_assert_cmpstr(words[2], ==, "--a=b cd");
        g_assert_cmpint(text_options_split((char[]){ "--half='x" }, words), ==, -EINVAL);
        g_assert_cmpint(text_options_split((char[]){ "" }, words), ==, 0);
}

static void test_ours(void) {
        static const char *const ours[] = { "--job-name=x", "--job-name", "--job-na=x", "-J", "-Jx",
                "--array=0-9", "-a0-9", "--arr=1", "--clusters=all", "-M", "-W", "--wait", "--nodes=4",
                "-N4", "--test-only", "--parsable", "--wrap=x", "--help", "-V", "--requeue", "--requ",
                "--time=10", "-t10", "-t" },
                                 *const others[] = { "--qos=low", "--nodelist=n1", "--wait-all-nodes=1",
                                         "--no-requeue", "-p", "-w", "low", "-", "--", "", "--exclude=n1",
                                         "-n2", "--nodefile=x", "--time-min=5", "--reservation=x" };

        for (size_t i = 0; i < G_N_ELEMENTS(ours); i++)
                g_assert_nonnull(text_option_refuse(ours[i]));
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                g_assert_null(text_option_refuse(others[i]));
        g_assert_cmpstr(text_option_refuse("--requeue"), ==, "remove this option");
        g_assert_cmpstr(text_option_refuse("-t10"), ==, "use TimeLimit=");
}

/* A folder's name may have blanks and dollars, but nothing that ends the quotes. */
static void test_script(void) {
        char *argv[] = { (char *) "/home/a b/$x/actord-cluster", (char *) "--node", NULL };
        char *quoted[] = { (char *) "/home/it's/actord-cluster", NULL };
        char script[TEXT_SCRIPT_MAX];

        g_assert_cmpint(text_script(argv, script), ==, 0);
        g_assert_cmpstr(script, ==, "#!/bin/sh\nexec '/home/a b/$x/actord-cluster' '--node'\n");
        g_assert_cmpint(text_script(quoted, script), ==, -EINVAL);
}

static void run_shell(const char *command) {
        const char *argv[] = { "sh", "-ec", command, NULL };
        int status;

        g_assert_true(g_spawn_sync(NULL, (char **) argv, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL,
                        &status, NULL));
        g_assert_cmpint(status, ==, 0);
}

/* A node's script waits for the archive with the right digest, runs the program in it, and removes the
 * folder. It does not unpack an archive with another digest, for example one that is cut short. */
static void test_parcel(void) {
        char *argv[] = { (char *) "/unseen/actord-cluster", (char *) "--node", (char *) "a b", NULL };
        g_autofree char *base = g_dir_make_tmp("actord-parcel-XXXXXX", NULL),
                        *folder = g_build_filename(base, "folder", NULL),
                        *said = g_build_filename(base, "said", NULL), *command = NULL, *digest = NULL,
                        *text = NULL;
        const char *words[] = { "sh", "-s", NULL };
        char script[TEXT_SCRIPT_MAX];
        char said_first[64] = "";
        int status, in, out;
        GPid pid;

        command = g_strdup_printf(
                        "cd '%s'; printf '#!/bin/sh\\necho \"$@\" >%s; exit 7\\n' >actord-cluster; "
                        "chmod +x actord-cluster; tar -cf archive actord-cluster; "
                        "sha256sum <archive | cut -c-64 | tr -d '\\n' >digest",
                        base, said);
        run_shell(command);
        g_free(command);
        command = g_build_filename(base, "digest", NULL);
        g_assert_true(g_file_get_contents(command, &digest, NULL, NULL));
        g_assert_cmpint(text_parcel_script(argv, folder, digest, script), ==, 0);
        g_setenv("SLURM_STEP_ID", "5", TRUE);
        g_assert_true(g_spawn_async_with_pipes(NULL, (char **) words, NULL,
                        G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD, NULL, NULL, &pid, &in, &out, NULL,
                        NULL));
        g_unsetenv("SLURM_STEP_ID");
        g_assert_cmpint(write(in, script, strlen(script)), ==, (gssize) strlen(script));
        g_assert_cmpint(close(in), ==, 0);
        g_free(command);
        command = g_strdup_printf("cd '%s'; until test -d folder; do sleep 0.02; done; "
                                  "head -c 2000 archive >folder/parcel; sleep 0.3; test ! -e said; "
                                  "cp archive folder/parcel",
                        base);
        run_shell(command);
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_cmpint(WEXITSTATUS(status), ==, 7);
        g_assert_cmpint(read(out, said_first, sizeof(said_first) - 1), >, 0);
        g_assert_cmpstr(said_first, ==, "actord-step 5\n");
        g_assert_cmpint(close(out), ==, 0);
        g_assert_true(g_file_get_contents(said, &text, NULL, NULL));
        g_assert_cmpstr(text, ==, "--node a b\n");
        g_assert_false(g_file_test(folder, G_FILE_TEST_EXISTS));
        /* A signal ends the script while it still waits for the programs. The script then removes its
         * folder. */
        g_free(command);
        command = g_strdup_printf("cd '%s'; cat >script; sh script >begun & p=$!; "
                                  "until grep -q step begun; do sleep 0.02; done; kill $p; "
                                  "r=0; wait $p || r=$?; test $r = 143; test ! -e folder",
                        base);
        g_assert_true(g_file_set_contents(said, script, -1, NULL));
        g_free(text);
        text = g_strdup_printf("exec <'%s'; %s", said, command);
        run_shell(text);
        g_free(command);
        command = g_strdup_printf("rm -r '%s'", base);
        run_shell(command);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/slurm-text/job", test_job);
        g_test_add_func("/slurm-text/pending", test_pending);
        g_test_add_func("/slurm-text/not-a-job", test_not_a_job);
        g_test_add_func("/slurm-text/duration", test_duration);
        g_test_add_func("/slurm-text/step", test_step);
        g_test_add_func("/slurm-text/submitted", test_submitted);
        g_test_add_func("/slurm-text/end", test_end);
        g_test_add_func("/slurm-text/refusal", test_refusal);
        g_test_add_func("/slurm-text/nodes", test_nodes);
        g_test_add_func("/slurm-text/options", test_options);
        g_test_add_func("/slurm-text/ours", test_ours);
        g_test_add_func("/slurm-text/script", test_script);
        g_test_add_func("/slurm-text/parcel", test_parcel);
        return g_test_run();
}
