#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chakra.py DIR - writes Chakra execution traces, after et_def.proto, not after the reader.

llm.N.et: 16 ranks, two pipeline stages of two tensor parallel and four data parallel
ranks each; odd.N.et: traces with a fault each, which their names tell.
"""
import os
import sys

COMP, SEND, RECV, COLL = 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER = 0, 2, 7


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def chunk(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def attribute(name, value):
    if isinstance(value, str):
        return chunk(10, chunk(1, name.encode()) + chunk(29, value.encode()))
    if isinstance(value, bool):
        return chunk(10, chunk(1, name.encode()) + number(27, value))
    return chunk(10, chunk(1, name.encode()) + number(9, value))


def node(ident, name, kind, needs=(), us=0, **attributes):
    data = number(1, ident) + chunk(2, name.encode()) + number(3, kind)
    for i, need in enumerate(needs):  # Control and data, packed and not.
        data += chunk(5, varint(need)) if i % 2 == 0 else number(4, need)
    data += number(6, 1000 * ident) + number(7, us)
    data += chunk(8, chunk(1, b"[[1, 2]]") + chunk(2, b"[[8]]"))
    for key, value in attributes.items():
        data += attribute(key, value)
    return data


def write(path, nodes):
    with open(path, "wb") as out:
        for message in [chunk(1, b"0.0.4")] + nodes:
            out.write(varint(len(message)) + message)


def llm(rank):
    stage, tp, dp = rank // 8, rank // 2, f"dp{rank // 8}-{rank % 2}"
    peer = rank + 8 if stage == 0 else rank - 8
    gpu = {"is_cpu_op": False}
    nodes, last = [], ()
    if stage == 1:
        nodes.append(node(1, "recv_act", RECV, comm_size=4 << 20, comm_src=peer, comm_tag=5, **gpu))
        last = (1,)
    nodes.append(node(2, "forward", COMP, last, us=20000 + rank % 8, **gpu))
    nodes.append(node(3, "tp_forward", COLL, (2,), us=9, comm_type=ALL_REDUCE, comm_size=32000000, pg_name=f"tp{tp}", **gpu))
    if stage == 0:
        nodes.append(node(4, "send_act", SEND, (3,), comm_size=4 << 20, comm_dst=peer, comm_tag=5, **gpu))
    nodes.append(node(5, "backward", COMP, (3, 2), us=40000, **gpu))
    nodes.append(node(6, "grads", COLL, (5,), comm_type=REDUCE_SCATTER, comm_size=100000000, pg_name=dp, **gpu))
    nodes.append(node(7, "weights", COLL, (6,), comm_type=ALL_GATHER, comm_size=25000000, pg_name=dp, **gpu))
    nodes.append(node(8, "norm", COLL, (7,), comm_type=ALL_REDUCE, comm_size=8000, **gpu))
    return nodes


def main():
    out = sys.argv[1]
    for rank in range(16):
        write(os.path.join(out, f"llm.{rank}.et"), llm(rank))
    one = dict(comm_type=ALL_REDUCE, comm_size=1000)
    odd = {
        "cycle": [node(1, "a", COMP, (2,), us=1), node(2, "b", COMP, (1,), us=1)],
        "dangling": [node(1, "a", COMP, (7,), us=1)],
        "twice": [node(1, "a", COMP, us=1), node(1, "b", COMP, us=1)],
        "reduce": [node(1, "r", COLL, comm_type=1, comm_size=8)],
        "type": [node(1, "r", 8)],
        "no-size": [node(1, "r", COLL, comm_type=0)],
        "no-peer": [node(1, "s", SEND, comm_size=8)],
        "day": [node(1, "a", COMP, us=86400000000)],
        "idle": [node(1, "a", COMP)],
    }
    for name, nodes in odd.items():
        write(os.path.join(out, f"{name}.0.et"), nodes)
    for rank, nodes in enumerate([[node(1, "r", COLL, **one)], [node(4, "s", COLL, **dict(one, comm_size=999))]]):
        write(os.path.join(out, f"disagree.{rank}.et"), nodes)
    for rank in range(4):
        mine = [node(1, "r", COLL, pg_name="g", **one)] if rank != 2 else [node(1, "c", COMP, us=1)]
        write(os.path.join(out, f"uneven.{rank}.et"), mine)


main()
