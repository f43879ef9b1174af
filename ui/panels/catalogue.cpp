// Every panel of the window: one line each.
#include "ui/panels/attention/attention_panel.h"
#include "ui/panels/cache/cache_panel.h"
#include "ui/panels/compare/compare_panel.h"
#include "ui/panels/happened/happened_panel.h"
#include "ui/panels/memory/memory_panel.h"
#include "ui/panels/model/model_panel.h"
#include "ui/panels/panel.h"
#include "ui/panels/ribbon/ribbon_panel.h"
#include "ui/panels/timing/timing_panel.h"

namespace decodescope {

const std::vector<PanelDescriptor>& panel_catalogue() {
    static const std::vector<PanelDescriptor> panels = {
        {"ribbon", QT_TRANSLATE_NOOP("panels", "Tokens"),
         QT_TRANSLATE_NOOP("panels", "Every token as a chip: prompt and generated, prefill apart from decode."),
         Qt::TopDockWidgetArea, 0, 1, true, 0.016, &create_ribbon_panel},
        {"cache", QT_TRANSLATE_NOOP("panels", "KV cache"),
         QT_TRANSLATE_NOOP("panels", "Which keys and values are kept, layer by layer, position by position."),
         Qt::LeftDockWidgetArea, 0, 44, true, 0.01, &create_cache_panel},
        {"attention", QT_TRANSLATE_NOOP("panels", "Attention"),
         QT_TRANSLATE_NOOP("panels", "What each token reads from, for every head of every layer."),
         Qt::LeftDockWidgetArea, 1, 56, true, 0.01, &create_attention_panel},
        {"timing", QT_TRANSLATE_NOOP("panels", "Timing"),
         QT_TRANSLATE_NOOP("panels", "Milliseconds per token with and without the cache."), Qt::RightDockWidgetArea, 0,
         44, true, 0.005, &create_timing_panel},
        {"memory", QT_TRANSLATE_NOOP("panels", "Memory"),
         QT_TRANSLATE_NOOP("panels", "Bytes by purpose over the run, beside the formula."), Qt::RightDockWidgetArea, 1,
         24, false, 0.003, &create_memory_panel},
        {"happened", QT_TRANSLATE_NOOP("panels", "What just happened"),
         QT_TRANSLATE_NOOP("panels", "The viewed step in words and numbers, stage by stage."), Qt::RightDockWidgetArea,
         2, 32, false, 0.004, &create_happened_panel},
        {"compare", QT_TRANSLATE_NOOP("panels", "Compare"),
         QT_TRANSLATE_NOOP("panels", "Up to four configurations on the same prompt: time, memory, logits and text."),
         Qt::LeftDockWidgetArea, 2, 56, false, 0.003, &create_compare_panel, false},
        {"model", QT_TRANSLATE_NOOP("panels", "Model"),
         QT_TRANSLATE_NOOP("panels", "The shapes of the model as a diagram, its parameters, and its cache in numbers."),
         Qt::LeftDockWidgetArea, 3, 56, false, 0.003, &create_model_panel, false},
    };
    return panels;
}

}  // namespace decodescope
