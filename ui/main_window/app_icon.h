// The program's icon: four cached rows, K beside V, and the one just written.
#pragma once

#include <QIcon>

namespace decodescope {

// Drawn in 16 to 256 pixels from the light theme's colours, so that it is the same in every theme.
QIcon app_icon();

}  // namespace decodescope
