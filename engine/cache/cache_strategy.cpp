#include "engine/cache/cache_strategy.h"

namespace decodescope {

std::int64_t EntryList::slot(std::int32_t entry) const { return entry_slot(table(), entry); }

EntryTable EntryList::table() const {
    EntryTable result;
    result.pages = pages.empty() ? nullptr : pages.data();
    result.log2_page = log2_page;
    result.count = count;
    result.positions = positions.empty() ? nullptr : positions.data();
    return result;
}

}  // namespace decodescope
