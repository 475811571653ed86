# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# The locks of scripts that several processes may run at the same time.
#
# The script that sources this file defines say, which prints a message.

# take_lock FILE WHAT: hold a lock, as descriptor 9, until this process ends or closes it. Says so if
# another process holds it, and what that process may be doing.
take_lock() {
	exec 9>"$1"
	if ! flock -n 9; then
		say "another process is $2; waiting for it"
		flock 9
	fi
}
