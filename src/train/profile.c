/* profile.c - the stages of a step, for blame and for `clmirror-bench step --profile`.
 *
 * Without a profile a stage is a name that the communicator shows when a rank makes no progress.
 * With one, every stage ends in a wait for the device, so that the time between two stages is the
 * first one's; the step gets slower by that, and the shares are what counts.
 *
 * Called by the workers; cmi_model_profile by the owner of the model. */
#include "base/clock.h"
#include "base/mem.h"
#include "train/train.h"

const char *cmi_stage_name(cmi_stage stage)
{
    static const char *const names[] = {
        [CMI_STAGE_NONE] = "between steps", [CMI_STAGE_GATHER] = "gather",
        [CMI_STAGE_FORWARD] = "forward",    [CMI_STAGE_LOSS] = "loss",
        [CMI_STAGE_BACKWARD] = "backward",  [CMI_STAGE_REDUCE] = "reduce",
        [CMI_STAGE_UPDATE] = "update"};

    return names[stage];
}

static cm_status charge(cm_model *model, int rank, cmi_stage stage)
{
    cmi_profile *profile = &model->profile[rank];
    cmi_stream *stream = cmi_replica_stream(model->replicas[rank]);

    CM_TRY(cmi_stream_finish(stream));
    int64_t now = cmi_now_ns();
    if (profile->current) profile->stage_ns[profile->current] += now - profile->since_ns;
    /* A step begins with its first stage; a shard without rows has no gather. */
    if (!profile->current && stage) {
        profile->steps++;
        profile->waited_ns -= cmi_comm_waited_ns(model->strategy->comm, rank);
        profile->launches -= cmi_stream_launches(stream);
    } else if (!stage) {
        profile->waited_ns += cmi_comm_waited_ns(model->strategy->comm, rank);
        profile->launches += cmi_stream_launches(stream);
    }
    profile->current = stage;
    profile->since_ns = now;
    return CM_OK;
}

cm_status cmi_stage_begin(cm_model *model, int rank, cmi_stage stage)
{
    cmi_comm_set_phase(model->strategy->comm, rank, cmi_stage_name(stage));
    return model->profile ? charge(model, rank, stage) : CM_OK;
}

cm_status cmi_model_profile(cm_model *model)
{
    cmi_free(model->profile);
    model->profile = NULL;
    return CMI_NEW(model->strategy->ranks, &model->profile);
}
