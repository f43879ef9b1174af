// Whole folders: shards, links, odd addresses, paths, sizes; LD-07 to LD-09, LD-15.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/model/bind_weights.h"
#include "engine/model/model.h"
#include "engine/model/tensor_set.h"
#include "engine/support/file.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string refusal(const std::string& folder) {
    const auto set = open_weights(folder);
    return set ? "accepted" : set.error().message;
}

std::string model_refusal(const std::string& folder) {
    const auto model = open_model(folder, {}, {}, {});
    return model ? "accepted" : model.error().message;
}

FileTensor small(const std::string& name, char fill) { return {name, "F32", {2}, std::string(8, fill)}; }

void write_index(const TemporaryFolder& folder, const std::string& shard_of_b) {
    folder.write(
        "model.safetensors.index.json",
        R"({"metadata": {"total_size": 16}, "weight_map": {"a": "one.safetensors", "b": ")" + shard_of_b + "\"}}");
}

// Which files of a folder are opened, as the kernel sees it.
class OpenWatch {
public:
    explicit OpenWatch(const std::string& folder) : handle_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        watching_ = handle_ >= 0 && inotify_add_watch(handle_, folder.c_str(), IN_OPEN | IN_ACCESS) >= 0;
    }
    ~OpenWatch() { close(handle_); }
    OpenWatch(const OpenWatch&) = delete;
    OpenWatch& operator=(const OpenWatch&) = delete;
    bool watching() const { return watching_; }
    // Names since the last call; folders are looked through by the system and do not count.
    std::vector<std::string> opened() {
        std::vector<std::string> names;
        alignas(inotify_event) std::array<char, 8192> buffer;
        for (ssize_t size; (size = read(handle_, buffer.data(), buffer.size())) > 0;)
            for (ssize_t at = 0; at < size;) {
                const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
                if ((event->mask & IN_ISDIR) == 0) names.emplace_back(event->len > 0 ? event->name : "");
                at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
            }
        return names;
    }

private:
    int handle_;
    bool watching_ = false;
};

TEST(ModelFolder, ShardsAreJoined) {
    TemporaryFolder folder;
    folder.write("one.safetensors", safetensors_bytes({small("a", 'a')}));
    folder.write("two.safetensors", safetensors_bytes({small("b", 'b')}));
    write_index(folder, "two.safetensors");
    const auto set = open_weights(folder.path());
    ASSERT_TRUE(set.ok()) << set.error().text();
    ASSERT_EQ(set->tensors.size(), 2u);
    EXPECT_EQ(std::memcmp(set->tensors.at("a").data, "aaaaaaaa", 8), 0);
    EXPECT_EQ(std::memcmp(set->tensors.at("b").data, "bbbbbbbb", 8), 0);
}

TEST(ModelFolder, ShardNamesCannotLeaveTheFolder) {  // LD-07
    TemporaryFolder outside;
    outside.write("x.safetensors", safetensors_bytes({small("b", 'b')}));
    TemporaryFolder folder;
    folder.write("one.safetensors", safetensors_bytes({small("a", 'a')}));
    fs::create_directory(folder.file("sub"));
    const std::string absolute = outside.file("x.safetensors");
    const std::vector<std::string> names = {
        "../x.safetensors", "/etc/passwd", "C:\\\\x", "sub/../../x", "..", ".", "", "sub/x", "a\\u0000b", absolute};
    for (const std::string& name : names) {
        write_index(folder, name);
        EXPECT_THAT(refusal(folder.path()), HasSubstr("not a plain file name")) << name;
    }
    fs::create_symlink(absolute, folder.file("link.safetensors"));
    write_index(folder, "link.safetensors");
    EXPECT_THAT(refusal(folder.path()), HasSubstr("a link that leaves the folder"));
    write_index(folder, "absent.safetensors");
    EXPECT_THAT(refusal(folder.path()), HasSubstr("absent.safetensors"));
    write_index(folder, "sub");
    EXPECT_THAT(refusal(folder.path()), HasSubstr("not a regular file"));
    write_index(folder, "one.safetensors");
    EXPECT_THAT(refusal(folder.path()), HasSubstr("lacks the tensor \"b\""));
}

