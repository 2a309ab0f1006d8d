/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read.h - readers of fabrics: our own JSON, Slurm's topology.conf and topology.yaml,
 * the text of ibnetdiscover, files of topograph, objects of Kubernetes (k8s.h)
 *
 * All readers are pure functions of a name for messages and the terminated text, which
 * is untrusted until checked.  They number hosts first, then switches, each in the
 * order of the file, so that writing JSON and reading it back gives the same ids.  They
 * return 0 with a new snapshot, or -EINVAL or -E2BIG with 'err' filled.
 */
#ifndef TOPOLOGY_READ_H
#define TOPOLOGY_READ_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct topo;
struct topo_k8s_opts;

/* For file_read(): twenty times the JSON of 16,000 hosts in a fat tree. */
#define TOPO_MAX_FILE_BYTES ((size_t)64 << 20)

enum topo_format {
	TOPO_FORMAT_GUESS, /* By the content of the text. */
	TOPO_FORMAT_JSON,
	TOPO_FORMAT_SLURM, /* topology.conf; topology.yaml is read by topograph's. */
	TOPO_FORMAT_IBNET,
	TOPO_FORMAT_TOPOGRAPH, /* Its topology.conf is TOPO_FORMAT_SLURM. */
	TOPO_FORMAT_K8S_NODES,
	TOPO_FORMAT_HYPERNODES,
	TOPO_FORMAT_LINGJUN, /* topo.csv of Alibaba's dataset. */
	TOPO_FORMAT_LLDP, /* Of one node each: for from_reports.h, not topo_read(). */
};

/*
 * "json", "slurm", "ibnetdiscover", "topograph", "k8s-nodes", "hypernodes", "lingjun",
 * "lldp" for the formats from 1; NULL-terminated.
 */
extern const char *const topo_format_names[];

struct topo_read_opts {
	enum topo_format format;
	double default_bps; /* Capacity of links without a speed; 0: 100e9. */
	/*
	 * For links between switches of trees without speeds (Slurm, topograph,
	 * Kubernetes): their capacity; or the ratio of a switch's downward capacity to
	 * that of its uplinks, which share it evenly.  Not both; both 0: default_bps.
	 */
	double uplink_bps, oversubscription;
	uint32_t n_slots; /* Slots of hosts without a number in the file; 0: 1. */
	/* Limit of names from lists such as "n[0-9999]"; 0: TOPO_MAX_NODES. */
	uint32_t max_names;
	/*
	 * If not NULL, names and ports that are defined twice do not stop the reader of
	 * JSON: it reports each and ignores the second.
	 */
	void (*on_duplicate)(void *ctx, const struct err *err);
	/* If not NULL, gets a sentence about each part of the file left out. */
	void (*on_note)(void *ctx, const char *note);
	void *ctx;
	const struct topo_k8s_opts *k8s; /* NULL: the defaults of its members. */
};

/* 'opts' may be NULL. */
int topo_read(const char *file, const char *text, size_t length,
	      const struct topo_read_opts *opts, struct topo **ret_topo,
	      struct err *err);

/*
 * {"schema":"antiphase.topology/1","name":...,"switches":[{"name":...,"tier":1}],
 * "hosts":[{"name":...,"slots":8}],"cables":[{"a":"h0:p0","b":"leaf0:p0",
 * "gbps":50}]}, and perhaps "tiers":[{"tier":1,"balance":"spray"}]; see docs/json.md.
 */
int topo_json_read(const char *file, const char *text, size_t length,
		   const struct topo_read_opts *opts, struct topo **ret_topo,
		   struct err *err);

/*
 * Slurm's topology.conf for the plug-in topology/tree: lines
 * "SwitchName=s4 Switches=s[0-3] LinkSpeed=..." and
 * "SwitchName=s0 Nodes=n[0-3]".  There is a cable from a switch to each of the
 * names on its line, of capacity LinkSpeed: Slurm leaves its unit open; here it is
 * as written ("100Gb/s"), and Gb/s for a bare number.  A switch with nodes is tier
 * 1, any other one above the highest of its children.
 */
int topo_slurm_read(const char *file, const char *text, size_t length,
		    const struct topo_read_opts *opts, struct topo **ret_topo,
		    struct err *err);

/*
 * The default output of ibnetdiscover: a block for each switch, channel adapter
 * and router with a line for each cabled port.  See in_ibnet.c for names, tiers
 * and capacities.
 */
int topo_ibnet_read(const char *file, const char *text, size_t length,
		    const struct topo_read_opts *opts, struct topo **ret_topo,
		    struct err *err);

/*
 * Slurm's topology.yaml: the tree of the first topology with "cluster_default: true",
 * else the first tree; and files of NVIDIA's topograph other than topology.conf: the
 * same topology.yaml, the JSON of the engine "graph" ("instances" with
 * "network_layers"), and the YAML of its models.  Otherwise like topo_slurm_read().
 */
int topo_topograph_read(const char *file, const char *text, size_t length,
			const struct topo_read_opts *opts, struct topo **ret_topo,
			struct err *err);
int topo_lingjun_read(const char *file, const char *text, size_t length,
		      const struct topo_read_opts *opts, struct topo **ret_topo,
		      struct err *err);

/*
 * 'kubectl get nodes -o json': labels name the switches of a Node, closest first
 * (k8s.h); a Node's slots are its GPUs.  Nodes without such labels are left out and
 * reported.  Otherwise like topo_slurm_read().
 */
int topo_k8s_nodes_read(const char *file, const char *text, size_t length,
			const struct topo_read_opts *opts, struct topo **ret_topo,
			struct err *err);

/*
 * Volcano's HyperNodes, as 'kubectl get hypernodes -o json' prints them, or the YAML of
 * their manifests.  Members by exactMatch; by labelMatch and regexMatch if
 * opts->k8s->nodes_text has the Nodes.  Regular expressions that POSIX and Go read
 * differently are refused.  Otherwise like topo_slurm_read().
 */
int topo_hypernodes_read(const char *file, const char *text, size_t length,
			 const struct topo_read_opts *opts, struct topo **ret_topo,
			 struct err *err);

#endif
