#include "apps/bracketed_arguments.h"

#include <string_view>

namespace lattice::apps {
namespace {

constexpr char kMark = '\x01';

/// Marks of the user's own do not count, so that taking one off is exact.
bool IsBracketed(std::string_view text) {
  const std::size_t end = text.find_last_not_of(kMark);
  return text.starts_with('[') && end != text.npos && text[end] == ']';
}

std::string Unmark(std::string& text) {
  if (IsBracketed(text) && text.back() == kMark) text.pop_back();
  return "";
}

}  // namespace

std::vector<std::string> MarkBracketed(int argc, char** argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i > 0; --i) {  // the last one first, as CLI::App::parse wants them
    arguments.emplace_back(argv[i]);
    if (IsBracketed(arguments.back())) arguments.back() += kMark;
  }
  return arguments;
}

void UnmarkBracketed(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->transform(CLI::Validator(Unmark, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) UnmarkBracketed(*command);
}

}  // namespace lattice::apps
