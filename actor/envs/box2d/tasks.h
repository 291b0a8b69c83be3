/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The tasks on Box2D, one file each, with the definitions of Gymnasium's box2d environments.
 *
 * Box2D's world cannot be written down: contacts, their impulses and the order of its lists are private. So a snapshot holds what the
 * world came from, the episode: the numbers that were drawn at its reset, then each step's action and draws. A restore builds
 * the world anew and steps through them, which gives the same world bit for bit; where the instance still is that very episode, as in
 * an actor that goes on where it was, nothing has to be done. */
#pragma once

#include "include/actord/env.h"

extern const ActordEnv lunarlander_env, lunarlander_continuous_env;
extern const ActordEnv bipedalwalker_env;
