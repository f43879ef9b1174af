#pragma once

#include "ui/panels/panel.h"

namespace decodescope {

Panel* create_attention_panel(const PanelContext& context, QWidget* parent);

}  // namespace decodescope
