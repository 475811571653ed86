// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI function: what config space and the initialization segment hold after power on, which
 * bits of config space a driver can change, and which accesses to a BAR go nowhere.
 */
#include <linux/pci_regs.h>
#include <string.h>
#include <time.h>

#include "cmd.h"
#include "corerig.h"
#include "iseg.h"
#include "mem.h"
#include "pci.h"
#include "profile.h"
#include "util.h"
#include "vfio_user.h"
#include "vpd.h"

#define PM	0x40
#define VPD	0x48
#define EXP	0x60
#define MSIX	0x9c
#define VSC	0xc0
#define AER	0x100

static uint64_t config(uint32_t off, uint32_t len)
{
	uint8_t b[8] = { 0 };
	uint64_t v = 0;
	unsigned int i;

	pci_config_read(core.hca, off, b, len);
	for (i = len; i--;)
		v = v << 8 | b[i];
	return v;
}

static void set_config(uint32_t off, uint64_t v, uint32_t len)
{
	uint8_t b[8];
	unsigned int i;

	for (i = 0; i < len; i++)
		b[i] = v >> 8 * i;
	pci_config_write(core.hca, off, b, len);
}

/*
 * What a register holds after power on, and after a driver has written ones, and then zeros, to it.
 * The list is in the order of config space; all bytes that it leaves out are 0 and stay 0.
 */
static const struct row {
	uint16_t off, len;
	uint32_t first, ones, zeros;
} rows[] = {
	{ PCI_VENDOR_ID, 2, 0x15b3, 0x15b3, 0x15b3 },
	{ PCI_DEVICE_ID, 2, 4119, 4119, 4119 },
	{ PCI_COMMAND, 2, 0, 0x0546, 0 },
	{ PCI_STATUS, 2, PCI_STATUS_CAP_LIST, PCI_STATUS_CAP_LIST, PCI_STATUS_CAP_LIST },
	{ PCI_CLASS_DEVICE, 2, 0x0207, 0x0207, 0x0207 },
	{ PCI_CACHE_LINE_SIZE, 1, 16, 0xff, 0 },
	{ PCI_BASE_ADDRESS_0, 4, 0xc, 0xfe00000c, 0xc },
	{ PCI_BASE_ADDRESS_1, 4, 0, 0xffffffff, 0 },
	{ PCI_BASE_ADDRESS_2, 4, 0x4, 0xffffe004, 0x4 },
	{ PCI_BASE_ADDRESS_3, 4, 0, 0xffffffff, 0 },
	{ PCI_SUBSYSTEM_VENDOR_ID, 2, 0x15b3, 0x15b3, 0x15b3 },
	{ PCI_SUBSYSTEM_ID, 2, 7, 7, 7 },
	{ PCI_CAPABILITY_LIST, 1, EXP, EXP, EXP },
	{ PCI_INTERRUPT_LINE, 1, 0, 0xff, 0 },
	{ PM, 2, PCI_CAP_ID_PM, PCI_CAP_ID_PM, PCI_CAP_ID_PM },
	{ PM + PCI_PM_PMC, 2, 0x81c3, 0x81c3, 0x81c3 },
	{ PM + PCI_PM_CTRL, 2, 8, 0x10b, 8 },
	{ VPD, 2, PCI_CAP_ID_VPD | MSIX << 8, PCI_CAP_ID_VPD | MSIX << 8,
	  PCI_CAP_ID_VPD | MSIX << 8 },
	{ VPD + PCI_VPD_ADDR, 2, 0, 0xffff, PCI_VPD_ADDR_F },
	{ VPD + PCI_VPD_DATA, 4, 0, 0, 0x42001e82 },
	{ EXP, 4, 0x00020010 | VPD << 8, 0x00020010 | VPD << 8, 0x00020010 | VPD << 8 },
	{ EXP + PCI_EXP_DEVCAP, 4, 0x10008fe2, 0x10008fe2, 0x10008fe2 },
	{ EXP + PCI_EXP_DEVCTL, 2, 0x2810, 0x7fff, 0 },
	{ EXP + PCI_EXP_LNKCAP, 4, 0x400103, 0x400103, 0x400103 },
	{ EXP + PCI_EXP_LNKCTL, 2, 0, 0x1ff, 0 },
	{ EXP + PCI_EXP_LNKSTA, 2, 0x1103, 0x1103, 0x1103 },
	{ EXP + PCI_EXP_DEVCAP2, 4, 0x1f, 0x1f, 0x1f },
	{ EXP + PCI_EXP_DEVCTL2, 2, 0, 0x31f, 0 },
	{ EXP + PCI_EXP_LNKCAP2, 4, 0xe, 0xe, 0xe },
	{ EXP + PCI_EXP_LNKCTL2, 2, 3, 3, 3 },
	{ EXP + PCI_EXP_LNKSTA2, 2, 0x1e, 0x1e, 0x1e },
	{ MSIX, 2, PCI_CAP_ID_MSIX | VSC << 8, PCI_CAP_ID_MSIX | VSC << 8,
	  PCI_CAP_ID_MSIX | VSC << 8 },
	{ MSIX + PCI_MSIX_FLAGS, 2, 31, 0xc01f, 31 },
	{ MSIX + PCI_MSIX_TABLE, 4, 2, 2, 2 },
	{ MSIX + PCI_MSIX_PBA, 4, 0x1002, 0x1002, 0x1002 },
	{ VSC, 4, 0x180009 | PM << 8, 0x180009 | PM << 8, 0x180009 | PM << 8 },
	{ AER, 4, 0x15010001, 0x15010001, 0x15010001 },
	{ AER + PCI_ERR_UNCOR_MASK, 4, 0, 0x001ff010, 0 },
	{ AER + PCI_ERR_UNCOR_SEVER, 4, 0x00062010, 0x001ff010, 0 },
	{ AER + PCI_ERR_COR_MASK, 4, 0x2000, 0x31c1, 0 },
	{ AER + PCI_ERR_CAP, 4, 0xa8, 0x1e8, 0xa8 },
	{ 0x150, 4, 0x1c01000e, 0x1c01000e, 0x1c01000e },
	{ 0x1c0, 4, 0x00010019, 0x00010019, 0x00010019 },
};

