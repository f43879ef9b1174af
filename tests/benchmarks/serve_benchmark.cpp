// Decodescope's side of llama_compare.py, which asks for one short measurement at a time so that both engines take
// turns. Commands on stdin, one JSON line for each on stdout; ends with stdin.
//   serve_benchmark MODEL WEIGHTS THREADS
//     decode LENGTH COUNT    {"micros":[..]} of COUNT tokens after LENGTH others, attention captured, K and V in f16
//     forward LENGTH COUNT   {"micros":[..]} of COUNT whole passes over LENGTH tokens, as the recompute lane has them
//     generate COUNT ID,..   {"micros":[..],"tokens":[..]} greedy tokens after these; times of all but the first
//     encode TEXT            {"tokens":[..]}
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>

#include "engine/decode/generation.h"
#include "engine/model/weight_type.h"
#include "tests/benchmarks/timed_session.h"

namespace decodescope {
namespace {

class Server {
public:
    explicit Server(LoadedModelPtr model) : model_(std::move(model)) {
        SessionConfig config;
        config.cache = *parse_cache_spec("recompute");
        recompute_ = bench::value_or_exit(DecodeSession::create(model_, config));
    }

    std::string answer(const std::string& line) {
        std::istringstream in(line);
        std::string command, list;
        std::int64_t number = 0, count = 0;
        in >> command;
        if (command == "encode") return encode(line.substr(std::min(line.size(), command.size() + 1)));
        in >> number;
        if (command == "generate") return in >> list, generate(number, list);
        in >> count;
        return command == "forward" ? forward(number, count) : decode(number, count);
    }

private:
    std::string decode(std::int64_t length, std::int64_t count) {
        auto& session = sessions_[length];
        if (session == nullptr) session = bench::session_at(model_, length, true);
        std::vector<double> micros;
        for (std::int64_t i = 0; i < count; ++i) micros.push_back(bench::decode_micros(*session));
        return fmt::format("{{\"micros\":[{:.1f}]}}", fmt::join(micros, ","));
    }

    std::string forward(std::int64_t length, std::int64_t count) {
        const auto tokens = bench::some_tokens(*model_, length);
        std::vector<double> micros;
        for (std::int64_t i = 0; i < count; ++i) {
            DS_CHECK(recompute_->truncate(0).ok());
            micros.push_back(bench::micros_of([&] { DS_CHECK(recompute_->feed(tokens, {}).ok()); }));
        }
        return fmt::format("{{\"micros\":[{:.1f}]}}", fmt::join(micros, ","));
    }

    std::string generate(std::int64_t count, const std::string& list) {
        std::vector<std::int32_t> prompt;
        std::istringstream in(list);
        for (std::string id; std::getline(in, id, ',');) prompt.push_back(std::atoi(id.c_str()));
        SessionConfig config;
        config.cache = *parse_cache_spec("preallocated");
        config.kv = *parse_kv_format("f16");
        config.expected_tokens = std::ssize(prompt) + count;
        config.capture_attention = true;
        std::shared_ptr<DecodeSession> session = bench::value_or_exit(DecodeSession::create(model_, config));
        GenerationConfig greedy;
        greedy.new_tokens = count;
        greedy.stop_at_eos = false;
        std::vector<double> micros;
        Generation generation(std::move(session), greedy, nullptr);
        if (const Status started = generation.start(prompt, {}, {}); !started.ok())
            return fmt::format("{{\"error\":\"{}\"}}", started.error().message);
        while (!generation.finished() && generation.generated_count() < count)
            micros.push_back(bench::micros_of([&] { DS_CHECK(generation.step({}).ok()); }));
        return fmt::format("{{\"micros\":[{:.1f}],\"tokens\":[{}]}}", fmt::join(micros, ","),
                           fmt::join(generation.tokens().subspan(prompt.size()), ","));
    }

    std::string encode(const std::string& text) const {
        const auto tokens = model_->model->tokenizer->encode(text, EncodeOptions{});
        DS_CHECK(tokens.ok());
        return fmt::format("{{\"tokens\":[{}]}}", fmt::join(*tokens, ","));
    }

    LoadedModelPtr model_;
    std::unique_ptr<DecodeSession> recompute_;
    std::map<std::int64_t, std::unique_ptr<DecodeSession>> sessions_;
};

}  // namespace
}  // namespace decodescope

int main(int argc, char** argv) {
    using namespace decodescope;
    const bool as_in_file = argc == 4 && std::string(argv[2]) == "as-in-file";
    const auto type =
        as_in_file ? Result<WeightType>(WeightType::AsInFile) : parse_weight_type(argc == 4 ? argv[2] : "");
    if (!type.ok()) {
        fmt::print(stderr, "usage: serve_benchmark MODEL as-in-file|f32|f16|bf16|int8 THREADS\n");
        return 2;
    }
    const LoadedModelPtr model = bench::load(argv[1], *type, std::atoi(argv[3]));
    Server server(model);
    const BackendInfo& info = model->backend->info();
    std::cout << fmt::format("{{\"threads\":{},\"instruction_set\":\"{}\",\"processor\":\"{}\"}}", info.threads,
                             info.instruction_set, info.device)
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << server.answer(line) << std::endl;
    return 0;
}
