/*
 * libbpf_log.h - what libbpf says, in our log.
 *
 * It is of use only to who looks into it: its warnings are there at dbg, of module "bpf",
 * what is less not at all.
 */
#ifndef COLLECTOR_SOURCES_BPF_LIBBPF_LOG_H
#define COLLECTOR_SOURCES_BPF_LIBBPF_LOG_H

/* From now on. */
void libbpf_log_init(void);

#endif
