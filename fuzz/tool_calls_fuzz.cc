#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "chat/tools/call_parser.h"
#include "chat/tools/json_call.h"
#include "lattice/check.h"

namespace {

using lattice::chat::AnswerPiece;
using lattice::chat::CallForm;

std::shared_ptr<const lattice::chat::OfferedTools> Tools() {
  const auto json = lattice::ParseJson(
      R"([{"function":{"name":"f","parameters":{"properties":{"a":{"type":"integer"},)"
      R"("b":{"type":["object","null"]},"c":{"$ref":"#/properties/c"}}}}}])");
  return std::make_shared<lattice::chat::OfferedTools>(json->get_array());
}

std::vector<AnswerPiece> Parse(CallForm form, std::string_view text, std::size_t piece_bytes) {
  lattice::chat::CallParser parser(form, Tools());
  std::vector<AnswerPiece> all;
  const auto add = [&](const std::vector<AnswerPiece>& pieces) {
    for (const AnswerPiece& piece : pieces) {
      if (piece.is_call() || all.empty() || all.back().is_call()) {
        all.push_back(piece);
      } else {
        all.back().text += piece.text;
      }
    }
  };
  for (std::size_t i = 0; i < text.size(); i += piece_bytes) {
    add(parser.Push(text.substr(i, piece_bytes)));
  }
  add(parser.Finish());
  return all;
}

}  // namespace

/// Generated text in any pieces has the same parts; calls have names and arguments; text without
/// calls comes out as it went in. The first two bytes choose the form and the pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const auto form = static_cast<CallForm>(data[0] % 5);
  const std::string text =
      lattice::ToValidUtf8({reinterpret_cast<const char*>(data) + 2, size - 2});
  const auto whole = Parse(form, text, std::max<std::size_t>(text.size(), 1));
  const auto pieces = Parse(form, text, std::size_t{1} + data[1] % 16);
  LATTICE_CHECK(whole.size() == pieces.size());
  std::string shown;
  bool any_call = false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    LATTICE_CHECK(whole[i].text == pieces[i].text);
    LATTICE_CHECK(whole[i].call.name == pieces[i].call.name);
    LATTICE_CHECK(whole[i].call.arguments == pieces[i].call.arguments);
    shown += whole[i].text;
    if (!whole[i].is_call()) continue;
    any_call = true;
    LATTICE_CHECK(lattice::chat::IsCallName(whole[i].call.name));
    LATTICE_CHECK(lattice::chat::IsJsonObject(whole[i].call.arguments));
  }
  LATTICE_CHECK(any_call || shown == text);
  return 0;
}
