// Shared by the files that list the rows.
#pragma once

#include <vector>

#include "tests/support/conformance.h"

namespace decodescope::conformance {

// Ends a scenario: `rows` rows (token r, position r), all of them shown, value `shown` read as the logits.
void finish_scenario(Scenario& scenario, int rows, int shown, int width);

// The value that is read instead; for operations in place.
void retarget_output(Scenario& scenario, int value);

std::vector<Group> attention_groups();

}  // namespace decodescope::conformance
