#include "grammar/json_schema/json_schema.h"

#include <utility>

#include "base/json.h"
#include "grammar/json_schema/schema_writer.h"

namespace lattice::grammar {
namespace {

constexpr std::size_t kMaxSchemaDepth = 200;

}  // namespace

Result<Symbol> AddJsonSchema(GrammarBuilder& builder, const boost::json::value& schema,
                             const JsonSchemaOptions& options) {
  LATTICE_TRY(SchemaDocument document, SchemaDocument::Read(schema, options.dialect));
  return SchemaWriter(document, builder, options).emitter.Emit({Holds(document.root())});
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
