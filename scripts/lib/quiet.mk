# SPDX-License-Identifier: GPL-2.0
# What a build prints: a line for each file, as the kernel's build does, or with V=1 its commands.

Q	:= $(if $(filter 1,$(V)),,@)

# $(call say,CC,FILE)
say	= $(if $(Q),@printf '  %-7s %s\n' '$(1)' '$(2)')
