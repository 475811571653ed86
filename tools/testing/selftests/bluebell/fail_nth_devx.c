// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * What happens if the commands or allocations of a verb fail, see lib/fail_nth.h: objects,
 * commands, umems and events of DEVX, and packet pacing.
 */

#include "devx_cmd.h"
#include "fail_nth.h"

/* The firmware's status as the errno that verbs make of it. */
static int errno_of_status(const struct devx_cmd *cmd, int ret)
{
	if (ret != -EREMOTEIO)
		return ret;
	switch (cmd->out[0]) {
	case 0x1:
		return -EIO;
	case 0x3:
		return -EINVAL;
	case 0x8:
		return -ENOMEM;
	default:
		return -EREMOTEIO;
	}
}

static int prep_devx(struct env *e)
{
	return uv_open_devx(&e->uv);
}

static int act_devx_create(struct env *e)
{
	struct devx_cmd cmd;
	int ret;

	devx_start(&cmd, DEVX_ALLOC_Q_COUNTER);
	ret = errno_of_status(&cmd, devx_create(e->uv.fd, &cmd, &e->devx_obj));
	e->devx_num = devx_get(&cmd, 8) & 0xff;
	return ret;
}

static int act_devx_destroy(struct env *e)
{
	return devx_destroy(e->uv.fd, e->devx_obj);
}

static int prep_devx_obj(struct env *e)
{
	return prep_devx(e) ?: act_devx_create(e);
}

static int act_devx_general(struct env *e)
{
	struct devx_cmd cmd;

	devx_start(&cmd, DEVX_QUERY_HCA_CAP);
	devx_put(&cmd, 4, 1);
	cmd.in_len = 16;
	return errno_of_status(&cmd, devx_general(e->uv.fd, &cmd));
}

static int act_reg_umem(struct env *e)
{
	e->umem = (struct devx_umem){
		.addr = (uintptr_t)e->buf, .len = UMEM_PAGES * UV_PAGE,
		.access = IBV_ACCESS_LOCAL_WRITE, .bitmap = UV_PAGE,
	};
	return devx_reg_umem(e->uv.fd, &e->umem);
}

static int act_dereg_umem(struct env *e)
{
	return devx_dereg_umem(e->uv.fd, e->umem.handle);
}

static int prep_umem(struct env *e)
{
	return prep_devx(e) ?: act_reg_umem(e);
}

static int fini_devx(struct env *e)
{
	uv_close(&e->uv);
	return 0;
}

static int act_open_channel(struct env *e)
{
	e->devx_file = devx_open_channel(e->uv.fd, 0);
	return e->devx_file < 0 ? e->devx_file : 0;
}

static int act_open_cmd_file(struct env *e)
{
	e->devx_file = devx_open_cmd_file(e->uv.fd);
	return e->devx_file < 0 ? e->devx_file : 0;
}

static int close_devx_file(struct env *e)
{
	return close(e->devx_file) ? -errno : 0;
}

static int prep_channel(struct env *e)
{
	return prep_devx(e) ?: act_open_channel(e);
}

static int act_subscribe(struct env *e)
{
	const struct devx_subscription s = {
		.channel = e->devx_file, .types = { DEVX_EVENT_PORT_CHANGE }, .len = 2,
	};

	return devx_subscribe(e->uv.fd, &s);
}

static int fini_devx_file(struct env *e)
{
	return close_devx_file(e) ?: fini_devx(e);
}

static int prep_cmd_file(struct env *e)
{
	return prep_devx_obj(e) ?: act_open_cmd_file(e);
}

/* Send the command and read its answer. Returns 0 or the errno for the status in the answer. */
static int act_query_async(struct env *e)
{
	struct { uint64_t wr_id; uint8_t out[DEVX_OUT_BYTES]; } answer = { .wr_id = 1 };
	struct devx_cmd cmd;
	int ret;

	devx_start(&cmd, DEVX_QUERY_Q_COUNTER);
	devx_put(&cmd, 0x1c, e->devx_num);
	ret = devx_query_async(e->uv.fd, e->devx_obj, &cmd, sizeof(answer.out), e->devx_file, 2);
	if (ret)
		return ret;
	/* If the answer could not be copied, it stays in the file: read it again. */
	if (read(e->devx_file, &answer, sizeof(answer)) < 0 &&
	    (errno != EFAULT || read(e->devx_file, &answer, sizeof(answer)) < 0))
		return -errno;
	if (answer.wr_id != 2)
		return -EPROTO;
	memcpy(cmd.out, answer.out, sizeof(cmd.out));
	return cmd.out[0] ? errno_of_status(&cmd, -EREMOTEIO) : 0;
}

/* Create an indirect mkey. The driver enters such a key in a table of its own. */
static int act_devx_create_mkey(struct env *e)
{
	struct devx_cmd cmd;

	devx_start_klm_mkey(&cmd, e->devx_pdn);
	return errno_of_status(&cmd, devx_create(e->uv.fd, &cmd, &e->devx_obj));
}

static int prep_devx_pd(struct env *e)
{
	return prep_devx(e) ?: uv_alloc_pd(e->uv.fd, &e->new_pd, &e->devx_pdn);
}

static int prep_devx_mkey(struct env *e)
{
	return prep_devx_pd(e) ?: act_devx_create_mkey(e);
}

static int act_alloc_rate(struct env *e)
{
	return uv_alloc_rate(e->uv.fd, 1000, &e->rate);
}

static int act_free_rate(struct env *e)
{
	return uv_free_rate(e->uv.fd, e->rate);
}

static int prep_rate(struct env *e)
{
	return prep_devx(e) ?: act_alloc_rate(e);
}

static int fini_rate(struct env *e)
{
	return act_free_rate(e) ?: fini_devx(e);
}

/* --- The verbs ------------------------------------------------------------------------------ */

FIXTURE_VARIANT_ADD(verb, devx_general_cmd) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx, act_devx_general, NULL, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_obj_create) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx, act_devx_create, act_devx_destroy, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_obj_destroy) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx_obj, act_devx_destroy, NULL, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_mkey_create) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx_pd, act_devx_create_mkey, act_devx_destroy, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_mkey_destroy) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx_mkey, act_devx_destroy, NULL, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, alloc_rate) {
	.needs = "qos", .opens_itself = true,
	.v = { prep_devx, act_alloc_rate, act_free_rate, fini_devx },
};

/*
 * The verb succeeds even if firmware refuses to free the rate: mlx5_core ignores the refusal, and
 * gives the entry of the rate table to the next user.
 */
FIXTURE_VARIANT_ADD(verb, free_rate) {
	.needs = "qos", .opens_itself = true,
	.v = { prep_rate, act_free_rate, act_alloc_rate, fini_rate, true },
};

FIXTURE_VARIANT_ADD(verb, devx_umem_reg) {
	.needs = "log_max_umem", .opens_itself = true,
	.v = { prep_devx, act_reg_umem, act_dereg_umem, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_umem_dereg) {
	.needs = "log_max_umem", .opens_itself = true,
	.v = { prep_umem, act_dereg_umem, NULL, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_open_event_channel) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx, act_open_channel, close_devx_file, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_subscribe_event) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_channel, act_subscribe, NULL, fini_devx_file },
};

FIXTURE_VARIANT_ADD(verb, devx_open_cmd_file) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_devx, act_open_cmd_file, close_devx_file, fini_devx },
};

FIXTURE_VARIANT_ADD(verb, devx_query_async) {
	.needs = "log_max_uctx", .opens_itself = true,
	.v = { prep_cmd_file, act_query_async, NULL, fini_devx_file },
};

TEST_HARNESS_MAIN
