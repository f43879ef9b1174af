#pragma once

#include "ui/panels/panel.h"

namespace decodescope {

Panel* create_model_panel(const PanelContext& context, QWidget* parent);

}  // namespace decodescope
