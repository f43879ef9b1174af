// The facts of a run, from the model, where it lies and how the session was made.
#include "engine/decode/generation.h"
#include "engine/measure/run_facts.h"

namespace decodescope {

RunFacts make_run_facts(const LoadedModel& loaded, const SessionConfig& config, const SamplerConfig& sampler) {
    const BackendInfo& backend = loaded.backend->info();
    RunFacts facts;
    facts.program_version = program_version();
    facts.commit = program_commit();
    facts.date = utc_date();
    facts.model_source = loaded.model->source;
    facts.model_name = loaded.model->config.name;
    facts.model_identity = loaded.model->identity;
    facts.config = loaded.model->config;
    facts.meaningless_text = loaded.model->meaningless_text;
    facts.backend = backend.id;
    facts.device = backend.device;
    facts.cpu = cpu_name();
    facts.instruction_set = backend.instruction_set;
    facts.threads = backend.threads;
    facts.weights_type = loaded.weights_name();
    facts.cache_spec = to_string(config.cache);
    facts.kv_type = to_string(config.kv);
    facts.sampler = sampler;
    facts.weight_bytes = loaded.weights->bytes();
    facts.head_roles = loaded.model->head_roles;
    return facts;
}

RunFacts make_run_facts(const DecodeSession& session, const SamplerConfig& sampler) {
    RunFacts facts = make_run_facts(session.model(), session.config(), sampler);
    facts.stages = session.stage_names();
    facts.stage_layers = session.stage_layers();
    return facts;
}

}  // namespace decodescope
