/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instances.h - when and where the instances of tasks ran (Alibaba's pai_instance_table,
 * 2020).
 *
 * As in its published analysis a task runs from the first start of its instances to
 * their last end; instances without a start do not count.
 */
#ifndef SIM_TRACE_INSTANCES_H
#define SIM_TRACE_INSTANCES_H

#include <stdbool.h>

struct instances;
struct jobtrace_job;

struct instances *instances_new(void);
void instances_free(struct instances *instances); /* Accepts NULL. */

/* An instance: the task's 'id' and 'model', times, and its machine as 'vc'. */
void instances_add(struct instances *instances, const struct jobtrace_job *instance);
/* After the last one.  O(n log n). */
void instances_seal(struct instances *instances);

/*
 * Sets the times and nodes of a task with known instances; its submission stays, if known.
 * Returns false if it has none.
 */
bool instances_apply(const struct instances *instances, struct jobtrace_job *task);

#endif
