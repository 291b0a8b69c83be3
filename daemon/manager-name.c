/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon's name on the bus. A daemon is ready when it has the name. A daemon that has been idle for
 * IdleExitSec= gives the name back and ends; the next call to that name starts another one. */
#include <errno.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>
#include "daemon/line.h"
#include "daemon/log.h"
#include "daemon/manager.h"
#include "daemon/turns.h"
#include "include/bus.h"
#include "lib/boottime.h"
#include "lib/cleanup.h"

#define NAME_WAIT_USEC  UINT64_C(2000000)
#define NAME_PAUSE_USEC UINT64_C(50000)

/* Logs which other process has the name, since an administrator needs to know that. */
static int say_name_taken(Manager *manager) {
        _cleanup_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
        LogEntry entry;
        uid_t uid = 0;
        pid_t pid = 0;
        int r;

        r = sd_bus_get_name_creds(
                        manager->context.bus, BUS_NAME, SD_BUS_CREDS_PID | SD_BUS_CREDS_EUID, &creds);
        if (r >= 0) {
                (void) sd_bus_creds_get_pid(creds, &pid);
                (void) sd_bus_creds_get_euid(creds, &uid);
        }
        log_begin(&entry, MESSAGE_DAEMON_SECOND);
        log_field(&entry, "ACTORD_STATE=%s", manager->context.state_directory);
        log_field(&entry, "ACTORD_OTHER_PID=%d", (int) pid);
        if (pid > 0)
                log_send(&entry, LOG_ERR,
                                "Another actord, process %d of user %u, has the name " BUS_NAME
                                " on this bus; this one ends.",
                                (int) pid, (unsigned) uid);
        else
                log_send(&entry, LOG_ERR,
                                "Another actord has the name " BUS_NAME " on this bus; this one ends.");
        return -EEXIST;
}

static int say_name_refused(const Manager *manager, int error) {
        if (error == -EACCES || error == -EPERM)
                log_line(LOG_ERR,
                                "The bus does not let user %u have the name " BUS_NAME
                                ": it has not read the rules in dbus-1/system.d/org.actord1.conf, or read "
                                "them before user _actord was there. As root: systemctl reload dbus",
                                (unsigned) geteuid());
        else
                log_line(LOG_ERR, "The bus does not give the name " BUS_NAME ": %s.", g_strerror(-error));
        return error;
}

static uint64_t now_usec(void) {
        return clock_boottime() / 1000;
}

static int on_name_again(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;
        int r;

        manager->name_timer = sd_event_source_disable_unref(manager->name_timer);
        r = manager_name_request(manager);
        return r < 0 ? sd_event_exit(manager->context.event, r) : 0;
}

/* Asks again a moment later. If the last daemon was killed, a child that it had just forked still has its
 * connection to the bus, and with it the name, until it has closed its copy of the descriptor. 1: the daemon
 * waits. */
static int name_again(Manager *manager) {
        int r;

        if (now_usec() >= manager->name_until_usec)
                return say_name_taken(manager);
        r = sd_event_add_time_relative(manager->context.event, &manager->name_timer, CLOCK_BOOTTIME,
                        NAME_PAUSE_USEC, 0, on_name_again, manager);
        return r < 0 ? r : 1;
}

/* Reads the bus's answer to the request for the name. 0: this daemon has the name; 1: it asks again. */
static int check_name(Manager *manager, sd_bus_message *m) {
        enum { OWNER = 1, EXISTS = 3, OWNER_ALREADY = 4 }; /* of RequestName, in the D-Bus specification */
        uint32_t answer;
        int r;

        if (sd_bus_message_is_method_error(m, NULL))
                return say_name_refused(manager, -sd_bus_message_get_errno(m));
        r = sd_bus_message_read(m, "u", &answer);
        if (r < 0)
                return say_name_refused(manager, r);
        if (answer == EXISTS)
                return name_again(manager);
        return answer == OWNER || answer == OWNER_ALREADY ? 0 : say_name_refused(manager, -EPROTO);
}

static int on_name(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;
        int r;

        r = check_name(manager, m);
        if (r < 0)
                return sd_event_exit(manager->context.event, r);
        if (r == 0) {
                manager->name_until_usec = 0;
                jobs_schedule(&manager->context.jobs);
                (void) sd_notify(false, "READY=1");
        }
        return 1;
}

int manager_name_request(Manager *manager) {
        if (manager->name_until_usec == 0)
                manager->name_until_usec = now_usec() + NAME_WAIT_USEC;
        return sd_bus_request_name_async(manager->context.bus, NULL, BUS_NAME, 0, on_name, manager);
}

void manager_idle_again(Manager *manager) {
        manager->traffic_usec = now_usec();
}

/* A daemon that asks for its name has none to give back. */
static bool is_busy(const Manager *manager) {
        return manager->context.jobs.n_queued + manager->context.jobs.n_running > 0 ||
               manager->name_until_usec > 0 || g_hash_table_size(manager->access.queries) > 0 ||
               g_hash_table_size(manager->copies) > 0 || !lines_are_empty(manager->lines) ||
               !turns_are_empty(manager->turns) || manager->removals.length > 0 ||
               manager->context.long_calls.calls.length > 0;
}

static bool is_idle(const Manager *manager) {
        return !is_busy(manager) &&
               now_usec() - manager->traffic_usec >=
                               (uint64_t) manager->context.config.idle_exit_sec * 1000000;
}

/* The bus has answered: the name is released, and all messages that came to it before have been handled. If
 * one of them brought work, the daemon stays. */
static int on_released(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Manager *manager = userdata;

        manager->name_released = false;
        if (!is_busy(manager))
                return sd_event_exit(manager->context.event, 0);

        (void) manager_name_request(manager);
        manager_idle_arm(manager);
        return 1;
}

static int on_idle(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *manager = userdata;

        manager->idle_timer = sd_event_source_disable_unref(manager->idle_timer);
        if (!is_idle(manager)) {
                manager_idle_arm(manager);
                return 0;
        }
        (void) sd_notify(false, "STOPPING=1\nSTATUS=Idle.");
        manager->name_released = true;
        if (sd_bus_release_name_async(manager->context.bus, NULL, BUS_NAME, on_released, manager) < 0)
                return sd_event_exit(manager->context.event, 0);
        return 0;
}

void manager_idle_arm(Manager *manager) {
        uint64_t wait = (uint64_t) manager->context.config.idle_exit_sec * 1000000, since;

        if (manager->context.mode == DAEMON_RUN || manager->context.config.idle_exit_sec == 0 ||
                        manager->idle_timer || manager->name_released ||
                        manager->context.jobs.n_queued + manager->context.jobs.n_running > 0)
                return;
        since = now_usec() - manager->traffic_usec;
        wait = since < wait ? wait - since : 0;
        if (sd_event_add_time_relative(manager->context.event, &manager->idle_timer, CLOCK_BOOTTIME,
                            wait + 100000, 100000, on_idle, manager) >= 0)
                (void) sd_event_source_set_description(manager->idle_timer, "idle-exit");
}