// LD-07: refusing is not enough, the file must not have been opened before it.
TEST(ModelFolder, NothingOutsideTheFolderIsOpened) {
    TemporaryFolder outside;
    const std::string secret = safetensors_bytes({small("a", 'a'), small("b", 'b')});
    for (const char* name : {"x.safetensors", "x"}) outside.write(name, secret);
    fs::create_directories(outside.file("model/sub"));
    const std::string folder = outside.file("model");
    const auto index = [&](const std::string& shard) {
        std::ofstream(folder + "/model.safetensors.index.json")
            << R"({"weight_map": {"a": ")" << shard << R"(", "b": ")" << shard << "\"}}";
    };
    OpenWatch watch(outside.path());
    ASSERT_TRUE(watch.watching()) << "inotify: " << std::strerror(errno);
    std::ifstream(outside.file("x")).get();
    ASSERT_THAT(watch.opened(), testing::Contains("x")) << "the watch itself";
    const std::vector<std::string> names = {"../x.safetensors", "sub/../../x", "sub/../x", "..\\\\x",
                                            outside.file("x.safetensors")};
    for (const std::string& name : names) {
        index(name);
        EXPECT_NE(refusal(folder), "accepted") << name;
        EXPECT_THAT(watch.opened(), testing::IsEmpty()) << name;
    }
    for (const char* target : {"../x.safetensors", "../../model/../x", "sub/../../x"}) {
        fs::create_symlink(target, folder + "/link.safetensors");
        index("link.safetensors");
        EXPECT_NE(refusal(folder), "accepted") << target;
        EXPECT_THAT(watch.opened(), testing::IsEmpty()) << target;
        fs::remove(folder + "/link.safetensors");
    }
}

TEST(ModelFolder, ADownloadCacheMayLinkToItsOwnFiles) {
    TemporaryFolder cache;
    fs::create_directories(cache.file("blobs"));
    fs::create_directories(cache.file("snapshots/1"));
    cache.write("blobs/hash", safetensors_bytes({small("a", 'a'), small("b", 'b')}));
    fs::create_symlink("../../blobs/hash", cache.file("snapshots/1/one.safetensors"));
    cache.write("snapshots/1/model.safetensors.index.json",
                R"({"weight_map": {"a": "one.safetensors", "b": "one.safetensors"}})");
    EXPECT_EQ(refusal(cache.file("snapshots/1")), "accepted");
}

TEST(ModelFolder, IndexesAreChecked) {
    TemporaryFolder folder;
    folder.write("one.safetensors", safetensors_bytes({small("a", 'a')}));
    const auto index = [&](const char* text) {
        folder.write("model.safetensors.index.json", text);
        return refusal(folder.path());
    };
    EXPECT_THAT(index("{}"), HasSubstr("weight_map"));
    EXPECT_THAT(index(R"({"weight_map": {"a": 5}})"), HasSubstr("\"a\" is 5"));
    EXPECT_THAT(index(R"({"weight_map": {"a": "one.safetensors", "a": "one.safetensors"}})"),
                HasSubstr("duplicate key"));
    EXPECT_THAT(index("{"), HasSubstr("not valid JSON"));
    EXPECT_EQ(index(R"({"weight_map": {"a": "one.safetensors"}})"), "accepted");
}

