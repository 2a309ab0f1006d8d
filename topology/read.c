/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - detection of the format of a text. */
#include "topology/read.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "lib/base/err.h"

const char *const topo_format_names[] = { "json",      "slurm",     "ibnetdiscover",
					  "topograph", "k8s-nodes", "hypernodes",
					  "lingjun",   "lldp",      NULL };

#define WANTED                                                                          \
	"our JSON, Slurm's topology.conf or topology.yaml, the text of ibnetdiscover, " \
	"what topograph writes, Nodes or HyperNodes of Kubernetes, or topo.csv of Lingjun"

static bool
starts_with(const char *text, size_t length, const char *word)
{
	return length >= strlen(word) && strncasecmp(text, word, strlen(word)) == 0;
}

static bool
has(const char *text, size_t length, const char *word)
{
	return memmem(text, length, word, strlen(word));
}

static enum topo_format
guess_json(const char *text, size_t length)
{
	if (has(text, length, "\"schema\""))
		return TOPO_FORMAT_JSON;
	if (has(text, length, "\"lldp\""))
		return TOPO_FORMAT_LLDP;
	if (has(text, length, "\"items\"") && has(text, length, "\"metadata\""))
		return has(text, length, "\"HyperNode\"") ||
				       has(text, length, "\"HyperNodeList\"")
			       ? TOPO_FORMAT_HYPERNODES
			       : TOPO_FORMAT_K8S_NODES;
	if (has(text, length, "\"instances\""))
		return TOPO_FORMAT_TOPOGRAPH;
	return TOPO_FORMAT_JSON;
}

/* Decides by the first line that is neither blank nor a comment. */
static enum topo_format
guess_format(const char *text, size_t length)
{
	while (length) {
		size_t blanks = strspn(text, " \t\r\n");
		const char *newline;

		if (blanks >= length)
			break;
		text += blanks;
		length -= blanks;
		if (*text == '{')
			return guess_json(text, length);
		if (*text != '#')
			break;
		newline = memchr(text, '\n', length);
		if (!newline)
			break;
		length -= (size_t)(newline + 1 - text);
		text = newline + 1;
	}
	if (has(text, length, "kind: HyperNode"))
		return TOPO_FORMAT_HYPERNODES;
	if (starts_with(text, length, "switches:") ||
	    starts_with(text, length, "nodes:") ||
	    starts_with(text, length, "capacity_blocks:") ||
	    starts_with(text, length, "---") || starts_with(text, length, "- ") ||
	    starts_with(text, length, "%YAML"))
		return TOPO_FORMAT_TOPOGRAPH;
	if (starts_with(text, length, "ip,DSW"))
		return TOPO_FORMAT_LINGJUN;
	if (starts_with(text, length, "SwitchName") ||
	    starts_with(text, length, "BlockName"))
		return TOPO_FORMAT_SLURM;
	if (starts_with(text, length, "vendid=") ||
	    starts_with(text, length, "Switch") || starts_with(text, length, "Ca") ||
	    starts_with(text, length, "Non-Chassis") ||
	    starts_with(text, length, "Chassis"))
		return TOPO_FORMAT_IBNET;
	return TOPO_FORMAT_GUESS;
}

int
topo_read(const char *file, const char *text, size_t length,
	  const struct topo_read_opts *opts, struct topo **ret_topo, struct err *err)
{
	enum topo_format format = opts ? opts->format : TOPO_FORMAT_GUESS;

	if (format == TOPO_FORMAT_GUESS)
		format = guess_format(text, length);
	switch (format) {
	case TOPO_FORMAT_JSON:
		return topo_json_read(file, text, length, opts, ret_topo, err);
	case TOPO_FORMAT_SLURM:
		if (guess_format(text, length) == TOPO_FORMAT_TOPOGRAPH)
			return topo_topograph_read(file, text, length, opts, ret_topo,
						   err);
		return topo_slurm_read(file, text, length, opts, ret_topo, err);
	case TOPO_FORMAT_IBNET:
		return topo_ibnet_read(file, text, length, opts, ret_topo, err);
	case TOPO_FORMAT_TOPOGRAPH:
		return topo_topograph_read(file, text, length, opts, ret_topo, err);
	case TOPO_FORMAT_K8S_NODES:
		return topo_k8s_nodes_read(file, text, length, opts, ret_topo, err);
	case TOPO_FORMAT_HYPERNODES:
		return topo_hypernodes_read(file, text, length, opts, ret_topo, err);
	case TOPO_FORMAT_LINGJUN:
		return topo_lingjun_read(file, text, length, opts, ret_topo, err);
	case TOPO_FORMAT_LLDP:
		return err_set(err, file, 0, 0,
			       "is what LLDP tells one node, expected a fabric; "
			       "'antiphase topology import --from lldp' makes one of "
			       "such files");
	case TOPO_FORMAT_GUESS:
		break;
	}
	if (strspn(text, " \t\r\n") == length)
		return err_set(err, file, 0, 0, "is empty; expected a fabric: " WANTED);
	return err_set(err, file, 0, 0, "unknown format of a fabric; expected " WANTED);
}
