"""kazoo's locks, as a client of the benchmark: see package client for the protocol and the workloads."""
import gc
import json
import logging
import math
import os
import re
import sys
import threading
import time
import traceback
import types
from concurrent.futures import ThreadPoolExecutor

from kazoo.client import KazooClient

WARMING, MEASURING, MEASURED, STOPPING = range(4)
phase = WARMING
result = {}
now = time.monotonic_ns


def seconds(s):
    """Seconds of a duration as Go writes it."""
    units = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3}
    return sum(float(k) * units[u] for k, u in re.findall(r"([0-9.]+)(h|ms|m|s)", s))


def mark(name):
    print("mark", name, flush=True)
    sys.stdin.readline()


def measured(name):
    """A mark with the garbage collected."""
    gc.collect()
    mark(name)


def quantiles(name, v):
    if v:
        v = sorted(v)
        for q in 50, 99:
            result["%s_p%d" % (name, q)] = v[math.ceil(len(v) * q / 100) - 1] / 1e3


def connect(_=None):
    c = KazooClient(hosts=flags.addr, timeout=seconds(flags.timeout))
    c.start(timeout=60)
    return c


def sessions(n):
    with ThreadPoolExecutor(8) as opening:
        return list(opening.map(connect, range(n)))


def close(all):
    def one(c):
        c.stop()
        c.close()

    with ThreadPoolExecutor(8) as closing:
        list(closing.map(one, all))


def start(n, body):
    def run(i):
        try:
            body(i)
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    all = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(n)]
    for t in all:
        t.start()
    return all


def steady(load):
    """Brackets the load that is under way, and ends it."""
    global phase
    time.sleep(seconds(flags.warm))
    mark("begin")
    begun = now()
    phase = MEASURING
    time.sleep(seconds(flags.secs))
    phase = MEASURED
    result["secs"] = (now() - begun) / 1e9
    mark("end")
    phase = STOPPING
    result["steady"] = 1
    for t in load:
        t.join()


def cycle():
    all = sessions(flags.n)
    acquired, cycles = [], []

    def body(i):
        lock = all[i].Lock("%s/lock%d" % (flags.root, i))
        while phase != STOPPING:
            began = phase
            t0 = now()
            lock.acquire()
            t1 = now()
            lock.release()
            t2 = now()
            if began == MEASURING and phase == MEASURING:
                acquired.append(t1 - t0)
                cycles.append(t2 - t0)

    steady(start(flags.n, body))
    result["ops"] = len(cycles)
    quantiles("acquire", acquired)
    quantiles("cycle", cycles)
    close(all)


def handover():
    path = flags.root + "/lock"
    gate = connect()
    gate_lock = gate.Lock(path)
    gate_lock.acquire()
    measured("base")
    all = sessions(flags.n)
    measured("sessions")
    released = [0]
    hands = []

    def body(i):
        lock = all[i].Lock(path)
        while phase != STOPPING:
            lock.acquire()
            hand = now() - released[0]
            if phase == MEASURING:
                hands.append(hand)
            released[0] = now()
            lock.release()

    load = start(flags.n, body)
    deadline = time.monotonic() + 180
    while gate.exists(path).numChildren <= flags.n:
        if time.monotonic() > deadline:
            raise SystemExit("the queue does not fill")
        time.sleep(0.005)
    mark("rest")
    measured("waiting")
    released[0] = now()
    gate_lock.release()
    steady(load)
    result["ops"] = len(hands)
    quantiles("hand", hands)
    close(all + [gate])


logging.disable(logging.CRITICAL)
flags = types.SimpleNamespace(**{k[1:]: v for k, v in zip(sys.argv[1::2], sys.argv[2::2])})
flags.n = int(flags.n)
{"cycle": cycle, "handover": handover}[flags.w]()
print(json.dumps(result, sort_keys=True), flush=True)
os._exit(0)
