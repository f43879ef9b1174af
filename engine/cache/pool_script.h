// The bookkeeping of pages line by line, without a model: what `pool --script` shows.
//   new pages=10 page=4     start A 1,2,3     append A 4,5     fork A B     end A
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cache/strategies/paged.h"

namespace decodescope {

// The state after a line. An error leaves it as it was before.
struct PoolState {
    std::string line;
    std::map<std::string, std::vector<std::int32_t>> tables;  // pages of each sequence
    std::vector<std::int32_t> free;                           // in the order in which they will be taken
    std::vector<std::int32_t> cached;                         // that can be found by content, ascending
    std::int64_t hits = 0;                                    // pages that this line found
    std::int64_t copied = 0;                                  // pages that this line copied before it wrote
    std::map<std::int32_t, std::int64_t> owners;              // of the pages that are not free
    std::string error;                                        // empty: none
    std::string note;                                         // why no page was found although tokens are common
};

class PoolScript {
public:
    PoolState run(std::string_view line);

private:
    struct Counts {
        std::int64_t hits = 0, copied = 0;
        std::string note;
    };
    Result<Counts> obey(const std::vector<std::string>& words);
    Result<Counts> make_pool(const std::vector<std::string>& words);
    Result<Counts> start(const std::string& name, const std::vector<std::int32_t>& tokens);
    Result<Counts> append(const std::string& name, const std::vector<std::int32_t>& tokens);
    Result<Counts> fork(const std::string& from, const std::string& to);
    std::string why_nothing_found(const std::vector<std::int32_t>& tokens) const;
    Result<PagedStrategy*> living(const std::string& name);

    std::shared_ptr<PagePool> pool_;
    PagedStrategy::Options options_;
    std::map<std::string, std::unique_ptr<PagedStrategy>> sequences_;
};

}  // namespace decodescope
