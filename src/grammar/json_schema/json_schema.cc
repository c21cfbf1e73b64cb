#include "grammar/json_schema/json_schema.h"

#include <utility>

#include "base/json.h"
#include "grammar/json_schema/emitter.h"

namespace lattice::grammar {
namespace {

constexpr std::size_t kMaxSchemaDepth = 200;

}  // namespace

Result<Symbol> AddJsonSchema(GrammarBuilder& builder, const boost::json::value& schema,
                             const JsonSchemaOptions& options) {
  LATTICE_TRY(SchemaDocument document, SchemaDocument::Read(schema, options.dialect));
  StringExprs strings(builder);
  NumberExprs numbers(builder);
  Expander expander(document, builder, strings, numbers, options);
  const bool with_point =
      options.integers_with_point && document.dialect(document.root()) != Dialect::kDraft4;
  Emitter emitter(expander, builder, strings, numbers, options, with_point);
  return emitter.Emit({Holds(document.root())});
}

Result<std::shared_ptr<const Grammar>> CompileJsonSchema(const boost::json::value& schema,
                                                         const JsonSchemaOptions& options) {
  GrammarBuilder builder(options.limits);
  LATTICE_TRY(const Symbol root, AddJsonSchema(builder, schema, options));
  return std::move(builder).Build(root);
}

Result<std::shared_ptr<const Grammar>> CompileJsonSchemaText(std::string_view schema,
                                                             const JsonSchemaOptions& options) {
  LATTICE_TRY(const boost::json::value value, ParseJson(schema, kMaxSchemaDepth));
  return CompileJsonSchema(value, options);
}

}  // namespace lattice::grammar
