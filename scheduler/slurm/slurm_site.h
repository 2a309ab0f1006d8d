/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_site.h - a site's Slurm configuration, and the steps to add antiphase to it.
 * Pure: file texts in, steps out; nothing is changed.
 */
#ifndef SCHEDULER_SLURM_SLURM_SITE_H
#define SCHEDULER_SLURM_SLURM_SITE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"

#define SLURM_SITE_MAX_BYTES ((size_t)4 << 20) /* Of each file. */

/* The site's files; texts are terminated, NULL if there is no such file. */
struct slurm_site {
	const char *conf_path;      /* "/etc/slurm/slurm.conf"; always. */
	const char *conf;           /* Always. */
	const char *plugstack_path; /* As slurm_site_plugstack() says. */
	const char *plugstack;
	const char *gate; /* Of job_submit.lua beside slurm.conf. */
	/* Folder of our other files: job_submit.lua, spank_antiphase.so, ... */
	const char *hooks;
	bool has_plugin;     /* spank_antiphase.so is there. */
	const char *library; /* libantiphase-pacer.so */
};

enum slurm_step_state {
	SLURM_STEP_THERE,   /* Nothing to do. */
	SLURM_STEP_ADD,     /* A line that is to be added to the file. */
	SLURM_STEP_CHANGE,  /* A line that is to be in place of line 'line'. */
	SLURM_STEP_COPY,    /* A command that makes the file. */
	SLURM_STEP_BY_HAND, /* 'why' says what. */
};

/* "there", "add", "change", "copy", "by hand". */
extern const char *const slurm_step_names[];

struct slurm_step {
	enum slurm_step_state state;
	char *file;    /* Owned, as all here. */
	unsigned line; /* From 1; 0: there is none yet. */
	char *text;    /* The line or command; "" if there is none. */
	char *why;     /* Its purpose, in a sentence. */
};

struct slurm_plan {
	VEC(struct slurm_step) steps;
};

/* The path of plugstack.conf, from slurm.conf's text and path. A new string. */
char *slurm_site_plugstack(const char *conf_path, const char *conf);
/* The path of a file beside slurm.conf.  A new string. */
char *slurm_site_beside(const char *conf_path, const char *name);

/* The value of a setting of slurm.conf as a new string; NULL: it is not set. */
char *slurm_site_value(const char *conf, const char *key);

/* Lists the steps, in the order to take them. */
void slurm_site_plan(const struct slurm_site *site, struct slurm_plan *ret_plan);
void slurm_plan_fini(struct slurm_plan *plan);

#endif
