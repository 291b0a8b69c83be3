/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Message ids of the journal, one for each kind of event. units/actord.catalog explains them. */
#pragma once

/* clang-format off */

#include <errno.h>

/* X(NAME, id): never change an id, and never use one twice. */
#define MESSAGES(X) \
        X(DAEMON_READY,        "75e0094687c74340b94a5e05d2d80302") \
        X(DAEMON_SECOND,       "08a94538008b433daad38bcaa1c09911") \
        X(BUS_LOST,            "2f60a501c18a4d7d95abc4e24e384358") \
        X(JOB_QUEUED,          "a3c0eb527a8b4924a8e200dd335292cc") \
        X(JOB_STARTING,        "7e35fadec4a546d69e448a7230c7f9bf") \
        X(JOB_RUNNING,         "99864e53d2a843f2af46eb335e4d086c") \
        X(JOB_ADOPTED,         "36ab3e1ddc64424d9a9874bf3b203537") \
        X(JOB_PREEMPTED,       "2342dfe73aa24e2aba9260de58285b27") \
        X(JOB_FROZEN,          "d89a31ba46e440eabbe3463bab8f4bba") \
        X(JOB_THAWED,          "99624893f2de403b9eec975910123698") \
        X(JOB_RESUMED,         "fe21865fc1314178aa56271c273df9b2") \
        X(JOB_STOPPING,        "e71471fff7124b3299ec77ff547cbbff") \
        X(JOB_ENDED,           "d1c7bccffb744bd5a1fdff5b92f3a3c4") \
        X(JOB_FAILED,          "a77cd90164c74ae787fe9369c6f2ce3f") \
        X(ACTOR_FAILED,        "eac95ca2eb144b5e8ff82ec5b6c581a4") \
        X(CHECKPOINT,          "c327ac5728584e8190095eedda605b41") \
        X(CHECKPOINT_DAMAGED,  "179667e5e71941dc9b8a27d5eb7e2d30") \
        X(TARGET_REACHED,      "a5f8619ba71b4e6aa780a45ab38cb4d6") \
        X(BUDGET_EXHAUSTED,    "af33243016824919a144f59b15996157") \
        X(RUNTIME_EXCEEDED,    "a9ed8a35f2e4482789c5b9d66ace5c67") \
        X(LEDGER_BLOCKED,      "57b234582bc747aab9e77f9e04f5d953") \
        X(LEDGER_RECOVERED,    "a1640f4b3ac048e78104f6d4ce4f8a4e") \
        X(LEDGER_PINNED,       "5eed38d7d1db457fa304e8c602ff99d9") \
        X(FILES_REMOVED,       "755ea1b11023483fbac8b8856228b04f") \
        X(FILES_LEFT,          "da912b4e096b404f948dc70feabced70") \
        X(RECORDS_REMOVED,     "bbe2c387be714c54b9a9e17649cb5422") \
        X(JOB_LEFTOVER,        "db1d882e7ed0430da74a9c0b4bfcc701") \
        X(RECORDS_SUPPRESSED,  "d620e1bce9294b99b714db1464511f01") \
        X(ACTORS_DECIDED,      "6f1c2d0b7a964e05b3a8d95c40e7f218") \
        X(DISTRIBUTION_CHOSEN, "eeddc7169934402f9cd50bbd78f32ca1") \
        X(WEIGHT_SET,          "b2c1d8f04a7e4c6f9d53e1a07f6b4c92") \
        X(WEIGHT_NOT_SET,      "c49e7a15d06b4f3a8e2f7b91d35c60ae") \
        X(COST_ALERT,          "f84358cdd4464c0fa195b5f1f8cd1002") \
        X(UNIT_REQUESTED,      "afa572b343e04ed499ded5565d1497ac")

typedef enum Message {
#define X(name, id) MESSAGE_##name,
        MESSAGES(X)
#undef X
        _MESSAGE_MAX, _MESSAGE_INVALID = -EINVAL,
} Message;
