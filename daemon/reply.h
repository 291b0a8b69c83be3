/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Replies that end with a list. */
#pragma once

#include <systemd/sd-bus.h>

/* What a method ends with: r is how filling the reply went, its list still open. Sends it unless r is negative. 1, or negative. */
int reply_rows(sd_bus_message *reply, int r);
