/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cluster/batch_growth.h"

#include <stddef.h>
#include <string.h>

#define N_GROWTHS 4 /* Most doublings of a batch size. */
/* The part of its epochs that an accordion job begins with, always with small batches. */
#define WARM_UP 0.3

enum {
	RESNET18,
	RESNET50,
	TRANSFORMER,
	LM,
	RECOMMENDATION,
	N_MODELS
};

static const struct batch_model models[] = {
	[RESNET18] = { "ResNet-18", 50000, 256, 16 },
	[RESNET50] = { "ResNet-50", 100000, 128, 16 },
	[TRANSFORMER] = { "Transformer", 10000, 128, 16 },
	[LM] = { "LM", 59675, 80, 5 },
	[RECOMMENDATION] = { "Recommendation", 117907, 8192, 512 },
};

/* The epochs from which gradient noise allows 2, 4, 8, 16 times the batch size. */
static const struct {
	int model;
	uint32_t batch, n_gpus;
	int epochs[N_GROWTHS];
} growth[] = {
	{ RESNET18, 16, 1, { 31, 41, 51, 71 } },
	{ RESNET18, 16, 2, { 21, 31, 91, 111 } },
	{ RESNET18, 16, 4, { 11, 21, 81, 91 } },
	{ RESNET18, 32, 1, { 21, 31, 51 } },
	{ RESNET18, 32, 2, { 11, 21, 41 } },
	{ RESNET18, 32, 4, { 21, 31, 61 } },
	{ RESNET18, 64, 1, { 11, 31 } },
	{ RESNET18, 64, 2, { 21, 41 } },
	{ RESNET18, 64, 4, { 11, 61 } },
	{ RESNET18, 128, 1, { 11 } },
	{ RESNET18, 128, 2, { 41 } },
	{ RESNET18, 128, 4, { 11 } },
	{ RESNET50, 32, 2, { 101, 111 } },
	{ RESNET50, 32, 4, { 131, 221 } },
	{ RESNET50, 64, 1, { 101 } },
	{ RESNET50, 64, 2, { 81 } },
	{ RESNET50, 64, 4, { 191 } },
	{ LM, 5, 1, { 31, 41, 61, 71 } },
	{ LM, 5, 2, { 31, 51, 61, 71 } },
	{ LM, 5, 4, { 11, 31, 71, 91 } },
	{ LM, 10, 1, { 11, 21, 41 } },
	{ LM, 10, 2, { 11, 31, 41 } },
	{ LM, 10, 4, { 11, 31, 61 } },
	{ LM, 20, 1, { 11, 41 } },
	{ LM, 20, 2, { 31, 41 } },
	{ LM, 20, 4, { 11, 61 } },
	{ LM, 40, 1, { 11 } },
	{ LM, 40, 2, { 11 } },
	{ LM, 40, 4, { 61 } },
	{ RECOMMENDATION, 512, 1, { 21, 41, 71, 91 } },
	{ RECOMMENDATION, 1024, 1, { 21, 51, 91 } },
	{ RECOMMENDATION, 2048, 1, { 21, 41 } },
	{ RECOMMENDATION, 4096, 1, { 41 } },
};

enum batch_mode
batch_mode_of(const char *name)
{
	if (strcmp(name, "accordion") == 0)
		return BATCH_ACCORDION;
	return strcmp(name, "gns") == 0 ? BATCH_GNS : BATCH_STATIC;
}

const struct batch_model *
batch_model_find(const char *name)
{
	for (int i = 0; i < N_MODELS; i++)
		if (strcmp(models[i].name, name) == 0)
			return &models[i];
	return NULL;
}

int64_t
batch_steps(const struct batch_model *model, uint32_t batch)
{
	return ((int64_t)model->n_samples + batch - 1) / batch;
}

/* The batch size that gradient noise allows in an epoch, as a multiple of the first. */
static uint32_t
gns_factor(const struct batch_model *model, uint32_t first_batch, uint32_t n_gpus,
	   int64_t epoch)
{
	uint32_t factor = 1;

	for (size_t i = 0; i < sizeof growth / sizeof *growth; i++) {
		if (&models[growth[i].model] != model ||
		    growth[i].batch != first_batch || growth[i].n_gpus != n_gpus)
			continue;
		for (int k = 0; k < N_GROWTHS && growth[i].epochs[k]; k++)
			if (epoch >= growth[i].epochs[k])
				factor *= 2;
	}
	return factor;
}

bool
batch_is_critical(const struct batch_model *model, uint32_t first_batch, int64_t epoch)
{
	switch (model - models) {
	case LM:
		return epoch < 10;
	case RECOMMENDATION:
		return epoch < (first_batch <= 1024   ? 30
				: first_batch == 2048 ? 40
						      : 10);
	case RESNET50:
		return epoch % 30 < 10;
	case RESNET18:
		return epoch < (first_batch == 256 ? 20 : 10) ||
		       (epoch >= 150 && epoch < 160) || (epoch >= 250 && epoch < 260);
	default:
		return true;
	}
}

uint32_t
batch_of_epoch(const struct batch_model *model, enum batch_mode mode,
	       uint32_t first_batch, uint32_t n_gpus, int64_t epoch, int64_t n_epochs)
{
	bool is_critical =
		batch_is_critical(model, first_batch, epoch) ||
		(model - models == RECOMMENDATION &&
		 ((epoch >= 60 && epoch < 70) || (epoch >= 80 && epoch < 90)));

	if (mode == BATCH_GNS)
		return first_batch * gns_factor(model, first_batch, n_gpus, epoch);
	if (mode == BATCH_ACCORDION && (double)epoch > (double)n_epochs * WARM_UP &&
	    !is_critical)
		return model->max_batch;
	return first_batch;
}
