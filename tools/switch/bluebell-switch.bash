# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Completion of bluebell-switch for bash: commands, options and devices.

_bluebell_switch() {
	local previous=${COMP_WORDS[COMP_CWORD - 1]} sysfs=${BLUEBELL_SYSFS:-/sys}
	local word command='' path i choices=()

	COMPREPLY=()
	[[ $previous != --wait ]] || return 0
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		status | on | off | check) command=${COMP_WORDS[i]} ;;
		esac
	done
	case $command in
	'') choices=(status on off check --json --wait --help) ;;
	status) choices=(--json --wait) ;;
	on | off) choices=(--all --persist --force --dry-run --wait) ;;
	check) choices=(--wait) ;;
	esac
	if [[ $command != check && $command ]]; then
		for path in "$sysfs"/bus/pci/drivers/mlx5_core/*:* "$sysfs"/class/infiniband/*; do
			[[ ! -e $path ]] || choices+=("${path##*/}")
		done
	fi
	# Readline breaks words at colons, and a PCI address has two: complete the whole word, and
	# leave out the part up to the last colon, which is on the line.
	word=${COMP_LINE:0:COMP_POINT}
	word=${word##*[[:space:]]}
	mapfile -t COMPREPLY < <(compgen -W "${choices[*]}" -- "$word")
	[[ $word != *:* || $COMP_WORDBREAKS != *:* ]] ||
		COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*:}"}"}")
}
complete -F _bluebell_switch bluebell-switch
