// A model whose keys do not suit a scale for each row.
#pragma once

#include "tests/support/tiny_models.h"

namespace decodescope {

// Two key channels of every layer are twenty times as large as the others.
inline ModelPtr llama_with_large_key_channels() {
    TinyOptions options;
    options.edit = [](TinyTensors& tensors) {
        for (const char* layer : {"0", "1", "2"}) {
            auto& key = tensors.at(std::string(layer) + ".key");  // [2 heads of 8, 64]
            for (const std::size_t channel : {2u, 13u})
                for (std::size_t i = 0; i < 64; ++i) key[channel * 64 + i] *= 20.0f;
        }
    };
    return make_tiny_llama(options);
}

}  // namespace decodescope
