/*
 * libbpf_talk.h - what libbpf says, in our log.
 *
 * It is of use only to who looks into it: its warnings are there at dbg, of module "bpf",
 * what is less not at all.
 */
#ifndef COLLECTOR_LIBBPF_TALK_H
#define COLLECTOR_LIBBPF_TALK_H

/* From now on. */
void libbpf_talk_to_log(void);

#endif