TEST(ModelFolder, NonAsciiPathsWork) {  // LD-09
    TemporaryFolder around;
    const std::string folder = around.file(kNonAsciiName);
    fs::create_directory(folder);
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"})
        around.write(std::string(kNonAsciiName) + "/" + name, read_fixture(std::string("l3/") + name));
    const auto model = open_model(folder, {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ((*model)->identity, open_fixture("l3")->identity);
    fs::remove(folder + "/model.safetensors");
    for (const char* shard : {"é 模型.safetensors", "Загрузки.safetensors"})
        around.write(std::string(kNonAsciiName) + "/" + shard, safetensors_bytes({small("a", 'a'), small("b", 'b')}));
    around.write(std::string(kNonAsciiName) + "/model.safetensors.index.json",
                 R"({"weight_map": {"a": "Загрузки.safetensors", "b": "é 模型.safetensors"}})");
    EXPECT_EQ(refusal(folder), "accepted");
}

TEST(ModelFolder, LargeOffsetsWork) {  // LD-08
    TemporaryFolder folder;
    const std::int64_t gap = std::int64_t{4608} << 20;  // 4.5 GiB
    const std::string header = "{\"gap\": {\"dtype\": \"U8\", \"shape\": [" + std::to_string(gap) +
                               "], \"data_offsets\": [0, " + std::to_string(gap) +
                               "]}, \"w\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [" +
                               std::to_string(gap) + ", " + std::to_string(gap + 8) + "]}}";
    const std::string start = safetensors_bytes(header, "");
    folder.write("model.safetensors", start);
    {
        std::fstream file(folder.file("model.safetensors"), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(start.size()) + gap);
        file.write("abcdefgh", 8);
        ASSERT_TRUE(file) << "the folder for temporary files takes no sparse file of 4.5 GiB: choose another TMPDIR";
    }
    const auto set = open_weights(folder.path());
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_EQ(std::memcmp(set->tensors.at("w").data, "abcdefgh", 8), 0);
}

TEST(ModelFolder, MissingFilesAreNamed) {
    TemporaryFolder folder;
    EXPECT_THAT(model_refusal(folder.file("nothing")), HasSubstr("There is no model"));
    EXPECT_THAT(model_refusal(folder.path()), HasSubstr("config.json"));
    folder.copy_fixture("l3", "config.json");
    EXPECT_THAT(model_refusal(folder.path()), HasSubstr("tokenizer.json"));
    folder.copy_fixture("l3", "tokenizer.json");
    EXPECT_THAT(model_refusal(folder.path()), HasSubstr("model.safetensors"));
    folder.write("pytorch_model.bin", "x");
    const auto pickled = open_model(folder.path(), {}, {}, {});
    ASSERT_FALSE(pickled.ok());
    EXPECT_THAT(pickled.error().hint, HasSubstr("pytorch_model.bin"));
    folder.copy_fixture("l3", "model.safetensors");
    EXPECT_EQ(model_refusal(folder.path()), "accepted");
    EXPECT_EQ(model_refusal(folder.path() + "/"), "accepted");
    EXPECT_THAT(model_refusal(folder.file("config.json")), HasSubstr("is a file"));
    fs::remove(folder.file("config.json"));
    fs::create_directory(folder.file("config.json"));
    EXPECT_THAT(model_refusal(folder.path()), HasSubstr("not a regular file"));
}

TEST(ModelFolder, TheTokenizerMustFitTheEmbedding) {  // LD-15
    TemporaryFolder folder;
    for (const char* name : {"config.json", "model.safetensors"}) folder.copy_fixture("l3", name);
    folder.copy_fixture("g2", "tokenizer.json");  // 300 tokens for 97 rows
    EXPECT_THAT(model_refusal(folder.path()), HasSubstr("ids up to 299, the embedding 97 rows"));
}

// As in Gemma 3, whose tokenizer has a token for pictures behind the embedding's rows.
TEST(ModelFolder, ASpecialTokenBehindTheEmbeddingIsNeverSampledNorFed) {  // LD-15
    for (const bool special : {true, false}) {
        TemporaryFolder folder;
        for (const char* name : {"config.json", "model.safetensors"}) folder.copy_fixture("l3", name);
        auto tokenizer = nlohmann::json::parse(read_fixture("l3/tokenizer.json"));
        tokenizer["added_tokens"].push_back({{"id", 97}, {"content", "<picture>"}, {"special", special},
                                             {"single_word", false}, {"lstrip", false}, {"rstrip", false},
                                             {"normalized", false}});
        folder.write("tokenizer.json", tokenizer.dump());
        if (!special) {  // any text may hold it
            EXPECT_THAT(model_refusal(folder.path()), HasSubstr("ids up to 97, the embedding 97 rows"));
            continue;
        }
        const auto model = open_model(folder.path(), {}, {}, {});
        ASSERT_TRUE(model.ok()) << model.error().text();
        EXPECT_EQ((*model)->sampled_vocabulary, 97);
        EXPECT_EQ((*model)->tokenizer->size(), 98);
    }
}

TEST(ModelFolder, PaddedRowsAreNeverSampled) {  // LD-15
    TemporaryFolder folder;
    for (const char* name : {"config.json", "model.safetensors"}) folder.copy_fixture("g2", name);
    folder.copy_fixture("l3", "tokenizer.json");  // 97 tokens for 300 rows
    const auto model = open_model(folder.path(), {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ((*model)->config.vocabulary, 300);
    EXPECT_EQ((*model)->sampled_vocabulary, 97);
    EXPECT_EQ((*model)->tokenizer->eos(), std::nullopt) << "an id beyond the tokenizer can never be met";
    EXPECT_TRUE((*model)->config.end_tokens.empty());
}

TEST(ModelFolder, EveryEndTokenIsKept) {
    TemporaryFolder folder;
    for (const char* name : {"model.safetensors", "tokenizer.json"}) folder.copy_fixture("l3", name);
    auto config = nlohmann::json::parse(*read_file(fixture_path("l3") + "/config.json", 1 << 20));
    config["eos_token_id"] = {5, 29, 5, 999999, -1};
    folder.write("config.json", config.dump());
    const auto model = open_model(folder.path(), {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    EXPECT_EQ((*model)->config.end_tokens, (std::vector<std::int32_t>{5, 29}));
    const auto described = describe_model(folder.path(), {});
    ASSERT_TRUE(described.ok());
    EXPECT_EQ(described->end_tokens, (std::vector<std::int32_t>{5, 29}));
    folder.write("generation_config.json", R"({"eos_token_id": [29, 7], "temperature": 0.6})");
    EXPECT_EQ(describe_model(folder.path(), {})->end_tokens, (std::vector<std::int32_t>{5, 29, 7}));
    folder.write("generation_config.json", R"({"eos_token_id": "x"})");
    EXPECT_THAT(model_refusal(folder.path()), HasSubstr("generation_config.json"));
    EXPECT_EQ(open_fixture("g2")->config.end_tokens.empty(), !open_fixture("g2")->tokenizer->eos().has_value());
}

TEST(ModelFolder, UnalignedTensorsAreCopied) {
    TemporaryFolder folder;
    for (const char* name : {"config.json", "tokenizer.json"}) folder.copy_fixture("l3", name);
    std::vector<FileTensor> tensors = fixture_tensors("l3");
    // One odd byte in front: every tensor lies at an odd address.
    tensors.insert(tensors.begin(), {"model.layers.0.self_attn.rotary_emb.inv_freq", "U8", {1}, "x"});
    folder.write("model.safetensors", safetensors_bytes(tensors));
    const auto model = open_model(folder.path(), {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    const ModelPtr plain = open_fixture("l3");
    ASSERT_EQ((*model)->weights.tensors.size(), plain->weights.tensors.size());
    for (std::size_t i = 0; i < plain->weights.tensors.size(); ++i) {
        const WeightTensor& a = (*model)->weights.tensors[i];
        const WeightTensor& b = plain->weights.tensors[i];
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data) % 4, 0u) << a.name;
        EXPECT_EQ(std::memcmp(a.data, b.data, static_cast<std::size_t>(b.rows * b.columns) * 4), 0) << a.name;
    }
}

TEST(ModelFolder, IdentityChangesWithEveryPart) {
    const ModelPtr plain = open_fixture("l3");
    EXPECT_EQ(open_fixture("l3")->identity, plain->identity);
    EXPECT_NE(open_fixture("g2")->identity, plain->identity);
    TemporaryFolder folder;
    for (const char* name : {"config.json", "tokenizer.json"}) folder.copy_fixture("l3", name);
    std::string weights = read_fixture("l3/model.safetensors");
    weights[weights.size() - 5] ^= 1;
    folder.write("model.safetensors", weights);
    EXPECT_NE((*open_model(folder.path(), {}, {}, {}))->identity, plain->identity);
}

TEST(ModelFolder, CardFilesAreReadWhenTheyAreThere) {
    TemporaryFolder folder;
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) folder.copy_fixture("l3", name);
    folder.write("heads.json",
                 R"({"roles": [{"layer": 1, "head": 7, "role": "induction", "induction": 0.75, "first": 0.1}]})");
    folder.write("presets.json", R"([{"id": "key", "lang": "zh_CN", "title": "t", "text": "钥匙", "what": "w"}])");
    const auto model = open_model(folder.path(), {}, {}, {});
    ASSERT_TRUE(model.ok()) << model.error().text();
    ASSERT_EQ((*model)->head_roles.size(), 1u);
    EXPECT_EQ((*model)->head_roles[0].head, 7);
    EXPECT_EQ((*model)->head_roles[0].role, "induction");
    EXPECT_DOUBLE_EQ((*model)->head_roles[0].induction, 0.75);
    ASSERT_EQ((*model)->presets.size(), 1u);
    EXPECT_EQ((*model)->presets[0].text, "钥匙");
    folder.write("heads.json", R"([{"layer": 3, "head": 0, "role": "first"}])");
    EXPECT_THAT(model_refusal(folder.path()), HasSubstr("a head that the model does not have"));
}

}  // namespace
}  // namespace decodescope
