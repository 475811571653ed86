# SPDX-License-Identifier: GPL-2.0
# STOCK_HEADERS: the folder of the stock kernel's headers that has include/linux/mlx5, which the
# tools include and never copy. TOP is the repository.

KERNELS	?= /lib/modules
STOCK	:= $(KERNELS)/$(shell $(TOP)/scripts/lib/kernel-release stock headers $(KERNELS))/build
# The Makefile of Debian's headers includes that of their common part.
STOCK_HEADERS := $(or $(shell sed -n 's:^include \(/.*\)/Makefile$$:\1:p' $(STOCK)/Makefile \
	2>/dev/null),$(STOCK))
