-- SPDX-License-Identifier: Apache-2.0
-- job_submit.lua - antiphase's gate for Slurm.  It lives beside slurm.conf, which says
-- "JobSubmitPlugins=lua".
--
-- A job of several nodes becomes eligible GATE_S seconds late at most; in that time
-- antiphase-scheduler places it and lets it go.  Without an answer Slurm starts it when
-- the time is over, as without antiphase.  On any error in this script the job is
-- accepted as submitted.
--
-- The gate ignores jobs that may run on one node; jobs whose user set nodes, a
-- reservation or a begin time; held jobs; and jobs submitted with --antiphase=off, or
-- "antiphase: off" in their --comment.  It also ignores heterogeneous jobs: Slurm starts
-- their parts together or not at all, and plans them only every bf_interval, so a gate
-- would delay them by more than its seconds, and a pinned part could block all others.
--
-- A site with its own job_submit.lua puts this line at its beginning:
--
--	dofile("@hookdir@/job_submit.lua")
--
-- and calls antiphase_submit(job_desc) in its slurm_job_submit(), before it returns
-- success.

local GATE_S = 10
-- Partitions with a gate, such as { train = true, debug = true }; nil: all.  Jobs
-- without a partition belong to "default" here.
local PARTITIONS = nil
-- CPUs of a node, to decide whether a job with only a number of tasks (-n without -N)
-- needs several nodes: a number, or one per partition, { train = 128, default = 64 };
-- nil: --ntasks-per-node decides.
local CPUS_PER_NODE = nil
-- Jobs are not gated while this file exists.
local STOP = "/run/antiphase-scheduler/stop"
-- Jobs are gated only if this file holds a time not older than FRESH_S, as seconds since
-- 1970; nil: always.
local ALIVE = nil
-- Instead of a gate, without any delay: a table of placements, a line for each number of
-- nodes, "TIME NODES NODELIST SCORE", to be replaced every few seconds; nil: none.
local TABLE = nil
local FRESH_S = 15

local NO_VAL = slurm.NO_VAL
local NO_VAL64 = slurm.NO_VAL64
local NO_VAL16 = slurm.NO_VAL16 or 0xfffe

local function exists(path)
	local file = path and io.open(path, "r")
	if file then file:close() end
	return file ~= nil
end

local function is_fresh(time)
	local age = os.time() - (tonumber(time) or 0)
	return age >= -1 and age <= FRESH_S
end

local function is_alive()
	if not ALIVE then return true end
	local file = io.open(ALIVE, "r")
	if not file then return false end
	local line = file:read(64) or ""
	file:close()
	return is_fresh(line:match("^(%d+)"))
end

-- The nodes for a job of that many and their score, or nil and the reason.
local function look_up(n)
	local file = io.open(TABLE, "r")
	if not file then return nil, "no table" end
	local nodes, score = nil, "no entry"
	for line in file:lines() do
		local time, count, list, points = line:match("^(%d+) (%d+) (%S+) (%S+)")
		if time and tonumber(count) == n then
			if is_fresh(time) then
				nodes, score = list, points
			else
				score = "stale"
			end
			break
		end
	end
	file:close()
	return nodes, score
end

-- SPANK's variables of the job, whose form depends on the version of Slurm.
local function spank_mode(job_desc)
	local env = job_desc.spank_job_env
	if type(env) == "string" then env = { env } end
	if type(env) ~= "table" then return nil end
	for key, value in pairs(env) do
		local text = tostring(key) .. "=" .. tostring(value)
		local mode = text:match("ANTIPHASE_MODE=(%a+)")
		if mode then return mode end
	end
	return nil
end

local function is_off(job_desc)
	local comment = job_desc.comment
	if comment and comment:lower():match("antiphase:%s*off") then return true end
	local ok, mode = pcall(spank_mode, job_desc)
	return ok and mode == "off"
end

local function is_set(number, none)
	return number ~= nil and number ~= 0 and number ~= none
end

-- A number that the user gave, or nil; 16 bit numbers have their own value for "none".
local function given(number, none)
	if number == nil or number < 1 or number >= none then return nil end
	return number
end

-- The most CPUs of any node that the job may get; nil: unknown.
local function cpus_per_node(job_desc)
	if type(CPUS_PER_NODE) ~= "table" then return CPUS_PER_NODE end
	local most = nil
	for name in (job_desc.partition or "default"):gmatch("[^,]+") do
		local cpus = CPUS_PER_NODE[name]
		if not cpus then return nil end
		most = math.max(most or 0, cpus)
	end
	return most
end

-- The least number of nodes that the job needs.
local function least_nodes(job_desc)
	local n = given(job_desc.min_nodes, NO_VAL) or 1
	local tasks = given(job_desc.num_tasks, NO_VAL) or 1
	local per_node = given(job_desc.ntasks_per_node, NO_VAL16)
	local per_cpus = cpus_per_node(job_desc)
	if per_node then n = math.max(n, math.ceil(tasks / per_node)) end
	if per_cpus then
		local cpus = math.max(given(job_desc.min_cpus, NO_VAL) or 1,
			tasks * (given(job_desc.cpus_per_task, NO_VAL16) or 1))
		n = math.max(n, math.ceil(cpus / per_cpus))
	end
	return n
end

local function in_partitions(job_desc)
	if not PARTITIONS then return true end
	-- Slurm does not pass the name of the default partition.
	if not job_desc.partition then return PARTITIONS.default == true end
	for name in job_desc.partition:gmatch("[^,]+") do
		if not PARTITIONS[name] then return false end
	end
	return true
end

local function is_ours(job_desc)
	if least_nodes(job_desc) <= 1 then return false end
	if job_desc.req_nodes ~= nil or job_desc.reservation ~= nil then return false end
	if is_set(job_desc.begin_time, NO_VAL64) or job_desc.begin_time == NO_VAL then
		return false
	end
	if job_desc.priority == 0 then return false end
	if job_desc.admin_comment ~= nil and job_desc.admin_comment ~= "" then
		return false
	end
	local offset = job_desc.het_job_offset
	if offset ~= nil and offset ~= NO_VAL then return false end
	return in_partitions(job_desc) and not is_off(job_desc) and not exists(STOP)
end

local function submit(job_desc)
	if not is_ours(job_desc) then return end
	local why
	-- One place does not suit all tasks of an array.
	if TABLE and job_desc.array_inx == nil then
		local nodes, score = look_up(least_nodes(job_desc))
		if nodes then
			job_desc.req_nodes = nodes
			job_desc.admin_comment = "antiphase:v1;pinned;score=" .. score
			return
		end
		why = score
	end
	if GATE_S > 0 and is_alive() then
		local until_s = os.time() + GATE_S
		job_desc.begin_time = until_s
		-- With any other begin time the job is no longer ours.
		job_desc.admin_comment = string.format("antiphase:v1;gate;until=%d", until_s)
	elseif why then
		job_desc.admin_comment = "antiphase:v1;skipped=" .. why
	end
end

function antiphase_submit(job_desc)
	local ok, why = pcall(submit, job_desc)
	if not ok then slurm.log_info("antiphase: the gate failed: %s", tostring(why)) end
end

-- Keep a site's own functions.
if not slurm_job_submit then
	function slurm_job_submit(job_desc, part_list, submit_uid)
		antiphase_submit(job_desc)
		return slurm.SUCCESS
	end

	function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
		return slurm.SUCCESS
	end
end

return slurm.SUCCESS
