# SPDX-License-Identifier: GPL-2.0
"""An MPI program with three kinds of communication: all-reduce, all-to-all and one-sided. Each rank
checks the data that it gets.

With the argument "speed", measure instead: rank 0 prints "row NAME NANOSECONDS".
"""

import array
import sys
import time

from mpi4py import MPI

# Bytes that a rank sends to another one: a message in one packet, a message in several packets, and
# a message by rendezvous, in which the two sides exchange the address first.
SIZES = (8, 6000, 400000)
SPEED_WARM = 20
SPEED_ROUNDS = 300


def all_reduce(comm, size):
    """Each rank contributes its number + 1 in every element."""
    count = size // 8
    mine = array.array("d", [comm.rank + 1.0]) * count
    total = array.array("d", [0.0]) * count
    comm.Allreduce([mine, MPI.DOUBLE], [total, MPI.DOUBLE])
    return total == array.array("d", [comm.size * (comm.size + 1) / 2]) * count


def pattern(sender, receiver):
    """The byte that fills the messages of a sender to a receiver."""
    return bytes([16 * sender + receiver])


def all_to_all(comm, size):
    """Each rank sends a different message to each rank."""
    out = b"".join(pattern(comm.rank, peer) * size for peer in range(comm.size))
    back = bytearray(len(out))
    comm.Alltoall([out, MPI.BYTE], [back, MPI.BYTE])
    return back == b"".join(pattern(peer, comm.rank) * size for peer in range(comm.size))


def one_sided(comm, size):
    """Each rank writes to the memory of each rank, reads from one, and adds to a word of rank 0."""
    window = MPI.Win.Allocate(comm.size * size, 1, comm=comm)
    word = MPI.Win.Allocate(8 if comm.rank == 0 else 0, 1, comm=comm)
    if comm.rank == 0:
        word.tomemory()[:] = bytes(8)
    window.Fence()
    word.Fence()
    # The data to write must not change until the next fence.
    out = [pattern(comm.rank, peer) * size for peer in range(comm.size)]
    one = array.array("q", [1])
    for peer in range(comm.size):
        window.Put([out[peer], MPI.BYTE], peer, comm.rank * size)
        word.Accumulate([one, MPI.INT64_T], 0, op=MPI.SUM)
    window.Fence()
    word.Fence()
    good = bytes(window.tomemory()) == b"".join(pattern(peer, comm.rank) * size
                                                for peer in range(comm.size))
    back = bytearray(size)
    peer = (comm.rank + 1) % comm.size
    window.Get([back, MPI.BYTE], peer, comm.rank * size)
    window.Fence()
    good = good and back == pattern(comm.rank, peer) * size
    if comm.rank == 0:
        good = good and int.from_bytes(bytes(word.tomemory()), "little") == comm.size * comm.size
    window.Free()
    word.Free()
    return good


def latency(comm):
    """Half the time in which 8 bytes go from rank 0 to the last rank, which is in the other host,
    and back."""
    buffer, last = bytearray(8), comm.size - 1
    if comm.rank == 0:
        comm.Send([buffer, MPI.BYTE], last)
        comm.Recv([buffer, MPI.BYTE], last)
    elif comm.rank == last:
        comm.Recv([buffer, MPI.BYTE], 0)
        comm.Send([buffer, MPI.BYTE], 0)


def small_all_reduce(comm):
    """All ranks add up one number each."""
    total = array.array("d", [0.0])
    comm.Allreduce([array.array("d", [1.0]), MPI.DOUBLE], [total, MPI.DOUBLE])


def speed(comm):
    """Measure operations, after some that are not counted."""
    for name, operation, share in (("MPI latency, 8 bytes", latency, 2),
                                   ("MPI all-reduce, 8 bytes", small_all_reduce, 1)):
        for _ in range(SPEED_WARM):
            operation(comm)
        comm.Barrier()
        start = time.monotonic_ns()
        for _ in range(SPEED_ROUNDS):
            operation(comm)
        elapsed = time.monotonic_ns() - start
        if comm.rank == 0:
            print(f"row {name.replace(' ', '_')} {elapsed // (SPEED_ROUNDS * share)}", flush=True)


def main():
    """Run all of it. A wrong result ends all ranks."""
    comm = MPI.COMM_WORLD
    if sys.argv[1:] == ["speed"]:
        speed(comm)
        return
    for size in SIZES:
        for test in (all_reduce, all_to_all, one_sided):
            if not test(comm, size):
                print(f"rank {comm.rank}: wrong data from {test.__name__} of {size} bytes",
                      flush=True)
                comm.Abort(1)
    print(f"rank {comm.rank} of {comm.size} on {MPI.Get_processor_name()}", flush=True)


main()
