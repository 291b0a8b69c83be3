/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The removal of a job that traded CPU weight (Shares=). systemd stores the weight of the job's slice in a
 * file, and must be made to forget it. A process plays the bus and systemd's manager, which may refuse. */
#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "spawner/spawner.h"

enum { SECONDS = 60 };

/* Shared with the process that plays systemd. */
typedef struct Systemd {
        int stores;     /* it stores a weight of the slice; the slice itself does not run any more */
        int refuses;    /* so many calls to forget the weight fail */
        int n_reverted; /* so many calls to forget the weight have come */
} Systemd;

typedef struct Fixture {
        Systemd *systemd;
        char *directory;
        pid_t pid;
} Fixture;

static int reply_property(Systemd *systemd, sd_bus_message *m) {
        const char *interface, *property;

        if (sd_bus_message_read(m, "ss", &interface, &property) < 0)
                return -EBADMSG;
        if (strcmp(property, "ControlGroup") == 0)
                return sd_bus_reply_method_return(m, "v", "s", "");
        if (systemd->stores)
                return sd_bus_reply_method_return(m, "v", "as", 1,
                                "/run/systemd/system.control/app-actord-job7.slice.d/50-CPUWeight.conf");
        return sd_bus_reply_method_return(m, "v", "as", 0);
}

static int on_message(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Systemd *systemd = userdata;

        if (sd_bus_message_is_method_call(m, NULL, "Hello") > 0)
                return sd_bus_reply_method_return(m, "s", ":1.1");
        if (sd_bus_message_is_method_call(m, NULL, "Get") > 0)
                return reply_property(systemd, m);
        if (sd_bus_message_is_method_call(m, NULL, "RevertUnitFiles") > 0) {
                systemd->n_reverted++;
                if (systemd->refuses > 0) {
                        systemd->refuses--;
                        return sd_bus_reply_method_errnof(m, EROFS, "no file can be removed now");
                }
                systemd->stores = 0;
                return sd_bus_reply_method_return(m, "a(sss)", 0);
        }
        return sd_bus_reply_method_return(m, ""); /* AddMatch, RemoveMatch */
}

/* Serves one connection until its other end is closed. */
static void serve(int fd, Systemd *systemd) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        int r;

        if (sd_bus_new(&bus) < 0 || sd_bus_set_fd(bus, fd, fd) < 0 ||
                        sd_bus_set_server(bus, 1,
                                        (sd_id128_t) SD_ID128_MAKE(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                        1, 1)) < 0 ||
                        sd_bus_add_filter(bus, NULL, on_message, systemd) < 0 || sd_bus_start(bus) < 0)
                _exit(1);
        do {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
        } while (r >= 0);
}

static void set_up(Fixture *f, gconstpointer data) {
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        _cleanup_close_ int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        g_autofree char *words = NULL;

        f->systemd = mmap(NULL, sizeof(*f->systemd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                        0);
        g_assert_true(f->systemd != MAP_FAILED);
        f->directory = g_dir_make_tmp("test-scope-XXXXXX", NULL);
        (void) g_snprintf(address.sun_path, sizeof(address.sun_path), "%s/bus", f->directory);
        g_assert_cmpint(bind(listening, (const struct sockaddr *) &address, sizeof(address)), ==, 0);
        g_assert_cmpint(listen(listening, 4), ==, 0);
        words = g_strconcat("unix:path=", address.sun_path, NULL);
        (void) g_setenv("DBUS_SESSION_BUS_ADDRESS", words, TRUE);

        f->pid = fork();
        g_assert_cmpint(f->pid, >=, 0);
        if (f->pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, (unsigned long) SIGKILL);
                (void) alarm(SECONDS);
                for (;;)
                        serve(accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), f->systemd);
        }
}

static void tear_down(Fixture *f, gconstpointer data) {
        g_autofree char *path = g_build_filename(f->directory, "bus", NULL);

        (void) kill(f->pid, SIGKILL);
        g_assert_cmpint(waitpid(f->pid, NULL, 0), ==, f->pid);
        (void) g_unlink(path);
        (void) g_rmdir(f->directory);
        g_free(f->directory);
        (void) munmap(f->systemd, sizeof(*f->systemd));
}

/* Asks for the removal of a job's slice, as the daemon does. weight 0: the job did not trade. */
static int remove_job(uint32_t weight) {
        Launch launch = {
                .abi = LAUNCH_ABI,
                .purpose = LAUNCH_REMOVE,
                .manager = LAUNCH_MANAGER_USER,
                .job = 7,
                .cpu_weight = weight,
        };
        LaunchAnswer answer = {};
        int r;

        r = settle(&launch, &answer);
        g_assert_cmpint(answer.error, ==, r < 0 ? r : 0);
        g_assert_cmpint(g_str_has_prefix(answer.message, "the job's cgroup cannot be removed: "), ==, r < 0);
        return r;
}

/* If systemd does not forget the weight, the removal fails although the slice is gone. So the daemon asks
 * again, until systemd has forgotten it. */
static void test_again(Fixture *f, gconstpointer data) {
        f->systemd->stores = f->systemd->refuses = 1;
        g_assert_cmpint(remove_job(100), ==, -EROFS);
        g_assert_cmpint(f->systemd->n_reverted, ==, 1);
        g_assert_cmpint(remove_job(100), ==, 0);
        g_assert_cmpint(f->systemd->n_reverted, ==, 2);
        g_assert_cmpint(f->systemd->stores, ==, 0);
}

/* systemd is not asked to forget anything if it stores nothing, or if the job did not trade. */
static void test_nothing(Fixture *f, gconstpointer data) {
        g_assert_cmpint(remove_job(100), ==, 0);
        f->systemd->stores = 1;
        g_assert_cmpint(remove_job(0), ==, 0);
        g_assert_cmpint(f->systemd->n_reverted, ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add("/scope/again", Fixture, NULL, set_up, test_again, tear_down);
        g_test_add("/scope/nothing", Fixture, NULL, set_up, test_nothing, tear_down);
        return g_test_run();
}
