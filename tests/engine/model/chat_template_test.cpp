// A chat template in the files of a model is seen and said; no text is ever put into it.
#include <gtest/gtest.h>

#include "engine/model/model.h"
#include "tests/support/gguf_model.h"
#include "tests/support/tiny_models.h"

namespace decodescope {
namespace {

constexpr const char* kTemplate = "{% for m in messages %}<|im_start|>{{ m.role }}\\n{{ m.content }}{% endfor %}";

bool folder_has_template(const std::string& config, const std::string& extra = "") {
    TemporaryFolder folder;
    for (const char* name : {"config.json", "tokenizer.json", "model.safetensors"}) folder.copy_fixture("l3", name);
    if (!config.empty()) folder.write("tokenizer_config.json", config);
    if (!extra.empty()) folder.write(extra, kTemplate);
    const auto model = open_model(folder.path(), {}, {}, {});
    const auto described = describe_model(folder.path(), {});
    EXPECT_TRUE(model.ok() && described.ok()) << (model.ok() ? "" : model.error().text());
    if (!model.ok() || !described.ok()) return false;
    EXPECT_EQ((*model)->config.chat_template, described->chat_template);
    // The ids are those of the text alone.
    const auto plain = open_fixture("l3")->tokenizer->encode("a b", {}), ids = (*model)->tokenizer->encode("a b", {});
    EXPECT_TRUE(plain.ok() && ids.ok() && *plain == *ids);
    return described->chat_template;
}

TEST(ChatTemplate, OfAFolder) {
    EXPECT_FALSE(folder_has_template(""));
    EXPECT_FALSE(folder_has_template("{}"));
    EXPECT_FALSE(folder_has_template(R"({"chat_template": null})"));
    EXPECT_FALSE(folder_has_template(R"({"chat_template": ""})"));
    EXPECT_TRUE(folder_has_template(std::string(R"({"chat_template": ")") + "{{ messages }}" + "\"}"));
    EXPECT_TRUE(folder_has_template(R"({"chat_template": [{"name": "default", "template": "{{ messages }}"}]})"));
    EXPECT_TRUE(folder_has_template("", "chat_template.jinja"));
}

TEST(ChatTemplate, OfAGgufFile) {
    const ModelConfig config = tiny_llama_config();
    for (const bool has : {false, true}) {
        TemporaryFolder folder;
        GgufFile file = gguf_of(config, random_tensors(config, 3));
        if (has) file.text("tokenizer.chat_template", kTemplate);
        folder.write("m.gguf", file.bytes());
        const auto described = describe_model(folder.file("m.gguf"), {});
        ASSERT_TRUE(described.ok()) << described.error().text();
        EXPECT_EQ(described->chat_template, has);
    }
}

}  // namespace
}  // namespace decodescope
