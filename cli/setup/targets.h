/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets.h - the files, directories and units that 'antiphase setup' may change, and
 * nothing else; making a directory
 */
#ifndef CLI_SETUP_TARGETS_H
#define CLI_SETUP_TARGETS_H

struct err;

#define SETUP_DIR      "/etc/antiphase"
#define SETUP_CONFIG   SETUP_DIR "/antiphase.conf"
#define SETUP_DROP_IN  SETUP_DIR "/conf.d/setup.conf"
#define SETUP_FABRIC   SETUP_DIR "/topology.json"
#define SETUP_PROPOSED SETUP_DIR "/topology.json.proposed"
#define SETUP_KEYS     SETUP_DIR "/keys"
#define SETUP_NEW_KEYS SETUP_DIR "/keys.new" /* Until the pair is whole. */

/* NULL-terminated. */
extern const char *const setup_files[];
extern const char *const setup_units[];

/* Makes ROOT/DIR and the directories above it.  0, or -errno with 'err' filled. */
int targets_make_dir(const char *root, const char *dir, struct err *err);

/*
 * Removes what a kill has left of ROOT/PATH before it got its name: ROOT/PATH.PID-N
 * (newfile.h).
 */
void targets_sweep(const char *root, const char *path);

#endif
