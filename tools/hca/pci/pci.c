// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI function: config space with its capabilities, and which
 * part of the HCA an access to a BAR goes to.
 */
#include <endian.h>
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <string.h>

#include "hca.h"
#include "ifc.h"
#include "iseg.h"
#include "memic.h"
#include "pci.h"
#include "profile.h"
#include "uar.h"
#include "util.h"
#include "vpd.h"
#include "vsc.h"

/* Capabilities. The list begins with PCI Express, and ends with power management. */
#define CAP_PM		0x40
#define CAP_VPD		0x48
#define CAP_EXP		0x60
#define CAP_MSIX	0x9c
#define CAP_VSC		0xc0

/* Extended capabilities. */
#define CAP_AER		0x100
#define CAP_ARI		0x150
#define CAP_SECONDARY	0x1c0
#define CAP_LANE_MARGIN	0x320
#define CAP_PHY_16GT	0x370
#define CAP_PHY_32GT	0x3b0
#define CAP_DATA_LINK	0x420

/* Identifiers that older headers lack. */
#define EXT_LANE_MARGIN	0x27
#define EXT_PHY_32GT	0x2a

#define MSIX_PBA	(MSIX_SIZE / 2)	/* pending bits, behind the table */

#define PCI_VENDOR_MELLANOX	0x15b3
#define PCI_SUBSYS		0x0007

#define PM_VERSION	3
#define PM_AUX_375MA	(7 << 6)
#define LATENCY_NO_LIMIT (7 << 6 | 7 << 9)	/* of the link's states L0s and L1 */
#define ASPM_OPTIONAL	(1 << 22)	/* ASPM Optionality Compliance */
#define RETIMERS	(3 << 23)	/* the link can detect one and two retimers */
#define EQUALIZED	0x1e		/* equalization is complete, with its three phases */
#define TIMEOUT_ABC	0x7		/* ranges of the completion time-out */
#define TIMEOUT_ABCD	0xf
#define TAG_10BIT_COMPLETER (1 << 16)
#define TAG_10BIT_REQUESTER (1 << 17)
#define PART_CONNECTX_5	4119		/* older parts have smaller numbers */
#define PART_CONNECTX_6	4123

/* Bits of errors that the function could report; AER_SEVERE: the fatal errors. */
#define AER_SEVERE	(PCI_ERR_UNC_DLP | PCI_ERR_UNC_FCP | PCI_ERR_UNC_RX_OVER | \
			 PCI_ERR_UNC_MALF_TLP)
#define AER_UNCORRECTABLE (AER_SEVERE | PCI_ERR_UNC_POISON_TLP | PCI_ERR_UNC_COMP_TIME | \
			   PCI_ERR_UNC_COMP_ABORT | PCI_ERR_UNC_UNX_COMP | PCI_ERR_UNC_ECRC | \
			   PCI_ERR_UNC_UNSUP)
#define AER_CORRECTABLE	(PCI_ERR_COR_RCVR | PCI_ERR_COR_BAD_TLP | PCI_ERR_COR_BAD_DLLP | \
			 PCI_ERR_COR_REP_ROLL | PCI_ERR_COR_REP_TIMER | PCI_ERR_COR_ADV_NFAT)

struct pci {
	uint8_t cfg[PCI_CONFIG_SIZE];
	uint8_t wmask[PCI_CONFIG_SIZE];	/* bits that a write changes */
	uint8_t msix[MSIX_SIZE];
	struct vsc vsc;			/* registers of the vendor-specific capability */
	uint8_t vpd[VPD_SIZE];
};

static void put_le16(uint8_t *p, uint16_t v)
{
	v = htole16(v);
	memcpy(p, &v, sizeof(v));
}

static void put_le32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static uint16_t get_le16(const uint8_t *p)
{
	return p[0] | p[1] << 8;
}

static uint32_t get_le32(const uint8_t *p)
{
	return get_le16(p) | (uint32_t)get_le16(p + 2) << 16;
}

