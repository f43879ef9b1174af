// The strategies of one sequence: one for each group of layers that share an entry table. All groups see the same
// tokens; what they keep of them is their own affair. Every operation is done by all groups or by none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/cache/cache_strategy.h"

namespace decodescope {

class LayerGroups {
public:
    // One strategy for all layers.
    LayerGroups(std::unique_ptr<CacheStrategy> strategy, int layers);
    // group_of_layer: [layers], indices into `groups`, each used at least once.
    LayerGroups(std::vector<std::unique_ptr<CacheStrategy>> groups, std::vector<int> group_of_layer);

    int layers() const { return static_cast<int>(group_of_layer_.size()); }
    int count() const { return static_cast<int>(groups_.size()); }
    const CacheStrategy& group(int index) const { return *groups_[static_cast<std::size_t>(index)]; }
    int group_of(int layer) const { return group_of_layer_[static_cast<std::size_t>(layer)]; }
    const CacheStrategy& of_layer(int layer) const { return group(group_of(layer)); }
    int index_in_group(int layer) const;       // of a layer among those of its group
    int layers_of(int group_index) const;      // how many

    // One plan for each group, or the first error. Pure.
    Result<std::vector<CachePlan>> plan(std::int64_t new_tokens) const;
    void begin_write(std::span<const CachePlan> plans);
    void hold(std::span<const CachePlan> plans);
    void release();
    void commit(std::span<const CachePlan> plans);
    // See CacheStrategy; the first refusal, with nothing changed in any group.
    Status truncate(std::int64_t tokens);
    void reset();
    LayerGroups clone() const;
    // Pages are shared by sequences whose layers have one table.
    void name_tokens(std::span<const std::int32_t> tokens);
    std::int64_t take_prefix(std::span<const std::int32_t> tokens);

    std::int64_t tokens_seen() const { return groups_.front()->tokens_seen(); }
    std::int64_t tokens_stored() const;     // of the group that keeps most
    std::int64_t most_new_tokens() const;   // that all groups take
    bool bounded_by_context() const;        // of any group
    bool wants_weight_sums() const;         // any group does

private:
    std::vector<std::unique_ptr<CacheStrategy>> groups_;
    std::vector<int> group_of_layer_;
};

// The strategies of a sequence with `layers` layers, as the descriptor groups them. Layers whose own attention is a
// window (RunLimits::layer_windows) are a group of their own for each length: a ring of that window.
Result<LayerGroups> make_layer_groups(const CacheSpec& spec, const RunLimits& limits, int layers);

}  // namespace decodescope
