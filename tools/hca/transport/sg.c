// SPDX-License-Identifier: GPL-2.0
/*
 * Gather and scatter: the data segments of a WQE as one run of bytes, each access
 * checked against its local key.
 */
#include <string.h>

#include "cq.h"
#include "hca.h"
#include "ifc.h"
#include "mkey.h"
#include "sg.h"
#include "wqe.h"

static enum cqe_error seg_copy(struct hca *hca, const struct mkey_user *user,
			       const struct wqe_seg *seg, uint64_t off, uint8_t *buf, size_t len,
			       bool gather)
{
	/* Cards report different errors for data that they could not store and could not read. */
	static const enum cqe_error errors[][2] = {
		[MK_OK] = { ERR_NONE, ERR_NONE },
		[MK_BAD_KEY] = { ERR_SCATTER_KEY_UNKNOWN, ERR_GATHER_KEY_UNKNOWN },
		[MK_BAD_PD] = { ERR_LKEY_PD, ERR_LKEY_PD },
		[MK_BAD_ACCESS] = { ERR_SCATTER_KEY_RIGHTS, ERR_GATHER_KEY_RIGHTS },
		[MK_OUT_OF_RANGE] = { ERR_SCATTER_KEY_RANGE, ERR_GATHER_KEY_RANGE },
		[MK_FAULT] = { ERR_SCATTER_MEMORY_GONE, ERR_GATHER_MEMORY_GONE },
		[MK_NOT_PRESENT] = { ERR_PAGE_FAULT, ERR_PAGE_FAULT },
	};
	enum mk_result res;

	if (seg->inl) {
		if (!gather)
			return ERR_WQE_INVALID;
		memcpy(buf, seg->inl + off, len);
		return ERR_NONE;
	}
	if (gather)
		res = mkey_read(hca, user, seg->lkey, seg->addr + off, buf, len, MK_LOCAL_READ);
	else
		res = mkey_write(hca, user, seg->lkey, seg->addr + off, buf, len, MK_LOCAL_WRITE);
	return errors[res][gather];
}

static enum cqe_error sg_copy(struct hca *hca, const struct mkey_user *user,
			      const struct wqe_seg *seg, unsigned int nseg, uint64_t off,
			      uint8_t *buf, size_t len, bool gather)
{
	enum cqe_error error;
	unsigned int i;
	size_t n;

	for (i = 0; i < nseg && len; i++) {
		if (off >= seg[i].len) {
			off -= seg[i].len;
			continue;
		}
		n = seg[i].len - off < len ? seg[i].len - off : len;
		error = seg_copy(hca, user, &seg[i], off, buf, n, gather);
		if (error)
			return error;
		buf += n;
		len -= n;
		off = 0;
	}
	return len ? ERR_RECEIVE_TOO_SHORT : ERR_NONE;
}

/**
 * sg_gather() - copy from the memory of a list of data segments
 * @hca: the HCA
 * @user: on whose behalf
 * @seg: data segments, inline ones allowed
 * @nseg: number of them
 * @off: first byte wanted, counted over the whole list
 * @buf: destination
 * @len: bytes
 *
 * Return: ERR_NONE; ERR_PAGE_FAULT if a page is not present; or the error if a key does not cover
 * the access or the list is too short.
 */
enum cqe_error sg_gather(struct hca *hca, const struct mkey_user *user, const struct wqe_seg *seg,
			 unsigned int nseg, uint64_t off, void *buf, size_t len)
{
	return sg_copy(hca, user, seg, nseg, off, buf, len, true);
}

/**
 * sg_scatter() - copy to the memory of a list of data segments
 * @hca: the HCA
 * @user: on whose behalf
 * @seg: data segments
 * @nseg: number of them
 * @off: first byte to write, counted over the whole list
 * @buf: source, which is not changed
 * @len: bytes
 *
 * Return: as sg_gather(). Bytes before the refused segment may have been written.
 */
enum cqe_error sg_scatter(struct hca *hca, const struct mkey_user *user,
			  const struct wqe_seg *seg, unsigned int nseg, uint64_t off,
			  const void *buf, size_t len)
{
	return sg_copy(hca, user, seg, nseg, off, (uint8_t *)(uintptr_t)buf, len, false);
}
