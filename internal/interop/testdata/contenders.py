"""Contenders of kazoo, each with a session of its own.

    contenders.py SERVER REFEREE COUNT

Each is told by the referee, over a connection of its own, for which lock to
contend: CLASS:PATTERN,... DIRECTORY. It tells the referee when it enters and
when it leaves, asks after each turn whether to go on, and says when it is done.
The end of the standard input ends the process.
"""

import os
import socket
import sys
import threading
import traceback

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.recipe import lock as recipe
from kazoo.recipe.barrier import Barrier, DoubleBarrier
from kazoo.recipe.election import Election


def contend(server, referee):
    zk = KazooClient(hosts=server, timeout=40)
    zk.start(timeout=60)
    host, _, port = referee.rpartition(":")
    conn = socket.create_connection((host, int(port)))
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lines = conn.makefile("r")

    def say(words):
        conn.sendall((words + "\n").encode())

    for job in lines:
        what, directory, *rest = job.split()
        if what == "barrier":
            barrier = DoubleBarrier(zk, directory, int(rest[0]))
            barrier.enter()
            say("enter")
            lines.readline()
            barrier.leave()
            say("leave")
            say("done")
            continue
        if what in ("close", "open", "pass"):
            gate = Barrier(zk, directory)
            {"close": gate.create, "open": gate.remove, "pass": gate.wait}[what]()
            say("done")
            continue
        name, _, patterns = what.partition(":")
        if name == "Election":
            election = Election(zk, directory, "their id")
            election.lock = recipe.Lock(zk, directory, "their id", extra_lock_patterns=patterns.split(","))

            def lead():
                say("enter write")
                say("leave")
                lines.readline()

            election.run(lead)
            say("done")
            continue
        again = True
        while again:
            # A new object for each turn: one looks for its directory only once,
            # and the server removes it when nobody uses it.
            if name == "Semaphore":
                lock = recipe.Semaphore(zk, directory, max_leases=2)
            else:
                lock = getattr(recipe, name)(zk, directory, extra_lock_patterns=patterns.split(","))
            try:
                lock.acquire()
            except NoNodeError:
                continue
            say("enter read" if name in ("ReadLock", "Semaphore") else "enter write")
            zk.exists("/")  # work that takes a moment
            say("leave")
            again = lines.readline() == "again\n"
            lock.release()
        say("done")
    zk.stop()
    zk.close()


def run(*args):
    try:
        contend(*args)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def outlive_nobody():
    sys.stdin.read()
    os._exit(1)


server, referee, count = sys.argv[1:]
threads = [threading.Thread(target=run, args=(server, referee)) for _ in range(int(count))]
for t in threads:
    t.start()
threading.Thread(target=outlive_nobody, daemon=True).start()
for t in threads:
    t.join()
os._exit(0)  # whatever the daemon is doing
