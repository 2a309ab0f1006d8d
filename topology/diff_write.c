/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_write.c - the differences as text and as JSON.
 */
#include "topology/diff_write.h"

#include <string.h>

#include "lib/base/jsonw.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "topology/diff.h"

static void
end_text(const struct diff_end *end, struct strbuf *out)
{
	strbuf_puts(out, end->node);
	strbuf_putc(out, ':');
	strbuf_puts(out, end->port);
}

/* "h0:e0 -- leaf0:p0". */
static void
cable_text(const struct diff_cable *cable, struct strbuf *out)
{
	strbuf_clear(out);
	end_text(&cable->a, out);
	strbuf_puts(out, " -- ");
	end_text(&cable->b, out);
}

static void
print_cables(char sign, const struct diff_cable *cables, uint32_t n, bool with_speed,
	     FILE *out)
{
	struct strbuf sb = STRBUF_EMPTY;

	for (uint32_t i = 0; i < n; i++) {
		cable_text(&cables[i], &sb);
		if (with_speed)
			fprintf(out, "%c %s  %.10g Gb/s\n", sign, sb.text,
				cables[i].bps / 1e9);
		else
			fprintf(out, "%c %s\n", sign, sb.text);
	}
	strbuf_free(&sb);
}

static void
print_summary(const struct diff *diff, FILE *out)
{
	uint32_t n_unseen = diff->n_cables - diff->n_compared;
	const char *lead = "";

	if (!diff->findings.n) {
		fputs(diff->n_compared ? "no differences" : "nothing to compare", out);
	} else {
		for (int i = 0; i < N_DIFFS; i++) {
			if (!diff->n_of_kind[i])
				continue;
			fprintf(out, "%s%u %s", lead, diff->n_of_kind[i],
				diff_kind_names[i]);
			lead = ", ";
		}
	}
	fprintf(out, "; %u of %u cable%s compared", diff->n_compared, diff->n_cables,
		words_plural(diff->n_cables));
	if (n_unseen)
		fprintf(out, ", %u without reports", n_unseen);
	if (diff->n_renamed)
		fprintf(out, ", %u at ports that the plan does not name",
			diff->n_renamed);
	if (diff->n_outside)
		fprintf(out, "; %u seen outside the plan", diff->n_outside);
	if (diff->n_old)
		fprintf(out, "; %u report%s too old", diff->n_old,
			words_plural(diff->n_old));
	if (diff->n_strange)
		fprintf(out, "; %u node%s report%s that the plan does not know",
			diff->n_strange, words_plural(diff->n_strange),
			diff->n_strange == 1 ? "s" : "");
	fputc('\n', out);
}

void
diff_write_text(const struct diff *diff, const struct topo *plan, FILE *out)
{
	int last = -1;

	if (diff->findings.n)
		fprintf(out, "--- plan %s, %u cable%s\n+++ seen by %u node%s\n",
			topo_name(plan), diff->n_cables, words_plural(diff->n_cables),
			diff->n_heard, words_plural(diff->n_heard));
	for (size_t i = 0; i < diff->findings.n; i++) {
		const struct diff_finding *f = &diff->findings.items[i];
		bool with_speed = f->kind == DIFF_SPEED;

		if ((int)f->kind != last || f->n_plan + f->n_seen > 1)
			fprintf(out, "@@ %s\n", diff_kind_names[f->kind]);
		last = (int)f->kind;
		print_cables('-', f->plan, f->n_plan, with_speed, out);
		print_cables('+', f->seen, f->n_seen, with_speed, out);
		if (f->kind == DIFF_DOWN)
			fprintf(out, "! %s:%s has no link\n", f->down.node,
				f->down.port);
	}
	print_summary(diff, out);
}

static void
json_cables(struct jsonw *w, const char *key, const struct diff_cable *cables,
	    uint32_t n)
{
	struct strbuf sb = STRBUF_EMPTY;

	jsonw_array(w, key);
	for (uint32_t i = 0; i < n; i++) {
		jsonw_object(w, NULL);
		strbuf_clear(&sb);
		end_text(&cables[i].a, &sb);
		jsonw_str(w, "a", sb.text);
		strbuf_clear(&sb);
		end_text(&cables[i].b, &sb);
		jsonw_str(w, "b", sb.text);
		if (cables[i].bps > 0)
			jsonw_num(w, "gbps", cables[i].bps / 1e9);
		else
			jsonw_null(w, "gbps");
		jsonw_end(w);
	}
	jsonw_end(w);
	strbuf_free(&sb);
}

void
diff_json_finding(const struct diff_finding *f, struct jsonw *w)
{
	struct strbuf sb = STRBUF_EMPTY;

	jsonw_str(w, "kind", diff_kind_names[f->kind]);
	json_cables(w, "plan", f->plan, f->n_plan);
	json_cables(w, "seen", f->seen, f->n_seen);
	if (f->kind == DIFF_DOWN) {
		end_text(&f->down, &sb);
		jsonw_str(w, "port_down", sb.text);
	}
	strbuf_free(&sb);
}

void
diff_json_members(const struct diff *diff, const struct topo *plan, struct jsonw *w)
{
	jsonw_str(w, "plan", topo_name(plan));
	if (diff->n_compared || diff->findings.n)
		jsonw_bool(w, "same", diff->findings.n == 0);
	else
		jsonw_null(w, "same");
	jsonw_int(w, "cables", diff->n_cables);
	jsonw_int(w, "compared", diff->n_compared);
	jsonw_int(w, "unseen", diff->n_cables - diff->n_compared);
	jsonw_int(w, "renamed", diff->n_renamed);
	jsonw_int(w, "outside", diff->n_outside);
	jsonw_int(w, "nodes_heard", diff->n_heard);
	jsonw_int(w, "nodes_old", diff->n_old);
	jsonw_int(w, "nodes_unknown", diff->n_strange);
	jsonw_array(w, "differences");
	for (size_t i = 0; i < diff->findings.n; i++) {
		jsonw_flat_object(w, NULL);
		diff_json_finding(&diff->findings.items[i], w);
		jsonw_end(w);
	}
	jsonw_end(w);
}
