#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "chat/tools/call_reader.h"
#include "chat/tools/json_call.h"
#include "chat/tools/json_end.h"

namespace lattice::chat {

/// Reads one JSON value that is a call, or several.
class JsonCallReader {
 public:
  CallReader::State Take(char c) {
    if (json_.empty() && IsSpace(c)) return CallReader::State::kMore;
    const JsonEnd::State state = json_.Take(c);
    if (state == JsonEnd::State::kMore) return CallReader::State::kMore;
    if (state == JsonEnd::State::kDone) calls_ = CallsFromJson(json_.text());
    return calls_.empty() ? CallReader::State::kBad : CallReader::State::kDone;
  }
  const std::string& text() const { return json_.text(); }
  const std::vector<WrittenCall>& calls() const { return calls_; }
  std::vector<WrittenCall> TakeCalls() { return std::exchange(calls_, {}); }

  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

 private:
  JsonEnd json_;
  std::vector<WrittenCall> calls_;
};

}  // namespace lattice::chat
