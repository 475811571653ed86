# SPDX-License-Identifier: GPL-2.0
# The targets for people. Everything runs in the lab (scripts/lab), which the first use makes. For
# the kernel's build system this directory has Kbuild.

# Kernel to build the module for: stock, debug, a version, or a kernel's build directory.
KERNEL	?= stock
# The verbs driver of `make shell` and `make vm`: bluebell, mlx5_ib or none.
DRIVER	?= bluebell
# Kernel and seconds of `make fuzz-ioctl`.
FUZZ_KERNEL ?= debug
FUZZ_SECONDS ?= 600

# The commit whose HCA `make bench-hca` compares with that of this tree.
BEFORE	?= HEAD

LAB_RUN	:= scripts/lab
MAKE_LAB := $(LAB_RUN) make --no-print-directory -j$(shell nproc)

.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  KERNEL=stock|debug|VERSION   which kernel to build the module for (default: stock)"
	@echo "  DRIVER=bluebell|mlx5_ib|none which driver make shell loads (default: bluebell)"
	@echo "  BEFORE=COMMIT                the HCA that make bench-hca compares with (default: HEAD)"
	@echo "  LAB=host                     use this machine's own packages, not the lab"

run: module hca tools ## show what Bluebell does: a demo in a guest
	scripts/demo

shell: module hca ## a shell in a guest
	scripts/vm --driver $(DRIVER) --kernel $(KERNEL)

check: module hca selftests tools ## the tests, on the stock kernel and the default HCA
	scripts/check

check-full: module hca selftests tools debug-kernel fuzz-ioctl-build ## also on the debug kernel, behind an IOMMU, on HCAs with fewer features; and the benchmark
	scripts/check --full

check-ulp: module hca debug-kernel ## what uses the kernel's verbs between two hosts, for long: also opensm, the HCA pulled out, a soak
	scripts/check --ulp

module: ## build/module/$KERNEL/bluebell.ko
	scripts/build-module $(KERNEL)

hca: ## build/hca/bluebell-hca, the emulated HCA
	$(MAKE_LAB) -C tools/hca all

fuzz: ## all fuzzers of the emulated HCA, ten minutes each, as many at a time as there are processors
	$(MAKE_LAB) -C tools/hca fuzz FUZZ_SECONDS=600 FUZZ_SEED=0

fuzz-ioctl: hca fuzz-ioctl-build ## the fuzzer of the driver's ioctls, ten minutes on the debug kernel
	scripts/vm --driver none --kernel $(FUZZ_KERNEL) --timeout $$(($(FUZZ_SECONDS) + 900)) -- \
		tools/testing/fuzz-ioctl/run $(FUZZ_SECONDS)

fuzz-ioctl-build: $(if $(filter debug,$(FUZZ_KERNEL)),debug-kernel)
	scripts/build-module --kcov $(FUZZ_KERNEL)
	$(MAKE_LAB) -C tools/testing/fuzz-ioctl all

selftests: ## build/selftests/*, the tests that run in a guest
	source="$$(scripts/debug-kernel --source-dir)" && \
		$(MAKE_LAB) -C tools/testing/selftests/bluebell all KSELFTEST="$$source/tools/testing/selftests"

tools: ## build/bench/*, the benchmarks' guest programs
	$(MAKE_LAB) -C tools/bench all

kunit: ## the KUnit suites, on a kernel with the exported series applied
	scripts/kunit

static: ## sparse, W=1, headers, layers, checkpatch, kernel-doc; gcc and clang
	scripts/static-checks

coverage: selftests debug-kernel ## the lines and branches that the tests reach
	scripts/coverage

bench: module hca tools ## compare Bluebell's speed with the stock driver's
	scripts/bench

bench-scale: module hca tools ## compare what 50,000 objects of a process cost, and the end of a process with 20,000
	scripts/bench --scale

bench-hca: module hca tools ## compare the emulated HCA's speed with that of an earlier commit
	scripts/bench-hca --before $(BEFORE)

debug-kernel: ## build the debug kernel, and the module for it
	scripts/debug-kernel
	scripts/build-module debug

lab: ## make the lab and enter it
	$(LAB_RUN)

clean: ## remove build/; the lab and the debug kernel stay in the cache
	rm -rf build

.PHONY: help run shell check check-full check-ulp module hca fuzz fuzz-ioctl fuzz-ioctl-build selftests tools kunit static \
	coverage bench bench-scale bench-hca debug-kernel lab clean
