#pragma once

#include "grammar/json_schema/emitter.h"

namespace lattice::grammar {

/// All that turns parts of a document into rules, with one style of strings.
struct SchemaWriter {
  SchemaWriter(SchemaDocument& document, GrammarBuilder& builder, const JsonSchemaOptions& options)
      : strings(builder, options.strings),
        numbers(builder),
        expander(document, builder, strings, numbers, options),
        emitter(
            expander, builder, strings, numbers, options,
            options.integers_with_point && document.dialect(document.root()) != Dialect::kDraft4) {}
  SchemaWriter(const SchemaWriter&) = delete;
  SchemaWriter& operator=(const SchemaWriter&) = delete;

  StringExprs strings;
  NumberExprs numbers;
  Expander expander;
  Emitter emitter;
};

}  // namespace lattice::grammar