static void pci_bar_setup(struct pci *pci, unsigned int bar, uint64_t size, uint32_t flags)
{
	uint8_t *reg = pci->cfg + PCI_BASE_ADDRESS_0 + 4 * bar;
	uint8_t *mask = pci->wmask + PCI_BASE_ADDRESS_0 + 4 * bar;

	put_le32(reg, flags);
	put_le32(mask, (uint32_t)~(size - 1));
	if (flags & PCI_BASE_ADDRESS_MEM_TYPE_64)
		put_le32(mask + 4, (uint32_t)(~(size - 1) >> 32));
}

static void pci_cap_pm(struct pci *pci)
{
	uint8_t *c = pci->cfg + CAP_PM;

	c[0] = PCI_CAP_ID_PM;
	c[1] = 0;
	put_le16(c + PCI_PM_PMC, PM_VERSION | PM_AUX_375MA | PCI_PM_CAP_PME_D3cold);
	put_le16(c + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	put_le16(pci->wmask + CAP_PM + PCI_PM_CTRL,
		 PCI_PM_CTRL_STATE_MASK | PCI_PM_CTRL_PME_ENABLE);
}

static void pci_cap_vpd(struct hca *hca)
{
	struct pci *pci = hca->pci;

	pci->cfg[CAP_VPD] = PCI_CAP_ID_VPD;
	pci->cfg[CAP_VPD + 1] = CAP_MSIX;
	put_le16(pci->wmask + CAP_VPD + PCI_VPD_ADDR, 0xffff);
	vpd_fill(hca, pci->vpd);
}

/* A write of an address reads the four bytes there, and sets the flag. VPD is read-only. */
static void pci_vpd_read(struct pci *pci)
{
	uint8_t *c = pci->cfg + CAP_VPD;
	uint16_t addr = get_le16(c + PCI_VPD_ADDR);

	if (addr & PCI_VPD_ADDR_F)
		return;
	memset(c + PCI_VPD_DATA, 0, 4);
	if (addr <= VPD_SIZE - 4)
		memcpy(c + PCI_VPD_DATA, pci->vpd + addr, 4);
	put_le16(c + PCI_VPD_ADDR, addr | PCI_VPD_ADDR_F);
}

/* AER never has an error to report, but cards have a First Error Pointer without an error, too. */
static void pci_cap_aer(struct hca *hca)
{
	uint32_t pointer = hca->profile->part < PART_CONNECTX_5 ? 4 : 8;
	uint8_t *c = hca->pci->cfg + CAP_AER, *mask = hca->pci->wmask + CAP_AER;

	put_le32(c + PCI_ERR_CAP, pointer | PCI_ERR_CAP_ECRC_GENC | PCI_ERR_CAP_ECRC_CHKC);
	put_le32(mask + PCI_ERR_CAP, PCI_ERR_CAP_ECRC_GENE | PCI_ERR_CAP_ECRC_CHKE);
	put_le32(mask + PCI_ERR_UNCOR_MASK, AER_UNCORRECTABLE);
	put_le32(c + PCI_ERR_UNCOR_SEVER, AER_SEVERE);
	put_le32(mask + PCI_ERR_UNCOR_SEVER, AER_UNCORRECTABLE);
	put_le32(c + PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NFAT);
	put_le32(mask + PCI_ERR_COR_MASK, AER_CORRECTABLE);
}

/*
 * The extended capabilities, all of version 1: AER; ARI, with no next function; and those that a
 * link of the generation has.
 */
static void pci_caps_extended(struct hca *hca, unsigned int generation)
{
	static const struct { uint16_t at, id, generation; } caps[] = {
		{ CAP_AER, PCI_EXT_CAP_ID_ERR, 0 }, { CAP_ARI, PCI_EXT_CAP_ID_ARI, 0 },
		{ CAP_SECONDARY, PCI_EXT_CAP_ID_SECPCI, 3 },
		{ CAP_LANE_MARGIN, EXT_LANE_MARGIN, 4 },
		{ CAP_PHY_16GT, PCI_EXT_CAP_ID_PL_16GT, 4 }, { CAP_PHY_32GT, EXT_PHY_32GT, 5 },
		{ CAP_DATA_LINK, PCI_EXT_CAP_ID_DLF, 4 },
	};
	uint32_t next = 0;
	unsigned int i;

	for (i = ARRAY_SIZE(caps); i--;) {
		if (caps[i].generation > generation)
			continue;
		put_le32(hca->pci->cfg + caps[i].at, caps[i].id | 1 << 16 | next << 20);
		next = caps[i].at;
	}
	pci_cap_aer(hca);
}

/* The registers that version 2 of the PCI Express capability added. */
static void pci_cap_exp2(struct hca *hca, uint8_t *c, unsigned int generation)
{
	uint32_t cap = PCI_EXP_DEVCAP2_COMP_TMOUT_DIS;

	cap |= hca->profile->part < PART_CONNECTX_6 ? TIMEOUT_ABCD : TIMEOUT_ABC;
	if (generation >= 4)
		cap |= TAG_10BIT_COMPLETER;
	if (generation >= 5)
		cap |= TAG_10BIT_REQUESTER | PCI_EXP_DEVCAP2_ATOMIC_COMP32 |
		       PCI_EXP_DEVCAP2_ATOMIC_COMP64 | PCI_EXP_DEVCAP2_ATOMIC_COMP128;
	put_le32(c + PCI_EXP_DEVCAP2, cap);
	/* A bit for each generation, from bit 1. */
	put_le32(c + PCI_EXP_LNKCAP2, ((1 << generation) - 1) << 1 |
		 (generation >= 4 ? RETIMERS : 0));
	put_le16(c + PCI_EXP_LNKCTL2, generation);
	put_le16(c + PCI_EXP_LNKSTA2, EQUALIZED);
}

static void pci_cap_exp(struct hca *hca, struct pcie_link link)
{
	struct pci *pci = hca->pci;
	uint8_t *c = pci->cfg + CAP_EXP;

	c[0] = PCI_CAP_ID_EXP;
	c[1] = CAP_VPD;
	put_le16(c + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	/* 512 bytes of payload, extended tags, function reset. */
	put_le32(c + PCI_EXP_DEVCAP, 2 | LATENCY_NO_LIMIT | PCI_EXP_DEVCAP_EXT_TAG |
		 PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR);
	put_le16(c + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_READRQ_512B | PCI_EXP_DEVCTL_RELAX_EN |
		 PCI_EXP_DEVCTL_NOSNOOP_EN);
	put_le16(pci->wmask + CAP_EXP + PCI_EXP_DEVCTL, 0xffff & ~PCI_EXP_DEVCTL_BCR_FLR);
	put_le32(c + PCI_EXP_LNKCAP, link.generation | link.lanes << 4 | ASPM_OPTIONAL);
	put_le16(c + PCI_EXP_LNKSTA, link.generation | link.lanes << 4 | PCI_EXP_LNKSTA_SLC);
	put_le16(pci->wmask + CAP_EXP + PCI_EXP_LNKCTL, 0x01ff);
	put_le16(pci->wmask + CAP_EXP + PCI_EXP_DEVCTL2, 0x001f | PCI_EXP_DEVCTL2_IDO_REQ_EN |
		 PCI_EXP_DEVCTL2_IDO_CMP_EN);
	pci_cap_exp2(hca, c, link.generation);
}

/* The BAR with the vector table and, behind it, the pending bits. */
static unsigned int pci_msix_bar(const struct hca *hca)
{
	return hca->profile->one_bar ? 0 : 2;
}

/* Where the vector table begins in the BAR of pci_msix_bar(). */
static uint32_t pci_msix_start(const struct hca *hca)
{
	return hca->profile->one_bar ? MSIX_IN_BAR0 : 0;
}

static bool pci_is_msix(const struct hca *hca, unsigned int bar, uint64_t off)
{
	uint32_t start = pci_msix_start(hca);

	return bar == pci_msix_bar(hca) && off >= start && off - start < MSIX_SIZE;
}

static void pci_cap_msix(struct hca *hca)
{
	uint32_t start = pci_msix_start(hca), bar = pci_msix_bar(hca);
	struct pci *pci = hca->pci;
	uint8_t *c = pci->cfg + CAP_MSIX;

	c[0] = PCI_CAP_ID_MSIX;
	c[1] = CAP_VSC;
	put_le16(c + PCI_MSIX_FLAGS, hca->profile->vectors - 1);
	put_le16(pci->wmask + CAP_MSIX + PCI_MSIX_FLAGS,
		 PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put_le32(c + PCI_MSIX_TABLE, start | bar);
	put_le32(c + PCI_MSIX_PBA, (start + MSIX_PBA) | bar);
}

static void pci_cap_vsc(struct pci *pci)
{
	uint8_t *c = pci->cfg + CAP_VSC;

	c[0] = PCI_CAP_ID_VNDR;
	c[1] = CAP_PM;
	c[PCI_CAP_FLAGS] = VSC_SIZE;
}

/**
 * pci_power_on() - give the function the config space that it has after power on
 * @hca: the HCA; its profile says how many interrupt vectors there are
 */
void pci_power_on(struct hca *hca)
{
	struct pcie_link link = profile_pcie_link(hca->profile);
	struct pci *pci = hca->pci;
	uint8_t *c = pci->cfg;

	memset(pci, 0, sizeof(*pci));
	hca->dma_off = true;	/* until the driver makes the function a bus master */
	put_le16(c + PCI_VENDOR_ID, PCI_VENDOR_MELLANOX);
	put_le16(c + PCI_DEVICE_ID, hca->profile->part);
	put_le16(c + PCI_STATUS, PCI_STATUS_CAP_LIST);
	put_le16(c + PCI_CLASS_DEVICE, hca->profile->eth ? 0x0200 : 0x0207);
	c[PCI_CACHE_LINE_SIZE] = 16;
	put_le16(c + PCI_SUBSYSTEM_VENDOR_ID, PCI_VENDOR_MELLANOX);
	put_le16(c + PCI_SUBSYSTEM_ID, PCI_SUBSYS);
	c[PCI_CAPABILITY_LIST] = CAP_EXP;
	put_le16(pci->wmask + PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER |
		 PCI_COMMAND_PARITY | PCI_COMMAND_SERR | PCI_COMMAND_INTX_DISABLE);
	pci->wmask[PCI_CACHE_LINE_SIZE] = 0xff;
	pci->wmask[PCI_INTERRUPT_LINE] = 0xff;
	pci_bar_setup(pci, 0, pci_bar_size(hca, 0),
		      PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	if (!hca->profile->one_bar)
		pci_bar_setup(pci, 2, MSIX_SIZE, PCI_BASE_ADDRESS_MEM_TYPE_64);
	pci_cap_pm(pci);
	pci_cap_vpd(hca);
	pci_cap_exp(hca, link);
	pci_cap_msix(hca);
	pci_cap_vsc(pci);
	pci_caps_extended(hca, link.generation);
}

static int pci_init(struct hca *hca)
{
	hca->pci = calloc(1, sizeof(*hca->pci));
	if (!hca->pci)
		return -ENOMEM;
	pci_power_on(hca);
	return 0;
}

static void pci_restart(struct hca *hca)
{
	memset(hca->pci->msix + MSIX_PBA, 0, MSIX_SIZE - MSIX_PBA);
	vsc_reset(&hca->pci->vsc);
}

static void pci_exit(struct hca *hca)
{
	free(hca->pci);
	hca->pci = NULL;
}

const struct hca_module pci_module = {
	.name = "pci", .init = pci_init, .restart = pci_restart, .exit = pci_exit,
};

/**
 * pci_bar_size() - size of a BAR
 * @hca: the HCA
 * @bar: 0 to 5
 *
 * Return: bytes, 0 for a BAR that does not exist or is the upper half of a 64-bit BAR.
 */
uint64_t pci_bar_size(struct hca *hca, unsigned int bar)
{
	switch (bar) {
	case 0:
		return 1ULL << hca->profile->log_bar_size;
	case 2:
		return hca->profile->one_bar ? 0 : MSIX_SIZE;
	default:
		return 0;
	}
}

/* Whether an access is to one whole register of the vendor-specific capability. */
static bool pci_is_vsc_register(uint32_t off, uint32_t len)
{
	return len == 4 && !(off % 4) && off > CAP_VSC && off < CAP_VSC + VSC_SIZE;
}

/**
 * pci_config_read() - read config space
 * @hca: the HCA
 * @off: bytes from the start
 * @buf: destination
 * @len: bytes; what lies beyond the end reads as zero
 */
void pci_config_read(struct hca *hca, uint32_t off, uint8_t *buf, uint32_t len)
{
	uint32_t i;

	if (!hca->unplugged && pci_is_vsc_register(off, len)) {
		put_le32(buf, vsc_read(&hca->pci->vsc, off - CAP_VSC));
		return;
	}
	for (i = 0; i < len; i++)
		buf[i] = hca->unplugged ? 0xff :
			 off + i < PCI_CONFIG_SIZE ? hca->pci->cfg[off + i] : 0;
}

static bool pci_bus_master(const struct pci *pci)
{
	return get_le16(pci->cfg + PCI_COMMAND) & PCI_COMMAND_MASTER;
}

static bool pci_in_d0(const struct pci *pci)
{
	return !(get_le16(pci->cfg + CAP_PM + PCI_PM_CTRL) & PCI_PM_CTRL_STATE_MASK);
}

/* ---- requests of the function: DMA and interrupts -------------------------------------------- */

/**
 * pci_irq_allowed() - tell whether the function can send an interrupt
 * @hca: the HCA
 * @vector: MSI-X vector
 *
 * An MSI-X is a memory write. If the function may not send memory writes, the vector's pending bit
 * is set, and the interrupt is sent when the function may send memory writes again.
 *
 * Return: true if it can.
 */
bool pci_irq_allowed(struct hca *hca, unsigned int vector)
{
	if (!hca->dma_off)
		return true;
	hca->pci->msix[MSIX_PBA + vector / 8] |= 1u << vector % 8;
	return false;
}

static void pci_irq_send_pending(struct hca *hca)
{
	unsigned int i;

	for (i = 0; i < hca->profile->vectors; i++) {
		uint8_t *b = &hca->pci->msix[MSIX_PBA + i / 8], bit = 1u << i % 8;

		if (!(*b & bit))
			continue;
		*b &= ~bit;
		hca->board->irq->raise(hca, i);
	}
}

static void pci_update_dma(struct hca *hca)
{
	bool off = !pci_bus_master(hca->pci) || !pci_in_d0(hca->pci), was = hca->dma_off;

	hca->dma_off = off;
	if (was && !off)
		pci_irq_send_pending(hca);
}

/**
 * pci_config_write() - write config space
 * @hca: the HCA
 * @off: bytes from the start
 * @buf: the bytes
 * @len: number of bytes
 *
 * Read-only bits keep their value. A function level reset is done at once.
 */
void pci_config_write(struct hca *hca, uint32_t off, const uint8_t *buf, uint32_t len)
{
	struct pci *pci = hca->pci;
	bool flr = false;
	uint32_t i;

	if (hca->unplugged)
		return;
	if (pci_is_vsc_register(off, len))
		vsc_write(&pci->vsc, off - CAP_VSC, get_le32(buf));
	for (i = 0; i < len && off + i < PCI_CONFIG_SIZE; i++) {
		uint8_t m = pci->wmask[off + i];

		pci->cfg[off + i] = (pci->cfg[off + i] & ~m) | (buf[i] & m);
		if (off + i == CAP_EXP + PCI_EXP_DEVCTL + 1)
			flr = buf[i] & PCI_EXP_DEVCTL_BCR_FLR >> 8;
	}
	if (off <= CAP_VPD + PCI_VPD_ADDR + 1 && off + len > CAP_VPD + PCI_VPD_ADDR + 1)
		pci_vpd_read(pci);
	pci_update_dma(hca);
	if (flr)
		hca_reset(hca);
}

static bool pci_memory_on(struct hca *hca)
{
	return !hca->unplugged && pci_in_d0(hca->pci) &&
	       get_le16(hca->pci->cfg + PCI_COMMAND) & PCI_COMMAND_MEMORY;
}

/* Read each register once, whichever of its bytes are asked for. Latch the clocks first. */
static void pci_registers_read(struct hca *hca, uint64_t off, uint8_t *buf, uint32_t len)
{
	uint8_t word[4];
	uint32_t i;

	iseg_latch(hca);
	for (i = 0; i < len; i++) {
		if (!i || !((off + i) % 4))
			put_be32(word, iseg_read(hca, (off + i) & ~3u));
		buf[i] = word[(off + i) % 4];
	}
}

/* What lies beyond the pending bits reads as zero. */
static void pci_msix_read(struct hca *hca, uint32_t at, uint8_t *buf, uint32_t len)
{
	uint32_t n = len < MSIX_SIZE - at ? len : MSIX_SIZE - at;

	memcpy(buf, hca->pci->msix + at, n);
	memset(buf + n, 0, len - n);
}

/* The pending bits are read-only. */
static void pci_msix_write(struct hca *hca, uint32_t at, const uint8_t *buf, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len && at + i < MSIX_PBA; i++)
		hca->pci->msix[at + i] = buf[i];
}

static void pci_bar0_read(struct hca *hca, uint64_t off, uint8_t *buf, uint32_t len)
{
	if (memic_bar_read(hca, off, buf, len))
		return;
	/*
	 * UAR pages are write-only: they read as zero. A processor writes out the stores that it
	 * combines before it reads, so no more stores of an incomplete BlueFlame write will come.
	 */
	memset(buf, 0, len);
	if (off >= ISEG_SIZE) {
		uar_idle(hca);
		return;
	}
	pci_registers_read(hca, off, buf, len);
}

/**
 * pci_bar_read() - serve a read by the guest
 * @hca: the HCA
 * @bar: number of the BAR
 * @off: bytes from the BAR's start, checked by the caller
 * @buf: destination
 * @len: bytes
 */
void pci_bar_read(struct hca *hca, unsigned int bar, uint64_t off, uint8_t *buf, uint32_t len)
{
	hca->count.reg_reads++;
	if (!pci_memory_on(hca)) {
		memset(buf, 0xff, len);
		return;
	}
	if (pci_is_msix(hca, bar, off))
		pci_msix_read(hca, off - pci_msix_start(hca), buf, len);
	else
		pci_bar0_read(hca, off, buf, len);
}

/**
 * pci_bar_write() - serve a write by the guest
 * @hca: the HCA
 * @bar: number of the BAR
 * @off: bytes from the BAR's start, checked by the caller
 * @buf: the bytes
 * @len: number of bytes
 */
void pci_bar_write(struct hca *hca, unsigned int bar, uint64_t off, const uint8_t *buf,
		   uint32_t len)
{
	uint32_t i;

	hca->count.reg_writes++;
	if (!pci_memory_on(hca))
		return;
	if (pci_is_msix(hca, bar, off)) {
		pci_msix_write(hca, off - pci_msix_start(hca), buf, len);
		return;
	}
	if (memic_bar_write(hca, off, buf, len))
		return;
	if (off >= ISEG_SIZE) {
		uar_write(hca, off, buf, len);
		return;
	}
	if (off % 4 || len % 4)
		return;
	uar_idle(hca);		/* doorbells that came before a command take effect before it */
	for (i = 0; i < len; i += 4)
		iseg_write(hca, off + i, get_be32(buf + i));
}
