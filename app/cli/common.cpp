#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "app/cli/backend_module.h"
#include "app/cli/commands.h"
#include "app/cli/output.h"
#include "engine/support/file.h"
#include "engine/support/output_file.h"
#include "engine/text/least_tokens.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/machine_rates.h"
#include "kernels/reference/reference_backend.h"

namespace decodescope {
namespace {

// Why this build has no CUDA library; a build that has one may have been installed without it.
std::string no_cuda_library() {
    const std::string reason = DECODESCOPE_CUDA_REASON;
    if (!reason.empty()) return fmt::format("This build has no CUDA backend: {}.", reason);
    return "The library of the CUDA backend, libdecodescope_cuda.so, is not beside the program.";
}

// One line that is written over itself; silent when stderr is a file.
class TerminalProgress {
public:
    explicit TerminalProgress(std::string what) : what_(std::move(what)), shown_(isatty(2) != 0) {}
    ~TerminalProgress() {
        if (drawn_) print_message("\r\x1b[K");
    }
    void operator()(std::int64_t done, std::int64_t total) {
        if (!shown_ || total <= 0) return;
        print_message("\r\x1b[K{} {} %", what_, 100 * done / total);
        drawn_ = true;
    }

private:
    std::string what_;
    bool shown_, drawn_ = false;
};

Status make_folder(const std::string& path) {
    std::error_code code;
    std::filesystem::create_directories(path, code);
    if (!code && std::filesystem::is_directory(path, code)) return {};
    return make_error(ErrorKind::File,
                      fmt::format("cannot make the folder '{}': {}.", path, code ? code.message() : "it is a file"),
                      "Give the name of a folder, in a place that can be written.");
}

}  // namespace

BackendRegistry make_backend_registry(const std::string& instruction_set) {
    BackendRegistry registry;
    BackendEntry cpu;
    cpu.id = "cpu";
    cpu.title = "CPU";
    cpu.available = true;
    cpu.create = [instruction_set](const BackendRequest& request) -> Result<std::shared_ptr<Backend>> {
        CpuBackendOptions options;
        options.threads = request.threads;
        options.instruction_set = request.instruction_set.empty() ? instruction_set : request.instruction_set;
        auto backend = make_cpu_backend(options);
        if (!backend) return backend.error();
        return std::shared_ptr<Backend>(std::move(backend).value());
    };
    registry.add(std::move(cpu));
    BackendEntry reference;
    reference.id = "reference";
    reference.title = "Reference (plain loops, double precision)";
    reference.available = true;
    reference.create = [](const BackendRequest&) -> Result<std::shared_ptr<Backend>> {
        return std::shared_ptr<Backend>(make_reference_backend());
    };
    registry.add(std::move(reference));
    registry.add(module_entry("cuda", "CUDA", "libdecodescope_cuda.so", no_cuda_library()));
    registry.add(module_entry("cuda-emulated", "CUDA, emulated on the CPU", "libdecodescope_cuda_emulated.so",
                              "The emulation is part of the builds with tests only."));
    return registry;
}

Result<ModelPtr> open_model_for(const Arguments& arguments, std::stop_token stop) {
    TerminalProgress opening("opening the model");
    return open_model(arguments.model, OpenOptions{}, std::ref(opening), stop);
}

Result<LoadedModelPtr> open_for(const Arguments& arguments, std::stop_token stop) {
    // The backend first: a name that does not work is said before minutes of loading.
    BackendRequest request;
    request.id = arguments.backend;
    request.threads = arguments.threads;
    request.instruction_set = arguments.instruction_set;
    auto backend = make_backend_registry().create(request);
    if (!backend) return backend.error();
    TerminalProgress loading("loading the weights");
    auto model = open_model_for(arguments, stop);
    if (!model) return model.error();
    return load_model(*model, *backend, arguments.weights, std::ref(loading), stop);
}

Result<std::vector<std::int32_t>> prompt_tokens(const Arguments& arguments, const Model& model, std::stop_token stop) {
    if (arguments.has_tokens) {
        for (std::int32_t token : arguments.tokens)
            if (token < 0 || token >= model.config.vocabulary)
                return make_error(ErrorKind::Argument,
                                  fmt::format("token {} is outside the vocabulary of {}.", token,
                                              model.config.vocabulary),
                                  fmt::format("Token ids go from 0 to {}.", model.config.vocabulary - 1));
        return arguments.tokens;
    }
    std::string text = arguments.prompt;
    if (!arguments.prompt_file.empty()) {
        auto content = read_file(arguments.prompt_file, std::int64_t{1} << 30);
        if (!content) return content.error();
        text = std::move(content).value();
    }
    DS_RETURN_IF_ERROR(check_text_bytes(*model.tokenizer, text.size(), model.config.context));
    EncodeOptions options;
    options.parse_special = arguments.parse_special;
    return model.tokenizer->encode(text, options, stop);
}

CacheSpec cache_or_default(const Arguments& arguments) {
    if (!arguments.caches.empty()) return arguments.caches.front();
    return *parse_cache_spec("preallocated");
}

KvFormat kv_or_default(const Arguments& arguments) {
    return arguments.kv_types.empty() ? KvFormat{} : arguments.kv_types.front();
}

std::string weights_name(const LoadedModel& model) { return model.weights_name(); }

RunFacts facts_of_run(const DecodeSession& session, const SamplerConfig& sampler, std::size_t prompt_tokens) {
    RunFacts facts = make_run_facts(session, sampler);
    facts.prompt_tokens = static_cast<std::int64_t>(prompt_tokens);
    return facts;
}

MachineCeiling measured_ceiling(const LoadedModel& model, std::stop_token stop) {
    const BackendInfo& backend = model.backend->info();
    if (backend.id != "cpu" && backend.id != "reference") return {};  // what a device can do is not measured here
    const MachineRates rates = measure_machine_rates(backend.threads, stop);
    return {rates.read_gb_s_all, rates.gflops_all};
}

void say_when_meaningless(const Model& model) {
    if (model.meaningless_text)
        print_message("The weights are random: the text has no meaning, the timings do.\n");
}

Status check_outputs(const std::string& folder, std::initializer_list<const char*> names) {
    DS_RETURN_IF_ERROR(make_folder(folder));
    for (const char* name : names) DS_RETURN_IF_ERROR(check_output(folder + "/" + name));
    return {};
}

}  // namespace decodescope
