#pragma once

#include "chat/jinja/text.h"
#include "chat/jinja/value.h"
#include "lattice/result.h"

namespace lattice::chat {

/// How a prompt is made to end inside the last message, whatever a template puts behind it: the
/// message's text gets a tag at its end, and the rendered text is cut where the tag came out. Some
/// templates look for the tag by name, so it is spelled as transformers spells it. Our tag counts
/// as template text, so one that a user types is never taken for it.

/// The message with the tag behind its content, or behind the last text of its parts.
/// kInvalidArgument when there is no text.
Result<jinja::Value> WithContinuationTag(const jinja::Value& message);

/// Everything before the tag; space before it goes too when the template trimmed the message.
/// kInvalidArgument when the template does not show the tag.
Result<jinja::Text> CutAtContinuationTag(const jinja::Text& rendered);

}  // namespace lattice::chat
