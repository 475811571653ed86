# SPDX-License-Identifier: GPL-2.0
"""Reports for the tests, as the kernel prints them."""

ONE = """\
device name=mlx5_0 bus=0000:00:03.0 max_uars=8192 max_uids=1024
context pid=327 uid=1 comm=ibv_rc_pingpong
uar index=5 origin=object kind=nc freed=0 mappings=1 qps=0 cqs=1
uar index=6 origin=object kind=bf freed=0 mappings=1 qps=1 cqs=0
cq number=4 uar=5
qp number=67 type=rc uar=6
"""

# Process 100 has static UARs, whose QPs share registers, and a dynamic UAR. Process 200 has two
# contexts, of which one keeps a freed UAR; its name has a space, an ampersand, an angle bracket and
# a control character.
SEVERAL = """\
device name=mlx5_0 bus=0000:00:03.0 max_uars=8192
context pid=100 uid=0 comm=old_app
uar index=8 origin=static kind=bf freed=0 mappings=1 qps=3 cqs=1
uar index=9 origin=static kind=bf freed=0 mappings=1 qps=1 cqs=0
uar index=10 origin=static kind=bf freed=0 mappings=0 qps=0 cqs=0
uar index=30 origin=dynamic kind=bf freed=0 mappings=2 qps=2 cqs=0
bfreg number=0 uar=8 slot=0 class=high qps=0
bfreg number=1 uar=8 slot=1 class=medium qps=3
bfreg number=2 uar=9 slot=0 class=low qps=1
bfreg number=3 uar=9 slot=1 class=low qps=0
bfreg number=4 uar=10 slot=0 class=low qps=0
bfreg number=5 uar=10 slot=1 class=low qps=0
bfreg number=6 uar=30 slot=0 class=dynamic qps=2
bfreg number=7 uar=30 slot=1 class=dynamic qps=0
cq number=4 uar=8
qp number=64 type=rc uar=9 bfreg=2
qp number=65 type=rc uar=8 bfreg=1
qp number=66 type=ud uar=8 bfreg=1
qp number=67 type=rc uar=8 bfreg=1
qp number=68 type=xrc_ini uar=30 bfreg=6
qp number=69 type=rc uar=30 bfreg=6
context pid=200 uid=3 comm=a\\040b&<\\001
uar index=40 origin=object kind=nc freed=1 mappings=1 qps=0 cqs=0
uar index=41 origin=object kind=bf freed=0 mappings=1 qps=2 cqs=1
qp number=70 type=rc uar=41
qp number=71 type=rc uar=41
cq number=5 uar=41
context pid=200 uid=4 comm=a\\040b&<\\001
"""


def wide():
    """All that is long: numbers, names, states."""
    lines = ["device name=mlx5_" + 200 * "0" + " bus=0000:00:03.0"]
    for number, comm in enumerate(("WWWWWWWWWWWWWWW", "iiiiiiiiiiiiiii", "\u6f22\u5b57\u8a00", "",
                                   "\u0416\u0416\u0416\u0416\u0416\u0416\u0416")):
        base = 0xfffff0 - 16 * number
        lines.append(f"context pid={4194304 - number} uid=65535 comm={comm}")
        lines += [f"uar index={base + uar} origin=static kind=bf freed={uar % 2} "
                  f"mappings={4294967295 if uar else 0}" for uar in range(number % 2 + 2)]
        lines.append(f"bfreg number=1048575 uar={base} slot=0 class=medium")
        lines += [f"qp number={base + qp} type=xrc_ini uar={base + qp // 4}" +
                  " bfreg=1048575" * (qp < 4) for qp in range(8)]
        lines.append(f"cq number={base} uar={base + 1}")
    for number in range(45):
        lines.append(f"context pid={4100000 + number} comm=MMMMMMMMMMMMMMM")
    lines += [f"context pid={4194304 - 4} comm="] * 1000
    return "\n".join(lines) + "\n"


def many(uars=200):
    """A process with many UARs, of which a few have queues, and some processes with few."""
    lines = ["device name=mlx5_0 bus=0000:00:03.0 max_uars=8192",
             "context pid=1000 uid=1 comm=hungry"]
    for index in range(100, 100 + uars):
        lines.append(f"uar index={index} origin=object kind={'bf' if index % 2 else 'nc'} "
                     f"freed={int(index % 50 == 0)} "
                     f"mappings={int(index % 3 != 0)} qps={int(index % 7 == 0)} cqs=0")
    lines += [f"qp number={1000 + index} type=rc uar={index}" for index in range(100, 100 + uars)
              if index % 7 == 0]
    lines += [f"qp number={2000 + index} type=rc uar=105" for index in range(30)]
    for pid in range(20):
        lines += [f"context pid={2000 + pid} uid={pid + 2} comm=rank{pid}",
                  f"uar index={1000 + pid} origin=object kind=nc freed=0 mappings=1 qps=0 cqs=1",
                  f"cq number={pid + 10} uar={1000 + pid}"]
    return "\n".join(lines) + "\n"
