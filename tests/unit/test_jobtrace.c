/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobtrace.c - job traces of all formats, as published and malformed */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "sim/trace/columns.h"
#include "sim/trace/jobtrace.h"
#include "sim/trace/lines.h"
#include "tests/unit/jobtraces.h"
#include "tests/unit/memory_file.h"
#include "tests/unit/test.h"

/* The text being read. */
static struct memory_file file;

static struct jobtrace *
open_text(const char *text)
{
	return jobtraces_open(&file, text, strlen(text));
}

/* ---- Formats --------------------------------------------------------------------- */

static void
helios_and_acme_are_read(void **state)
{
	struct jobtrace *trace = open_text(
		"job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,"
		"end_time,duration,queue\n"
		"1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 "
		"18:41:01,2020-06-10 04:55:09,36848,0\n"
		"7,u,v,0,4,1,FAILED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 "
		"04:55:09,36848,0\n"
		"8,u,v,16,4,2,NODE_FAIL,2020-06-09 18:41:27,2020-06-09 18:41:27,"
		"2020-06-09 18:45:36,249,0\n");
	const struct jobtrace_job *job = jobtraces_next(trace);

	(void)state;
	assert_int_equal(jobtrace_format(trace), JOBTRACE_HELIOS);
	assert_string_equal(job->id, "1425511");
	assert_string_equal(job->user, "uXBbc");
	assert_string_equal(job->vc, "vcJkd");
	assert_near(job->submit_s, 1591728061, 0);
	assert_near(job->duration_s, 36848, 0);
	assert_int_equal(job->status, JOBTRACE_COMPLETED);
	assert_int_equal(job->line, 2);
	job = jobtraces_next(trace);
	assert_int_equal(job->n_gpus, 16);
	assert_int_equal(job->n_nodes, 2);
	assert_int_equal(job->status, JOBTRACE_FAILED);
	assert_null(jobtraces_next(trace));
	assert_int_equal(jobtrace_counts(trace).no_gpus, 1);
	assert_int_equal(jobtrace_counts(trace).jobs, 2);
	jobtrace_close(trace);

	trace = open_text(
		"job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,"
		"end_time,duration,queue,gpu_time\n"
		"5778432,u5907,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 "
		"00:18:54+08:00,2023-03-01 00:20:51+08:00,117,32,936.0\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_ACME);
	assert_near(job->submit_s, 1677601102, 0);
	assert_near(job->end_s - job->start_s, 117, 0);
	assert_int_equal(job->n_gpus, 8);
	assert_near(job->n_cpus, 128, 0);
	assert_int_equal(job->status, JOBTRACE_FAILED);
	jobtrace_close(trace);

	/* Kalos: its duration includes the queue; memory is of a pod, one a node. */
	trace = open_text(
		"job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,"
		"type,state,submit_time,start_time,end_time,fail_time,stop_time,"
		"duration,queue,gpu_time\n"
		"d1,u,8,64,960,1000,100.0,SFT,CANCELLED,2023-05-17 11:28:42+00:00,"
		"2023-05-17 11:28:54+00:00,2023-05-17 11:30:04+00:00,,2023-05-17 "
		"11:30:04+00:00,82,12.0,5248.0\n"
		"d2,u,8,64,960,1000,,SFT,CANCELLED,2023-05-17 11:28:42+00:00,,,,"
		"2023-05-17 11:30:04+00:00,82,82.0,5248.0\n"
		"d3,u,8,64,-9,1000,,SFT,CANCELLED,2023-05-17 11:28:42+00:00,,,,,82,,\n"
		"d4,u,8,64,9,1 TB,,SFT,CANCELLED,2023-05-17 11:28:42+00:00,,,,,82,,\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_ACME);
	assert_near(job->start_s - job->submit_s, 12, 0);
	assert_near(job->duration_s, 70, 0);
	assert_near(job->n_cpus, 960, 0);
	assert_near(job->memory_gib, 1000e9 / 1073741824 / 8, 1e-9);
	assert_string_equal(job->model, "SFT");
	assert_int_equal(job->status, JOBTRACE_CANCELLED);
	job = jobtraces_next(trace);
	assert_true(isnan(job->duration_s)); /* It never ran. */
	assert_null(jobtraces_next(trace));
	assert_non_null(strstr(jobtrace_fault(trace, 0),
			       ":4: cpu_num: expected a number of CPUs"));
	assert_non_null(strstr(jobtrace_fault(trace, 1),
			       ":5: mem_per_pod_GB: expected an amount of memory"));
	jobtrace_close(trace);
}

static void
alibaba_is_read_with_fractions_of_gpus(void **state)
{
	struct jobtrace *trace = open_text(
		"# a remark\n"
		"job_name,task_name,inst_num,task_status,start_time,end_time,plan_cpu,"
		"plan_mem,plan_gpu,gpu_type,user\n"
		"34b3,tensorflow,3.0,Terminated,925461.0,1101832.0,600.0,29.2,100.0,T4,u\n"
		"34b4,tensorflow,1.0,Terminated,925461.0,1101832.0,600.0,29.2,25.0,T4,u\n"
		"34b5,tensorflow,1.0,Running,925461.0,,600.0,29.2,,T4,u\n");
	const struct jobtrace_job *job = jobtraces_next(trace);

	(void)state;
	assert_int_equal(jobtrace_format(trace), JOBTRACE_PAI_2020);
	assert_int_equal(job->n_gpus, 3);
	assert_near(job->submit_s, 925461, 0);
	assert_near(job->duration_s, 176371, 0);
	assert_string_equal(job->gpu_type, "T4");
	assert_int_equal(jobtraces_next(trace)->n_gpus, 1);
	assert_null(jobtraces_next(trace));
	assert_int_equal(jobtrace_counts(trace).rounded, 1);
	assert_int_equal(jobtrace_counts(trace).no_gpus, 1);
	jobtrace_close(trace);

	/* As published: without a header. */
	trace = open_text("34b3,worker,2,Terminated,100,350,600,29.2,200,V100\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_PAI_2020);
	assert_int_equal(job->n_gpus, 4);
	assert_near(job->duration_s, 250, 0);
	assert_near(job->n_cpus, 12, 0);
	assert_near(job->memory_gib, 29.2 * 2 / 4, 1e-9);
	jobtrace_close(trace);

	/* A time of 0 is unknown; with the job's table joined, its submission is. */
	trace = open_text("34b3,worker,2,Running,100,0,600,29.2,200,V100\n"
			  "34b3,worker,2,Waiting,0.0,0.0,600,29.2,200,V100\n");
	job = jobtraces_next(trace);
	assert_true(isnan(job->duration_s));
	assert_null(jobtraces_next(trace));
	assert_int_equal(jobtrace_counts(trace).not_run, 1);
	jobtrace_close(trace);
	trace = open_text("job_name,task_name,inst_num,start_time,end_time,plan_gpu,"
			  "job_start_time\nj,worker,1,100,200,50,90\n");
	assert_near(jobtraces_next(trace)->submit_s, 90, 0);
	jobtrace_close(trace);

	trace = open_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,"
			  "pod_phase,creation_time,deletion_time,scheduled_time\n"
			  "p1,6000,12288,1,460,,LS,Running,100,900,150\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_PAI_2023);
	assert_int_equal(job->n_gpus, 1);
	assert_near(job->submit_s, 100, 0);
	assert_near(job->duration_s, 750, 0);
	jobtrace_close(trace);
}

#define TASKS                                                  \
	"j1,worker,2.0,Terminated,100,900,600,29.2,100,V100\n" \
	"j1,ps,1.0,Terminated,100,900,600,29.2,,\n"            \
	"j2,worker,1.0,Failed,200,300,600,29.2,50,T4\n"        \
	"j3,worker,4.0,Terminated,0,0,600,29.2,50,T4\n"

static struct jobtrace *
join(struct memory_file *table, const char *text, const char *instances, int *ret,
     struct err *err)
{
	struct jobtrace *trace = open_text(text);

	*ret = jobtrace_join(trace,
			     memory_file_set(table, instances, strlen(instances)), err);
	return trace;
}

static void
tasks_run_when_and_where_their_instances_do(void **state)
{
	static struct memory_file table;
	struct err err = { 0 };
	int r;
	/* Two of m1 are one node; without a start there was no instance. */
	struct jobtrace *trace = join(&table, TASKS,
				      "j1,worker,i1,w1,x,Terminated,150.0,880.0,m1\n"
				      "j1,worker,i2,w2,x,Terminated,160.0,890.0,m2\n"
				      "j1,worker,i3,w3,x,Failed,155.0,156.0,m1\n"
				      "j1,worker,i4,w4,x,Failed,0.0,0.0,m4\n"
				      "j1,ps,i5,w5,x,Terminated,10.0,990.0,m4\n"
				      "j3,worker,i6,w6,x,Terminated,400.0,,m4\n"
				      "j3,worker,i7,w7,x,Terminated,500,450,m4\n"
				      "j3,worker,i8,w8,x,Terminated,x,450,m4\n"
				      "j3,worker,i8,w8,x,Terminated,300,450\n",
				      &r, &err);
	const struct jobtrace_job *job;

	(void)state;
	assert_int_equal(r, 0);
	job = jobtraces_next(trace);
	assert_string_equal(job->id, "j1");
	assert_near(job->submit_s, 100, 0);
	assert_near(job->start_s, 150, 0);
	assert_near(job->end_s, 890, 0);
	assert_near(job->duration_s, 740, 0);
	assert_int_equal(job->n_nodes, 2);
	job = jobtraces_next(trace);
	assert_string_equal(job->id, "j2"); /* Without instances: as its task says. */
	assert_near(job->duration_s, 100, 0);
	assert_int_equal(job->n_nodes, 0);
	job = jobtraces_next(trace);
	assert_string_equal(job->id, "j3");
	assert_near(job->submit_s, 400, 0);  /* Its task does not say when. */
	assert_true(isnan(job->duration_s)); /* It has not ended. */
	assert_int_equal(job->n_nodes, 1);
	assert_null(jobtraces_next(trace));
	assert_int_equal(jobtrace_counts(trace).unjoined, 1);
	assert_int_equal(jobtrace_counts(jobtrace_joined(trace)).jobs, 6);
	assert_non_null(strstr(jobtrace_fault(jobtrace_joined(trace), 0),
			       ":7: it ends before it starts"));
	assert_non_null(strstr(jobtrace_fault(jobtrace_joined(trace), 1),
			       ":8: start_time: expected seconds, 0 or more"));
	assert_non_null(strstr(jobtrace_fault(jobtrace_joined(trace), 2),
			       ":9: a different number of fields"));
	jobtrace_close(trace);

	/* With the header. */
	trace = join(&table, TASKS,
		     "machine,job_name,task_name,start_time,end_time\n"
		     "m1,j1,worker,150.0,880.0\n",
		     &r, &err);
	assert_int_equal(r, 0);
	assert_near(jobtraces_next(trace)->duration_s, 730, 0);
	jobtrace_close(trace);
}

static void
what_is_no_table_of_instances_is_refused(void **state)
{
	static const char instances[] = "j1,worker,i1,w1,x,Terminated,150.0,880.0,m1\n";
	static struct memory_file table;
	struct err err = { 0 };
	struct jobtrace *trace;
	int r;

	(void)state;
	trace = join(&table, TASKS, TASKS, &r, &err);
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(err.text, "not of format pai_instance_table"));
	jobtrace_close(trace);
	trace = join(&table, "0,alexnet,8,23349,1\n", instances, &r, &err);
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(err.text, "this is of format synergy"));
	jobtrace_close(trace);
	trace = join(&table, TASKS, "j1,worker,i1,w1,x,Terminated,2,1,m1\n", &r, &err);
	assert_int_equal(r, -EINVAL);
	assert_non_null(strstr(err.text, ":1: it ends before it starts"));
	jobtrace_close(trace);
	/* Alone it is no trace. */
	assert_int_equal(
		jobtrace_open(memory_file_set(&table, instances, strlen(instances)),
			      JOBTRACE_AUTO, &trace, &err),
		-EINVAL);
	assert_non_null(strstr(err.text, "expected pai_task_table"));
}

static void
simulators_traces_are_read(void **state)
{
	struct jobtrace *trace = open_text(
		"job_id,num_gpu,submit_time,iterations,model_name,batch_size,duration,"
		"interval,iteration_time,resource_time_0,resource_time_1,"
		"resource_time_2,priority\n"
		"1,4,1456000,1005573,resnet18,128,926133000,1456000,921,703,113,73,1\n");
	const struct jobtrace_job *job = jobtraces_next(trace);

	(void)state;
	assert_int_equal(jobtrace_format(trace), JOBTRACE_MURI);
	assert_near(job->submit_s, 1456, 0);
	assert_near(job->iteration_s, 0.921, 1e-12);
	assert_near(job->stage_s[0], 0.703, 0); /* Taken as seconds. */
	assert_near(job->stage_s[2], 0.073, 0);
	assert_int_equal(job->batch, 128);
	assert_int_equal(job->priority, 1);
	jobtrace_close(trace);

	trace = open_text("job_id,num_gpu,submit_time,iterations,model_name,duration,"
			  "interval\n0,1,0,606,vgg19,164,30\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_TIRESIAS);
	assert_string_equal(job->model, "vgg19");
	assert_near(job->duration_s, 164, 0);
	jobtrace_close(trace);

	trace = open_text("name,time,application,num_replicas,batch_size\n"
			  "cifar10-0,53,cifar10,6,2048\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_POLLUX);
	assert_int_equal(job->n_gpus, 6);
	assert_true(isnan(job->duration_s));
	jobtrace_close(trace);

	trace = open_text("0,alexnet,8,23349,1\n1,gnmt,126,26435,4\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_SYNERGY);
	assert_near(job->iterations, 23349, 0);
	assert_int_equal(jobtraces_next(trace)->n_gpus, 4);
	jobtrace_close(trace);

	trace = open_text(
		"ResNet-50 (batch size 64)\tpython3 main.py\t-n\t1\t2931\t6.0\t"
		"2\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_GAVEL);
	assert_string_equal(job->model, "ResNet-50");
	assert_int_equal(job->batch, 64);
	assert_int_equal(job->n_gpus, 2);
	assert_near(job->submit_s, 6, 0);
	jobtrace_close(trace);

	trace = open_text("ResNet-18 (batch size 32)\tpython3 main.py\timages\t-n\t1\t"
			  "143450\t4\taccordion\t1\t-1.000000\t3338\t55\n");
	job = jobtraces_next(trace);
	assert_int_equal(jobtrace_format(trace), JOBTRACE_SHOCKWAVE);
	assert_string_equal(job->mode, "accordion");
	assert_near(job->duration_s, 3338, 0);
	assert_near(job->submit_s, 55, 0);
	jobtrace_close(trace);
}

static void
philly_is_read_from_its_json(void **state)
{
	struct jobtrace *trace = open_text(
		"[{\"status\":\"Pass\",\"vc\":\"ee\\\"9{\",\"jobid\":\"a_1\",\"attempts\":[\n"
		" {\"start_time\":\"2017-10-07 01:12:09\",\"end_time\":\"2017-10-07 "
		"01:13:23\",\"detail\":[{\"ip\":\"m47\",\"gpus\":[\"gpu0\",\"gpu1\"]}]},\n"
		" {\"start_time\":\"2017-10-07 01:13:30\",\"end_time\":\"2017-10-07 "
		"01:23:30\",\"detail\":[{\"ip\":\"m1\",\"gpus\":[\"gpu0\"]},{\"ip\":"
		"\"m2\",\"gpus\":[\"gpu0\",\"gpu5\"]}]}],\n"
		" \"submitted_time\":\"2017-10-07 01:11:39\",\"user\":\"ce2f\"},\n"
		"{\"status\":\"Killed\",\"vc\":\"v\",\"jobid\":\"a_2\",\"attempts\":[],"
		"\"submitted_time\":\"2017-10-07 01:11:40\"},{\"jobid\":7},\n"
		"{\"status\":\"Pass\",\"jobid\":\"a_3\",\"attempts\":[{\"start_time\":"
		"\"None\",\"end_time\":null,\"detail\":[{\"ip\":\"m\",\"gpus\":[\"g\"]}]}],"
		"\"submitted_time\":\"2017-10-07 01:11:40\"}]\n");
	const struct jobtrace_job *job = jobtraces_next(trace);

	(void)state;
	assert_int_equal(jobtrace_format(trace), JOBTRACE_PHILLY_JSON);
	assert_string_equal(job->id, "a_1");
	assert_string_equal(job->vc, "ee\"9{");
	assert_int_equal(job->n_gpus, 3);
	assert_int_equal(job->n_nodes, 2);
	assert_near(job->duration_s, 674, 0);
	assert_near(job->start_s - job->submit_s, 30, 0);
	assert_null(jobtraces_next(trace));
	assert_int_equal(jobtrace_counts(trace).no_gpus, 1);
	assert_int_equal(jobtrace_counts(trace).malformed, 1);
	assert_int_equal(jobtrace_counts(trace).not_run, 1);
	assert_non_null(strstr(jobtrace_fault(trace, 0), ":5: "));
	assert_null(jobtrace_fault(trace, 1));
	jobtrace_close(trace);
}

static void
bsc_is_read_from_its_json(void **state)
{
	static const char *const layouts[] = { "{\n %s,\n %s,\n %s,\n %s\n}\n",
					       "{%s,%s,\n\n\n%s,%s}" };
	static const char *const rows[] = {
		"\"0\":{\"arrival\":7,\"gpus\":2,\"id\":0,\"size\":\"64\",\"time\":0,"
		"\"type\":\"bvlc_googlenet\",\"tasks\":1}",
		"\"1{}\" : {\"arrival\":8.5,\"gpus\":1,\"id\":12,\"size\":\"4\","
		"\"type\":\"a\"}",
		"\"2\":{\"arrival\":8.5,\"gpus\":\"1\",\"id\":3,\"type\":\"a\"}",
		"\"3\":{\"arrival\":9,\"gpus\":1,\"id\":3,\"size\":\"4x\",\"type\":"
		"\"a\"}",
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct jobtrace *trace;
		const struct jobtrace_job *job;

		snprintf(text, sizeof text, layouts[i], rows[0], rows[1], rows[2],
			 rows[3]);
		trace = open_text(text);
		job = jobtraces_next(trace);
		assert_int_equal(jobtrace_format(trace), JOBTRACE_BSC);
		assert_string_equal(job->id, "0");
		assert_string_equal(job->model, "bvlc_googlenet");
		assert_near(job->submit_s, 7, 0);
		assert_int_equal(job->n_gpus, 2);
		assert_int_equal(job->batch, 64);
		assert_true(isnan(job->duration_s));
		job = jobtraces_next(trace);
		assert_string_equal(job->id, "12");
		assert_near(job->submit_s, 8.5, 0);
		assert_null(jobtraces_next(trace));
		assert_int_equal(jobtrace_counts(trace).malformed, 2);
		assert_non_null(strstr(jobtrace_fault(trace, 0), ":4: "));
		assert_non_null(strstr(jobtrace_fault(trace, 0), "'gpus'"));
		assert_non_null(
			strstr(jobtrace_fault(trace, 1), "'4x' is not a batch size"));
		jobtrace_close(trace);
	}
}

static void
our_own_has_any_columns_in_any_order(void **state)
{
	struct jobtrace *trace =
		open_text("vc,num_gpus,submit_s,something,job_id,duration_s\r\n"
			  "\"a,\"\"b\"\"\",8,5.5,x,j,\r\n"
			  "c,2,6,x,k,30\r\n");
	const struct jobtrace_job *job = jobtraces_next(trace);

	(void)state;
	/* Nothing is known of the first job. */
	assert_int_equal(jobtrace_counts(trace).not_run, 1);
	assert_string_equal(job->id, "k");
	assert_string_equal(job->vc, "c");
	assert_near(job->duration_s, 30, 0);
	assert_null(jobtraces_next(trace));
	jobtrace_close(trace);
}

/* ---- Malformed traces ------------------------------------------------------------ */

static void
malformed_rows_are_told_with_their_line_and_left_out(void **state)
{
	static const struct {
		const char *row, *says;
	} cases[] = {
		{ "j,1,x,4", "duration_s: expected a number" },
		{ "j,1,2", "a different number of fields" },
		{ "j,1,2,3,4", "a different number of fields" },
		{ "j,1,-2,3", "it ends before it starts" },
		{ "j,1,2,-3", "num_gpus: expected a number of GPUs" },
		{ "j,1,2,1e9", "too many GPUs" },
		{ "j,1e300,2,1", "submit_s: expected a number" },
		{ "\"j,1,2,1", "a quote that is not closed" },
		{ "j,1,2,1x", "num_gpus: expected a number of GPUs" },
		{ "j,1,0x10,1", "duration_s: expected a number" },
		{ "j,nan(0x1),2,1", "submit_s: expected a number" },
		{ "j,1,inf,1", "duration_s: expected a number" },
	};

	/* In columns that matter. */
	static const char whole[] = "job_id,submit_s,num_gpus,batch,priority\n"
				    "a,0,1,1.5,1\nb,0,1,1,1.5\nc,0,1,-1,1\n"
				    "d, 0 , 1\t,2.0,-3\n";
	struct jobtrace *counts;
	const struct jobtrace_job *job;
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct jobtrace *trace;

		snprintf(text, sizeof text,
			 "job_id,submit_s,duration_s,num_gpus\na,0,1,1\n%s\nb,1,1,1\n",
			 cases[i].row);
		trace = open_text(text);
		assert_string_equal(jobtraces_next(trace)->id, "a");
		assert_string_equal(jobtraces_next(trace)->id, "b");
		assert_null(jobtraces_next(trace));
		assert_int_equal(jobtrace_counts(trace).malformed, 1);
		if (!strstr(jobtrace_fault(trace, 0), cases[i].says) ||
		    !strstr(jobtrace_fault(trace, 0), ":3: "))
			fail_msg("'%s': %s", cases[i].row, jobtrace_fault(trace, 0));
		jobtrace_close(trace);
	}
	counts = open_text(whole);
	job = jobtraces_next(counts);
	assert_null(job); /* Jobs without a duration or a model are read but not run. */
	assert_int_equal(jobtrace_counts(counts).malformed, 3);
	assert_int_equal(jobtrace_counts(counts).not_run, 1);
	assert_non_null(strstr(jobtrace_fault(counts, 0), "batch: expected a whole"));
	assert_non_null(
		strstr(jobtrace_fault(counts, 1), "priority: expected a whole"));
	assert_non_null(strstr(jobtrace_fault(counts, 2), "batch: expected a whole"));
	jobtrace_close(counts);
}

static void
days_that_no_month_has_are_malformed(void **state)
{
	double at_s;

	(void)state;
	assert_true(columns_time("2020-02-29 00:00:00", &at_s));
	assert_near(at_s, 1582934400, 0);
	assert_false(columns_time("2021-02-29 00:00:00", &at_s));
	assert_false(columns_time("2021-04-31T10:00:00", &at_s));
	/* A leap second ends the year. */
	assert_true(columns_time("2016-12-31 23:59:60", &at_s));
	assert_near(at_s, 1483228800, 0);
}

static void
names_are_of_one_line_and_come_back_as_they_are(void **state)
{
	struct jobtrace *trace =
		open_text("[{\"jobid\":\"a\\nb\",\"attempts\":[{\"start_time\":\"1\","
			  "\"end_time\":\"2\",\"detail\":[{\"gpus\":[\"g\"]}]}],"
			  "\"submitted_time\":\"0\"},\n"
			  "{\"jobid\":\"#1\",\"attempts\":[{\"start_time\":\"1\","
			  "\"end_time\":\"2\",\"detail\":[{\"gpus\":[\"g\"]}]}],"
			  "\"submitted_time\":\"0\"}]\n");
	const struct jobtrace_job *job = jobtraces_next(trace);
	char *text;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	(void)state;
	assert_non_null(strstr(jobtrace_fault(trace, 0), "no control characters"));
	assert_string_equal(job->id, "#1");
	jobtrace_write_header(out);
	jobtrace_write(out, job);
	fclose(out);
	jobtrace_close(trace);
	/* Not a comment line. */
	trace = open_text(text);
	assert_string_equal(jobtraces_next(trace)->id, "#1");
	jobtrace_close(trace);
	free(text);

	trace = open_text(
		"job_id,submit_s,duration_s,num_gpus\na\033[2J,0,1,1\nb,0,1,1\n");
	assert_string_equal(jobtraces_next(trace)->id, "b");
	assert_null(jobtraces_next(trace));
	assert_non_null(strstr(jobtrace_fault(trace, 0),
			       ":2: job_id: expected no control characters"));
	jobtrace_close(trace);
}

static void
too_many_malformed_rows_are_another_format(void **state)
{
	char text[8192] = "job_id,submit_s,duration_s,num_gpus\n";
	struct jobtrace *trace;
	struct jobtrace_job job;
	struct err err = { 0 };
	int r;

	(void)state;
	for (int i = 0; i < 200; i++)
		strcat(text, i % 5 ? "j,1,2,1\n" : "j,1,?,1\n");
	trace = open_text(text);
	do {
		r = jobtrace_next(trace, &job, &err);
	} while (r > 0);
	assert_int_equal(r, -EINVAL);
	assert_int_equal(jobtrace_counts(trace).rows, 101);
	assert_non_null(strstr(err.text, "is this a trace of format antiphase?"));
	jobtrace_close(trace);
}

static void
what_is_no_trace_is_refused(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *says;
	} cases[] = {
		{ "", 0, "has no rows" },
		{ "\n\n# nothing\n", 12, "has no rows" },
		{ "a,b,c\n", 6, "of no known format" },
		{ "a\0b\n", 4, "a zero byte" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct jobtrace *trace;
		struct err err = { 0 };

		assert_true(
			jobtrace_open(memory_file_set(&file, cases[i].text, cases[i].n),
				      JOBTRACE_AUTO, &trace, &err) < 0);
		if (!strstr(err.text, cases[i].says))
			fail_msg("%zu: %s", i, err.text);
	}
}

static void
json_that_is_no_list_of_jobs_is_refused(void **state)
{
#define JOB                                                                            \
	"{\"jobid\":\"j\",\"submitted_time\":\"2017-10-07 01:11:40\",\"attempts\":[{"  \
	"\"start_time\":\"2017-10-07 01:12:00\",\"end_time\":\"2017-10-07 01:13:00\"," \
	"\"detail\":[{\"gpus\":[\"g\"]}]}]}"
#define VALUE "\"a\":{\"id\":1,\"arrival\":1,\"gpus\":1,\"type\":\"t\"}"

	static const struct {
		const char *text;
		unsigned n_jobs;
		const char *says; /* NULL: no error. */
	} cases[] = {
		{ "[" JOB ",\n" JOB "]\n", 2, NULL },
		{ JOB "\n" JOB "\n", 2, NULL },
		{ "[]", 0, NULL },
		{ "[" JOB ",\n" JOB ",\n", 2, "the file is truncated" },
		{ "[" JOB ",\n{\"jobid\":", 1, "begins here is not closed" },
		{ "[[[[", 0, "expected a job" },
		{ "[1,2,3]", 0, "expected a job" },
		{ "[" JOB "]" JOB, 1, "expected a job" },
		{ JOB "]", 1, "expected a job" },
		{ "[" JOB "}]", 1, "expected a job" },
		{ "{}", 0, "'jobid' is missing here; is this a trace" },
		{ "{" VALUE "," VALUE "}\n", 2, NULL },
		{ "{\n" VALUE, 1, "the file is truncated" },
		{ "{" VALUE "," VALUE "", 2, "the file is truncated" },
		{ "{" VALUE ",\"b\":{\"gpus\":", 1, "begins here is not closed" },
		{ "{" VALUE "}" VALUE, 1, "expected a job" },
		{ "{" VALUE ",5}", 1, "expected a job" },
		{ "{" VALUE ",\"b", 1, "the file is truncated" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct jobtrace *trace = open_text(cases[i].text);
		struct jobtrace_job job;
		struct err err = { 0 };
		int r;

		do {
			r = jobtrace_next(trace, &job, &err);
		} while (r > 0);
		if (r != (cases[i].says ? -EINVAL : 0) ||
		    jobtrace_counts(trace).jobs != cases[i].n_jobs ||
		    (cases[i].says && !strstr(err.text, cases[i].says)))
			fail_msg("%zu: %d, %s", i, r, err.text);
		jobtrace_close(trace);
	}
#undef JOB
#undef VALUE
}

static void
a_line_without_end_is_given_up(void **state)
{
	size_t n = LINES_MAX_BYTES + (1 << 18);
	char *text = malloc(n), *line;
	struct lines *lines;
	struct err err = { 0 };

	(void)state;
	memset(text, 'x', n);
	assert_int_equal(lines_open(memory_file_set(&file, text, n), &lines, &err), 0);
	free(text);
	assert_int_equal(lines_next(lines, &line, &n, &err), -EMSGSIZE);
	lines_close(lines);
}

/* ---- Published traces ------------------------------------------------------------ */

static void
the_shared_traces_are_read_without_a_malformed_row(void **state)
{
	static const struct {
		const char *path;
		enum jobtrace_format format;
		uint64_t n_jobs;
	} cases[] = {
		{ "philly/philly_82k.csv.gz", JOBTRACE_PHILLY_CSV, 82247 },
		{ "philly/philly_2weeks.csv.gz", JOBTRACE_ANTIPHASE, 12274 },
		{ "muri/muri_traces.tar.xz:simulator/trace-data/trace3.csv",
		  JOBTRACE_MURI, 992 },
		{ "tiresias/tiresias_traces.tar.xz:60_job.csv", JOBTRACE_TIRESIAS, 60 },
		{ "astraea/fake_job.csv", JOBTRACE_TIRESIAS, 500 },
		{ "synergy/static_100job_6_3_1100.csv", JOBTRACE_SYNERGY, 100 },
		{ "format_samples/helios_cluster_log_sample.csv", JOBTRACE_HELIOS, 3 },
		{ "format_samples/acme_trace_kalos_sample.csv", JOBTRACE_ACME, 2 },
		{ "format_samples/acme_trace_seren_sample.csv", JOBTRACE_ACME, 2 },
		{ "format_samples/pai_v2020_task_job_sample.csv", JOBTRACE_PAI_2020,
		  4 },
		{ "format_samples/philly_cluster_job_log_sample.json",
		  JOBTRACE_PHILLY_JSON, 1 },
		{ "bsc_topo/bsc_topo.tar.xz:data/workloads-1000.json", JOBTRACE_BSC,
		  1000 },
	};

	(void)state;
	if (access(SHARED_DATA "/traces", R_OK) < 0)
		skip();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[256];
		struct jobtrace *trace;
		struct err err = { 0 };

		snprintf(path, sizeof path, "%s/traces/%s", SHARED_DATA, cases[i].path);
		if (jobtrace_open(path, JOBTRACE_AUTO, &trace, &err) < 0)
			fail_msg("%s: %s", path, err.text);
		assert_int_equal(jobtrace_format(trace), cases[i].format);
		while (jobtraces_next(trace))
			;
		if (jobtrace_counts(trace).malformed)
			fail_msg("%s", jobtrace_fault(trace, 0));
		if (jobtrace_counts(trace).jobs != cases[i].n_jobs)
			fail_msg("%s: %d jobs", path, (int)jobtrace_counts(trace).jobs);
		jobtrace_close(trace);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(helios_and_acme_are_read),
		cmocka_unit_test(alibaba_is_read_with_fractions_of_gpus),
		cmocka_unit_test(tasks_run_when_and_where_their_instances_do),
		cmocka_unit_test(what_is_no_table_of_instances_is_refused),
		cmocka_unit_test(simulators_traces_are_read),
		cmocka_unit_test(philly_is_read_from_its_json),
		cmocka_unit_test(bsc_is_read_from_its_json),
		cmocka_unit_test(our_own_has_any_columns_in_any_order),
		cmocka_unit_test(malformed_rows_are_told_with_their_line_and_left_out),
		cmocka_unit_test(days_that_no_month_has_are_malformed),
		cmocka_unit_test(names_are_of_one_line_and_come_back_as_they_are),
		cmocka_unit_test(too_many_malformed_rows_are_another_format),
		cmocka_unit_test(what_is_no_trace_is_refused),
		cmocka_unit_test(json_that_is_no_list_of_jobs_is_refused),
		cmocka_unit_test(a_line_without_end_is_given_up),
		cmocka_unit_test(the_shared_traces_are_read_without_a_malformed_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
