/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The PCI function below vfio-user: config space and BARs as byte ranges.
 */
#ifndef BLUEBELL_PCI_H
#define BLUEBELL_PCI_H

#include "hca.h"

#define PCI_CONFIG_SIZE	4096
#define MSIX_BAR_SIZE	8192	/* BAR2: table in the first half, pending bits in the second */

int pci_init(struct hca *hca);
void pci_exit(struct hca *hca);
uint64_t pci_bar_size(struct hca *hca, unsigned int bar);
void pci_config_read(struct hca *hca, uint32_t off, uint8_t *buf, uint32_t len);
void pci_config_write(struct hca *hca, uint32_t off, const uint8_t *buf, uint32_t len);
void pci_bar_read(struct hca *hca, unsigned int bar, uint64_t off, uint8_t *buf, uint32_t len);
void pci_bar_write(struct hca *hca, unsigned int bar, uint64_t off, const uint8_t *buf,
		   uint32_t len);

/* iseg.c */
int iseg_init(struct hca *hca);
void iseg_exit(struct hca *hca);
void iseg_reset(struct hca *hca);
uint32_t iseg_read(struct hca *hca, uint32_t off);
void iseg_write(struct hca *hca, uint32_t off, uint32_t val);
#define ISEG_SIZE	0x3000	/* three pages of BAR0 that are not UARs */

/* cmdif.c: the command queue's registers */
void cmdif_set_queue(struct hca *hca, uint64_t addr);
void cmdif_doorbell(struct hca *hca, uint32_t slots);
unsigned int cmdif_log_size(void);
unsigned int cmdif_log_stride(void);

/* uar.c */
void uar_write(struct hca *hca, uint64_t off, const uint8_t *buf, uint32_t len);
bool uar_bf_pending(struct hca *hca);
void uar_idle(struct hca *hca);

#endif
