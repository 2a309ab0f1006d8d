/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_maps.h - the programs that translate ports, and their maps, in the kernel
 *
 * Loads bpf/port_translate.bpf.c and attaches it to interfaces.  Maps and attachments
 * are pinned below a directory of a BPF file system:
 *
 *	DIR/ports_out, DIR/ports_in	the maps
 *	DIR/out_N, DIR/in_N		the attachments to interface number N (TCX,
 *					Linux 6.6)
 *
 * so they stay in the kernel when the process ends for any reason, and translated flows
 * continue.  A process that starts finds the entries again, and exchanges the programs
 * for its own without a gap.  Only port_maps_undo() removes anything.
 *
 * Needs CAP_BPF and CAP_NET_ADMIN, and write access to the directory.
 */
#ifndef COLLECTOR_PATHS_PORT_MAPS_H
#define COLLECTOR_PATHS_PORT_MAPS_H

#include "bpf/port_translate.h"

struct err;
struct port_maps;

enum port_direction {
	PORT_OUT, /* This host sends. */
	PORT_IN,  /* This host receives. */
};

/*
 * Loads the programs, with the maps pinned in 'directory', which is made if its parent
 * exists.  Returns 0; -ENOTSUP if the directory is not in a BPF file system; -EINVAL if
 * the pinned maps are of an incompatible version; or another -errno, with a remedy in
 * 'err'.
 */
int port_maps_open(const char *directory, struct port_maps **ret_maps, struct err *err);
/* Programs, attachments and entries stay. */
void port_maps_close(struct port_maps *maps);

/*
 * Attaches the programs to an interface, ingress first, or exchanges those that are
 * attached.  Returns 0; -EOPNOTSUPP without TCX; or another -errno, with 'err' filled.
 */
int port_maps_attach(struct port_maps *maps, const char *interface, struct err *err);

/* Return 0 or -errno: -E2BIG if the map is full, -ENOENT if there is no such entry. */
int port_maps_put(struct port_maps *maps, enum port_direction direction,
		  const struct port_flow *flow, const struct port_entry *entry);
int port_maps_remove(struct port_maps *maps, enum port_direction direction,
		     const struct port_flow *flow);

/* Calls back for each entry.  0 or -errno. */
int port_maps_each(struct port_maps *maps, enum port_direction direction,
		   void (*found)(void *ctx, const struct port_flow *flow,
				 const struct port_entry *entry),
		   void *ctx);

/*
 * Detaches the programs of one direction from all interfaces and removes their map,
 * also if another version has pinned them.  PORT_OUT first, on all hosts; PORT_IN when
 * packets in flight have arrived, some seconds later.  Returns 0, also if nothing is
 * there, or -errno with 'err' filled.  No struct port_maps may be open.
 */
int port_maps_undo(const char *directory, enum port_direction direction,
		   struct err *err);

#endif
