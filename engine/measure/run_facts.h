// Version, commit, date, processor: what goes into every exported file.
#pragma once

#include <string>

namespace decodescope {

std::string program_version();   // "0.1.0"
std::string program_commit();    // 12 hex digits or "unknown"
std::string utc_date();          // "2026-11-30T08:15:00Z"
std::string cpu_name();          // as the system names it

}  // namespace decodescope
