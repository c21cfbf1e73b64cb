#pragma once

#include <optional>
#include <span>
#include <string>

#include "lattice/embedding.h"
#include "server/http/api_error.h"

namespace lattice::server {

/// Appends an array of numbers; or, as a text, its floats in base64.
void AppendVector(std::span<const float> vector, bool base64, std::string& out);

/// What is wrong with the first text that was cut, if one was. `field` has the texts.
std::optional<ApiError> FirstTooLong(std::span<const TextUsage> usage, const char* field);

}  // namespace lattice::server
