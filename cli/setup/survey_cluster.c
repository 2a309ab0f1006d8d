/* SPDX-License-Identifier: Apache-2.0 */
/* survey_cluster.c - Slurm, Kubernetes and LLDP, and the fabric that they show */
#include <stdlib.h>
#include <string.h>

#include "cli/setup/survey.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/words.h"
#include "scheduler/slurm/slurm_site.h"
#include "topology/from_reports.h"
#include "topology/in_lldp.h"
#include "topology/lldp_run.h"
#include "topology/observed.h"
#include "topology/read.h"
#include "topology/topo.h"
#include "topology/write.h"

#define LLDP_NS INT64_C(5000000000)

/* ---- The fabric ------------------------------------------------------------------ */

/* Takes over 'topo'; 'from' is what it is from, for people. */
static void
take_fabric(struct survey *survey, struct topo *topo, const char *from)
{
	size_t length;
	FILE *out = open_memstream(&survey->fabric, &length);

	BUG_ON(!out);
	topo_json_write(topo, out);
	BUG_ON(fclose(out) != 0);
	survey->fabric_from = xasprintf("%s: %u hosts, %u nodes", from,
					topo_n_hosts(topo), topo_n_nodes(topo));
	topo_unref(topo);
}

/* The speed of the fastest interface, for links whose speed no file has. */
static double
usual_bps(const struct survey *survey)
{
	double gbps = 0;

	for (size_t i = 0; i < survey->interfaces.n; i++)
		if (survey->interfaces.items[i].is_physical &&
		    survey->interfaces.items[i].gbps > gbps)
			gbps = survey->interfaces.items[i].gbps;
	return gbps * 1e9;
}

/* ---- Slurm ----------------------------------------------------------------------- */

static char *
find_slurm_conf(const struct survey *survey)
{
	/* The last one is what slurmd keeps where files come from slurmctld. */
	static const char *const places[] = { "/etc/slurm/slurm.conf",
					      "/usr/local/etc/slurm.conf",
					      "/run/slurm/conf/slurm.conf" };
	const char *variable = *survey->root ? NULL : getenv("SLURM_CONF");

	if (variable && *variable)
		return xstrdup(variable);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (survey_has(survey, "%s", places[i]))
			return xstrdup(places[i]);
	return NULL;
}

/* Sets 'slurm_bindir' where squeue is not on the path that the daemon has. */
static void
find_slurm_commands(struct survey *survey)
{
	static const char *const places[] = { "/opt/slurm/bin",
					      "/usr/local/slurm/bin" };
	char *program = survey_program(survey, "squeue");

	for (size_t i = 0; !program && i < sizeof places / sizeof *places; i++)
		if (survey_has(survey, "%s/squeue", places[i])) {
			survey->slurm_bindir = xstrdup(places[i]);
			return;
		}
	if (!program && survey->slurm.is_controller)
		findings_add(&survey->findings, FINDING_WARN, "slurm",
			     "install slurm-client, or set [scheduler] slurm_bindir",
			     "squeue is not on this host's path");
	free(program);
}

static bool
read_slurm_topology(struct survey *survey)
{
	static const char *const names[] = { "topology.yaml", "topology.conf" };
	const struct topo_read_opts opts = { .default_bps = usual_bps(survey) };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *file = slurm_site_beside(survey->slurm_conf, names[i]);
		char *path = survey_path(survey, "%s", file), *text = NULL;
		struct err err = { .line = 0 };
		struct topo *topo;
		size_t length;
		bool is_there = survey_has(survey, "%s", file);

		if (is_there) {
			if (file_read(path, TOPO_MAX_FILE_BYTES, &text, &length,
				      &err) == 0 &&
			    topo_read(path, text, length, &opts, &topo, &err) == 0) {
				findings_add(&survey->findings, FINDING_OK, "fabric",
					     NULL, "%s: %u hosts, %u nodes", file,
					     topo_n_hosts(topo), topo_n_nodes(topo));
				take_fabric(survey, topo, file);
			} else {
				findings_add(
					&survey->findings, FINDING_WARN, "fabric",
					"mend the file; 'antiphase topology import' "
					"tells all that is wrong",
					"%s:%u: %s", file, err.line, err.text);
			}
		}
		free(text);
		free(path);
		free(file);
		if (is_there)
			return true;
	}
	return false;
}

