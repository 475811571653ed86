// SPDX-License-Identifier: GPL-2.0
/*
 * The initialization segment: firmware revision, command queue registers, health buffer and its
 * counter, and the internal timer, which shows the device clock.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "cmdif.h"
#include "hca.h"
#include "ifc.h"
#include "iseg.h"
#include "mng_reg.h"
#include "profile.h"

/* struct mlx5_init_seg of linux/mlx5/device.h */
enum {
	ISEG_FW_REV = 0x0, ISEG_CMDIF_REV = 0x4, ISEG_CMDQ_H = 0x10, ISEG_CMDQ_L = 0x14,
	ISEG_CMD_DBELL = 0x18, ISEG_INITIALIZING = 0x1fc, ISEG_HEALTH = 0x200,
	ISEG_CMD_EXEC_TO = 0xff8, ISEG_CMD_Q_INIT_TO = 0xffc, ISEG_TIMER_H = 0x1000,
	ISEG_TIMER_L = 0x1004, ISEG_HEALTH_COUNTER = 0x1010,
	ISEG_REAL_TIME_H = 0x1040, ISEG_REAL_TIME_L = 0x1044, ISEG_CLR_INTX = 0x200c,
};

/* Offsets in the health buffer. */
enum {
	HEALTH_TIME = 0x2c, HEALTH_FW_VER = 0x30, HEALTH_HW_ID = 0x34, HEALTH_RFR = 0x38,
	HEALTH_SYND = 0x3c,
};

#define INITIALIZING	0x80000000
#define CAN_RESET	0x40000000	/* the driver may reset firmware */
#define CMDIF_REV	5
#define NIC_IFC_SHIFT	8
#define RFR_RESET	0x88000000	/* reset requested, severity valid; severity 0: emergency */
#define HEALTH_TICK_NS	100000000ULL	/* the driver checks every 2 s that the counter changes */

struct iseg {
	uint32_t cmdq_h, cmdq_l;
	uint32_t nic_ifc;
	uint32_t fw_rev, fw_sub, fw_ver;
	uint8_t synd;
	uint16_t ext_synd;
	uint32_t failed_at;	/* seconds since 1970, 0: firmware has not failed */
	uint64_t ready_ns;	/* when firmware is initialized after a reset */
	uint64_t clock, real_time;	/* what a read of the timers shows */
	uint64_t dead_ticks;	/* the counter's value when it stopped, 0: it runs */
};

static int iseg_init(struct hca *hca)
{
	uint32_t version = mng_fw_version(hca->profile);
	struct iseg *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->fw_rev = (version >> 16 & 0xff) << 16 | version >> 24;
	s->fw_sub = version & 0xffff;
	s->fw_ver = version;
	s->nic_ifc = MLX5_INITIAL_SEG_NIC_INTERFACE_DISABLED;
	hca->iseg = s;
	return 0;
}

static void iseg_exit(struct hca *hca)
{
	free(hca->iseg);
	hca->iseg = NULL;
}

static void iseg_restart(struct hca *hca)
{
	struct iseg *s = hca->iseg;

	s->cmdq_h = 0;
	s->cmdq_l = 0;
	/*
	 * mlx5_core waits for this state after it has asked for a reset. A driver that did not ask
	 * learns of the reset from this state.
	 */
	s->nic_ifc = MLX5_INITIAL_SEG_NIC_INTERFACE_DISABLED;
	s->synd = 0;
	s->ext_synd = 0;
	s->failed_at = 0;
	s->dead_ticks = 0;
	s->ready_ns = clock_now_ns() + hca->profile->initializing_ms * 1000000ull;
}

const struct hca_module iseg_module = {
	.name = "iseg", .init = iseg_init, .restart = iseg_restart, .exit = iseg_exit,
};

static uint32_t iseg_health_ticks(struct hca *hca)
{
	struct iseg *s = hca->iseg;

	if (s->dead_ticks)
		return s->dead_ticks;
	return (clock_now_ns() - hca->start_ns) / HEALTH_TICK_NS + 1;
}

/**
 * iseg_set_fatal() - simulate a firmware fatal error
 * @hca: the HCA
 * @synd: enum mlx5_initial_seg_health_syndrome_* in mlx5_ifc.h
 * @ext_synd: extended syndrome
 *
 * The health buffer shows the syndrome and the time, the health counter stops, and commands are not
 * answered, until the HCA is reset.
 */
