// The settings that a recording tells of itself, for the transport bar while it is replayed and for a live run from it.
#pragma once

#include "engine/trace/run_recording.h"
#include "ui/session/session_settings.h"

namespace decodescope {

SessionSettings settings_of(const RunRecording& recording);

}  // namespace decodescope
