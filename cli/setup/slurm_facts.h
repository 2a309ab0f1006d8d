/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slurm_facts.h - what 'antiphase setup' needs of a slurm.conf: its controllers and nodes
 *
 * Pure.  Files that slurm.conf includes are not read.
 */
#ifndef CLI_SETUP_SLURM_FACTS_H
#define CLI_SETUP_SLURM_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/vec.h"

#define SLURM_FACTS_MAX_NODES 100000
#define SLURM_FACTS_MAX_NAME  253

struct slurm_facts {
	VEC(char *) nodes; /* Owned; where to reach each: NodeAddr, or its name. */
	bool is_node;      /* This host is one of the nodes. */
	bool is_controller;
	char *controller; /* Owned.  The first one; NULL: none is named. */
};

/*
 * Reads the terminated text of a slurm.conf as the host named 'host', up to its first
 * dot, would.  Lists that cannot be expanded, or have odd names, are left out.  Returns the number of lines
 * that were left out.  Linear in the text and the nodes.
 */
size_t slurm_facts_read(struct slurm_facts *facts, const char *conf, const char *host);
void slurm_facts_fini(struct slurm_facts *facts);

#endif
