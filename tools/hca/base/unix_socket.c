// SPDX-License-Identifier: GPL-2.0
/*
 * The path of a socket that the HCA listens at. A socket that an earlier process has left there is
 * removed. A file that is not a socket is kept: its path is more likely to be a mistake in the
 * command line.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "unix_socket.h"

/**
 * unix_socket_remove() - remove a socket
 * @path: of the socket
 *
 * Return: 0, also if there is no file; -EEXIST if the file is not a socket, and stays; or -errno.
 */
int unix_socket_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	return unlink(path) ? -errno : 0;
}

/**
 * unix_socket_address() - make the address of a socket to listen at, and make its path free
 * @path: of the socket
 * @a: set to the address
 *
 * Return: 0, -ENAMETOOLONG, or as unix_socket_remove().
 */
int unix_socket_address(const char *path, struct sockaddr_un *a)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(a->sun_path))
		return -ENAMETOOLONG;
	strcpy(a->sun_path, path);
	return unix_socket_remove(path);
}

/**
 * unix_socket_error() - say why the HCA cannot listen
 * @err: -errno, of unix_socket_address() or of what the caller did with the address
 *
 * Return: the reason in words.
 */
const char *unix_socket_error(int err)
{
	return err == -EEXIST ? "a file that is not a socket exists at this path" : strerror(-err);
}
