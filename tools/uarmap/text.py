# SPDX-License-Identifier: GPL-2.0
"""uarmap's text: who holds the UARs, who shares a doorbell, and each UAR with its queues."""

from model import count, mapped, sharing

BAR = 24


def ranges(numbers):
    """Numbers in hexadecimal, with runs as FIRST-LAST."""
    runs = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first:#x}" if first == last else f"{first:#x}-{last:#x}"
                     for first, last in runs)


def labels(queues, most=6):
    """The queues in a line. Of many queues, the first ones."""
    names = [queue.label() for queue in queues]
    if len(names) > most:
        names = names[:most - 1] + [f"{len(names) - most + 1} more"]
    return ", ".join(names)


def holders(device):
    """Who has how many UARs."""
    total = device.num_uars()
    most = max((uars for _, uars, _ in device.holders()), default=0) or 1
    for name, uars, contexts in device.holders():
        bar = "#" * max(round(BAR * uars / most), 1 if uars else 0)
        many = f", {contexts} contexts" if contexts > 1 else ""
        share = 100 * uars / total if total else 0
        yield f"  {uars:5d} {'UAR ' if uars == 1 else 'UARs'} {share:3.0f} %  " \
              f"{bar:{BAR}}  {name}{many}"


def shared_doorbells(device):
    """The doorbells that several queue pairs ring."""
    for context in device.contexts:
        for bell in context.doorbells():
            if bell.shared():
                lock = {"lock": "and a lock", "no lock": "without a lock"}.get(
                    bell.lock(), "register and lock are up to the library")
                yield f"  {context.process()}: {len(bell.queues)} QPs share {bell.place()}, " \
                      f"{lock}: {labels(bell.queues)}"


def context_lines(context):
    """A line for each UAR of a context that has queues, and one line for the UARs without
    queues."""
    idle = []
    for uar in context.uars:
        groups = context.queues_of(uar)
        if not groups:
            idle.append(uar)
            continue
        freed = ", freed" if uar.freed else ""
        yield f"    UAR {uar.index:#x}  {uar.origin} {uar.kind.upper()}, {mapped(uar)}{freed}"
        for bfreg in (bfreg for bfreg in context.bfregs if bfreg.uar == uar.index):
            queues = groups.pop(bfreg.number, [])
            meaning = ", ".join(dict.fromkeys(sharing(bfreg.bfreg_class)))
            yield f"      register {bfreg.number:<4d} {bfreg.bfreg_class:7s} ({meaning})  " \
                  f"{labels(queues) or '-'}"
        for queues in groups.values():
            yield f"      {labels(queues)}"
    if idle:
        yield f"    {count(len(idle), 'UAR')} without a queue: {ranges(uar.index for uar in idle)}"
        unmapped = [uar for uar in idle if not uar.mappings]
        if unmapped and len(unmapped) < len(idle):
            yield f"      of which not mapped: {ranges(uar.index for uar in unmapped)}"
        kept = [uar.index for uar in idle if uar.freed]
        if kept:
            yield f"      of which freed, but still mapped or exported: {ranges(kept)}"


def render(devices):
    """The whole text."""
    lines = []
    for device in devices:
        limit = f" of at most {device.max_uars}" if device.max_uars else ""
        bus = f" ({device.bus})" if device.bus else ""
        lines.append(f"{device.name}{bus}: {device.num_uars()}{limit} UARs are held by "
                     f"{count(len(device.holders()), 'process')}")
        lines += holders(device)
        ids = device.uid_holders()
        if ids:
            limit = f" of at most {device.max_uids}" if device.max_uids else ""
            lines.append(f"  {len(ids)}{limit} user ids (DEVX) are held by "
                         f"{count(len(set(ids)), 'process')}")
        lines += ["", "Shared doorbells:", *shared_doorbells(device)]
        if lines[-1] == "Shared doorbells:":
            lines[-1] += " none"
        for context in device.contexts:
            user_id = f", user id {context.uid}" if context.uid else ""
            lines += ["", f"  {context.process()}{user_id}: {count(len(context.uars), 'UAR')}, "
                          f"{count(len(context.queues), 'queue')}", *context_lines(context)]
        lines.append("")
    return "\n".join(lines)
