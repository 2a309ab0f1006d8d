/* SPDX-License-Identifier: Apache-2.0 */
/* screen_history.h - how much links carried in the course of a recording */
#ifndef CLI_SCREEN_HISTORY_H
#define CLI_SCREEN_HISTORY_H

struct link_history;
struct screen;

/*
 * Reads the next second of a recording and adds it to 'history'.  Returns CLI_OK; CLI_NO
 * at its end; or another exit status after a message.
 */
int screen_history_step(struct screen *screen, struct link_history *history);

#endif
