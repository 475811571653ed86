/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The PCI function: config space and BARs as ranges of bytes.
 */
#ifndef BLUEBELL_PCI_H
#define BLUEBELL_PCI_H

#include <stdbool.h>
#include <stdint.h>

struct hca;
struct hca_module;

#define PCI_CONFIG_SIZE	4096
#define MSIX_SIZE	8192	/* of the table and the pending bits, one half each */
#define MSIX_IN_BAR0	0x2000	/* their offset in BAR0, if the profile has only this BAR */

void pci_power_on(struct hca *hca);
bool pci_irq_allowed(struct hca *hca, unsigned int vector);
uint64_t pci_bar_size(struct hca *hca, unsigned int bar);
void pci_config_read(struct hca *hca, uint32_t off, uint8_t *buf, uint32_t len);
void pci_config_write(struct hca *hca, uint32_t off, const uint8_t *buf, uint32_t len);
void pci_bar_read(struct hca *hca, unsigned int bar, uint64_t off, uint8_t *buf, uint32_t len);
void pci_bar_write(struct hca *hca, unsigned int bar, uint64_t off, const uint8_t *buf,
		   uint32_t len);

extern const struct hca_module pci_module;

#endif
