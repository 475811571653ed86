# SPDX-License-Identifier: GPL-2.0
# The targets for developers. Everything runs in the lab (scripts/lab), which is made when it is
# first used. The kernel's build system reads Kbuild instead of this file.

# Kernel to build the module for: stock, debug, a version, or a kernel's build directory.
KERNEL	?= stock
# Architecture of the guests: amd64 or arm64; by default this machine's. A variable ARCH in the
# environment is meant for the kernel's make, which calls amd64 x86: neither read it nor pass it on.
ARCH	:=
unexport ARCH
# The verbs driver of `make shell` and `make vm`: bluebell, mlx5_ib or none.
DRIVER	?= bluebell
# What `make check-matrix` runs of the matrix of kernels: names of kernels, suites and drivers.
MATRIX	?=
# The kernel of the guest, and for how many seconds `make fuzz-ioctl` runs.
FUZZ_KERNEL ?= debug
FUZZ_SECONDS ?= 600

# The commit whose HCA `make bench-hca` compares with the HCA of this tree. With LINK=eth it
# compares the netdev of this tree's HCA with those of QEMU's NICs.
BEFORE	?= HEAD
LINK	?= ib

include scripts/lib/quiet.mk

LAB_RUN	:= scripts/lab $(ARCH:%=--arch % --)
MAKE_LAB := $(LAB_RUN) make --no-print-directory -j$(shell nproc)

.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' \
		$(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  KERNEL=stock|debug|VERSION   which kernel to build the module for (default: stock)"
	@echo "  ARCH=amd64|arm64             which guests are meant (default: amd64)"
	@echo "  DRIVER=bluebell|mlx5_ib|none which driver make shell loads (default: bluebell)"
	@echo "  MATRIX='6.12 ulp'            which parts make check-matrix runs (default: all)"
	@echo "  BEFORE=COMMIT                HCA that make bench-hca compares with (default: HEAD)"
	@echo "  LINK=ib|eth                  the port for make bench (default: ib); with eth make"
	@echo "                               bench-hca compares with QEMU's NICs"
	@echo "  LAB=host                     use this machine's own packages, not the lab"
	@echo "  V=1                          show the commands of a build"

run: ## show what Bluebell does: a demo in a guest
	@scripts/steps run lab module hca -- scripts/demo

shell: module hca ## a shell in a guest
	$(Q)scripts/vm $(ARCH:%=--arch %) --driver $(DRIVER) --kernel $(KERNEL)

check: ## the tests, on the stock kernel (or KERNEL) and the default HCA
	@scripts/steps check lab module hca selftests tools -- \
		scripts/check $(ARCH:%=--arch %) --kernel $(KERNEL)

check-full: ## also with an IOMMU, fewer features, late answers
	@scripts/steps check-full lab module hca selftests tools -- \
		scripts/check --full $(ARCH:%=--arch %) --kernel $(KERNEL)

check-debug: ## Bluebell's tests on the debug kernel, and long races
	@scripts/steps check-debug lab hca selftests debug-kernel fuzz-ioctl-build -- \
		scripts/check --debug

check-stock: ## as check-full, with the stock driver
	@scripts/steps check-stock lab module hca selftests tools -- scripts/check --stock

check-ulp: ## users of the kernel's verbs between two hosts, for long: MPI, removal, a soak
	@scripts/steps check-ulp lab module hca debug-kernel -- scripts/check --ulp

check-cards: ## all selftests on each emulated HCA that plays a card, with both drivers
	@scripts/steps check-cards lab module hca selftests tools -- scripts/check --cards

check-packages: ## the packages on hosts of their own: apt, dkms, boot, switching, purge
	@scripts/steps check-packages lab hca deb trials-host -- scripts/check --packages

check-matrix: ## the suites on each kernel with both drivers; their results go to a page
	@scripts/steps check-matrix lab hca selftests -- scripts/check --matrix $(MATRIX)

module: ## build/module/$KERNEL/bluebell.ko
	$(Q)scripts/build-module $(ARCH:%=--arch %) $(KERNEL)

hca: ## build/hca/bluebell-hca, the emulated HCA
	$(Q)$(MAKE_LAB) -C tools/hca all

fuzz: ## all fuzzers of the emulated HCA, ten minutes each
	$(Q)$(MAKE_LAB) -C tools/hca fuzz FUZZ_SECONDS=600 FUZZ_SEED=0

fuzz-ioctl: hca fuzz-ioctl-build ## the fuzzer of the driver's ioctls, on the debug kernel
	$(Q)scripts/vm --driver none --kernel $(FUZZ_KERNEL) \
		--timeout $$(($(FUZZ_SECONDS) + 900)) -- \
		tools/testing/fuzz-ioctl/run $(FUZZ_SECONDS)

fuzz-ioctl-build: $(if $(filter debug,$(FUZZ_KERNEL)),debug-kernel)
	$(Q)scripts/build-module --kcov $(FUZZ_KERNEL)
	$(Q)$(MAKE_LAB) -C tools/testing/fuzz-ioctl all

selftests: ## build/selftests/*, the tests that run in a guest
	$(Q)source="$$(scripts/debug-kernel --source-dir)" && \
		$(MAKE_LAB) -C tools/testing/selftests/bluebell all \
			ARCH=$(ARCH) KSELFTEST="$$source/tools/testing/selftests"

tools: ## build/bench/*, the benchmarks' guest programs
	$(Q)$(MAKE_LAB) -C tools/bench all

kunit: ## the KUnit suites, on a kernel with the exported series applied
	$(Q)scripts/kunit

static: ## sparse, W=1, headers, layers, checkpatch, kernel-doc; gcc and clang
	$(Q)scripts/static-checks

coverage: selftests debug-kernel ## the lines and branches that the tests reach
	$(Q)scripts/coverage

bench: module hca tools ## compare Bluebell's speed with the stock driver's
	$(Q)scripts/bench --link $(LINK)

bench-scale: module hca tools ## compare what 50,000 objects of a process cost, and its end
	$(Q)scripts/bench --scale

bench-hca: hca tools ## compare the emulated HCA's speed with that of an earlier commit
	$(Q)scripts/bench-hca --link $(LINK) --before $(BEFORE)

# With LINK=eth no verbs driver takes part.
bench-hca: $(if $(filter eth,$(LINK)),,module)

man: hca ## Documentation/man/*, made of --help by help2man
	$(Q)scripts/man-pages

deb: ## build/deb/*.deb, packages: the driver for DKMS, the tools, the HCA with bluebell-vm
	$(Q)scripts/make-deb

trials-host: ## the Debian host on which make check-packages tries the packages
	$(Q)tools/testing/host-trials/image

debug-kernel: ## build the debug kernel, and the module for it
	$(Q)scripts/debug-kernel
	$(Q)scripts/build-module debug

lab: ## make the lab and enter it
	$(Q)$(LAB_RUN)

clean: ## remove build/; the lab and the debug kernel stay in the cache
	$(Q)rm -rf build

.PHONY: help run shell check check-cards check-debug check-full check-matrix check-packages \
	check-stock check-ulp module hca fuzz fuzz-ioctl selftests tools kunit static coverage \
	bench bench-scale bench-hca man deb trials-host debug-kernel lab clean
