#include "engine/text/byte_bpe_tokenizer.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/support/hash.h"
#include "engine/text/byte_alphabet.h"

namespace decodescope {
namespace {

constexpr std::int32_t kLargestId = 1 << 20;

Error refuse(const std::string& file, const std::string& reason) {
    return make_error(ErrorKind::Model, fmt::format("{}: {}", file, reason),
                      "The tokenizer is damaged or of another kind.");
}

}  // namespace

Result<std::shared_ptr<const ByteBpeTokenizer>> ByteBpeTokenizer::make(ByteBpeParts parts, const std::string& file) {
    std::shared_ptr<ByteBpeTokenizer> out(new ByteBpeTokenizer);
    DS_RETURN_IF_ERROR(out->add_vocabulary(parts, file));
    DS_RETURN_IF_ERROR(out->add_added(parts, file));
    DS_RETURN_IF_ERROR(out->add_merges(parts, file));
    auto splitter = Splitter::make(parts.steps);
    if (!splitter) return splitter.error();
    out->splitter_ = *splitter;
    const auto inside = [&](std::optional<std::int32_t> id) {
        return id && *id >= 0 && *id < out->size() ? id : std::nullopt;
    };
    out->bos_ = inside(parts.bos);
    out->eos_ = inside(parts.eos);
    out->adds_bos_ = parts.adds_bos && out->bos_.has_value();
    if (parts.ignore_merges)
        for (const auto& [text, id] : parts.vocabulary)
            out->whole_.emplace(out->tokens_[static_cast<std::size_t>(id)], id);
    out->make_fingerprint(parts);
    return std::shared_ptr<const ByteBpeTokenizer>(out);
}

Status ByteBpeTokenizer::add_vocabulary(const ByteBpeParts& parts, const std::string& file) {
    std::int32_t highest = -1;
    for (const auto& [text, id] : parts.vocabulary) highest = std::max(highest, id);
    for (const AddedToken& token : parts.added) highest = std::max(highest, token.id);
    if (highest < 0) return refuse(file, "the vocabulary is empty.");
    if (highest > kLargestId) return refuse(file, fmt::format("the token id {} is beyond {}.", highest, kLargestId));
    tokens_.resize(static_cast<std::size_t>(highest) + 1);
    special_.resize(tokens_.size());
    std::vector<bool> taken(tokens_.size());
    for (const auto& [text, id] : parts.vocabulary) {
        if (id < 0) return refuse(file, fmt::format("the token \"{}\" has the id {}.", text, id));
        const auto at = static_cast<std::size_t>(id);
        if (taken[at])
            return refuse(file,
                          fmt::format("the tokens \"{}\" and \"{}\" have the same id {}.", tokens_[at], text, id));
        if (text.empty()) return refuse(file, fmt::format("the token with the id {} is empty.", id));
        taken[at] = true;
        // Text outside the alphabet stands for itself, as in the reference library.
        tokens_[at] = bytes_of_stand_ins(text).value_or(text);
        const auto single = bytes_of_stand_ins(text);
        if (single && single->size() == 1) merger_.set_byte(static_cast<std::uint8_t>((*single)[0]), id);
    }
    return {};
}

Status ByteBpeTokenizer::add_added(const ByteBpeParts& parts, const std::string& file) {
    std::vector<bool> taken(tokens_.size());
    for (const AddedToken& token : parts.added) {
        if (token.id < 0 || token.text.empty())
            return refuse(file, fmt::format("the added token \"{}\" has the id {}.", token.text, token.id));
        const auto at = static_cast<std::size_t>(token.id);
        if (taken[at]) return refuse(file, fmt::format("two added tokens have the id {}.", token.id));
        taken[at] = true;
        tokens_[at] = token.text;
        special_[at] = token.special;
        added_[static_cast<unsigned char>(token.text[0])].push_back(token);
    }
    for (auto& list : added_)
        std::stable_sort(list.begin(), list.end(),
                         [](const AddedToken& a, const AddedToken& b) { return a.text.size() > b.text.size(); });
    return {};
}

Status ByteBpeTokenizer::add_merges(const ByteBpeParts& parts, const std::string& file) {
    std::unordered_map<std::string_view, std::int32_t> ids;
    ids.reserve(parts.vocabulary.size());
    for (const auto& [text, id] : parts.vocabulary)
        if (!ids.emplace(text, id).second) return refuse(file, fmt::format("the token \"{}\" is there twice.", text));
    std::string joined;
    for (const auto& [left, right] : parts.merges) {
        joined = left + right;
        const auto a = ids.find(left), b = ids.find(right), result = ids.find(joined);
        if (a == ids.end() || b == ids.end() || result == ids.end())
            return refuse(file,
                          fmt::format("the merge {} of \"{}\" and \"{}\" uses a token that is not in the vocabulary.",
                                      merger_.merge_count() + 1, left, right));
        merger_.add_merge(a->second, b->second, result->second);
    }
    return {};
}

void ByteBpeTokenizer::make_fingerprint(const ByteBpeParts& parts) {
    Hasher hasher;
    hasher.add_integer(tokens_.size());
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
        hasher.add_text(tokens_[id]);
        hasher.add_integer(special_[id] ? 1 : 0);
    }
    for (const auto& [left, right] : parts.merges) {
        hasher.add_text(left);
        hasher.add_text(right);
    }
    for (const SplitStep& step : parts.steps) hasher.add_text(step.pattern);
    hasher.add_integer(adds_bos_ ? 1 : 0);
    fingerprint_ = hasher.text();
}

