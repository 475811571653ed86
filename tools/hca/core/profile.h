/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Profiles: what an HCA can do. A built-in default, and JSON files that change it.
 */
#ifndef BLUEBELL_PROFILE_H
#define BLUEBELL_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "object.h"

#define HCA_CAP_SIZE	4096	/* bytes of the union hca_cap_union */
#define HCA_CAP_TYPES	0x40	/* all types of capabilities are below this */

/* Types of capabilities, as MLX5_CAP_* in linux/mlx5/device.h. */
enum hca_cap_type {
	CAP_GENERAL = 0x00, CAP_ETH = 0x01, CAP_ODP = 0x02, CAP_ATOMIC = 0x03, CAP_ROCE = 0x04,
	CAP_FLOW_TABLE = 0x07, CAP_QOS = 0x0c, CAP_DEV_MEM = 0x0f, CAP_DEV_EVENT = 0x14,
	CAP_GENERAL_2 = 0x20,
};

#define PROFILE_PKEYS	32	/* entries of the P_Key table that a profile can set */

/* Bytes of the longest frame of an Ethernet port without FCS: by default, and the least. */
#define PROFILE_ETH_MTU		10240
#define PROFILE_ETH_MTU_MIN	1522

#define MEMIC_UNIT	64	/* bytes: the least alignment of device memory */
#define IEEE_VENDOR_ID	0x0002c9	/* of all cards, in verbs and in NodeInfo */

/* Operations on device memory; bits of memic_operations. */
enum memic_op { MEMIC_INCREMENT = 0, MEMIC_TEST_AND_SET = 1, MEMIC_OPS };

/* Speed of a lane, as in PortInfo.LinkSpeedExt*: 14, 25, 50 and 100 Gb/s. */
enum link_speed { SPEED_FDR = 1, SPEED_EDR = 2, SPEED_HDR = 4, SPEED_NDR = 8 };

/* The PCI Express link that a part can have. Generation 3 is 8 GT/s, 4 16 GT/s, 5 32 GT/s. */
struct pcie_link {
	uint8_t generation, lanes;
};

#define UAR_LOG_SIZE	12	/* log2 of the bytes of a UAR, with pages of 4 KiB */

struct obj_range {
	uint32_t first;		/* lowest object number */
	uint32_t limit;		/* one more than the highest object number */
};

struct profile {
	char name[64];
	bool eth;			/* true: Ethernet port; false: InfiniBand port */
	unsigned int log_bar_size;	/* of BAR0, bytes */
	unsigned int vectors;		/* MSI-X */
	bool one_bar;			/* BAR0 has the MSI-X table, too; false: BAR2 has it */
	unsigned int boot_pages, init_pages;
	unsigned int command_delay_us;	/* the longest wait before a command is executed, and before
					 * it is answered; 0: no wait */
	unsigned int command_timeout_ms;	/* time-out of commands; 0: the driver's default */
	unsigned int log_min_ack_timeout;	/* least retry timer, 4.096 us * 2^n; 0: no limit */
	unsigned int initializing_ms;	/* how long firmware initializes after a reset */
	char fw_version[32];		/* "16.35.4030" */
	char psid[17];
	unsigned int part;		/* PCI device id */
	char node_description[64];	/* "": the HCA's own, with the number of the HCA */
	uint32_t core_clock_khz;
	struct obj_range range[OBJ_KINDS];
	uint16_t pkey[PROFILE_PKEYS];	/* first entries of the P_Key table; 0: not used */
	unsigned int gids;		/* entries of the GID table that are used */
	unsigned int mtu;		/* of the port, bytes; of an Ethernet port the longest
					 * frame, without FCS */
	uint8_t link_speed;		/* of an InfiniBand link, enum link_speed */
	uint32_t port_caps;		/* CapabilityMask of the port's PortInfo */
	uint16_t port_caps_2;		/* CapabilityMask2 */
	unsigned int virtual_functions;	/* that have a vport; none of them is on the PCI bus */
	unsigned int min_wqe_inline_mode;	/* of the vport: headers that have to be in WQEs, if
						 * the capability wqe_inline_mode is 1 */
	unsigned int vport_speed;	/* vport's speed limit in units of 100 Mb/s; 0: no limit */
	bool no_performance_agent;	/* MAD_IFC has no agent for performance management */
	bool subnet_manager;		/* the fabric has one; false: a host has to run one */
	bool refuse_busy_uars;		/* DEALLOC_UAR fails while queues use the UAR */
	bool one_clock;			/* qpc.ts_format is reserved: queue pairs have one clock */
	bool cycle_numbers;		/* a freed number is reused only after all higher numbers */
	bool highest_numbers;		/* new objects get the highest free number */
	unsigned int objects_per_page;	/* objects for which the HCA asks for a page; 0: never */
	bool no_write_combining;	/* stores to BlueFlame registers arrive one by one */
	bool map_memic;			/* guests map device memory, else accesses are trapped */
	bool pack_memic_ops;		/* operations of several allocations can share a page */
	unsigned int max_translation_mb;	/* MiB of translation tables of all memory keys and
						 * umems */
	/* Capabilities by type: [0] the maximum, [1] the current ones before SET_HCA_CAP. */
	uint8_t cap[2][HCA_CAP_TYPES][HCA_CAP_SIZE];
	bool cap_valid[HCA_CAP_TYPES];
};

int profile_default(struct profile *p, bool eth);
int profile_load(struct profile *p, const char *path, char *why, size_t why_len);
int profile_check(const struct profile *p, char *why, size_t why_len);
int profile_from_card(const char *settings, const char *dir, FILE *out, FILE *report, char *why,
		      size_t len);
uint32_t profile_hw_id(const struct profile *p);
struct pcie_link profile_pcie_link(const struct profile *p);
uint32_t profile_uar_end(const struct profile *p);
bool profile_find_cap(const char *page, const char *field, unsigned int *type, uint32_t *off,
		      uint32_t *width);

#endif
