/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbpf_log.h - messages of libbpf in the log of the program
 *
 * Warnings of libbpf are logged at level dbg, module "bpf"; other messages are dropped.
 */
#ifndef COLLECTOR_SOURCES_BPF_LIBBPF_LOG_H
#define COLLECTOR_SOURCES_BPF_LIBBPF_LOG_H

/* Takes effect at once. */
void libbpf_log_init(void);

#endif
