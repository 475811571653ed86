// SPDX-License-Identifier: GPL-2.0
/*
 * The path of a socket: what is removed there, and what is not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unix_socket.h"

static char dir[] = "/tmp/test-socket-XXXXXX";
static char path[64], other[64];

static int up(void **state)
{
	(void)state;
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/path", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int down(void **state)
{
	(void)state;
	unlink(path);
	unlink(other);
	return rmdir(dir);
}

/* Leave a socket at @at, as a process that was killed does. */
static void leave_socket(const char *at)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(a.sun_path, at);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	close(fd);
}

static int exists(const char *at)
{
	struct stat st;

	return !lstat(at, &st);
}

static void socket_that_was_left_is_removed(void **state)
{
	struct sockaddr_un a;

	(void)state;
	assert_int_equal(unix_socket_address(path, &a), 0);	/* nothing to remove */
	leave_socket(path);
	assert_int_equal(unix_socket_address(path, &a), 0);
	assert_false(exists(path));
	assert_int_equal(a.sun_family, AF_UNIX);
	assert_string_equal(a.sun_path, path);
}

static void file_is_kept(void **state)
{
	struct sockaddr_un a;
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	fclose(file);
	assert_int_equal(unix_socket_address(path, &a), -EEXIST);
	assert_int_equal(unix_socket_remove(path), -EEXIST);
	assert_true(exists(path));
	assert_string_equal(unix_socket_error(-EEXIST),
			    "a file that is not a socket exists at this path");
	assert_string_equal(unix_socket_error(-EACCES), strerror(EACCES));
}

/* Only a socket is replaced: another program may need the link. */
static void link_to_a_socket_is_kept(void **state)
{
	struct sockaddr_un a;

	(void)state;
	leave_socket(other);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(unix_socket_address(path, &a), -EEXIST);
	assert_true(exists(path));
	assert_true(exists(other));
}

static void path_must_fit_an_address(void **state)
{
	struct sockaddr_un a;
	char at[sizeof(a.sun_path) + 1];

	(void)state;
	memset(at, 'x', sizeof(at));
	at[sizeof(at) - 1] = 0;
	assert_int_equal(unix_socket_address(at, &a), -ENAMETOOLONG);
	at[sizeof(at) - 2] = 0;
	assert_int_equal(unix_socket_address(at, &a), 0);
	assert_string_equal(a.sun_path, at);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, up, down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(socket_that_was_left_is_removed), T(file_is_kept), T(link_to_a_socket_is_kept),
		T(path_must_fit_an_address),
	};

	return cmocka_run_group_tests_name("unix_socket", tests, NULL, NULL);
}