std::string_view ByteBpeTokenizer::token_bytes(std::int32_t id) const {
    return id >= 0 && id < size() ? std::string_view(tokens_[static_cast<std::size_t>(id)]) : std::string_view();
}

bool ByteBpeTokenizer::is_special(std::int32_t id) const {
    return id >= 0 && id < size() && special_[static_cast<std::size_t>(id)];
}

const AddedToken* ByteBpeTokenizer::added_at(std::string_view text, bool parse_special) const {
    for (const AddedToken& token : added_[static_cast<unsigned char>(text[0])])
        if ((parse_special || !token.special) && text.substr(0, token.text.size()) == token.text) return &token;
    return nullptr;
}

Status ByteBpeTokenizer::encode_plain(std::string_view text, BytePairMerger::Scratch& scratch,
                                      std::vector<std::int32_t>& out, const std::stop_token& stop) const {
    const PieceSink sink = [&](std::string_view piece) -> Status {
        if (!whole_.empty()) {
            const auto found = whole_.find(piece);
            if (found != whole_.end()) {
                out.push_back(found->second);
                return {};
            }
        }
        return merger_.merge(piece, scratch, out, stop);
    };
    return splitter_->split(text, sink, stop);
}

Result<std::vector<std::int32_t>> ByteBpeTokenizer::encode(std::string_view text, const EncodeOptions& options,
                                                           std::stop_token stop) const {
    if (text.size() > std::size_t{1} << 31)
        return make_error(ErrorKind::Argument, fmt::format("A text of {} bytes is too long to tokenize.", text.size()));
    std::vector<std::int32_t> out;
    BytePairMerger::Scratch scratch;
    std::size_t plain = 0;  // where the text since the last added token begins
    for (std::size_t at = 0; at < text.size();) {
        const AddedToken* token = added_at(text.substr(at), options.parse_special);
        if (token == nullptr) {
            ++at;
            continue;
        }
        DS_RETURN_IF_ERROR(encode_plain(text.substr(plain, at - plain), scratch, out, stop));
        out.push_back(token->id);
        at += token->text.size();
        plain = at;
    }
    DS_RETURN_IF_ERROR(encode_plain(text.substr(plain), scratch, out, stop));
    const bool has_bos = options.parse_special && !out.empty() && bos_ && out[0] == *bos_;
    if (options.add_bos && adds_bos_ && !has_bos) out.insert(out.begin(), *bos_);
    return out;
}

}  // namespace decodescope
