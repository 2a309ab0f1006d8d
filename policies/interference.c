/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interference.c - figures of IADeep's iadeep-scheduler-extender/csv/interference.csv
 * (buzy-coder/IADeep, commit 78ca7f6), on RTX 3090 GPUs, to six decimals: the rows of
 * two tasks.  Left out are two rows that contradict themselves about their models.
 */
#include "policies/interference.h"

#include <math.h>
#include <stddef.h>
#include <strings.h>

enum model {
	NONE,
	VGG16,
	VGG19,
	SQUEEZENET,
	GOOGLENET,
	ALEXNET,
	RESNET152,
	NEUMF,
	ADGCL,
	N_MODELS,
};

static const char *const names[N_MODELS] = {
	[VGG16] = "vgg16",         [VGG19] = "vgg19",     [SQUEEZENET] = "squeezenet",
	[GOOGLENET] = "googlenet", [ALEXNET] = "alexnet", [RESNET152] = "resnet152",
	[NEUMF] = "neumf",         [ADGCL] = "adgcl",
};

static const struct {
	enum model a, b;
	double slowdown;
} pairs[] = {
	{ VGG16, VGG16, 0.732301 },           { VGG16, VGG19, 0.931930 },
	{ VGG16, SQUEEZENET, 0.723528 },      { VGG16, GOOGLENET, 0.283854 },
	{ VGG16, RESNET152, 0.718372 },       { VGG16, NEUMF, 0.579333 },
	{ VGG16, ADGCL, 0.516815 },           { VGG19, VGG19, 0.904826 },
	{ VGG19, SQUEEZENET, 0.801716 },      { VGG19, GOOGLENET, 0.295773 },
	{ VGG19, ALEXNET, 1.311461 },         { VGG19, RESNET152, 1.050346 },
	{ VGG19, NEUMF, 0.449606 },           { VGG19, ADGCL, 0.508320 },
	{ SQUEEZENET, SQUEEZENET, 0.114963 }, { SQUEEZENET, GOOGLENET, 0.079835 },
	{ SQUEEZENET, ALEXNET, 0.961634 },    { SQUEEZENET, RESNET152, 0.656056 },
	{ SQUEEZENET, NEUMF, 0.344501 },      { SQUEEZENET, ADGCL, 0.395390 },
	{ GOOGLENET, ALEXNET, 0.114963 },     { GOOGLENET, NEUMF, 0.104776 },
	{ ALEXNET, ALEXNET, 3.088294 },       { ALEXNET, RESNET152, 1.163909 },
	{ ALEXNET, NEUMF, 0.945327 },         { ALEXNET, ADGCL, 0.932871 },
	{ RESNET152, NEUMF, 0.284248 },       { RESNET152, ADGCL, 0.411436 },
	{ NEUMF, ADGCL, 0.205500 },           { ADGCL, ADGCL, 0.312948 },
};

uint32_t
interference_find(const char *model)
{
	for (uint32_t i = 1; i < N_MODELS; i++)
		if (strcasecmp(names[i], model) == 0)
			return i;
	return NONE;
}

double
interference_of_pair(uint32_t a, uint32_t b)
{
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if ((pairs[i].a == a && pairs[i].b == b) ||
		    (pairs[i].a == b && pairs[i].b == a))
			return pairs[i].slowdown;
	return NAN;
}
