/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_fabric.c - checks of antiphase-topology, and of lldpd, which it asks for cables.
 *
 * One host of a fabric has the service, so that a host without it is no warning.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/doctor/doctor.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "lib/daemon/http_ask.h"
#include "lib/daemon/settings.h"
#include "topology/in_lldp.h"
#include "topology/lldp_run.h"
#include "topology/observed.h"
#include "topology/settings.h"

#define ASK_NS    INT64_C(1000000000)
#define LLDP_NS   INT64_C(5000000000)
#define PLAN_FILE "/etc/antiphase/topology.json"

/* ---- The service ----------------------------------------------------------------- */

static void
look_at_reply(struct doctor *doctor, const char *address, const struct strbuf *body)
{
	struct json_doc *doc = NULL;
	const struct json *root;
	const char *plan = NULL;
	int64_t differences = 0, heard = 0, nodes = 0;

	if (json_parse(address, body->text, body->length, &doc, NULL) < 0 ||
	    json_check_schema(doc, "antiphase.topology_reply", 1, NULL) < 0) {
		doctor_add(doctor, FINDING_WARN, "topology",
			   "run 'ss -ltnp' to see which program listens there",
			   "%s answers, but not as antiphase-topology does", address);
		json_doc_free(doc);
		return;
	}
	root = json_root(doc);
	json_opt_str(doc, root, "plan", &plan, NULL);
	json_opt_int(doc, root, "nodes", 0, INT64_MAX >> 11, &nodes, NULL);
	json_opt_int(doc, root, "nodes_heard", 0, INT64_MAX >> 11, &heard, NULL);
	json_opt_int(doc, root, "differences", 0, INT64_MAX >> 11, &differences, NULL);
	if (!nodes)
		doctor_add(doctor, FINDING_WARN, "topology",
			   "start it with a fabric: antiphase-topology(8)",
			   "antiphase-topology answers at %s, and has no plan",
			   address);
	else if (differences)
		doctor_add(
			doctor, FINDING_WARN, "topology",
			"run 'antiphase topology diff --from SERVICE' to see them",
			"antiphase-topology answers at %s: %lld difference%s between "
			"the plan and the reports of %lld nodes",
			address, (long long)differences,
			words_plural((uint64_t)differences), (long long)heard);
	else
		doctor_add(doctor, FINDING_OK, "topology", NULL,
			   "antiphase-topology answers at %s: %lld nodes, %lld of them "
			   "report neighbors",
			   address, (long long)nodes, (long long)heard);
	json_doc_free(doc);
}

static void
look_at_service(struct doctor *doctor, const char *address)
{
	struct strbuf body = STRBUF_EMPTY;
	struct err err = { .line = 0 };
	char *plan = xasprintf("%s" PLAN_FILE, doctor->sysroot);

	if (http_ask_get(address, "/api/v1/health", ASK_NS, &body, &err) >= 0)
		look_at_reply(doctor, address, &body);
	else if (access(plan, F_OK) == 0)
		doctor_add(doctor, FINDING_WARN, "topology",
			   "run 'systemctl enable --now antiphase-topology'; "
			   "'journalctl -u antiphase-topology' says why it ended",
			   "there is " PLAN_FILE ", but antiphase-topology does not "
			   "answer: %s",
			   err.text);
	else
		doctor_add(doctor, FINDING_OK, "topology", NULL,
			   "no antiphase-topology on this host (%s); one host of a "
			   "fabric needs it",
			   err.text);
	free(plan);
	strbuf_free(&body);
}

/* ---- lldpd ----------------------------------------------------------------------- */

static void
look_at_lldp(struct doctor *doctor, const struct settings *settings)
{
	const char *socket = settings_text(settings, "topology", "lldp_socket");
	const struct lldp_run_opts opts = {
		.program = settings_text(settings, "topology", "lldpcli"),
		.socket = *socket ? socket : NULL,
		.timeout_ns = LLDP_NS,
	};
	struct observed_node node;
	struct err err = { .line = 0 };
	char *text = NULL;
	size_t length, n = 0;
	int r = lldp_run_once(&opts, &text, &length, &err);

	observed_node_init(&node, "host");
	if (r == 0 && lldp_read("lldpcli", text, length, &node, &err) < 0)
		r = -EINVAL;
	for (size_t i = 0; i < node.ports.n; i++)
		n += node.ports.items[i].neighbours.n;
	if (r == -ENOENT)
		doctor_add(doctor, FINDING_OK, "lldpd", NULL,
			   "not installed: this host reports no cables");
	else if (r == -EINVAL)
		doctor_add(doctor, FINDING_WARN, "lldpd",
			   "run 'lldpcli -f json0 show neighbors details' to see it",
			   "its answer cannot be read: %s", err.text);
	else if (r < 0)
		doctor_add(doctor, FINDING_WARN, "lldpd",
			   "run 'systemctl enable --now lldpd'; ask as root", "%s",
			   err.text);
	else if (!n)
		doctor_add(doctor, FINDING_WARN, "lldpd",
			   "let the switches send LLDP, or wait 30 s for the next",
			   "runs, and has heard no neighbor");
	else
		doctor_add(doctor, FINDING_OK, "lldpd", NULL, "%zu neighbor%s", n,
			   words_plural(n));
	observed_node_fini(&node);
	free(text);
}

void
doctor_check_fabric(struct doctor *doctor)
{
	struct settings *settings = settings_new(&settings_topology);

	/* The check of the collector's settings reports faults of the file. */
	settings_load(settings, doctor->config_file, NULL);
	look_at_service(doctor, settings_text(settings, "topology", "listen"));
	if (settings_is_on(settings, "topology", "lldp"))
		look_at_lldp(doctor, settings);
	settings_free(settings);
}
