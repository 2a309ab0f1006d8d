/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.h - the limit on open file descriptors (RLIMIT_NOFILE) */
#ifndef LIB_BASE_DESCRIPTORS_H
#define LIB_BASE_DESCRIPTORS_H

struct err;

/* With fewer, libzmq would abort the process. */
#define DESCRIPTORS_LEAST 128

/*
 * Each connection is a descriptor, and the default limit is 1024: raises it to the maximum.
 * Returns 0, or -EACCES with 'err' filled if that is below DESCRIPTORS_LEAST.
 */
int descriptors_raise(struct err *err);

#endif
