// The program's icon: four cached rows, K beside V, and the one just written.
#pragma once

#include <QIcon>

namespace decodescope {

// In 16 to 256 pixels, from the drawing that is also installed for the desktop.
QIcon app_icon();

}  // namespace decodescope