void iseg_set_fatal(struct hca *hca, uint8_t synd, uint16_t ext_synd)
{
	hca->iseg->dead_ticks = iseg_health_ticks(hca);
	hca->iseg->synd = synd;
	hca->iseg->ext_synd = ext_synd;
	hca->iseg->failed_at = time(NULL);
	hca->fatal = true;
	hca_trace(hca, "fatal", "\"synd\":%u,\"ext_synd\":%u", synd, ext_synd);
}

static uint32_t iseg_health_read(struct hca *hca, uint32_t off)
{
	struct iseg *s = hca->iseg;

	switch (off) {
	case HEALTH_TIME:
		return s->failed_at;
	case HEALTH_FW_VER:
		return s->fw_ver;
	case HEALTH_HW_ID:
		return profile_hw_id(hca->profile);
	case HEALTH_RFR:
		return s->synd ? RFR_RESET : 0;
	case HEALTH_SYND:
		return s->synd << 16 | s->ext_synd;
	default:
		return 0;
	}
}

static uint64_t iseg_real_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec << 32 | ts.tv_nsec;
}

static bool iseg_initializing(const struct iseg *s)
{
	return clock_now_ns() < s->ready_ns;
}

/**
 * iseg_latch() - sample the clocks that the registers show until the next call
 * @hca: the HCA
 *
 * So both halves of a timer that the guest reads by one access show the same time.
 */
void iseg_latch(struct hca *hca)
{
	hca->iseg->clock = hca_clock(hca);
	hca->iseg->real_time = iseg_real_time();
}

/**
 * iseg_read() - read a register
 * @hca: the HCA, after iseg_latch()
 * @off: bytes from BAR0's start, a multiple of 4
 *
 * Return: its value.
 */
uint32_t iseg_read(struct hca *hca, uint32_t off)
{
	struct iseg *s = hca->iseg;

	switch (off) {
	case ISEG_FW_REV:
		return s->fw_rev;
	case ISEG_CMDIF_REV:
		return CMDIF_REV << 16 | s->fw_sub;
	case ISEG_CMDQ_L:
		return s->cmdq_l | s->nic_ifc << NIC_IFC_SHIFT | cmdif_log_size() << 4 |
		       cmdif_log_stride();
	case ISEG_INITIALIZING:
		return CAN_RESET | (iseg_initializing(s) ? INITIALIZING : 0);
	case ISEG_HEALTH ... ISEG_HEALTH + 0x3f:
		return iseg_health_read(hca, off - ISEG_HEALTH);
	case ISEG_CMD_EXEC_TO:
	case ISEG_CMD_Q_INIT_TO:
		return hca->profile->command_timeout_ms;
	case ISEG_TIMER_H:
		return s->clock >> 32;
	case ISEG_TIMER_L:
		return s->clock;
	case ISEG_HEALTH_COUNTER:
		return iseg_health_ticks(hca);
	case ISEG_REAL_TIME_H:
		return s->real_time >> 32;
	case ISEG_REAL_TIME_L:
		return s->real_time;
	default:
		return 0;
	}
}

/*
 * The register has the low half of the command queue's address and the mode of the interface. A
 * write with the mode of a full driver sets the address. A write with the mode of a software reset
 * resets firmware, for example after a fatal error.
 */
static void iseg_write_cmdq_low(struct hca *hca, uint32_t val)
{
	struct iseg *s = hca->iseg;
	uint64_t addr = (uint64_t)s->cmdq_h << 32 | (val & ~0xfffu);

	s->cmdq_l = val & ~0xfffu;
	s->nic_ifc = val >> NIC_IFC_SHIFT & 7;
	if (s->nic_ifc == MLX5_INITIAL_SEG_NIC_INTERFACE_FULL_DRIVER)
		cmdif_set_queue(hca, addr);
	hca_trace(hca, "cmdq", "\"addr\":\"0x%llx\",\"nic_ifc\":%u", (unsigned long long)addr,
		  s->nic_ifc);
	if (s->nic_ifc == MLX5_INITIAL_SEG_NIC_INTERFACE_SW_RESET)
		hca_reset(hca);
}

/**
 * iseg_write() - write a register, unless it is read-only or firmware initializes
 * @hca: the HCA
 * @off: bytes from BAR0's start, a multiple of 4
 * @val: the value
 */
void iseg_write(struct hca *hca, uint32_t off, uint32_t val)
{
	if (iseg_initializing(hca->iseg)) {
		hca->count.reg_early++;
		return;
	}
	switch (off) {
	case ISEG_CMDQ_H:
		hca->iseg->cmdq_h = val;
		break;
	case ISEG_CMDQ_L:
		iseg_write_cmdq_low(hca, val);
		break;
	case ISEG_CMD_DBELL:
		cmdif_doorbell(hca, val);
		break;
	default:
		break;
	}
}
