#include "engine/text/bpe_tokenizer.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/support/hash.h"
#include "engine/support/utf8.h"
#include "engine/text/byte_alphabet.h"

namespace decodescope {
namespace {

constexpr std::int32_t kLargestId = 1 << 20;

Error refuse(const std::string& file, const std::string& reason) {
    return make_error(ErrorKind::Model, fmt::format("{}: {}", file, reason),
                      "The tokenizer is damaged or of another kind.");
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::optional<std::uint8_t> byte_of_token(std::string_view text) {
    if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return std::nullopt;
    const int high = hex_digit(text[3]), low = hex_digit(text[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<std::uint8_t>(16 * high + low);
}

Result<std::shared_ptr<const BpeTokenizer>> BpeTokenizer::make(BpeParts parts, const std::string& file) {
    std::shared_ptr<BpeTokenizer> out(new BpeTokenizer);
    out->fallback_.fill(-1);
    out->characters_ = parts.characters;
    out->normalizer_ = parts.normalizer;
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
    if (parts.ignore_merges) out->add_whole(parts);
    out->make_fingerprint(parts);
    return std::shared_ptr<const BpeTokenizer>(out);
}

Status BpeTokenizer::add_vocabulary(const BpeParts& parts, const std::string& file) {
    std::int32_t highest = -1;
    for (const auto& [text, id] : parts.vocabulary) highest = std::max(highest, id);
    for (const AddedToken& token : parts.added) highest = std::max(highest, token.id);
    if (highest < 0) return refuse(file, "the vocabulary is empty.");
    if (highest > kLargestId) return refuse(file, fmt::format("the token id {} is beyond {}.", highest, kLargestId));
    tokens_.resize(static_cast<std::size_t>(highest) + 1);
    special_.resize(tokens_.size());
    added_.resize(tokens_.size());
    std::vector<bool> taken(tokens_.size());
    for (const auto& [text, id] : parts.vocabulary) {
        if (id < 0) return refuse(file, fmt::format("the token \"{}\" has the id {}.", text, id));
        const auto at = static_cast<std::size_t>(id);
        if (taken[at])
            return refuse(file,
                          fmt::format("the tokens \"{}\" and \"{}\" have the same id {}.", tokens_[at], text, id));
        if (text.empty()) return refuse(file, fmt::format("the token with the id {} is empty.", id));
        taken[at] = true;
        tokens_[at] = bytes_of(text);
        add_symbol(text, id);
    }
    return {};
}

// A token of one byte, of one character or <0x0A>.
void BpeTokenizer::add_symbol(const std::string& text, std::int32_t id) {
    if (!characters_) {
        const auto single = bytes_of_stand_ins(text);
        if (single && single->size() == 1) merger_.set_byte(static_cast<std::uint8_t>((*single)[0]), id);
        return;
    }
    const Utf8Unit unit = utf8_front(text);
    if (unit.kind == Utf8Kind::Valid && unit.bytes == text.size()) character_ids_.emplace(unit.code_point, id);
    const auto byte = characters_->byte_fallback ? byte_of_token(text) : std::nullopt;
    if (byte) fallback_[*byte] = id;
}

std::string BpeTokenizer::bytes_of(const std::string& text) const {
    // Text outside the alphabet stands for itself, as in the reference library.
    if (!characters_) return bytes_of_stand_ins(text).value_or(text);
    const auto byte = characters_->decodes_bytes ? byte_of_token(text) : std::nullopt;
    if (byte) return std::string(1, static_cast<char>(*byte));
    std::string out = text;
    for (const auto& [from, to] : characters_->replacements) out = replaced(out, from, to);
    return out;
}

Status BpeTokenizer::add_added(const BpeParts& parts, const std::string& file) {
    for (const AddedToken& token : parts.added) {
        if (token.id < 0 || token.text.empty())
            return refuse(file, fmt::format("the added token \"{}\" has the id {}.", token.text, token.id));
        const auto at = static_cast<std::size_t>(token.id);
        if (added_[at]) return refuse(file, fmt::format("two added tokens have the id {}.", token.id));
        added_[at] = true;
        // Special tokens are shown as written; the others are text, whose spaces may be written as U+2581.
        tokens_[at] = token.special || !characters_ ? token.text : bytes_of(token.text);
        special_[at] = token.special;
        if (token.normalized)
            normalized_added_.add(token.id, normalized(normalizer_, token.text), token.special);
        else
            raw_added_.add(token.id, token.text, token.special);
    }
    return {};
}

Status BpeTokenizer::add_merges(const BpeParts& parts, const std::string& file) {
    std::unordered_map<std::string_view, std::int32_t> ids;
    ids.reserve(parts.vocabulary.size());
    for (const auto& [text, id] : parts.vocabulary)
        if (!ids.emplace(text, id).second) return refuse(file, fmt::format("the token \"{}\" is there twice.", text));
    std::string joined;
    std::size_t number = 0;
    for (const auto& [left, right] : parts.merges) {
        ++number;
        joined = left + right;
        const auto a = ids.find(left), b = ids.find(right), result = ids.find(joined);
        if (a == ids.end() || b == ids.end() || result == ids.end())
            return refuse(file,
                          fmt::format("the merge {} of \"{}\" and \"{}\" uses a token that is not in the vocabulary.",
                                      number, left, right));
        // Plain text never becomes a special token, not even by merging.
        if (!is_special(result->second)) merger_.add_merge(a->second, b->second, result->second);
    }
    if (parts.unknown.empty()) return {};
    const auto unknown = ids.find(parts.unknown);
    if (unknown == ids.end())
        return refuse(file, fmt::format("the unknown token \"{}\" is not in the vocabulary.", parts.unknown));
    unknown_ = unknown->second;
    return {};
}

void BpeTokenizer::add_whole(const BpeParts& parts) {
    for (const auto& [text, id] : parts.vocabulary)
        if (!is_special(id)) whole_.emplace(characters_ ? text : tokens_[static_cast<std::size_t>(id)], id);
}

namespace {

void hash_options(const SplitStep& step, Hasher& hasher) {
    hasher.add_text(step.space);
    hasher.add_text(step.prefix);
    hasher.add_integer(static_cast<std::uint64_t>(step.behavior));
    for (const bool option : {step.literal, step.invert, step.only_first}) hasher.add_integer(option ? 1 : 0);
}

}  // namespace

void BpeTokenizer::make_fingerprint(const BpeParts& parts) {
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
    for (const SplitStep& step : parts.steps) {
        hasher.add_text(step.pattern);
        hash_options(step, hasher);
    }
    for (const AddedToken& added : parts.added) hasher.add_integer(added.normalized ? 1 : 0);
    for (const bool option : {adds_bos_, parts.ignore_merges}) hasher.add_integer(option ? 1 : 0);
    for (const NormalizerStep& step : parts.normalizer) {
        hasher.add_integer(static_cast<std::uint64_t>(step.kind));
        hasher.add_text(step.from);
        hasher.add_text(step.to);
    }
    if (characters_) {
        hasher.add_integer(static_cast<std::uint64_t>(characters_->invented_space));
        for (const bool option : {characters_->byte_fallback, characters_->fuse_unknown})
            hasher.add_integer(option ? 1 : 0);
    }
    fingerprint_ = hasher.text();
}

std::string_view BpeTokenizer::token_bytes(std::int32_t id) const {
    return id >= 0 && id < size() ? std::string_view(tokens_[static_cast<std::size_t>(id)]) : std::string_view();
}

bool BpeTokenizer::is_special(std::int32_t id) const {
    return id >= 0 && id < size() && special_[static_cast<std::size_t>(id)];
}

bool BpeTokenizer::has_invented_space(std::optional<std::int32_t> previous, std::int32_t token) const {
    if (!characters_ || characters_->invented_space == InventedSpace::Never || is_added(token)) return false;
    const bool begins = !previous || (adds_bos_ && previous == bos_);
    if (!begins && !(characters_->invented_space == InventedSpace::BehindTokens && is_added(*previous))) return false;
    const std::string_view bytes = token_bytes(token);
    return !bytes.empty() && bytes[0] == ' ';
}

Status BpeTokenizer::push_unknown(std::string_view character, Run& run) const {
    const auto token_of = [&](char c) { return fallback_[static_cast<unsigned char>(c)]; };
    if (std::all_of(character.begin(), character.end(), [&](char c) { return token_of(c) >= 0; })) {
        for (const char c : character) run.symbols.push_back(token_of(c));
        return {};
    }
    if (unknown_ < 0)
        return make_error(ErrorKind::Argument,
                          fmt::format("The character \"{}\" has no token in this vocabulary.", utf8_escaped(character)),
                          "Use other characters or another model.");
    const bool fused = characters_->fuse_unknown && !run.symbols.empty() && run.symbols.back() == unknown_;
    if (!fused) run.symbols.push_back(unknown_);
    return {};
}

Status BpeTokenizer::merge_characters(std::string_view piece, Run& run) const {
    run.symbols.clear();
    while (!piece.empty()) {
        const Utf8Unit unit = utf8_front(piece);
        const bool valid = unit.kind == Utf8Kind::Valid;
        const std::size_t bytes = valid ? unit.bytes : 1;  // wrong bytes one by one
        const auto found = valid ? character_ids_.find(unit.code_point) : character_ids_.end();
        if (found != character_ids_.end())
            run.symbols.push_back(found->second);
        else
            DS_RETURN_IF_ERROR(push_unknown(piece.substr(0, bytes), run));
        piece.remove_prefix(bytes);
    }
    return merger_.merge(run.symbols, run.scratch, run.out, run.stop);
}

Status BpeTokenizer::encode_plain(std::string_view text, bool begins, Run& run) const {
    const PieceSink sink = [&](std::string_view piece) -> Status {
        if (!whole_.empty()) {
            const auto found = whole_.find(piece);
            if (found != whole_.end()) {
                run.out.push_back(found->second);
                return {};
            }
        }
        return characters_ ? merge_characters(piece, run) : merger_.merge(piece, run.scratch, run.out, run.stop);
    };
    return splitter_->split(text, sink, run.stop, {begins, !run.options.add_space});
}

// `text` lies between added tokens; the tokens that are written in normalized form are found behind the normalizer.
Status BpeTokenizer::encode_segment(std::string_view text, bool begins, Run& run) const {
    std::string storage;
    if (!normalizer_.empty()) storage = normalized(normalizer_, text, !begins || run.options.add_space);
    const std::string_view changed = normalizer_.empty() ? text : std::string_view(storage);
    return normalized_added_.split(changed, run.options.parse_special, [&](const AddedTokens::Part& part) -> Status {
        if (part.token < 0) return encode_plain(part.text, begins && part.text.data() == changed.data(), run);
        run.out.push_back(part.token);
        return {};
    });
}

Result<std::vector<std::int32_t>> BpeTokenizer::encode(std::string_view text, const EncodeOptions& options,
                                                       std::stop_token stop) const {
    if (text.size() > std::size_t{1} << 31)
        return make_error(ErrorKind::Argument, fmt::format("A text of {} bytes is too long to tokenize.", text.size()));
    Run run{options, stop, {}, {}, {}};
    DS_RETURN_IF_ERROR(raw_added_.split(text, options.parse_special, [&](const AddedTokens::Part& part) -> Status {
        if (part.token < 0) return encode_segment(part.text, part.text.data() == text.data(), run);
        run.out.push_back(part.token);
        return {};
    }));
    const bool has_bos = options.parse_special && !run.out.empty() && bos_ && run.out[0] == *bos_;
    if (options.add_bos && adds_bos_ && !has_bos) run.out.insert(run.out.begin(), *bos_);
    return std::move(run.out);
}

}  // namespace decodescope