static void
look_at_slurm(struct survey *survey)
{
	char *conf, *text;
	size_t n_left_out;

	conf = find_slurm_conf(survey);
	text = conf ? survey_text(survey, "%s", conf) : NULL;
	if (!text) {
		findings_add(&survey->findings, conf ? FINDING_WARN : FINDING_OK,
			     "slurm", conf ? "make it readable, or run as root" : NULL,
			     conf ? "%s cannot be read" : "no slurm.conf", conf);
		free(conf);
		return;
	}
	survey->slurm_conf = conf;
	n_left_out = slurm_facts_read(&survey->slurm, text, survey->host);
	free(text);
	findings_add(&survey->findings, FINDING_OK, "slurm", NULL,
		     "%s: %zu node%s, slurmctld on %s; this host is %s", conf,
		     survey->slurm.nodes.n, words_plural(survey->slurm.nodes.n),
		     survey->slurm.controller ? survey->slurm.controller : "no host",
		     survey->slurm.is_controller ? "its host"
		     : survey->slurm.is_node     ? "a node"
						 : "neither");
	if (n_left_out)
		findings_add(&survey->findings, FINDING_WARN, "slurm",
			     "check the lines with NodeName",
			     "%s: %zu line%s of nodes not understood", conf, n_left_out,
			     words_plural(n_left_out));
	find_slurm_commands(survey);
	if (!read_slurm_topology(survey) && survey->slurm.is_controller)
		findings_add(&survey->findings, FINDING_WARN, "fabric",
			     "write topology.conf beside slurm.conf, or let lldpd run "
			     "on hosts and switches ('antiphase topology import')",
			     "Slurm knows no topology");
}

/* ---- Kubernetes ------------------------------------------------------------------ */

static void
look_at_kubernetes(struct survey *survey)
{
	survey->is_kubernetes = survey_has(survey, "/var/lib/kubelet/config.yaml") ||
				survey_has(survey, "/etc/kubernetes/kubelet.conf") ||
				survey_has(survey, "/etc/rancher/k3s");
	if (survey->is_kubernetes)
		findings_add(&survey->findings, FINDING_WARN, "kubernetes",
			     "docs/kubernetes.md has the steps that need the rights of "
			     "the cluster",
			     "this host is a node of Kubernetes; setup changes nothing "
			     "there");
	else
		findings_add(&survey->findings, FINDING_OK, "kubernetes", NULL,
			     "no kubelet");
}

/* ---- LLDP ------------------------------------------------------------------------ */

/* A fabric of this host's cables alone. */
static void
take_neighbours(struct survey *survey, struct observed_node *node)
{
	const struct topo_report report = { "lldpcli", node };
	const struct topo_read_opts opts = { .default_bps = usual_bps(survey) };
	struct topo *topo;
	struct err err = { .line = 0 };
	size_t n = 0;
	char *from;

	for (size_t i = 0; i < node->ports.n; i++)
		n += node->ports.items[i].neighbours.n;
	if (!n) {
		findings_add(&survey->findings, FINDING_WARN, "lldp",
			     "let the switches send LLDP, or wait 30 s for the next",
			     "lldpd runs, and has heard no neighbor");
		return;
	}
	if (topo_from_reports(&report, 1, survey->host, &opts, &topo, &err) < 0) {
		findings_add(&survey->findings, FINDING_WARN, "lldp",
			     "run 'lldpcli show neighbors' to see what is reported",
			     "the neighbors make no fabric: %s", err.text);
		return;
	}
	findings_add(&survey->findings, FINDING_OK, "lldp", NULL, "%zu neighbor%s", n,
		     words_plural(n));
	if (survey->fabric) {
		topo_unref(topo);
		return;
	}
	from = xasprintf("LLDP, as %s alone hears it", survey->host);
	take_fabric(survey, topo, from);
	survey->is_fabric_partial = true;
	free(from);
}

static void
look_at_lldp(struct survey *survey)
{
	char *program = survey_program(survey, "lldpcli"), *text = NULL;
	const struct lldp_run_opts opts = { .program = program, .timeout_ns = LLDP_NS };
	struct observed_node node;
	struct err err = { .line = 0 };
	size_t n;

	if (!program) {
		findings_add(
			&survey->findings, FINDING_WARN, "lldp",
			"install lldpd on hosts and switches: cables are checked then",
			"lldpd is not installed");
		return;
	}
	observed_node_init(&node, survey->host);
	if (lldp_run_once(&opts, &text, &n, &err) < 0)
		findings_add(&survey->findings, FINDING_WARN, "lldp",
			     "run 'systemctl enable --now lldpd'; ask as root", "%s",
			     err.text);
	else if (lldp_read("lldpcli", text, n, &node, &err) < 0)
		findings_add(&survey->findings, FINDING_WARN, "lldp",
			     "run 'lldpcli -f json0 show neighbors details' to see it",
			     "its answer cannot be read: %s", err.text);
	else
		take_neighbours(survey, &node);
	observed_node_fini(&node);
	free(text);
	free(program);
}

void
survey_cluster(struct survey *survey)
{
	look_at_slurm(survey);
	look_at_kubernetes(survey);
	look_at_lldp(survey);
}