static bool in_row(uint32_t off)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		if (off >= rows[i].off && off < rows[i].off + rows[i].len)
			return true;
	return false;
}

static void registers_hold(unsigned int i, const char *when, uint32_t want)
{
	uint32_t got = config(rows[i].off, rows[i].len);

	if (got != want)
		fail_msg("0x%x has 0x%x and not 0x%x %s", rows[i].off, got, want, when);
}

static void registers_have_their_values_and_masks(void **state)
{
	unsigned int i;

	(void)state;
	pci_power_on(core.hca);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		registers_hold(i, "after power on", rows[i].first);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		set_config(rows[i].off, 0xffffffff, rows[i].len);
		registers_hold(i, "after ones", rows[i].ones);
	}
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		set_config(rows[i].off, 0, rows[i].len);
		registers_hold(i, "after zeros", rows[i].zeros);
	}
	/* Accesses of one byte do not reach the gateway's registers, which need four bytes. */
	for (i = 0; i < PCI_CONFIG_SIZE; i++) {
		if (in_row(i))
			continue;
		set_config(i, 0xff, 1);
		if (config(i, 1))
			fail_msg("byte 0x%x can be written", i);
	}
}

static void ethernet_is_another_class(void **state)
{
	(void)state;
	core.profile->eth = true;
	pci_power_on(core.hca);
	assert_int_equal(config(PCI_CLASS_DEVICE, 2), 0x0200);
}

static void config_space_ends(void **state)
{
	uint8_t b[8];

	(void)state;
	memset(b, 0xaa, sizeof(b));
	pci_config_read(core.hca, PCI_CONFIG_SIZE - 4, b, 8);
	assert_memory_equal(b, "\0\0\0\0\0\0\0\0", 8);
	memset(b, 0xff, sizeof(b));
	pci_config_write(core.hca, PCI_CONFIG_SIZE - 4, b, 8);
	assert_int_equal(config(PCI_CONFIG_SIZE - 4, 4), 0);
}

/* The registers of the gateway begin behind the header and end with the capability. */
static void gateway_takes_whole_registers(void **state)
{
	(void)state;
	set_config(VSC + 0x14, 0x12345678, 4);
	assert_int_equal(config(VSC + 0x14, 4), 0x12345678);
	assert_int_equal(config(VSC + 0x14, 2), 0);
	assert_int_equal(config(VSC + 0x16, 4), 0);
	set_config(VSC + 0x14, 0, 2);
	set_config(VSC + 0x15, 0, 4);
	assert_int_equal(config(VSC + 0x14, 4), 0x12345678);
	assert_int_equal(config(VSC + 0x18, 4), 0);
	set_config(VSC + 0xc, 5, 4);
	assert_int_equal(config(VSC + 0xc, 4), 5);
	set_config(VSC + 0xc, 5, 4);
	set_config(VSC + 0xc, 6, 4);
	assert_int_equal(config(VSC + 0xc, 4), 5);
}

static void vital_product_data_ends(void **state)
{
	(void)state;
	set_config(VPD + PCI_VPD_ADDR, VPD_SIZE, 2);
	assert_int_equal(config(VPD + PCI_VPD_ADDR, 2), VPD_SIZE | PCI_VPD_ADDR_F);
	assert_int_equal(config(VPD + PCI_VPD_DATA, 4), 0);
	set_config(VPD + PCI_VPD_ADDR, 0, 2);
	assert_int_equal(config(VPD + PCI_VPD_DATA, 1), 0x82);
	set_config(VPD + PCI_VPD_ADDR, VPD_SIZE - 3, 2);
	assert_int_equal(config(VPD + PCI_VPD_DATA, 4), 0);
}

