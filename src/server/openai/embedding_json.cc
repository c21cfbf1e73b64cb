#include "server/openai/embedding_json.h"

#include <bit>
#include <charconv>

#include "server/openai/base64.h"

namespace lattice::server {

void AppendVector(std::span<const float> vector, bool base64, std::string& out) {
  if (base64) {
    static_assert(std::endian::native == std::endian::little);  // as the format asks for it
    out += '"' + EncodeBase64(std::as_bytes(vector)) + '"';
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < vector.size(); ++i) {
    if (i > 0) out += ',';
    char digits[40];
    out.append(digits, std::to_chars(digits, digits + sizeof(digits), vector[i]).ptr);
  }
  out += ']';
}

std::optional<ApiError> FirstTooLong(std::span<const TextUsage> usage, const char* field) {
  for (std::size_t i = 0; i < usage.size(); ++i) {
    if (!usage[i].truncated()) continue;
    return ApiError{.message = "text " + std::to_string(i) + " has " +
                               std::to_string(usage[i].n_tokens_untruncated) +
                               " tokens, the model reads " + std::to_string(usage[i].n_tokens) +
                               "; with \"truncate\": true it is cut",
                    .param = field,
                    .code = "context_length_exceeded"};
  }
  return std::nullopt;
}

}  // namespace lattice::server
