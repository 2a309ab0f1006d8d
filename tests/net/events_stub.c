/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_stub.c - a stub of NCCL and gloo: functions of their names that return at once
 */
#include <stddef.h>

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op,
		  void *communicator, void *stream);
void _ZN4gloo9allreduceERKNS_16AllreduceOptionsE(const void *options);

int
ncclAllReduce(const void *send, void *receive, size_t count, int type, int op,
	      void *communicator, void *stream)
{
	(void)send;
	(void)receive;
	(void)count;
	(void)type;
	(void)op;
	(void)communicator;
	(void)stream;
	return 0;
}

void
_ZN4gloo9allreduceERKNS_16AllreduceOptionsE(const void *options)
{
	(void)options;
}