static void function_that_was_removed_is_silent(void **state)
{
	uint64_t reads, id = config(PCI_VENDOR_ID, 4);
	uint8_t b[4];

	(void)state;
	core.hca->unplugged = true;
	assert_int_equal(config(PCI_VENDOR_ID, 4), 0xffffffff);
	assert_int_equal(config(VSC + 8, 4), 0xffffffff);
	set_config(PCI_INTERRUPT_LINE, 7, 1);
	reads = core.hca->count.reg_reads;
	pci_bar_read(core.hca, 0, 0, b, 4);
	assert_memory_equal(b, "\xff\xff\xff\xff", 4);
	assert_int_equal(core.hca->count.reg_reads, reads + 1);
	core.hca->unplugged = false;
	assert_int_equal(config(PCI_VENDOR_ID, 4), id);
	assert_int_equal(config(PCI_INTERRUPT_LINE, 1), 0);
}

/* Without memory decoding a guest reaches neither the vector table nor registers. */
static void memory_can_be_switched_off(void **state)
{
	uint8_t b[4] = { 1, 2, 3, 4 };
	uint64_t writes;

	(void)state;
	pci_bar_write(core.hca, 2, 0, b, 4);
	set_config(PCI_COMMAND, PCI_COMMAND_MASTER, 2);
	writes = core.hca->count.reg_writes;
	memset(b, 0, 4);
	pci_bar_write(core.hca, 2, 0, b, 4);
	assert_int_equal(core.hca->count.reg_writes, writes + 1);
	pci_bar_read(core.hca, 2, 0, b, 4);
	assert_memory_equal(b, "\xff\xff\xff\xff", 4);
	assert_int_equal(core_reg_read(0), 0xffffffff);
	set_config(PCI_COMMAND, PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY, 2);
	pci_bar_read(core.hca, 2, 0, b, 4);
	assert_memory_equal(b, "\1\2\3\4", 4);
	assert_int_not_equal(core_reg_read(0), 0xffffffff);
}

/* The table ends where the pending bits begin. */
static void vector_table_ends(void **state)
{
	uint8_t b[16], back[16];

	(void)state;
	memset(b, 0x5a, sizeof(b));
	pci_bar_write(core.hca, 2, MSIX_SIZE / 2 - 8, b, sizeof(b));
	pci_bar_read(core.hca, 2, MSIX_SIZE / 2 - 8, back, sizeof(back));
	assert_memory_equal(back, b, 8);
	memset(b, 0, sizeof(b));
	assert_memory_equal(back + 8, b, 8);
	pci_bar_read(core.hca, 2, MSIX_SIZE - 8, back, 8);
	assert_memory_equal(back, b, 8);
}

static unsigned int raised[HCA_MAX_VECTORS];

static void note_vector(struct hca *hca, unsigned int vector)
{
	(void)hca;
	raised[vector]++;
}

