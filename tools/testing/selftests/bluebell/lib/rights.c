// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What a process may do.
 */
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rights.h"

#define TESTER "tester"		/* a user of each guest, without privileges */

/* Give up one effective capability. */
int drop_capability(int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[CAP_TO_INDEX(cap)].effective &= ~CAP_TO_MASK(cap);
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

/* Become a user. */
int become_user(const char *name)
{
	struct passwd *pw = getpwnam(name);
	int death_signal = 0;

	if (!pw)
		return -ENOENT;
	prctl(PR_GET_PDEATHSIG, &death_signal);
	if (setgroups(0, NULL) || setgid(pw->pw_gid) || setuid(pw->pw_uid))
		return -errno;
	/*
	 * setuid() clears the signal that the process gets when its parent ends, and makes the
	 * process undumpable: its files in /proc then belong to root, and debuggers cannot attach.
	 */
	return prctl(PR_SET_PDEATHSIG, death_signal) || prctl(PR_SET_DUMPABLE, 1) ? -errno : 0;
}

/* Become the user "tester", if the process is root. */
int drop_privileges(void)
{
	return geteuid() ? 0 : become_user(TESTER);
}

/* Become the user "tester" if the process is root, and keep one capability. */
int drop_privileges_but(int cap)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {};
	int ret;

	if (geteuid())
		return 0;
	/* setuid() then clears the effective capabilities only. */
	if (prctl(PR_SET_KEEPCAPS, 1))
		return -errno;
	ret = become_user(TESTER);
	data[CAP_TO_INDEX(cap)].permitted = CAP_TO_MASK(cap);
	data[CAP_TO_INDEX(cap)].effective = CAP_TO_MASK(cap);
	return ret ?: syscall(SYS_capset, &header, data) ? -errno : 0;
}
