/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The path of a socket that the HCA listens at.
 */
#ifndef BLUEBELL_UNIX_SOCKET_H
#define BLUEBELL_UNIX_SOCKET_H

struct sockaddr_un;

int unix_socket_remove(const char *path);
int unix_socket_address(const char *path, struct sockaddr_un *a);
const char *unix_socket_error(int err);

#endif