/* Interrupts are pending for the first and the last vector, and for no other. */
static void pending_interrupts_are_sent_later(void **state)
{
	static const struct irq_ops ops = { .raise = note_vector };
	struct board board = *core.hca->board;
	const struct board *was = core.hca->board;
	unsigned int i, last = core.profile->vectors - 1;

	(void)state;
	memset(raised, 0, sizeof(raised));
	board.irq = &ops;
	core.hca->board = &board;
	set_config(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	assert_false(pci_irq_allowed(core.hca, 0));
	assert_false(pci_irq_allowed(core.hca, last));
	set_config(PCI_INTERRUPT_LINE, 0, 1);
	assert_int_equal(raised[0], 0);
	set_config(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	assert_true(pci_irq_allowed(core.hca, 1));
	set_config(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	set_config(PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	set_config(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	for (i = 0; i <= last; i++)
		assert_int_equal(raised[i], i == 0 || i == last);
	core.hca->board = was;
}

/* A read of some bytes of a register gives the same bytes as a read of the whole register. */
static void parts_of_registers_are_read(void **state)
{
	uint8_t whole[8], b[8];
	unsigned int off, len;

	(void)state;
	pci_bar_read(core.hca, 0, 0, whole, 8);
	assert_int_equal(get_be32(whole), 35 << 16 | 16);
	assert_int_equal(get_be32(whole + 4) >> 16, 5);
	for (off = 0; off < 8; off++)
		for (len = 1; off + len <= 8; len++) {
			pci_bar_read(core.hca, 0, off, b, len);
			assert_memory_equal(b, whole + off, len);
		}
}

static void writes_of_parts_of_registers_are_ignored(void **state)
{
	uint8_t b[8];

	(void)state;
	put_be32(b, 0);
	put_be32(b + 4, 0x7000);
	pci_bar_write(core.hca, 0, 0x10, b, 8);
	assert_int_equal(core_reg_read(0x14) >> 12, 7);
	memset(b, 0, sizeof(b));
	pci_bar_write(core.hca, 0, 0x14, b, 2);
	pci_bar_write(core.hca, 0, 0x16, b, 4);
	pci_bar_write(core.hca, 0, 0x14, b, 6);
	assert_int_equal(core_reg_read(0x14) >> 12, 7);
	pci_bar_write(core.hca, 0, 0x14, b, 4);
	assert_int_equal(core_reg_read(0x14) >> 12, 0);
}

/*
 * After a reset the address of the command queue is 0. But the counter of the gateway goes on, so
 * that no two drivers take a lock with the same value.
 */
static void reset_keeps_the_gateways_counter_alone(void **state)
{
	uint32_t count = config(VSC + 8, 4);
	uint8_t out[16];

	(void)state;
	set_config(VSC + 0xc, count, 4);
	core_reg_write(0x10, 1);
	iseg_set_fatal(core.hca, 1, 0x77);
	hca_reset(core.hca);
	assert_int_equal(config(VSC + 8, 4), count + 1);
	assert_int_equal(config(VSC + 0xc, 4), 0);
	assert_int_equal(core_reg_read(0x23c), 0);
	core_reg_write(0x14, CORE_QUEUE);
	assert_int_equal(core_simple(MLX5_CMD_OP_ENABLE_HCA, 0, out), ST_OK);
}

static void health_buffer_names_the_firmware(void **state)
{
	uint32_t count;

	(void)state;
	assert_int_equal(core_reg_read(0x230), core_reg_read(0) << 24 |
			 core_reg_read(0) >> 16 << 16 | (core_reg_read(4) & 0xffff));
	assert_int_equal(core_reg_read(0x234), 0x20d);
	assert_int_equal(core_reg_read(0x238), 0);
	assert_int_equal(core_reg_read(0x240), 0);
	assert_int_equal(core_reg_read(0x22c), 0);
	iseg_set_fatal(core.hca, 0xa5, 0x1234);
	assert_int_equal(core_reg_read(0x23c), 0xa51234);
	assert_int_equal(core_reg_read(0x238), 0x88000000);
	count = core_reg_read(0x1010);
	core.hca->start_ns -= 1000000000;	/* a second later */
	assert_int_equal(core_reg_read(0x1010), count);
}

/* In seconds since 1970, and only until the reset that ends the error. */
static void health_buffer_tells_when_firmware_failed(void **state)
{
	time_t before = time(NULL);

	(void)state;
	iseg_set_fatal(core.hca, 1, 0);
	assert_in_range(core_reg_read(0x22c), before, before + 60);
	hca_reset(core.hca);
	assert_int_equal(core_reg_read(0x22c), 0);
}

static void health_counter_counts_tenths_of_a_second(void **state)
{
	uint32_t count = core_reg_read(0x1010);

	(void)state;
	assert_in_range(count, 1, 1000);
	core.hca->start_ns -= 5000000000ull;
	assert_in_range(core_reg_read(0x1010) - count, 50, 60);
	/* It stands still while firmware has failed, and goes on after the reset. */
	iseg_set_fatal(core.hca, 1, 0);
	hca_reset(core.hca);
	count = core_reg_read(0x1010);
	core.hca->start_ns -= 5000000000ull;
	assert_in_range(core_reg_read(0x1010) - count, 50, 60);
}

static void real_time_is_that_of_the_machine(void **state)
{
	time_t before = time(NULL);
	uint8_t b[8];

	(void)state;
	pci_bar_read(core.hca, 0, 0x1040, b, 8);
	assert_in_range(get_be32(b), before, before + 60);
	assert_in_range(get_be32(b + 4), 0, 999999999);
}

#define T(f) cmocka_unit_test_setup_teardown(f, core_up, core_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(registers_have_their_values_and_masks), T(ethernet_is_another_class),
		T(config_space_ends), T(gateway_takes_whole_registers), T(vital_product_data_ends),
		T(function_that_was_removed_is_silent), T(memory_can_be_switched_off),
		T(vector_table_ends), T(pending_interrupts_are_sent_later),
		T(parts_of_registers_are_read), T(writes_of_parts_of_registers_are_ignored),
		T(reset_keeps_the_gateways_counter_alone),
		T(health_buffer_names_the_firmware), T(health_buffer_tells_when_firmware_failed),
		T(health_counter_counts_tenths_of_a_second), T(real_time_is_that_of_the_machine),
	};

	return cmocka_run_group_tests_name("pci", tests, NULL, NULL);
}
