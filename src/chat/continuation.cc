#include "chat/continuation.h"

#include <memory>
#include <utility>

#include "chat/jinja/characters.h"

namespace lattice::chat {
namespace {

using jinja::Dict;
using jinja::DictRef;
using jinja::List;
using jinja::ListRef;
using jinja::Text;
using jinja::TextBuilder;
using jinja::Value;

constexpr std::string_view kTag = "CONTINUE_FINAL_MESSAGE_TAG";

Value Tagged(const Text& text) {
  TextBuilder out(text.size() + kTag.size() + 1);
  out.Append(text);
  out.Append(kTag);
  out.Append(" ");
  return std::move(out).Build();
}

Value With(const Dict& dict, std::string_view key, Value value) {
  auto changed = std::make_shared<Dict>(dict);
  changed->Set(Value::Str(key), std::move(value));
  return DictRef(std::move(changed));
}

}  // namespace

Result<Value> WithContinuationTag(const Value& message) {
  const Dict* dict = message.dict();
  const Value* content = dict == nullptr ? nullptr : dict->Find("content");
  if (content != nullptr && content->IsString()) {
    return With(*dict, "content", Tagged(*content->text()));
  }
  if (const List* parts = content == nullptr ? nullptr : content->list()) {
    for (std::size_t i = parts->items.size(); i-- > 0;) {
      const Dict* part = parts->items[i].dict();
      const Value* text = part == nullptr ? nullptr : part->Find("text");
      if (text == nullptr || !text->IsString()) continue;
      auto changed = std::make_shared<List>(*parts);
      changed->items[i] = With(*part, "text", Tagged(*text->text()));
      return With(*dict, "content", Value(ListRef(std::move(changed))));
    }
  }
  return Error{ErrorCode::kInvalidArgument, "the last message has no text to continue"};
}

Result<Text> CutAtContinuationTag(const Text& rendered) {
  const std::string_view bytes = rendered.view();
  for (std::size_t at = bytes.rfind(kTag); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : bytes.rfind(kTag, at - 1)) {
    if (rendered.IsUser(at)) continue;
    const bool keeps_space = bytes.substr(at + kTag.size()).starts_with(' ');
    return rendered.Sub(0, keeps_space ? at : jinja::StripRight(bytes.substr(0, at)).size());
  }
  return Error{ErrorCode::kInvalidArgument,
               "the template does not show the last message, so it cannot be continued"};
}

}  // namespace lattice::chat
