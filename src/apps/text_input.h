#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lattice/result.h"

namespace lattice::apps {

/// Adds TEXT... and --input, from which TextInput is opened.
void DeclareTexts(CLI::App& arguments, std::vector<std::string>& texts, std::string& input);

/// Texts that a command works on: its arguments, or the lines of a file or of standard input.
///   .jsonl      one JSON document a line: a string, or an object with "text"
///   other, "-"  one plain text a line; a carriage return before the line's end is dropped
/// Read piece by piece, so that memory does not grow with the file.
class TextInput {
 public:
  /// `texts` wins when not empty; else `file` ("-": standard input); when both are empty, standard
  /// input. kInvalidArgument when both are given.
  static Result<TextInput> Open(std::vector<std::string> texts, const std::string& file);

  TextInput(TextInput&&) noexcept;
  TextInput& operator=(TextInput&&) noexcept;
  ~TextInput();

  /// The next texts, at most `max_texts` and, beside the last of them, 16 MiB; empty at the end.
  /// kCorruptData names the line.
  Result<std::vector<std::string>> Next(std::size_t max_texts);
  /// All that are left. kResourceExhausted above `max_bytes`.
  Result<std::vector<std::string>> All(std::size_t max_bytes);

  bool is_jsonl() const;
  /// How many texts there will be; 0 when that is not known before the end.
  std::size_t total() const;

 private:
  struct State;
  explicit TextInput(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lattice::apps
