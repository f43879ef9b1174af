// A run in one file (.dscope): versioned, every section checksummed, written to a temporary name and renamed.
#pragma once

#include <stop_token>
#include <string>

#include "engine/support/output_file.h"
#include "engine/trace/run_recording.h"
#include "kernels/api/status.h"

namespace decodescope {

// Error of kind File when the disk is full or the folder cannot be written; an older file of that name stays intact.
Status save_recording(const RunRecording& recording, const std::string& path, const ProgressFn& progress,
                      std::stop_token stop);
// Into a file that the caller puts in place.
Status write_recording(const RunRecording& recording, OutputFile& file, const ProgressFn& progress,
                       std::stop_token stop);
// Refuses damaged, truncated, hostile and newer files by name of the section and both values; never allocates more than
// the file's size demands. Progress in bytes.
Result<std::shared_ptr<RunRecording>> load_recording(const std::string& path, const ProgressFn& progress,
                                                     std::stop_token stop);

}  // namespace decodescope
