/* SPDX-License-Identifier: Apache-2.0 */
#include "topology/faults.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/alloc.h"

const char *const topo_fault_names[N_TOPO_FAULTS + 1] = {
	"duplicate", "unconnected", "no-leaf",  "unreachable", "crossed", "one-way",
	"uneven",    "rate",        "parallel", "uplinks",     NULL,
};

void
topo_faults_add(struct topo_faults *faults, enum topo_fault_kind kind, const char *fmt,
		...)
{
	struct topo_fault fault = { .kind = kind };
	va_list args;

	va_start(args, fmt);
	BUG_ON(vasprintf(&fault.text, fmt, args) < 0);
	va_end(args);
	vec_push(&faults->list, fault);
}

void
topo_faults_fini(struct topo_faults *faults)
{
	for (size_t i = 0; i < faults->list.n; i++)
		free(faults->list.items[i].text);
	vec_free(&faults->list);
}
