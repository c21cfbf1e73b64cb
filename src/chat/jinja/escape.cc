#include "chat/jinja/escape.h"

namespace lattice::chat::jinja {

void AppendEscaped(const Text& text, TextBuilder& out) {
  std::size_t copied = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string_view entity;
    switch (text.view()[i]) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      case '"':
        entity = "&#34;";
        break;
      default:
        continue;
    }
    out.Append(text, copied, i);
    out.Append(entity, text.IsUser(i) ? Origin::kUser : Origin::kTemplate);
    copied = i + 1;
  }
  out.Append(text, copied, text.size());
}

}  // namespace lattice::chat::jinja
