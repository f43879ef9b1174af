#include "kernels/cpu/kernel_table.h"

#include "kernels/cpu/simd/targets.h"

#include <hwy/highway.h>

namespace decodescope {

const std::vector<CpuKernelTable>& cpu_kernel_tables() {
    static const std::vector<CpuKernelTable> tables = [] {
        std::vector<CpuKernelTable> found;
        // A lower bit is a better instruction set; the fallback is the highest.
        for (int bit = 0; bit < 63; ++bit) {
            const std::int64_t target = std::int64_t{1} << bit;
            if (target != HWY_STATIC_TARGET && (hwy::SupportedTargets() & target) == 0) continue;
            CpuKernelTable table;
            table.target = target;
            table.name = target == HWY_SCALAR || target == HWY_EMU128 ? "plain" : hwy::TargetName(target);
            const bool complete = fill_convert_kernels(target, table) && fill_product_kernels(target, table) &&
                                  fill_attention_kernels(target, table) && fill_row_kernels(target, table) &&
                                  fill_int8_kernels(target, table) && fill_panel_kernels(target, table);
            if (complete) found.push_back(std::move(table));
        }
        return found;
    }();
    return tables;
}

}  // namespace decodescope
